/*
 * Numeric shapes: how large tensors are at given parameter values.
 *
 * Interval arithmetic over each stage's domain gives a bounding box of its axes; the accesses
 * mapped through it give the box of a tensor. Exact for rectangular and triangular nests, an
 * over-estimate otherwise; elements of index tensors lie where their model puts them (load.c). No
 * isl: it is used by the interpreter and by whoever allocates buffers.
 */
#include "search/te/te_private.h"

#include <string.h>

typedef te_wide wide;
typedef te_interval interval;

static const wide FAR = (wide)1 << 62;

static wide clamp(wide v) {
    return v > FAR ? FAR : v < -FAR ? -FAR : v;
}

static wide floor_div(wide num, wide den) {
    wide q = num / den;
    return q - (num % den != 0 && (num < 0) != (den < 0));
}

static interval aff_range(const ctune_region *region, const ctune_aff *aff, const interval *axes,
                          const int64_t *params);

/* Of a tensor's elements, as their model has them. */
static interval load_range(const ctune_region *region, const ctune_access *load,
                           const interval *axes, const int64_t *params) {
    ctune_load_model model = ctune_load_model_get(region, load->tensor, params);
    interval at = {0, 0};
    for (int d = 0; model.slope != 0 && d < load->n_idx; d++) {
        const ctune_aff *extent = region->tensors[load->tensor].extent[d];
        wide n = d > 0 ? ctune_aff_eval(region, extent, NULL, params) : 0;
        interval idx = aff_range(region, load->idx[d], axes, params);
        at.lo = clamp(clamp(at.lo * n) + idx.lo);
        at.hi = clamp(clamp(at.hi * n) + idx.hi);
    }
    return (interval){clamp(at.lo * model.slope + model.lo),
                      clamp(at.hi * model.slope + model.lo + model.width - 1)};
}

/* Range of all terms but one (skip, -1: none). */
static interval range_without(const ctune_region *region, const ctune_aff *aff, int skip,
                              const interval *axes, const int64_t *params) {
    interval sum = {aff->c0, aff->c0};
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *term = &aff->terms[i];
        interval v;
        if (i == skip) {
            continue;
        }
        if (term->kind == CTUNE_TERM_AXIS) {
            v = axes[term->id];
        } else if (term->kind == CTUNE_TERM_PARAM) {
            v.lo = v.hi = params[term->id];
        } else if (region->divs[term->id].load != NULL) {
            v = load_range(region, region->divs[term->id].load, axes, params);
        } else {
            const ctune_div *div = &region->divs[term->id];
            v = aff_range(region, div->num, axes, params);
            v.lo = floor_div(v.lo, div->den);
            v.hi = floor_div(v.hi, div->den);
        }
        wide lo = v.lo * term->coef, hi = v.hi * term->coef;
        sum.lo = clamp(sum.lo + (lo < hi ? lo : hi));
        sum.hi = clamp(sum.hi + (lo < hi ? hi : lo));
    }
    return sum;
}

te_interval te_aff_range(const ctune_region *region, const ctune_aff *aff, const te_interval *axes,
                         const int64_t *params) {
    return aff_range(region, aff, axes, params);
}

static interval aff_range(const ctune_region *region, const ctune_aff *aff, const interval *axes,
                          const int64_t *params) {
    return range_without(region, aff, -1, axes, params);
}

/* Narrow the axes by one constraint; axes that occur in it through divs only are left. */
static void narrow(const ctune_region *region, const ctune_aff *con, interval *axes,
                   const int64_t *params) {
    for (int i = 0; i < con->n_terms; i++) {
        const ctune_term *term = &con->terms[i];
        if (term->kind != CTUNE_TERM_AXIS) {
            continue;
        }
        /* coef * x + rest >= 0; the loosest bound comes from the largest rest, in which x may stand
         * once more below a division. */
        interval *x = &axes[term->id];
        wide rest = range_without(region, con, i, axes, params).hi;
        if (rest >= FAR) {
            continue;
        }
        if (term->coef > 0) {
            wide lo = -floor_div(rest, term->coef);
            x->lo = lo > x->lo ? lo : x->lo;
        } else {
            wide hi = floor_div(rest, -(wide)term->coef);
            x->hi = hi < x->hi ? hi : x->hi;
        }
    }
}

bool te_stage_box(const ctune_region *region, const ctune_stage *stage, const int64_t *params,
                  interval *axes) {
    for (int i = 0; i < region->n_axes; i++) {
        axes[i] = (interval){-FAR, FAR};
    }
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < stage->n_cons; i++) {
            narrow(region, stage->cons[i], axes, params);
        }
    }
    for (int i = 0; i < stage->n_cons; i++) {
        if (aff_range(region, stage->cons[i], axes, params).hi < 0) {
            return false;
        }
    }
    for (int d = 0; d < stage->n_axes; d++) {
        if (axes[stage->axes[d]].lo > axes[stage->axes[d]].hi) {
            return false;
        }
    }
    return true;
}

typedef struct box {
    bool any;
    interval dim[CTUNE_MAX_RANK];
} box;

static void box_join(const ctune_region *region, const ctune_access *access, const interval *axes,
                     const int64_t *params, box *out) {
    for (int d = 0; d < access->n_idx && d < CTUNE_MAX_RANK; d++) {
        interval v = aff_range(region, access->idx[d], axes, params);
        if (!out->any || v.lo < out->dim[d].lo) {
            out->dim[d].lo = v.lo;
        }
        if (!out->any || v.hi > out->dim[d].hi) {
            out->dim[d].hi = v.hi;
        }
    }
    out->any = true;
}

bool ctune_stage_is_inside(const ctune_region *region, const ctune_stage *stage, int div) {
    const ctune_term term = {CTUNE_TERM_DIV, div, 1};
    const ctune_aff load = {0, 1, &term};
    for (int a = 0; a < region->n_axes; a++) {
        bool is_mine = false;
        for (int d = 0; d < stage->n_axes; d++) {
            is_mine |= stage->axes[d] == a;
        }
        if (!is_mine && ctune_aff_div_uses_axis(region, &load, a)) {
            return false;
        }
    }
    return true;
}

bool ctune_tensor_box(const ctune_region *region, int tensor, const int64_t *params, int64_t *lo,
                      int64_t *hi) {
    ctune_arena *arena = ctune_arena_create(NULL);
    interval *axes = CTUNE_NEW_ARRAY(arena, interval, region->n_axes);
    box b = {false};
    for (int s = 0; axes != NULL && s < region->n_stages; s++) {
        const ctune_stage *stage = &region->stages[s];
        if (!te_stage_box(region, stage, params, axes)) {
            continue;
        }
        if (stage->target.tensor == tensor) {
            box_join(region, &stage->target, axes, params, &b);
        }
        for (int r = 0; r < stage->n_reads; r++) {
            if (stage->reads[r]->access.tensor == tensor) {
                box_join(region, &stage->reads[r]->access, axes, params, &b);
            }
        }
        for (int i = 0; i < region->n_divs; i++) {
            const ctune_access *load = region->divs[i].load;
            if (load != NULL && load->tensor == tensor && ctune_stage_is_inside(region, stage, i)) {
                box_join(region, load, axes, params, &b);
            }
        }
    }
    ctune_arena_destroy(arena);
    for (int d = 0; d < region->tensors[tensor].rank; d++) {
        lo[d] = b.any ? (int64_t)b.dim[d].lo : 0;
        hi[d] = b.any ? (int64_t)b.dim[d].hi : 0;
    }
    return b.any;
}

int64_t ctune_tensor_shape(const ctune_region *region, int tensor, const int64_t *params,
                           int64_t *extents) {
    const ctune_tensor *t = &region->tensors[tensor];
    int64_t lo[CTUNE_MAX_RANK], hi[CTUNE_MAX_RANK];
    bool has_box = false;
    int64_t n_elems = 1;
    for (int d = 0; d < t->rank; d++) {
        if (t->extent[d] != NULL) {
            extents[d] = ctune_aff_eval(region, t->extent[d], NULL, params);
        } else {
            if (!has_box) {
                ctune_tensor_box(region, tensor, params, lo, hi);
                has_box = true;
            }
            extents[d] = hi[d] < 0 ? 1 : hi[d] + 1;
        }
        extents[d] = extents[d] < 0 ? 0 : extents[d];
        if (__builtin_mul_overflow(n_elems, extents[d], &n_elems)) {
            return -1;
        }
    }
    return n_elems > (int64_t)1 << 40 ? -1 : n_elems;
}

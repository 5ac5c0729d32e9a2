/*
 * Loads: elements of integer tensors that stand in subscripts and bounds (te.h, ctune_div).
 *
 * The region does not write what they read, so that each is a function of the axes that nobody
 * knows. Two questions remain where no memory is at hand: which tensors are read that way, and what
 * would their elements plausibly be. The latter is a model: whoever makes up inputs fills tensors
 * by it, and shapes and trip counts are estimated by it, so that made-up inputs stay in bounds.
 *
 * Bounds: a loop from one load to another (the rows of a sparse matrix) is given ascending elements
 * at a distance of CTUNE_LOAD_TRIPS; a loop with one load for a bound is given as many trips in the
 * mean. Subscripts: anything inside the extent of what they index, which is guessed from the
 * parameters where it is not known.
 */
#include "search/te/te_private.h"

int ctune_div_forms(const ctune_div *div, const ctune_aff *const **affs) {
    if (div->load != NULL) {
        *affs = div->load->idx;
        return div->load->n_idx;
    }
    *affs = &div->num;
    return 1;
}

bool ctune_aff_has_load(const ctune_region *region, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        if (aff->terms[t].kind != CTUNE_TERM_DIV) {
            continue;
        }
        const ctune_div *div = &region->divs[aff->terms[t].id];
        if (div->load != NULL || ctune_aff_has_load(region, div->num)) {
            return true;
        }
    }
    return false;
}

bool ctune_tensor_is_index(const ctune_region *region, int tensor) {
    for (int i = 0; i < region->n_divs; i++) {
        if (region->divs[i].load != NULL && region->divs[i].load->tensor == tensor) {
            return true;
        }
    }
    return false;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Which sides of loops the tensor bounds, and whether a load stands on the other side, too. */
typedef struct bound_use {
    bool is_lower, is_upper, is_pair;
} bound_use;

/* Does an element of the tensor (-1: of any) stand in the form? */
static bool holds_load(const ctune_region *region, const ctune_aff *aff, int tensor) {
    for (int t = 0; t < aff->n_terms; t++) {
        if (aff->terms[t].kind != CTUNE_TERM_DIV) {
            continue;
        }
        const ctune_div *div = &region->divs[aff->terms[t].id];
        if (div->load != NULL ? tensor < 0 || div->load->tensor == tensor
                              : holds_load(region, div->num, tensor)) {
            return true;
        }
    }
    return false;
}

static void find_bounds(const ctune_region *region, const ctune_node *node, int tensor,
                        bound_use *out) {
    bool has_low = false, has_high = false, is_low = false, is_high = false;
    for (int i = 0; i < node->n_cons; i++) {
        int64_t coef = node->kind == CTUNE_NODE_LOOP
                           ? ctune_aff_coef(node->cons[i], CTUNE_TERM_AXIS, node->axis)
                           : 0;
        bool is_mine = holds_load(region, node->cons[i], tensor);
        bool is_load = holds_load(region, node->cons[i], -1);
        has_low |= is_load && coef > 0;
        has_high |= is_load && coef < 0;
        is_low |= is_mine && coef > 0;
        is_high |= is_mine && coef <= 0;
    }
    out->is_lower |= is_low;
    out->is_upper |= is_high;
    out->is_pair |= (is_low && has_high) || (is_high && has_low);
    for (int i = 0; i < node->n_kids; i++) {
        find_bounds(region, node->kids[i], tensor, out);
    }
}

/* ---- subscripts ------------------------------------------------------------------------------ */

static const te_wide FAR = (te_wide)1 << 60;

typedef struct room {
    const ctune_region *region;
    const int64_t *params;
    int tensor;
    int64_t guess; /* extent of what has none */
    te_interval *axes;
    bool is_used;
    te_wide lo, hi;
} room;

/* One subscript with a load of the tensor in it: all loads share the place that the rest leaves. */
static void narrow_by(room *r, const ctune_aff *idx, const ctune_aff *extent) {
    int n_loads = 0;
    int64_t coef = 0;
    for (int t = 0; t < idx->n_terms; t++) {
        const ctune_term *term = &idx->terms[t];
        const ctune_access *load =
            term->kind == CTUNE_TERM_DIV ? r->region->divs[term->id].load : NULL;
        n_loads += load != NULL;
        coef = load != NULL && load->tensor == r->tensor ? term->coef : coef;
    }
    if (coef <= 0) {
        return;
    }
    te_wide rest_lo = idx->c0, rest_hi = idx->c0;
    for (int t = 0; t < idx->n_terms; t++) {
        const ctune_term *term = &idx->terms[t];
        const ctune_aff single = {0, 1, term};
        if (ctune_aff_has_load(r->region, &single)) {
            continue; /* its own model may ask for this one */
        }
        te_interval v = te_aff_range(r->region, &single, r->axes, r->params);
        rest_lo += v.lo;
        rest_hi += v.hi;
    }
    if (rest_lo < -FAR || rest_hi > FAR) {
        return; /* over loops that are not around this stage */
    }
    te_wide lo = rest_lo < 0 ? (-rest_lo + coef - 1) / coef : 0;
    te_wide size = extent != NULL ? ctune_aff_eval(r->region, extent, NULL, r->params)
                                  : rest_hi + coef * lo + coef * r->guess;
    te_wide hi = (size - 1 - rest_hi) / coef;
    hi = extent != NULL && n_loads > 1 ? lo + (hi - lo) / n_loads : hi;
    r->lo = r->is_used && r->lo > lo ? r->lo : lo;
    r->hi = r->is_used && r->hi < hi ? r->hi : hi;
    r->is_used = true;
}

static void narrow_access(room *r, const ctune_access *access) {
    for (int d = 0; d < access->n_idx; d++) {
        narrow_by(r, access->idx[d], r->region->tensors[access->tensor].extent[d]);
    }
}

static void find_room(room *r) {
    const ctune_region *region = r->region;
    for (int s = 0; s < region->n_stages; s++) {
        const ctune_stage *stage = &region->stages[s];
        if (!te_stage_box(region, stage, r->params, r->axes)) {
            continue;
        }
        narrow_access(r, &stage->target);
        for (int i = 0; i < stage->n_reads; i++) {
            narrow_access(r, &stage->reads[i]->access);
        }
        for (int i = 0; i < region->n_divs; i++) {
            if (region->divs[i].load != NULL) {
                narrow_access(r, region->divs[i].load);
            }
        }
    }
}

static void clamp_to_type(ctune_type type, te_wide *lo, te_wide *hi) {
    const ctune_type_info *info = ctune_type_get(type);
    int bits = type == CTUNE_BOOL ? 1 : 8 * info->bytes;
    bool is_signed = (info->flags & CTUNE_TF_SIGNED) != 0;
    te_wide most = ((te_wide)1 << (bits - (is_signed ? 1 : 0))) - 1;
    *lo = *lo > most ? most : *lo;
    *hi = *hi > most ? most : *hi;
}

ctune_load_model ctune_load_model_get(const ctune_region *region, int tensor,
                                      const int64_t *params) {
    bound_use use = {false, false, false};
    find_bounds(region, region->root, tensor, &use);
    if (use.is_lower || use.is_upper) {
        int64_t trips = CTUNE_LOAD_TRIPS;
        return use.is_pair ? (ctune_load_model){trips, use.is_lower ? 0 : trips, trips}
                           : (ctune_load_model){0, 0, 2 * trips};
    }
    ctune_arena *arena = ctune_arena_create(NULL);
    room r = {.region = region, .params = params, .tensor = tensor, .guess = 0};
    for (int p = 0; p < region->n_params; p++) {
        r.guess = params[p] > r.guess ? params[p] : r.guess;
    }
    r.guess = r.guess < 1 ? 1 : r.guess > 1 << 20 ? 1 << 20 : r.guess;
    r.axes = CTUNE_NEW_ARRAY(arena, te_interval, region->n_axes + 1);
    if (r.axes != NULL) {
        find_room(&r);
    }
    ctune_arena_destroy(arena);
    if (!r.is_used) {
        r.hi = r.guess - 1;
    }
    clamp_to_type(region->tensors[tensor].type, &r.lo, &r.hi);
    return (ctune_load_model){0, (int64_t)r.lo, r.hi < r.lo ? 1 : (int64_t)(r.hi - r.lo) + 1};
}

/*
 * The run-time guard: what could not be proved at compile time, as one C condition.
 *
 * Facts over parameters (region->assumes, fixed parameters of `specialize`) and disjoint storage of
 * pointers that may overlap: the bytes that the region can touch of each, as [first, last] element
 * of the leading index.
 */
#include "search/emit/emit_private.h"

#include <string.h>

static const char *join(ctune_emitter *e, const char *all, const char *one) {
    return all == NULL ? one : ctune_arena_printf(e->arena, "%s &&\n        %s", all, one);
}

/* Smallest or largest value of aff over the stage's domain box, in C over parameters; NULL when it
 * has no such form. */
static const char *extreme(ctune_emitter *e, const ctune_stage *stage, const ctune_aff *aff,
                           bool largest) {
    ctune_stmt plain = {
        .stage = 0, .n_dims = stage->n_axes, .n_cons = stage->n_cons, .cons = stage->cons};
    for (int d = 0; d < stage->n_axes; d++) {
        plain.dims[d] = stage->axes[d];
    }
    if (!ctune_bounds_is_plain(e->region, aff)) {
        return NULL;
    }
    ctune_text text;
    ctune_text_init(&text);
    const ctune_aff *rest = ctune_aff_const(e->arena, aff->c0);
    bool ok = true;
    for (int t = 0; t < aff->n_terms && ok; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind != CTUNE_TERM_AXIS) {
            rest = ctune_aff_add(e->arena, rest,
                                 ctune_aff_term(e->arena, term->kind, term->id, term->coef));
            continue;
        }
        int pos = -1;
        for (int d = 0; d < stage->n_axes; d++) {
            pos = stage->axes[d] == term->id ? d : pos;
        }
        ctune_bounds b;
        ok = pos >= 0 && ctune_bounds_find(e->ctx, e->arena, e->region, &plain, NULL, 0, NULL, 0,
                                           pos, &b) == CTUNE_OK;
        if (ok) {
            bool upper = (term->coef > 0) == largest;
            ctune_limit limit = {.is_max = !upper,
                                 .n = upper ? b.n_upper : b.n_lower,
                                 .bound = upper ? b.upper : b.lower,
                                 .align_var = -1};
            const char *value = emit_limit(e, &limit, 0);
            ctune_text_append(&text, text.len > 0 ? " + " : "");
            if (term->coef == 1) {
                ctune_text_append(&text, value);
            } else {
                ctune_text_printf(&text, "%lld * (%s)", (long long)term->coef, value);
            }
        }
    }
    const char *out = NULL;
    bool is_bare = rest != NULL && rest->n_terms == 0 && rest->c0 == 0 && text.len > 0;
    if (ok) {
        out = ctune_arena_printf(e->arena, "%s%s%s", ctune_text_get(&text),
                                 is_bare || text.len == 0 ? "" : " + ",
                                 is_bare ? "" : emit_aff(e, NULL, rest));
    }
    ctune_text_clear(&text);
    return out;
}

static const char *widen(ctune_emitter *e, const char *all, const char *one, bool largest) {
    return all == NULL ? one
                       : ctune_arena_printf(e->arena, "%s(%s, %s)",
                                            largest ? "ctune_max" : "ctune_min", all, one);
}

/* [lo, hi] of the leading index over all accesses of the tensor. */
static bool leading_range(ctune_emitter *e, int tensor, const char **lo, const char **hi) {
    *lo = *hi = NULL;
    for (int s = 0; s < e->region->n_stages; s++) {
        const ctune_stage *stage = &e->region->stages[s];
        for (int r = -1; r < stage->n_reads; r++) {
            const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
            if (a->tensor != tensor) {
                continue;
            }
            const char *x = extreme(e, stage, a->idx[0], false);
            const char *y = extreme(e, stage, a->idx[0], true);
            if (x == NULL || y == NULL) {
                return false;
            }
            if (*lo == NULL || strcmp(*lo, x) != 0) {
                *lo = widen(e, *lo, x, false);
            }
            if (*hi == NULL || strcmp(*hi, y) != 0) {
                *hi = widen(e, *hi, y, true);
            }
        }
    }
    return *lo != NULL;
}

/* "p, elements before p, elements after" of a pointer tensor for ctune_disjoint. */
static const char *storage(ctune_emitter *e, int tensor) {
    const ctune_tensor *t = &e->region->tensors[tensor];
    const char *row = "1";
    for (int d = 1; d < t->rank; d++) {
        const char *extent = emit_aff(e, NULL, t->extent[d]);
        row = d == 1 ? ctune_arena_printf(e->arena, "(%s)", extent)
                     : ctune_arena_printf(e->arena, "%s * (%s)", row, extent);
    }
    int stride = t->elem_stride_bytes;
    if (t->rank == 0) {
        return ctune_arena_printf(e->arena, "%s, 0, %d", t->base, ctune_type_get(t->type)->bytes);
    }
    if (t->extent[0] != NULL) {
        return ctune_arena_printf(e->arena, "%s, 0, (%s) * %s * %d", t->base,
                                  emit_aff(e, NULL, t->extent[0]), row, stride);
    }
    const char *lo, *hi;
    if (!leading_range(e, tensor, &lo, &hi)) {
        return NULL;
    }
    return ctune_arena_printf(e->arena, "%s, (%s) * %s * %d, (%s + 1) * %s * %d", t->base, lo, row,
                              stride, hi, row, stride);
}

static bool may_overlap(const ctune_region *region, int a, int b) {
    const ctune_tensor *x = &region->tensors[a], *y = &region->tensors[b];
    if (x->is_temp || y->is_temp) {
        return false;
    }
    if ((!x->is_written && !y->is_written) || x->is_restrict || y->is_restrict) {
        return false;
    }
    if (!(x->is_pointer && y->is_pointer)) {
        /* a variable that nothing can point to is no is_pointer; a named array may be what the
         * other points into */
        const ctune_tensor *named = x->is_pointer ? y : x;
        return x->is_pointer != y->is_pointer && !named->is_scalar_var;
    }
    return strcmp(x->base, y->base) != 0; /* members of one array of structs never overlap */
}

const char *emit_guard(ctune_emitter *e) {
    const ctune_region *region = e->region;
    const char *all = NULL;
    for (int i = 0; i < e->nest->form->n_fixed; i++) {
        all = join(e, all,
                   ctune_arena_printf(e->arena, "%s == %lld",
                                      emit_param(e, e->nest->form->fixed_param[i]),
                                      (long long)e->nest->form->fixed_value[i]));
    }
    if (e->standalone) {
        return all == NULL ? "" : all;
    }
    for (int i = 0; i < region->n_assumes; i++) {
        const ctune_assume *a = &region->assumes[i];
        const char *text = a->c_text != NULL
                               ? ctune_arena_printf(e->arena, "(%s)", a->c_text)
                               : ctune_arena_printf(e->arena, "%s >= 0", emit_aff(e, NULL, a->aff));
        all = join(e, all, text);
    }
    for (int a = 0; a < region->n_tensors && !region->noalias; a++) {
        for (int b = a + 1; b < region->n_tensors; b++) {
            if (!may_overlap(region, a, b)) {
                continue;
            }
            const char *x = storage(e, a), *y = storage(e, b);
            if (x == NULL || y == NULL) {
                return "0 /* the range of an access is not known */";
            }
            all = join(e, all, ctune_arena_printf(e->arena, "ctune_disjoint(%s, %s)", x, y));
        }
    }
    return all == NULL ? "" : all;
}

/*
 * The run-time guard: what could not be proved at compile time, as one C condition.
 *
 * Facts over parameters (region->assumes, fixed parameters of `specialize`) and disjoint storage of
 * pointers that may overlap: the bytes that the region can touch of each, as [first, last] element
 * of the leading index. Ranges are built as indices of the program, so that they are simplified.
 */
#include "search/emit/emit_private.h"
#include "search/lower/bounds.h"
#include "search/lower/touched.h"

static void join(ctune_emitter *e) {
    ctune_text_append(e->out, e->out->len > 0 ? " &&\n        " : "");
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Smallest or largest value of aff over the stage's domain box, over parameters; NULL when it has
 * no such form. */
static const ctune_aff *extreme(ctune_emitter *e, const ctune_stage *stage, const ctune_aff *aff,
                                bool largest) {
    ctune_stmt plain = {
        .stage = 0, .n_dims = stage->n_axes, .n_cons = stage->n_cons, .cons = stage->cons};
    for (int d = 0; d < stage->n_axes; d++) {
        plain.dims[d] = stage->axes[d];
    }
    if (!ctune_bounds_is_plain(e->region, aff)) {
        return NULL;
    }
    ctune_loops *l = e->loops;
    const ctune_aff *sum = ctune_loops_const(l, aff->c0);
    for (int t = 0; t < aff->n_terms && sum != NULL; t++) {
        const ctune_term *term = &aff->terms[t];
        const ctune_aff *value = NULL;
        if (term->kind != CTUNE_TERM_AXIS) {
            const ctune_aff *bare = ctune_aff_term(e->arena, term->kind, term->id, 1);
            value = ctune_loops_import(l, bare, NULL);
        } else {
            int pos = -1;
            for (int d = 0; d < stage->n_axes; d++) {
                pos = stage->axes[d] == term->id ? d : pos;
            }
            ctune_bounds b;
            if (pos >= 0 && ctune_bounds_find(e->ctx, e->arena, e->region, &plain, NULL, 0, NULL, 0,
                                              pos, &b) == CTUNE_OK) {
                value = ctune_bounds_limit(l, &b, (term->coef > 0) == largest);
            }
        }
        sum = ctune_aff_add(l->arena, sum, ctune_aff_scale(l->arena, value, term->coef));
    }
    return sum;
}

/* Widens [lo, hi] by the leading index of an access of the stage. */
static bool join_range(ctune_emitter *e, const ctune_stage *stage, const ctune_access *a,
                       const ctune_aff **lo, const ctune_aff **hi) {
    const ctune_aff *x = extreme(e, stage, a->idx[0], false);
    const ctune_aff *y = extreme(e, stage, a->idx[0], true);
    if (x == NULL || y == NULL) {
        return false;
    }
    *lo = *lo == NULL ? x : ctune_loops_min(e->loops, *lo, x);
    *hi = *hi == NULL ? y : ctune_loops_max(e->loops, *hi, y);
    return true;
}

/* [lo, hi] of the leading index over all accesses of the tensor. */
static bool leading_range(ctune_emitter *e, int tensor, const ctune_aff **lo,
                          const ctune_aff **hi) {
    *lo = *hi = NULL;
    for (int s = 0; s < e->region->n_stages; s++) {
        const ctune_stage *stage = &e->region->stages[s];
        for (int r = -1; r < stage->n_reads; r++) {
            const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
            if (a->tensor != tensor) {
                continue;
            }
            if (!join_range(e, stage, a, lo, hi)) {
                return false;
            }
        }
        for (int i = 0; i < e->region->n_divs; i++) {
            const ctune_access *load = e->region->divs[i].load;
            if (load != NULL && load->tensor == tensor &&
                ctune_stage_is_inside(e->region, stage, i) && !join_range(e, stage, load, lo, hi)) {
                return false;
            }
        }
    }
    return *lo != NULL && *hi != NULL;
}

/* ---- disjoint storage ------------------------------------------------------------------------ */

/* rows of the leading index, in bytes */
static void print_bytes(ctune_emitter *e, const ctune_tensor *t, const ctune_aff *rows) {
    if (rows != NULL && rows->n_terms == 0 && rows->c0 == 0) {
        ctune_text_append(e->out, "0");
        return;
    }
    emit_index(e, rows, CTUNE_LEVEL_PRIMARY);
    for (int d = 1; d < t->rank; d++) {
        ctune_text_append(e->out, " * ");
        emit_index(e, ctune_loops_import(e->loops, t->extent[d], NULL), CTUNE_LEVEL_PRIMARY);
    }
    ctune_text_printf(e->out, " * %dL", t->elem_stride_bytes);
}

/* "p, first byte, end" of a tensor for ctune_disjoint. False: the range is not known. */
static bool print_storage(ctune_emitter *e, int tensor) {
    const ctune_tensor *t = &e->region->tensors[tensor];
    const ctune_aff *lo = ctune_loops_const(e->loops, 0), *end = NULL;
    if (t->rank == 0) {
        ctune_text_printf(e->out, "%s, 0, %d", t->base, ctune_type_get(t->type)->bytes);
        return true;
    }
    if (t->extent[0] != NULL) {
        end = ctune_loops_import(e->loops, t->extent[0], NULL);
    } else if (leading_range(e, tensor, &lo, &end)) {
        end = ctune_aff_add_const(e->loops->arena, end, 1);
    }
    if (lo == NULL || end == NULL) {
        return false;
    }
    ctune_text_printf(e->out, "%s, ", t->base);
    print_bytes(e, t, lo);
    ctune_text_append(e->out, ", ");
    print_bytes(e, t, end);
    return true;
}

static bool print_disjoint(ctune_emitter *e, int a, int b) {
    join(e);
    ctune_text_append(e->out, "ctune_disjoint(");
    bool ok = print_storage(e, a);
    ctune_text_append(e->out, ", ");
    ok = ok && print_storage(e, b);
    ctune_text_append(e->out, ")");
    return ok;
}

void emit_guard(ctune_emitter *e, const ctune_form *form) {
    const ctune_region *region = e->region;
    for (int i = 0; form != NULL && i < form->n_fixed; i++) {
        join(e);
        e->is_param_used[form->fixed_param[i]] = true;
        ctune_text_printf(e->out, "%s == %lld", e->param[form->fixed_param[i]],
                          (long long)form->fixed_value[i]);
    }
    for (int i = 0; e->options->sizes != NULL && i < region->n_params; i++) {
        join(e);
        e->is_param_used[i] = true;
        ctune_text_printf(e->out, "%s == %lld", e->param[i], (long long)e->options->sizes[i]);
    }
    for (int i = 0; i < region->n_assumes && !e->is_standalone; i++) {
        const ctune_assume *a = &region->assumes[i];
        join(e);
        if (a->c_text != NULL) {
            ctune_text_printf(e->out, "(%s)", a->c_text);
        } else {
            const ctune_aff *aff = ctune_loops_import(e->loops, a->aff, NULL);
            emit_conditions(e, &aff, 1);
        }
    }
    for (int a = 0; a < region->n_tensors && !region->noalias && !e->is_standalone; a++) {
        for (int b = a + 1; b < region->n_tensors; b++) {
            if (ctune_tensors_may_overlap(region, a, b) && !print_disjoint(e, a, b)) {
                ctune_text_clear(e->out);
                ctune_text_append(e->out, "0 /* the range of an access is not known */");
                return;
            }
        }
    }
}

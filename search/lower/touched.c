/*
 * Exact ranges of indices by elimination (bounds.h): see touched.h.
 *
 * The range of a form over a domain is that of one more dim that is equal to it. A box around the
 * axes would do for rectangles only: y[k - i - 1] with i < k never leaves y, its box does.
 */
#include "search/lower/touched.h"

#include "search/lower/bounds.h"

const ctune_aff *ctune_bounds_limit(ctune_loops *l, const ctune_bounds *b, bool upper) {
    const ctune_bound_row *bound = upper ? b->upper : b->lower;
    const ctune_aff *all = NULL;
    for (int i = 0; i < (upper ? b->n_upper : b->n_lower); i++) {
        const ctune_aff *aff = ctune_loops_import(l, bound[i].aff, NULL);
        const ctune_aff *one = upper ? ctune_loops_floor(l, aff, bound[i].den)
                                     : ctune_loops_ceil(l, aff, bound[i].den);
        all = all == NULL ? one
              : upper     ? ctune_loops_min(l, all, one)
                          : ctune_loops_max(l, all, one);
    }
    return all;
}

/* Is there an axis without a value, whatever the parameters? Rows over parameters do not say so. */
static bool is_void(ctune_loops *l, const ctune_stmt *plain) {
    for (int d = 0; d < plain->n_dims; d++) {
        ctune_bounds b;
        if (ctune_bounds_find(l->ctx, l->arena, l->region, plain, NULL, 0, NULL, 0, d, &b) !=
            CTUNE_OK) {
            return false;
        }
        const ctune_aff *span = ctune_aff_sub(l->arena, ctune_bounds_limit(l, &b, true),
                                              ctune_bounds_limit(l, &b, false));
        if (span != NULL && span->n_terms == 0 && span->c0 < 0) {
            return true;
        }
    }
    return false;
}

/* Exact range of a form over the stage's domain: as that of one more dim, which is equal to it. */
static bool find_extremes(ctune_loops *l, const ctune_stage *stage, const ctune_aff *aff,
                          ctune_touched *out) {
    ctune_stmt plain = {.stage = (int)(stage - l->region->stages), .n_dims = stage->n_axes + 1};
    const ctune_aff **cons = CTUNE_NEW_ARRAY(l->arena, const ctune_aff *, stage->n_cons + 2);
    ctune_bounds b;
    if (cons == NULL || stage->n_axes == CTUNE_MAX_DEPTH ||
        !ctune_bounds_is_plain(l->region, aff)) {
        return false;
    }
    for (int d = 0; d < stage->n_axes; d++) {
        plain.dims[d] = stage->axes[d];
    }
    plain.dims[stage->n_axes] = l->region->n_axes; /* an id that no axis has */
    for (int c = 0; c < stage->n_cons; c++) {
        cons[plain.n_cons++] = stage->cons[c];
    }
    const ctune_aff *off = ctune_aff_sub(
        l->arena, ctune_aff_term(l->arena, CTUNE_TERM_AXIS, l->region->n_axes, 1), aff);
    cons[plain.n_cons++] = off;
    cons[plain.n_cons++] = ctune_aff_scale(l->arena, off, -1);
    plain.cons = cons;
    if (off == NULL || ctune_bounds_find(l->ctx, l->arena, l->region, &plain, NULL, 0, NULL, 0,
                                         stage->n_axes, &b) != CTUNE_OK) {
        return false;
    }
    out->rows = CTUNE_NEW_ARRAY(l->arena, const ctune_aff *, b.n_param_rows + 1);
    if (out->rows != NULL && is_void(l, &plain)) {
        out->rows[out->n_rows++] = ctune_loops_const(l, -1);
    }
    for (int i = 0; i < b.n_param_rows && out->rows != NULL; i++) {
        out->rows[out->n_rows++] = ctune_loops_import(l, b.param_rows[i], NULL);
    }
    out->lo = ctune_bounds_limit(l, &b, false);
    out->hi = ctune_bounds_limit(l, &b, true);
    return out->lo != NULL && out->hi != NULL;
}

/* Is the read in the part of the expression that not each instance evaluates? */
static bool is_optional(const ctune_expr *expr, const ctune_expr *read, bool inside) {
    if (expr == NULL || expr == read) {
        return expr != NULL && inside;
    }
    bool has_choice =
        expr->op == CTUNE_OP_SELECT || expr->op == CTUNE_OP_LAND || expr->op == CTUNE_OP_LOR;
    for (int i = 0; i < expr->n_kids; i++) {
        if (is_optional(expr->kids[i], read, inside || (has_choice && i > 0))) {
            return true;
        }
    }
    return false;
}

/* May the stage touch less than its domain says? */
static bool is_conditional(const ctune_region *region, const ctune_stage *stage,
                           const ctune_expr *read) {
    for (int c = 0; c < stage->n_cons; c++) {
        if (!ctune_bounds_is_plain(region, stage->cons[c])) {
            return true;
        }
    }
    return stage->guard != NULL || is_optional(stage->rhs, read, false);
}

void ctune_touched_find(ctune_loops *l, const ctune_stage *stage, const ctune_access *access,
                        const ctune_expr *read, int d, ctune_touched *out) {
    const ctune_tensor *t = &l->region->tensors[access->tensor];
    const ctune_aff *zero = ctune_loops_const(l, 0), *last = NULL;
    *out = (ctune_touched){.lo = NULL};
    if (t->extent[d] != NULL) {
        last = ctune_aff_add_const(l->arena, ctune_loops_import(l, t->extent[d], NULL), -1);
    }
    if (!find_extremes(l, stage, access->idx[d], out)) {
        out->lo = zero;
        out->hi = last;
    } else if (is_conditional(l->region, stage, read)) {
        out->lo = ctune_loops_max(l, out->lo, zero);
        out->hi = last == NULL ? NULL : ctune_loops_min(l, out->hi, last);
    }
}

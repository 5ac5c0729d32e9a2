/*
 * Bounds of one loop: rows of the elimination (bounds.c) pruned, merged over statements, and turned
 * into indices.
 *
 * A loop over several statements gets bounds that all of them share (parallel rows with the loosest
 * constant), or the hull of their values where they share none.
 */
#include "search/lower/lower_private.h"

#include <string.h>

ctune_status lower_bounds_raw(lowerer *w, int stmt, int dim, ctune_bounds *out) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    ctune_open open[CTUNE_MAX_OPEN];
    ctune_extra extra[LOWER_MAX_EXTRA];
    int n = 0, n_extra = 0;
    if (w->n_open > CTUNE_MAX_OPEN) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED, "too many nested loops");
    }
    for (int i = 0; i < w->n_open; i++) {
        int pos = w->open[i].dim < 0 ? -1 : lower_pos(s, w->open[i].dim);
        if (pos < 0 && w->open[i].dim >= 0) {
            continue;
        }
        open[n++] = (ctune_open){.var = w->open[i].var, .pos = pos, .step = w->open[i].step};
    }
    for (int i = 0; i < w->n_extra; i++) {
        int pos = lower_pos(s, w->extra[i].dim);
        if (pos >= 0) {
            extra[n_extra++] = (ctune_extra){.pos = pos,
                                             .var = w->extra[i].var,
                                             .c = w->extra[i].c,
                                             .is_lower = w->extra[i].is_lower};
        }
    }
    return ctune_bounds_find(w->ctx, w->arena, w->region, s, open, n, extra, n_extra,
                             lower_pos(s, dim), out);
}

bool lower_is_parallel_row(const ctune_bound *a, const ctune_bound *b) {
    if (a->den != b->den || a->aff->n_terms != b->aff->n_terms) {
        return false;
    }
    for (int t = 0; t < a->aff->n_terms; t++) {
        const ctune_term *x = &a->aff->terms[t], *y = &b->aff->terms[t];
        if (x->kind != y->kind || x->id != y->id || x->coef != y->coef) {
            return false;
        }
    }
    return true;
}

/* Keep the tightest of each class of parallel rows. */
static int prune(ctune_bound *rows, int n, bool is_lower) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool dominated = false;
        for (int k = 0; k < kept && !dominated; k++) {
            if (lower_is_parallel_row(&rows[i], &rows[k])) {
                int64_t a = rows[i].aff->c0, b = rows[k].aff->c0;
                if (is_lower ? a > b : a < b) {
                    rows[k] = rows[i];
                }
                dominated = true;
            }
        }
        if (!dominated) {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

/* Narrow the classes in `rows` to those that `other` has, too, with the looser constant. */
static int hull(ctune_bound *rows, int n, const ctune_bound *other, int n_other, bool is_lower) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_other; k++) {
            if (lower_is_parallel_row(&rows[i], &other[k])) {
                int64_t a = rows[i].aff->c0, b = other[k].aff->c0;
                rows[kept++] = (is_lower ? b < a : b > a) ? other[k] : rows[i];
                break;
            }
        }
    }
    return kept;
}

static void drop_row(lower_limit *limit, int i) {
    memmove(&limit->bound[i], &limit->bound[i + 1],
            (size_t)(limit->n - 1 - i) * sizeof *limit->bound);
    limit->n--;
}

static bool is_var_plus(const ctune_bound *b, int var, int64_t add) {
    return b->den == 1 && b->aff->c0 == add && b->aff->n_terms == 1 &&
           b->aff->terms[0].kind == CTUNE_TERM_AXIS && b->aff->terms[0].id == var &&
           b->aff->terms[0].coef == 1;
}

/* The open levels of dim already imply some rows: an inner tile starts no lower than the outer one
 * and, on its grid, ends in it. */
void lower_simplify(lowerer *w, int dim, lower_limit *lo, lower_limit *hi) {
    const lower_open *inner = NULL;
    for (int i = w->n_open - 1; i >= 0; i--) {
        const lower_open *o = &w->open[i];
        if (o->dim != dim || o->step <= 1) {
            continue;
        }
        bool knows = o->node < 0 || w->node_lo[o->node].n > 0;
        for (int k = lo->n - 1; k >= 0 && lo->n > 1; k--) {
            bool implied = inner != NULL && inner->start_var == o->var &&
                           is_var_plus(&lo->bound[k], o->var, 0);
            for (int r = 0; o->node >= 0 && knows && r < w->node_lo[o->node].n && !implied; r++) {
                const ctune_bound *row = &w->node_lo[o->node].bound[r];
                implied = lower_is_parallel_row(row, &lo->bound[k]) &&
                          row->aff->c0 >= lo->bound[k].aff->c0;
            }
            if (implied) {
                drop_row(lo, k);
            }
        }
        for (int k = hi->n - 1; k >= 0 && hi->n > 1; k--) {
            if (inner != NULL && inner->start_var == o->var && o->step % inner->step == 0 &&
                is_var_plus(&hi->bound[k], o->var, o->step - 1)) {
                drop_row(hi, k);
            }
        }
        inner = o;
    }
}

static bool hull_classes(const ctune_bounds *each, int n, ctune_bounds *all) {
    *all = each[0];
    for (int i = 1; i < n; i++) {
        all->n_lower = hull(all->lower, all->n_lower, each[i].lower, each[i].n_lower, true);
        all->n_upper = hull(all->upper, all->n_upper, each[i].upper, each[i].n_upper, false);
    }
    return all->n_lower > 0 && all->n_upper > 0;
}

/* No constraint in common: least of the lower limits, greatest of the upper ones, as they are. */
static bool hull_groups(lowerer *w, const ctune_bounds *each, int n, bool is_lower,
                        lower_limit *out) {
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += is_lower ? each[i].n_lower : each[i].n_upper;
    }
    ctune_bound *rows = CTUNE_NEW_ARRAY(w->arena, ctune_bound, total);
    int *group = CTUNE_NEW_ARRAY(w->arena, int, total);
    if (rows == NULL || group == NULL) {
        return false;
    }
    *out = (lower_limit){.is_max = is_lower, .bound = rows, .n_groups = n, .group = group};
    for (int i = 0; i < n; i++) {
        int m = is_lower ? each[i].n_lower : each[i].n_upper;
        for (int k = 0; k < m; k++) {
            group[out->n] = i;
            rows[out->n++] = is_lower ? each[i].lower[k] : each[i].upper[k];
        }
    }
    return true;
}

static ctune_bound *copy_rows(lowerer *w, const ctune_bound *rows, int n) {
    ctune_bound *copy = CTUNE_NEW_ARRAY(w->arena, ctune_bound, n + 1);
    if (copy != NULL && n > 0) {
        memcpy(copy, rows, (size_t)n * sizeof *copy);
    }
    return copy;
}

ctune_status lower_bounds_hull(lowerer *w, const int *stmts, int n, int dim, lower_limit *lo,
                               lower_limit *hi) {
    ctune_bounds *each = CTUNE_NEW_ARRAY(w->arena, ctune_bounds, n);
    ctune_bounds *copy = CTUNE_NEW_ARRAY(w->arena, ctune_bounds, n);
    ctune_bounds all;
    if (each == NULL || copy == NULL) {
        return lower_fail(w);
    }
    for (int i = 0; i < n; i++) {
        ctune_status status = lower_bounds_raw(w, stmts[i], dim, &each[i]);
        if (status != CTUNE_OK) {
            return status;
        }
        each[i].n_lower = prune(each[i].lower, each[i].n_lower, true);
        each[i].n_upper = prune(each[i].upper, each[i].n_upper, false);
        copy[i] = each[i];
        copy[i].lower = copy_rows(w, each[i].lower, each[i].n_lower);
        copy[i].upper = copy_rows(w, each[i].upper, each[i].n_upper);
        if (copy[i].lower == NULL || copy[i].upper == NULL) {
            return lower_fail(w);
        }
    }
    bool shared = hull_classes(each, n, &all);
    *lo = (lower_limit){.is_max = true, .n = all.n_lower, .bound = all.lower};
    *hi = (lower_limit){.is_max = false, .n = all.n_upper, .bound = all.upper};
    if (!shared && ((lo->n == 0 && !hull_groups(w, copy, n, true, lo)) ||
                    (hi->n == 0 && !hull_groups(w, copy, n, false, hi)))) {
        return lower_fail(w);
    }
    for (int i = 0; i < n; i++) {
        lo->is_inexact |= each[i].is_inexact;
        hi->is_inexact |= each[i].is_inexact;
    }
    return CTUNE_OK;
}

ctune_status lower_bounds(lowerer *w, int stmt, int dim, lower_limit *lo, lower_limit *hi) {
    ctune_status status = lower_bounds_hull(w, &stmt, 1, dim, lo, hi);
    if (status == CTUNE_OK) {
        lower_simplify(w, dim, lo, hi);
    }
    return status;
}

/* ---- as indices ------------------------------------------------------------------------------ */

const ctune_aff *lower_row_aff(lowerer *w, const ctune_aff *row) {
    if (row == NULL || !ctune_aff_has_kind(row, CTUNE_TERM_DIV)) {
        return row;
    }
    const ctune_aff *sum = ctune_aff_const(w->arena, row->c0);
    for (int t = 0; t < row->n_terms; t++) {
        const ctune_term *term = &row->terms[t];
        const ctune_aff *part = ctune_aff_term(w->arena, term->kind, term->id, 1);
        if (term->kind == CTUNE_TERM_DIV) {
            const ctune_div *div = &w->region->divs[term->id];
            part =
                ctune_loops_floor(w->loops, ctune_loops_import(w->loops, div->num, NULL), div->den);
        }
        sum = ctune_aff_add(w->arena, sum, ctune_aff_scale(w->arena, part, term->coef));
    }
    return sum;
}

/* ceil(aff / den) + add or floor(aff / den) + add */
static const ctune_aff *row_value(lowerer *w, const ctune_bound *b, bool is_max, int64_t add) {
    const ctune_aff *num = ctune_aff_add_const(w->arena, lower_row_aff(w, b->aff), add * b->den);
    return is_max ? ctune_loops_ceil(w->loops, num, b->den)
                  : ctune_loops_floor(w->loops, num, b->den);
}

static const ctune_aff *combine(lowerer *w, bool is_max, const ctune_aff *all,
                                const ctune_aff *one) {
    return all == NULL ? one
           : is_max    ? ctune_loops_max(w->loops, all, one)
                       : ctune_loops_min(w->loops, all, one);
}

const ctune_aff *lower_limit_aff(lowerer *w, const lower_limit *limit, int64_t add) {
    const ctune_aff *all = NULL;
    int n_groups = limit->n_groups > 1 ? limit->n_groups : 1;
    for (int g = 0; g < n_groups; g++) {
        const ctune_aff *one = NULL;
        for (int i = 0; i < limit->n; i++) {
            if (n_groups == 1 || limit->group[i] == g) {
                one = combine(w, limit->is_max, one,
                              row_value(w, &limit->bound[i], limit->is_max, add));
            }
        }
        if (one == NULL) {
            return NULL;
        }
        all = combine(w, !limit->is_max, all, one);
    }
    return all;
}

bool lower_limit_is_var(const lower_limit *limit, int var) {
    return limit->n == 1 && is_var_plus(&limit->bound[0], var, 0);
}

ctune_lnode *lower_param_guard(lowerer *w, int stmt, int dim, ctune_lnode *into) {
    ctune_bounds b;
    if (lower_bounds_raw(w, stmt, dim, &b) != CTUNE_OK || b.n_param_rows == 0) {
        return into;
    }
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, b.n_param_rows);
    for (int i = 0; conds != NULL && i < b.n_param_rows; i++) {
        conds[i] = lower_row_aff(w, b.param_rows[i]);
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, b.n_param_rows, NULL);
    ctune_lnode_append(into, guard);
    return guard;
}

ctune_lnode *lower_for(lowerer *w, int var, const lower_limit *lo, const lower_limit *hi,
                       int64_t step, ctune_lann ann, ctune_lnode *into) {
    ctune_lnode *loop = ctune_lnode_for(w->loops, var, lower_limit_aff(w, lo, 0),
                                        lower_limit_aff(w, hi, 1), step, ann);
    ctune_lnode_append(into, loop);
    return loop;
}

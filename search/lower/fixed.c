/*
 * Loops of one iteration: a sum around a point loop may leave it a single value. It becomes a
 * variable, and what else its bounds ask a condition, but for what the ranges of the loops around
 * it say already.
 */
#include "search/lower/lower_private.h"

/* The value of a loop that has one iteration at most because a sum around it fixes it; NULL. */
const ctune_aff *lower_fixed_value(lowerer *w, const lower_limit *lo, const lower_limit *hi) {
    for (int i = 0; i < lo->n && lo->n_groups <= 1; i++) {
        for (int k = 0; k < hi->n && hi->n_groups <= 1; k++) {
            if (lo->bound[i].den == 1 && hi->bound[k].den == 1 &&
                ctune_aff_is_equal(lo->bound[i].aff, hi->bound[k].aff)) {
                return lower_row_aff(w, lo->bound[i].aff);
            }
        }
    }
    return NULL;
}

/* That value satisfies a row of a lower (is_max) or upper limit, as a form that is >= 0. */
static const ctune_aff *row_gap(lowerer *w, const ctune_bound_row *b, bool is_max,
                                const ctune_aff *value) {
    const ctune_aff *gap =
        ctune_aff_sub(w->arena, ctune_aff_scale(w->arena, value, b->den), lower_row_aff(w, b->aff));
    return is_max ? gap : ctune_aff_scale(w->arena, gap, -1);
}

static bool is_at_least(const ctune_aff *a, const ctune_aff *b) {
    bool same = a->n_terms == b->n_terms && a->c0 >= b->c0;
    for (int t = 0; same && t < a->n_terms; t++) {
        same = a->terms[t].coef == ctune_aff_coef(b, a->terms[t].kind, a->terms[t].id);
    }
    return same;
}

/* Does the range of an open loop say that the form is >= 0? */
static bool is_implied(lowerer *w, const ctune_aff *form) {
    for (int i = 0; i < w->n_open && i < CTUNE_MAX_OPEN; i++) {
        int node = w->open[i].node;
        for (int side = 0; side < 2 && node >= 0; side++) {
            const lower_limit *limit = side == 0 ? &w->node_lo[node] : &w->node_hi[node];
            const ctune_aff *var = ctune_loops_var_aff(w->loops, w->open[i].var, 1, 0);
            for (int k = 0; k < limit->n && limit->n_groups <= 1; k++) {
                const ctune_aff *gap = row_gap(w, &limit->bound[k], side == 0, var);
                if (gap != NULL && is_at_least(form, gap)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* What the other rows of a limit ask of the value. */
static int fixed_conds(lowerer *w, const lower_limit *limit, const ctune_aff *value,
                       const ctune_aff **conds) {
    int n = 0;
    for (int i = 0; i < limit->n; i++) {
        const ctune_aff *gap = row_gap(w, &limit->bound[i], limit->is_max, value);
        bool is_true = gap != NULL && gap->n_terms == 0 && gap->c0 >= 0;
        if (gap == NULL || (!is_true && !is_implied(w, gap))) {
            conds[n++] = gap;
        }
    }
    return n;
}

/* Instead of a loop of one iteration: its variable, where the value is in range. Returns where its
 * body goes, NULL when memory is out. */
ctune_lnode *lower_fixed(lowerer *w, int var, const ctune_aff *value, const lower_limit *lo,
                         const lower_limit *hi, ctune_lnode *into) {
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, lo->n + hi->n + 1);
    if (conds == NULL) {
        return NULL;
    }
    int n = fixed_conds(w, lo, value, conds);
    n += fixed_conds(w, hi, value, conds + n);
    ctune_lnode *body =
        n > 0 ? ctune_lnode_if(w->loops, conds, n, NULL) : ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    ctune_lnode_append(into, body);
    ctune_lnode_append(body, ctune_lnode_let(w->loops, var, value));
    return body;
}

/*
 * What a statement's own domain asks beyond the bounds of the loops around it: noted when a loop
 * over several statements is opened, checked by an IF around the part of its body that is the
 * statement's alone.
 */
#include "search/lower/lower_private.h"

#include <string.h>

/* Does a row of stmt hold by the limit (of the hull over several statements)? */
static bool is_held(const lower_limit *limit, const ctune_bound_row *row) {
    for (int k = 0; k < limit->n && limit->n_groups <= 1; k++) {
        if (lower_is_parallel_row(&limit->bound[k], row)) {
            int64_t have = limit->bound[k].aff->c0, want = row->aff->c0;
            if (limit->is_max ? have >= want : have <= want) {
                return true;
            }
        }
    }
    return false;
}

/* After a loop was opened with limits lo, hi: which domain constraints of stmt hold by
 * them, which wait; and likewise which loops over sums. */
ctune_status lower_note_constraints(lowerer *w, int stmt, int node, const lower_limit *lo,
                                    const lower_limit *hi) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    int tile_node[CTUNE_MAX_OPEN];
    ctune_bounds b;
    ctune_status status = lower_bounds_rows(w, stmt, node, &b, tile_node);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int side = 0; side < 2; side++) {
        const lower_limit *limit = side == 0 ? lo : hi;
        int n = side == 0 ? b.n_lower : b.n_upper;
        for (int i = 0; i < n; i++) {
            const ctune_bound_row *row = side == 0 ? &b.lower[i] : &b.upper[i];
            bool is_con = row->is_domain && row->i_con >= 0 && row->i_con < s->n_cons;
            if ((is_con || row->i_open >= 0) && !is_held(limit, row)) {
                if (is_con) {
                    w->pending[stmt][row->i_con] = true;
                }
                if (row->i_open >= 0) {
                    w->pending_tile[stmt][tile_node[row->i_open]] = true;
                }
            }
        }
    }
    return CTUNE_OK;
}

/* Are all dims that con needs open as point loops? */
static bool is_decidable(const lowerer *w, int stmt, const lower_env *env, const ctune_aff *con) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int t = 0; t < con->n_terms; t++) {
        if (con->terms[t].kind == CTUNE_TERM_AXIS) {
            int pos = lower_pos(s, con->terms[t].id);
            if (pos < 0 || env->val[pos] == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* A form over the dims of stmt, all open, at their values. */
static const ctune_aff *at_values(lowerer *w, int stmt, const lower_env *env,
                                  const ctune_aff *form) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_aff *sum = ctune_aff_const(w->arena, form->c0);
    for (int t = 0; t < form->n_terms; t++) {
        const ctune_term *term = &form->terms[t];
        const ctune_aff *part = ctune_aff_term(w->arena, term->kind, term->id, 1);
        part = term->kind == CTUNE_TERM_AXIS ? env->val[lower_pos(s, term->id)]
                                             : lower_row_aff(w, part);
        sum = ctune_aff_add(w->arena, sum, ctune_aff_scale(w->arena, part, term->coef));
    }
    return sum;
}

/* What a loop over a sum adds up for stmt. */
static const ctune_aff *sum_of(lowerer *w, int stmt, int node) {
    const ctune_sum *sum = ctune_nest_sum(w->nest, node);
    const ctune_aff *aff = ctune_aff_const(w->arena, 0);
    for (int t = 0; t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        if (term->kind == CTUNE_SUM_STMT && term->of == stmt) {
            aff = ctune_aff_add_const(w->arena, aff, term->coef);
        } else if (term->kind == CTUNE_SUM_DIM && lower_pos(&w->tree->stmts[stmt], term->of) >= 0) {
            aff = ctune_aff_add(w->arena, aff,
                                ctune_aff_term(w->arena, CTUNE_TERM_AXIS, term->of, term->coef));
        }
    }
    return aff;
}

/* x <= sum <= x + step - 1 for the loops over sums that stmt waits for. */
static int pending_tiles(lowerer *w, int stmt, const lower_env *env, const ctune_aff **conds) {
    int n = 0;
    for (int node = 1; node < w->nest->n_nodes; node++) {
        const ctune_aff *sum = w->pending_tile[stmt][node] ? sum_of(w, stmt, node) : NULL;
        if (sum == NULL || !is_decidable(w, stmt, env, sum)) {
            continue;
        }
        const ctune_aff *x = ctune_loops_var_aff(w->loops, w->node_var[node], 1, 0);
        const ctune_aff *off = ctune_aff_sub(w->arena, at_values(w, stmt, env, sum), x);
        const ctune_aff *left = ctune_aff_scale(w->arena, off, -1);
        conds[n++] = off;
        conds[n++] = ctune_aff_add_const(w->arena, left, w->nest->node[node].step - 1);
        w->pending_tile[stmt][node] = false;
    }
    return n;
}

/* Wrap into an IF what stmt still waits for and can be checked now; returns where to put its code.
 */
ctune_lnode *lower_open_guard(lowerer *w, int stmt, ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_aff **conds =
        CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, s->n_cons + 2 * CTUNE_NEST_NODES);
    lower_env env;
    lower_env_get(w, stmt, &env);
    int n = conds != NULL ? pending_tiles(w, stmt, &env, conds) : 0;
    for (int i = 0; conds != NULL && i < s->n_cons; i++) {
        if (w->pending[stmt][i] && is_decidable(w, stmt, &env, s->cons[i])) {
            conds[n++] = at_values(w, stmt, &env, s->cons[i]);
            w->pending[stmt][i] = false;
        }
    }
    if (n == 0) {
        return into;
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n, NULL);
    ctune_lnode_append(into, guard);
    return guard;
}

/* The same for code beside the statement's own (a copy of what it reads): it goes on waiting. */
ctune_lnode *lower_peek_guard(lowerer *w, int stmt, ctune_lnode *into) {
    int n_cons = w->tree->stmts[stmt].n_cons;
    bool *cons = CTUNE_NEW_ARRAY(w->arena, bool, n_cons + 1);
    bool *tiles = CTUNE_NEW_ARRAY(w->arena, bool, CTUNE_NEST_NODES);
    if (cons == NULL || tiles == NULL) {
        return into; /* out of memory: recorded in the arena */
    }
    memcpy(cons, w->pending[stmt], (size_t)n_cons * sizeof *cons);
    memcpy(tiles, w->pending_tile[stmt], CTUNE_NEST_NODES * sizeof *tiles);
    ctune_lnode *guard = lower_open_guard(w, stmt, into);
    memcpy(w->pending[stmt], cons, (size_t)n_cons * sizeof *cons);
    memcpy(w->pending_tile[stmt], tiles, CTUNE_NEST_NODES * sizeof *tiles);
    return guard;
}

static bool has_con(const ctune_stmt *s, const ctune_aff *con) {
    for (int i = 0; i < s->n_cons; i++) {
        if (ctune_aff_is_equal(s->cons[i], con)) {
            return true;
        }
    }
    return false;
}

/* Does some statement still wait for a condition on the open loops? */
static bool is_waiting(lowerer *w, const int *stmts, int n) {
    for (int k = 0; k < n; k++) {
        lower_env env;
        lower_env_get(w, stmts[k], &env);
        const ctune_stmt *s = &w->tree->stmts[stmts[k]];
        for (int i = 0; i < s->n_cons; i++) {
            if (w->pending[stmts[k]][i] && is_decidable(w, stmts[k], &env, s->cons[i])) {
                return true;
            }
        }
    }
    return false;
}

ctune_lnode *lower_shared_guard(lowerer *w, int node, ctune_lnode *into) {
    int stmts[CTUNE_MAX_STMTS];
    int n = lower_stmts_under(w, node, stmts), n_conds = 0;
    if (n < 2 || !is_waiting(w, stmts, n)) {
        return into;
    }
    const ctune_stmt *s = &w->tree->stmts[stmts[0]];
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, s->n_cons + 1);
    lower_env env;
    lower_env_get(w, stmts[0], &env);
    for (int i = 0; conds != NULL && i < s->n_cons; i++) {
        bool is_common = s->cons[i]->n_terms > 0 && is_decidable(w, stmts[0], &env, s->cons[i]) &&
                         ctune_bounds_is_plain(w->region, s->cons[i]);
        for (int k = 1; k < n && is_common; k++) {
            is_common = has_con(&w->tree->stmts[stmts[k]], s->cons[i]);
        }
        if (is_common) {
            conds[n_conds++] = at_values(w, stmts[0], &env, s->cons[i]);
        }
    }
    if (n_conds == 0) {
        return into;
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n_conds, NULL);
    ctune_lnode_append(into, guard);
    return guard;
}

/*
 * Vector loops around calls and around loops.
 *
 * In: a loop that the schedule vectorizes and that stands outside of register tiles; compilers make
 * vectors of it, unless its statements call functions, or other loops stand inside (a recurrence
 * along each row). Out: for these, whole tiles are a VECTOR loop, which the vectorise pass turns
 * into lanes whatever compilers think; the rest stays as it is:
 *
 *     if (the tile is whole) { for p in [0, 32) vector: x = x0 + p } else { for x in [x0, end) simd
 * }
 *
 * Loops that are whole as they stand (isolate.c) become vectors without that question.
 */
#include "search/lower/lower_private.h"

static bool has_call(const ctune_expr *e) {
    bool has = e->op == CTUNE_OP_CALL;
    for (int i = 0; i < e->n_kids && !has; i++) {
        has = has_call(e->kids[i]);
    }
    return has;
}

static bool calls_functions(const lowerer *w, int node) {
    int stmts[CTUNE_MAX_STMTS];
    int n = lower_stmts_under(w, node, stmts);
    for (int i = 0; i < n; i++) {
        if (has_call(w->region->stages[w->tree->stmts[stmts[i]].stage].rhs)) {
            return true;
        }
    }
    return false;
}

/* A packed copy inside the loop is one place for all iterations. */
static bool has_pack(const lowerer *w, int node) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        const ctune_cache *cache = &w->nest->cache[c];
        if (cache->kind == CTUNE_CACHE_PACK && lower_is_ancestor(w, node, cache->at)) {
            return true;
        }
    }
    return false;
}

void lower_lanes_of_calls(lowerer *w, int node, ctune_lnode *loop, ctune_lnode *into) {
    int outer = w->nest->node[node].outer;
    if (outer < 0 || into->last != loop || loop->step != 1 || has_pack(w, node)) {
        return;
    }
    int64_t lanes = w->nest->node[outer].step;
    const ctune_aff *end = ctune_aff_add_const(w->arena, loop->lo, lanes);
    const ctune_aff *conds[1] = {ctune_aff_sub(w->arena, loop->hi, end)};
    bool is_whole = conds[0] != NULL && conds[0]->n_terms == 0 && conds[0]->c0 == 0;
    if (conds[0] != NULL && !is_whole && !ctune_lnode_has_loop(loop) && !calls_functions(w, node)) {
        return;
    }
    ctune_lnode *rest = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    int point = ctune_loops_index_var(w->loops, w->nest->node[node].name);
    ctune_lnode *full = ctune_lnode_for(w->loops, point, ctune_loops_const(w->loops, 0),
                                        ctune_loops_const(w->loops, lanes), 1, CTUNE_LANN_VECTOR);
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, 1, NULL);
    if (conds[0] == NULL || rest == NULL || full == NULL || guard == NULL) {
        return; /* the failure is recorded */
    }
    const ctune_aff *at =
        ctune_aff_add(w->arena, loop->lo, ctune_loops_var_aff(w->loops, point, 1, 0));
    ctune_lnode_copy_body(w->loops, loop, at, full);
    if (is_whole) {
        full->next = loop->next;
        *loop = *full;
        return;
    }
    ctune_lnode_append(guard, full);
    /* the loop's place in `into` is the guard's; what comment it has goes along */
    ctune_lnode moved = *loop;
    *loop = *guard;
    loop->next = moved.next;
    *guard = moved;
    guard->next = NULL;
    ctune_lnode_append(rest, guard);
    loop->other = rest;
}

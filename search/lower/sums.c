/*
 * Vector loops along which something is added up: legal where the order of the updates is free.
 *
 * In: the nest. Out: which loops these are. The lowering makes one loop of such a vector loop and
 * of that over its tiles; the pass `sums` makes lanes of it.
 */
#include "search/lower/lower_private.h"

bool lower_adds_up(const lowerer *w, int node) {
    int stmts[CTUNE_MAX_STMTS], dim = w->nest->node[node].dim;
    int n = lower_stmts_under(w, node, stmts);
    for (int i = 0; i < n; i++) {
        const ctune_stmt *s = &w->tree->stmts[stmts[i]];
        const ctune_stage *stage = &w->region->stages[s->stage];
        if (ctune_update_get(stage->update)->is_assoc &&
            !ctune_stmt_axes_move(w->region, s, ~stage->reduce_mask, dim)) {
            return true;
        }
    }
    return false;
}

bool lower_is_sum_pair(const lowerer *w, int node) {
    const ctune_nnode *tiles = &w->nest->node[node];
    int kid = tiles->first;
    if (tiles->ann != CTUNE_ANN_SERIAL || tiles->sum >= 0 || kid < 0 ||
        w->nest->node[kid].next >= 0 || w->nest->node[kid].kind != CTUNE_NN_LOOP ||
        w->nest->node[kid].outer != node || w->nest->node[kid].ann != CTUNE_ANN_VECTOR ||
        !lower_adds_up(w, kid) || ctune_nest_is_aligned(w->nest, node)) {
        return false;
    }
    for (int c = 0; c < w->nest->n_caches; c++) {
        if (w->nest->cache[c].at == node || w->nest->cache[c].at == kid) {
            return false;
        }
    }
    return true;
}

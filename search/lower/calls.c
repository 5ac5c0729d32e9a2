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
 * Around loops, what is left of a tile runs in narrower ones first.
 * Loops that are whole as they stand (isolate.c) become vectors without that question.
 */
#include "search/lower/lower_private.h"

enum { FEW_LANES = 4 };

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

/* Lanes of one vector of the widest element that is stored in the loop. */
static int64_t vector_lanes(const lowerer *w, int node) {
    int stmts[CTUNE_MAX_STMTS], widest = 1;
    int n = lower_stmts_under(w, node, stmts);
    for (int i = 0; i < n; i++) {
        int tensor = w->region->stages[w->tree->stmts[stmts[i]].stage].target.tensor;
        int bytes = ctune_type_get(w->region->tensors[tensor].type)->bytes;
        widest = bytes > widest ? bytes : widest;
    }
    return w->options->target->vector_bytes / widest;
}

/* Iterations of the loop from `from` on, `lanes` at a time as long as there are so many; returns
 * the first one that is left. */
static const ctune_aff *add_rung(lowerer *w, const ctune_lnode *loop, const ctune_aff *from,
                                 int64_t lanes, ctune_lnode *into) {
    const char *hint = w->loops->var[loop->var].hint;
    const ctune_aff *trips =
        ctune_loops_floor(w->loops, ctune_aff_sub(w->arena, loop->hi, from), lanes);
    trips = ctune_loops_max(w->loops, trips, ctune_loops_const(w->loops, 0));
    const ctune_aff *end = ctune_aff_add(w->arena, from, ctune_aff_scale(w->arena, trips, lanes));
    int end_var = lower_let_var(w, "left", end, into);
    int tile = ctune_loops_index_var(w->loops, hint), point = ctune_loops_index_var(w->loops, hint);
    const ctune_aff *left = ctune_loops_var_aff(w->loops, end_var, 1, 0);
    ctune_lnode *tiles = ctune_lnode_for(w->loops, tile, from, left, lanes, CTUNE_LANN_SERIAL);
    ctune_lnode *points = ctune_lnode_for(w->loops, point, ctune_loops_const(w->loops, 0),
                                          ctune_loops_const(w->loops, lanes), 1, CTUNE_LANN_VECTOR);
    if (tiles == NULL || points == NULL) {
        return left;
    }
    const ctune_aff *at = ctune_aff_add(w->arena, ctune_loops_var_aff(w->loops, tile, 1, 0),
                                        ctune_loops_var_aff(w->loops, point, 1, 0));
    ctune_lnode_copy_body(w->loops, loop, at, points);
    ctune_lnode_append(tiles, points);
    ctune_lnode_append(into, tiles);
    return left;
}

/* What a part of a tile leaves over runs in single vectors, then in a few lanes: without them each
 * row would wait for its recurrence alone. Returns where the rest begins. */
static const ctune_aff *add_rungs(lowerer *w, int node, const ctune_lnode *loop, int64_t lanes,
                                  ctune_lnode *into) {
    int64_t whole = vector_lanes(w, node);
    const ctune_aff *from = loop->lo;
    if (lanes > whole && whole > FEW_LANES) {
        from = add_rung(w, loop, from, whole, into);
    }
    return lanes > FEW_LANES && whole > FEW_LANES ? add_rung(w, loop, from, FEW_LANES, into) : from;
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
    const ctune_aff *left = loop->lo;
    if (ctune_lnode_has_loop(loop)) {
        left = add_rungs(w, node, loop, lanes, rest);
    }
    /* the loop's place in `into` is the guard's; what comment it has goes along */
    ctune_lnode moved = *loop;
    *loop = *guard;
    loop->next = moved.next;
    *guard = moved;
    guard->next = NULL;
    guard->lo = left;
    ctune_lnode_append(rest, guard);
    loop->other = rest;
}

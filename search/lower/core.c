/*
 * The core of a register tile: accumulators take the target's elements, the reduction loops run
 * over them, and they are written back. All of it stands in the program as loops over the tile's
 * points, which passes turn into lanes and variables.
 */
#include "search/lower/lower_private.h"

/* ---- the core -------------------------------------------------------------------------------- */

ctune_lnode *lower_points(lowerer *w, const lower_block *b, ctune_lann ann, int *point,
                          ctune_lnode *into) {
    const ctune_aff *zero = ctune_loops_const(w->loops, 0);
    for (int t = 0; t < b->n_tile; t++) {
        const char *name = w->tree->dims[w->tree->stmts[b->stmt].dims[b->tile[t].pos]].name;
        point[t] = ctune_loops_index_var(w->loops, name);
        ctune_lnode *loop = ctune_lnode_for(w->loops, point[t], zero,
                                            ctune_loops_const(w->loops, b->tile[t].extent), 1,
                                            b->tile[t].is_vector ? CTUNE_LANN_VECTOR : ann);
        ctune_lnode_append(into, loop);
        into = loop;
    }
    return into;
}

/* The element of a buffer [extents of the tile] at a point. */
static ctune_place tile_place(lowerer *w, const lower_block *b, int buffer, const int *point) {
    ctune_place place = {.is_buffer = true, .id = buffer, .n_idx = b->n_tile};
    for (int t = 0; t < b->n_tile; t++) {
        place.idx[t] = ctune_loops_var_aff(w->loops, point[t], 1, 0);
    }
    return place;
}

/* env at a point of the tile: origin + point. */
static void env_at(lowerer *w, const lower_block *b, const lower_env *env, const int *point,
                   lower_env *out) {
    *out = *env;
    for (int t = 0; t < b->n_tile; t++) {
        out->val[b->tile[t].pos] =
            ctune_aff_add(w->arena, ctune_loops_var_aff(w->loops, b->tile[t].origin, 1, 0),
                          ctune_loops_var_aff(w->loops, point[t], 1, 0));
    }
}

/* One copy between the accumulators and the target or its scratch copy. */
static void transfer(lowerer *w, const lower_block *b, const lower_env *env, int acc, int scratch,
                     bool is_load, ctune_lnode *into) {
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[b->stmt].stage];
    int point[LOWER_MAX_TILE], var = -1;
    ctune_lnode *body = lower_points(w, b, CTUNE_LANN_FULL, point, into);
    ctune_place here = tile_place(w, b, acc, point), there;
    lower_env at;
    env_at(w, b, env, point, &at);
    bool in_memory = true;
    if (scratch >= 0) {
        there = tile_place(w, b, scratch, point);
    } else {
        in_memory = lower_place(w, &at, &stage->target, &there, &var);
    }
    const ctune_value *from =
        is_load ? in_memory ? ctune_value_load(w->loops, &there, 1) : ctune_value_var(w->loops, var)
                : ctune_value_load(w->loops, &here, 1);
    w->loops->line = stage->line;
    ctune_lnode_append(body, is_load     ? ctune_lnode_store(w->loops, &here, from)
                             : in_memory ? ctune_lnode_store(w->loops, &there, from)
                                         : ctune_lnode_set(w->loops, var, from));
    w->loops->line = 0;
}

void lower_core(lowerer *w, const lower_block *b, const lower_inner *inner, int scratch,
                ctune_lnode *into) {
    ctune_loops *l = w->loops;
    const ctune_stmt *s = &w->tree->stmts[b->stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    const ctune_aff *extent[LOWER_MAX_TILE];
    for (int t = 0; t < b->n_tile; t++) {
        extent[t] = ctune_loops_const(l, b->tile[t].extent);
    }
    int acc = ctune_loops_buffer(l, "acc", w->region->tensors[stage->target.tensor].type,
                                 CTUNE_SCOPE_REGISTER, b->n_tile, extent);
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    ctune_lnode_append(into, block);
    ctune_lnode_append(block, ctune_lnode_decl(l, acc));
    lower_env env;
    lower_env_get(w, b->stmt, &env);
    for (int i = 0; i < b->n_inner; i++) {
        env.val[lower_pos(s, b->inner_dim[i])] = ctune_loops_var_aff(l, inner[i].var, 1, 0);
    }
    if (stage->update != CTUNE_UPDATE_SET || b->n_inner > 0) {
        transfer(w, b, &env, acc, scratch, true, block);
    }
    ctune_lnode *at = block;
    for (int i = 0; i < b->n_inner; i++) {
        bool is_unrolled = i + 1 == b->n_inner && b->unroll > 1;
        at = lower_for(w, inner[i].var, &inner[i].lo, &inner[i].hi, 1,
                       is_unrolled ? CTUNE_LANN_UNROLL : CTUNE_LANN_SERIAL, at);
        if (is_unrolled && at != NULL) {
            at->factor = b->unroll;
        }
    }
    int point[LOWER_MAX_TILE];
    ctune_lnode *body = lower_points(w, b, CTUNE_LANN_FULL, point, at);
    ctune_place here = tile_place(w, b, acc, point);
    lower_env there;
    env_at(w, b, &env, point, &there);
    l->line = stage->line;
    ctune_lnode_append(
        body, ctune_lnode_store(l, &here, lower_update(w, &there, ctune_value_load(l, &here, 1))));
    l->line = 0;
    transfer(w, b, &env, acc, scratch, false, block);
}

/*
 * Register tiles on a GPU: `cache_write S at L register` where threads' loops stand inside of L.
 *
 * A block's tile of the target is shared out: each thread holds the points that its unrolled loops
 * over space dims reach, in accumulators, while the reduction loops run. The loops below L stay in
 * the nest's order, so that copies in shared memory are made between them by all threads:
 *
 *     if (the block's whole tile lies in the domain)
 *         accumulators = target; loops, without conditions on space; target = accumulators
 *     else
 *         the same, each point under its conditions
 *
 * The condition is the block's, not a thread's: barriers may stand in both arms.
 */
#include "search/lower/lower_private.h"

#include <string.h>

static const ctune_stage *stage_of(const lowerer *w, int stmt) {
    return &w->region->stages[w->tree->stmts[stmt].stage];
}

static bool is_thread(const lowerer *w, int node) {
    return w->nest->node[node].kind == CTUNE_NN_LOOP &&
           ctune_ann_is_thread(w->nest->node[node].ann);
}

bool lower_is_gpu_tile(const lowerer *w, int node) {
    for (int i = 1; w->is_gpu && i < w->nest->n_nodes; i++) {
        if (i != node && is_thread(w, i) && ctune_nest_is_ancestor(w->nest, node, i)) {
            return true;
        }
    }
    return false;
}

static int point_index(const lowerer *w, int node) {
    for (int i = 0; w->gpu_tile != NULL && i < w->gpu_tile->n_unrolled; i++) {
        if (w->gpu_tile->unrolled[i] == node) {
            return i;
        }
    }
    return -1;
}

bool lower_gpu_is_point(const lowerer *w, int node) {
    return point_index(w, node) >= 0;
}

static bool is_space(lowerer *w, int stmt, int dim) {
    return lower_reads_dim(w, &w->tree->stmts[stmt], &stage_of(w, stmt)->target, dim);
}

/* ---- which loops are the tile ---------------------------------------------------------------- */

/* Do the levels of the dim fill each other: does the innermost one outside of the tile, or the dim
 * itself, hold as many values as those inside scan? */
static bool is_filled(const lowerer *w, int stmt, int dim) {
    for (int i = 1; i < w->nest->n_nodes; i++) {
        const ctune_nnode *nn = &w->nest->node[i];
        if (nn->kind != CTUNE_NN_LOOP || nn->dim != dim) {
            continue;
        }
        int64_t lo, hi;
        bool is_const = nn->outer < 0 && nn->step > 1 &&
                        ctune_stmt_const_range(&w->tree->stmts[stmt], dim, &lo, &hi);
        if ((nn->outer >= 0 && w->nest->node[nn->outer].step % nn->step != 0) ||
            (is_const && (hi - lo + 1) % nn->step != 0)) {
            return false;
        }
    }
    return true;
}

/* Fills the unrolled loops; flat: one node for each dim of the tile, for the questions of tile.c.
 * false: no tile that threads can share out. */
static bool find_tile(lowerer *w, int at, int stmt, lower_gpu_tile *tile, lower_tile *flat) {
    *tile = (lower_gpu_tile){.at = at, .stmt = stmt, .n_open = w->n_open};
    *flat = (lower_tile){.at = at};
    int node = w->nest->node[at].first;
    for (; node >= 0 && w->nest->node[node].kind == CTUNE_NN_LOOP;
         node = w->nest->node[node].first) {
        const ctune_nnode *nn = &w->nest->node[node];
        bool is_tile = is_space(w, stmt, nn->dim), is_known = false;
        if (nn->next >= 0 || (!is_tile && is_thread(w, node)) ||
            (is_tile && !is_filled(w, stmt, nn->dim)) ||
            (is_tile && !is_thread(w, node) && nn->ann != CTUNE_ANN_UNROLL)) {
            return false;
        }
        if (is_tile && !is_thread(w, node)) {
            if (tile->n_unrolled == LOWER_MAX_TILE) {
                return false;
            }
            tile->point[tile->n_unrolled] = -1;
            tile->unrolled[tile->n_unrolled++] = node;
        }
        for (int i = 0; i < flat->n_tile; i++) {
            is_known |= w->nest->node[flat->tile_node[i]].dim == nn->dim;
        }
        for (int i = 0; i < flat->n_inner; i++) {
            is_known |= w->nest->node[flat->inner_node[i]].dim == nn->dim;
        }
        if (!is_known && is_tile && flat->n_tile < LOWER_MAX_TILE) {
            flat->tile_node[flat->n_tile++] = node;
        } else if (!is_known && is_tile) {
            return false;
        } else if (!is_known) {
            flat->inner_node[flat->n_inner++] = node;
        }
    }
    return node >= 0 && w->nest->node[node].stmt == stmt && w->nest->node[node].next < 0;
}

/* ---- values of its points -------------------------------------------------------------------- */

/* Innermost level of the dim outside of the tile, -1. */
static int level_outside(const lowerer *w, int at, int dim) {
    for (int up = at; up > 0; up = w->nest->node[up].parent) {
        if (w->nest->node[up].kind == CTUNE_NN_LOOP && w->nest->node[up].dim == dim) {
            return up;
        }
    }
    return -1;
}

/* Where the tile of a dim begins, and how many values it has (0: that is no constant). */
static const ctune_aff *origin_of(lowerer *w, int dim, int64_t *count) {
    int level = level_outside(w, w->gpu_tile->at, dim);
    int64_t lo, hi;
    if (level >= 0) {
        *count = w->nest->node[level].step;
        return ctune_loops_var_aff(w->loops, w->node_var[level], 1, 0);
    }
    bool is_const =
        ctune_stmt_const_range(&w->tree->stmts[w->gpu_tile->stmt], dim, &lo, &hi) && hi >= lo;
    *count = is_const ? hi - lo + 1 : 0;
    for (int i = 1; i < w->nest->n_nodes; i++) { /* bound to threads without a level outside */
        if (is_thread(w, i) && w->nest->node[i].dim == dim && w->nest->node[i].outer < 0 &&
            w->hw_base[i] != NULL && ctune_nest_is_ancestor(w->nest, w->gpu_tile->at, i)) {
            return w->hw_base[i];
        }
    }
    return is_const ? ctune_loops_const(w->loops, lo) : NULL;
}

/* The statement's space dims at this thread's points, whose loops are open in point[]; its other
 * dims stay NULL. */
static bool env_of_points(lowerer *w, lower_env *env) {
    const ctune_stmt *s = &w->tree->stmts[w->gpu_tile->stmt];
    lower_env_get(w, w->gpu_tile->stmt, env);
    for (int p = 0; p < s->n_dims; p++) {
        int64_t count;
        bool is_tile = false;
        if (env->val[p] != NULL || !is_space(w, w->gpu_tile->stmt, s->dims[p])) {
            continue;
        }
        const ctune_aff *value = origin_of(w, s->dims[p], &count);
        for (int i = 1; i < w->nest->n_nodes; i++) {
            const ctune_nnode *nn = &w->nest->node[i];
            if (nn->kind != CTUNE_NN_LOOP || nn->dim != s->dims[p] || i == w->gpu_tile->at ||
                !ctune_nest_is_ancestor(w->nest, w->gpu_tile->at, i)) {
                continue;
            }
            int point = point_index(w, i);
            int var = point >= 0        ? w->gpu_tile->point[point]
                      : is_thread(w, i) ? w->hw_var[nn->ann - CTUNE_ANN_BLOCK_X]
                                        : -1;
            if (var < 0) {
                return false;
            }
            is_tile = true;
            value = ctune_aff_add(w->arena, value, ctune_loops_var_aff(w->loops, var, nn->step, 0));
        }
        if (!is_tile || value == NULL) {
            return false;
        }
        env->val[p] = value;
    }
    return true;
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* Rows over the tile's dims, as variables, and what is open outside: the domain without the
 * reduction's dims. false: they are no plain forms. */
static bool find_rows(lowerer *w, lower_gpu_tile *tile, const lower_tile *flat) {
    const ctune_stmt *s = &w->tree->stmts[tile->stmt];
    int n_pushed = 0;
    ctune_bounds b = {0};
    for (int p = 0; p < s->n_dims; p++) {
        tile->pseudo[p] = -1;
        for (int t = 0; t < flat->n_tile; t++) {
            if (w->nest->node[flat->tile_node[t]].dim == s->dims[p]) {
                tile->pseudo[p] = ctune_loops_index_var(w->loops, "point");
                lower_push(w, tile->pseudo[p], s->dims[p], 1, -1);
                n_pushed++;
            }
        }
    }
    bool is_plain =
        flat->n_inner == 0 ||
        (lower_bounds_raw(w, tile->stmt, w->nest->node[flat->inner_node[0]].dim, &b) == CTUNE_OK &&
         !b.is_inexact);
    tile->n_rows = 0;
    tile->rows =
        CTUNE_NEW_ARRAY(w->arena, const ctune_aff *,
                        s->n_cons + b.n_param_rows + b.n_open_rows + b.n_lower * b.n_upper + 1);
    lower_env env;
    lower_env_get(w, tile->stmt, &env);
    for (int i = 0; i < s->n_cons && tile->rows != NULL; i++) {
        bool is_space = ctune_aff_has_kind(s->cons[i], CTUNE_TERM_AXIS);
        for (int p = 0; p < s->n_dims; p++) {
            is_space &=
                env.val[p] != NULL || ctune_aff_coef(s->cons[i], CTUNE_TERM_AXIS, s->dims[p]) == 0;
        }
        if (is_space) {
            tile->rows[tile->n_rows++] = lower_env_aff(w, &env, s->cons[i]);
        }
    }
    for (int i = 0; i < b.n_param_rows && tile->rows != NULL; i++) {
        tile->rows[tile->n_rows++] = lower_row_aff(w, b.param_rows[i]);
    }
    for (int i = 0; i < b.n_open_rows && tile->rows != NULL; i++) {
        tile->rows[tile->n_rows++] = lower_row_aff(w, b.open_rows[i]);
    }
    for (int i = 0; i < b.n_lower * b.n_upper && tile->rows != NULL; i++) {
        const ctune_bound_row *lo = &b.lower[i % b.n_lower], *hi = &b.upper[i / b.n_lower];
        is_plain = is_plain && lo->den == 1 && hi->den == 1;
        tile->rows[tile->n_rows++] =
            ctune_aff_sub(w->arena, lower_row_aff(w, hi->aff), lower_row_aff(w, lo->aff));
    }
    lower_pop_n(w, n_pushed);
    for (int i = 0; i < tile->n_rows; i++) {
        is_plain =
            is_plain && tile->rows[i] != NULL && !ctune_aff_has_kind(tile->rows[i], CTUNE_TERM_DIV);
    }
    return is_plain && tile->rows != NULL;
}

/* IF over what space asks of this thread's point. */
static ctune_lnode *point_guard(lowerer *w, const lower_env *env, ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[w->gpu_tile->stmt];
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, w->gpu_tile->n_rows + 1);
    int n = 0;
    for (int i = 0; conds != NULL && i < w->gpu_tile->n_rows && !w->gpu_tile->is_full; i++) {
        const ctune_aff *row = w->gpu_tile->rows[i];
        for (int p = 0; p < s->n_dims; p++) {
            if (w->gpu_tile->pseudo[p] >= 0) {
                row = ctune_loops_subst(w->loops, row, w->gpu_tile->pseudo[p], env->val[p]);
            }
        }
        conds[n++] = row;
    }
    n = conds == NULL ? 0 : lower_drop_certain(w, conds, n);
    if (n == 0) {
        return into;
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n, NULL);
    ctune_lnode_append(into, guard);
    return guard;
}

/* The block's tile lies in the domain: each row holds at its worst corner. NULL: memory is out;
 * *is_possible false: a tile whose size is no constant. */
static ctune_lnode *full_guard(lowerer *w, bool *is_possible) {
    const ctune_stmt *s = &w->tree->stmts[w->gpu_tile->stmt];
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, w->gpu_tile->n_rows + 1);
    int n = 0;
    *is_possible = true;
    for (int i = 0; conds != NULL && i < w->gpu_tile->n_rows; i++) {
        const ctune_aff *row = w->gpu_tile->rows[i];
        int64_t reach = 0, part;
        for (int p = 0; p < s->n_dims && *is_possible; p++) {
            int64_t count, coef = 0;
            if (w->gpu_tile->pseudo[p] < 0) {
                continue;
            }
            const ctune_aff *origin = origin_of(w, s->dims[p], &count);
            coef = ctune_aff_coef(row, CTUNE_TERM_AXIS, w->gpu_tile->pseudo[p]);
            *is_possible = origin != NULL && count > 0 &&
                           !__builtin_mul_overflow(coef, count - 1, &part) &&
                           !__builtin_add_overflow(reach, coef < 0 ? part : 0, &reach);
            row = *is_possible ? ctune_loops_subst(w->loops, row, w->gpu_tile->pseudo[p], origin)
                               : row;
        }
        conds[n++] = ctune_aff_add_const(w->arena, row, reach);
    }
    n = conds == NULL || !*is_possible ? 0 : lower_drop_certain(w, conds, n);
    return conds == NULL ? NULL : ctune_lnode_if(w->loops, conds, n, NULL);
}

/* ---- the tile -------------------------------------------------------------------------------- */

static ctune_place acc_place(lowerer *w) {
    ctune_place place = {
        .is_buffer = true, .id = w->gpu_tile->acc, .n_idx = w->gpu_tile->n_unrolled};
    for (int i = 0; i < place.n_idx; i++) {
        place.idx[i] = ctune_loops_var_aff(w->loops, w->gpu_tile->point[i], 1, 0);
    }
    return place;
}

static ctune_lnode *point_loop(lowerer *w, int i, ctune_lnode *into) {
    const ctune_nnode *nn = &w->nest->node[w->gpu_tile->unrolled[i]];
    w->gpu_tile->point[i] = ctune_loops_index_var(w->loops, nn->name);
    int64_t trip = ctune_nest_trip(w->nest, w->gpu_tile->unrolled[i]);
    ctune_lnode *loop = ctune_lnode_for(
        w->loops, w->gpu_tile->point[i], ctune_loops_const(w->loops, 0),
        ctune_loops_const(w->loops, trip), 1,
        w->gpu_tile->is_full ? CTUNE_LANN_FULL : CTUNE_LANN_UNROLL); /* the text stays short */
    if (loop != NULL) {
        loop->factor = trip;
    }
    ctune_lnode_append(into, loop);
    return loop;
}

ctune_lnode *lower_gpu_points(lowerer *w, int node, const ctune_aff **value, ctune_lnode *into) {
    const ctune_nnode *nn = &w->nest->node[node];
    int i = point_index(w, node);
    int64_t count;
    ctune_lnode *loop = point_loop(w, i, into);
    const ctune_aff *base = nn->outer >= 0
                                ? ctune_loops_var_aff(w->loops, w->node_var[nn->outer], 1, 0)
                                : origin_of(w, nn->dim, &count);
    *value = ctune_aff_add(w->arena, base,
                           ctune_loops_var_aff(w->loops, w->gpu_tile->point[i], nn->step, 0));
    return loop;
}

/* Between the accumulators and the target, at this thread's points. */
static ctune_status transfer(lowerer *w, bool is_load, ctune_lnode *into) {
    const ctune_stage *stage = stage_of(w, w->gpu_tile->stmt);
    lower_env env;
    ctune_place there;
    int var = -1;
    for (int i = 0; i < w->gpu_tile->n_unrolled; i++) {
        into = point_loop(w, i, into);
    }
    if (into == NULL || !env_of_points(w, &env)) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED,
                                "a register tile whose threads have no "
                                "points of their own");
    }
    if (!lower_place(w, &env, &stage->target, &there, &var)) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED, "a register tile of a variable");
    }
    ctune_place here = acc_place(w);
    into = point_guard(w, &env, into);
    w->loops->line = stage->line;
    ctune_lnode_append(into,
                       ctune_lnode_store(w->loops, is_load ? &here : &there,
                                         ctune_value_load(w->loops, is_load ? &there : &here, 1)));
    w->loops->line = 0;
    return ctune_loops_status(w->loops);
}

void lower_gpu_instance(lowerer *w, const lower_env *env, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    ctune_place here = acc_place(w);
    l->line = stage_of(w, env->stmt)->line;
    ctune_lnode_append(
        into, ctune_lnode_store(l, &here, lower_update(w, env, ctune_value_load(l, &here, 1))));
    l->line = 0;
}

static ctune_status lower_arm(lowerer *w, lower_gpu_tile *tile, bool is_full, ctune_lnode *into) {
    const ctune_stage *stage = stage_of(w, tile->stmt);
    const ctune_aff *extent[LOWER_MAX_TILE];
    for (int i = 0; i < tile->n_unrolled; i++) {
        extent[i] = ctune_loops_const(w->loops, ctune_nest_trip(w->nest, tile->unrolled[i]));
    }
    tile->is_full = is_full;
    tile->acc = ctune_loops_buffer(w->loops, "acc", w->region->tensors[stage->target.tensor].type,
                                   CTUNE_SCOPE_REGISTER, tile->n_unrolled, extent);
    ctune_lnode *block = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    ctune_lnode_append(into, block);
    ctune_lnode_append(block, ctune_lnode_decl(w->loops, tile->acc));
    w->gpu_tile = tile;
    ctune_status status = tile->has_old ? transfer(w, true, block) : CTUNE_OK;
    if (status == CTUNE_OK) {
        status = lower_kid(w, tile->at, w->nest->node[tile->at].first, block);
    }
    if (status == CTUNE_OK) {
        status = transfer(w, false, block);
    }
    w->gpu_tile = NULL;
    return status;
}

ctune_status lower_gpu_register(lowerer *w, int node, int stmt, ctune_lnode *into) {
    lower_gpu_tile tile;
    lower_tile flat;
    bool is_tile = find_tile(w, node, stmt, &tile, &flat) && lower_has_plain_domain(w, stmt) &&
                   (lower_is_alone(w, stmt, &flat) || lower_is_core_safe(w, stmt, &flat)) &&
                   lower_has_own_elements(w, stmt, &flat) && find_rows(w, &tile, &flat);
    if (!is_tile) {
        return lower_kid(w, node, w->nest->node[node].first, into);
    }
    bool is_possible;
    tile.has_old = stage_of(w, stmt)->update != CTUNE_UPDATE_SET || flat.n_inner > 0;
    w->gpu_tile = &tile;
    ctune_lnode *guard = full_guard(w, &is_possible);
    w->gpu_tile = NULL;
    if (guard == NULL) {
        return lower_fail(w);
    }
    if (!is_possible || guard->n_conds == 0) {
        return lower_arm(w, &tile, is_possible, into);
    }
    ctune_lnode_append(into, guard);
    guard->other = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    ctune_status status = lower_arm(w, &tile, true, guard);
    return status == CTUNE_OK ? lower_arm(w, &tile, false, guard->other) : status;
}

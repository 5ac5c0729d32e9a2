/*
 * Register tiles: `cache_write S at L register`.
 *
 * Below loop L stand the reduction loops of S and, innermost, its tile: loops with a constant
 * extent that are unrolled or run in vector lanes. The innermost reduction loop may be split, its
 * inner part unrolled: that is one loop whose body the compiler repeats. A full tile has
 * accumulators, the reduction loops inside, no bound or guard:
 *
 *     if (the whole tile lies in the domain) {
 *         reduction values that only some points of the tile have (triangular domains): plain loops
 *         core over the values that all points share: accumulators = target; loops; target =
 * accumulators the rest: plain loops } else partial.c
 *
 * "All points" is decided by putting the worst corner of the tile into each affine constraint.
 */
#include "search/lower/lower_private.h"

#include <string.h>

/* ---- which loops are the tile ---------------------------------------------------------------- */

/* A loop of the reduction whose only child, its inner level, is unrolled: the node of that, -1.
 * One whose steps a wave counts stays on their grid. */
static int unrolled_reduction(const lowerer *w, int stmt, int node) {
    const ctune_nnode *nn = &w->nest->node[node];
    const ctune_stmt *s = &w->tree->stmts[stmt];
    if (nn->kind != CTUNE_NN_LOOP || nn->step == 1 || nn->sum >= 0 || nn->ann != CTUNE_ANN_SERIAL ||
        nn->first < 0 || ctune_nest_is_aligned(w->nest, node)) {
        return -1;
    }
    const ctune_nnode *kid = &w->nest->node[nn->first];
    bool is_pair = kid->kind == CTUNE_NN_LOOP && kid->outer == node && kid->step == 1 &&
                   kid->next < 0 && kid->ann == CTUNE_ANN_UNROLL;
    return is_pair && !lower_reads_dim(w, s, &w->region->stages[s->stage].target, nn->dim)
               ? nn->first
               : -1;
}

bool lower_tile_find(const lowerer *w, int stmt, int at, lower_tile *out) {
    int node = ctune_nest_find_stmt(w->nest, stmt);
    while (node > 0 && w->nest->node[node].parent != at) {
        node = w->nest->node[node].parent;
    }
    *out = (lower_tile){.at = at, .branch = node, .unroll = 1};
    bool in_tile = false;
    while (node >= 0 && w->nest->node[node].kind != CTUNE_NN_STMT) {
        const ctune_nnode *nn = &w->nest->node[node];
        bool has_others = nn->next >= 0 && node != out->branch;
        int inner = in_tile || has_others ? -1 : unrolled_reduction(w, stmt, node);
        if (inner >= 0) {
            out->unroll = nn->step;
            out->inner_node[out->n_inner++] = inner;
            in_tile = true;
            node = w->nest->node[inner].first;
            continue;
        }
        if (nn->kind != CTUNE_NN_LOOP || has_others || nn->step != 1) {
            return false; /* not one perfect nest of point loops */
        }
        if (nn->ann == CTUNE_ANN_UNROLL || nn->ann == CTUNE_ANN_VECTOR) {
            if (nn->outer < 0 || out->n_tile >= LOWER_MAX_TILE) {
                return false; /* no constant extent */
            }
            out->tile_node[out->n_tile++] = node;
            in_tile = true;
        } else if (in_tile || nn->ann == CTUNE_ANN_PARALLEL) {
            return false; /* must stand outside */
        } else {
            out->inner_node[out->n_inner++] = node;
        }
        node = nn->first;
    }
    if (node < 0 || w->nest->node[node].stmt != stmt ||
        (w->nest->node[node].next >= 0 && node != out->branch)) {
        return false; /* more than one statement inside */
    }
    for (int i = 0; i + 1 < out->n_tile; i++) { /* the vector loop last */
        int t = out->tile_node[i], last = out->tile_node[out->n_tile - 1];
        if (w->nest->node[t].ann != CTUNE_ANN_VECTOR) {
            continue;
        }
        if (w->nest->node[last].ann == CTUNE_ANN_VECTOR) {
            return false; /* two vector loops */
        }
        memmove(&out->tile_node[i], &out->tile_node[i + 1],
                (size_t)(out->n_tile - 1 - i) * sizeof *out->tile_node);
        out->tile_node[out->n_tile - 1] = t;
    }
    return true;
}

bool lower_tile_has(const lowerer *w, int stmt, lower_tile *out) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        if (w->nest->cache[c].kind == CTUNE_CACHE_REGISTER && w->nest->cache[c].stmt == stmt) {
            if (lower_tile_find(w, stmt, w->nest->cache[c].at, out)) {
                return true;
            }
            break;
        }
    }
    *out = (lower_tile){0};
    return false;
}

/* ---- a full tile ----------------------------------------------------------------------------- */

/* A narrower tile's own plain loops: the reduction outside, then its points. */
static ctune_status plain_points(lowerer *w, const lower_block *b, ctune_lnode *into) {
    lower_limit lo, hi;
    ctune_status status = lower_bounds(w, b->stmt, b->inner_dim[0], &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    int var = ctune_loops_index_var(w->loops, b->inner_name[0]);
    ctune_lnode *at = lower_for(w, var, &lo, &hi, 1, CTUNE_LANN_SERIAL, into);
    lower_push(w, var, b->inner_dim[0], 1, -1);
    int n = 0;
    for (; n < b->n_tile && status == CTUNE_OK; n++) {
        int dim = w->tree->stmts[b->stmt].dims[b->tile[n].pos];
        status = lower_bounds(w, b->stmt, dim, &lo, &hi);
        if (status == CTUNE_OK) {
            var = ctune_loops_index_var(w->loops, w->tree->dims[dim].name);
            at = lower_for(w, var, &lo, &hi, 1, CTUNE_LANN_SERIAL, at);
        }
        lower_push(w, var, dim, 1, -1);
    }
    if (status == CTUNE_OK) {
        lower_env env;
        lower_env_get(w, b->stmt, &env);
        lower_instance(w, &env, false, at);
    }
    lower_pop_n(w, n + 1);
    return status;
}

/* The plain loops below the register loop, restricted to part of the reduction's range: values
 * below `var + c` (is_lower false) or from it on. Inside, the tile's points are scanned exactly. */
static ctune_status plain_part(lowerer *w, const lower_block *b, const lower_tile *tile, int var,
                               int64_t c, bool is_lower, ctune_lnode *into) {
    if (w->n_extra == LOWER_MAX_EXTRA) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED, "too many tiles inside each other");
    }
    bool saved = w->no_register;
    w->no_register = true;
    w->extra[w->n_extra++] =
        (lower_extra){.dim = b->inner_dim[0], .var = var, .c = c, .is_lower = is_lower};
    lower_push(w, var, -1, 0, -1);
    ctune_status status =
        tile != NULL ? lower_node(w, tile->branch, into) : plain_points(w, b, into);
    lower_pop(w);
    w->n_extra--;
    w->no_register = saved;
    return status;
}

static lower_limit limit_of_var(lowerer *w, int var, bool is_max) {
    lower_limit limit = {.is_max = is_max, .n = 1};
    limit.bound = CTUNE_NEW(w->arena, ctune_bound_row);
    if (limit.bound == NULL) {
        limit.n = 0;
        return limit;
    }
    *limit.bound =
        (ctune_bound_row){.aff = ctune_loops_var_aff(w->loops, var, 1, 0), .den = 1, .i_con = -1};
    return limit;
}

/* Rows that move with the tile do not bind in the interior. */
static void drop_moving_rows(const lower_block *b, lower_inner *inner) {
    for (int n = 0; n < b->n_inner; n++) {
        for (int side = 0; side < 2; side++) {
            lower_limit *limit = side == 0 ? &inner[n].lo : &inner[n].hi;
            int kept = 0;
            for (int i = 0; i < limit->n; i++) {
                if (!limit->moves[i]) {
                    limit->bound[kept++] = limit->bound[i];
                }
            }
            limit->n = kept;
        }
    }
}

ctune_status lower_full_tile(lowerer *w, const lower_block *b, const lower_tile *tile,
                             ctune_lnode *into) {
    lower_inner inner[CTUNE_MAX_DEPTH];
    bool depends;
    ctune_status status = lower_core_limits(w, b, inner, &depends);
    if (status != CTUNE_OK) {
        return status;
    }
    if (depends && b->is_interior) {
        drop_moving_rows(b, inner);
        depends = false;
    }
    if (!depends) {
        lower_core(w, b, inner, -1, into);
        return CTUNE_OK;
    }
    if (b->n_inner != 1) {
        return ctune_loops_fail(w->loops, CTUNE_EBUG, "lower: a tile whose border is no interior");
    }
    const char *name = b->inner_name[0];
    int first = lower_let_var(w, ctune_arena_printf(w->arena, "%s_first", name),
                              lower_limit_aff(w, &inner[0].lo, 0), into);
    const ctune_aff *end = ctune_loops_max(w->loops, lower_limit_aff(w, &inner[0].hi, 0),
                                           ctune_loops_var_aff(w->loops, first, 1, -1));
    int last = lower_let_var(w, ctune_arena_printf(w->arena, "%s_last", name), end, into);
    bool before = inner[0].depends[0], after = inner[0].depends[1];
    if (before) {
        status = plain_part(w, b, tile, first, -1, false, into);
    }
    inner[0].lo = limit_of_var(w, first, true);
    inner[0].hi = limit_of_var(w, last, false);
    if (status == CTUNE_OK) {
        lower_core(w, b, inner, -1, into);
    }
    if (after && status == CTUNE_OK) {
        status = plain_part(w, b, tile, last, 1, true, into);
    }
    return status;
}

/* ---- entry ----------------------------------------------------------------------------------- */

/* The tile as the nest's own loops, in their order. */
static ctune_status plain_tile(lowerer *w, const lower_tile *tile, ctune_lnode *into) {
    bool saved = w->no_register;
    w->no_register = true;
    ctune_status status = lower_node(w, tile->branch, into);
    w->no_register = saved;
    return status;
}

/* How far an index moves with a dim of the statement. */
static int64_t moves_by(const lowerer *w, const ctune_stmt *s, const ctune_aff *idx, int dim) {
    const ctune_stage *stage = &w->region->stages[s->stage];
    int64_t by = 0;
    for (int d = 0; d < stage->n_axes; d++) {
        by += ctune_aff_coef(idx, CTUNE_TERM_AXIS, stage->axes[d]) *
              ctune_aff_coef(s->iter[d], CTUNE_TERM_AXIS, dim);
    }
    return by;
}

/* Has each point of the tile an element of the target for itself? A loop of the reduction that is
 * unrolled inside has not. Indices tell dims apart one after the other: i by [i], then j by
 * [i + j]. */
bool lower_has_own_elements(const lowerer *w, int stmt, const lower_tile *tile) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_access *target = &w->region->stages[s->stage].target;
    bool is_told[LOWER_MAX_TILE] = {false};
    int n_told = 0;
    for (bool is_more = true; is_more;) {
        is_more = false;
        for (int i = 0; i < target->n_idx; i++) {
            int one = -1, n = 0;
            for (int t = 0; t < tile->n_tile; t++) {
                int dim = w->nest->node[tile->tile_node[t]].dim;
                if (!is_told[t] && moves_by(w, s, target->idx[i], dim) != 0) {
                    one = t;
                    n++;
                }
            }
            if (n == 1 && ctune_bounds_is_plain(w->region, target->idx[i])) {
                is_told[one] = is_more = true;
                n_told++;
            }
        }
    }
    return n_told == tile->n_tile;
}

/* false: a tile dim has its tile loop inside, the target moves with an inner loop, or points share
 * an element of it. */
static bool block_of(lowerer *w, int stmt, const lower_tile *tile, lower_block *b) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    *b = (lower_block){
        .stmt = stmt, .n_tile = tile->n_tile, .n_inner = tile->n_inner, .unroll = tile->unroll};
    if (!lower_has_own_elements(w, stmt, tile)) {
        return false;
    }
    for (int t = 0; t < tile->n_tile; t++) {
        const ctune_nnode *nn = &w->nest->node[tile->tile_node[t]];
        b->tile[t] = (lower_tile_dim){.pos = lower_pos(s, nn->dim),
                                      .origin = w->node_var[nn->outer],
                                      .extent = w->nest->node[nn->outer].step,
                                      .is_vector = nn->ann == CTUNE_ANN_VECTOR};
        b->pseudo[t] = ctune_loops_index_var(w->loops, nn->name);
        if (b->tile[t].origin < 0) {
            return false;
        }
    }
    for (int i = 0; i < tile->n_inner; i++) {
        b->inner_dim[i] = w->nest->node[tile->inner_node[i]].dim;
        b->inner_name[i] = w->nest->node[tile->inner_node[i]].name;
        if (lower_reads_dim(w, s, &stage->target, b->inner_dim[i])) {
            return false;
        }
    }
    return true;
}

bool lower_has_plain_domain(const lowerer *w, int stmt) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int i = 0; i < s->n_cons; i++) {
        if (!ctune_bounds_is_plain(w->region, s->cons[i])) {
            return false;
        }
    }
    return w->region->stages[s->stage].guard == NULL;
}

/* The same where bounds that are loads count when the loops over their axes are open. */
static bool has_bounded_domain(const lowerer *w, int stmt) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    for (int i = 0; i < s->n_cons; i++) {
        bool is_plain = ctune_bounds_is_plain(w->region, s->cons[i]);
        for (int d = 0; d < stage->n_axes && !is_plain; d++) {
            bool is_open = !ctune_aff_div_uses_axis(w->region, s->cons[i], stage->axes[d]);
            int dim = ctune_stmt_dim(s, d);
            for (int o = 0; o < w->n_open && !is_open; o++) {
                is_open = w->open[o].dim == dim && w->open[o].step == 1;
            }
            if (!is_open) {
                return false;
            }
        }
        if (!is_plain && !ctune_bounds_is_opaque(w->region, s->cons[i])) {
            return false;
        }
    }
    return stage->guard == NULL;
}

/*
 * A tile becomes a full tile under its conditions, and a partial one else. What cannot be held in
 * registers runs as the nest's own loops: the schedule's order is legal as it stands, tiles only
 * change where values wait.
 */
ctune_status lower_register(lowerer *w, int node, int stmt, ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    lower_tile tile;
    lower_block b;
    if (!lower_tile_find(w, stmt, node, &tile)) {
        bool saved = w->no_register;
        w->no_register = true;
        ctune_status status = lower_kid(w, node, tile.branch, into);
        w->no_register = saved;
        return status;
    }
    bool alone = lower_is_alone(w, stmt, &tile);
    if (!has_bounded_domain(w, stmt) || (!alone && !lower_is_core_safe(w, stmt, &tile)) ||
        !block_of(w, stmt, &tile, &b)) {
        return plain_tile(w, &tile, into);
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, NULL, 0, NULL);
    ctune_lnode *partial = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    bool is_possible = true;
    if (guard == NULL || partial == NULL) {
        return lower_fail(w);
    }
    ctune_status status = lower_full_conditions(w, &b, guard, &is_possible);
    if (status != CTUNE_OK || !is_possible) {
        return status != CTUNE_OK ? status : plain_tile(w, &tile, into);
    }
    if (tile.n_tile + tile.n_inner > 0) {
        int dim = tile.n_tile > 0 ? s->dims[b.tile[0].pos] : b.inner_dim[0];
        into = lower_param_guard(w, stmt, dim, into);
    }
    /* one element is loaded and stored only where the reduction runs at all: bounds of a tile's
     * dims say so, those of the loops around do not */
    if (tile.n_inner > 0 && (tile.n_tile == 0 || lower_shares_loops(w, node))) {
        into = lower_exists_guard(w, stmt, b.inner_dim[tile.n_inner - 1], into);
    }
    ctune_lnode *full = guard->n_conds > 0 ? guard : into;
    bool is_refuted = lower_is_refuted(w, guard);
    if (is_refuted) {
        partial = into;
    } else if (guard->n_conds > 0) {
        ctune_lnode_append(into, guard);
        guard->other = partial;
    }
    status = is_refuted ? CTUNE_OK : lower_full_tile(w, &b, &tile, full);
    if (status == CTUNE_OK && guard->n_conds > 0) {
        status = alone && !b.is_interior ? lower_partial_tile(w, &b, partial)
                                         : plain_tile(w, &tile, partial);
    }
    return status;
}

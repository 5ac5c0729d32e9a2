/*
 * Register tiles: `cache_write S at L register`.
 *
 * Below loop L stand the reduction loops of S and, innermost, its tile: loops with a constant
 * extent that are unrolled or run in vector lanes. A full tile has accumulators, the reduction
 * loops inside, no bound or guard:
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

bool lower_tile_find(const lowerer *w, int stmt, int at, lower_tile *out) {
    *out = (lower_tile){.at = at};
    int node = w->nest->node[at].first;
    bool in_tile = false;
    while (node >= 0 && w->nest->node[node].kind != CTUNE_NN_STMT) {
        const ctune_nnode *nn = &w->nest->node[node];
        if (nn->kind != CTUNE_NN_LOOP || nn->next >= 0 || nn->step != 1) {
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
    if (node < 0 || w->nest->node[node].stmt != stmt || w->nest->node[node].next >= 0) {
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
            return lower_tile_find(w, stmt, w->nest->cache[c].at, out);
        }
    }
    return false;
}

/* ---- corners --------------------------------------------------------------------------------- */

static bool has_pseudo(const lower_block *b, const ctune_aff *aff) {
    for (int t = 0; t < b->n_tile; t++) {
        if (ctune_aff_coef(aff, CTUNE_TERM_AXIS, b->pseudo[t]) != 0) {
            return true;
        }
    }
    return false;
}

/* aff with each tile point replaced by the corner that makes aff largest (or smallest). */
static const ctune_aff *at_corner(lowerer *w, const lower_block *b, const ctune_aff *aff,
                                  bool largest) {
    for (int t = 0; t < b->n_tile && aff != NULL; t++) {
        int64_t coef = ctune_aff_coef(aff, CTUNE_TERM_AXIS, b->pseudo[t]);
        if (coef != 0) {
            bool upper = (coef > 0) == largest;
            const ctune_aff *corner = ctune_loops_var_aff(w->loops, b->tile[t].origin, 1,
                                                          upper ? b->tile[t].extent - 1 : 0);
            aff = ctune_aff_subst(w->arena, aff, CTUNE_TERM_AXIS, b->pseudo[t], corner);
        }
    }
    return aff;
}

static void pop_n(lowerer *w, int n) {
    for (int i = 0; i < n; i++) {
        lower_pop(w);
    }
}

ctune_status lower_core_limits(lowerer *w, const lower_block *b, lower_inner *inner,
                               bool *depends) {
    ctune_status status = CTUNE_OK;
    *depends = false;
    for (int t = 0; t < b->n_tile; t++) {
        lower_push(w, b->pseudo[t], w->tree->stmts[b->stmt].dims[b->tile[t].pos], 1, -1);
    }
    int n = 0;
    for (; n < b->n_inner; n++) {
        inner[n] = (lower_inner){.var = ctune_loops_index_var(w->loops, b->inner_name[n])};
        status = lower_bounds(w, b->stmt, b->inner_dim[n], &inner[n].lo, &inner[n].hi);
        if (status != CTUNE_OK) {
            break;
        }
        for (int side = 0; side < 2; side++) {
            lower_limit *limit = side == 0 ? &inner[n].lo : &inner[n].hi;
            bool *moves = CTUNE_NEW_ARRAY(w->arena, bool, limit->n + 1);
            if (moves == NULL) {
                status = lower_fail(w);
                break;
            }
            limit->moves = moves;
            for (int i = 0; i < limit->n; i++) {
                moves[i] = has_pseudo(b, limit->bound[i].aff);
                if (moves[i]) {
                    *depends = inner[n].depends[side] = true;
                    limit->bound[i].aff = at_corner(w, b, limit->bound[i].aff, side == 0);
                }
            }
        }
        lower_push(w, inner[n].var, b->inner_dim[n], 1, -1);
    }
    pop_n(w, n + b->n_tile);
    return status;
}

typedef struct conditions {
    lowerer *w;
    ctune_lnode *guard;
    const ctune_aff **cond;
    int n, cap;
} conditions;

static void add_condition(conditions *c, const ctune_aff *gap) {
    gap = lower_row_aff(c->w, gap);
    bool is_known = gap == NULL || (gap->n_terms == 0 && gap->c0 >= 0);
    for (int k = 0; k < c->n && !is_known; k++) {
        is_known = ctune_aff_is_equal(c->cond[k], gap);
    }
    if (gap == NULL) {
        ctune_loops_fail(c->w->loops, CTUNE_EREFUSED, "a bound does not fit 64 bits");
    }
    if (is_known) {
        return;
    }
    if (c->n == c->cap) {
        int cap = c->cap == 0 ? 16 : c->cap * 2;
        const ctune_aff **more = CTUNE_NEW_ARRAY(c->w->arena, const ctune_aff *, cap);
        if (more == NULL) {
            lower_fail(c->w);
            return;
        }
        if (c->n > 0) {
            memcpy(more, c->cond, (size_t)c->n * sizeof *more);
        }
        c->cond = more;
        c->cap = cap;
    }
    c->cond[c->n++] = gap;
}

/*
 * Conditions under which every point of the tile has iterations: the bounds of each tile dim at
 * their worst corner. They come from the projected domain, not only from the constraints on tile
 * dims alone, since a tile loads and stores its points even when the reduction loop turns out
 * empty. false: bounds with divisions.
 */
static ctune_status point_conditions(lowerer *w, const lower_block *b, conditions *c,
                                     bool *is_possible) {
    const ctune_stmt *s = &w->tree->stmts[b->stmt];
    ctune_status status = CTUNE_OK;
    int t = 0;
    for (; t < b->n_tile && status == CTUNE_OK && *is_possible; t++) {
        lower_limit lo, hi;
        int dim = s->dims[b->tile[t].pos];
        status = lower_bounds(w, b->stmt, dim, &lo, &hi);
        *is_possible = status != CTUNE_OK || (!lo.is_inexact && !hi.is_inexact);
        for (int side = 0; side < 2 && status == CTUNE_OK; side++) {
            const lower_limit *limit = side == 0 ? &lo : &hi;
            for (int i = 0; i < limit->n; i++) {
                const ctune_aff *gap = ctune_aff_sub(
                    w->arena, ctune_loops_var_aff(w->loops, b->pseudo[t], limit->bound[i].den, 0),
                    limit->bound[i].aff);
                gap = side == 0 || gap == NULL ? gap : ctune_aff_scale(w->arena, gap, -1);
                add_condition(c, at_corner(w, b, gap, false));
            }
        }
        lower_push(w, b->pseudo[t], dim, 1, -1);
    }
    pop_n(w, t);
    return status;
}

ctune_status lower_point_conditions(lowerer *w, const lower_block *b, ctune_lnode *guard) {
    conditions c = {.w = w, .guard = guard};
    bool is_possible = true;
    ctune_status status = point_conditions(w, b, &c, &is_possible);
    guard->conds = c.cond;
    guard->n_conds = c.n;
    return status;
}

static bool is_over(const lower_block *b, const lower_inner *inner, const ctune_aff *aff) {
    for (int i = 0; i < b->n_inner; i++) {
        if (ctune_aff_coef(aff, CTUNE_TERM_AXIS, inner[i].var) != 0) {
            return true;
        }
    }
    return false;
}

/*
 * Several reduction loops whose bounds differ between points (a convolution whose padding is an
 * `if`): the full tile is the interior, where none of those rows binds. Each row that moves with
 * the tile must be looser, at its worst corner, than one that does not; *is_possible false when
 * there is none to compare with.
 */
static ctune_status interior_conditions(lowerer *w, const lower_block *b, conditions *c,
                                        bool *is_possible) {
    lower_inner inner[CTUNE_MAX_DEPTH];
    ctune_status status = lower_core_limits(w, b, inner, is_possible);
    for (int n = 0; n < b->n_inner && status == CTUNE_OK && *is_possible; n++) {
        for (int side = 0; side < 2; side++) {
            const lower_limit *limit = side == 0 ? &inner[n].lo : &inner[n].hi;
            const ctune_bound_row *fixed = NULL;
            for (int i = 0; i < limit->n; i++) {
                const ctune_bound_row *row = &limit->bound[i];
                if (!limit->moves[i] && row->den == 1 && !is_over(b, inner, row->aff)) {
                    fixed = row;
                }
            }
            for (int i = 0; i < limit->n; i++) {
                const ctune_bound_row *row = &limit->bound[i];
                if (!limit->moves[i]) {
                    continue;
                }
                if (fixed == NULL || row->den != 1 || is_over(b, inner, row->aff)) {
                    *is_possible = false;
                    return CTUNE_OK;
                }
                add_condition(c, side == 0 ? ctune_aff_sub(w->arena, fixed->aff, row->aff)
                                           : ctune_aff_sub(w->arena, row->aff, fixed->aff));
            }
        }
    }
    return status;
}

/* Conditions of a full tile; sets b->is_interior. */
static ctune_status full_conditions(lowerer *w, lower_block *b, ctune_lnode *guard,
                                    bool *is_possible) {
    conditions c = {.w = w, .guard = guard};
    ctune_status status = point_conditions(w, b, &c, is_possible);
    if (status == CTUNE_OK && *is_possible && b->n_inner > 1) {
        lower_inner inner[CTUNE_MAX_DEPTH];
        bool depends = false;
        status = lower_core_limits(w, b, inner, &depends);
        b->is_interior = depends;
    }
    if (status == CTUNE_OK && *is_possible && b->is_interior) {
        status = interior_conditions(w, b, &c, is_possible);
    }
    guard->conds = c.cond;
    guard->n_conds = c.n;
    return status == CTUNE_OK ? ctune_loops_status(w->loops) : status;
}

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
    ctune_lnode_append(body, is_load     ? ctune_lnode_store(w->loops, &here, from)
                             : in_memory ? ctune_lnode_store(w->loops, &there, from)
                                         : ctune_lnode_set(w->loops, var, from));
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
        at = lower_for(w, inner[i].var, &inner[i].lo, &inner[i].hi, 1, CTUNE_LANN_SERIAL, at);
    }
    int point[LOWER_MAX_TILE];
    ctune_lnode *body = lower_points(w, b, CTUNE_LANN_FULL, point, at);
    ctune_place here = tile_place(w, b, acc, point);
    lower_env there;
    env_at(w, b, &env, point, &there);
    ctune_lnode_append(
        body, ctune_lnode_store(l, &here, lower_update(w, &there, ctune_value_load(l, &here, 1))));
    transfer(w, b, &env, acc, scratch, false, block);
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
    pop_n(w, n + 1);
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
    ctune_status status = tile != NULL ? lower_node(w, w->nest->node[tile->at].first, into)
                                       : plain_points(w, b, into);
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

/* ---- may the tile's points be kept in registers? --------------------------------------------- */

bool lower_reads_dim(const lowerer *w, const ctune_stmt *s, const ctune_access *access, int dim) {
    for (int i = 0; i < access->n_idx; i++) {
        if (!ctune_bounds_is_plain(w->region, access->idx[i]) ||
            ctune_stmt_moves(w->region, s, access->idx[i], dim)) {
            return true;
        }
    }
    return false;
}

/* Registers hold the tile during the whole reduction: nothing else may touch it meanwhile. */
static bool is_alone(lowerer *w, int stmt, const lower_tile *tile) {
    const ctune_depvecs *vecs = &w->nest->form->vecs;
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        if (vec->src != stmt || vec->dst != stmt) {
            continue;
        }
        /* a dependence carried by a point loop outside the register loop is in order anyway */
        bool carried = false;
        for (int i = 0; i < w->n_open && !carried; i++) {
            int pos = w->open[i].dim < 0 ? -1 : lower_pos(s, w->open[i].dim);
            carried = pos >= 0 && pos < vec->n_common && w->open[i].step == 1 &&
                      vec->sign[pos] == CTUNE_SIGN_POS;
        }
        for (int t = 0; t < tile->n_tile && !carried; t++) {
            int pos = lower_pos(s, w->nest->node[tile->tile_node[t]].dim);
            if (pos >= 0 && pos < vec->n_common && vec->sign[pos] != CTUNE_SIGN_ZERO) {
                return false;
            }
        }
    }
    return true;
}

/* Does the domain say diff >= 1 everywhere, by one constraint or the sum of two? */
static bool is_positive_in_domain(lowerer *w, const ctune_stmt *s, const ctune_aff *diff) {
    for (int i = 0; i < s->n_cons; i++) {
        for (int k = i; k < s->n_cons; k++) {
            const ctune_aff *sum =
                k == i ? s->cons[i] : ctune_aff_add(w->arena, s->cons[i], s->cons[k]);
            const ctune_aff *rest = ctune_aff_sub(w->arena, diff, sum);
            if (rest != NULL && rest->n_terms == 0 && rest->c0 >= 1) {
                return true;
            }
        }
    }
    return false;
}

/*
 * In-place updates (triangular solves, factorisations): the core of a tile runs over reduction
 * values that lie in the domain of all its points. A read of the target's tensor cannot hit the
 * tile when at some index it differs from the target throughout the domain and does not itself move
 * with the tile.
 */
static bool is_core_safe(lowerer *w, int stmt, const lower_tile *tile) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    for (int r = 0; r < stage->n_reads; r++) {
        const ctune_access *read = &stage->reads[r]->access;
        if (read->tensor != stage->target.tensor) {
            continue;
        }
        bool apart = false;
        for (int i = 0; i < read->n_idx && !apart; i++) {
            const ctune_aff *from = ctune_stmt_over_dims(w->arena, w->region, s, read->idx[i]);
            const ctune_aff *to =
                ctune_stmt_over_dims(w->arena, w->region, s, stage->target.idx[i]);
            const ctune_aff *diff = ctune_aff_sub(w->arena, from, to);
            bool moves = from == NULL || diff == NULL;
            for (int t = 0; t < tile->n_tile && !moves; t++) {
                moves = ctune_aff_coef(from, CTUNE_TERM_AXIS,
                                       w->nest->node[tile->tile_node[t]].dim) != 0;
            }
            apart = !moves && (is_positive_in_domain(w, s, diff) ||
                               is_positive_in_domain(w, s, ctune_aff_scale(w->arena, diff, -1)));
        }
        if (!apart) {
            return false;
        }
    }
    return true;
}

/* ---- entry ----------------------------------------------------------------------------------- */

/* The tile as the nest's own loops, in their order. */
static ctune_status plain_tile(lowerer *w, const lower_tile *tile, ctune_lnode *into) {
    bool saved = w->no_register;
    w->no_register = true;
    ctune_status status = lower_node(w, w->nest->node[tile->at].first, into);
    w->no_register = saved;
    return status;
}

/* false: a tile dim has its tile loop inside, or the target moves with an inner loop. */
static bool block_of(lowerer *w, int stmt, const lower_tile *tile, lower_block *b) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    *b = (lower_block){.stmt = stmt, .n_tile = tile->n_tile, .n_inner = tile->n_inner};
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

/* Can the statement's instances of one tile be told apart from all else by its bounds alone? */
static bool has_plain_domain(const lowerer *w, int stmt) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int i = 0; i < s->n_cons; i++) {
        if (!ctune_bounds_is_plain(w->region, s->cons[i])) {
            return false;
        }
    }
    return w->region->stages[s->stage].guard == NULL;
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
        ctune_status status = lower_kids(w, node, into);
        w->no_register = saved;
        return status;
    }
    bool alone = is_alone(w, stmt, &tile);
    if (!has_plain_domain(w, stmt) || (!alone && !is_core_safe(w, stmt, &tile)) ||
        !block_of(w, stmt, &tile, &b)) {
        return plain_tile(w, &tile, into);
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, NULL, 0, NULL);
    ctune_lnode *partial = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    bool is_possible = true;
    if (guard == NULL || partial == NULL) {
        return lower_fail(w);
    }
    ctune_status status = full_conditions(w, &b, guard, &is_possible);
    if (status != CTUNE_OK || !is_possible) {
        return status != CTUNE_OK ? status : plain_tile(w, &tile, into);
    }
    if (tile.n_tile + tile.n_inner > 0) {
        int dim = tile.n_tile > 0 ? s->dims[b.tile[0].pos] : b.inner_dim[0];
        into = lower_param_guard(w, stmt, dim, into);
    }
    ctune_lnode *full = guard->n_conds > 0 ? guard : into;
    if (guard->n_conds > 0) {
        ctune_lnode_append(into, guard);
        guard->other = partial;
    }
    status = lower_full_tile(w, &b, &tile, full);
    if (status == CTUNE_OK && guard->n_conds > 0) {
        status = alone && !b.is_interior ? lower_partial_tile(w, &b, partial)
                                         : plain_tile(w, &tile, partial);
    }
    return status;
}

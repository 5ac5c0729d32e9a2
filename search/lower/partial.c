/*
 * Partial tiles, where the tile reaches over the border of the domain:
 *
 *     - operands that may be read outside (packed panels are padded): the whole tile is computed in
 * a scratch tile, and only its valid points are copied in and out;
 *     - else point by point: one vector where a whole one fits, then scalars.
 */
#include "search/lower/lower_private.h"

static void pop_n(lowerer *w, int n) {
    for (int i = 0; i < n; i++) {
        lower_pop(w);
    }
}

/* ---- padded ---------------------------------------------------------------------------------- */

/* May expr be evaluated at points outside the domain? Only packed or tile-invariant reads; nothing
 * that can trap. */
static bool is_safe_outside(const lowerer *w, const lower_block *b, const ctune_expr *expr) {
    if (lower_find_packed(w, b->stmt, expr) != NULL) {
        return true;
    }
    switch (expr->op) {
    case CTUNE_OP_CONST:
        return true;
    case CTUNE_OP_READ:
        for (int t = 0; t < b->n_tile; t++) {
            const ctune_stmt *s = &w->tree->stmts[b->stmt];
            if (lower_reads_dim(w, s, &expr->access, s->dims[b->tile[t].pos])) {
                return false;
            }
        }
        return true;
    case CTUNE_OP_CAST:
        if (!ctune_type_is_float(expr->type) && ctune_type_is_float(expr->kids[0]->type)) {
            return false;
        }
        break;
    case CTUNE_OP_ADD:
    case CTUNE_OP_SUB:
    case CTUNE_OP_MUL:
    case CTUNE_OP_NEG:
    case CTUNE_OP_MIN:
    case CTUNE_OP_MAX:
        break;
    default:
        return false;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        if (!is_safe_outside(w, b, expr->kids[i])) {
            return false;
        }
    }
    return true;
}

/* Copy the valid points between the target and the scratch tile. */
static ctune_status copy_valid(lowerer *w, const lower_block *b, int scratch, bool is_in,
                               ctune_lnode *into) {
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[b->stmt].stage];
    ctune_status status = CTUNE_OK;
    ctune_place tile = {.is_buffer = true, .id = scratch, .n_idx = b->n_tile}, target;
    int n = 0, scalar;
    for (; n < b->n_tile && status == CTUNE_OK; n++) {
        lower_limit lo, hi;
        int dim = w->tree->stmts[b->stmt].dims[b->tile[n].pos];
        status = lower_bounds(w, b->stmt, dim, &lo, &hi);
        int var = ctune_loops_index_var(w->loops, w->tree->dims[dim].name);
        if (status == CTUNE_OK) {
            into = lower_for(w, var, &lo, &hi, 1, CTUNE_LANN_SERIAL, into);
        }
        tile.idx[n] = ctune_aff_sub(w->arena, ctune_loops_var_aff(w->loops, var, 1, 0),
                                    ctune_loops_var_aff(w->loops, b->tile[n].origin, 1, 0));
        lower_push(w, var, dim, 1, -1);
    }
    if (status == CTUNE_OK) {
        lower_env env;
        lower_env_get(w, b->stmt, &env);
        bool in_memory = lower_place(w, &env, &stage->target, &target, &scalar);
        const ctune_value *from = !is_in      ? ctune_value_load(w->loops, &tile, 1)
                                  : in_memory ? ctune_value_load(w->loops, &target, 1)
                                              : ctune_value_var(w->loops, scalar);
        ctune_lnode_append(into, is_in       ? ctune_lnode_store(w->loops, &tile, from)
                                 : in_memory ? ctune_lnode_store(w->loops, &target, from)
                                             : ctune_lnode_set(w->loops, scalar, from));
    }
    pop_n(w, n);
    return status;
}

static ctune_status padded_tile(lowerer *w, const lower_block *b, const lower_inner *inner,
                                ctune_lnode *into) {
    ctune_loops *l = w->loops;
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[b->stmt].stage];
    ctune_type type = w->region->tensors[stage->target.tensor].type;
    const ctune_aff *extent[LOWER_MAX_TILE];
    for (int t = 0; t < b->n_tile; t++) {
        extent[t] = ctune_loops_const(l, b->tile[t].extent);
    }
    int scratch = ctune_loops_buffer(l, "tile", type, CTUNE_SCOPE_BLOCK, b->n_tile, extent);
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    ctune_lnode_append(into, block);
    ctune_lnode_append(block, ctune_lnode_decl(l, scratch));
    int point[LOWER_MAX_TILE];
    ctune_lnode *body = lower_points(w, b, CTUNE_LANN_SERIAL, point, block);
    ctune_place at = {.is_buffer = true, .id = scratch, .n_idx = b->n_tile};
    for (int t = 0; t < b->n_tile; t++) {
        at.idx[t] = ctune_loops_var_aff(l, point[t], 1, 0);
    }
    ctune_lnode_append(body, ctune_lnode_store(l, &at, ctune_value_zero(l, type)));
    ctune_status status = copy_valid(w, b, scratch, true, block);
    if (status == CTUNE_OK) {
        lower_core(w, b, inner, scratch, block);
        status = copy_valid(w, b, scratch, false, block);
    }
    return status;
}

/* ---- narrower tiles -------------------------------------------------------------------------- */

static ctune_status narrow_tiles(lowerer *w, const lower_block *b, int t, ctune_lnode *into);

static ctune_status scan_points(lowerer *w, const lower_block *b, int t, const ctune_aff *lo,
                                const ctune_aff *end, ctune_lnode *into) {
    int dim = w->tree->stmts[b->stmt].dims[b->tile[t].pos];
    int var = ctune_loops_index_var(w->loops, w->tree->dims[dim].name);
    ctune_lnode *loop = ctune_lnode_for(w->loops, var, lo, end, 1, CTUNE_LANN_SERIAL);
    ctune_lnode_append(into, loop);
    lower_push(w, var, dim, 1, -1);
    ctune_status status = narrow_tiles(w, b, t + 1, loop);
    lower_pop(w);
    return status;
}

/* Whole vectors of dim t from *lo on; *lo becomes the first point left. */
static ctune_status whole_vectors(lowerer *w, const lower_block *b, int t, int lanes,
                                  const ctune_aff **lo, const ctune_aff **end, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    int dim = w->tree->stmts[b->stmt].dims[b->tile[t].pos];
    const ctune_aff *first = lower_let(w, "first", *lo, into);
    const ctune_aff *stop = lower_let(w, "end", *end, into);
    if (first == NULL || stop == NULL) {
        return ctune_loops_status(l);
    }
    int var = ctune_loops_index_var(l, w->tree->dims[dim].name);
    ctune_lnode *chunk = ctune_lnode_for(
        l, var, first, ctune_aff_add_const(w->arena, stop, 1 - lanes), lanes, CTUNE_LANN_SERIAL);
    ctune_lnode_append(into, chunk);
    lower_block one = *b;
    one.n_tile = 1;
    one.tile[0] =
        (lower_tile_dim){.pos = b->tile[t].pos, .origin = var, .extent = lanes, .is_vector = true};
    one.pseudo[0] = b->pseudo[t];
    lower_push(w, var, dim, lanes, -1);
    ctune_status status = lower_full_tile(w, &one, NULL, chunk);
    lower_pop(w);
    /* first + floor((stop - first) / lanes) * lanes, not before first */
    const ctune_aff *rest = ctune_aff_add(
        w->arena, first,
        ctune_aff_scale(w->arena, ctune_loops_floor(l, ctune_aff_sub(w->arena, stop, first), lanes),
                        lanes));
    *lo = lower_let(w, "rest", ctune_loops_max(l, rest, first), into);
    *end = stop;
    return status;
}

/* Dim t of the tile point by point (vector dim: by whole vectors, then points). */
static ctune_status narrow_tiles(lowerer *w, const lower_block *b, int t, ctune_lnode *into) {
    if (t == b->n_tile) {
        lower_block scalar = *b;
        scalar.n_tile = 0;
        return lower_full_tile(w, &scalar, NULL, into);
    }
    const ctune_stmt *s = &w->tree->stmts[b->stmt];
    lower_limit lo, hi;
    ctune_status status = lower_bounds(w, b->stmt, s->dims[b->tile[t].pos], &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_type type = w->region->tensors[w->region->stages[s->stage].target.tensor].type;
    int lanes = b->tile[t].is_vector && ctune_type_has_vectors(type)
                    ? ctune_tile_lanes(w->options->vector_bytes, type, b->tile[t].extent)
                    : 1;
    const ctune_aff *first = lower_limit_aff(w, &lo, 0), *end = lower_limit_aff(w, &hi, 1);
    if (lanes > 1) {
        status = whole_vectors(w, b, t, lanes, &first, &end, into);
    }
    return status == CTUNE_OK ? scan_points(w, b, t, first, end, into) : status;
}

ctune_status lower_partial_tile(lowerer *w, const lower_block *b, ctune_lnode *into) {
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[b->stmt].stage];
    lower_inner inner[CTUNE_MAX_DEPTH];
    bool depends;
    ctune_status status = lower_core_limits(w, b, inner, &depends);
    if (status != CTUNE_OK) {
        return status;
    }
    int64_t points = 1;
    for (int t = 0; t < b->n_tile; t++) {
        points *= b->tile[t].extent;
    }
    if (!depends && points > 1 && is_safe_outside(w, b, stage->rhs)) {
        return padded_tile(w, b, inner, into);
    }
    return narrow_tiles(w, b, 0, into);
}

/*
 * Partial tiles, where the tile reaches over the border of the domain:
 *
 *     - operands that may be read outside (packed panels are padded): the whole tile is computed in
 * a scratch tile, and only its valid points are copied in and out;
 *     - else point by point: one vector where a whole one fits, then scalars.
 */
#include "search/lower/lower_private.h"

/* ---- padded ---------------------------------------------------------------------------------- */

/* May expr be evaluated at points outside the domain along dim t of the tile? Only packed reads or
 * those that do not move with it; nothing that can trap. */
static bool is_safe_outside(const lowerer *w, const lower_block *b, int t, const ctune_expr *expr) {
    const ctune_stmt *s = &w->tree->stmts[b->stmt];
    const lower_packed *packed = lower_find_packed(w, b->stmt, expr);
    if (packed != NULL && packed->tile_pos == b->tile[t].pos) {
        return true; /* panels are padded */
    }
    switch (expr->op) {
    case CTUNE_OP_CONST:
        return true;
    case CTUNE_OP_READ:
        return !lower_reads_dim(w, s, &expr->access, s->dims[b->tile[t].pos]);
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
        if (!is_safe_outside(w, b, t, expr->kids[i])) {
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
            into = lower_for(w, var, &lo, &hi, 1, CTUNE_LANN_UNROLL, into);
            if (into != NULL) {
                into->factor =
                    1; /* short, and there are many: compilers need not take them apart */
            }
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
    lower_pop_n(w, n);
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
    /* as the core: what is only set is not read, and need not be defined */
    bool is_read = stage->update != CTUNE_UPDATE_SET || b->n_inner > 0;
    ctune_status status = is_read ? copy_valid(w, b, scratch, true, block) : CTUNE_OK;
    if (status == CTUNE_OK) {
        lower_core(w, b, inner, scratch, block);
        status = copy_valid(w, b, scratch, false, block);
    }
    return status;
}

/* ---- narrower tiles -------------------------------------------------------------------------- */

enum { MAX_RUNGS = 6 };

/* Sizes that dim t is cut into, largest first, down to single points: quarters of the tile; of
 * lanes, the whole tile, one vector, a quarter of one. */
static int find_rungs(const lowerer *w, const lower_block *b, int t, int64_t *rung) {
    const ctune_stmt *s = &w->tree->stmts[b->stmt];
    ctune_type type = w->region->tensors[w->region->stages[s->stage].target.tensor].type;
    const lower_tile_dim *dim = &b->tile[t];
    int n = 0;
    rung[n++] = dim->extent;
    if (!dim->is_vector) {
        for (int64_t h = (dim->extent + 2) / 4; h > 1 && n < MAX_RUNGS - 1; h = (h + 2) / 4) {
            rung[n++] = h;
        }
    } else if (ctune_type_has_vectors(type)) {
        int lanes = ctune_tile_lanes(w->options->target->vector_bytes, type, dim->extent);
        int least = 16 / ctune_type_get(type)->bytes;
        if (lanes > 1 && lanes < dim->extent) {
            rung[n++] = lanes;
        }
        if (lanes / 4 >= least && least > 1) {
            rung[n++] = lanes / 4;
        }
    }
    if (rung[n - 1] > 1) {
        rung[n++] = 1;
    }
    return n;
}

/* A partial tile while it is cut: which of its dims are done. */
typedef struct cut {
    const lower_block *b;           /* the whole tile */
    bool is_padded[LOWER_MAX_TILE]; /* operands may be read outside along this dim: it is not cut */
    bool is_whole;                  /* every dim cut so far has its full size */
    lower_block sub;                /* what a leaf computes */
} cut;

static ctune_status cut_dim(lowerer *w, const cut *c, int t, ctune_lnode *into);

static void add_dim(lower_block *sub, const lower_block *b, int t, int origin, int64_t extent) {
    int at = sub->n_tile++;
    while (at > 0 && sub->tile[at - 1].is_vector) { /* lanes last */
        sub->tile[at] = sub->tile[at - 1];
        sub->pseudo[at] = sub->pseudo[at - 1];
        at--;
    }
    sub->tile[at] = b->tile[t];
    sub->tile[at].origin = origin;
    sub->tile[at].extent = extent;
    sub->pseudo[at] = b->pseudo[t];
}

static bool has_padded(const cut *c) {
    for (int t = 0; t < c->b->n_tile; t++) {
        if (c->is_padded[t]) {
            return true;
        }
    }
    return false;
}

static ctune_status cut_leaf(lowerer *w, const cut *c, ctune_lnode *into) {
    lower_block padded = c->sub;
    for (int t = 0; t < c->b->n_tile; t++) {
        if (c->is_padded[t]) {
            add_dim(&padded, c->b, t, c->b->tile[t].origin, c->b->tile[t].extent);
        }
    }
    lower_inner inner[CTUNE_MAX_DEPTH];
    bool depends;
    if (!has_padded(c)) {
        return lower_full_tile(w, &padded, NULL, into);
    }
    ctune_status status = lower_core_limits(w, &padded, inner, &depends);
    return status == CTUNE_OK ? padded_tile(w, &padded, inner, into) : status;
}

/* The points [lo, end) of dim t in steps of h. */
static ctune_status cut_rung(lowerer *w, const cut *c, int t, int64_t h, const ctune_aff *lo,
                             const ctune_aff *end, ctune_lnode *into) {
    int dim = w->tree->stmts[c->b->stmt].dims[c->b->tile[t].pos];
    int var = ctune_loops_index_var(w->loops, w->tree->dims[dim].name);
    ctune_lnode *loop = ctune_lnode_for(
        w->loops, var, lo, ctune_aff_add_const(w->arena, end, 1 - h), h, CTUNE_LANN_SERIAL);
    ctune_lnode_append(into, loop);
    cut next = *c;
    next.is_whole &= h == c->b->tile[t].extent;
    if (h > 1) {
        add_dim(&next.sub, c->b, t, var, h);
    }
    lower_push(w, var, dim, h, -1);
    ctune_status status = cut_dim(w, &next, t + 1, loop);
    lower_pop(w);
    return status;
}

static bool is_last(const cut *c, int t) {
    for (int k = t + 1; k < c->b->n_tile; k++) {
        if (!c->is_padded[k]) {
            return false;
        }
    }
    return true;
}

/*
 * Is the range of some dim that is cut after t different from point to point of t (a triangle)?
 * Then pieces of t have no range in common, and t is scanned point by point.
 */
static ctune_status ties_later(lowerer *w, const cut *c, int t, bool *ties) {
    const ctune_stmt *s = &w->tree->stmts[c->b->stmt];
    ctune_status status = CTUNE_OK;
    *ties = false;
    lower_push(w, c->b->pseudo[t], s->dims[c->b->tile[t].pos], 1, -1);
    for (int k = t + 1; k < c->b->n_tile && status == CTUNE_OK && !*ties; k++) {
        lower_limit limit[2];
        status = lower_bounds(w, c->b->stmt, s->dims[c->b->tile[k].pos], &limit[0], &limit[1]);
        for (int side = 0; side < 2 && status == CTUNE_OK; side++) {
            for (int i = 0; i < limit[side].n; i++) {
                *ties |=
                    ctune_aff_coef(limit[side].bound[i].aff, CTUNE_TERM_AXIS, c->b->pseudo[t]) != 0;
            }
        }
    }
    lower_pop(w);
    return status;
}

/* Dim t from its largest rung down: `for` whole pieces, then what is left. */
static ctune_status cut_dim(lowerer *w, const cut *c, int t, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    if (t == c->b->n_tile) {
        return cut_leaf(w, c, into);
    }
    if (c->is_padded[t]) {
        return cut_dim(w, c, t + 1, into);
    }
    lower_limit lo, hi;
    ctune_status status =
        lower_bounds(w, c->b->stmt, w->tree->stmts[c->b->stmt].dims[c->b->tile[t].pos], &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    int64_t rung[MAX_RUNGS];
    bool ties = false;
    int n = find_rungs(w, c->b, t, rung), first = 0;
    status = ties_later(w, c, t, &ties);
    if (status != CTUNE_OK) {
        return status;
    }
    if (ties) {
        first = n - 1;
    } else if (c->is_whole && is_last(c, t) && !has_padded(c)) {
        first = n > 1 ? 1 : 0; /* the full tile has been tried */
    }
    const ctune_aff *at = lower_limit_aff(w, &lo, 0), *end = lower_limit_aff(w, &hi, 1);
    if (n - first > 1) {
        at = lower_let(w, "first", at, into);
        end = lower_let(w, "end", end, into);
    }
    for (int r = first; r < n && status == CTUNE_OK && at != NULL && end != NULL; r++) {
        status = cut_rung(w, c, t, rung[r], at, end, into);
        if (r + 1 < n) { /* at + floor((end - at) / h) * h, not before at */
            const ctune_aff *whole =
                ctune_loops_floor(l, ctune_aff_sub(w->arena, end, at), rung[r]);
            whole = ctune_loops_max(l, whole, ctune_loops_const(l, 0));
            at = lower_let(w, "rest",
                           whole == NULL ? NULL
                                         : ctune_aff_add(w->arena, at,
                                                         ctune_aff_scale(w->arena, whole, rung[r])),
                           into);
        }
    }
    return status == CTUNE_OK ? ctune_loops_status(l) : status;
}

ctune_status lower_partial_tile(lowerer *w, const lower_block *b, ctune_lnode *into) {
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[b->stmt].stage];
    lower_inner inner[CTUNE_MAX_DEPTH];
    bool depends;
    ctune_status status = lower_core_limits(w, b, inner, &depends);
    if (status != CTUNE_OK) {
        return status;
    }
    cut c = {.b = b, .is_whole = true, .sub = *b};
    c.sub.n_tile = 0;
    for (int t = 0; t < b->n_tile; t++) {
        c.is_padded[t] = !depends && b->tile[t].extent > 1 && is_safe_outside(w, b, t, stage->rhs);
    }
    return cut_dim(w, &c, 0, into);
}

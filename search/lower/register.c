/*
 * Register tiles: `cache_write S at L register`.
 *
 * Below loop L stand the reduction loops of S and, innermost, its tile: loops with a constant
 * extent that are unrolled or run in vector lanes. One full tile becomes a MICRO node: accumulators
 * in registers, the reduction loops inside, no bound or guard. What surrounds it:
 *
 *     if (the whole tile lies in the domain) {
 *         reduction values that only some points of the tile have (triangular domains): plain loops
 *         MICRO over the values that all points share
 *         the rest: plain loops
 *     } else {
 *         padded MICRO (packed operands, result copied for valid points only), or
 *         narrower MICROs point by point: one vector, then scalars
 *     }
 *
 * "All points" is decided by putting the worst corner of the tile into each affine constraint.
 */
#include "search/lower/lower_private.h"

#include <string.h>

int ctune_tile_lanes(int vector_bytes, ctune_type type, int64_t extent) {
    int lanes = vector_bytes / ctune_type_get(type)->bytes;
    while (lanes > 1 && extent % lanes != 0) {
        lanes /= 2;
    }
    return lanes < 1 ? 1 : lanes;
}

bool lower_tile_find(lowerer *w, int stmt, int at, lower_tile *out) {
    *out = (lower_tile){.at = at};
    int node = w->nest->node[at].first;
    bool in_tile = false;
    while (node >= 0 && w->nest->node[node].kind != CTUNE_NN_STMT) {
        const ctune_nnode *nn = &w->nest->node[node];
        if (nn->kind != CTUNE_NN_LOOP || nn->next >= 0) {
            ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: not one perfect nest");
            return false;
        }
        if (nn->ann == CTUNE_ANN_UNROLL || nn->ann == CTUNE_ANN_VECTOR) {
            if (nn->step != 1 || nn->outer < 0 || out->n_tile >= CTUNE_MAX_TILE) {
                ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: loop '%s' is no constant tile",
                           nn->name);
                return false;
            }
            out->tile_node[out->n_tile++] = node;
            in_tile = true;
        } else if (in_tile || nn->ann == CTUNE_ANN_PARALLEL || nn->step != 1) {
            ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: loop '%s' must stand outside it",
                       nn->name);
            return false;
        } else {
            out->inner_node[out->n_inner++] = node;
        }
        node = nn->first;
    }
    if (node < 0 || w->nest->node[node].stmt != stmt || w->nest->node[node].next >= 0) {
        ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: more than one statement inside");
        return false;
    }
    for (int i = 0; i < out->n_tile; i++) { /* the vector loop last */
        if (w->nest->node[out->tile_node[i]].ann == CTUNE_ANN_VECTOR && i != out->n_tile - 1) {
            int t = out->tile_node[i];
            memmove(&out->tile_node[i], &out->tile_node[i + 1],
                    (size_t)(out->n_tile - 1 - i) * sizeof *out->tile_node);
            out->tile_node[out->n_tile - 1] = t;
            i--;
            if (w->nest->node[out->tile_node[out->n_tile - 2]].ann == CTUNE_ANN_VECTOR) {
                ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: two vector loops");
                return false;
            }
        }
    }
    return true;
}

bool lower_tile_has(const lowerer *w, int stmt, lower_tile *out) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        if (w->nest->cache[c].kind == CTUNE_CACHE_REGISTER && w->nest->cache[c].stmt == stmt) {
            return lower_tile_find((lowerer *)w, stmt, w->nest->cache[c].at, out);
        }
    }
    return false;
}

/* What a tile of these dims needs while it is built. */
typedef struct tile_build {
    int stmt;
    int n_tile;
    ctune_tile_dim tile[CTUNE_MAX_TILE];
    int pseudo[CTUNE_MAX_TILE]; /* variable that stands for "the point of this dim" in bounds */
    int n_inner, inner_dim[CTUNE_MAX_DEPTH];
    const char *inner_name[CTUNE_MAX_DEPTH];
} tile_build;

static bool has_pseudo(const tile_build *b, const ctune_aff *aff) {
    for (int t = 0; t < b->n_tile; t++) {
        if (ctune_aff_coef(aff, CTUNE_TERM_AXIS, b->pseudo[t]) != 0) {
            return true;
        }
    }
    return false;
}

/* aff with each tile point replaced by the corner that makes aff largest (or smallest). */
static const ctune_aff *at_corner(lowerer *w, const tile_build *b, const ctune_aff *aff,
                                  bool largest) {
    for (int t = 0; t < b->n_tile; t++) {
        int64_t coef = ctune_aff_coef(aff, CTUNE_TERM_AXIS, b->pseudo[t]);
        if (coef != 0) {
            bool upper = (coef > 0) == largest;
            const ctune_aff *corner = ctune_aff_add_const(
                w->arena, ctune_aff_term(w->arena, CTUNE_TERM_AXIS, b->tile[t].origin, 1),
                upper ? b->tile[t].extent - 1 : 0);
            aff = ctune_aff_subst(w->arena, aff, CTUNE_TERM_AXIS, b->pseudo[t], corner);
            if (aff == NULL) {
                return NULL;
            }
        }
    }
    return aff;
}

static void push_points(lowerer *w, const tile_build *b) {
    for (int t = 0; t < b->n_tile; t++) {
        lower_push(w, b->pseudo[t], w->tree->stmts[b->stmt].dims[b->tile[t].pos], 1, -1);
    }
}

static void pop_n(lowerer *w, int n) {
    for (int i = 0; i < n; i++) {
        lower_pop(w);
    }
}

/* Limits of the reduction loops that every point of the tile shares. depends: some limit differs
 * between points. */
static ctune_status core_limits(lowerer *w, const tile_build *b, ctune_lfor *inner,
                                bool *lower_depends, bool *upper_depends) {
    ctune_status status = CTUNE_OK;
    *lower_depends = *upper_depends = false;
    push_points(w, b);
    int n = 0;
    for (; n < b->n_inner && status == CTUNE_OK; n++) {
        ctune_limit lo, hi;
        status = lower_bounds(w, b->stmt, b->inner_dim[n], &lo, &hi);
        if (status != CTUNE_OK) {
            break;
        }
        for (int side = 0; side < 2; side++) {
            ctune_limit *limit = side == 0 ? &lo : &hi;
            ctune_bound *rows = (ctune_bound *)limit->bound;
            for (int i = 0; i < limit->n; i++) {
                if (has_pseudo(b, rows[i].aff)) {
                    *(side == 0 ? lower_depends : upper_depends) = true;
                    rows[i].aff = at_corner(w, b, rows[i].aff, side == 0);
                }
            }
        }
        int var = lower_var(w, b->inner_name[n]);
        inner[n] = (ctune_lfor){.var = var, .lo = lo, .hi = hi, .step = 1};
        lower_push(w, var, b->inner_dim[n], 1, -1);
    }
    pop_n(w, n + b->n_tile);
    return status;
}

/*
 * Conditions under which every point of the tile has iterations: the bounds of each tile dim at
 * their worst corner. They come from the projected domain, not only from the constraints on tile
 * dims alone, since a tile loads and stores its points even when the reduction loop turns out
 * empty.
 */
static ctune_status full_conditions(lowerer *w, const tile_build *b, ctune_lnode *guard) {
    const ctune_stmt *s = &w->tree->stmts[b->stmt];
    ctune_status status = CTUNE_OK;
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, 256);
    int n = 0, pushed = 0;
    for (int t = 0; t < b->n_tile && conds != NULL && status == CTUNE_OK; t++) {
        ctune_limit lo, hi;
        int dim = s->dims[b->tile[t].pos];
        status = lower_bounds(w, b->stmt, dim, &lo, &hi);
        if (status != CTUNE_OK) {
            break;
        }
        if (lo.is_inexact || hi.is_inexact) {
            status = ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: bounds with divisions");
            break;
        }
        const ctune_aff *point = ctune_aff_term(w->arena, CTUNE_TERM_AXIS, b->pseudo[t], 1);
        for (int side = 0; side < 2; side++) {
            const ctune_limit *limit = side == 0 ? &lo : &hi;
            for (int i = 0; i < limit->n && n < 256; i++) {
                const ctune_aff *gap =
                    ctune_aff_sub(w->arena, ctune_aff_scale(w->arena, point, limit->bound[i].den),
                                  limit->bound[i].aff);
                gap = at_corner(w, b, side == 0 ? gap : ctune_aff_scale(w->arena, gap, -1), false);
                bool is_true = gap != NULL && gap->n_terms == 0 && gap->c0 >= 0;
                for (int k = 0; k < n && gap != NULL; k++) {
                    is_true |= ctune_aff_is_equal(conds[k], gap);
                }
                if (!is_true) {
                    conds[n++] = gap;
                }
            }
        }
        lower_push(w, b->pseudo[t], dim, 1, -1);
        pushed++;
    }
    pop_n(w, pushed);
    guard->conds = conds;
    guard->n_conds = n;
    return status;
}

static ctune_lnode *micro_node(lowerer *w, const tile_build *b, const ctune_lfor *inner) {
    ctune_lnode *n = lower_lnode(w, CTUNE_LN_MICRO);
    ctune_micro *m = CTUNE_NEW(w->arena, ctune_micro);
    if (n == NULL || m == NULL) {
        return NULL;
    }
    const ctune_stmt *s = &w->tree->stmts[b->stmt];
    m->stmt = b->stmt;
    m->n_tile = b->n_tile;
    memcpy(m->tile, b->tile, sizeof m->tile);
    m->n_inner = b->n_inner;
    memcpy(m->inner, inner, (size_t)b->n_inner * sizeof *inner);
    lower_env(w, b->stmt, &m->env);
    for (int t = 0; t < b->n_tile; t++) {
        m->env.val[b->tile[t].pos] =
            ctune_aff_term(w->arena, CTUNE_TERM_AXIS, b->tile[t].origin, 1);
    }
    for (int i = 0; i < b->n_inner; i++) {
        m->env.val[lower_pos(s, b->inner_dim[i])] =
            ctune_aff_term(w->arena, CTUNE_TERM_AXIS, inner[i].var, 1);
    }
    n->micro = m;
    return n;
}

static ctune_lnode *let_node(lowerer *w, const char *name, ctune_limit limit, ctune_lnode *into) {
    ctune_lnode *let = lower_lnode(w, CTUNE_LN_LET);
    int var = lower_var(w, name);
    if (let == NULL || var < 0) {
        return NULL;
    }
    let->var = var;
    let->limit = limit;
    lower_append(w, into, let);
    return let;
}

/* The plain loops below the register loop, restricted to part of the reduction's range: values
 * below `first` (is_lower false) or from `first` on. Inside, the tile's points are scanned exactly;
 * when origin variables are given they are open. */
static ctune_status plain_part(lowerer *w, const tile_build *b, const lower_tile *tile, int var,
                               int64_t c, bool is_lower, ctune_lnode *into) {
    bool saved = w->no_register;
    w->no_register = true;
    w->extra[w->n_extra++] =
        (lower_extra){.dim = b->inner_dim[0], .var = var, .c = c, .is_lower = is_lower};
    lower_push(w, var, -1, 0, -1);
    ctune_status status = CTUNE_OK;
    if (tile != NULL) {
        status = lower_node(w, w->nest->node[tile->at].first, into);
    } else {
        /* a narrower tile: reduction loop outside, then its points */
        ctune_limit lo, hi;
        status = lower_bounds(w, b->stmt, b->inner_dim[0], &lo, &hi);
        ctune_lnode *outer = lower_lnode(w, CTUNE_LN_FOR);
        int k = lower_var(w, b->inner_name[0]);
        if (status == CTUNE_OK && outer != NULL && k >= 0) {
            outer->loop = (ctune_lfor){.var = k, .lo = lo, .hi = hi, .step = 1};
            lower_append(w, into, outer);
            lower_push(w, k, b->inner_dim[0], 1, -1);
            ctune_lnode *at = outer;
            int n = 0;
            for (; n < b->n_tile && status == CTUNE_OK; n++) {
                int dim = w->tree->stmts[b->stmt].dims[b->tile[n].pos];
                status = lower_bounds(w, b->stmt, dim, &lo, &hi);
                ctune_lnode *point = lower_lnode(w, CTUNE_LN_FOR);
                int v = lower_var(w, w->tree->dims[dim].name);
                if (point == NULL || v < 0) {
                    status = CTUNE_ENOMEM;
                    break;
                }
                point->loop = (ctune_lfor){.var = v, .lo = lo, .hi = hi, .step = 1};
                lower_append(w, at, point);
                lower_push(w, v, dim, 1, -1);
                at = point;
            }
            ctune_lnode *leaf = lower_lnode(w, CTUNE_LN_STMT);
            if (leaf != NULL) {
                lower_env(w, b->stmt, &leaf->env);
                lower_append(w, at, leaf);
            }
            pop_n(w, n + 1);
        }
    }
    lower_pop(w);
    w->n_extra--;
    w->no_register = saved;
    return status;
}

/* A full tile: prologue, MICRO, epilogue. tile: the nest's own loops, NULL for a narrower tile. */
static ctune_status full_tile(lowerer *w, tile_build *b, const lower_tile *tile,
                              ctune_lnode *into) {
    ctune_lfor inner[CTUNE_MAX_DEPTH];
    bool lower_depends, upper_depends;
    ctune_status status = core_limits(w, b, inner, &lower_depends, &upper_depends);
    if (status != CTUNE_OK) {
        return status;
    }
    if (!lower_depends && !upper_depends) {
        lower_append(w, into, micro_node(w, b, inner));
        return CTUNE_OK;
    }
    if (b->n_inner != 1) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED,
                          "register tile: several reduction loops with bounds inside the tile");
    }
    char name[CTUNE_NAME_BYTES + 8];
    strncpy(name, b->inner_name[0], CTUNE_NAME_BYTES - 8);
    name[CTUNE_NAME_BYTES - 8] = '\0';
    strcat(name, "_first");
    ctune_lnode *first = let_node(w, name, inner[0].lo, into);
    strncpy(name, b->inner_name[0], CTUNE_NAME_BYTES - 8);
    name[CTUNE_NAME_BYTES - 8] = '\0';
    strcat(name, "_last");
    ctune_lnode *last = let_node(w, name, inner[0].hi, into);
    if (first == NULL || last == NULL) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
    }
    last->floor_var = first->var;
    last->floor_add = -1;
    /* Origins of the tile are open as coarse loops (nest) or known through `tile` dims pushed by
     * the caller. */
    if (lower_depends) {
        status = plain_part(w, b, tile, first->var, -1, false, into);
    }
    inner[0].lo = lower_limit_var(w, first->var, 0);
    inner[0].hi = lower_limit_var(w, last->var, 0);
    lower_append(w, into, micro_node(w, b, inner));
    if (upper_depends && status == CTUNE_OK) {
        status = plain_part(w, b, tile, last->var, 1, true, into);
    }
    return status;
}

/* ---- partial tiles
 * ------------------------------------------------------------------------------------------- */

static bool is_packed_read(const lowerer *w, int stmt, const ctune_expr *expr) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        if (w->loops->packed[c] != NULL && w->nest->cache[c].stmt == stmt &&
            w->loops->packed[c]->expr == expr) {
            return true;
        }
    }
    return false;
}

static bool reads_dim(const lowerer *w, const ctune_stmt *s, const ctune_access *access, int dim) {
    const ctune_stage *stage = &w->region->stages[s->stage];
    for (int i = 0; i < access->n_idx; i++) {
        if (!ctune_bounds_is_plain(w->region, access->idx[i])) {
            return true;
        }
        for (int d = 0; d < stage->n_axes; d++) {
            if (ctune_aff_coef(access->idx[i], CTUNE_TERM_AXIS, stage->axes[d]) != 0 &&
                ctune_aff_coef(s->iter[d], CTUNE_TERM_AXIS, dim) != 0) {
                return true;
            }
        }
    }
    return false;
}

/* May expr be evaluated at points outside the domain? Only packed or tile-invariant reads; nothing
 * that can trap. */
static bool is_safe_outside(const lowerer *w, const tile_build *b, const ctune_expr *expr) {
    if (is_packed_read(w, b->stmt, expr)) {
        return true;
    }
    switch (expr->op) {
    case CTUNE_OP_CONST:
        return true;
    case CTUNE_OP_READ:
        for (int t = 0; t < b->n_tile; t++) {
            const ctune_stmt *s = &w->tree->stmts[b->stmt];
            if (reads_dim(w, s, &expr->access, s->dims[b->tile[t].pos])) {
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

/* Exact loops over the valid points of the tile with STMT leaves (for copying in and out). */
static ctune_status point_loops(lowerer *w, const tile_build *b, ctune_lnode **out) {
    *out = lower_lnode(w, CTUNE_LN_SEQ);
    ctune_lnode *at = *out;
    ctune_status status = CTUNE_OK;
    int n = 0;
    for (; n < b->n_tile && status == CTUNE_OK; n++) {
        ctune_limit lo, hi;
        int dim = w->tree->stmts[b->stmt].dims[b->tile[n].pos];
        status = lower_bounds(w, b->stmt, dim, &lo, &hi);
        ctune_lnode *loop = lower_lnode(w, CTUNE_LN_FOR);
        int var = lower_var(w, w->tree->dims[dim].name);
        if (loop == NULL || var < 0) {
            status = CTUNE_ENOMEM;
            break;
        }
        loop->loop = (ctune_lfor){.var = var, .lo = lo, .hi = hi, .step = 1};
        lower_append(w, at, loop);
        lower_push(w, var, dim, 1, -1);
        at = loop;
    }
    ctune_lnode *leaf = lower_lnode(w, CTUNE_LN_STMT);
    if (leaf != NULL) {
        lower_env(w, b->stmt, &leaf->env);
        lower_append(w, at, leaf);
    }
    pop_n(w, n);
    return status;
}

/* Dim t of the tile point by point (vector dim: by whole vectors, then points). `done`: dims
 * already scanned. */
static ctune_status narrow_tiles(lowerer *w, const tile_build *b, int t, ctune_lnode *into) {
    if (t == b->n_tile) {
        tile_build scalar = *b;
        scalar.n_tile = 0;
        return full_tile(w, &scalar, NULL, into);
    }
    int dim = w->tree->stmts[b->stmt].dims[b->tile[t].pos];
    const char *name = w->tree->dims[dim].name;
    ctune_limit lo, hi;
    ctune_status status = lower_bounds(w, b->stmt, dim, &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[b->stmt].stage];
    ctune_type type = w->region->tensors[stage->target.tensor].type;
    int lanes = b->tile[t].is_vector
                    ? ctune_tile_lanes(w->options.vector_bytes, type, b->tile[t].extent)
                    : 1;
    if (lanes > 1) {
        ctune_lnode *let_lo = let_node(w, "first", lo, into);
        ctune_lnode *let_hi = let_node(w, "last", hi, into);
        ctune_lnode *chunk = lower_lnode(w, CTUNE_LN_FOR);
        int var = lower_var(w, name);
        if (let_lo == NULL || let_hi == NULL || chunk == NULL || var < 0) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
        }
        chunk->loop = (ctune_lfor){.var = var,
                                   .lo = lower_limit_var(w, let_lo->var, 0),
                                   .hi = lower_limit_var(w, let_hi->var, 1 - lanes),
                                   .step = lanes};
        lower_append(w, into, chunk);
        tile_build one = *b;
        one.n_tile = 1;
        one.tile[0] = (ctune_tile_dim){
            .pos = b->tile[t].pos, .origin = var, .extent = lanes, .is_vector = true};
        one.pseudo[0] = b->pseudo[t];
        lower_push(w, var, dim, lanes, -1);
        status = full_tile(w, &one, NULL, chunk);
        lower_pop(w);
        if (status != CTUNE_OK) {
            return status;
        }
        ctune_limit rest = lower_limit_var(w, let_hi->var, 1);
        rest.align_var = let_lo->var;
        rest.align_step = lanes;
        ctune_lnode *let_rest = let_node(w, "rest", rest, into);
        if (let_rest == NULL) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
        }
        let_rest->floor_var = let_lo->var;
        lo = lower_limit_var(w, let_rest->var, 0);
        hi = lower_limit_var(w, let_hi->var, 0);
    }
    ctune_lnode *loop = lower_lnode(w, CTUNE_LN_FOR);
    int var = lower_var(w, name);
    if (loop == NULL || var < 0) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
    }
    loop->loop = (ctune_lfor){.var = var, .lo = lo, .hi = hi, .step = 1};
    lower_append(w, into, loop);
    lower_push(w, var, dim, 1, -1);
    status = narrow_tiles(w, b, t + 1, loop);
    lower_pop(w);
    return status;
}

static ctune_status partial_tile(lowerer *w, const tile_build *b, ctune_lnode *into) {
    const ctune_stage *stage = &w->region->stages[w->tree->stmts[b->stmt].stage];
    ctune_lfor inner[CTUNE_MAX_DEPTH];
    bool lower_depends, upper_depends;
    ctune_status status = core_limits(w, b, inner, &lower_depends, &upper_depends);
    if (status != CTUNE_OK) {
        return status;
    }
    int64_t points = 1;
    for (int t = 0; t < b->n_tile; t++) {
        points *= b->tile[t].extent;
    }
    if (!lower_depends && !upper_depends && points > 1 && is_safe_outside(w, b, stage->rhs)) {
        ctune_lnode *n = micro_node(w, b, inner);
        if (n == NULL) {
            return ctune_fail(w->ctx, CTUNE_ENOMEM, "out of memory");
        }
        n->micro->is_padded = true;
        lower_append(w, into, n);
        return point_loops(w, b, &n->micro->copy);
    }
    return narrow_tiles(w, b, 0, into);
}

/* The tile as the nest's own loops, in their order. */
static ctune_status plain_tile(lowerer *w, const lower_tile *tile, ctune_lnode *into) {
    bool saved = w->no_register;
    w->no_register = true;
    ctune_status status = lower_node(w, w->nest->node[tile->at].first, into);
    w->no_register = saved;
    return status;
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

/* Index form over the stage's axes -> over the dims of the tree. */
static const ctune_aff *index_to_dims(lowerer *w, const ctune_stmt *s, const ctune_aff *idx) {
    const ctune_stage *stage = &w->region->stages[s->stage];
    const ctune_aff *out = ctune_aff_const(w->arena, idx->c0);
    for (int t = 0; t < idx->n_terms; t++) {
        const ctune_term *term = &idx->terms[t];
        const ctune_aff *part = ctune_aff_term(w->arena, term->kind, term->id, term->coef);
        if (term->kind == CTUNE_TERM_AXIS) {
            part = NULL;
            for (int d = 0; d < stage->n_axes; d++) {
                if (stage->axes[d] == term->id) {
                    part = ctune_aff_scale(w->arena, s->iter[d], term->coef);
                }
            }
        }
        out = ctune_aff_add(w->arena, out, part);
    }
    return out;
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
            const ctune_aff *from = index_to_dims(w, s, read->idx[i]);
            const ctune_aff *to = index_to_dims(w, s, stage->target.idx[i]);
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

ctune_status lower_register(lowerer *w, int node, int stmt, ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    lower_tile tile;
    if (!lower_tile_find(w, stmt, node, &tile)) {
        return CTUNE_EREFUSED;
    }
    if (stage->guard != NULL) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: statement has a condition");
    }
    for (int i = 0; i < s->n_cons; i++) {
        if (!ctune_bounds_is_plain(w->region, s->cons[i])) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: domain has divisions");
        }
    }
    bool alone = is_alone(w, stmt, &tile);
    if (!alone && !is_core_safe(w, stmt, &tile)) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED,
                          "register tile: other reads or writes of the tile inside its reduction");
    }
    tile_build b = {.stmt = stmt, .n_tile = tile.n_tile, .n_inner = tile.n_inner};
    for (int t = 0; t < tile.n_tile; t++) {
        const ctune_nnode *nn = &w->nest->node[tile.tile_node[t]];
        b.tile[t] = (ctune_tile_dim){.pos = lower_pos(s, nn->dim),
                                     .origin = w->node_var[nn->outer],
                                     .extent = w->nest->node[nn->outer].step,
                                     .is_vector = nn->ann == CTUNE_ANN_VECTOR};
        b.pseudo[t] = lower_var(w, nn->name);
        if (b.tile[t].origin < 0 || b.pseudo[t] < 0) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED,
                              "register tile: loop '%s' has its tile inside", nn->name);
        }
    }
    for (int i = 0; i < tile.n_inner; i++) {
        b.inner_dim[i] = w->nest->node[tile.inner_node[i]].dim;
        b.inner_name[i] = w->nest->node[tile.inner_node[i]].name;
    }
    for (int i = 0; i < tile.n_inner; i++) {
        /* the register target must not move with an inner loop */
        if (reads_dim(w, s, &stage->target, b.inner_dim[i])) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED, "register tile: loop '%s' moves the target",
                              b.inner_name[i]);
        }
    }
    if (tile.n_tile + tile.n_inner > 0) {
        int dim = tile.n_tile > 0 ? s->dims[b.tile[0].pos] : b.inner_dim[0];
        into = lower_param_guard(w, stmt, dim, into);
    }
    if (tile.n_tile == 0) {
        return full_tile(w, &b, &tile, into);
    }
    ctune_lnode *guard = lower_lnode(w, CTUNE_LN_IF);
    ctune_lnode *partial = lower_lnode(w, CTUNE_LN_SEQ);
    if (guard == NULL || partial == NULL) {
        return ctune_fail(w->ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_status status = full_conditions(w, &b, guard);
    lower_append(w, into, guard);
    if (status == CTUNE_OK) {
        status = full_tile(w, &b, &tile, guard);
    }
    if (status == CTUNE_OK && guard->n_conds > 0) {
        guard->else_kid = partial;
        status = alone ? partial_tile(w, &b, partial) : plain_tile(w, &tile, partial);
    }
    return status;
}

/*
 * When is a register tile full? Limits of its reduction loops that all its points share, and the
 * conditions under which every point is in the domain. "All points" is decided by putting the worst
 * corner of the tile into each affine constraint.
 */
#include "search/lower/lower_private.h"

#include <string.h>

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
    lower_pop_n(w, n + b->n_tile);
    return status;
}

typedef struct conditions {
    lowerer *w;
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
    lower_pop_n(w, t);
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
ctune_status lower_full_conditions(lowerer *w, lower_block *b, ctune_lnode *guard,
                                   bool *is_possible) {
    conditions c = {.w = w};
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

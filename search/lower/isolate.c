/*
 * Whole tiles around parts of a body: code of their own, without limits of the domain.
 *
 * In: a loop whose body has several parts with loops inside of tiles around them (fission). Out:
 *
 *     if (the tiles lie in the domain) { parts over constant ranges } else { parts up to the limits
 * }
 *
 * Inside the first, constraints on the tiled dims alone hold (range.c leaves them out), so that the
 * loops that start and end a sum are as straight as its register tile, and the temporary between
 * them has an array whose indices are all constants. Only dims that each constraint has to itself:
 * a tile of a triangle is whole at none of these conditions.
 */
#include "search/lower/lower_private.h"

#include <string.h>

/* Is the loop's dim, in every constraint of the statement that has it, the only one? */
static bool is_rectangular(const lowerer *w, int stmt, int dim) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int c = 0; c < s->n_cons; c++) {
        const ctune_aff *con = s->cons[c];
        if (!ctune_bounds_is_plain(w->region, con)) {
            return false;
        }
        if (ctune_aff_coef(con, CTUNE_TERM_AXIS, dim) != 0 && !lower_is_alone_in(con, dim)) {
            return false;
        }
    }
    return true;
}

bool lower_is_alone_in(const ctune_aff *con, int dim) {
    for (int t = 0; t < con->n_terms; t++) {
        if (con->terms[t].kind == CTUNE_TERM_DIV ||
            (con->terms[t].kind == CTUNE_TERM_AXIS && con->terms[t].id != dim)) {
            return false;
        }
    }
    return ctune_aff_coef(con, CTUNE_TERM_AXIS, dim) != 0;
}

/* Does a loop below the node run inside one tile of loop `tile`? */
static bool has_points(const lowerer *w, int node, int tile) {
    for (int i = 1; i < w->nest->n_nodes; i++) {
        if (w->nest->node[i].kind == CTUNE_NN_LOOP && w->nest->node[i].outer == tile && i != node &&
            lower_is_ancestor(w, node, i)) {
            return true;
        }
    }
    return false;
}

/* Open loops over tiles whose points the parts below the node run over. */
static int find_tiles(const lowerer *w, int node, int *tile) {
    int stmts[CTUNE_MAX_STMTS], n = 0, n_stmts = lower_stmts_under(w, node, stmts);
    for (int up = node; up > 0 && n < CTUNE_MAX_DEPTH; up = w->nest->node[up].parent) {
        const ctune_nnode *nn = &w->nest->node[up];
        bool fits = nn->kind == CTUNE_NN_LOOP && nn->sum < 0 && nn->step > 1 &&
                    w->node_var[up] >= 0 && has_points(w, node, up);
        for (int i = 0; i < n_stmts && fits; i++) {
            fits = lower_pos(&w->tree->stmts[stmts[i]], nn->dim) >= 0 &&
                   w->nest->node[ctune_nest_find_stmt(w->nest, stmts[i])].placed < 0 &&
                   is_rectangular(w, stmts[i], nn->dim);
        }
        if (fits) {
            tile[n++] = up;
        }
    }
    return n;
}

/* con at the corner of the tile where it is least. */
static const ctune_aff *at_corner(lowerer *w, const ctune_aff *con, int tile) {
    const ctune_nnode *nn = &w->nest->node[tile];
    const ctune_aff *sum = ctune_aff_const(w->arena, con->c0);
    for (int t = 0; t < con->n_terms; t++) {
        const ctune_term *term = &con->terms[t];
        const ctune_aff *part =
            term->kind == CTUNE_TERM_AXIS
                ? ctune_loops_var_aff(w->loops, w->node_var[tile], 1,
                                      term->coef < 0 ? nn->step - 1 : 0)
                : lower_row_aff(w, ctune_aff_term(w->arena, term->kind, term->id, 1));
        sum = ctune_aff_add(w->arena, sum, ctune_aff_scale(w->arena, part, term->coef));
    }
    return sum;
}

/* Does the loop over tiles start no lower than the constraint says? */
static bool is_start(const lowerer *w, const ctune_aff *con, int tile) {
    const lower_limit *lo = &w->node_lo[tile];
    if (ctune_aff_coef(con, CTUNE_TERM_AXIS, w->nest->node[tile].dim) != 1) {
        return false;
    }
    for (int k = 0; k < lo->n; k++) { /* dim >= row: con = dim - row */
        bool is_row = lo->bound[k].den == 1 && lo->bound[k].aff->c0 == -con->c0 &&
                      lo->bound[k].aff->n_terms == con->n_terms - 1;
        for (int t = 0; t < lo->bound[k].aff->n_terms && is_row; t++) {
            const ctune_term *term = &lo->bound[k].aff->terms[t];
            is_row = term->kind == CTUNE_TERM_PARAM &&
                     ctune_aff_coef(con, CTUNE_TERM_PARAM, term->id) == -term->coef;
        }
        if (is_row) {
            return true;
        }
    }
    return false;
}

static ctune_lnode *guard_of(lowerer *w, int node, const int *tile, int n) {
    int stmts[CTUNE_MAX_STMTS], n_stmts = lower_stmts_under(w, node, stmts), n_conds = 0;
    const ctune_aff **conds =
        CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, n *n_stmts *LOWER_MAX_CONS + 1);
    for (int i = 0; conds != NULL && i < n * n_stmts; i++) {
        const ctune_stmt *s = &w->tree->stmts[stmts[i % n_stmts]];
        int t = tile[i / n_stmts];
        for (int c = 0; c < s->n_cons; c++) {
            if (!lower_is_alone_in(s->cons[c], w->nest->node[t].dim) ||
                is_start(w, s->cons[c], t)) {
                continue;
            }
            const ctune_aff *cond = at_corner(w, s->cons[c], t);
            bool is_known = cond == NULL || (cond->n_terms == 0 && cond->c0 >= 0);
            for (int k = 0; k < n_conds && !is_known; k++) {
                is_known = ctune_aff_is_equal(conds[k], cond);
            }
            if (!is_known) {
                conds[n_conds++] = cond;
            }
        }
    }
    return conds == NULL ? NULL : ctune_lnode_if(w->loops, conds, n_conds, NULL);
}

/* What both copies of the body start from: conditions that its statements wait for, copies that
 * have been made. */
typedef struct waiting {
    lower_packed *packed[CTUNE_NEST_CACHES];
    bool cons[CTUNE_MAX_STMTS][LOWER_MAX_CONS];
    bool tiles[CTUNE_MAX_STMTS][CTUNE_NEST_NODES];
} waiting;

ctune_status lower_isolated(lowerer *w, int node, ctune_lnode *into) {
    int tile[CTUNE_MAX_DEPTH];
    int kid = w->nest->node[node].first;
    bool has_parts = kid >= 0 && w->nest->node[kid].next >= 0;
    int n = has_parts && !w->no_register && w->n_isolated == 0 && w->n_refuted == 0
                ? find_tiles(w, node, tile)
                : 0;
    if (n == 0) {
        return lower_children(w, node, into);
    }
    ctune_lnode *guard = guard_of(w, node, tile, n), *rest = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    waiting *saved = CTUNE_NEW(w->arena, waiting);
    if (guard == NULL || rest == NULL || saved == NULL) {
        return lower_fail(w);
    }
    ctune_lnode *full = guard->n_conds > 0 ? guard : into;
    memcpy(saved->packed, w->packed, sizeof w->packed);
    memcpy(saved->cons, w->pending, sizeof w->pending);
    memcpy(saved->tiles, w->pending_tile, sizeof w->pending_tile);
    if (guard->n_conds > 0) {
        ctune_lnode_append(into, guard);
        guard->other = rest;
    }
    memcpy(w->isolated, tile, sizeof tile);
    w->n_isolated = n;
    ctune_status status = lower_children(w, node, full);
    w->n_isolated = 0;
    if (status == CTUNE_OK && guard->n_conds > 0) {
        memcpy(w->packed, saved->packed, sizeof w->packed);
        memcpy(w->pending, saved->cons, sizeof w->pending);
        memcpy(w->pending_tile, saved->tiles, sizeof w->pending_tile);
        w->refuted = guard->conds;
        w->n_refuted = guard->n_conds;
        status = lower_children(w, node, rest);
        w->n_refuted = 0;
    }
    return status;
}

bool lower_is_refuted(const lowerer *w, const ctune_lnode *guard) {
    for (int i = 0; i < w->n_refuted; i++) {
        bool is_asked = false;
        for (int k = 0; k < guard->n_conds; k++) {
            is_asked = is_asked || ctune_aff_is_equal(w->refuted[i], guard->conds[k]);
        }
        if (!is_asked) {
            return false;
        }
    }
    return w->n_refuted > 0;
}

/* Does an open, whole tile say that the dim is in its range? */
static bool is_isolated(const lowerer *w, int dim) {
    for (int i = 0; i < w->n_isolated; i++) {
        for (int k = 0; k < w->n_open; k++) {
            if (w->open[k].node == w->isolated[i] && w->open[k].dim == dim) {
                return true;
            }
        }
    }
    return false;
}

static int drop_domain(const ctune_stmt *s, int dim, ctune_bound_row *rows, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool is_con = rows[i].is_domain && rows[i].i_con >= 0 && rows[i].i_con < s->n_cons;
        if (!is_con || !lower_is_alone_in(s->cons[rows[i].i_con], dim)) {
            rows[kept++] = rows[i];
        }
    }
    return kept > 0 ? kept : n;
}

void lower_drop_isolated(const lowerer *w, const ctune_stmt *s, int dim, ctune_bounds *bounds) {
    if (dim >= 0 && is_isolated(w, dim)) {
        bounds->n_lower = drop_domain(s, dim, bounds->lower, bounds->n_lower);
        bounds->n_upper = drop_domain(s, dim, bounds->upper, bounds->n_upper);
    }
}

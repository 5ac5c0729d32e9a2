/*
 * Move pinned statements out of the loops that they do not need: a clean-up after isl's scheduler.
 *
 * In: a legal tree in which some statements run at one value of a loop only (`when k == j`).
 * Out: the same tree with such a statement before or after that loop where the dependences allow
 * it. A guard in a loop costs every iteration and stops vectors; an imperfect nest costs nothing.
 * Legality is asked of ctune_deps_walk for each move, so the rule here is only a guess of what may
 * help.
 */
#include "search/deps/deps_private.h"

#include <string.h>

typedef struct move {
    ctune_tree_builder *b;
    int stmt;
    int dim;     /* the loop to leave */
    int n_inner; /* loops inside it that the statement takes along, as copies */
    int inner[CTUNE_MAX_DEPTH];
    bool is_after;
} move;

static bool mentions(const ctune_aff *aff, int dim) {
    return ctune_aff_coef(aff, CTUNE_TERM_AXIS, dim) != 0;
}

/* Is dim position p free of the statement's axes? Then only the pins speak of it. */
static bool is_pinned(const ctune_region *region, const ctune_stmt *stmt, int p) {
    int n_pins = 0;
    for (int d = 0; d < region->stages[stmt->stage].n_axes; d++) {
        if (mentions(stmt->iter[d], stmt->dims[p])) {
            return false;
        }
    }
    for (int c = 0; c < stmt->n_cons; c++) {
        n_pins += mentions(stmt->cons[c], stmt->dims[p]);
    }
    return n_pins == 2;
}

static void drop_pins(ctune_stmt *stmt, int dim, ctune_arena *arena) {
    const ctune_aff **cons = CTUNE_NEW_ARRAY(arena, const ctune_aff *, stmt->n_cons + 1);
    int n = 0;
    for (int c = 0; cons != NULL && c < stmt->n_cons; c++) {
        if (!mentions(stmt->cons[c], dim)) {
            cons[n++] = stmt->cons[c];
        }
    }
    stmt->n_cons = n;
    stmt->cons = cons;
}

/* Take the statement out of dim position p, with copies of the loops inside. */
static void leave_loop(move *m, int p) {
    ctune_tree_builder *b = m->b;
    ctune_stmt *stmt = &b->stmts[m->stmt];
    const ctune_aff **map = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, CTUNE_MAX_DIMS);
    m->dim = stmt->dims[p];
    m->n_inner = stmt->n_dims - p - 1;
    drop_pins(stmt, m->dim, b->arena);
    for (int q = 0; map != NULL && q < stmt->n_dims; q++) {
        int dim = stmt->dims[q], to = q > p ? ctune_tree_builder_dim(b, b->dims[dim].name) : dim;
        map[dim] = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, to, 1);
        if (q > p) {
            m->inner[q - p - 1] = to;
            stmt->dims[q - 1] = to;
        }
    }
    stmt->n_dims--;
    for (int d = 0; map != NULL && d < b->region->stages[stmt->stage].n_axes; d++) {
        stmt->iter[d] = ctune_aff_map(b->arena, stmt->iter[d], map);
    }
    stmt->cons = map != NULL ? ctune_affs_map(b->arena, stmt->n_cons, stmt->cons, map) : NULL;
}

/* The statement in its copied loops. */
static const ctune_tnode *moved_node(const move *m) {
    const ctune_tnode *node = ctune_tree_builder_stmt(m->b, m->stmt);
    for (int q = m->n_inner - 1; q >= 0; q--) {
        ctune_tnodes *one = CTUNE_NEW(m->b->arena, ctune_tnodes);
        if (one == NULL) {
            return NULL;
        }
        ctune_tnodes_append(one, node);
        node = ctune_tree_builder_loop(m->b, m->inner[q], one);
    }
    return node;
}

static void copy_moved(const move *m, const ctune_tnode *node, ctune_tnodes *out) {
    if (node->kind == CTUNE_TNODE_STMT) {
        ctune_tnodes_append(out, node->stmt != m->stmt ? ctune_tree_builder_stmt(m->b, node->stmt)
                                                       : NULL);
        return;
    }
    bool is_place = node->dim == m->dim;
    ctune_tnodes *kids = CTUNE_NEW(m->b->arena, ctune_tnodes);
    for (int k = 0; kids != NULL && k < node->n_kids; k++) {
        copy_moved(m, node->kids[k], kids);
    }
    if (is_place && !m->is_after) {
        ctune_tnodes_append(out, moved_node(m));
    }
    if (kids != NULL && kids->n > 0) {
        ctune_tnodes_append(out, ctune_tree_builder_loop(m->b, node->dim, kids));
    }
    if (is_place && m->is_after) {
        ctune_tnodes_append(out, moved_node(m));
    }
}

/* *out: the tree after the move out of dim position p, NULL when it is not legal. */
static ctune_status try_move(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree,
                             int stmt, int p, bool is_after, ctune_tree **out) {
    ctune_tree_builder b;
    ctune_status status = ctune_tree_builder_init_from(ctx, &b, deps->region, tree);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_tnodes *kids = CTUNE_NEW(b.arena, ctune_tnodes);
    if (kids == NULL) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while moving a statement");
    }
    move m = {.b = &b, .stmt = stmt, .is_after = is_after};
    leave_loop(&m, p);
    for (int k = 0; k < tree->root->n_kids; k++) {
        copy_moved(&m, tree->root->kids[k], kids);
    }
    ctune_tree_builder_drop_dims(&b, kids);
    ctune_tree *result;
    status = ctune_tree_builder_finish(ctx, &b, kids, &result);
    if (status == CTUNE_OK) {
        status = ctune_tree_accept(ctx, deps, result, out);
    }
    return status == CTUNE_EREFUSED ? CTUNE_OK : status;
}

/* The first move of this statement that is legal, innermost loop first. */
static ctune_status find_move(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree,
                              int i_stmt, ctune_tree **out) {
    const ctune_stmt *stmt = &tree->stmts[i_stmt];
    *out = NULL;
    for (int p = stmt->n_dims - 1; p >= 0; p--) {
        bool can_move = is_pinned(deps->region, stmt, p);
        for (int after = 0; can_move && after < 2 && *out == NULL; after++) {
            ctune_status status = try_move(ctx, deps, tree, i_stmt, p, after, out);
            if (status != CTUNE_OK) {
                return status;
            }
        }
        if (*out != NULL) {
            break;
        }
    }
    return CTUNE_OK;
}

ctune_status ctune_tree_unpin(ctune_ctx *ctx, const ctune_deps *deps, ctune_tree **tree) {
    for (int s = 0; s < (*tree)->n_stmts;) {
        ctune_tree *moved;
        ctune_status status = find_move(ctx, deps, *tree, s, &moved);
        if (status != CTUNE_OK) {
            return status;
        }
        if (moved != NULL) {
            ctune_tree_destroy(*tree);
            *tree = moved;
        }
        s = moved != NULL ? 0 : s + 1;
    }
    return CTUNE_OK;
}

/*
 * Move pinned statements out of their innermost loop: a clean-up after isl's scheduler.
 *
 * In: a legal tree in which some statements run at one value of their innermost loop only (`when k == j`).
 * Out: the same tree with such a statement before or after that loop where the dependences allow it. A
 * guard in an innermost loop costs every iteration and stops vectors; an imperfect nest costs nothing. Legality is asked of
 * ctune_deps_walk for each move, so the rule here is only a guess of what may help.
 */
#include "search/deps/deps_private.h"

#include <string.h>

typedef struct move {
    ctune_build *b;
    int stmt;
    int dim;      /* the loop to leave */
    bool is_after;
} move;

static bool mentions(const ctune_aff *aff, int dim) {
    return ctune_aff_coef(aff, CTUNE_TERM_AXIS, dim) != 0;
}

/* Is the innermost dim of the statement free of its axes? Then only the pins speak of it. */
static bool is_pinned(const ctune_region *region, const ctune_stmt *stmt) {
    if (stmt->n_dims == 0) {
        return false;
    }
    int dim = stmt->dims[stmt->n_dims - 1], n_pins = 0;
    for (int d = 0; d < region->stages[stmt->stage].n_axes; d++) {
        if (mentions(stmt->iter[d], dim)) {
            return false;
        }
    }
    for (int c = 0; c < stmt->n_cons; c++) {
        n_pins += mentions(stmt->cons[c], dim);
    }
    return n_pins == 2;
}

static void leave_dim(ctune_stmt *stmt, int dim, ctune_arena *arena) {
    const ctune_aff **cons = CTUNE_NEW_ARRAY(arena, const ctune_aff *, stmt->n_cons + 1);
    int n = 0;
    for (int c = 0; cons != NULL && c < stmt->n_cons; c++) {
        if (!mentions(stmt->cons[c], dim)) {
            cons[n++] = stmt->cons[c];
        }
    }
    stmt->n_dims--;
    stmt->n_cons = n;
    stmt->cons = cons;
}

static bool is_used(const ctune_build *b, int dim) {
    for (int s = 0; s < b->n_stmts; s++) {
        for (int d = 0; d < b->stmts[s].n_dims; d++) {
            if (b->stmts[s].dims[d] == dim) {
                return true;
            }
        }
    }
    return false;
}

static void copy_moved(const move *m, const ctune_tnode *node, ctune_tnodes *out) {
    if (node->kind == CTUNE_TNODE_STMT) {
        ctune_tnodes_append(out, node->stmt != m->stmt ? ctune_build_stmt(m->b, node->stmt) : NULL);
        return;
    }
    bool is_place = node->dim == m->dim;
    ctune_tnodes *kids = CTUNE_NEW(m->b->arena, ctune_tnodes);
    for (int k = 0; kids != NULL && k < node->n_kids; k++) {
        copy_moved(m, node->kids[k], kids);
    }
    if (is_place && !m->is_after) {
        ctune_tnodes_append(out, ctune_build_stmt(m->b, m->stmt));
    }
    if (kids != NULL && kids->n > 0) {
        ctune_tnodes_append(out, ctune_build_loop(m->b, node->dim, kids));
    }
    if (is_place && m->is_after) {
        ctune_tnodes_append(out, ctune_build_stmt(m->b, m->stmt));
    }
}

/* *out: the tree after the move, NULL when it is not legal. */
static ctune_status try_move(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree, int stmt,
                             bool is_after, ctune_tree **out) {
    ctune_build b;
    ctune_status status = ctune_build_init_from(ctx, &b, deps->region, tree);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_tnodes *kids = CTUNE_NEW(b.arena, ctune_tnodes);
    if (kids == NULL) {
        ctune_build_clear(&b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while moving a statement");
    }
    ctune_stmt *moved = &b.stmts[stmt];
    move m = {&b, stmt, moved->dims[moved->n_dims - 1], is_after};
    leave_dim(moved, m.dim, b.arena);
    for (int k = 0; k < tree->root->n_kids; k++) {
        copy_moved(&m, tree->root->kids[k], kids);
    }
    if (!is_used(&b, m.dim)) {
        ctune_build_drop_dims(&b, kids);
    }
    ctune_tree *result;
    status = ctune_build_finish(ctx, &b, kids, &result);
    if (status == CTUNE_OK) {
        status = ctune_tree_accept(ctx, deps, result, out);
    }
    return status == CTUNE_EREFUSED ? CTUNE_OK : status;
}

ctune_status ctune_tree_unpin(ctune_ctx *ctx, const ctune_deps *deps, ctune_tree **tree) {
    bool is_changed = true;
    while (is_changed) {
        is_changed = false;
        for (int s = 0; s < (*tree)->n_stmts && !is_changed; s++) {
            ctune_tree *moved = NULL;
            for (int after = 0; after < 2 && moved == NULL; after++) {
                if (!is_pinned(deps->region, &(*tree)->stmts[s])) {
                    break;
                }
                ctune_status status = try_move(ctx, deps, *tree, s, after, &moved);
                if (status != CTUNE_OK) {
                    return status;
                }
            }
            if (moved != NULL) {
                ctune_tree_destroy(*tree);
                *tree = moved;
                is_changed = true;
            }
        }
    }
    return CTUNE_OK;
}

/*
 * Structure of tiles, as loops of the tree: ctune_tree_block and ctune_tree_sink of deps.h.
 *
 * A block loop x stands for the number of a tile of f values of a sum of loops, f x <= sum <= f x +
 * f - 1, which become constraints of the statements below. Unlike the tile loops of a nest it is a
 * dim like any other: domains can be split against it and statements distributed inside it, which
 * is how the part of a reduction whose operands are final leaves its tile. Sinking moves a loop
 * inside all others around each of its statements, so that rows of a triangular solve run in lanes.
 * Whether the new order is legal is left to ctune_tree_hand_over.
 */
#include "search/deps/deps_private.h"

#include <string.h>

static const ctune_tnode *find_loop(const ctune_tnode *node, int dim) {
    if (node->kind == CTUNE_TNODE_LOOP && node->dim == dim) {
        return node;
    }
    for (int k = 0; k < node->n_kids; k++) {
        const ctune_tnode *found = find_loop(node->kids[k], dim);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static ctune_status finish(ctune_ctx *ctx, ctune_deps *deps, ctune_tree_builder *b,
                           const ctune_tnodes *kids, ctune_tree **out) {
    ctune_tree *result;
    ctune_status status = ctune_tree_builder_finish(ctx, b, kids, &result);
    return status == CTUNE_OK ? ctune_tree_hand_over(ctx, deps, result, out) : status;
}

/* ---- block ----------------------------------------------------------------------------------- */

typedef struct blocker {
    ctune_tree_builder *b;
    const ctune_block *block;
    int dim; /* the new one */
} blocker;

static int position_of(const ctune_stmt *stmt, int dim) {
    int p = 0;
    while (p < stmt->n_dims && stmt->dims[p] != dim) {
        p++;
    }
    return p;
}

/* What the block adds up for this statement; a statement in no loop of the sum counts with the loop
 * around which the block stands. */
static const ctune_aff *sum_of(const blocker *k, const ctune_stmt *stmt) {
    ctune_arena *a = k->b->arena;
    const ctune_aff *sum = ctune_aff_const(a, 0);
    bool is_inside = false;
    for (int t = 0; t < k->block->n; t++) {
        if (position_of(stmt, k->block->dim[t]) < stmt->n_dims) {
            is_inside = true;
            sum = ctune_aff_add(
                a, sum, ctune_aff_term(a, CTUNE_TERM_AXIS, k->block->dim[t], k->block->coef[t]));
        }
    }
    return is_inside ? sum : ctune_aff_term(a, CTUNE_TERM_AXIS, k->block->at, 1);
}

static void block_stmt(const blocker *k, ctune_stmt *stmt) {
    ctune_arena *a = k->b->arena;
    const ctune_aff **cons = CTUNE_NEW_ARRAY(a, const ctune_aff *, stmt->n_cons + 2);
    const ctune_aff *sum = sum_of(k, stmt);
    if (stmt->n_dims == CTUNE_MAX_DEPTH) {
        k->b->too_large = true;
        return;
    }
    for (int c = 0; cons != NULL && c < stmt->n_cons; c++) {
        cons[c] = stmt->cons[c];
    }
    if (cons != NULL) {
        const ctune_aff *x = ctune_aff_term(a, CTUNE_TERM_AXIS, k->dim, k->block->factor);
        const ctune_aff *offset = ctune_aff_sub(a, sum, x);
        cons[stmt->n_cons++] = offset;
        cons[stmt->n_cons++] =
            ctune_aff_add_const(a, ctune_aff_scale(a, offset, -1), k->block->factor - 1);
    }
    stmt->cons = cons;
    stmt->is_piece = true;
    int at = position_of(stmt, k->block->at);
    memmove(&stmt->dims[at + 1], &stmt->dims[at], (size_t)(stmt->n_dims - at) * sizeof(int));
    stmt->dims[at] = k->dim;
    stmt->n_dims++;
}

static const ctune_tnode *block_node(const blocker *k, const ctune_tnode *node) {
    if (node->kind == CTUNE_TNODE_STMT) {
        return ctune_tree_builder_stmt(k->b, node->stmt);
    }
    const ctune_tnode *loop = ctune_tree_builder_copy(k->b, node);
    ctune_tnodes *kids = CTUNE_NEW(k->b->arena, ctune_tnodes);
    if (loop == NULL || kids == NULL) {
        return NULL;
    }
    if (node->dim == k->block->at) {
        ctune_tnodes_append(kids, loop);
        return ctune_tree_builder_loop(k->b, k->dim, kids);
    }
    for (int i = 0; i < node->n_kids; i++) {
        ctune_tnodes_append(kids, block_node(k, node->kids[i]));
    }
    return ctune_tree_builder_loop(k->b, node->dim, kids);
}

ctune_status ctune_tree_block(ctune_ctx *ctx, ctune_deps *deps, const ctune_tree *tree,
                              const ctune_block *block, ctune_tree **out) {
    *out = NULL;
    const ctune_tnode *at = find_loop(tree->root, block->at);
    if (at == NULL) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "block: no such loop");
    }
    ctune_tree_builder b;
    ctune_tnodes *kids;
    ctune_status status = ctune_tree_copy_begin(ctx, deps, tree, &b, &kids);
    if (status != CTUNE_OK) {
        return status;
    }
    blocker k = {&b, block, ctune_tree_builder_dim(&b, block->name)};
    uint64_t stmts = ctune_tnode_stmts(at);
    for (int s = 0; s < b.n_stmts && k.dim >= 0; s++) {
        if (stmts >> s & 1) {
            block_stmt(&k, &b.stmts[s]);
        }
    }
    for (int i = 0; i < tree->root->n_kids && k.dim >= 0; i++) {
        ctune_tnodes_append(kids, block_node(&k, tree->root->kids[i]));
    }
    return finish(ctx, deps, &b, kids, out);
}

/* ---- sink ------------------------------------------------------------------------------------ */

typedef struct sinker {
    ctune_tree_builder *b;
    int dim;
    bool is_used; /* the dim itself stands around a statement */
} sinker;

/* The loop goes to the innermost place around the statement, as a dim of its own. */
static int sink_stmt(sinker *k, ctune_stmt *stmt) {
    ctune_tree_builder *b = k->b;
    int at = position_of(stmt, k->dim);
    int dim = k->is_used ? ctune_tree_builder_dim(b, b->dims[k->dim].name) : k->dim;
    k->is_used = true;
    memmove(&stmt->dims[at], &stmt->dims[at + 1], (size_t)(stmt->n_dims - 1 - at) * sizeof(int));
    stmt->dims[stmt->n_dims - 1] = dim;
    const ctune_aff **map = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, CTUNE_MAX_DIMS);
    for (int d = 0; map != NULL && dim >= 0 && d < stmt->n_dims; d++) {
        map[stmt->dims[d]] = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, stmt->dims[d], 1);
    }
    if (map == NULL || dim < 0) {
        return dim;
    }
    map[k->dim] = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, dim, 1);
    for (int a = 0; a < b->region->stages[stmt->stage].n_axes; a++) {
        stmt->iter[a] = ctune_aff_map(b->arena, stmt->iter[a], map);
    }
    stmt->cons = ctune_affs_map(b->arena, stmt->n_cons, stmt->cons, map);
    return dim;
}

static const ctune_tnode *sink_leaf(sinker *k, const ctune_tnode *node) {
    ctune_tnodes *kids = CTUNE_NEW(k->b->arena, ctune_tnodes);
    int dim = sink_stmt(k, &k->b->stmts[node->stmt]);
    if (kids == NULL || dim < 0) {
        return NULL;
    }
    ctune_tnodes_append(kids, ctune_tree_builder_stmt(k->b, node->stmt));
    return ctune_tree_builder_loop(k->b, dim, kids);
}

static void sink_below(sinker *k, const ctune_tnode *node, bool is_below, ctune_tnodes *out) {
    for (int i = 0; i < node->n_kids; i++) {
        const ctune_tnode *kid = node->kids[i];
        ctune_tnodes *kids = CTUNE_NEW(k->b->arena, ctune_tnodes);
        if (kids == NULL) {
            return;
        }
        if (kid->kind == CTUNE_TNODE_STMT) {
            ctune_tnodes_append(out, is_below ? sink_leaf(k, kid)
                                              : ctune_tree_builder_stmt(k->b, kid->stmt));
        } else if (kid->dim == k->dim) {
            sink_below(k, kid, true, out);
        } else {
            sink_below(k, kid, is_below, kids);
            ctune_tnodes_append(out, ctune_tree_builder_loop(k->b, kid->dim, kids));
        }
    }
}

ctune_status ctune_tree_sink(ctune_ctx *ctx, ctune_deps *deps, const ctune_tree *tree, int dim,
                             ctune_tree **out) {
    *out = NULL;
    const ctune_tnode *loop = find_loop(tree->root, dim);
    if (loop == NULL) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "sink: no such loop");
    }
    ctune_tree_builder b;
    ctune_tnodes *kids;
    ctune_status status = ctune_tree_copy_begin(ctx, deps, tree, &b, &kids);
    if (status != CTUNE_OK) {
        return status;
    }
    sinker k = {&b, dim, false};
    sink_below(&k, tree->root, false, kids);
    return finish(ctx, deps, &b, kids, out);
}

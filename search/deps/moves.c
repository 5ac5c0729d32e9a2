/*
 * Fusion and interchange of a tree's loops: ctune_tree_fuse and ctune_tree_permute of deps.h.
 *
 * Both only move loops; whether the new order is legal is left to ctune_tree_hand_over, which knows
 * all dependences.
 */
#include "search/deps/deps_private.h"

#include <string.h>

ctune_status ctune_tree_copy_begin(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree,
                                   ctune_tree_builder *b, ctune_tnodes **kids) {
    ctune_status status = ctune_tree_builder_init_from(ctx, b, deps->region, tree);
    if (status != CTUNE_OK) {
        return status;
    }
    *kids = CTUNE_NEW(b->arena, ctune_tnodes);
    if (*kids == NULL) {
        ctune_tree_builder_clear(b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while moving loops");
    }
    return CTUNE_OK;
}

/* ---- fuse ------------------------------------------------------------------------------------ */

typedef struct fusion {
    ctune_tree_builder *b;
    int s0, s1;
    int depth;
    const char *why; /* not NULL: not applicable */
} fusion;

/* Put `dim` in place of loop `old` around all statements below node. */
static void rename_dim(ctune_tree_builder *b, const ctune_tnode *node, int old, int dim) {
    uint64_t mask = ctune_tnode_stmts(node);
    for (int s = 0; s < b->n_stmts; s++) {
        for (int d = 0; (mask >> s & 1) && d < b->stmts[s].n_dims; d++) {
            if (b->stmts[s].dims[d] == old) {
                b->stmts[s].dims[d] = dim;
            }
        }
    }
}

static const ctune_tnode *merge_loops(fusion *f, const ctune_tnode *a, const ctune_tnode *b,
                                      int depth) {
    ctune_tnodes *kids = CTUNE_NEW(f->b->arena, ctune_tnodes);
    if (a->kind != CTUNE_TNODE_LOOP || b->kind != CTUNE_TNODE_LOOP) {
        f->why = "a statement stands where a loop should be fused";
        return NULL;
    }
    if (kids == NULL) {
        return NULL;
    }
    rename_dim(f->b, b, b->dim, a->dim);
    bool is_deeper = depth > 1;
    for (int k = 0; k < a->n_kids - is_deeper; k++) {
        ctune_tnodes_append(kids, ctune_tree_builder_copy(f->b, a->kids[k]));
    }
    if (is_deeper) {
        const ctune_tnode *last = a->kids[a->n_kids - 1], *first = b->kids[0];
        if (!ctune_tnode_has_stmt(last, f->s0) || !ctune_tnode_has_stmt(first, f->s1)) {
            f->why = "the inner loops are not neighbours";
            return NULL;
        }
        ctune_tnodes_append(kids, merge_loops(f, last, first, depth - 1));
    }
    for (int k = is_deeper; k < b->n_kids; k++) {
        ctune_tnodes_append(kids, ctune_tree_builder_copy(f->b, b->kids[k]));
    }
    return ctune_tree_builder_loop(f->b, a->dim, kids);
}

static int find_kid(const ctune_tnode *node, int stmt) {
    int k = 0;
    while (k < node->n_kids && !ctune_tnode_has_stmt(node->kids[k], stmt)) {
        k++;
    }
    return k;
}

static void fuse_below(fusion *f, const ctune_tnode *node, ctune_tnodes *out) {
    int k0 = find_kid(node, f->s0), k1 = find_kid(node, f->s1);
    for (int k = 0; k < node->n_kids; k++) {
        const ctune_tnode *kid = node->kids[k];
        if (k0 != k1 && k == k0) {
            f->why = k1 == k0 + 1 ? f->why : "the two nests are not neighbours in this order";
            ctune_tnodes_append(out, f->why == NULL ? merge_loops(f, kid, node->kids[k1], f->depth)
                                                    : NULL);
        } else if (k0 == k1 && k == k0 && kid->kind == CTUNE_TNODE_LOOP) {
            ctune_tnodes *kids = CTUNE_NEW(f->b->arena, ctune_tnodes);
            if (kids != NULL) {
                fuse_below(f, kid, kids);
                ctune_tnodes_append(out, ctune_tree_builder_loop(f->b, kid->dim, kids));
            }
        } else if (k0 == k1 || k != k1) {
            ctune_tnodes_append(out, ctune_tree_builder_copy(f->b, kid));
        }
    }
}

ctune_status ctune_tree_fuse(ctune_ctx *ctx, ctune_deps *deps, const ctune_tree *tree, int s0,
                             int s1, int depth, ctune_tree **out) {
    *out = NULL;
    if (s0 < 0 || s1 < 0 || s0 >= tree->n_stmts || s1 >= tree->n_stmts || s0 == s1 || depth < 1) {
        return ctune_fail(ctx, CTUNE_EREFUSED,
                          "fuse: needs two statements and a depth of at least 1");
    }
    ctune_tree_builder b;
    ctune_tnodes *kids;
    ctune_status status = ctune_tree_copy_begin(ctx, deps, tree, &b, &kids);
    if (status != CTUNE_OK) {
        return status;
    }
    fusion f = {&b, s0, s1, depth, NULL};
    fuse_below(&f, tree->root, kids);
    if (f.why != NULL) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_EREFUSED, "fuse: %s", f.why);
    }
    ctune_tree_builder_rename(&b, tree);
    ctune_tree_builder_drop_dims(&b, kids);
    ctune_tree *result;
    status = ctune_tree_builder_finish(ctx, &b, kids, &result);
    return status == CTUNE_OK ? ctune_tree_hand_over(ctx, deps, result, out) : status;
}

/* ---- permute --------------------------------------------------------------------------------- */

typedef struct permutation {
    ctune_tree_builder *b;
    int n;
    const int *order;
    bool is_done;
    const char *why;
} permutation;

static bool is_in_order(const permutation *p, int dim) {
    for (int i = 0; i < p->n; i++) {
        if (p->order[i] == dim) {
            return true;
        }
    }
    return false;
}

static void reorder_stmts(const permutation *p, const ctune_tnode *top) {
    uint64_t mask = ctune_tnode_stmts(top);
    for (int s = 0; s < p->b->n_stmts; s++) {
        ctune_stmt *stmt = &p->b->stmts[s];
        int at = 0;
        while ((mask >> s & 1) && stmt->dims[at] != top->dim) {
            at++;
        }
        for (int i = 0; (mask >> s & 1) && i < p->n; i++) {
            stmt->dims[at + i] = p->order[i];
        }
    }
}

/* top: the outermost loop of the chain. The loops are relabelled from the inside out. */
static const ctune_tnode *reorder_chain(permutation *p, const ctune_tnode *top) {
    const ctune_tnode *inner = top;
    for (int i = 1; i < p->n; i++) {
        const ctune_tnode *kid = inner->kids[0];
        if (inner->n_kids != 1 || kid->kind != CTUNE_TNODE_LOOP || !is_in_order(p, kid->dim)) {
            p->why = "the loops are not one perfect nest";
            return NULL;
        }
        inner = kid;
    }
    ctune_tnodes *kids = CTUNE_NEW(p->b->arena, ctune_tnodes);
    for (int k = 0; kids != NULL && k < inner->n_kids; k++) {
        ctune_tnodes_append(kids, ctune_tree_builder_copy(p->b, inner->kids[k]));
    }
    const ctune_tnode *node = NULL;
    for (int i = p->n - 1; kids != NULL && i >= 0; i--) {
        node = ctune_tree_builder_loop(p->b, p->order[i], kids);
        kids->n = 0;
        ctune_tnodes_append(kids, node);
    }
    reorder_stmts(p, top);
    p->is_done = true;
    return node;
}

static const ctune_tnode *permute_node(permutation *p, const ctune_tnode *node) {
    if (node->kind == CTUNE_TNODE_STMT) {
        return ctune_tree_builder_stmt(p->b, node->stmt);
    }
    if (!p->is_done && p->why == NULL && is_in_order(p, node->dim)) {
        return reorder_chain(p, node);
    }
    ctune_tnodes *kids = CTUNE_NEW(p->b->arena, ctune_tnodes);
    for (int k = 0; kids != NULL && k < node->n_kids; k++) {
        ctune_tnodes_append(kids, permute_node(p, node->kids[k]));
    }
    return kids != NULL ? ctune_tree_builder_loop(p->b, node->dim, kids) : NULL;
}

static bool is_order_valid(const ctune_tree *tree, int n, const int *order) {
    bool seen[CTUNE_MAX_DIMS] = {false};
    bool valid = n >= 1 && n <= CTUNE_MAX_DEPTH;
    for (int i = 0; valid && i < n; i++) {
        valid = order[i] >= 0 && order[i] < tree->n_dims && !seen[order[i]];
        seen[valid ? order[i] : 0] = true;
    }
    return valid;
}

ctune_status ctune_tree_permute(ctune_ctx *ctx, ctune_deps *deps, const ctune_tree *tree, int n,
                                const int *order, ctune_tree **out) {
    *out = NULL;
    if (!is_order_valid(tree, n, order)) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "reorder: needs different loops of the nest");
    }
    ctune_tree_builder b;
    ctune_tnodes *kids;
    ctune_status status = ctune_tree_copy_begin(ctx, deps, tree, &b, &kids);
    if (status != CTUNE_OK) {
        return status;
    }
    permutation p = {&b, n, order, false, NULL};
    for (int k = 0; k < tree->root->n_kids; k++) {
        ctune_tnodes_append(kids, permute_node(&p, tree->root->kids[k]));
    }
    if (p.why != NULL || (!p.is_done && !ctune_arena_has_failed(b.arena))) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_EREFUSED, "reorder: %s",
                          p.why != NULL ? p.why : "no such loop");
    }
    ctune_tree *result;
    status = ctune_tree_builder_finish(ctx, &b, kids, &result);
    return status == CTUNE_OK ? ctune_tree_hand_over(ctx, deps, result, out) : status;
}

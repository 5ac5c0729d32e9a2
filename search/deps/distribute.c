/*
 * Loop distribution: ctune_tree_distribute of deps.h. (Allen and Kennedy 1987, over a tree of
 * loops.)
 *
 * Under each loop the statements that a cycle of dependences ties together (given equal outer
 * iterations) stay in one loop; the components follow one another in a topological order that stays
 * as close to the source as possible. Inside a component the dependences that this loop carries no
 * longer count, and the body is distributed likewise.
 */
#include "search/deps/deps_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct splitter {
    ctune_tree_builder *b;
    const ctune_tree *from;
    const ctune_veclist *vecs;
    int position[CTUNE_MAX_STMTS];
    bool is_used[CTUNE_MAX_DIMS]; /* dim of `from` already stands in the result */
} splitter;

/* reach[s]: statements that must follow s, by dependences with equal iterations of the first
 * `depth` loops. */
typedef struct graph {
    uint64_t edge[CTUNE_MAX_STMTS];
    uint64_t reach[CTUNE_MAX_STMTS];
} graph;

static bool is_zero_prefix(const ctune_depvec *vec, int depth) {
    bool zero = vec->n_common >= depth;
    for (int d = 0; zero && d < depth; d++) {
        zero = vec->sign[d] == CTUNE_SIGN_ZERO;
    }
    return zero;
}

static void make_graph(const splitter *sp, uint64_t mask, int depth, graph *g) {
    memset(g, 0, sizeof *g);
    for (int v = 0; v < sp->vecs->n; v++) {
        const ctune_depvec *vec = &sp->vecs->vec[v];
        bool is_inside = (mask >> vec->src & 1) && (mask >> vec->dst & 1);
        if (is_inside && is_zero_prefix(vec, depth)) {
            g->edge[vec->src] |= (uint64_t)1 << vec->dst;
        }
    }
    int n = sp->from->n_stmts;
    memcpy(g->reach, g->edge, sizeof g->reach);
    for (int via = 0; via < n; via++) {
        for (int s = 0; s < n; s++) {
            if (g->reach[s] >> via & 1) {
                g->reach[s] |= g->reach[via];
            }
        }
    }
}

static uint64_t component_of(const graph *g, uint64_t mask, int s) {
    uint64_t component = (uint64_t)1 << s;
    for (int t = 0; t < CTUNE_MAX_STMTS; t++) {
        if ((mask >> t & 1) && (g->reach[s] >> t & 1) && (g->reach[t] >> s & 1)) {
            component |= (uint64_t)1 << t;
        }
    }
    return component;
}

/* Does a statement of rest outside component have to run before it? */
static bool is_blocked(const graph *g, uint64_t rest, uint64_t component) {
    for (int t = 0; t < CTUNE_MAX_STMTS; t++) {
        if ((rest & ~component) >> t & 1 && g->edge[t] & component) {
            return true;
        }
    }
    return false;
}

/* The component to run next: free of predecessors, first in source order. */
static uint64_t next_component(const splitter *sp, const graph *g, uint64_t mask, uint64_t rest) {
    uint64_t best = 0;
    int best_position = CTUNE_MAX_STMTS;
    for (int s = 0; s < sp->from->n_stmts; s++) {
        if (!(rest >> s & 1) || sp->position[s] >= best_position) {
            continue;
        }
        uint64_t component = component_of(g, mask, s);
        if (!is_blocked(g, rest, component)) {
            best = component;
            best_position = sp->position[s];
        }
    }
    return best;
}

static void split_node(splitter *sp, const ctune_tnode *node, uint64_t mask, int depth,
                       ctune_tnodes *out);

static int dim_for(splitter *sp, int dim) {
    if (!sp->is_used[dim]) {
        sp->is_used[dim] = true;
        return dim;
    }
    return ctune_tree_builder_dim(sp->b, sp->from->dims[dim].name);
}

static void emit_component(splitter *sp, const ctune_tnode *loop, uint64_t component, int depth,
                           ctune_tnodes *out) {
    int dim = dim_for(sp, loop->dim);
    ctune_tnodes *kids = CTUNE_NEW(sp->b->arena, ctune_tnodes);
    if (dim < 0 || kids == NULL) {
        return;
    }
    for (int s = 0; s < sp->from->n_stmts; s++) {
        if (component >> s & 1) {
            sp->b->stmts[s].dims[depth] = dim;
        }
    }
    for (int k = 0; k < loop->n_kids; k++) {
        split_node(sp, loop->kids[k], component, depth + 1, kids);
    }
    ctune_tnodes_append(out, ctune_tree_builder_loop(sp->b, dim, kids));
}

static void split_loop(splitter *sp, const ctune_tnode *loop, uint64_t mask, int depth,
                       ctune_tnodes *out) {
    graph g;
    make_graph(sp, mask, depth, &g);
    for (uint64_t rest = mask; rest != 0;) {
        uint64_t component = next_component(sp, &g, mask, rest);
        if (component == 0) {
            return; /* cannot happen: components of a graph are never all blocked */
        }
        emit_component(sp, loop, component, depth, out);
        rest &= ~component;
    }
}

static void split_node(splitter *sp, const ctune_tnode *node, uint64_t mask, int depth,
                       ctune_tnodes *out) {
    mask &= ctune_tnode_stmts(node);
    if (mask == 0) {
        return;
    }
    if (node->kind == CTUNE_TNODE_LOOP) {
        split_loop(sp, node, mask, depth, out);
    } else if (node->kind == CTUNE_TNODE_STMT) {
        ctune_tnodes_append(out, ctune_tree_builder_stmt(sp->b, node->stmt));
    } else {
        for (int k = 0; k < node->n_kids; k++) {
            split_node(sp, node->kids[k], mask, depth, out);
        }
    }
}

static ctune_status distribute(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree,
                               const ctune_veclist *vecs, ctune_tree **out) {
    ctune_tree_builder b;
    ctune_status status = ctune_tree_builder_init_from(ctx, &b, deps->region, tree);
    if (status != CTUNE_OK) {
        return status;
    }
    splitter sp = {.b = &b, .from = tree, .vecs = vecs};
    ctune_tree_positions(tree, sp.position);
    ctune_tnodes *kids = CTUNE_NEW(b.arena, ctune_tnodes);
    if (kids == NULL) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while distributing loops");
    }
    split_node(&sp, tree->root, ~(uint64_t)0, 0, kids);
    ctune_tree_builder_rename(&b, tree);
    ctune_tree *result;
    status = ctune_tree_builder_finish(ctx, &b, kids, &result);
    return status == CTUNE_OK ? ctune_tree_hand_over(ctx, deps, result, out) : status;
}

ctune_status ctune_tree_distribute(ctune_ctx *ctx, ctune_deps *deps, const ctune_tree *tree,
                                   ctune_tree **out) {
    *out = NULL;
    ctune_veclist vecs = {0};
    bool legal;
    ctune_status status = ctune_deps_walk(ctx, deps, tree, &legal, &vecs);
    if (status == CTUNE_OK) {
        status = legal ? distribute(ctx, deps, tree, &vecs, out) : CTUNE_EREFUSED;
    }
    ctune_veclist_clear(&vecs);
    return status;
}

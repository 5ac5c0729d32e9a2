/*
 * Loop and memory primitives on node indices (nest_ops.h): the structural conditions of each and
 * its effect.
 *
 * Whether the order that results respects the dependences is asked once for the final nest
 * (check.c), not here.
 */
#include "search/schedule/nest_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/schedule/program.h"

static bool is_loop(const ctune_nest *nest, int node) {
    return nest->node[node].kind == CTUNE_NN_LOOP;
}

static int only_child(const ctune_nest *nest, int node) {
    int kid = nest->node[node].first;
    return kid >= 0 && nest->node[kid].next < 0 ? kid : -1;
}

/* The body of loop `from` is now that of `to`: what was placed there comes along. */
static void move_places(ctune_nest *nest, int from, int to) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].placed == from) {
            nest->node[i].placed = (int16_t)to;
        }
    }
}

const char *ctune_nest_split(ctune_nest *nest, int node, int64_t factor, const char *outer_name,
                             const char *inner_name, int *inner) {
    ctune_nnode *loop = &nest->node[node];
    int64_t step;
    if (loop->ann != CTUNE_ANN_SERIAL) {
        return "the loop is annotated already";
    }
    if (nest->n_nodes == CTUNE_NEST_NODES) {
        return "too many loops";
    }
    if (factor < 2 || factor > CTUNE_MAX_FACTOR ||
        __builtin_mul_overflow(loop->step, factor, &step)) {
        return "the factor must lie in 2 .. 2^30";
    }
    if (ctune_sum_is_wave(ctune_nest_sum(nest, node)) || ctune_nest_is_aligned(nest, node)) {
        return "a loop of a wavefront cannot be split";
    }
    if (loop->outer >= 0 && step >= nest->node[loop->outer].step) {
        return "the tile must be smaller than the enclosing tile";
    }
    int index = nest->n_nodes++;
    ctune_nnode *below = &nest->node[index];
    for (int i = 1; i < index; i++) {
        if (nest->node[i].outer == node) {
            nest->node[i].outer = (int16_t)index;
        }
    }
    for (int kid = loop->first; kid >= 0; kid = nest->node[kid].next) {
        nest->node[kid].parent = (int16_t)index;
    }
    *below = *loop;
    below->parent = (int16_t)node;
    below->next = -1;
    below->outer = (int16_t)node;
    loop->first = (int16_t)index;
    loop->step = step;
    snprintf(loop->name, sizeof loop->name, "%s", outer_name);
    snprintf(below->name, sizeof below->name, "%s", inner_name);
    move_places(nest, node, index);
    *inner = index;
    return NULL;
}

/* Loops from the outermost to the innermost of nodes[]; n_chain = 0 when they are not one chain. */
static int collect_chain(const ctune_nest *nest, const int *nodes, int n, int *chain) {
    int depth_of[CTUNE_NEST_NODES] = {0};
    int deepest = nodes[0], top = nodes[0];
    for (int i = 0; i < n; i++) {
        for (int up = nodes[i]; up > 0; up = nest->node[up].parent) {
            depth_of[nodes[i]]++;
        }
        deepest = depth_of[nodes[i]] > depth_of[deepest] ? nodes[i] : deepest;
        top = depth_of[nodes[i]] < depth_of[top] ? nodes[i] : top;
    }
    int n_chain = depth_of[deepest] - depth_of[top] + 1;
    int node = deepest;
    for (int k = n_chain - 1; k >= 0; k--, node = nest->node[node].parent) {
        if (k < n_chain - 1 && only_child(nest, node) < 0) {
            return 0;
        }
        chain[k] = node;
    }
    return chain[0] == top ? n_chain : 0;
}

/* Is `node` one of the loops that `wave` adds up? */
static bool is_in_wave(const ctune_nest *nest, int wave, int node) {
    const ctune_sum *sum = ctune_nest_sum(nest, wave);
    for (int t = 0; ctune_sum_is_wave(sum) && t < sum->n; t++) {
        if (sum->term[t].of == node) {
            return true;
        }
    }
    return false;
}

static bool levels_in_order(const ctune_nest *nest, const int *chain, int n) {
    for (int i = 0; i < n; i++) {
        for (int k = i + 1; k < n; k++) {
            const ctune_nnode *outer = &nest->node[chain[i]], *inner = &nest->node[chain[k]];
            if ((outer->dim == inner->dim && outer->sum == inner->sum &&
                 outer->step < inner->step) ||
                is_in_wave(nest, chain[k], chain[i])) {
                return false;
            }
        }
    }
    return true;
}

/* Link chain[] as single-child loops between what is around old_top and what is inside old_bottom.
 */
static void relink(ctune_nest *nest, const int *chain, int n, int old_top, int old_bottom) {
    int parent = nest->node[old_top].parent, next = nest->node[old_top].next;
    int body = nest->node[old_bottom].first;
    int16_t *from = &nest->node[parent].first;
    while (*from != old_top) {
        from = &nest->node[*from].next;
    }
    *from = (int16_t)chain[0];
    for (int i = 0; i < n; i++) {
        ctune_nnode *loop = &nest->node[chain[i]];
        loop->parent = (int16_t)(i == 0 ? parent : chain[i - 1]);
        loop->next = (int16_t)(i == 0 ? next : -1);
        loop->first = (int16_t)(i == n - 1 ? body : chain[i + 1]);
    }
    for (int kid = body; kid >= 0; kid = nest->node[kid].next) {
        nest->node[kid].parent = (int16_t)chain[n - 1];
    }
    move_places(nest, old_bottom, chain[n - 1]);
}

const char *ctune_nest_reorder(ctune_nest *nest, const int *nodes, int n) {
    int chain[CTUNE_NEST_NODES], wanted[CTUNE_NEST_NODES];
    bool named[CTUNE_NEST_NODES] = {false};
    for (int i = 0; i < n; i++) {
        if (named[nodes[i]]) {
            return "a loop is named twice";
        }
        named[nodes[i]] = true;
    }
    int n_chain = collect_chain(nest, nodes, n, chain);
    int i_name = 0;
    for (int k = 0; k < n_chain; k++) {
        wanted[k] = named[chain[k]] && i_name < n ? nodes[i_name++] : chain[k];
    }
    if (n_chain == 0 || i_name != n) {
        return "the loops do not form one perfect nest";
    }
    if (!levels_in_order(nest, wanted, n_chain)) {
        return "the loop over tiles must stay outside the loop inside them";
    }
    relink(nest, wanted, n_chain, chain[0], chain[n_chain - 1]);
    return NULL;
}

static bool has_ann_around(const ctune_nest *nest, int node, ctune_ann ann) {
    for (int up = nest->node[node].parent; up > 0; up = nest->node[up].parent) {
        if (nest->node[up].ann == ann) {
            return true;
        }
    }
    return false;
}

static bool has_ann_inside(const ctune_nest *nest, int node, ctune_ann ann) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (i != node && is_loop(nest, i) && nest->node[i].ann == ann &&
            ctune_nest_is_ancestor(nest, node, i)) {
            return true;
        }
    }
    return false;
}

/* Blocks of a GPU outside, threads inside, each axis once on a path. */
static const char *check_bind(const ctune_nest *nest, int node, ctune_ann ann) {
    if (nest->node[node].sum >= 0) {
        return "a loop over a sum cannot be bound";
    }
    if (has_ann_around(nest, node, ann) || has_ann_inside(nest, node, ann)) {
        return "another loop around or inside it is bound to the same axis";
    }
    for (int axis = 0; axis < 3 && ctune_ann_is_block(ann); axis++) {
        if (has_ann_around(nest, node, CTUNE_ANN_THREAD_X + axis)) {
            return "blocks must stand outside threads";
        }
    }
    for (int axis = 0; axis < 3 && ctune_ann_is_thread(ann); axis++) {
        if (has_ann_inside(nest, node, CTUNE_ANN_BLOCK_X + axis)) {
            return "blocks must stand outside threads";
        }
    }
    int64_t trip = ctune_nest_trip(nest, node);
    if (ctune_ann_is_thread(ann) && (trip == 0 || trip > CTUNE_MAX_BLOCK_THREADS)) {
        return "only a constant number of up to 1024 iterations can be threads: split first";
    }
    return NULL;
}

/* Does a wave around both loops leave the inner one a single iteration for each of the outer's? */
static bool is_fixed_by_wave(const ctune_nest *nest, int outer, int inner) {
    for (int up = nest->node[outer].parent; up > 0; up = nest->node[up].parent) {
        const ctune_sum *sum = ctune_nest_sum(nest, up);
        bool has_outer = false, has_inner = false;
        for (int t = 0; ctune_sum_is_wave(sum) && sum->n == 2 && t < 2; t++) {
            has_outer = has_outer || sum->term[t].of == outer;
            has_inner = has_inner || (sum->term[t].of == inner && abs(sum->term[t].coef) == 1);
        }
        if (has_outer && has_inner) {
            return nest->node[inner].step == 1;
        }
    }
    return false;
}

/* Is there a loop below `node` that has several iterations for one of loop `top`'s? */
static bool has_loop(const ctune_nest *nest, int top, int node) {
    for (int kid = nest->node[node].first; kid >= 0; kid = nest->node[kid].next) {
        bool is_loop = nest->node[kid].kind == CTUNE_NN_LOOP && !is_fixed_by_wave(nest, top, kid);
        if (is_loop || has_loop(nest, top, kid)) {
            return true;
        }
    }
    return false;
}

const char *ctune_nest_annotate(ctune_nest *nest, int node, ctune_ann ann) {
    ctune_nnode *loop = &nest->node[node];
    if (loop->ann != CTUNE_ANN_SERIAL) {
        return "the loop is annotated already";
    }
    if (ctune_ann_is_bound(ann)) {
        const char *wrong = check_bind(nest, node, ann);
        if (wrong != NULL) {
            return wrong;
        }
    }
    if (ann == CTUNE_ANN_UNROLL) {
        int64_t trip = ctune_nest_trip(nest, node);
        if (trip == 0 || trip > CTUNE_MAX_UNROLL) {
            return "only a constant number of up to 64 iterations can be unrolled: split first";
        }
    }
    if (ann == CTUNE_ANN_VECTOR) {
        if (loop->sum >= 0 || loop->outer < 0 || loop->step != 1) {
            return "only the inner loop of a split can be vectorized";
        }
        if (nest->node[loop->outer].step > CTUNE_NEST_LANES) {
            return "more than 1024 lanes";
        }
    }
    if (ann == CTUNE_ANN_SLIDE &&
        (loop->sum >= 0 || loop->step != 1 || has_loop(nest, node, node))) {
        return "only an innermost loop can slide";
    }
    if (ann == CTUNE_ANN_PARALLEL &&
        (has_ann_around(nest, node, ann) || has_ann_inside(nest, node, ann))) {
        return "another loop of the nest is parallel";
    }
    for (int lanes = 0; lanes < 2 && (ann == CTUNE_ANN_VECTOR || ann == CTUNE_ANN_SLIDE); lanes++) {
        ctune_ann other = lanes == 0 ? CTUNE_ANN_VECTOR : CTUNE_ANN_SLIDE;
        if (has_ann_around(nest, node, other) || has_ann_inside(nest, node, other)) {
            return "another loop of the nest is vectorized";
        }
    }
    loop->ann = ann;
    return NULL;
}

/* Do the bounds of dim b depend on dim a in some statement? */
static bool is_bound_to(const ctune_tree *tree, int a, int b) {
    for (int s = 0; s < tree->n_stmts; s++) {
        for (int c = 0; c < tree->stmts[s].n_cons; c++) {
            const ctune_aff *aff = tree->stmts[s].cons[c];
            if (ctune_aff_coef(aff, CTUNE_TERM_AXIS, a) != 0 &&
                ctune_aff_coef(aff, CTUNE_TERM_AXIS, b) != 0) {
                return true;
            }
        }
    }
    return false;
}

const char *ctune_nest_collapse(ctune_nest *nest, int outer, int inner) {
    if (nest->node[outer].ann != CTUNE_ANN_PARALLEL) {
        return "the outer loop is not parallel";
    }
    if (only_child(nest, outer) != inner || nest->node[inner].ann != CTUNE_ANN_SERIAL) {
        return "the second loop is not the only, serial, child of the first";
    }
    if (nest->node[outer].sum >= 0 || nest->node[inner].sum >= 0) {
        return "a loop over a sum cannot be collapsed";
    }
    if (nest->node[outer].dim == nest->node[inner].dim ||
        is_bound_to(nest->form->tree, nest->node[outer].dim, nest->node[inner].dim)) {
        return "the bounds of the second loop depend on the first";
    }
    if (has_ann_inside(nest, inner, CTUNE_ANN_PARALLEL)) {
        return "another loop of the nest is parallel";
    }
    nest->node[inner].ann = CTUNE_ANN_PARALLEL;
    return NULL;
}

const char *ctune_nest_cache(ctune_nest *nest, ctune_cache_kind kind, int stmt, int read, int at) {
    const ctune_stage *stage = &nest->region->stages[nest->form->tree->stmts[stmt].stage];
    int node = ctune_nest_find_stmt(nest, stmt);
    if (nest->n_caches == CTUNE_NEST_CACHES) {
        return "too many caches";
    }
    if (node < 0 || !ctune_nest_is_ancestor(nest, at, node)) {
        return "the loop is not around the statement";
    }
    if (kind != CTUNE_CACHE_REGISTER && (read < 0 || read >= stage->n_reads)) {
        return "the statement has no such read";
    }
    for (int c = 0; c < nest->n_caches; c++) {
        if (nest->cache[c].stmt == stmt && nest->cache[c].read == read) {
            return "cached already";
        }
    }
    nest->cache[nest->n_caches++] = (ctune_cache){kind, (int16_t)stmt, (int16_t)read, (int16_t)at};
    return NULL;
}

const char *ctune_nest_stream(ctune_nest *nest, int stmt) {
    const ctune_region *region = nest->region;
    const ctune_stage *stage = &region->stages[nest->form->tree->stmts[stmt].stage];
    if (stage->update != CTUNE_UPDATE_SET) {
        return "an update reads what it stores to";
    }
    for (int r = 0; r < stage->n_reads; r++) {
        if (stage->reads[r]->access.tensor == stage->target.tensor) {
            return "the statement reads what it stores to";
        }
    }
    if (region->tensors[stage->target.tensor].is_temp) {
        return "what it stores to is a temporary";
    }
    nest->node[ctune_nest_find_stmt(nest, stmt)].is_streamed = true;
    return NULL;
}

/*
 * Loops of their own for the parts of a loop's body (`fission i`): the structure and its legality.
 *
 * In: a loop over several parts, statements or loops. Out: one loop for each part, one after the
 * other. Where the loop runs inside a tile of its dim, all parts are computed tile by tile: the
 * start of a sum, the sum and what becomes of it, each with its own order, lanes and registers,
 * while their values are near. Temporaries shrink to the tile (lower/temps.c).
 *
 * Legality is asked of the final nest: of two statements that share no loop any more which a
 * dependence moves, the one that is run first must be the source.
 */
#include "search/schedule/nest_ops.h"

#include <stdio.h>
#include <string.h>

#include "search/schedule/program.h"

/* ---- the structure ---- */

static bool is_name_free(const ctune_nest *nest, const char *name) {
    const ctune_tree *tree = nest->form->tree;
    for (int d = 0; d < tree->n_dims; d++) {
        if (strcmp(tree->dims[d].name, name) == 0) {
            return false;
        }
    }
    return ctune_nest_find(nest, name) < 0;
}

/* base_2, base_3, ...: the first that is free. */
static void name_part(const ctune_nest *nest, const char *base, char name[CTUNE_NAME_BYTES]) {
    for (int n = 2; n < 2 + CTUNE_NEST_NODES + CTUNE_MAX_DIMS; n++) {
        snprintf(name, CTUNE_NAME_BYTES, "%.18s_%d", base, n);
        if (is_name_free(nest, name)) {
            return;
        }
    }
}

static int count_kids(const ctune_nest *nest, int node) {
    int n = 0;
    for (int kid = nest->node[node].first; kid >= 0; kid = nest->node[kid].next) {
        n++;
    }
    return n;
}

static const char *refuse_fission(const ctune_nest *nest, int node) {
    const ctune_nnode *loop = &nest->node[node];
    int n = count_kids(nest, node);
    if (n < 2) {
        return "the loop's body is one part";
    }
    if (loop->ann != CTUNE_ANN_SERIAL) {
        return "the loop is annotated already";
    }
    if (loop->sum >= 0 || ctune_nest_is_aligned(nest, node)) {
        return "a loop over a sum, or of a wavefront, stays whole";
    }
    if (nest->n_nodes + n - 1 > CTUNE_NEST_NODES) {
        return "too many loops";
    }
    for (int t = 0; t < nest->n_sums; t++) {
        for (int k = 0; k < nest->sum[t].n; k++) {
            if (nest->sum[t].term[k].kind == CTUNE_SUM_DIM &&
                nest->sum[t].term[k].of == loop->dim) {
                return "its dim is part of a sum";
            }
        }
    }
    for (int c = 0; c < nest->n_caches; c++) {
        if (nest->cache[c].at == node) {
            return "a cache sits at the loop";
        }
    }
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].placed == node) {
            return "a stage is placed at the loop";
        }
    }
    return NULL;
}

/* The inner levels of `loop` below node are now those of `copy`. */
static void move_levels(ctune_nest *nest, int node, int loop, int copy) {
    if (nest->node[node].outer == loop) {
        nest->node[node].outer = (int16_t)copy;
    }
    for (int kid = nest->node[node].first; kid >= 0; kid = nest->node[kid].next) {
        move_levels(nest, kid, loop, copy);
    }
}

const char *ctune_nest_fission(ctune_nest *nest, int node) {
    const char *wrong = refuse_fission(nest, node);
    if (wrong != NULL) {
        return wrong;
    }
    int kid = nest->node[nest->node[node].first].next, last = node;
    nest->node[nest->node[node].first].next = -1;
    while (kid >= 0) {
        int after = nest->node[kid].next, copy = nest->n_nodes;
        char name[CTUNE_NAME_BYTES];
        name_part(nest, nest->node[node].name, name);
        nest->node[copy] = nest->node[last];
        nest->n_nodes++;
        memcpy(nest->node[copy].name, name, sizeof name);
        nest->node[copy].first = (int16_t)kid;
        nest->node[last].next = (int16_t)copy;
        nest->node[kid].parent = (int16_t)copy;
        nest->node[kid].next = -1;
        move_levels(nest, kid, node, copy);
        last = copy;
        kid = after;
    }
    return NULL;
}

/* ---- legality ---- */

bool ctune_nest_is_before(const ctune_nest *nest, int first, int second) {
    int a = first, b = second;
    while (!ctune_nest_is_ancestor(nest, nest->node[a].parent, second)) {
        a = nest->node[a].parent;
    }
    while (nest->node[b].parent != nest->node[a].parent) {
        b = nest->node[b].parent;
    }
    while (a >= 0 && a != b) {
        a = nest->node[a].next;
    }
    return a >= 0;
}

bool ctune_nest_is_fissioned(const ctune_nest *nest) {
    uint64_t seen[2] = {0, 0};
    for (int i = 1; i < nest->n_nodes; i++) {
        const ctune_nnode *loop = &nest->node[i];
        if (loop->kind != CTUNE_NN_LOOP || loop->sum >= 0 || loop->step != 1) {
            continue;
        }
        if (seen[loop->dim / 64] >> (loop->dim % 64) & 1) {
            return true;
        }
        seen[loop->dim / 64] |= (uint64_t)1 << (loop->dim % 64);
    }
    return false;
}

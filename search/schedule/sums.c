/*
 * Loops over sums (nest.h): making them, and their invariants.
 *
 * A tile loop of a sum may stand anywhere around its statements: it only cuts their iterations. A
 * wave fixes the iterations of the loops that it adds up, so these stand inside it, in one chain.
 */
#include "search/schedule/nest_ops.h"

#include <stdio.h>
#include <string.h>

#include "search/schedule/program.h"

/* A new loop in the place of `at`, which becomes its only child. */
static int insert_above(ctune_nest *nest, int at, const ctune_sum *sum, int64_t step,
                        const char *name) {
    int index = nest->n_nodes++;
    ctune_nnode *node = &nest->node[index], *below = &nest->node[at];
    memset(node, 0, sizeof *node);
    node->kind = CTUNE_NN_LOOP;
    node->parent = below->parent;
    node->next = below->next;
    node->first = (int16_t)at;
    node->stmt = node->outer = node->placed = -1;
    node->step = step;
    node->sum = (int16_t)nest->n_sums;
    nest->sum[nest->n_sums++] = *sum;
    snprintf(node->name, sizeof node->name, "%s", name);
    int16_t *link = &nest->node[node->parent].first;
    while (*link != at) {
        link = &nest->node[*link].next;
    }
    *link = (int16_t)index;
    below->parent = (int16_t)index;
    below->next = -1;
    return index;
}

static const char *check_room(const ctune_nest *nest) {
    return nest->n_nodes == CTUNE_NEST_NODES ? "too many loops"
           : nest->n_sums == CTUNE_NEST_SUMS ? "more than 8 loops over sums"
                                             : NULL;
}

/* The dim that such tiles cut most often; -1: there is none. */
static int longest_dim(const ctune_tree *tree, const ctune_sum *sum) {
    int dim = -1;
    for (int t = 0; t < sum->n; t++) {
        if (sum->term[t].kind == CTUNE_SUM_DIM &&
            (dim < 0 || tree->dims[sum->term[t].of].extent > tree->dims[dim].extent)) {
            dim = sum->term[t].of;
        }
    }
    return dim;
}

static bool has_twice(const ctune_sum *sum) {
    for (int t = 0; t < sum->n; t++) {
        for (int u = t + 1; u < sum->n; u++) {
            if (sum->term[t].kind == sum->term[u].kind && sum->term[t].of == sum->term[u].of) {
                return true;
            }
        }
    }
    return false;
}

static bool is_in_dim(const ctune_stmt *stmt, const ctune_sum *sum) {
    for (int t = 0; t < sum->n; t++) {
        for (int d = 0; d < stmt->n_dims && sum->term[t].kind == CTUNE_SUM_DIM; d++) {
            if (stmt->dims[d] == sum->term[t].of) {
                return true;
            }
        }
    }
    return false;
}

/* Is every statement of the nest under the loop inside a dim of the sum? */
static bool has_all(const ctune_nest *nest, int at, const ctune_sum *sum) {
    for (int i = 1; i < nest->n_nodes; i++) {
        const ctune_nnode *node = &nest->node[i];
        bool is_own = node->kind == CTUNE_NN_STMT && ctune_nest_is_ancestor(nest, at, i) &&
                      (node->placed < 0 ||
                       (node->placed != at && ctune_nest_is_ancestor(nest, node->placed, at)));
        if (is_own && !is_in_dim(&nest->form->tree->stmts[node->stmt], sum)) {
            return false;
        }
    }
    return true;
}

const char *ctune_nest_tile(ctune_nest *nest, const ctune_sum *sum, int64_t step, int at,
                            const char *name) {
    const char *wrong = check_room(nest);
    int dim = longest_dim(nest->form->tree, sum);
    if (wrong != NULL) {
        return wrong;
    }
    if (dim < 0) {
        return "the sum has no loop";
    }
    if (has_twice(sum)) {
        return "a name stands twice in the sum";
    }
    if (!has_all(nest, at, sum)) {
        return "a statement stands outside the sum's loops";
    }
    if (step < 1 || step > CTUNE_MAX_FACTOR) {
        return "the factor must lie in 1 .. 2^30";
    }
    if (nest->node[at].ann != CTUNE_ANN_SERIAL) {
        return "the loop is annotated already";
    }
    int index = insert_above(nest, at, sum, step, name);
    nest->node[index].dim = (int16_t)dim;
    return NULL;
}

/* Is other on the chain of single children from top down? */
static bool is_on_chain(const ctune_nest *nest, int top, int other) {
    int node = top;
    while (node != other) {
        int kid = nest->node[node].first;
        if (kid < 0 || nest->node[kid].next >= 0 || nest->node[kid].kind != CTUNE_NN_LOOP) {
            return false;
        }
        node = kid;
    }
    return true;
}

const char *ctune_nest_wave(ctune_nest *nest, const ctune_sum *sum, const char *name) {
    const char *wrong = check_room(nest);
    int top = sum->term[0].of;
    if (wrong != NULL) {
        return wrong;
    }
    if (has_twice(sum)) {
        return "a name stands twice in the sum";
    }
    for (int t = 0; t < sum->n; t++) {
        int node = sum->term[t].of;
        if (ctune_sum_is_wave(ctune_nest_sum(nest, node))) {
            return "a wavefront of wavefronts";
        }
        top = ctune_nest_is_ancestor(nest, node, top) ? node : top;
    }
    for (int t = 0; t < sum->n; t++) {
        if (!is_on_chain(nest, top, sum->term[t].of)) {
            return "the loops do not form one perfect nest";
        }
    }
    if (nest->node[top].ann != CTUNE_ANN_SERIAL) {
        return "the loop is annotated already";
    }
    int index = insert_above(nest, top, sum, 1, name);
    nest->node[index].dim = nest->node[sum->term[0].of].dim;
    return NULL;
}

bool ctune_nest_is_aligned(const ctune_nest *nest, int node) {
    for (int s = 0; s < nest->n_sums; s++) {
        for (int t = 0; t < nest->sum[s].n; t++) {
            const ctune_sum_term *term = &nest->sum[s].term[t];
            if (term->kind == CTUNE_SUM_LOOP && term->of == node) {
                return true;
            }
        }
    }
    return false;
}

/* ---- verify ---- */

static const char *verify_term(const ctune_nest *nest, int node, const ctune_sum_term *term) {
    const ctune_tree *tree = nest->form->tree;
    switch ((ctune_sum_kind)term->kind) {
    case CTUNE_SUM_DIM:
        return term->of < 0 || term->of >= tree->n_dims ? "a sum of no dim" : NULL;
    case CTUNE_SUM_STMT:
        return term->of < 0 || term->of >= tree->n_stmts ? "a sum of no statement" : NULL;
    default:
        return term->of <= 0 || term->of >= nest->n_nodes || term->of == node ||
                       nest->node[term->of].kind != CTUNE_NN_LOOP ||
                       !ctune_nest_is_ancestor(nest, node, term->of)
                   ? "a wave that is not around its loops"
                   : NULL;
    }
}

const char *ctune_nest_verify_sum(const ctune_nest *nest, int node) {
    const ctune_sum *sum = ctune_nest_sum(nest, node);
    const char *wrong = NULL;
    if (nest->node[node].sum >= nest->n_sums || sum->n < 1 || sum->n > CTUNE_SUM_TERMS) {
        return "bad sum";
    }
    for (int t = 0; t < sum->n && wrong == NULL; t++) {
        bool is_wave = sum->term[t].kind == CTUNE_SUM_LOOP;
        wrong = is_wave != ctune_sum_is_wave(sum) || sum->term[t].coef == 0
                    ? "a sum of loops and dims"
                    : verify_term(nest, node, &sum->term[t]);
    }
    if (wrong == NULL && ctune_sum_is_wave(sum)) {
        return nest->node[node].step != 1 ? "a wave of a step other than 1" : NULL;
    }
    return wrong == NULL && !has_all(nest, node, sum) ? "a statement outside the loops of a sum"
                                                      : wrong;
}

/*
 * Placing a stage at a loop of another nest (`compute S at L`): the structure and its legality.
 *
 * The stage's loops become the first child of L and run anew in each iteration of L, over the box
 * of its instances that the statements inside L read there (the lowering finds it). Instances at
 * borders run several times, which changes nothing: the stage is pure, its target a temporary that
 * nobody else writes and whose elements have one instance each, and what it reads does not change
 * between its old place and the new one.
 */
#include "search/schedule/nest_ops.h"

#include <stdio.h>

#include "search/schedule/program.h"

static const ctune_stage *stage_of(const ctune_nest *nest, int stmt) {
    return &nest->region->stages[nest->form->tree->stmts[stmt].stage];
}

/* Child of `parent` that holds node. */
static int branch_of(const ctune_nest *nest, int parent, int node) {
    while (node >= 0 && nest->node[node].parent != parent) {
        node = nest->node[node].parent;
    }
    return node;
}

static bool has_cache(const ctune_nest *nest, int stmt) {
    for (int c = 0; c < nest->n_caches; c++) {
        if (nest->cache[c].stmt == stmt) {
            return true;
        }
    }
    return false;
}

/* Outermost loop of a statement that shares its loops with no other; -1. */
static int own_branch(const ctune_nest *nest, int node) {
    int top = node;
    while (nest->node[top].parent > 0) {
        int up = nest->node[top].parent;
        if (nest->node[up].first != top || nest->node[top].next >= 0) {
            return -1;
        }
        top = up;
    }
    return top;
}

static void unlink_node(ctune_nest *nest, int node) {
    int16_t *link = &nest->node[nest->node[node].parent].first;
    while (*link != node) {
        link = &nest->node[*link].next;
    }
    *link = nest->node[node].next;
}

const char *ctune_nest_compute(ctune_nest *nest, int stmt, int at) {
    int node = ctune_nest_find_stmt(nest, stmt);
    if (nest->node[node].placed >= 0) {
        return "the stage is placed already";
    }
    int top = own_branch(nest, node);
    if (top < 0) {
        return "the stage shares its loops with another";
    }
    if (ctune_nest_is_ancestor(nest, top, at)) {
        return "the loop is the stage's own";
    }
    unlink_node(nest, top);
    nest->node[top].parent = (int16_t)at;
    nest->node[top].next = nest->node[at].first;
    nest->node[at].first = (int16_t)top;
    nest->node[node].placed = (int16_t)at;
    return NULL;
}

const char *ctune_nest_verify_placed(const ctune_nest *nest, int node) {
    int at = nest->node[node].placed;
    if (at <= 0 || at >= nest->n_nodes || nest->node[at].kind != CTUNE_NN_LOOP ||
        !ctune_nest_is_ancestor(nest, at, node)) {
        return "a placed statement outside its place";
    }
    int own = branch_of(nest, at, node);
    for (int i = 1; i < nest->n_nodes; i++) { /* others in its loops are placed there */
        if (i != node && nest->node[i].kind == CTUNE_NN_STMT &&
            ctune_nest_is_ancestor(nest, own, i) &&
            (nest->node[i].placed < 0 ||
             !ctune_nest_is_ancestor(nest, own, nest->node[i].placed))) {
            return "a placed statement shares its loops";
        }
    }
    return NULL;
}

/* ---- legality ---- */

static bool reads(const ctune_stage *stage, int tensor) {
    for (int r = 0; r < stage->n_reads; r++) {
        if (stage->reads[r]->access.tensor == tensor) {
            return true;
        }
    }
    return false;
}

static bool is_plain_axis(const ctune_aff *idx, int axis) {
    int n_axes = 0;
    for (int t = 0; t < idx->n_terms; t++) {
        n_axes += idx->terms[t].kind != CTUNE_TERM_PARAM;
    }
    int64_t coef = ctune_aff_coef(idx, CTUNE_TERM_AXIS, axis);
    return n_axes == 1 && (coef == 1 || coef == -1);
}

/* Does each element have one instance? */
static bool is_injective(const ctune_stage *stage) {
    for (int a = 0; a < stage->n_axes; a++) {
        bool is_found = false;
        for (int i = 0; i < stage->target.n_idx; i++) {
            is_found = is_found || is_plain_axis(stage->target.idx[i], stage->axes[a]);
        }
        if (!is_found) {
            return false;
        }
    }
    return true;
}

static const char *check_pure(const ctune_nest *nest, int stmt) {
    const ctune_stage *stage = stage_of(nest, stmt);
    const ctune_tensor *target = &nest->region->tensors[stage->target.tensor];
    if (stage->update != CTUNE_UPDATE_SET || stage->guard != NULL ||
        reads(stage, stage->target.tensor)) {
        return "it is no plain assignment";
    }
    if (!target->is_temp || target->live_out_text != NULL) {
        return "its target is not a temporary";
    }
    if (!is_injective(stage)) {
        return "an element of its target has several instances";
    }
    for (int s = 0; s < nest->form->tree->n_stmts; s++) {
        if (s != stmt && stage_of(nest, s)->target.tensor == stage->target.tensor) {
            return "another statement writes its target";
        }
    }
    return NULL;
}

/* Index of the root's child in the tree that holds a statement: the form's order of nests. */
static int nest_of(const ctune_tree *tree, int stmt) {
    int k = 0;
    while (k < tree->root->n_kids && !ctune_tnode_has_stmt(tree->root->kids[k], stmt)) {
        k++;
    }
    return k;
}

static bool is_later_sibling(const ctune_nest *nest, int first, int second) {
    for (int node = nest->node[first].next; node >= 0; node = nest->node[node].next) {
        if (node == second) {
            return true;
        }
    }
    return false;
}

/* Everyone who reads the target does so inside the loop, after the stage. */
static const char *check_readers(const ctune_nest *nest, int node) {
    int tensor = stage_of(nest, nest->node[node].stmt)->target.tensor;
    int at = nest->node[node].placed, own = branch_of(nest, at, node), n_readers = 0;
    const ctune_tree *tree = nest->form->tree;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind != CTUNE_NN_STMT ||
            !reads(stage_of(nest, nest->node[i].stmt), tensor)) {
            continue;
        }
        n_readers++;
        if (!ctune_nest_is_ancestor(nest, at, i)) {
            return "its target is read outside the loop";
        }
        if (!is_later_sibling(nest, own, branch_of(nest, at, i)) ||
            nest_of(tree, nest->node[i].stmt) <= nest_of(tree, nest->node[node].stmt)) {
            return "its target is read before it";
        }
    }
    return n_readers == 0 ? "its target is not read" : NULL;
}

/* What it reads is the same at both places: nothing in between writes it. */
static const char *check_operands(const ctune_nest *nest, int node) {
    const ctune_tree *tree = nest->form->tree;
    int stmt = nest->node[node].stmt, here = nest_of(tree, stmt), there = here;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT &&
            ctune_nest_is_ancestor(nest, branch_of(nest, 0, nest->node[node].placed), i)) {
            int k = nest_of(tree, nest->node[i].stmt);
            there = k > there ? k : there;
        }
    }
    for (int s = 0; s < tree->n_stmts; s++) {
        int k = nest_of(tree, s);
        bool is_placed = nest->node[ctune_nest_find_stmt(nest, s)].placed >= 0;
        if (s != stmt && !is_placed && k >= here && k <= there &&
            reads(stage_of(nest, stmt), stage_of(nest, s)->target.tensor)) {
            return "what it reads is written in between";
        }
    }
    return NULL;
}

static const char *check_loops(const ctune_nest *nest, int node) {
    for (int up = nest->node[node].parent; up > 0; up = nest->node[up].parent) {
        bool is_around = ctune_nest_is_ancestor(nest, up, nest->node[node].placed);
        if (is_around &&
            (nest->node[up].ann == CTUNE_ANN_VECTOR || nest->node[up].ann == CTUNE_ANN_SLIDE)) {
            return "it cannot run inside a vector loop";
        }
        if (!is_around && nest->node[up].ann == CTUNE_ANN_PARALLEL) {
            return "its own loops cannot be parallel";
        }
    }
    return has_cache(nest, nest->node[node].stmt) ? "it cannot have caches" : NULL;
}

/* Dims of the statement and, while they are placed themselves, of those that read it. */
static int count_dims(const ctune_nest *nest, int node, int depth) {
    int stmt = nest->node[node].stmt, most = 0;
    if (depth > CTUNE_MAX_DEPTH) {
        return depth;
    }
    for (int i = 1; i < nest->n_nodes && nest->node[node].placed >= 0; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && i != node &&
            reads(stage_of(nest, nest->node[i].stmt), stage_of(nest, stmt)->target.tensor)) {
            int n = count_dims(nest, i, depth + 1);
            most = n > most ? n : most;
        }
    }
    return most + nest->form->tree->stmts[stmt].n_dims;
}

static const char *check_placed(const ctune_nest *nest, int node) {
    const char *wrong = check_pure(nest, nest->node[node].stmt);
    wrong = wrong == NULL ? check_readers(nest, node) : wrong;
    wrong = wrong == NULL ? check_operands(nest, node) : wrong;
    wrong = wrong == NULL ? check_loops(nest, node) : wrong;
    if (wrong == NULL && count_dims(nest, node, 0) > CTUNE_MAX_DEPTH) {
        wrong = "it and its readers have more than 12 loops";
    }
    return wrong;
}

bool ctune_nest_check_placed(const ctune_nest *nest, char *why, size_t why_size) {
    for (int i = 1; i < nest->n_nodes; i++) {
        const char *wrong = nest->node[i].kind == CTUNE_NN_STMT && nest->node[i].placed >= 0
                                ? check_placed(nest, i)
                                : NULL;
        if (wrong != NULL) {
            if (why != NULL && why_size > 0) {
                snprintf(why, why_size, "%s cannot be computed at %s: %s",
                         ctune_stmt_name(nest->region, nest->form->tree, nest->node[i].stmt),
                         nest->node[nest->node[i].placed].name, wrong);
            }
            return false;
        }
    }
    return true;
}

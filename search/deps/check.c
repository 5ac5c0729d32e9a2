/*
 * Legality of a tree's order, and its direction vectors: see deps.h.
 *
 * In: the dependences of a region, a tree. Each dependence is carried over to the loops around its
 * two statements, then the signs of the differences over the common loops are enumerated outermost
 * first by emptiness tests; a branch ends as soon as it is empty. Legal: the first sign that is not
 * zero is positive, or all are zero and the source stands first in the tree. The tests are exact
 * over the integers for all parameter values.
 */
#include "search/deps/deps_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const ctune_deps *deps;
    const ctune_tree *tree;
    const int *position;     /* [n_stmts]: order in the tree */
    ctune_veclist *list;     /* NULL: only legality is asked */
    ctune_depvec vec;        /* so far */
    int in[CTUNE_MAX_DEPTH]; /* dimension of the pairs' domain that is common loop c */
    int out[CTUNE_MAX_DEPTH];
    bool is_violated;
    isl_multi_aff **maps; /* [n_stmts]: made when first needed; owned */
    isl_basic_set **domains;
} walk;

/* ---- vectors --------------------------------------------------------------------------------- */

static bool is_vec_equal(const ctune_depvec *a, const ctune_depvec *b) {
    return a->src == b->src && a->dst == b->dst && a->n_common == b->n_common &&
           memcmp(a->sign, b->sign, (size_t)a->n_common) == 0;
}

/* Index of the vector in the list, -1 when memory is out. */
static int append_vec(ctune_veclist *list, const ctune_depvec *vec) {
    for (int i = 0; i < list->n; i++) {
        if (is_vec_equal(&list->vec[i], vec)) {
            return i;
        }
    }
    if (list->n == list->size) {
        int size = list->size == 0 ? 32 : list->size * 2;
        ctune_depvec *grown = realloc(list->vec, (size_t)size * sizeof *grown);
        if (grown == NULL) {
            list->failed = true;
            return -1;
        }
        list->vec = grown;
        list->size = size;
    }
    list->vec[list->n] = *vec;
    return list->n++;
}

/* ---- signs ----------------------------------------------------------------------------------- */

static void visit_leaf(walk *w, const isl_basic_map *pairs, bool is_positive) {
    const ctune_depvec *vec = &w->vec;
    if (!is_positive && w->position[vec->src] >= w->position[vec->dst]) {
        w->is_violated = true;
    } else if (w->list != NULL) {
        int index = append_vec(w->list, vec);
        if (index >= 0 && w->list->wants_distances && vec->n_common > 0) {
            ctune_leaf_append(w->list, index, pairs, w->in, w->out);
        }
    }
}

/* pairs: not empty, borrowed. is_positive: an outer sign is POS already. */
static void visit_signs(walk *w, const isl_basic_map *pairs, int level, bool is_positive) {
    static const int signs[] = {CTUNE_SIGN_POS, CTUNE_SIGN_ZERO, CTUNE_SIGN_NEG};
    if (level == w->vec.n_common || (is_positive && w->list == NULL)) {
        visit_leaf(w, pairs, is_positive);
        return;
    }
    bool found = false;
    for (int s = 0; s < 3 && !w->is_violated; s++) {
        isl_basic_map *part = isl_basic_map_copy((isl_basic_map *)pairs);
        part = ctune_isl_compare(part, w->in[level], w->out[level], signs[s]);
        bool is_last = s == 2 && !found; /* the pairs must be somewhere */
        bool is_there = is_last || isl_basic_map_is_empty(part) == isl_bool_false;
        if (is_there && signs[s] == CTUNE_SIGN_NEG && !is_positive) {
            w->vec.sign[level] = CTUNE_SIGN_NEG;
            w->is_violated = true;
        } else if (is_there) {
            found = true;
            w->vec.sign[level] = (uint8_t)signs[s];
            visit_signs(w, part, level + 1, is_positive || signs[s] == CTUNE_SIGN_POS);
        }
        isl_basic_map_free(part);
    }
}

/* ---- pairs over the tree's loops
 * ----------------------------------------------------------------------------- */

/* Position of the only dim that axis value `iter` is, -1 when it is anything else. */
static int plain_position(const ctune_stmt *stmt, const ctune_aff *iter) {
    const ctune_term *term = iter->terms;
    if (iter->c0 != 0 || iter->n_terms != 1 || term->kind != CTUNE_TERM_AXIS || term->coef != 1) {
        return -1;
    }
    int p = 0;
    while (p < stmt->n_dims && stmt->dims[p] != term->id) {
        p++;
    }
    return p < stmt->n_dims ? p : -1;
}

/* axis[p] = the axis that dim position p is; false when the statement's loops are not just its axes
 * in some order, or it is only a piece of its stage's domain. */
static bool find_axes(const walk *w, int i_stmt, int *axis) {
    const ctune_stmt *stmt = &w->tree->stmts[i_stmt];
    int n_axes = w->deps->region->stages[stmt->stage].n_axes;
    if (stmt->is_piece) {
        return false;
    }
    for (int p = 0; p < stmt->n_dims; p++) {
        axis[p] = -1;
    }
    for (int d = 0; d < n_axes; d++) {
        int p = plain_position(stmt, stmt->iter[d]);
        if (p < 0 || axis[p] >= 0) {
            return false;
        }
        axis[p] = d;
    }
    return n_axes == stmt->n_dims;
}

static void make_map(walk *w, int i_stmt) {
    if (w->maps[i_stmt] == NULL) {
        w->maps[i_stmt] = ctune_isl_stmt_map(w->deps, w->tree, i_stmt);
        w->domains[i_stmt] = ctune_isl_stmt_domain(w->deps, w->tree, i_stmt);
    }
}

/* The pairs with one side's axes replaced by the loops of its statement; identity where these are
 * the same. */
static isl_basic_map *carry_over(walk *w, isl_basic_map *pairs) {
    int src = w->vec.src, dst = w->vec.dst;
    if (!find_axes(w, src, w->in)) {
        make_map(w, src);
        pairs = isl_basic_map_preimage_domain_multi_aff(pairs, isl_multi_aff_copy(w->maps[src]));
        pairs = isl_basic_map_intersect_domain(pairs, isl_basic_set_copy(w->domains[src]));
        for (int p = 0; p < CTUNE_MAX_DEPTH; p++) {
            w->in[p] = p;
        }
    }
    if (!find_axes(w, dst, w->out)) {
        make_map(w, dst);
        pairs = isl_basic_map_preimage_range_multi_aff(pairs, isl_multi_aff_copy(w->maps[dst]));
        pairs = isl_basic_map_intersect_range(pairs, isl_basic_set_copy(w->domains[dst]));
        for (int p = 0; p < CTUNE_MAX_DEPTH; p++) {
            w->out[p] = p;
        }
    }
    return pairs;
}

static void check_stmts(walk *w, const ctune_dep *dep, int src, int dst) {
    const ctune_stmt *stmts = w->tree->stmts;
    for (int p = 0; p < dep->n_pieces && !w->is_violated; p++) {
        w->vec = (ctune_depvec){.src = src, .dst = dst};
        w->vec.n_common = ctune_stmt_common(&stmts[src], &stmts[dst]);
        isl_basic_map *pairs = carry_over(w, isl_basic_map_copy(dep->pieces[p]));
        if (isl_basic_map_is_empty(pairs) == isl_bool_false) {
            visit_signs(w, pairs, 0, false);
        }
        isl_basic_map_free(pairs);
    }
}

static void check_dep(walk *w, const ctune_dep *dep) {
    const ctune_tree *tree = w->tree;
    for (int s = 0; s < tree->n_stmts; s++) {
        for (int d = 0; d < tree->n_stmts && tree->stmts[s].stage == dep->src; d++) {
            if (tree->stmts[d].stage == dep->dst && !w->is_violated) {
                check_stmts(w, dep, s, d);
            }
        }
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void explain(ctune_ctx *ctx, const walk *w, const ctune_dep *dep) {
    const ctune_region *region = w->deps->region;
    const ctune_depvec *vec = &w->vec;
    const char *src = region->stages[dep->src].name, *dst = region->stages[dep->dst].name;
    const char *tensor = region->tensors[dep->tensor].name;
    int level = 0;
    while (level < vec->n_common && vec->sign[level] == CTUNE_SIGN_ZERO) {
        level++;
    }
    if (level < vec->n_common) {
        int dim = w->tree->stmts[vec->src].dims[level];
        ctune_fail(ctx, CTUNE_EREFUSED,
                   "dependence %s -> %s on '%s' would run backwards at loop %s", src, dst, tensor,
                   w->tree->dims[dim].name);
    } else {
        ctune_fail(ctx, CTUNE_EREFUSED, "dependence %s -> %s on '%s' needs %s to come first", src,
                   dst, tensor, src);
    }
}

static ctune_status walk_deps(ctune_ctx *ctx, walk *w, bool *legal) {
    int i = 0;
    ctune_isl_begin(w->deps->isl, CTUNE_BUDGET_CHECK);
    for (; i < w->deps->n_deps && !w->is_violated; i++) {
        if (!w->deps->deps[i].can_drop) {
            check_dep(w, &w->deps->deps[i]);
        }
    }
    ctune_status status = ctune_isl_end(ctx, w->deps->isl, "legality");
    if (status == CTUNE_OK && w->is_violated) {
        explain(ctx, w, &w->deps->deps[i - 1]);
    }
    *legal = status == CTUNE_OK && !w->is_violated;
    return status == CTUNE_EREFUSED ? CTUNE_OK
                                    : status; /* an empty budget proves nothing: not legal */
}

ctune_status ctune_deps_walk(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree,
                             bool *legal, ctune_veclist *list) {
    *legal = false;
    ctune_arena *scratch = ctune_arena_create(ctx);
    int *position = CTUNE_NEW_ARRAY(scratch, int, tree->n_stmts + 1);
    walk w = {.deps = deps, .tree = tree, .position = position, .list = list};
    w.maps = CTUNE_NEW_ARRAY(scratch, isl_multi_aff *, tree->n_stmts + 1);
    w.domains = CTUNE_NEW_ARRAY(scratch, isl_basic_set *, tree->n_stmts + 1);
    if (ctune_arena_has_failed(scratch)) {
        ctune_arena_destroy(scratch);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while checking an order");
    }
    ctune_tree_positions(tree, position);
    ctune_status status = walk_deps(ctx, &w, legal);
    for (int s = 0; s < tree->n_stmts; s++) {
        isl_multi_aff_free(w.maps[s]);
        isl_basic_set_free(w.domains[s]);
    }
    ctune_arena_destroy(scratch);
    if (status == CTUNE_OK && list != NULL && list->failed) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for direction vectors");
    }
    return status;
}

/* Distances along lines; out (may be NULL) receives the line of each dim. */
static ctune_status measure_lines(ctune_ctx *ctx, const ctune_deps *deps, ctune_tree *tree,
                                  ctune_veclist *list, ctune_depvecs *out) {
    int8_t *line = CTUNE_NEW_ARRAY(tree->arena, int8_t, tree->n_dims + 1);
    ctune_arena *scratch = ctune_arena_create(ctx);
    ctune_status status = CTUNE_OK;
    if (line == NULL || scratch == NULL || !ctune_tree_lines(deps->region, tree, scratch, line)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for lines");
    } else if (out != NULL) {
        ctune_deps_measure_lines(deps, tree, line, list);
        out->line = line;
    }
    ctune_arena_destroy(scratch);
    return status;
}

static ctune_status check(ctune_ctx *ctx, const ctune_deps *deps, ctune_tree *tree, bool *legal,
                          bool wants_distances, ctune_depvecs *out) {
    ctune_veclist list = {.wants_distances = wants_distances};
    ctune_status status = ctune_deps_walk(ctx, deps, tree, legal, out != NULL ? &list : NULL);
    if (out != NULL) {
        *out = (ctune_depvecs){0};
    }
    if (status == CTUNE_OK && *legal && wants_distances) {
        ctune_deps_measure(deps, &list);
        status = measure_lines(ctx, deps, tree, &list, out);
    }
    if (status == CTUNE_OK && *legal && out != NULL) {
        ctune_depvec *vec = CTUNE_NEW_ARRAY(tree->arena, ctune_depvec, list.n + 1);
        if (vec == NULL) {
            *legal = false;
            status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for direction vectors");
        } else if (list.n > 0) {
            memcpy(vec, list.vec, (size_t)list.n * sizeof *vec);
        }
        out->n = vec != NULL ? list.n : 0;
        out->vec = vec;
    }
    ctune_veclist_clear(&list);
    return status;
}

ctune_status ctune_deps_check(ctune_ctx *ctx, ctune_deps *deps, ctune_tree *tree, bool *legal,
                              ctune_depvecs *out) {
    return check(ctx, deps, tree, legal, true, out);
}

ctune_status ctune_deps_check_signs(ctune_ctx *ctx, ctune_deps *deps, ctune_tree *tree, bool *legal,
                                    ctune_depvecs *out) {
    return check(ctx, deps, tree, legal, false, out);
}

bool ctune_deps_defer(ctune_deps *deps, bool is_deferred) {
    bool was_deferred = deps->is_deferred;
    deps->is_deferred = is_deferred;
    return was_deferred;
}

ctune_status ctune_tree_accept(ctune_ctx *ctx, const ctune_deps *deps, ctune_tree *tree,
                               ctune_tree **out) {
    bool legal;
    ctune_status status = ctune_deps_walk(ctx, deps, tree, &legal, NULL);
    if (status == CTUNE_OK && !legal) {
        status = CTUNE_EREFUSED;
    }
    if (status != CTUNE_OK) {
        ctune_tree_destroy(tree);
        return status;
    }
    *out = tree;
    return CTUNE_OK;
}

ctune_status ctune_tree_hand_over(ctune_ctx *ctx, const ctune_deps *deps, ctune_tree *tree,
                                  ctune_tree **out) {
    if (deps->is_deferred) {
        *out = tree;
        return CTUNE_OK;
    }
    return ctune_tree_accept(ctx, deps, tree, out);
}

/*
 * Distances of direction vectors: the least and the greatest difference (dst - src) of each common
 * loop, over all parameter values.
 *
 * In: the pairs behind each vector, kept by the walk (check.c). Out: min[] and max[] of the
 * vectors, exact over the integers. It has an operation budget of its own: a form stays legal when
 * the distances turn out too dear, its vectors are then known by their signs alone; so are those of
 * a dependence with more vectors than MAX_LEAVES, as a sum over many loops has them. A side that
 * has reached its sign's limit is not asked again.
 */
#include "search/deps/deps_private.h"

#include "search/bound/bound.h"

#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/val.h>
#include <stdlib.h>

enum { MAX_LEAVES = 128 }; /* five loops of a sum make 121, six 364: a second of work */

static int64_t sign_min(uint8_t sign) {
    return sign == CTUNE_SIGN_POS ? 1 : sign == CTUNE_SIGN_ZERO ? 0 : CTUNE_DIST_MIN;
}

static int64_t sign_max(uint8_t sign) {
    return sign == CTUNE_SIGN_NEG ? -1 : sign == CTUNE_SIGN_ZERO ? 0 : CTUNE_DIST_MAX;
}

void ctune_depvec_range(const ctune_depvec *vec, int level, int64_t *min, int64_t *max) {
    *min = sign_min(vec->sign[level]);
    *max = sign_max(vec->sign[level]);
    if (vec->has_distance && vec->min[level] <= vec->max[level]) {
        *min = vec->min[level] > *min ? vec->min[level] : *min;
        *max = vec->max[level] < *max ? vec->max[level] : *max;
    }
}

void ctune_leaf_append(ctune_veclist *list, int vec, const isl_basic_map *pairs, const int *in,
                       const int *out) {
    if (list->n_leaves == list->size_leaves) {
        int size = list->size_leaves == 0 ? 32 : list->size_leaves * 2;
        ctune_leaf *grown = realloc(list->leaf, (size_t)size * sizeof *grown);
        if (grown == NULL) {
            list->failed = true;
            return;
        }
        list->leaf = grown;
        list->size_leaves = size;
    }
    ctune_leaf *leaf = &list->leaf[list->n_leaves++];
    leaf->vec = vec;
    leaf->pairs = isl_basic_map_copy((isl_basic_map *)pairs);
    for (int d = 0; d < CTUNE_MAX_DEPTH; d++) {
        leaf->in[d] = (int8_t)in[d];
        leaf->out[d] = (int8_t)out[d];
    }
}

void ctune_veclist_clear(ctune_veclist *list) {
    for (int i = 0; i < list->n_leaves; i++) {
        isl_basic_map_free(list->leaf[i].pairs);
    }
    free(list->leaf);
    free(list->vec);
    *list = (ctune_veclist){0};
}

/* Extreme of dimension `to` of the destination minus `from` of the source; -1: 0 stands for it.
 * false: isl failed. */
static bool extreme(const ctune_leaf *leaf, int from, int to, bool is_max, int64_t *out) {
    isl_set *pairs = isl_set_from_basic_set(isl_basic_map_wrap(isl_basic_map_copy(leaf->pairs)));
    int n_in = (int)isl_basic_map_dim(leaf->pairs, isl_dim_in);
    isl_local_space *ls = isl_local_space_from_space(isl_set_get_space(pairs));
    isl_aff *difference = isl_aff_zero_on_domain(ls);
    if (from >= 0) {
        difference = isl_aff_set_coefficient_si(difference, isl_dim_in, from, -1);
    }
    if (to >= 0) {
        difference = isl_aff_set_coefficient_si(difference, isl_dim_in, n_in + to, 1);
    }
    isl_val *v = is_max ? isl_set_max_val(pairs, difference) : isl_set_min_val(pairs, difference);
    bool is_known = v != NULL && isl_val_is_nan(v) == isl_bool_false;
    if (is_known) {
        bool is_int = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT32_MIN) >= 0 &&
                      isl_val_cmp_si(v, INT32_MAX) <= 0;
        *out = is_int ? isl_val_get_num_si(v) : is_max ? CTUNE_DIST_MAX : CTUNE_DIST_MIN;
    }
    isl_val_free(v);
    isl_aff_free(difference);
    isl_set_free(pairs);
    return is_known;
}

/* Widen the vector's distances to those of one of its leaves. */
static bool widen(ctune_depvec *vec, const ctune_leaf *leaf) {
    for (int d = 0; d < vec->n_common; d++) {
        int64_t value;
        if (vec->min[d] > sign_min(vec->sign[d])) {
            if (!extreme(leaf, leaf->in[d], leaf->out[d], false, &value)) {
                return false;
            }
            vec->min[d] = value < vec->min[d] ? value : vec->min[d];
        }
        if (vec->max[d] < sign_max(vec->sign[d])) {
            if (!extreme(leaf, leaf->in[d], leaf->out[d], true, &value)) {
                return false;
            }
            vec->max[d] = value > vec->max[d] ? value : vec->max[d];
        }
    }
    return true;
}

void ctune_deps_measure(const ctune_deps *deps, ctune_veclist *list) {
    for (int v = 0; v < list->n; v++) {
        list->vec[v].has_distance = true;
        for (int d = 0; d < list->vec[v].n_common; d++) {
            bool is_zero = list->vec[v].sign[d] == CTUNE_SIGN_ZERO;
            list->vec[v].min[d] = is_zero ? 0 : CTUNE_DIST_MAX;
            list->vec[v].max[d] = is_zero ? 0 : CTUNE_DIST_MIN;
        }
    }
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_DISTANCE);
    for (int i = 0; i < list->n_leaves; i++) {
        ctune_depvec *vec = &list->vec[list->leaf[i].vec];
        vec->has_distance =
            vec->has_distance && list->n_leaves <= MAX_LEAVES && widen(vec, &list->leaf[i]);
    }
    ctune_bound_end(deps->isl);
}

/* Place of the statement's dim in a line, -1 when it is in none. */
static int place_in_line(const ctune_stmt *stmt, const int8_t *line, int i_line) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (line[stmt->dims[p]] == i_line) {
            return p;
        }
    }
    return -1;
}

static bool widen_line(ctune_depvec *vec, const ctune_leaf *leaf, int i_line, int from, int to) {
    int64_t value;
    if (vec->line_min[i_line] != CTUNE_DIST_MIN) {
        if (!extreme(leaf, from, to, false, &value)) {
            return false;
        }
        vec->line_min[i_line] = value < vec->line_min[i_line] ? value : vec->line_min[i_line];
    }
    if (vec->line_max[i_line] != CTUNE_DIST_MAX) {
        if (!extreme(leaf, from, to, true, &value)) {
            return false;
        }
        vec->line_max[i_line] = value > vec->line_max[i_line] ? value : vec->line_max[i_line];
    }
    return true;
}

static bool widen_lines(const ctune_tree *tree, const int8_t *line, ctune_depvec *vec,
                        const ctune_leaf *leaf) {
    const ctune_stmt *src = &tree->stmts[vec->src], *dst = &tree->stmts[vec->dst];
    for (int i = 0; i < CTUNE_MAX_LINES; i++) {
        int from = place_in_line(src, line, i), to = place_in_line(dst, line, i);
        bool is_shared = from >= 0 && from == to && from < vec->n_common;
        if (is_shared || (from < 0 && to < 0)) {
            continue; /* known already, or 0 */
        }
        if (!widen_line(vec, leaf, i, from < 0 ? -1 : leaf->in[from],
                        to < 0 ? -1 : leaf->out[to])) {
            return false;
        }
    }
    return true;
}

void ctune_deps_measure_lines(const ctune_deps *deps, const ctune_tree *tree, const int8_t *line,
                              ctune_veclist *list) {
    int n_lines = 0;
    for (int d = 0; d < tree->n_dims; d++) {
        n_lines = line[d] >= n_lines ? line[d] + 1 : n_lines;
    }
    for (int v = 0; v < list->n; v++) {
        ctune_depvec *vec = &list->vec[v];
        vec->has_lines = n_lines > 0 && vec->n_common > 0;
        for (int i = 0; i < CTUNE_MAX_LINES; i++) {
            vec->line_min[i] = CTUNE_DIST_MAX;
            vec->line_max[i] = CTUNE_DIST_MIN;
        }
    }
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_DISTANCE);
    for (int i = 0; i < list->n_leaves && n_lines > 0; i++) {
        ctune_depvec *vec = &list->vec[list->leaf[i].vec];
        vec->has_lines = vec->has_lines && widen_lines(tree, line, vec, &list->leaf[i]);
    }
    isl_ctx_set_max_operations(deps->isl, 0);
    isl_ctx_reset_error(deps->isl);
}

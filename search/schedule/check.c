/*
 * Legality of a nest's loop order and annotations against the direction vectors of its form.
 *
 * Each vector is walked along the loops that its two statements share, outermost first, under the
 * assumption that every loop so far may have contributed zero ("alive"). A tile level of a positive
 * dim contributes zero or more; its innermost level then decides (the sum of all levels is the
 * sign), so it ends the walk. A negative dim met while alive is a violation. When all shared loops
 * are zero the textual order decides; no primitive changes it.
 *
 * Integer (and reassociated) reductions have no dependence here; a parallel or vector loop must not
 * share their elements all the same, so those loops are checked against the target's indices.
 * check_cache.c does the caches.
 */
#include "search/schedule/nest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "search/schedule/nest_ops.h"
#include "search/schedule/program.h"

static bool say(char *why, size_t why_size, const char *format, ...) CTUNE_PRINTF(3, 4);

static bool say(char *why, size_t why_size, const char *format, ...) {
    if (why != NULL && why_size > 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(why, why_size, format, args);
        va_end(args);
    }
    return false;
}

static int path_of(const ctune_nest *nest, int node, int *path) {
    int n = 0;
    for (int up = node; up > 0; up = nest->node[up].parent) {
        n++;
    }
    int k = n;
    for (int up = node; up > 0; up = nest->node[up].parent) {
        path[--k] = up;
    }
    return n;
}

/* Loops around both statements, outermost first. */
static int shared_loops(const ctune_nest *nest, const ctune_depvec *vec,
                        const int16_t *node_of_stmt, int *path) {
    int other[CTUNE_NEST_NODES];
    int n = path_of(nest, node_of_stmt[vec->src], path) - 1;
    if (vec->src == vec->dst) {
        return n;
    }
    int m = path_of(nest, node_of_stmt[vec->dst], other) - 1;
    int k = 0;
    while (k < n && k < m && path[k] == other[k]) {
        k++;
    }
    return k;
}

static uint8_t sign_of(const ctune_nest *nest, const ctune_depvec *vec, int dim) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[vec->src];
    for (int d = 0; d < vec->n_common; d++) {
        if (stmt->dims[d] == dim) {
            return vec->sign[d];
        }
    }
    return CTUNE_SIGN_ZERO;
}

static bool check_vec(const ctune_nest *nest, const ctune_depvec *vec, const int *path, int n,
                      char *why, size_t why_size) {
    for (int k = 0; k < n; k++) {
        const ctune_nnode *loop = &nest->node[path[k]];
        uint8_t sign = sign_of(nest, vec, loop->dim);
        if (sign == CTUNE_SIGN_ZERO) {
            continue;
        }
        if (sign == CTUNE_SIGN_NEG) {
            return say(why, why_size, "a dependence runs backwards at loop %s", loop->name);
        }
        if (loop->ann == CTUNE_ANN_PARALLEL || loop->ann == CTUNE_ANN_VECTOR) {
            return say(why, why_size, "a dependence is carried by the %s loop %s",
                       loop->ann == CTUNE_ANN_VECTOR ? "vector" : "parallel", loop->name);
        }
        if (loop->step == 1) {
            return true;
        }
    }
    return true;
}

bool ctune_nest_is_carried(const ctune_nest *nest, const ctune_depvec *vec, int stop) {
    int path[CTUNE_NEST_NODES];
    int n = path_of(nest, stop, path);
    for (int k = 0; k < n; k++) {
        const ctune_nnode *loop = &nest->node[path[k]];
        if (loop->step == 1 && sign_of(nest, vec, loop->dim) == CTUNE_SIGN_POS) {
            return true;
        }
    }
    return false;
}

/* Does the target's element differ whenever dim differs, whatever the other loops do? */
static bool is_pinned(const ctune_region *region, const ctune_stmt *stmt, int dim) {
    const ctune_stage *stage = &region->stages[stmt->stage];
    for (int i = 0; i < stage->target.n_idx; i++) {
        const ctune_aff *idx = stage->target.idx[i];
        const ctune_aff *iter = NULL;
        int n_axis_terms = 0;
        for (int t = 0; t < idx->n_terms; t++) {
            n_axis_terms += idx->terms[t].kind != CTUNE_TERM_PARAM;
            for (int d = 0; d < stage->n_axes; d++) {
                if (idx->terms[t].kind == CTUNE_TERM_AXIS && stage->axes[d] == idx->terms[t].id) {
                    iter = stmt->iter[d];
                }
            }
        }
        if (n_axis_terms != 1 || iter == NULL) {
            continue;
        }
        int n_dim_terms = 0;
        for (int t = 0; t < iter->n_terms; t++) {
            n_dim_terms += iter->terms[t].kind != CTUNE_TERM_PARAM;
        }
        if (n_dim_terms == 1 && ctune_aff_coef(iter, CTUNE_TERM_AXIS, dim) != 0) {
            return true;
        }
    }
    return false;
}

static bool is_free_reduction(const ctune_region *region, const ctune_stage *stage) {
    return ctune_update_get(stage->update)->is_assoc &&
           (!ctune_type_is_float(stage->calc) || ctune_stage_may_reassoc(region, stage));
}

static bool check_shared_elements(const ctune_nest *nest, int stmt_node, char *why,
                                  size_t why_size) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[stmt_node].stmt];
    if (!is_free_reduction(nest->region, &nest->region->stages[stmt->stage])) {
        return true;
    }
    for (int up = nest->node[stmt_node].parent; up > 0; up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        bool is_spread = loop->ann == CTUNE_ANN_PARALLEL || loop->ann == CTUNE_ANN_VECTOR;
        if (is_spread && !is_pinned(nest->region, stmt, loop->dim)) {
            return say(why, why_size, "iterations of the %s loop %s update the same element",
                       loop->ann == CTUNE_ANN_VECTOR ? "vector" : "parallel", loop->name);
        }
    }
    return true;
}

bool ctune_nest_check(const ctune_nest *nest, char *why, size_t why_size) {
    int16_t node_of_stmt[CTUNE_MAX_STMTS];
    int path[CTUNE_NEST_NODES];
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT) {
            node_of_stmt[nest->node[i].stmt] = (int16_t)i;
            if (!check_shared_elements(nest, i, why, why_size)) {
                return false;
            }
        }
    }
    for (int v = 0; v < nest->form->vecs.n; v++) {
        const ctune_depvec *vec = &nest->form->vecs.vec[v];
        int n = shared_loops(nest, vec, node_of_stmt, path);
        if (!check_vec(nest, vec, path, n, why, why_size)) {
            return false;
        }
    }
    return ctune_nest_check_caches(nest, why, why_size);
}

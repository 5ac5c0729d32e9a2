/*
 * Temporaries in the estimate: where they live, as search/lower/temps.c and windows.c will have it.
 *
 * In: paths and references of all statements. Out: for each temporary the innermost node around all
 * its accesses. What one iteration there touches of it is its buffer, which is used again by the
 * next one: one element is a register, a tile stays in a near cache, and only what is distributed
 * into nests of its own crosses all of them. A placed stage runs once for each iteration of its
 * place, over the box that is read there.
 */
#include "search/estimate/analysis.h"
#include "search/schedule/nest_ops.h"

#include <math.h>

enum { MAX_PLACES = 8 }; /* stages placed for stages that are placed */

static double box(const ctune_nest *nest, int i_node, int dim, int depth);

/* Iterations of a dim of a reader in one iteration of loop `at`. */
static double cover_at(const ctune_nest *nest, int i_reader, int dim, int at, int depth) {
    double cover = nest->form->tree->dims[dim].extent;
    if (nest->node[i_reader].placed == at) {
        return box(nest, i_reader, dim, depth + 1);
    }
    for (int up = at; up > 0; up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        if (loop->kind == CTUNE_NN_LOOP && loop->sum < 0 && loop->dim == dim) {
            cover = est_min(cover, (double)loop->step);
        }
    }
    return cover;
}

/* The index of an access that moves with the dim alone; -1. */
static int index_of_dim(const ctune_nest *nest, const ctune_stmt *stmt, const ctune_access *access,
                        int dim) {
    for (int i = 0; i < access->n_idx; i++) {
        if (ctune_stmt_coef(nest->region, stmt, access->idx[i], dim) != 0) {
            return i;
        }
    }
    return -1;
}

/* Values of an index over one iteration of the place, without its constant. */
static double index_cover(const ctune_nest *nest, int i_reader, const ctune_aff *idx, int at,
                          int depth) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[i_reader].stmt];
    double range = 1;
    for (int p = 0; p < stmt->n_dims; p++) {
        int64_t coef = ctune_stmt_coef(nest->region, stmt, idx, stmt->dims[p]);
        range += coef == 0 ? 0
                           : fabs((double)coef) *
                                 (cover_at(nest, i_reader, stmt->dims[p], at, depth) - 1);
    }
    return range;
}

static double box(const ctune_nest *nest, int i_node, int dim, int depth) {
    const ctune_tree *tree = nest->form->tree;
    const ctune_stmt *own = &tree->stmts[nest->node[i_node].stmt];
    const ctune_access *target = &nest->region->stages[own->stage].target;
    int at = nest->node[i_node].placed, index = index_of_dim(nest, own, target, dim);
    double extent = tree->dims[dim].extent, range = 1, least = INFINITY, most = -INFINITY;
    if (index < 0 || depth > MAX_PLACES) {
        return extent;
    }
    for (int i = 1; i < nest->n_nodes; i++) {
        const ctune_stage *stage =
            nest->node[i].kind == CTUNE_NN_STMT
                ? &nest->region->stages[tree->stmts[nest->node[i].stmt].stage]
                : NULL;
        for (int r = 0; stage != NULL && r < stage->n_reads; r++) {
            const ctune_access *read = &stage->reads[r]->access;
            if (read->tensor == target->tensor && i != i_node) {
                range = est_max(range, index_cover(nest, i, read->idx[index], at, depth));
                least = est_min(least, (double)read->idx[index]->c0);
                most = est_max(most, (double)read->idx[index]->c0);
            }
        }
    }
    return est_min(extent, range + est_max(most - least, 0));
}

double est_box(const ctune_nest *nest, int i_node, int pos) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[i_node].stmt];
    return box(nest, i_node, stmt->dims[pos], 0);
}

static int common_node(const ctune_nest *nest, int a, int b) {
    while (!ctune_nest_is_ancestor(nest, a, b)) {
        a = nest->node[a].parent;
    }
    return a;
}

int est_scope_level(const est_state *s, const est_path *path, int tensor) {
    int level = 0;
    for (int k = 0; k < path->n; k++) {
        level = ctune_nest_is_ancestor(s->nest, path->node[k], s->scope[tensor]) ? k + 1 : level;
    }
    return level;
}

bool est_is_register(const est_state *s, int tensor) {
    return tensor < EST_MAX_TENSORS && s->is_register[tensor];
}

static bool is_one_element(const est_state *s, const est_path *path, const est_ref *ref) {
    int level = est_scope_level(s, path, ref->tensor);
    for (int d = 0; d < ref->rank; d++) {
        if (est_index_range(s, path, ref, d, level) > 1) {
            return false;
        }
    }
    return true;
}

void est_temps_find(est_state *s, const est_path *paths, int n_paths) {
    const ctune_region *region = s->nest->region;
    bool has_temps = false;
    for (int t = 0; t < region->n_tensors && t < EST_MAX_TENSORS; t++) {
        s->scope[t] = -1;
        s->is_register[t] = region->tensors[t].is_temp;
        has_temps = has_temps || region->tensors[t].is_temp;
    }
    for (int pass = 0; pass < 2 && has_temps; pass++) {
        for (int i = 0; i < n_paths; i++) {
            const est_path *path = &paths[i];
            int node = ctune_nest_find_stmt(s->nest, path->i_stmt);
            for (int r = 0; r < path->n_refs; r++) {
                const est_ref *ref = &s->ref[path->first_ref + r];
                int t = ref->tensor;
                if (t >= EST_MAX_TENSORS || !region->tensors[t].is_temp) {
                    continue;
                }
                if (pass == 0) {
                    int up = s->nest->node[node].parent;
                    s->scope[t] =
                        (int16_t)(s->scope[t] < 0 ? up : common_node(s->nest, s->scope[t], up));
                } else {
                    s->is_register[t] = s->is_register[t] && is_one_element(s, path, ref);
                }
            }
        }
    }
}

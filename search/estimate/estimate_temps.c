/*
 * Temporaries in the estimate: where they live, as search/lower/temps.c and windows.c will have it.
 *
 * In: paths and references of all statements. Out: for each temporary the innermost node around all
 * its accesses. What one iteration there touches of it is its buffer, which is used again by the
 * next one: one element is a register, a tile stays in a near cache, and only what is distributed
 * into nests of its own crosses all of them.
 */
#include "search/estimate/analysis.h"
#include "search/schedule/nest_ops.h"

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

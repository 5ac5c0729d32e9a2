/*
 * Windows: temporaries that live in one iteration of some loops, as long as that iteration needs.
 *
 * In: a temporary whose accesses stand inside loops over tiles of its own indices (parts of a
 * body, fission), or are those of a placed stage and its readers. Different iterations of the tile
 * touch different elements, so one tile's worth of them is enough, at [index - first of the tile].
 * A placed stage writes a box: the limits of its own loops at the place. What has a constant, small
 * size is an array of the block, which compilers keep in registers; else it lies on the heap.
 */
#include "search/lower/lower_private.h"

/* The most bytes of an array on the stack. */
enum { MAX_BLOCK_BYTES = 32 << 10 };

/* The loop over tiles around the scope of which one iteration holds all accesses to index idx; -1.
 */
static int tile_of(const lowerer *w, const lower_uses *use, int idx, int scope) {
    int dim = lower_temp_dim(w, use, 0, idx);
    for (int i = 1; i < use->n && dim >= 0; i++) {
        dim = lower_temp_dim(w, use, i, idx) == dim ? dim : -1;
    }
    for (int node = scope; node > 0 && dim >= 0; node = w->nest->node[node].parent) {
        const ctune_nnode *nn = &w->nest->node[node];
        if (nn->kind == CTUNE_NN_LOOP && nn->sum < 0 && nn->dim == dim) {
            return nn->step > 1 ? node : -1;
        }
    }
    return -1;
}

/* The use by which a placed stage writes the temporary; -1. */
static int placed_writer(const lowerer *w, const lower_uses *use) {
    for (int i = 0; i < use->n; i++) {
        const ctune_stage *stage = &w->region->stages[w->tree->stmts[use->stmt[i]].stage];
        if (w->nest->node[use->node[i]].placed >= 0 && &stage->target == use->access[i]) {
            return i;
        }
    }
    return -1;
}

bool lower_window_is_known(const lowerer *w, int t, const lower_uses *use) {
    bool is_known = placed_writer(w, use) >= 0;
    for (int i = 0; i < w->region->tensors[t].rank && !is_known; i++) {
        is_known = tile_of(w, use, i, w->temp_scope[t]) >= 0;
    }
    return is_known;
}

/* The most values that a row of the one limit and a row of the other leave; 0: not known. */
static int64_t most_between(const lowerer *w, const lower_limit *lo, const lower_limit *hi) {
    int64_t most = 0;
    for (int i = 0; i < lo->n * hi->n; i++) {
        const ctune_bound_row *a = &lo->bound[i / hi->n], *b = &hi->bound[i % hi->n];
        const ctune_aff *gap =
            a->den == 1 && b->den == 1 ? ctune_aff_sub(w->arena, b->aff, a->aff) : NULL;
        if (gap != NULL && gap->n_terms == 0 && gap->c0 >= 0 && gap->c0 < MAX_BLOCK_BYTES &&
            (most == 0 || gap->c0 + 1 < most)) {
            most = gap->c0 + 1;
        }
    }
    return most;
}

/* The box of a placed stage along index idx, from the limits of its loop. *extent NULL: not known.
 */
static ctune_status box_index(lowerer *w, int t, const lower_uses *use, int idx, int k,
                              ctune_lnode *into, const ctune_aff **extent) {
    int writer = placed_writer(w, use);
    int dim = writer < 0 ? -1 : lower_temp_dim(w, use, writer, idx);
    lower_limit lo, hi;
    *extent = NULL;
    if (dim < 0) {
        return CTUNE_OK;
    }
    ctune_status status = lower_bounds(w, use->stmt[writer], dim, &lo, &hi);
    bool is_plain = status == CTUNE_OK && lo.n_groups <= 1 && hi.n_groups <= 1 && !lo.is_inexact &&
                    !hi.is_inexact;
    int64_t n = is_plain ? most_between(w, &lo, &hi) : 0;
    if (n > 0) {
        const char *name = ctune_arena_printf(w->arena, "%s_base", w->region->tensors[t].name);
        w->temp_base[t][k] = lower_let(w, name, lower_limit_aff(w, &lo, 0), into);
        w->temp_index[t][k] = idx;
        w->temp_tile[t][k] = -1;
        *extent = ctune_loops_const(w->loops, n);
    }
    return status;
}

static ctune_status window_index(lowerer *w, int t, const lower_uses *use, int idx, int k,
                                 ctune_lnode *into, const ctune_aff **extent) {
    int tile = tile_of(w, use, idx, w->temp_scope[t]);
    if (tile >= 0) {
        w->temp_index[t][k] = idx;
        w->temp_tile[t][k] = tile;
        *extent = ctune_loops_const(w->loops, w->nest->node[tile].step);
        return CTUNE_OK;
    }
    ctune_status status = box_index(w, t, use, idx, k, into, extent);
    return status == CTUNE_OK && *extent == NULL ? lower_temp_index(w, t, use, idx, k, extent)
                                                 : status;
}

/* Bytes of a buffer whose extents are constants; 0: they are not, or it is large. */
static int64_t constant_bytes(int rank, const ctune_aff *const *extent, int64_t bytes) {
    for (int k = 0; k < rank; k++) {
        bool is_small = extent[k] != NULL && extent[k]->n_terms == 0 &&
                        extent[k]->c0 <= MAX_BLOCK_BYTES && bytes <= MAX_BLOCK_BYTES;
        bytes = is_small ? bytes * extent[k]->c0 : 0;
    }
    return bytes <= MAX_BLOCK_BYTES ? bytes : 0;
}

ctune_status lower_window(lowerer *w, int t, ctune_lnode *into) {
    const ctune_tensor *tensor = &w->region->tensors[t];
    const ctune_aff *extent[CTUNE_MAX_RANK];
    lower_uses use;
    int rank = 0;
    lower_temp_uses(w, t, &use);
    for (int i = 0; i < tensor->rank; i++) {
        if (lower_temp_is_contracted(w, &use, i, w->temp_scope[t], true)) {
            continue;
        }
        ctune_status status = window_index(w, t, &use, i, rank, into, &extent[rank]);
        if (status != CTUNE_OK) {
            return status;
        }
        rank++;
    }
    if (constant_bytes(rank, extent, ctune_type_get(tensor->type)->bytes) > 0) {
        w->temp_buffer[t] = ctune_loops_buffer(w->loops, tensor->name, tensor->type,
                                               CTUNE_SCOPE_BLOCK, rank, extent);
        ctune_lnode_append(into, ctune_lnode_decl(w->loops, w->temp_buffer[t]));
    } else {
        w->temp_buffer[t] = lower_heap_buffer(
            w, tensor->name, tensor->type, lower_is_in_parallel(w, w->temp_scope[t]), rank, extent);
    }
    return ctune_loops_status(w->loops);
}

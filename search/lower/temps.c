/*
 * Temporaries: where they live.
 *
 * In the IR a temporary is fully expanded: one element per iteration of the loops around its scope.
 * An index whose point loop encloses all accesses is contracted: each iteration of that loop uses
 * its own element and no other. When every index is contracted the temporary is a local scalar of
 * the innermost loop body that holds all accesses; else a scratch array over the remaining indices.
 */
#include "search/lower/lower_private.h"

#include <stdio.h>
#include <string.h>

typedef struct temp_use {
    int n;
    int node[2 * CTUNE_MAX_STMTS]; /* statement nodes that access the tensor */
    const ctune_access *access[2 * CTUNE_MAX_STMTS];
    int stmt[2 * CTUNE_MAX_STMTS];
} temp_use;

static int find_stmt_node(const lowerer *w, int stmt) {
    for (int i = 0; i < w->nest->n_nodes; i++) {
        if (w->nest->node[i].kind == CTUNE_NN_STMT && w->nest->node[i].stmt == stmt) {
            return i;
        }
    }
    return -1;
}

static void add_use(temp_use *use, int node, int stmt, const ctune_access *access) {
    if (use->n < 2 * CTUNE_MAX_STMTS) {
        use->node[use->n] = node;
        use->stmt[use->n] = stmt;
        use->access[use->n++] = access;
    }
}

static void find_uses(const lowerer *w, int tensor, temp_use *use) {
    use->n = 0;
    for (int s = 0; s < w->tree->n_stmts; s++) {
        const ctune_stage *stage = &w->region->stages[w->tree->stmts[s].stage];
        int node = find_stmt_node(w, s);
        if (stage->target.tensor == tensor) {
            add_use(use, node, s, &stage->target);
        }
        for (int r = 0; r < stage->n_reads; r++) {
            if (stage->reads[r]->access.tensor == tensor) {
                add_use(use, node, s, &stage->reads[r]->access);
            }
        }
    }
}

static bool is_ancestor(const lowerer *w, int ancestor, int node) {
    while (node >= 0 && node != ancestor) {
        node = w->nest->node[node].parent;
    }
    return node == ancestor;
}

/* The tree dim that index `idx` of a use stands for, -1 when it is no single dim. */
static int dim_of_index(const lowerer *w, const temp_use *use, int i, int idx) {
    const ctune_stmt *s = &w->tree->stmts[use->stmt[i]];
    const ctune_stage *stage = &w->region->stages[s->stage];
    const ctune_aff *aff = use->access[i]->idx[idx];
    if (aff->c0 != 0 || aff->n_terms != 1 || aff->terms[0].kind != CTUNE_TERM_AXIS ||
        aff->terms[0].coef != 1) {
        return -1;
    }
    for (int d = 0; d < stage->n_axes; d++) {
        if (stage->axes[d] == aff->terms[0].id) {
            const ctune_aff *iter = s->iter[d];
            bool single = iter->c0 == 0 && iter->n_terms == 1 &&
                          iter->terms[0].kind == CTUNE_TERM_AXIS && iter->terms[0].coef == 1;
            return single ? iter->terms[0].id : -1;
        }
    }
    return -1;
}

/*
 * Deepest loop (or root) around all uses and under loops of the tensor's own indices only: a loop
 * over another dim comes back to the same element, which must live on outside it.
 */
static int find_scope(const lowerer *w, const temp_use *use) {
    int scope = w->nest->node[use->node[0]].parent;
    while (scope > 0) {
        bool holds_all = true;
        for (int i = 1; i < use->n; i++) {
            holds_all &= is_ancestor(w, scope, use->node[i]);
        }
        if (holds_all) {
            break;
        }
        scope = w->nest->node[scope].parent;
    }
    scope = scope < 0 ? 0 : scope;
    for (int node = scope; node > 0; node = w->nest->node[node].parent) {
        bool is_index = w->nest->node[node].kind != CTUNE_NN_LOOP;
        for (int idx = 0; idx < use->access[0]->n_idx && !is_index; idx++) {
            is_index = true;
            for (int i = 0; i < use->n && is_index; i++) {
                is_index = dim_of_index(w, use, i, idx) == w->nest->node[node].dim;
            }
        }
        if (!is_index) {
            scope = w->nest->node[node].parent;
        }
    }
    return scope;
}

static bool is_contracted(const lowerer *w, const temp_use *use, int idx, int scope) {
    int dim = dim_of_index(w, use, 0, idx);
    if (dim < 0) {
        return false;
    }
    for (int i = 1; i < use->n; i++) {
        if (dim_of_index(w, use, i, idx) != dim) {
            return false;
        }
    }
    for (int node = scope; node > 0; node = w->nest->node[node].parent) {
        if (w->nest->node[node].kind == CTUNE_NN_LOOP && w->nest->node[node].dim == dim &&
            w->nest->node[node].step == 1) {
            return true;
        }
    }
    return false;
}

/* Range of index idx over the writers, from parameters only: the stage's own axes serve as dims. */
static ctune_status index_range(lowerer *w, const temp_use *use, int idx, ctune_limit *lo,
                                ctune_limit *hi) {
    for (int i = 0; i < use->n; i++) {
        const ctune_stage *stage = &w->region->stages[w->tree->stmts[use->stmt[i]].stage];
        if (&stage->target != use->access[i]) {
            continue;
        }
        const ctune_aff *aff = use->access[i]->idx[idx];
        if (aff->n_terms != 1 || aff->c0 != 0 || aff->terms[0].kind != CTUNE_TERM_AXIS) {
            break;
        }
        ctune_stmt plain = {.stage = w->tree->stmts[use->stmt[i]].stage,
                            .n_dims = stage->n_axes,
                            .n_cons = stage->n_cons,
                            .cons = stage->cons};
        int pos = -1;
        for (int d = 0; d < stage->n_axes; d++) {
            plain.dims[d] = stage->axes[d];
            if (stage->axes[d] == aff->terms[0].id) {
                pos = d;
            }
        }
        ctune_bounds b;
        ctune_status status =
            ctune_bounds_find(w->ctx, w->arena, w->region, &plain, NULL, 0, NULL, 0, pos, &b);
        if (status != CTUNE_OK) {
            return status;
        }
        *lo = (ctune_limit){.is_max = true, .n = b.n_lower, .bound = b.lower, .align_var = -1};
        *hi = (ctune_limit){.n = b.n_upper, .bound = b.upper, .align_var = -1};
        return CTUNE_OK;
    }
    return ctune_fail(w->ctx, CTUNE_EREFUSED, "temporary without a plain writer");
}

static int setup_let(lowerer *w, const char *stem, const char *suffix, ctune_limit limit,
                     int count_from) {
    char name[2 * CTUNE_NAME_BYTES];
    snprintf(name, sizeof name, "%.14s_%s", stem, suffix);
    ctune_lnode *n = lower_lnode(w, CTUNE_LN_LET);
    int var = lower_var(w, name);
    if (n == NULL || var < 0) {
        return -1;
    }
    n->var = var;
    n->limit = limit;
    n->count_from = count_from;
    lower_append(w, w->loops->setup, n);
    return var;
}

static bool is_in_parallel(const lowerer *w, int scope) {
    for (int node = scope; node > 0; node = w->nest->node[node].parent) {
        if (w->nest->node[node].ann == CTUNE_ANN_PARALLEL && w->options.openmp) {
            return true;
        }
    }
    return false;
}

ctune_status lower_temps(lowerer *w) {
    if (w->region->n_tensors > CTUNE_MAX_TENSORS) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many tensors");
    }
    for (int t = 0; t < w->region->n_tensors; t++) {
        const ctune_tensor *tensor = &w->region->tensors[t];
        w->loops->temp_buffer[t] = -1;
        temp_use use;
        if (!tensor->is_temp) {
            continue;
        }
        if (tensor->live_out_text != NULL) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED, "'%s' is read after the loops", tensor->name);
        }
        find_uses(w, t, &use);
        if (use.n == 0) {
            continue;
        }
        int scope = find_scope(w, &use);
        bool is_scalar = true;
        for (int i = 0; i < tensor->rank; i++) {
            is_scalar &= is_contracted(w, &use, i, scope);
        }
        if (is_scalar) {
            continue;
        }
        if (w->loops->n_buffers >= CTUNE_MAX_BUFFERS) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many buffers");
        }
        w->loops->temp_buffer[t] = w->loops->n_buffers;
        ctune_lbuffer *buffer = &w->loops->buffer[w->loops->n_buffers++];
        snprintf(buffer->name, sizeof buffer->name, "%.24s_all", tensor->name);
        buffer->type = tensor->type;
        buffer->tensor = t;
        buffer->is_per_thread = is_in_parallel(w, scope);
        for (int i = 0; i < tensor->rank; i++) {
            if (is_contracted(w, &use, i, scope)) {
                continue;
            }
            int k = buffer->n_dims++;
            ctune_status status = index_range(w, &use, i, &buffer->lo[k], &buffer->hi[k]);
            if (status != CTUNE_OK) {
                return status;
            }
            buffer->multiple[k] = 1;
            buffer->index_of[k] = i;
            buffer->base_var[k] = setup_let(w, tensor->name, "base", buffer->lo[k], -1);
            if (k > 0) { /* the leading extent is not needed to index */
                buffer->count_var[k] =
                    setup_let(w, tensor->name, "count", buffer->hi[k], buffer->base_var[k]);
            }
            if (buffer->base_var[k] < 0 || buffer->count_var[k] < 0) {
                return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
            }
        }
    }
    return CTUNE_OK;
}

void lower_decls_at(lowerer *w, int node, ctune_lnode *into) {
    for (int t = 0; t < w->region->n_tensors; t++) {
        temp_use use;
        if (!w->region->tensors[t].is_temp || w->loops->temp_buffer[t] >= 0) {
            continue;
        }
        find_uses(w, t, &use);
        if (use.n > 0 && find_scope(w, &use) == node) {
            ctune_lnode *decl = lower_lnode(w, CTUNE_LN_DECL);
            if (decl != NULL) {
                decl->tensor = t;
            }
            lower_append(w, into, decl);
        }
    }
}

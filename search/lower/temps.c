/*
 * Temporaries: where they live.
 *
 * In the IR a temporary is fully expanded: one element per iteration of the loops around its scope.
 * An index whose point loop encloses all accesses is contracted: each iteration of that loop uses
 * its own element and no other. When every index is contracted the temporary is a variable of the
 * innermost loop body that holds all accesses; else a buffer over the remaining indices, as long as
 * they are in one iteration of the loops around all accesses where that is known (windows.c).
 * Scalars that are only read become variables, too.
 */
#include "search/lower/lower_private.h"

#include <string.h>

static int find_stmt_node(const lowerer *w, int stmt) {
    for (int i = 0; i < w->nest->n_nodes; i++) {
        if (w->nest->node[i].kind == CTUNE_NN_STMT && w->nest->node[i].stmt == stmt) {
            return i;
        }
    }
    return -1;
}

static void add_use(lower_uses *use, int node, int stmt, const ctune_access *access) {
    if (use->n < 2 * CTUNE_MAX_STMTS) {
        use->node[use->n] = node;
        use->stmt[use->n] = stmt;
        use->access[use->n++] = access;
    }
}

void lower_temp_uses(const lowerer *w, int tensor, lower_uses *use) {
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

int lower_temp_dim(const lowerer *w, const lower_uses *use, int i, int idx) {
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

static bool is_index_dim(const lowerer *w, const lower_uses *use, int dim) {
    for (int idx = 0; idx < use->access[0]->n_idx; idx++) {
        bool is_index = true;
        for (int i = 0; i < use->n && is_index; i++) {
            is_index = lower_temp_dim(w, use, i, idx) == dim;
        }
        if (is_index) {
            return true;
        }
    }
    return false;
}

/* Do different iterations of the node touch different elements? Of a sum: all dims in it are
 * indices, and no statement is shifted against the others. */
static bool is_index_loop(const lowerer *w, const lower_uses *use, int node) {
    const ctune_sum *sum =
        w->nest->node[node].kind == CTUNE_NN_LOOP ? ctune_nest_sum(w->nest, node) : NULL;
    if (sum == NULL) {
        return w->nest->node[node].kind != CTUNE_NN_LOOP ||
               is_index_dim(w, use, w->nest->node[node].dim);
    }
    for (int t = 0; t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        if (term->kind == CTUNE_SUM_STMT ||
            (term->kind == CTUNE_SUM_DIM && !is_index_dim(w, use, term->of)) ||
            (term->kind == CTUNE_SUM_LOOP && !is_index_loop(w, use, term->of))) {
            return false;
        }
    }
    return true;
}

/*
 * Deepest loop (or root) around all uses and under loops of the tensor's own indices only: a loop
 * over another dim comes back to the same element, which must live on outside it.
 */
static int find_scope(const lowerer *w, const lower_uses *use) {
    for (int i = 0; i < use->n; i++) { /* written anew in each iteration of its place */
        int s = use->stmt[i];
        if (w->nest->node[use->node[i]].placed >= 0 &&
            &w->region->stages[w->tree->stmts[s].stage].target == use->access[i]) {
            return w->nest->node[use->node[i]].placed;
        }
    }
    int scope = w->nest->node[use->node[0]].parent;
    while (scope > 0) {
        bool holds_all = true;
        for (int i = 1; i < use->n; i++) {
            holds_all &= lower_is_ancestor(w, scope, use->node[i]);
        }
        if (holds_all) {
            break;
        }
        scope = w->nest->node[scope].parent;
    }
    scope = scope < 0 ? 0 : scope;
    for (int node = scope; node > 0; node = w->nest->node[node].parent) {
        bool is_index = is_index_loop(w, use, node);
        if (!is_index) {
            scope = w->nest->node[node].parent;
        }
    }
    return scope;
}

/* Is the index one number in all uses? (The loop over it has one iteration and is gone.) */
static bool is_one_value(const lowerer *w, const lower_uses *use, int idx) {
    for (int i = 0; i < use->n; i++) {
        const ctune_stmt *s = &w->tree->stmts[use->stmt[i]];
        const ctune_stage *stage = &w->region->stages[s->stage];
        const ctune_aff *aff = use->access[i]->idx[idx], *first = use->access[0]->idx[idx];
        if (!ctune_aff_is_equal(aff, first) || aff->n_terms > 1 ||
            ctune_aff_has_kind(aff, CTUNE_TERM_DIV)) {
            return false;
        }
        for (int d = 0; d < stage->n_axes; d++) {
            if (ctune_aff_coef(aff, CTUNE_TERM_AXIS, stage->axes[d]) != 0 &&
                (s->iter[d]->n_terms != 0 ||
                 s->iter[d]->c0 != w->tree->stmts[use->stmt[0]].iter[d]->c0)) {
                return false;
            }
        }
    }
    return true;
}

bool lower_temp_is_contracted(const lowerer *w, const lower_uses *use, int idx, int scope,
                              bool alone) {
    int dim = lower_temp_dim(w, use, 0, idx);
    if (dim < 0) {
        return is_one_value(w, use, idx);
    }
    for (int i = 1; i < use->n; i++) {
        if (lower_temp_dim(w, use, i, idx) != dim) {
            return false;
        }
    }
    for (int node = scope; node > 0; node = w->nest->node[node].parent) {
        const ctune_nnode *nn = &w->nest->node[node];
        if (nn->kind == CTUNE_NN_LOOP && nn->dim == dim && nn->step == 1 && nn->sum < 0) {
            return !alone || (nn->ann != CTUNE_ANN_VECTOR && nn->ann != CTUNE_ANN_SLIDE);
        }
    }
    return false;
}

/* Smallest value of an axis of the stage and the one after its largest, from parameters only. */
static ctune_status axis_range(lowerer *w, const ctune_stmt *plain, int axis,
                               const ctune_aff **first, const ctune_aff **last) {
    ctune_bounds b;
    ctune_status status = ctune_bounds_find(w->ctx, w->arena, w->region, plain, NULL, 0, NULL, 0,
                                            lower_pos(plain, axis), &b);
    if (status == CTUNE_OK) {
        lower_limit lo = {.is_max = true, .n = b.n_lower, .bound = b.lower};
        lower_limit hi = {.n = b.n_upper, .bound = b.upper};
        *first = lower_limit_aff(w, &lo, 0);
        *last = lower_limit_aff(w, &hi, 0);
    }
    return status;
}

/* [*base, *end) around the values of a form over the stage's axes, which serve as dims: of the box
 * of its domain. A form that divides an axis has the range that its tensor declares. */
ctune_status lower_form_range(lowerer *w, const ctune_stage *stage, const ctune_aff *aff,
                              const ctune_aff *extent, const ctune_aff **base,
                              const ctune_aff **end) {
    ctune_stmt plain = {.stage = (int)(stage - w->region->stages),
                        .n_dims = stage->n_axes,
                        .n_cons = stage->n_cons,
                        .cons = stage->cons};
    memcpy(plain.dims, stage->axes, sizeof plain.dims);
    if (!ctune_bounds_is_plain(w->region, aff)) {
        *base = extent == NULL ? NULL : ctune_loops_const(w->loops, 0);
        *end = extent == NULL ? NULL : ctune_loops_import(w->loops, extent, NULL);
        return CTUNE_OK;
    }
    const ctune_aff *lo = ctune_loops_const(w->loops, aff->c0), *hi = lo;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        const ctune_aff *first, *last;
        if (term->kind == CTUNE_TERM_AXIS) {
            ctune_status status = axis_range(w, &plain, term->id, &first, &last);
            if (status != CTUNE_OK) {
                return status;
            }
        } else {
            first = last = lower_row_aff(w, ctune_aff_term(w->arena, term->kind, term->id, 1));
        }
        lo = ctune_aff_add(w->arena, lo,
                           ctune_aff_scale(w->arena, term->coef > 0 ? first : last, term->coef));
        hi = ctune_aff_add(w->arena, hi,
                           ctune_aff_scale(w->arena, term->coef > 0 ? last : first, term->coef));
    }
    *base = lo;
    *end = hi == NULL ? NULL : ctune_aff_add_const(w->arena, hi, 1);
    return CTUNE_OK;
}

ctune_status lower_temp_range(lowerer *w, const lower_uses *use, int idx, const ctune_aff *extent,
                              const ctune_aff **base, const ctune_aff **end) {
    *base = *end = NULL;
    for (int i = 0; i < use->n; i++) {
        const ctune_stage *stage = &w->region->stages[w->tree->stmts[use->stmt[i]].stage];
        if (&stage->target != use->access[i]) {
            continue;
        }
        const ctune_aff *first = NULL, *last = NULL;
        ctune_status status =
            lower_form_range(w, stage, use->access[i]->idx[idx], extent, &first, &last);
        if (status != CTUNE_OK) {
            return status;
        }
        if (first == NULL || last == NULL) {
            return ctune_loops_fail(w->loops, CTUNE_EREFUSED,
                                    "a temporary whose size is not known");
        }
        *base = *base == NULL ? first : ctune_loops_min(w->loops, *base, first);
        *end = *end == NULL ? last : ctune_loops_max(w->loops, *end, last);
    }
    return *base != NULL
               ? CTUNE_OK
               : ctune_loops_fail(w->loops, CTUNE_EREFUSED, "a temporary that nothing writes");
}

bool lower_is_in_parallel(const lowerer *w, int scope) {
    for (int node = scope; node > 0; node = w->nest->node[node].parent) {
        if (lower_is_parallel(w, node)) {
            return true;
        }
    }
    return false;
}

/* A buffer over the indices that are not contracted, unless it is made at its scope. */
static ctune_status make_buffer(lowerer *w, int t) {
    const ctune_tensor *tensor = &w->region->tensors[t];
    if (w->is_gpu && ctune_nest_launch(w->nest, w->temp_scope[t]) >= 0) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED,
                                "a GPU's thread has no room for the temporary array '%s'",
                                tensor->name);
    }
    const ctune_aff *extent[CTUNE_MAX_RANK];
    lower_uses use;
    int rank = 0;
    lower_temp_uses(w, t, &use);
    if (lower_window_is_known(w, t, &use)) {
        return CTUNE_OK;
    }
    for (int i = 0; i < tensor->rank; i++) {
        if (lower_temp_is_contracted(w, &use, i, w->temp_scope[t], true)) {
            continue;
        }
        ctune_status status = lower_temp_index(w, t, &use, i, rank, &extent[rank]);
        if (status != CTUNE_OK) {
            return status;
        }
        rank++;
    }
    w->temp_buffer[t] = lower_heap_buffer(w, tensor->name, tensor->type,
                                          lower_is_in_parallel(w, w->temp_scope[t]), rank, extent);
    return ctune_loops_status(w->loops);
}

ctune_status lower_temp_index(lowerer *w, int t, const lower_uses *use, int idx, int k,
                              const ctune_aff **extent) {
    const ctune_tensor *tensor = &w->region->tensors[t];
    const ctune_aff *base, *end;
    ctune_status status = lower_temp_range(w, use, idx, tensor->extent[idx], &base, &end);
    if (status != CTUNE_OK) {
        return status;
    }
    const char *name = ctune_arena_printf(w->arena, "%s_base", tensor->name);
    w->temp_base[t][k] = lower_let(w, name, base, w->setup);
    w->temp_index[t][k] = idx;
    w->temp_tile[t][k] = -1;
    const ctune_aff *n = ctune_aff_sub(w->arena, end, w->temp_base[t][k]);
    n = ctune_loops_max(w->loops, n, ctune_loops_const(w->loops, 0));
    name = ctune_arena_printf(w->arena, "%s_size", tensor->name);
    *extent = lower_let(w, name, n, w->setup);
    return ctune_loops_status(w->loops);
}

const ctune_aff *lower_temp_base(lowerer *w, int tensor, int k) {
    int tile = w->temp_tile[tensor][k];
    if (tile < 0) {
        return w->temp_base[tensor][k];
    }
    if (w->node_var[tile] < 0) {
        ctune_loops_fail(w->loops, CTUNE_EBUG, "lower: a temporary outside its tile");
        return NULL;
    }
    return ctune_loops_var_aff(w->loops, w->node_var[tile], 1, 0);
}

ctune_status lower_temps(lowerer *w) {
    for (int t = 0; t < w->region->n_tensors; t++) {
        const ctune_tensor *tensor = &w->region->tensors[t];
        lower_uses use;
        if (!tensor->is_temp) {
            continue;
        }
        if (tensor->live_out_text != NULL) {
            return ctune_loops_fail(w->loops, CTUNE_EREFUSED, "'%s' is read after the loops",
                                    tensor->name);
        }
        lower_temp_uses(w, t, &use);
        if (use.n == 0) {
            continue;
        }
        w->temp_scope[t] = find_scope(w, &use);
        bool is_scalar = true;
        for (int i = 0; i < tensor->rank; i++) {
            is_scalar &= lower_temp_is_contracted(w, &use, i, w->temp_scope[t], false);
        }
        if (is_scalar && w->is_gpu && ctune_nest_launch(w->nest, w->temp_scope[t]) < 0) {
            is_scalar = false; /* launches hand it on in memory */
        }
        if (is_scalar) {
            w->scalar_var[t] = ctune_loops_value_var(w->loops, tensor->name, tensor->type, 1, true);
        }
    }
    /* what threads run is known only when all variables are */
    for (int t = 0; t < w->region->n_tensors; t++) {
        if (w->temp_scope[t] >= 0 && w->scalar_var[t] < 0 &&
            !lower_is_in_parallel(w, w->temp_scope[t])) {
            ctune_status status = make_buffer(w, t);
            if (status != CTUNE_OK) {
                return status;
            }
        }
    }
    return CTUNE_OK;
}

ctune_status lower_thread_temps(lowerer *w, int node) {
    for (int t = 0; t < w->region->n_tensors; t++) {
        if (w->temp_scope[t] < 0 || w->scalar_var[t] >= 0 || w->temp_buffer[t] >= 0 ||
            !lower_is_ancestor(w, node, w->temp_scope[t])) {
            continue;
        }
        ctune_status status = make_buffer(w, t);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    return CTUNE_OK;
}

ctune_status lower_decls_at(lowerer *w, int node, ctune_lnode *into) {
    for (int t = 0; t < w->region->n_tensors; t++) {
        const ctune_tensor *tensor = &w->region->tensors[t];
        if (!tensor->is_temp || w->temp_scope[t] != node) {
            continue;
        }
        if (w->scalar_var[t] >= 0) {
            ctune_lnode_append(into, ctune_lnode_def(w->loops, w->scalar_var[t],
                                                     ctune_value_zero(w->loops, tensor->type)));
        } else if (w->temp_buffer[t] < 0 ||
                   w->loops->buffer[w->temp_buffer[t]].scope == CTUNE_SCOPE_BLOCK) {
            ctune_status status = lower_window(w, t, into);
            if (status != CTUNE_OK) {
                return status;
            }
        }
    }
    return CTUNE_OK;
}

static bool is_read(const ctune_region *region, int tensor) {
    for (int s = 0; s < region->n_stages; s++) {
        for (int r = 0; r < region->stages[s].n_reads; r++) {
            if (region->stages[s].reads[r]->access.tensor == tensor) {
                return true;
            }
        }
    }
    return false;
}

void lower_scalars(lowerer *w, ctune_lnode *into) {
    for (int t = 0; t < w->region->n_tensors; t++) {
        const ctune_tensor *tensor = &w->region->tensors[t];
        if (tensor->rank == 0 && !tensor->is_written && !tensor->is_temp && is_read(w->region, t)) {
            ctune_place place = {.id = t};
            int var = ctune_loops_value_var(w->loops, tensor->name, tensor->type, 1, false);
            ctune_lnode_append(
                into, ctune_lnode_def(w->loops, var, ctune_value_load(w->loops, &place, 1)));
            w->scalar_var[t] = var;
        }
    }
}

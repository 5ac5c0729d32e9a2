/*
 * Copies in a GPU block's shared memory: `cache_read S.r at L shared`.
 *
 * In: a read, the loop at which it is copied. Out: the box of the tensor's indices that the block's
 * threads read in one iteration of the loop, copied by all of them, one element after the other
 * along the last index, which neighbours in the block read together. Elements outside of what the
 * statement reads at all are left out: nobody reads them. Barriers come later (passes/barriers.c).
 */
#include "search/lower/lower_private.h"
#include "search/lower/touched.h"

static const ctune_stage *stage_of(const lowerer *w, int stmt) {
    return &w->region->stages[w->tree->stmts[stmt].stage];
}

/* Least value of index d in the box. */
static const ctune_aff *base_of(lowerer *w, int c, int d) {
    const ctune_cache *cache = &w->nest->cache[c];
    const ctune_stmt *s = &w->tree->stmts[cache->stmt];
    const ctune_access *access = &stage_of(w, cache->stmt)->reads[cache->read]->access;
    lower_env env = {.stmt = cache->stmt};
    for (int p = 0; p < s->n_dims; p++) {
        int node;
        int64_t low, coef = ctune_stmt_coef(w->region, s, access->idx[d], s->dims[p]);
        int64_t count = ctune_nest_shared_range(w->nest, c, s->dims[p], &node, &low);
        const ctune_aff *first = node >= 0 ? ctune_loops_var_aff(w->loops, w->node_var[node], 1, 0)
                                           : ctune_loops_const(w->loops, low);
        env.val[p] = coef < 0 ? ctune_aff_add_const(w->arena, first, count - 1) : first;
    }
    ctune_place place;
    int var;
    return lower_place(w, &env, access, &place, &var) ? place.idx[d] : NULL;
}

/* Number of the thread in its block, and how many there are. */
static const ctune_aff *thread_number(lowerer *w, int64_t *n) {
    const ctune_aff *number = ctune_loops_const(w->loops, 0);
    *n = 1;
    for (int a = 3; a < LOWER_HW_AXES; a++) {
        if (w->hw_var[a] >= 0) {
            number =
                ctune_aff_add(w->arena, number, ctune_loops_var_aff(w->loops, w->hw_var[a], *n, 0));
            *n *= w->hw_trip[a];
        }
    }
    return number;
}

/* Indices of element q of the box. */
static void split_number(lowerer *w, const ctune_aff *q, const int64_t *extent, int rank,
                         const ctune_aff **idx) {
    for (int d = rank - 1; d >= 0; d--) {
        const ctune_aff *rest = d == 0 ? NULL : ctune_loops_floor(w->loops, q, extent[d]);
        idx[d] =
            d == 0 ? q : ctune_aff_sub(w->arena, q, ctune_aff_scale(w->arena, rest, extent[d]));
        q = rest;
    }
}

/* From what to below what index d is read at all. */
static ctune_status find_range(lowerer *w, int stmt, const ctune_expr *read, int d,
                               const ctune_aff **lo, const ctune_aff **hi) {
    const ctune_tensor *tensor = &w->region->tensors[read->access.tensor];
    ctune_touched touched;
    ctune_touched_find(w->loops, stage_of(w, stmt), &read->access, read, d, &touched);
    if (touched.lo == NULL || touched.hi == NULL) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED,
                                "a shared copy of '%s', whose range is not known", tensor->name);
    }
    *lo = lower_let(w, ctune_arena_printf(w->arena, "%s_low", tensor->name), touched.lo, w->setup);
    *hi = lower_let(w, ctune_arena_printf(w->arena, "%s_end", tensor->name),
                    ctune_aff_add_const(w->arena, touched.hi, 1), w->setup);
    return CTUNE_OK;
}

static ctune_status make_copy(lowerer *w, int c, ctune_lnode *into) {
    const ctune_cache *cache = &w->nest->cache[c];
    const ctune_expr *read = stage_of(w, cache->stmt)->reads[cache->read];
    const ctune_access *access = &read->access;
    const ctune_tensor *tensor = &w->region->tensors[access->tensor];
    const ctune_aff *extent[CTUNE_MAX_RANK], *conds[2 * CTUNE_MAX_RANK];
    int64_t n_of[CTUNE_MAX_RANK], n_elems = 1, n_threads;
    lower_shared *copy = CTUNE_NEW(w->arena, lower_shared);
    if (copy == NULL) {
        return lower_fail(w);
    }
    *copy = (lower_shared){.read = read, .stmt = cache->stmt};
    for (int d = 0; d < access->n_idx; d++) {
        n_of[d] = ctune_nest_shared_extent(w->nest, c, d);
        extent[d] = ctune_loops_const(w->loops, n_of[d]);
        n_elems *= n_of[d];
        copy->base[d] = lower_let(w, ctune_arena_printf(w->arena, "%s_at", tensor->name),
                                  base_of(w, c, d), into);
    }
    /* the copy of one statement's tile is declared once, and made in each arm of it */
    copy->buffer =
        w->shared[c] != NULL
            ? w->shared[c]->buffer
            : ctune_loops_buffer(w->loops, ctune_arena_printf(w->arena, "%s_shared", tensor->name),
                                 tensor->type, CTUNE_SCOPE_SHARED, access->n_idx, extent);
    if (w->shared[c] == NULL) {
        ctune_lnode_prepend(w->block_body, ctune_lnode_decl(w->loops, copy->buffer));
    }
    w->shared[c] = copy;
    int q = ctune_loops_index_var(w->loops, "q");
    const ctune_aff *first = thread_number(w, &n_threads);
    ctune_lnode *loop = ctune_lnode_for(w->loops, q, first, ctune_loops_const(w->loops, n_elems),
                                        n_threads, CTUNE_LANN_SERIAL);
    ctune_lnode_append(into, loop);
    ctune_place here = {.is_buffer = true, .id = copy->buffer, .n_idx = access->n_idx};
    ctune_place there = {.id = access->tensor, .n_idx = access->n_idx};
    split_number(w, ctune_loops_var_aff(w->loops, q, 1, 0), n_of, access->n_idx, here.idx);
    for (int d = 0; d < access->n_idx; d++) {
        const ctune_aff *lo = NULL, *hi = NULL;
        ctune_status status = find_range(w, cache->stmt, read, d, &lo, &hi);
        if (status != CTUNE_OK) {
            return status;
        }
        there.idx[d] = ctune_aff_add(w->arena, copy->base[d], here.idx[d]);
        conds[2 * d] = ctune_aff_sub(w->arena, there.idx[d], lo);
        conds[2 * d + 1] =
            ctune_aff_add_const(w->arena, ctune_aff_sub(w->arena, hi, there.idx[d]), -1);
    }
    int n_conds = 0;
    for (int d = 0; d < access->n_idx; d++) { /* an index of the box is 0 at least */
        const ctune_aff *at = ctune_aff_sub(w->arena, conds[2 * d], here.idx[d]);
        if (at == NULL || !lower_is_certain(w, at)) {
            conds[n_conds++] = conds[2 * d];
        }
        conds[n_conds++] = conds[2 * d + 1];
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n_conds, NULL);
    ctune_lnode_append(loop, guard);
    ctune_lnode_append(guard,
                       ctune_lnode_store(w->loops, &here, ctune_value_load(w->loops, &there, 1)));
    return ctune_loops_status(w->loops);
}

ctune_status lower_shared_at(lowerer *w, int node, int kid, ctune_lnode *into) {
    ctune_status status = CTUNE_OK;
    for (int c = 0; c < w->nest->n_caches && status == CTUNE_OK; c++) {
        const ctune_cache *cache = &w->nest->cache[c];
        if (cache->kind == CTUNE_CACHE_SHARED && cache->at == node &&
            ctune_nest_is_ancestor(w->nest, kid, ctune_nest_find_stmt(w->nest, cache->stmt))) {
            status = make_copy(w, c, into);
        }
    }
    return status;
}

bool lower_shared_place(lowerer *w, int stmt, const ctune_expr *read, const ctune_place *tensor,
                        ctune_place *place) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        const lower_shared *copy = w->shared[c];
        if (copy == NULL || copy->stmt != stmt || copy->read != read) {
            continue;
        }
        *place = (ctune_place){.is_buffer = true, .id = copy->buffer, .n_idx = tensor->n_idx};
        for (int d = 0; d < tensor->n_idx; d++) {
            place->idx[d] = ctune_aff_sub(w->arena, tensor->idx[d], copy->base[d]);
        }
        return true;
    }
    return false;
}

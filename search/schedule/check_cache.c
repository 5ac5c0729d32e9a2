/*
 * Legality of caches: nothing may write what a pack has copied, or touch memory whose value lives
 * in registers, during one iteration of the loop at which the cache sits.
 *
 * Decided on tensors and index forms; where a tensor is written in the nest, on what the form knows
 * of its reads; where a statement reads other elements of its own target (lu, trmm), on the
 * direction vectors.
 */
#include "search/schedule/nest_ops.h"

#include <stdio.h>

#include "search/schedule/program.h"

static const ctune_stage *stage_of(const ctune_nest *nest, int stmt) {
    return &nest->region->stages[nest->form->tree->stmts[stmt].stage];
}

/* Leading dims of the statement that stand still during one iteration of loop `at`. */
static int n_fixed_dims(const ctune_nest *nest, int stmt, int at) {
    const ctune_stmt *s = &nest->form->tree->stmts[stmt];
    int n = 0;
    for (bool is_fixed = true; is_fixed && n < s->n_dims; n += is_fixed) {
        is_fixed = false;
        for (int up = at; up > 0; up = nest->node[up].parent) {
            const ctune_nnode *loop = &nest->node[up];
            is_fixed = is_fixed || (loop->kind == CTUNE_NN_LOOP && loop->sum < 0 &&
                                    loop->dim == s->dims[n] && loop->step == 1);
        }
    }
    return n;
}

/* Do statements inside the branch of the loop's body that holds `stmt` write the tensor?
 * *by_others: one of them in a place that the form does not know, or from a part of the body of the
 * tree's first n_fixed loops that does not hold stmt: a tile of a sum runs several parts. */
static bool is_written_under(const ctune_nest *nest, int tensor, int at, int stmt, int n_fixed,
                             bool *by_others) {
    int branch = ctune_nest_find_stmt(nest, stmt);
    while (branch > 0 && nest->node[branch].parent != at) {
        branch = nest->node[branch].parent;
    }
    bool is_written = false;
    *by_others = false;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT &&
            stage_of(nest, nest->node[i].stmt)->target.tensor == tensor &&
            ctune_nest_is_ancestor(nest, branch, i)) {
            is_written = true;
            const ctune_stmt *stmts = nest->form->tree->stmts;
            bool is_elsewhere =
                nest->node[i].stmt != stmt &&
                ctune_stmt_common(&stmts[stmt], &stmts[nest->node[i].stmt]) <= n_fixed;
            *by_others = *by_others || nest->node[i].placed >= 0 || is_elsewhere;
        }
    }
    return is_written;
}

bool ctune_nest_is_stable(const ctune_nest *nest, int stmt, int read, int at) {
    bool by_others;
    int tensor = stage_of(nest, stmt)->reads[read]->access.tensor;
    int n_fixed = n_fixed_dims(nest, stmt, at);
    if (!is_written_under(nest, tensor, at, stmt, n_fixed, &by_others)) {
        return true;
    }
    return !by_others && nest->form->stable != NULL &&
           nest->node[ctune_nest_find_stmt(nest, stmt)].placed < 0 &&
           nest->form->stable[stmt][read] <= n_fixed;
}

static const char *check_pack(const ctune_nest *nest, const ctune_cache *cache) {
    return ctune_nest_is_stable(nest, cache->stmt, cache->read, cache->at)
               ? NULL
               : "what is packed is written under the loop at which it is packed";
}

/* Bit d: the target's index depends on dim dims[d] of the statement. */
static uint32_t space_dims(const ctune_nest *nest, int i_stmt) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[i_stmt];
    const ctune_stage *stage = stage_of(nest, i_stmt);
    uint32_t mask = 0;
    for (int d = 0; d < stmt->n_dims; d++) {
        bool is_used = ctune_stmt_axes_move(nest->region, stmt, ~stage->reduce_mask, stmt->dims[d]);
        mask |= is_used ? 1u << d : 0;
    }
    return mask;
}

static bool is_space(const ctune_stmt *stmt, uint32_t mask, int dim) {
    for (int d = 0; d < stmt->n_dims; d++) {
        if (stmt->dims[d] == dim) {
            return mask >> d & 1;
        }
    }
    return false;
}

/* Is con + more (more may be NULL) exactly sign * (x - y) - c with c >= 1? Then "both >= 0" says
 * that x and y differ. */
static bool says_differ(const ctune_aff *con, const ctune_aff *more, const ctune_aff *x,
                        const ctune_aff *y, int sign) {
    const ctune_aff *all[4] = {con, x, y, more};
    for (int k = 0; k < 4 && all[k] != NULL; k++) {
        for (int t = 0; t < all[k]->n_terms; t++) {
            ctune_term_kind kind = all[k]->terms[t].kind;
            int id = all[k]->terms[t].id;
            int64_t sum =
                ctune_aff_coef(con, kind, id) + (more != NULL ? ctune_aff_coef(more, kind, id) : 0);
            if (sum != sign * (ctune_aff_coef(x, kind, id) - ctune_aff_coef(y, kind, id))) {
                return false;
            }
        }
    }
    return sign * (x->c0 - y->c0) - con->c0 - (more != NULL ? more->c0 : 0) >= 1;
}

/* From one constraint of the stage's domain, or the sum of two (k < i <= j)? */
static bool domain_says_differ(const ctune_stage *stage, const ctune_aff *x, const ctune_aff *y) {
    for (int c = 0; c < stage->n_cons; c++) {
        for (int d = c; d < stage->n_cons; d++) {
            const ctune_aff *more = d == c ? NULL : stage->cons[d];
            if (says_differ(stage->cons[c], more, x, y, 1) ||
                says_differ(stage->cons[c], more, x, y, -1)) {
                return true;
            }
        }
    }
    return false;
}

static bool differ_by_constant(const ctune_aff *x, const ctune_aff *y) {
    if (x->n_terms != y->n_terms || x->c0 == y->c0) {
        return false;
    }
    for (int t = 0; t < x->n_terms; t++) {
        if (x->terms[t].coef != ctune_aff_coef(y, x->terms[t].kind, x->terms[t].id)) {
            return false;
        }
    }
    return true;
}

/* Do the two accesses touch different elements in each single iteration of the stage? */
static bool is_distinct(const ctune_stage *stage, const ctune_access *a, const ctune_access *b) {
    for (int i = 0; i < a->n_idx; i++) {
        if (differ_by_constant(a->idx[i], b->idx[i]) ||
            domain_says_differ(stage, a->idx[i], b->idx[i])) {
            return true;
        }
    }
    return false;
}

/* Does the index move with a dim of the tile? */
static bool moves_with_tile(const ctune_nest *nest, const ctune_cache *cache, uint32_t space,
                            const ctune_aff *idx) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[cache->stmt];
    if (ctune_aff_has_kind(idx, CTUNE_TERM_DIV)) {
        return true;
    }
    for (int p = 0; p < stmt->n_dims; p++) {
        if ((space >> p & 1) && ctune_stmt_moves(nest->region, stmt, idx, stmt->dims[p])) {
            return true;
        }
    }
    return false;
}

/*
 * Apart from the whole tile: at one index the read does not move with the tile and the domain says
 * that it differs from the target. The tile's core runs over reduction values that are in the
 * domain of every point of the tile, so the read hits none of them; what is not core runs as plain
 * loops in the nest's own order.
 */
static bool is_apart(const ctune_nest *nest, const ctune_cache *cache, uint32_t space,
                     const ctune_access *read) {
    const ctune_stage *stage = stage_of(nest, cache->stmt);
    for (int i = 0; i < read->n_idx; i++) {
        if (!moves_with_tile(nest, cache, space, read->idx[i]) &&
            domain_says_differ(stage, read->idx[i], stage->target.idx[i])) {
            return true;
        }
    }
    return false;
}

/* Other elements of the target are read: in each iteration not the own one, and no other one of the
 * tile. */
static bool reads_stay_outside(const ctune_nest *nest, const ctune_cache *cache, uint32_t space) {
    const ctune_stage *stage = stage_of(nest, cache->stmt);
    bool reads_target = false;
    for (int r = 0; r < stage->n_reads; r++) {
        const ctune_access *access = &stage->reads[r]->access;
        if (access->tensor != stage->target.tensor) {
            continue;
        }
        if (is_apart(nest, cache, space, access)) {
            continue;
        }
        reads_target = true;
        if (!is_distinct(stage, access, &stage->target)) {
            return false;
        }
    }
    if (!reads_target) {
        return true;
    }
    for (int v = 0; v < nest->form->vecs.n; v++) {
        const ctune_depvec *vec = &nest->form->vecs.vec[v];
        bool moves = false;
        for (int d = 0; d < vec->n_common; d++) {
            moves = moves || ((space >> d & 1) && vec->sign[d] != CTUNE_SIGN_ZERO);
        }
        if (vec->src == cache->stmt && vec->dst == cache->stmt && moves &&
            !ctune_nest_is_carried(nest, vec, cache->at)) {
            return false;
        }
    }
    return true;
}

/* The most bytes of one register tile. What does not fit the registers, the compiler keeps on the
 * stack, whose size is the user's; a thread's may be a few hundred KiB. */
enum { MAX_TILE_BYTES = 256 << 10 };

static bool fits_stack(const ctune_nest *nest, const ctune_cache *cache, uint32_t space) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[cache->stmt];
    const ctune_tensor *target = &nest->region->tensors[stage_of(nest, cache->stmt)->target.tensor];
    int64_t bytes = ctune_type_get(target->type)->bytes;
    int node = ctune_nest_find_stmt(nest, cache->stmt);
    for (int up = node; up > 0 && up != cache->at && bytes <= MAX_TILE_BYTES;
         up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        if (loop->kind == CTUNE_NN_LOOP && is_space(stmt, space, loop->dim) && loop->outer >= 0 &&
            !ctune_ann_is_thread(loop->ann)) {
            bytes *= nest->node[loop->outer].step / loop->step; /* each is 1024 or less */
        }
    }
    return bytes <= MAX_TILE_BYTES;
}

static const char *check_register(const ctune_nest *nest, const ctune_cache *cache) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[cache->stmt];
    uint32_t space = space_dims(nest, cache->stmt);
    int node = ctune_nest_find_stmt(nest, cache->stmt);
    for (int up = node; up > 0 && up != cache->at; up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        bool has_others = loop->next >= 0 || nest->node[loop->parent].first != up;
        if (has_others && loop->parent != cache->at) {
            return "a register tile needs a perfect nest below its loop";
        }
        if (loop->kind == CTUNE_NN_LOOP &&
            (loop->sum >= 0 || ctune_stmt_is_block(nest->region, stmt, loop->dim))) {
            return "a register tile cannot hold a loop over a sum or over blocks";
        }
        if (loop->kind == CTUNE_NN_LOOP && is_space(stmt, space, loop->dim) &&
            loop->ann != CTUNE_ANN_UNROLL && loop->ann != CTUNE_ANN_VECTOR &&
            !ctune_ann_is_thread(loop->ann)) {
            return "loops over a register tile must be unrolled or vectorized";
        }
    }
    return !fits_stack(nest, cache, space) ? "a register tile of more than 256 KiB"
           : reads_stay_outside(nest, cache, space)
               ? NULL
               : "the statement may read elements of its own register tile";
}

bool ctune_nest_check_caches(const ctune_nest *nest, char *why, size_t why_size) {
    for (int c = 0; c < nest->n_caches; c++) {
        const ctune_cache *cache = &nest->cache[c];
        const char *wrong = cache->kind == CTUNE_CACHE_REGISTER ? check_register(nest, cache)
                                                                : check_pack(nest, cache);
        if (wrong != NULL) {
            if (why != NULL && why_size > 0) {
                snprintf(why, why_size, "%s", wrong);
            }
            return false;
        }
    }
    return true;
}

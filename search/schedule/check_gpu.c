/*
 * Nests on the GPU: which part is a launch, and what may be bound there.
 *
 * In: a nest with loops that are bound to blocks and threads. A launch is the outermost node that
 * is bound, or that has no bound loop inside (one thread runs it then); serial loops around it stay
 * on the host, one launch an iteration. Launches run one after the other, what is inside of one in
 * no order but each thread's own. So a dependence is safe when a loop of the host carries it, when
 * its ends are in different launches, or when one thread runs both: its ends stand in the same
 * bound loops and do not differ in their dims. Nothing synchronises threads but the copies of
 * shared caches, and those are made where all threads of a block come by.
 */
#include "search/schedule/nest_ops.h"

#include "search/schedule/program.h"

static bool is_loop(const ctune_nest *nest, int node) {
    return nest->node[node].kind == CTUNE_NN_LOOP;
}

static bool is_bound(const ctune_nest *nest, int node) {
    return is_loop(nest, node) && ctune_ann_is_bound(nest->node[node].ann);
}

bool ctune_nest_is_gpu(const ctune_nest *nest) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (is_bound(nest, i)) {
            return true;
        }
    }
    return false;
}

bool ctune_nest_is_host(const ctune_nest *nest, int node) {
    for (int up = node; up > 0; up = nest->node[up].parent) {
        if (is_bound(nest, up)) {
            return false;
        }
    }
    for (int i = 1; i < nest->n_nodes; i++) {
        if (is_bound(nest, i) && ctune_nest_is_ancestor(nest, node, i)) {
            return true;
        }
    }
    return node == 0;
}

int ctune_nest_launch(const ctune_nest *nest, int node) {
    int launch = -1;
    for (int up = node; up > 0 && !ctune_nest_is_host(nest, up); up = nest->node[up].parent) {
        launch = up;
    }
    return launch;
}

/* ---- dependences ----------------------------------------------------------------------------- */

/* Bit i: node i is a bound loop around the statement's node. */
static void bound_around(const ctune_nest *nest, int node, bool *out) {
    for (int i = 0; i < nest->n_nodes; i++) {
        out[i] = is_bound(nest, i) && ctune_nest_is_ancestor(nest, i, node);
    }
}

static bool stands_still(const ctune_nest *nest, const ctune_depvec *vec, int dim) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[vec->src];
    for (int d = 0; d < vec->n_common; d++) {
        if (stmt->dims[d] == dim) {
            int64_t min, max;
            ctune_depvec_range(vec, d, &min, &max);
            return min == 0 && max == 0;
        }
    }
    return false;
}

static bool check_vec(const ctune_nest *nest, const ctune_depvec *vec, char *why, size_t why_size) {
    int src = ctune_nest_find_stmt(nest, vec->src), dst = ctune_nest_find_stmt(nest, vec->dst);
    int launch = ctune_nest_launch(nest, src);
    if (launch != ctune_nest_launch(nest, dst) ||
        ctune_nest_is_carried(nest, vec, nest->node[launch].parent)) {
        return true;
    }
    bool a[CTUNE_NEST_NODES], b[CTUNE_NEST_NODES];
    bound_around(nest, src, a);
    bound_around(nest, dst, b);
    for (int i = 0; i < nest->n_nodes; i++) {
        if (a[i] != b[i]) {
            return ctune_nest_refuse(why, why_size,
                                     "a dependence between statements inside and outside of %s",
                                     nest->node[i].name);
        }
        if (a[i] && !stands_still(nest, vec, nest->node[i].dim)) {
            return ctune_nest_refuse(why, why_size, "a dependence crosses the %s loop %s",
                                     ctune_ann_name(nest->node[i].ann), nest->node[i].name);
        }
    }
    return true;
}

/* Two statements of a launch that write one array, in any order: by one thread each element, or
 * never. What order there is, dependences tell; free reductions have none. */
static bool check_writers(const ctune_nest *nest, char *why, size_t why_size) {
    const ctune_tree *tree = nest->form->tree;
    for (int x = 0; x < tree->n_stmts; x++) {
        for (int y = 0; y < x; y++) {
            const ctune_stage *s = &nest->region->stages[tree->stmts[x].stage];
            const ctune_stage *t = &nest->region->stages[tree->stmts[y].stage];
            bool a[CTUNE_NEST_NODES], b[CTUNE_NEST_NODES];
            int i = ctune_nest_find_stmt(nest, x), k = ctune_nest_find_stmt(nest, y);
            if (s->target.tensor != t->target.tensor || s->update == CTUNE_UPDATE_SET ||
                t->update == CTUNE_UPDATE_SET ||
                ctune_nest_launch(nest, i) != ctune_nest_launch(nest, k)) {
                continue;
            }
            bound_around(nest, i, a);
            bound_around(nest, k, b);
            for (int n = 0; n < nest->n_nodes; n++) {
                if (a[n] != b[n]) {
                    return ctune_nest_refuse(why, why_size,
                                             "statements inside and outside of %s update one array",
                                             nest->node[n].name);
                }
            }
        }
    }
    return true;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static int64_t threads_of(const ctune_nest *nest, int launch) {
    int64_t trips[3] = {1, 1, 1};
    for (int i = 1; i < nest->n_nodes; i++) {
        if (is_loop(nest, i) && ctune_ann_is_thread(nest->node[i].ann) &&
            ctune_nest_is_ancestor(nest, launch, i)) {
            int64_t trip = ctune_nest_trip(nest, i);
            int64_t *most = &trips[nest->node[i].ann - CTUNE_ANN_THREAD_X];
            *most = trip > *most ? trip : *most;
        }
    }
    return trips[0] * trips[1] * trips[2]; /* each is 1024 at most */
}

static bool check_threads(const ctune_nest *nest, int launch, char *why, size_t why_size) {
    int64_t n = threads_of(nest, launch);
    for (int i = 1; i < nest->n_nodes; i++) {
        if (is_loop(nest, i) && nest->node[i].ann == CTUNE_ANN_THREAD_Z &&
            ctune_nest_trip(nest, i) > 64) {
            return ctune_nest_refuse(why, why_size, "over 64 threads along z");
        }
    }
    return n <= CTUNE_MAX_BLOCK_THREADS ||
           ctune_nest_refuse(why, why_size, "a block of %lld threads: 1024 are the most",
                             (long long)n);
}

/* ---- shared copies --------------------------------------------------------------------------- */

int64_t ctune_nest_shared_range(const ctune_nest *nest, int c, int dim, int *node, int64_t *low) {
    const ctune_cache *cache = &nest->cache[c];
    *node = -1;
    *low = 0;
    for (int up = cache->at; up > 0; up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        if (loop->kind == CTUNE_NN_LOOP && loop->dim == dim && loop->sum < 0 &&
            !ctune_ann_is_thread(loop->ann)) {
            *node = up;
            return loop->step;
        }
    }
    int64_t hi;
    bool is_const =
        ctune_stmt_const_range(&nest->form->tree->stmts[cache->stmt], dim, low, &hi) && hi >= *low;
    return is_const ? hi - *low + 1 : 0;
}

int64_t ctune_nest_shared_extent(const ctune_nest *nest, int c, int d) {
    const ctune_cache *cache = &nest->cache[c];
    const ctune_stmt *stmt = &nest->form->tree->stmts[cache->stmt];
    const ctune_access *access = &nest->region->stages[stmt->stage].reads[cache->read]->access;
    int64_t extent = 1;
    if (ctune_aff_has_kind(access->idx[d], CTUNE_TERM_DIV)) {
        return 0;
    }
    for (int p = 0; p < stmt->n_dims; p++) {
        int64_t coef = ctune_stmt_coef(nest->region, stmt, access->idx[d], stmt->dims[p]), low;
        int node;
        int64_t count =
            coef == 0 ? 1 : ctune_nest_shared_range(nest, c, stmt->dims[p], &node, &low);
        coef = coef < 0 ? -coef : coef;
        if (count == 0 || __builtin_mul_overflow(coef, count - 1, &coef) ||
            __builtin_add_overflow(extent, coef, &extent)) {
            return 0;
        }
    }
    return extent;
}

static int64_t shared_bytes(const ctune_nest *nest, int c) {
    const ctune_cache *cache = &nest->cache[c];
    const ctune_stmt *stmt = &nest->form->tree->stmts[cache->stmt];
    const ctune_access *access = &nest->region->stages[stmt->stage].reads[cache->read]->access;
    int64_t bytes = ctune_type_get(nest->region->tensors[access->tensor].type)->bytes;
    for (int d = 0; d < access->n_idx; d++) {
        if (__builtin_mul_overflow(bytes, ctune_nest_shared_extent(nest, c, d), &bytes)) {
            return INT64_MAX;
        }
    }
    return bytes;
}

/* A copy is a box: it may hold elements that nobody reads, and another block may write. */
static bool is_written_in(const ctune_nest *nest, int launch, int tensor) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && ctune_nest_is_ancestor(nest, launch, i)) {
            const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[i].stmt];
            if (nest->region->stages[stmt->stage].target.tensor == tensor) {
                return true;
            }
        }
    }
    return false;
}

static bool check_shared(const ctune_nest *nest, int c, char *why, size_t why_size) {
    const ctune_cache *cache = &nest->cache[c];
    const ctune_stmt *stmt = &nest->form->tree->stmts[cache->stmt];
    const ctune_access *access = &nest->region->stages[stmt->stage].reads[cache->read]->access;
    bool is_in_block = false;
    for (int up = cache->at; up > 0; up = nest->node[up].parent) {
        if (ctune_ann_is_thread(nest->node[up].ann)) {
            return ctune_nest_refuse(why, why_size,
                                     "a shared copy must stand outside the threads' loops");
        }
        is_in_block = is_in_block || ctune_ann_is_block(nest->node[up].ann);
    }
    const ctune_tensor *tensor = &nest->region->tensors[access->tensor];
    if (!is_in_block || access->n_idx == 0 || tensor->is_temp) {
        return ctune_nest_refuse(why, why_size,
                                 "a shared copy is made of an array, inside a loop over blocks");
    }
    if (is_written_in(nest, ctune_nest_launch(nest, cache->at), access->tensor)) {
        return ctune_nest_refuse(why, why_size,
                                 "what is copied to shared memory is written by the same launch");
    }
    int64_t bytes = shared_bytes(nest, c);
    return bytes > 0 || ctune_nest_refuse(why, why_size, "a shared copy whose size is no constant");
}

static bool check_caches(const ctune_nest *nest, int launch, char *why, size_t why_size) {
    int64_t bytes = 0;
    for (int c = 0; c < nest->n_caches; c++) {
        const ctune_cache *cache = &nest->cache[c];
        if (cache->kind == CTUNE_CACHE_PACK) {
            return ctune_nest_refuse(why, why_size, "packs are for the CPU");
        }
        if (cache->kind == CTUNE_CACHE_REGISTER && ctune_nest_launch(nest, cache->at) < 0) {
            return ctune_nest_refuse(why, why_size, "a register tile must be inside a launch");
        }
        if (cache->kind != CTUNE_CACHE_SHARED) {
            continue;
        }
        if (!check_shared(nest, c, why, why_size)) {
            return false;
        }
        int64_t own = shared_bytes(nest, c);
        bool is_here = ctune_nest_is_ancestor(nest, launch, cache->at);
        if (own > CTUNE_MAX_SHARED_BYTES || (is_here && (bytes += own) > CTUNE_MAX_SHARED_BYTES)) {
            return ctune_nest_refuse(why, why_size, "over %d bytes of shared memory",
                                     CTUNE_MAX_SHARED_BYTES);
        }
    }
    return true;
}

/* What a GPU does not have. */
static bool check_words(const ctune_nest *nest, char *why, size_t why_size) {
    if (nest->n_skews > 0) {
        return ctune_nest_refuse(why, why_size, "no skewed array is on a GPU");
    }
    if (nest->n_sums > 0) {
        return ctune_nest_refuse(why, why_size, "no loop over a sum runs on a GPU");
    }
    for (int i = 1; i < nest->n_nodes; i++) {
        const ctune_nnode *node = &nest->node[i];
        if (node->kind == CTUNE_NN_STMT && (node->placed >= 0 || node->is_streamed)) {
            return ctune_nest_refuse(why, why_size,
                                     "no placed or streamed statement runs on a GPU");
        }
        if (is_loop(nest, i) &&
            (ctune_ann_is_spread(node->ann) && !ctune_ann_is_bound(node->ann))) {
            return ctune_nest_refuse(why, why_size, "a nest on a GPU has no %s loop",
                                     ctune_ann_name(node->ann));
        }
    }
    return true;
}

bool ctune_nest_check_gpu(const ctune_nest *nest, char *why, size_t why_size) {
    if (!ctune_nest_is_gpu(nest)) {
        for (int c = 0; c < nest->n_caches; c++) {
            if (nest->cache[c].kind == CTUNE_CACHE_SHARED) {
                return ctune_nest_refuse(why, why_size, "a shared copy without loops over blocks");
            }
        }
        return true;
    }
    if (!check_words(nest, why, why_size) || !check_writers(nest, why, why_size)) {
        return false;
    }
    for (int v = 0; v < nest->form->vecs.n; v++) {
        if (!check_vec(nest, &nest->form->vecs.vec[v], why, why_size)) {
            return false;
        }
    }
    for (int i = 1; i < nest->n_nodes; i++) {
        if (ctune_nest_launch(nest, i) == i &&
            (!check_threads(nest, i, why, why_size) || !check_caches(nest, i, why, why_size))) {
            return false;
        }
    }
    return true;
}

/*
 * The memory part of the estimate: bytes that cross each cache level.
 *
 * Footprints: the box that a group of references touches during one execution of a level, in whole
 * lines. A cache holds what one iteration of a loop touches when the sum over all tensors fits;
 * then data are reused from one iteration to the next. So a group is fetched once per execution of
 * the outermost loop whose iterations fit. Tensors shared by statements count once per loop. Rows
 * whose distance is a multiple of the page size fight for the same sets of L1: a group of more such
 * rows than there are ways does not stay.
 */
#include "search/estimate/estimate_private.h"

#include <math.h>
#include <string.h>

static const ctune_tensor *tensor_of(const est_state *s, int id) {
    return &s->nest->region->tensors[id];
}

static double extent_of(const est_state *s, int tensor, int d) {
    const ctune_aff *extent = tensor_of(s, tensor)->extent[d];
    return extent == NULL ? INFINITY
                          : (double)ctune_aff_eval(s->nest->region, extent, NULL, s->params);
}

int64_t est_row_bytes(const est_state *s, int tensor) {
    const ctune_tensor *t = tensor_of(s, tensor);
    double extent = t->rank < 2 ? 0 : extent_of(s, tensor, t->rank - 1);
    return extent > 0 && extent < 1e12 ? (int64_t)extent * t->elem_stride_bytes : 0;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Elements that the reference spans along one index at a level. */
static double index_range(const est_state *s, const est_path *path, const est_ref *ref, int d,
                          int level) {
    double range = 1 + ref->spread[d];
    for (int p = 0; p < path->stmt->n_dims; p++) {
        range += fabs(ref->coef[d][p]) * (path->cover[level][p] - 1);
    }
    return fmin(range, fmax(extent_of(s, ref->tensor, d), 1));
}

static double n_elements(const est_state *s, const est_path *path, const est_ref *ref, int level) {
    double n = 1;
    for (int d = 0; d < ref->rank; d++) {
        n *= index_range(s, path, ref, d, level);
    }
    return n;
}

static void footprint(const est_state *s, const est_path *path, const est_ref *ref, int level,
                      double *bytes, double *conflicting) {
    double line = s->machine->line_bytes, rows = 1, run;
    int stride = tensor_of(s, ref->tensor)->elem_stride_bytes, last = ref->rank - 1;
    if (ref->rank == 0) {
        *bytes = *conflicting = line;
        return;
    }
    for (int d = 0; d < last; d++) {
        rows *= index_range(s, path, ref, d, level);
    }
    run = index_range(s, path, ref, last, level);
    if (rows > 1 && run >= extent_of(s, ref->tensor, last) * 0.99) {
        *bytes = *conflicting = rows * run * stride; /* rows join */
        return;
    }
    double row = (floor((run * stride - 1) / line) + 1) * line;
    *bytes = rows * row;
    double apart = rows > 1 ? (double)gcd(est_row_bytes(s, ref->tensor), 4096) : 0;
    *conflicting = rows * (apart > row ? apart : row);
}

static est_group *group_new(est_state *s, const est_path *path, int tensor, bool is_written) {
    if (s->n_groups == EST_MAX_GROUPS) {
        return NULL;
    }
    est_group *g = &s->group[s->n_groups++];
    g->tensor = tensor;
    g->is_written = is_written;
    g->first = 0;
    g->last = path->n;
    g->resident = -1;
    g->path = path;
    return g;
}

static void group_fill(const est_state *s, est_group *g, const est_ref *ref) {
    const est_path *path = g->path;
    for (int k = 0; k <= g->path->n; k++) {
        bool is_same = k > 0 && !(ref->mask >> path->pos[k - 1] & 1);
        if (is_same) {
            g->bytes[k] = g->bytes[k - 1];
            g->conflicting[k] = g->conflicting[k - 1];
        } else {
            footprint(s, path, ref, k, &g->bytes[k], &g->conflicting[k]);
        }
    }
}

/* ---- packs ----------------------------------------------------------------------------------- */

/* Level of one iteration of the loop at which a cache sits. */
static int level_of(const est_path *path, int at) {
    for (int k = 0; k < path->n; k++) {
        if (path->node[k] == at) {
            return k + 1;
        }
    }
    return 0;
}

/* A packed read: a source that is read when copying, a dense buffer that the kernel reads.
 * Returns the cycles of the copying. */
static double add_pack(est_state *s, const est_path *path, const est_ref *ref, int at) {
    int level = level_of(path, at), elem = ctune_type_get(tensor_of(s, ref->tensor)->type)->bytes;
    double n_elems = n_elements(s, path, ref, level);
    est_group *source = group_new(s, path, ref->tensor, false);
    if (source != NULL) {
        source->last = level;
        group_fill(s, source, ref);
    }
    /* a buffer is no tensor of the region: ids from n_tensors up keep buffers apart */
    est_group *buffer = group_new(s, path, s->nest->region->n_tensors + s->n_groups, false);
    if (buffer != NULL) {
        buffer->resident = level;
        for (int k = 0; k <= path->n; k++) {
            bool is_outside = k <= level;
            buffer->bytes[k] = (is_outside ? n_elems : n_elements(s, path, ref, k)) * elem;
            buffer->conflicting[k] = buffer->bytes[k];
        }
    }
    int inner = path->n > 0 ? path->pos[path->n - 1] : -1;
    bool is_straight = inner < 0 || est_ref_stride(ref, inner) == 1;
    double cycles_per_elem = is_straight ? 2.0 * elem / s->machine->vector_bytes + 0.05 : 1.0;
    return path->entries[level] * n_elems * cycles_per_elem / path->threads;
}

/* ---- groups of a statement ------------------------------------------------------------------- */

/* Loop node at which a read is packed, 0 for the whole nest, -1 when it is not packed. */
static int pack_of(const est_path *path, int read) {
    for (int c = 0; c < path->nest->n_caches; c++) {
        const ctune_cache *cache = &path->nest->cache[c];
        if (cache->kind == CTUNE_CACHE_PACK && cache->stmt == path->i_stmt && cache->read == read) {
            return cache->at;
        }
    }
    return -1;
}

/* The same coefficients: neighbours in a stencil. Widens a by b's constants. */
static bool ref_merge(const est_path *path, est_ref *a, const est_ref *b) {
    if (a->tensor != b->tensor || a->mask != b->mask) {
        return false;
    }
    for (int d = 0; d < a->rank; d++) {
        for (int p = 0; p < path->stmt->n_dims; p++) {
            if (a->coef[d][p] != b->coef[d][p]) {
                return false;
            }
        }
    }
    for (int d = 0; d < a->rank; d++) {
        double apart = fabs((double)b->access->idx[d]->c0 - (double)a->access->idx[d]->c0);
        a->spread[d] = fmax(a->spread[d], apart);
    }
    return true;
}

double est_memory_add(est_state *s, const est_path *path) {
    enum { MAX_REFS = 24 };
    est_ref refs[MAX_REFS];
    double copy_cycles = 0;
    int n = 1;
    est_ref_init(&refs[0], path, &path->stage->target);
    for (int r = 0; r < path->stage->n_reads && n < MAX_REFS; r++) {
        int at = pack_of(path, r);
        est_ref_init(&refs[n], path, &path->stage->reads[r]->access);
        if (at >= 0) {
            copy_cycles += add_pack(s, path, &refs[n], at);
            continue;
        }
        bool is_merged = false;
        for (int k = 0; k < n && !is_merged; k++) {
            is_merged = ref_merge(path, &refs[k], &refs[n]);
        }
        n += !is_merged;
    }
    for (int k = 0; k < n; k++) {
        if (tensor_of(s, refs[k].tensor)->is_temp && tensor_of(s, refs[k].tensor)->is_scalar_var) {
            continue; /* lives in registers */
        }
        est_group *g = group_new(s, path, refs[k].tensor, k == 0);
        if (g != NULL) {
            int tile = k == 0 ? est_register_level(path) : -1;
            g->last = tile >= 0 ? tile : g->last;
            group_fill(s, g, &refs[k]);
        }
    }
    return copy_cycles;
}

/* ---- traffic --------------------------------------------------------------------------------- */

static int node_at(const est_path *path, int level) {
    return level == 0 ? 0 : path->node[level - 1];
}

/* total[node]: bytes that one iteration of the loop touches, tensors counted once. */
static void sum_footprints(const est_state *s, double *total) {
    double most[CTUNE_NEST_NODES];
    uint8_t is_done[EST_MAX_GROUPS] = {0};
    size_t n_bytes = (size_t)s->nest->n_nodes * sizeof *total;
    memset(total, 0, n_bytes);
    for (int i = 0; i < s->n_groups; i++) {
        if (is_done[i]) {
            continue;
        }
        memset(most, 0, n_bytes);
        for (int j = i; j < s->n_groups; j++) {
            const est_group *g = &s->group[j];
            if (g->tensor != s->group[i].tensor) {
                continue;
            }
            is_done[j] = 1;
            for (int k = 0; k <= g->last; k++) {
                int node = node_at(g->path, k);
                most[node] = fmax(most[node], g->bytes[k]);
            }
        }
        for (int k = 0; k < s->nest->n_nodes; k++) {
            total[k] += most[k];
        }
    }
}

/* Bytes that a group brings into a cache of that size; sets: what its rows may take when they
 * share sets. *node: per execution of which loop, for sharing. */
static double group_traffic(const est_group *g, const double *total, double size, double sets,
                            int *node) {
    const est_path *path = g->path;
    int fit = 0;
    while (fit <= path->n && (total[node_at(path, fit)] > size || g->conflicting[fit] > sets)) {
        fit++;
    }
    if (fit <= g->resident) {
        *node = -1;
        return 0;
    }
    /* iterations of the loop at `fit` share the cache: one execution of the level around it is
     * one fetch */
    int level = fit == 0 ? 0 : fit - 1;
    level = level > g->last ? g->last : level;
    *node = node_at(path, level);
    double bytes = g->bytes[level] * path->entries[level] * (g->is_written ? 2 : 1);
    return fit == 0 ? bytes * 0.1 : bytes; /* all of it stays from one run to the next */
}

double est_memory_traffic(const est_state *s, int c) {
    double total[CTUNE_NEST_NODES], most[CTUNE_NEST_NODES], sum = 0;
    uint8_t is_done[EST_MAX_GROUPS] = {0};
    double size = s->machine->cache_bytes[c] * (c == 0 ? 0.9 : 0.75);
    double sets =
        c == 0 ? s->machine->cache_bytes[0] : INFINITY; /* pages are spread over L2's sets */
    sum_footprints(s, total);
    for (int i = 0; i < s->n_groups; i++) {
        if (is_done[i]) {
            continue;
        }
        memset(most, 0, (size_t)s->nest->n_nodes * sizeof *most);
        for (int j = i; j < s->n_groups; j++) {
            const est_group *g = &s->group[j];
            int node;
            if (g->tensor != s->group[i].tensor) {
                continue;
            }
            is_done[j] = 1;
            double bytes =
                group_traffic(g, total, size, sets, &node) / (c < 2 ? g->path->threads : 1);
            if (node >= 0) {
                most[node] = fmax(most[node], bytes);
            }
        }
        for (int k = 0; k < s->nest->n_nodes; k++) {
            sum += most[k];
        }
    }
    return sum;
}

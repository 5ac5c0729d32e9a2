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
#include "search/estimate/analysis.h"

#include <math.h>
#include <string.h>

static const ctune_tensor *tensor_of(const est_state *s, int id) {
    return &s->nest->region->tensors[id];
}

double est_extent(const est_state *s, int tensor, int d) {
    if (tensor < EST_MAX_TENSORS) {
        return s->extent[tensor][d];
    }
    const ctune_aff *extent = tensor_of(s, tensor)->extent[d];
    return extent == NULL ? INFINITY
                          : (double)ctune_aff_eval(s->nest->region, extent, NULL, s->params);
}

int64_t est_row_bytes(const est_state *s, int tensor) {
    const ctune_tensor *t = tensor_of(s, tensor);
    double extent = t->rank < 2 ? 0 : est_extent(s, tensor, t->rank - 1);
    return extent > 0 && extent < 1e12 ? (int64_t)extent * t->elem_stride_bytes : 0;
}

/* Greatest common divisor with the page size: rows so far apart start in every so many sets. */
static double set_distance(int64_t row_bytes) {
    int64_t lowest_bit = row_bytes & -row_bytes;
    return row_bytes == 0 || lowest_bit > 4096 ? 4096 : (double)lowest_bit;
}

double est_index_range(const est_state *s, const est_path *path, const est_ref *ref, int d,
                       int level) {
    double range = 1 + ref->spread[d];
    for (int p = 0; p < path->stmt->n_dims; p++) {
        range += fabs(ref->coef[d][p]) * (path->cover[level][p] - 1);
    }
    return est_min(range, est_max(est_extent(s, ref->tensor, d), 1));
}

static double n_elements(const est_state *s, const est_path *path, const est_ref *ref, int level) {
    double n = 1;
    for (int d = 0; d < ref->rank; d++) {
        n *= est_index_range(s, path, ref, d, level);
    }
    return n;
}

/* range [rank]: what it spans along each index */
static void footprint(const est_state *s, const est_ref *ref, const double *range, double *bytes,
                      double *conflicting) {
    double line = CTUNE_LINE_BYTES, rows = 1, run;
    int stride = tensor_of(s, ref->tensor)->elem_stride_bytes, last = ref->rank - 1;
    if (ref->rank == 0) {
        *bytes = *conflicting = line;
        return;
    }
    for (int d = 0; d < last; d++) {
        rows *= range[d];
    }
    run = range[last];
    if (rows > 1 && run >= est_extent(s, ref->tensor, last) * 0.99) {
        *bytes = *conflicting = rows * run * stride; /* rows join */
        return;
    }
    double row = (floor((run * stride - 1) / line) + 1) * line;
    *bytes = rows * row;
    double apart = rows > 1 ? set_distance(est_row_bytes(s, ref->tensor)) : 0;
    *conflicting = rows * (apart > row ? apart : row);
}

static est_group *group_new(est_state *s, const est_path *path, int tensor, bool is_written) {
    if (s->n_groups == EST_MAX_GROUPS) {
        return NULL;
    }
    est_group *g = &s->group[s->n_groups];
    g->tensor = tensor;
    g->next = -1;
    g->is_head = true;
    for (int i = s->n_groups - 1; i >= 0 && tensor < s->nest->region->n_tensors; i--) {
        if (s->group[i].tensor == tensor) {
            s->group[i].next = (int16_t)s->n_groups;
            g->is_head = false;
            break;
        }
    }
    s->n_groups++;
    g->is_written = is_written;
    g->is_streamed = false;
    g->elem_bytes = 0;
    g->first = 0;
    g->last = path->n;
    g->resident = -1;
    g->path = path;
    return g;
}

static void group_fill(const est_state *s, est_group *g, const est_ref *ref) {
    const est_path *path = g->path;
    double range[CTUNE_MAX_RANK];
    bool leans = path->nest->n_sums > 0; /* then a loop changes what other dims cover, too */
    for (int k = 0; k <= g->path->n; k++) {
        int pos = k > 0 ? path->pos[k - 1] : -1;
        if (k > 0 && !leans && !(ref->mask >> pos & 1)) {
            g->bytes[k] = g->bytes[k - 1];
            g->conflicting[k] = g->conflicting[k - 1];
            continue;
        }
        for (int d = 0; d < ref->rank; d++) {
            if (k == 0 || leans || ref->coef[d][pos] != 0) {
                range[d] = est_index_range(s, path, ref, d, k);
            }
        }
        footprint(s, ref, range, &g->bytes[k], &g->conflicting[k]);
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
static double add_pack(est_state *s, const est_path *path, est_ref *ref, int at) {
    int level = level_of(path, at), elem = ctune_type_get(tensor_of(s, ref->tensor)->type)->bytes;
    double n_elems = n_elements(s, path, ref, level);
    est_group *source = group_new(s, path, ref->tensor, false);
    if (source != NULL) {
        ref->source = (int16_t)(s->n_groups - 1);
        source->last = level;
        group_fill(s, source, ref);
    }
    /* a buffer is no tensor of the region: ids from n_tensors up keep buffers apart */
    est_group *buffer = group_new(s, path, s->nest->region->n_tensors + s->n_groups, false);
    if (buffer != NULL) {
        ref->group = (int16_t)(s->n_groups - 1);
        buffer->resident = level;
        for (int k = 0; k <= path->n; k++) {
            bool is_outside = k <= level;
            buffer->bytes[k] = (is_outside ? n_elems : n_elements(s, path, ref, k)) * elem;
            buffer->conflicting[k] = buffer->bytes[k];
        }
    }
    int inner = path->n > 0 ? path->pos[path->n - 1] : -1;
    bool is_straight = inner < 0 || est_ref_stride(ref, inner) == 1;
    bool is_turned = false; /* blocks of rows become columns in registers */
    for (int pos = 0; pos < path->stmt->n_dims; pos++) {
        is_turned = is_turned || (elem >= 4 && est_ref_stride(ref, pos) == 1);
    }
    double cycles_per_elem = is_straight ? 2.0 * elem / s->target->vector_bytes + 0.05
                             : is_turned ? 0.1 * elem
                                         : 1.0;
    return path->entries[level] * n_elems * cycles_per_elem / path->threads;
}

/* A temporary: further out than its scope there is no more of it than one iteration there holds. */
static void stay_in_buffer(est_group *g, int level) {
    g->resident = level;
    for (int k = 0; k < level; k++) {
        g->bytes[k] = g->bytes[level];
        g->conflicting[k] = g->conflicting[level];
    }
}

/* ---- groups of a statement ------------------------------------------------------------------- */

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
        a->spread[d] = est_max(a->spread[d], apart);
    }
    return true;
}

static bool is_streamed(const est_state *s, const est_path *path) {
    int node = ctune_nest_find_stmt(s->nest, path->i_stmt);
    return node >= 0 && s->nest->node[node].is_streamed;
}

double est_memory_add(est_state *s, const est_path *path) {
    enum { MAX_HEADS = 24 };
    est_ref *refs = &s->ref[path->first_ref];
    int head[MAX_HEADS]; /* references that stand for those merged into them */
    int16_t head_of[EST_MAX_REFS];
    double copy_cycles = 0;
    int n = 1, n_refs = path->n_refs;
    head[0] = head_of[0] = 0;
    for (int r = 1; r < n_refs; r++) {
        int at = est_pack_node(path, r - 1);
        head_of[r] = -1;
        if (n == MAX_HEADS) {
            continue;
        }
        if (at >= 0) {
            copy_cycles += add_pack(s, path, &refs[r], at);
            continue;
        }
        for (int k = 0; k < n && head_of[r] < 0; k++) {
            head_of[r] = ref_merge(path, &refs[head[k]], &refs[r]) ? (int16_t)k : -1;
        }
        if (head_of[r] < 0) {
            head_of[r] = (int16_t)n;
            head[n++] = r;
        }
    }
    for (int k = 0; k < n; k++) {
        est_ref *ref = &refs[head[k]];
        if (est_is_register(s, ref->tensor)) {
            continue;
        }
        est_group *g = group_new(s, path, ref->tensor, k == 0);
        if (g != NULL) {
            int tile = k == 0 ? est_register_level(path) : -1;
            g->last = tile >= 0 ? tile : g->last;
            g->is_streamed = k == 0 && is_streamed(s, path);
            g->elem_bytes = tensor_of(s, ref->tensor)->elem_stride_bytes;
            group_fill(s, g, ref);
            if (ref->tensor < EST_MAX_TENSORS && s->scope[ref->tensor] >= 0) {
                stay_in_buffer(g, est_scope_level(s, path, ref->tensor));
            }
            ref->group = (int16_t)(s->n_groups - 1);
        }
    }
    for (int r = 1; r < n_refs; r++) {
        refs[r].group = head_of[r] < 0 ? refs[r].group : refs[head[head_of[r]]].group;
    }
    return copy_cycles;
}

/* ---- traffic --------------------------------------------------------------------------------- */

static int node_at(const est_path *path, int level) {
    return level == 0 ? path->top : path->node[level - 1];
}

/* Adds the largest of the levels' bytes over groups of one tensor, node by node. */
static void sum_tensor(est_state *s, const est_group *head) {
    double most[CTUNE_NEST_NODES];
    memset(most, 0, (size_t)s->nest->n_nodes * sizeof *most);
    for (const est_group *g = head; g != NULL; g = g->next < 0 ? NULL : &s->group[g->next]) {
        for (int k = 0; k <= g->last; k++) {
            int node = node_at(g->path, k);
            most[node] = est_max(most[node], g->bytes[k]);
        }
    }
    for (int k = 0; k < s->nest->n_nodes; k++) {
        s->footprint[k] += most[k];
    }
}

void est_memory_sum(est_state *s) {
    memset(s->footprint, 0, (size_t)s->nest->n_nodes * sizeof *s->footprint);
    for (int i = 0; i < s->n_groups; i++) {
        const est_group *g = &s->group[i];
        if (!g->is_head) {
            continue;
        }
        if (g->next >= 0) {
            sum_tensor(s, g);
            continue;
        }
        for (int k = 0; k <= g->last; k++) {
            s->footprint[node_at(g->path, k)] += g->bytes[k];
        }
    }
}

/* Bytes that a group brings into a cache of that size; sets: what its rows may take when they
 * share sets. *node: per execution of which loop, for sharing. */
static double group_traffic(const est_group *g, const double *total, double size, double sets,
                            int *node) {
    const est_path *path = g->path;
    int fit = 0;
    if (g->is_streamed) { /* each store leaves the core; nothing is fetched for it */
        *node = node_at(path, path->n);
        return path->entries[path->n] * g->elem_bytes;
    }
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
    return fit == 0 && path->top == 0 ? bytes * 0.1
                                      : bytes; /* all of it stays from one run to the next */
}

/* Traffic of all groups of one tensor: of those fetched per execution of one loop the largest. */
static double tensor_traffic(est_state *s, est_group *head, int c, double size, double sets) {
    int node[EST_MAX_GROUPS], n = 0;
    double most[EST_MAX_GROUPS], sum = 0;
    for (est_group *g = head; g != NULL; g = g->next < 0 ? NULL : &s->group[g->next]) {
        int at, i = 0;
        double bytes = group_traffic(g, s->footprint, size, sets, &at);
        g->traffic[c] = bytes / (c < 2 ? g->path->threads : 1);
        while (i < n && node[i] != at) {
            i++;
        }
        if (i == n && at >= 0) {
            node[n] = at;
            most[n++] = g->traffic[c];
        } else if (at >= 0) {
            most[i] = est_max(most[i], g->traffic[c]);
        }
    }
    for (int i = 0; i < n; i++) {
        sum += most[i];
    }
    return sum;
}

double est_memory_traffic(est_state *s, int c) {
    double sum = 0;
    double size = (double)s->target->cache_bytes[c] * (c == 0 ? 0.9 : 0.75);
    double sets =
        c == 0 ? (double)s->target->cache_bytes[0] : INFINITY; /* pages are spread over L2's sets */
    for (int i = 0; i < s->n_groups; i++) {
        if (s->group[i].is_head) {
            sum += tensor_traffic(s, &s->group[i], c, size, sets);
        }
    }
    return sum;
}

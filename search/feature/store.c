/*
 * The store group, after Ansor: operations of the hottest statement, bytes, lines and reuse of its
 * five costliest buffers, the curve of arithmetic intensity, copies that are packed, sums over all
 * statements.
 */
#include "search/feature/feature_private.h"

#define OPS_TABLE(X)                                                                               \
    X(ADD, "ops.add") /* log2 of operations over all iterations */                                 \
    X(MUL, "ops.mul")                                                                              \
    X(DIV, "ops.div")                                                                              \
    X(COMPARE, "ops.compare")                                                                      \
    X(CALL, "ops.call")                                                                            \
    X(CAST, "ops.cast")                                                                            \
    X(INTEGER, "ops.integer")                                                                      \
    X(PER_INSTANCE, "ops.per_instance")                                                            \
    X(IS_UPDATE, "ops.is_update")                                                                  \
    X(N_READS, "ops.reads")                                                                        \
    X(N_BUFFERS, "ops.buffers")

enum {
#define X(id, name) OPS_##id,
    OPS_TABLE(X)
#undef X
        N_OPS
};

#define BUFFER_TABLE(X, p)                                                                         \
    X(p, ACCESS, "access") /* 1 read, 2 write, 3 both, 0 no such buffer */                         \
    X(p, PACK, "pack")                                                                             \
    X(p, N_REFS, "refs")                                                                           \
    X(p, BYTES, "bytes")                                                                           \
    X(p, UNIQUE, "unique_bytes")                                                                   \
    X(p, LINES, "lines")                                                                           \
    X(p, UNIQUE_LINES, "unique_lines")                                                             \
    X(p, REUSE_KIND, "reuse.kind")        /* 1 by a loop, 2 by other references, 0 none */         \
    X(p, REUSE_ITERS, "reuse.iterations") /* between two uses */                                   \
    X(p, REUSE_L1, "reuse.bytes_vs_l1")   /* all that is touched between them */                   \
    X(p, REUSE_L2, "reuse.bytes_vs_l2")                                                            \
    X(p, REUSE_COUNT, "reuse.count")                                                               \
    X(p, LINES_PER_REUSE, "reuse.lines_per_use")                                                   \
    X(p, STRIDE, "stride") /* bytes, of the innermost loop that moves it */                        \
    X(p, VECTOR, "vector") /* along the vector or innermost dim: 0 still, 1 next, 2 jump */        \
    X(p, KERNEL_STRIDE, "kernel_stride") /* bytes, of the loop around the block */                 \
    X(p, CONFLICT, "conflict") /* log2 of what L1 needs for a kernel loop over what it touches */  \
    X(p, TRAFFIC_L1, "traffic_l1") /* log2 of bytes into L1 over unique bytes */                   \
    X(p, TRAFFIC_L2, "traffic_l2")                                                                 \
    X(p, TRAFFIC_L3, "traffic_l3")                                                                 \
    X(p, COST, "cost") /* share of its memory cycles in the estimate */

enum {
#define X(p, id, name) BUFFER_##id,
    BUFFER_TABLE(X, 0)
#undef X
        N_BUFFER_COLUMNS
};

#define ALLOC_TABLE(X)                                                                             \
    X(N, "alloc.count")                                                                            \
    X(BYTES, "alloc.bytes") /* of all packed buffers */                                            \
    X(L1, "alloc.vs_l1")                                                                           \
    X(L2, "alloc.vs_l2")                                                                           \
    X(COPIED, "alloc.copied_bytes") /* over the whole run */                                       \
    X(USES, "alloc.uses")           /* log2 of instances per copied element, fewest */             \
    X(MOST_COPIES, "alloc.copies")  /* log2 of entries of a copy, most */

enum {
#define X(id, name) ALLOC_##id,
    ALLOC_TABLE(X)
#undef X
        N_ALLOC
};

#define SUM_TABLE(X)                                                                               \
    X(FLOAT_OPS, "sum.float_ops")                                                                  \
    X(INTEGER_OPS, "sum.integer_ops")                                                              \
    X(BYTES, "sum.bytes")                                                                          \
    X(UNIQUE, "sum.unique_bytes")                                                                  \
    X(HOT_SHARE, "sum.hot_share") /* of the hottest statement's operations */

enum {
#define X(id, name) SUM_##id,
    SUM_TABLE(X)
#undef X
        N_SUM
};

enum { N_BUFFERS = 5, N_CURVE = 10 };
enum {
    AT_BUFFERS = N_OPS,
    AT_CURVE = AT_BUFFERS + N_BUFFERS * N_BUFFER_COLUMNS,
    AT_ALLOC = AT_CURVE + N_CURVE,
    AT_SUM = AT_ALLOC + N_ALLOC,
    N_STORE = AT_SUM + N_SUM
};

#define X(id, name) "store." name,
#define Y(p, id, name) "store." p "." name,
static const char *const names[] = {OPS_TABLE(X) BUFFER_TABLE(Y, "b0") BUFFER_TABLE(Y, "b1")
                                        BUFFER_TABLE(Y, "b2") BUFFER_TABLE(Y, "b3")
                                            BUFFER_TABLE(Y, "b4") "store.curve0",
                                    "store.curve1",
                                    "store.curve2",
                                    "store.curve3",
                                    "store.curve4",
                                    "store.curve5",
                                    "store.curve6",
                                    "store.curve7",
                                    "store.curve8",
                                    "store.curve9",
                                    ALLOC_TABLE(X) SUM_TABLE(X)};
#undef X
#undef Y

static double n_float(const feat_ops *ops) {
    return ops->add + ops->mul + ops->div + ops->compare + ops->call + ops->cast;
}

static void fill_ops(const feat_state *s, float *row) {
    const feat_ops *ops = &s->ops[s->hot];
    double n = feat_instances(s->path);
    row[OPS_ADD] = feat_slog(ops->add * n);
    row[OPS_MUL] = feat_slog(ops->mul * n);
    row[OPS_DIV] = feat_slog(ops->div * n);
    row[OPS_COMPARE] = feat_slog(ops->compare * n);
    row[OPS_CALL] = feat_slog(ops->call * n);
    row[OPS_CAST] = feat_slog(ops->cast * n);
    row[OPS_INTEGER] = feat_slog(ops->integer * n);
    row[OPS_PER_INSTANCE] = (float)(n_float(ops) + ops->integer);
    row[OPS_IS_UPDATE] = s->path->stage->update != CTUNE_UPDATE_SET;
    row[OPS_N_READS] = (float)s->path->stage->n_reads;
    row[OPS_N_BUFFERS] = (float)s->n_buffers;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* Innermost loop that does not move it, with more than one iteration; -1 = none. */
static int reuse_loop(const est_path *path, const est_ref *ref) {
    for (int k = path->n - 1; k >= 0; k--) {
        if (!(ref->mask >> path->pos[k] & 1) && path->extent[k] > 1) {
            return k;
        }
    }
    return -1;
}

static void fill_reuse(const feat_state *s, const feat_buffer *b, float *row) {
    const est_path *path = s->path;
    const ctune_target *t = s->target;
    double lines = b->group->bytes[0] / CTUNE_LINE_BYTES;
    int k = reuse_loop(path, b->ref);
    if (k >= 0) {
        double bytes = feat_footprint(s, k + 1);
        row[BUFFER_REUSE_KIND] = 1;
        row[BUFFER_REUSE_ITERS] = feat_log(path->entries[path->n] / path->entries[k + 1]);
        row[BUFFER_REUSE_L1] = feat_ratio(bytes, (double)t->cache_bytes[0]);
        row[BUFFER_REUSE_L2] = feat_ratio(bytes, (double)t->cache_bytes[1]);
        row[BUFFER_REUSE_COUNT] = s->log_extent[k];
    } else if (b->n_refs > 1) {
        row[BUFFER_REUSE_KIND] = 2;
        row[BUFFER_REUSE_L1] = row[BUFFER_REUSE_L2] = -20;
        row[BUFFER_REUSE_COUNT] = feat_log(b->n_refs);
    }
    row[BUFFER_LINES_PER_REUSE] = feat_slog(lines) - row[BUFFER_REUSE_COUNT];
}

static int vector_class(const feat_state *s, const est_ref *ref) {
    int pos = s->kernel->vector >= 0 ? s->kernel->vector
              : s->path->n > 0       ? s->path->pos[s->path->n - 1]
                                     : -1;
    int stride = pos < 0 ? 0 : est_ref_stride(ref, pos);
    return stride < 0 ? 2 : stride;
}

static void fill_buffer(const feat_state *s, const feat_buffer *b, double all, float *row) {
    const est_path *path = s->path;
    double line = CTUNE_LINE_BYTES, n = feat_instances(path);
    double unique = b->source != NULL ? b->source->bytes[0] : b->group->bytes[0];
    double moved = 0, kernel = 0;
    for (int k = path->n - 1; k >= 0 && moved == 0; k--) {
        moved = feat_stride(&s->a->state, path, b->ref, k) * b->elem_bytes;
    }
    int level = s->kernel->level;
    if (level > 0) {
        kernel = feat_stride(&s->a->state, path, b->ref, level - 1) * b->elem_bytes;
    }
    int around = level > 0 ? level - 1 : 0;
    around = around < b->group->last ? around : b->group->last;
    row[BUFFER_ACCESS] = (float)(b->is_read + 2 * b->is_written);
    row[BUFFER_PACK] = b->source != NULL;
    row[BUFFER_N_REFS] = (float)b->n_refs;
    row[BUFFER_BYTES] = feat_log(n * b->n_refs * b->elem_bytes);
    row[BUFFER_UNIQUE] = feat_log(unique);
    row[BUFFER_LINES] = feat_log(n * est_min(est_max(fabs(moved), 1) / line, 1));
    row[BUFFER_UNIQUE_LINES] = feat_log(unique / line);
    fill_reuse(s, b, row);
    row[BUFFER_STRIDE] = feat_slog(moved);
    row[BUFFER_VECTOR] =
        (float)(b->source != NULL ? vector_class(s, b->ref) > 0 : vector_class(s, b->ref));
    row[BUFFER_KERNEL_STRIDE] = feat_slog(kernel);
    row[BUFFER_CONFLICT] = feat_ratio(b->group->conflicting[around], b->group->bytes[around]);
    for (int c = 0; c < 3; c++) {
        double traffic = b->group->traffic[c] + (b->source != NULL ? b->source->traffic[c] : 0);
        row[BUFFER_TRAFFIC_L1 + c] = feat_ratio(traffic, unique);
    }
    row[BUFFER_COST] = (float)feat_share(b->cost, all);
}

/* ---- intensity ------------------------------------------------------------------------------- */

/* log2 of operations per byte touched, at ten points between one instance and all of them (in
 * logarithms of operations), linear in between. */
static void fill_curve(const feat_state *s, float *row) {
    const est_path *path = s->path;
    float x[EST_MAX_PATH + 1], y[EST_MAX_PATH + 1];
    float inner = feat_log(est_max(n_float(&s->ops[s->hot]) + s->ops[s->hot].integer, 0.5));
    int n = path->n, at = 0;
    for (int k = n; k >= 0; k--) {
        x[n - k] = inner;
        y[n - k] = inner - feat_log(est_max(feat_footprint(s, k), 1));
        inner += k > 0 ? s->log_extent[k - 1] : 0;
    }
    for (int i = 0; i < N_CURVE; i++) {
        float want = x[0] + (x[n] - x[0]) * (float)i / (N_CURVE - 1);
        while (at + 1 < n && x[at + 1] < want) {
            at++;
        }
        float width = n > 0 ? x[at + 1] - x[at] : 0;
        float part = width > 0 ? (want - x[at]) / width : 0;
        part = part < 0 ? 0 : part > 1 ? 1 : part;
        row[i] = n > 0 ? y[at] + part * (y[at + 1] - y[at]) : y[0];
    }
}

/* ---- packs and sums -------------------------------------------------------------------------- */

static void fill_alloc(const feat_state *s, float *row) {
    const est_state *state = &s->a->state;
    double bytes = 0, copied = 0, uses = INFINITY, copies = 0;
    int n = 0;
    for (int g = 0; g < state->n_groups; g++) {
        const est_group *group = &state->group[g];
        if (group->resident < 0 || group->tensor < state->nest->region->n_tensors) {
            continue; /* no pack */
        }
        double buffer = group->bytes[group->resident];
        double entries = group->path->entries[group->resident];
        n++;
        bytes += buffer;
        copied += buffer * entries;
        uses = est_min(uses, feat_instances(group->path) / est_max(buffer * entries, 1));
        copies = est_max(copies, entries);
    }
    if (n == 0) {
        return;
    }
    row[ALLOC_N] = (float)n;
    row[ALLOC_BYTES] = feat_log(bytes);
    row[ALLOC_L1] = feat_ratio(bytes, (double)s->target->cache_bytes[0]);
    row[ALLOC_L2] = feat_ratio(bytes, (double)s->target->cache_bytes[1]);
    row[ALLOC_COPIED] = feat_log(copied);
    row[ALLOC_USES] = feat_log(uses);
    row[ALLOC_MOST_COPIES] = feat_log(copies);
}

static void fill_sums(const feat_state *s, float *row) {
    const est_analysis *a = s->a;
    double floats = 0, integers = 0, bytes = 0, hot = 0;
    for (int p = 0; p < a->n_paths; p++) {
        double n = feat_instances(&a->path[p]), ops = n_float(&s->ops[p]) + s->ops[p].integer;
        floats += n * n_float(&s->ops[p]);
        integers += n * s->ops[p].integer;
        bytes += n * a->path[p].n_refs * a->kernel[p].elem_bytes;
        hot = p == s->hot ? n * ops : hot;
    }
    row[SUM_FLOAT_OPS] = feat_slog(floats);
    row[SUM_INTEGER_OPS] = feat_slog(integers);
    row[SUM_BYTES] = feat_log(bytes);
    row[SUM_UNIQUE] = feat_log(a->state.footprint[0]);
    row[SUM_HOT_SHARE] = (float)feat_share(hot, floats + integers);
}

static void fill(const feat_state *s, float *row) {
    double all = 0;
    for (int c = 0; c < 3; c++) {
        all += s->a->memory_cycles[c];
    }
    fill_ops(s, row);
    for (int b = 0; b < s->n_buffers && b < N_BUFFERS; b++) {
        fill_buffer(s, &s->buffer[b], all, row + AT_BUFFERS + b * N_BUFFER_COLUMNS);
    }
    fill_curve(s, row + AT_CURVE);
    fill_alloc(s, row + AT_ALLOC);
    fill_sums(s, row + AT_SUM);
}

const feat_group feat_store = {names, N_STORE, fill};

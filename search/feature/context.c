/*
 * The context group: context.h's table for the hottest statement, pooled to a fixed width.
 *
 * Loops: the innermost three and the outermost two (those that the path has; others are zero).
 * Accesses: the target and the two costliest other buffers. All but levels and annotations are
 * logarithms; counts and reuses are products of lengths, so their logarithms are sums.
 */
#include "search/feature/context.h"
#include "search/feature/feature_private.h"

/* ---- raw table ------------------------------------------------------------------------------- */

static void fill_touches(const est_analysis *a, const est_path *path, const est_ref *ref, int i,
                         ctune_context *out) {
    double count = 1, reuse = 1;
    for (int k = path->n - 1; k >= 0; k--) {
        double stride = feat_stride(&a->state, path, ref, k);
        *(stride != 0 ? &count : &reuse) *= path->extent[k];
        out->loop[k].touch[i] = (ctune_context_touch){stride, count, reuse};
        out->loop[k].bottomup = est_max(out->loop[k].bottomup, count * reuse);
    }
    out->access[i] = ref->access;
}

static void fill_loops(const est_path *path, ctune_context *out) {
    feat_ops ops;
    feat_ops_count(path->stage, &ops);
    out->n_loops = path->n;
    for (int k = 0; k < path->n; k++) {
        ctune_context_loop *loop = &out->loop[k];
        memset(loop, 0, sizeof *loop);
        loop->node = path->node[k];
        loop->level = k + 1;
        loop->length = path->extent[k];
        loop->topdown = path->entries[k + 1];
        loop->ann = feat_ann(path, k);
        if (k == path->n - 1) {
            loop->n_add = ops.add;
            loop->n_mul = ops.mul;
            loop->n_div = ops.div;
        }
    }
}

bool ctune_feature_context(const ctune_nest *nest, int stmt, ctune_context *out) {
    est_analysis a;
    ctune_target target;
    const est_path *path = NULL;
    ctune_target_init(&target, 0, NULL, 1);
    est_analyse(&a, nest, &target, &target.rates);
    out->n_loops = out->n_accesses = 0;
    for (int p = 0; p < a.n_paths; p++) {
        path = a.path[p].i_stmt == stmt ? &a.path[p] : path;
    }
    if (path == NULL) {
        return false;
    }
    fill_loops(path, out);
    const est_ref *refs = &a.state.ref[path->first_ref];
    bool is_update = path->stage->update != CTUNE_UPDATE_SET;
    for (int i = 0; i < path->n_refs + is_update && i < CTUNE_CONTEXT_ACCESSES; i++) {
        int r = is_update && i > 0 ? i - 1 : i;
        fill_touches(&a, path, &refs[r], i, out);
        out->is_store[i] = i == 0;
        out->n_accesses++;
    }
    return true;
}

/* ---- columns --------------------------------------------------------------------------------- */

#define LOOP_TABLE(X, p)                                                                           \
    X(p, LENGTH, "length")                                                                         \
    X(p, TOPDOWN, "topdown")                                                                       \
    X(p, BOTTOMUP, "bottomup")                                                                     \
    X(p, ANN, "annotation") /* ctune_ann */                                                        \
    X(p, IS_REDUCE, "is_reduce")                                                                   \
    X(p, T_STRIDE, "target.stride")                                                                \
    X(p, T_COUNT, "target.count")                                                                  \
    X(p, T_REUSE, "target.reuse")                                                                  \
    X(p, R0_STRIDE, "read0.stride")                                                                \
    X(p, R0_COUNT, "read0.count")                                                                  \
    X(p, R0_REUSE, "read0.reuse")                                                                  \
    X(p, R1_STRIDE, "read1.stride")                                                                \
    X(p, R1_COUNT, "read1.count")                                                                  \
    X(p, R1_REUSE, "read1.reuse")

enum {
#define X(p, id, name) LOOP_##id,
    LOOP_TABLE(X, 0)
#undef X
        N_LOOP_COLUMNS
};

enum { N_INNER = 3, N_OUTER = 2, N_CONTEXT = 1 + (N_INNER + N_OUTER) * N_LOOP_COLUMNS };

static const char *const names[] = {"context.n_loops",
#define X(p, id, name) "context." p "." name,
                                    LOOP_TABLE(X, "inner0") LOOP_TABLE(X, "inner1")
                                        LOOP_TABLE(X, "inner2") LOOP_TABLE(X, "outer0")
                                            LOOP_TABLE(X, "outer1")
#undef X
};

typedef struct touch_logs {
    const est_ref *ref;
    float count[EST_MAX_PATH], reuse[EST_MAX_PATH]; /* log2, [loop] */
} touch_logs;

static void touch_fill(const feat_state *s, const est_ref *ref, touch_logs *t) {
    float count = 0, reuse = 0;
    t->ref = ref;
    for (int k = s->path->n - 1; k >= 0; k--) {
        *(ref->mask >> s->path->pos[k] & 1 ? &count : &reuse) += s->log_extent[k];
        t->count[k] = count;
        t->reuse[k] = reuse;
    }
}

static void fill_loop(const feat_state *s, const touch_logs *touch, int n_touch, int k,
                      float *row) {
    float topdown = 0, bottomup = 0;
    for (int i = 0; i < s->path->n; i++) {
        *(i <= k ? &topdown : &bottomup) += s->log_extent[i];
    }
    row[LOOP_LENGTH] = s->log_extent[k];
    row[LOOP_TOPDOWN] = topdown;
    row[LOOP_BOTTOMUP] = bottomup + s->log_extent[k];
    row[LOOP_ANN] = (float)feat_ann(s->path, k);
    row[LOOP_IS_REDUCE] = !(s->space >> s->path->pos[k] & 1);
    for (int t = 0; t < n_touch; t++) {
        float *at = row + LOOP_T_STRIDE + 3 * t;
        at[0] = feat_slog(feat_stride(&s->a->state, s->path, touch[t].ref, k));
        at[1] = touch[t].count[k];
        at[2] = touch[t].reuse[k];
    }
}

static void fill(const feat_state *s, float *row) {
    touch_logs touch[3];
    int n_touch = 0, n = s->path->n;
    touch_fill(s, s->kernel->target, &touch[n_touch++]);
    for (int b = 0; b < s->n_buffers && n_touch < 3; b++) {
        if (!s->buffer[b].is_written) {
            touch_fill(s, s->buffer[b].ref, &touch[n_touch++]);
        }
    }
    row[0] = (float)n;
    for (int i = 0; i < N_INNER && i < n; i++) {
        fill_loop(s, touch, n_touch, n - 1 - i, row + 1 + i * N_LOOP_COLUMNS);
    }
    for (int i = 0; i < N_OUTER && i < n - N_INNER; i++) {
        fill_loop(s, touch, n_touch, i, row + 1 + (N_INNER + i) * N_LOOP_COLUMNS);
    }
}

const feat_group feat_context = {names, N_CONTEXT, fill};

/*
 * The relation group: for each buffer of the hottest statement, the largest value of one context
 * feature among the loops where another one stays below a threshold (2^1, 2^3, .. 2^19). That says
 * "what lies within so many elements is used so often", whatever the number and order of the loops.
 *
 * Buffers differ from kernel to kernel: the two costliest stand for themselves, the others are
 * pooled by their maximum and their sum. The distance to the threshold that AutoTVM adds is left
 * out: it doubles the width, and trees find it in the value.
 */
#include "search/feature/feature_private.h"

enum { N_THRESHOLDS = 10, N_RELATIONS = 4, N_SINGLE = 2, N_SLOTS = N_SINGLE + 2 };
enum { N_CURVES = N_RELATIONS * N_THRESHOLDS, N_RELATION = N_SLOTS * N_CURVES };

#define THRESHOLDS(p)                                                                              \
    p ".t1", p ".t3", p ".t5", p ".t7", p ".t9", p ".t11", p ".t13", p ".t15", p ".t17", p ".t19"
#define RELATIONS(p)                                                                               \
    THRESHOLDS(p ".count_reuse"), THRESHOLDS(p ".reuse_count"), THRESHOLDS(p ".count_topdown"),    \
        THRESHOLDS(p ".topdown_count")

static const char *const names[] = {
    RELATIONS("relation.b0"),
    RELATIONS("relation.b1"),
    RELATIONS("relation.max"),
    RELATIONS("relation.sum"),
};

/* Everything is a logarithm. value counts from the first threshold above `below`. */
static void curve_add(float *curve, float below, float value) {
    int t = (int)((below + 1) * 0.5f);
    if (t < N_THRESHOLDS) {
        curve[t] = curve[t] > value ? curve[t] : value;
    }
}

static void curves_fill(const feat_state *s, const est_ref *ref, float *curves) {
    float count = 0, reuse = 0, topdown = 0;
    for (int k = 0; k < s->path->n; k++) {
        topdown += s->log_extent[k];
    }
    for (int k = s->path->n - 1; k >= 0; k--) {
        *(ref->mask >> s->path->pos[k] & 1 ? &count : &reuse) += s->log_extent[k];
        curve_add(curves, count, reuse);
        curve_add(curves + N_THRESHOLDS, reuse, count);
        curve_add(curves + 2 * N_THRESHOLDS, count, topdown);
        curve_add(curves + 3 * N_THRESHOLDS, topdown, count);
        topdown -= s->log_extent[k];
    }
    for (int i = 0; i < N_CURVES; i++) {
        bool is_first = i % N_THRESHOLDS == 0;
        curves[i] = !is_first && curves[i - 1] > curves[i] ? curves[i - 1] : curves[i];
    }
}

static void fill(const feat_state *s, float *row) {
    for (int b = 0; b < s->n_buffers && b < N_SINGLE; b++) {
        curves_fill(s, s->buffer[b].ref, row + b * N_CURVES);
    }
    float *most = row + N_SINGLE * N_CURVES, *sum = most + N_CURVES;
    for (int b = N_SINGLE; b < s->n_buffers; b++) {
        float curves[N_CURVES] = {0};
        curves_fill(s, s->buffer[b].ref, curves);
        for (int i = 0; i < N_CURVES; i++) {
            most[i] = most[i] > curves[i] ? most[i] : curves[i];
            sum[i] += curves[i];
        }
    }
}

const feat_group feat_relation = {names, N_RELATION, fill};

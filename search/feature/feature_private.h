/*
 * What the groups of features share: the analysis of one nest, its hottest statement and that
 * statement's buffers. One file a group: its table of columns and the function that fills them.
 */
#ifndef CTUNE_SEARCH_FEATURE_FEATURE_PRIVATE_H
#define CTUNE_SEARCH_FEATURE_FEATURE_PRIVATE_H

#include "search/estimate/analysis.h"
#include "search/feature/feature.h"

#include <math.h>
#include <string.h>

enum { FEAT_MAX_BUFFERS = 24 };

/* Operations of one instance of a statement, in the statement's own types. */
typedef struct feat_ops {
    double add, mul, div, compare, call, cast; /* of floats; compare: min, max, select, too */
    double integer;                            /* all of integers but index arithmetic */
    double slots;                              /* of a vector port, with every product fused */
} feat_ops;

/* All references of the hottest statement to one group of the estimate. */
typedef struct feat_buffer {
    const est_ref *ref;      /* the first */
    const est_group *group;  /* what the kernel touches: for a pack its buffer */
    const est_group *source; /* of a pack: what the copying reads; else NULL */
    bool is_read, is_written;
    int n_refs;
    double elem_bytes;
    double cost; /* cycles of its traffic */
} feat_buffer;

typedef struct feat_state {
    const ctune_nest *nest;
    const ctune_target *target;
    const est_analysis *a;
    int hot; /* path of the statement with most cycles */
    const est_path *path;
    const est_kernel *kernel;
    uint32_t space;                 /* dims of the hottest statement that move its target */
    double block[CTUNE_MAX_DEPTH];  /* [pos] iterations inside the block */
    int tile_level, outer_level;    /* inside the innermost, the outermost tile loop; 0 = none */
    float log_extent[EST_MAX_PATH]; /* [loop of the path] log2 of its trips */
    feat_ops ops[CTUNE_MAX_STMTS];  /* [path] */
    double cost[CTUNE_MAX_STMTS];   /* [path] cycles: core or memory, whichever is more */
    int n_buffers;                  /* of the hottest statement, by falling cost */
    feat_buffer buffer[FEAT_MAX_BUFFERS];
} feat_state;

typedef struct feat_group {
    const char *const *names;
    int n;
    void (*fill)(const feat_state *state, float *row); /* row [n], all 0 on entry */
} feat_group;

extern const feat_group feat_estimate, feat_context, feat_relation, feat_knob, feat_store,
    feat_target;

/* Models do not take infinities: what got out of hand is put back into a wide range. feature.c */
void feat_make_finite(float *row, int n);

/* log2 for x > 0 (smaller ones count as 2^-40): plain arithmetic, so that rows do not depend on a
 * version of libm. Off by 1e-7 at most, exact at powers of two. */
static inline float feat_log(double x) {
    uint64_t bits;
    x = x > 0x1p-40 ? x : 0x1p-40;
    memcpy(&bits, &x, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffff) | (uint64_t)1023 << 52;
    memcpy(&x, &bits, sizeof x);
    if (x > 1.4142135623730951) {
        x *= 0.5;
        exponent++;
    }
    double s = (x - 1) / (x + 1), q = s * s;
    double series = s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9)))));
    return (float)((double)exponent + 2.8853900817779268 * series);
}

/* sign(x) * log2(|x| + 1) */
static inline float feat_slog(double x) {
    return x < 0 ? -feat_log(1 - x) : feat_log(1 + x);
}

/* log2(a / b) within +-20; 0 when both are 0. */
static inline float feat_ratio(double a, double b) {
    if (a <= 0 && b <= 0) {
        return 0;
    }
    float x = feat_log(est_max(a, 0x1p-40) / est_max(b, 0x1p-40));
    return x < -20 ? -20 : x > 20 ? 20 : x;
}

static inline double feat_share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

/* state.c */
bool feat_state_init(feat_state *state, const est_analysis *analysis, const ctune_nest *nest,
                     const ctune_target *target); /* false: no statement to look at */
/* Looks at another statement as if it were the hottest. */
void feat_state_focus(feat_state *state, int path);
/* Bytes that one iteration of the loops outside level touches; level of the hottest path. */
double feat_footprint(const feat_state *state, int level);
/* Executions of the body of the hottest statement. */
static inline double feat_instances(const est_path *path) {
    return path->entries[path->n];
}
/* Elements that the flattened index moves by with one iteration of loop k of the path. */
double feat_stride(const est_state *state, const est_path *path, const est_ref *ref, int k);
ctune_ann feat_ann(const est_path *path, int k);
/* A loop that slides is one in lanes. */
static inline ctune_ann feat_ann_of(const ctune_nnode *node) {
    return node->ann == CTUNE_ANN_SLIDE ? CTUNE_ANN_VECTOR : node->ann;
}
void feat_ops_count(const ctune_stage *stage, feat_ops *ops);

/* recurrence.c */
typedef struct feat_recurrence {
    bool is_there;
    double own, any; /* iterations between dependent instances: of the statement, with others */
    double latency;  /* cycles of one link */
    double cycles;   /* per instance, at least */
    float ratio;     /* log2 of that over what the estimate says */
} feat_recurrence;

void feat_recurrences_find(const est_analysis *analysis, feat_recurrence *out); /* [path] */
/* Equalities in the domain of a statement: dims that it does not need and is pinned in. */
int feat_pins_count(const ctune_stmt *stmt);

#endif

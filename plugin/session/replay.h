/*
 * Replay: searches over the measured candidates of a data set, without measuring again.
 */
#ifndef CTUNE_PLUGIN_SESSION_REPLAY_H
#define CTUNE_PLUGIN_SESSION_REPLAY_H

#include "costmodel/gbt/gbt.h"

/* id, name, what orders the candidates that are left */
#define CTUNE_REPLAY_TABLE(X)                                                                      \
    X(RANDOM, "random", "chance")                                                                  \
    X(ESTIMATE, "estimate", "the analytic estimate")                                               \
    X(GBT, "gbt", "a model of what has been seen of the task so far")                              \
    X(TRANSFER, "gbt+transfer", "the same on top of a model of all other kernels")

typedef enum ctune_replay_strategy {
#define X(id, name, help) CTUNE_REPLAY_##id,
    CTUNE_REPLAY_TABLE(X)
#undef X
        CTUNE_N_REPLAYS
} ctune_replay_strategy;
const char *ctune_replay_name(ctune_replay_strategy strategy);

typedef struct ctune_replay {
    const ctune_dataset *data;
    int task;
    int estimate_column;          /* of the features: log2 of the estimate */
    const ctune_forest *global;   /* for TRANSFER: trained without the task's kernel */
    const ctune_gbt_options *gbt; /* of the local model */
    ctune_replay_strategy strategy;
    int batch;
    double epsilon; /* share of a batch that is random */
    uint64_t seed;
} ctune_replay;

/* curve [n_rows of the task]: best time / best of the task, inverted (0 to 1), after each trial. */
CTUNE_MUST_USE ctune_status ctune_replay_run(ctune_ctx *ctx, const ctune_replay *replay,
                                             float *curve);
/* First trial (1-based) at which the curve reaches share; n + 1 when it never does. */
int ctune_replay_trials(const float *curve, size_t n, double share);

#endif

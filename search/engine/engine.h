/*
 * The tuning loop: proposes points, measures them through a callback, keeps the best.
 *
 * Strategies: random; annealing on the predicted time (parallel chains that persist across rounds,
 * epsilon random, batch chosen greedily for score + alpha * coverage of decision values) joined, as
 * results come in, by evolution around the fastest (exploit.c), and at the end by coordinate
 * descent. The predicted time is the estimate, or a learned model's score, corrected by what has
 * been measured (residual.c). Deterministic from the seed and the measured times.
 */
#ifndef CTUNE_SEARCH_ENGINE_ENGINE_H
#define CTUNE_SEARCH_ENGINE_ENGINE_H

#include "costmodel/model.h"
#include "runtime/runner.h"
#include "search/estimate/estimate.h"
#include "search/space/space.h"

#define CTUNE_STRATEGY_TABLE(X)                                                                    \
    X(ANNEAL, "anneal", "simulated annealing on the analytic estimate (default)")                  \
    X(RANDOM, "random", "uniform samples of the space")

typedef enum ctune_strategy {
#define X(id, name, help) CTUNE_STRATEGY_##id,
    CTUNE_STRATEGY_TABLE(X)
#undef X
        CTUNE_N_STRATEGIES
} ctune_strategy;

/* One candidate to measure. */
typedef struct ctune_trial {
    int ordinal;             /* 0-based in this search */
    ctune_point point;
    double estimate_ns;
    ctune_run_result result; /* filled by the measurer */
} ctune_trial;

/* How the engine measures. submit hands over a batch (at most two in flight), collect returns
 * the oldest one with results filled. Returning CTUNE_EENV from either ends the search with what
 * it has. */
typedef struct ctune_measurer {
    void *user;
    ctune_status (*submit)(ctune_ctx *ctx, void *user, ctune_trial *trials, int n);
    ctune_status (*collect)(ctune_ctx *ctx, void *user, double best_ns, ctune_trial *trials, int n);
} ctune_measurer;

typedef struct ctune_engine_options {
    ctune_strategy strategy;
    uint64_t seed;
    int max_trials;          /* 0 = no limit */
    double budget_s;         /* 0 = no limit; one of the two is given */
    int batch;               /* at most 64; 0: 16, or 8 when runs take long */
    double epsilon;          /* share of random candidates, default 0.05 */
    /* false: stop early */
    bool (*progress)(void *user, int n_trials, double best_ns, double original_ns);
    void *progress_user;
    /* Results already known (resume): not measured again; they count against max_trials, not
     * against budget_s. */
    int n_known;
    const ctune_trial *known;
    /* A learned model in place of the estimate; both or neither. features writes
     * model->n_features numbers for a nest. */
    const ctune_model *model;
    void (*features)(void *user, const ctune_nest *nest, float *row);
    void *features_user;
} ctune_engine_options;

typedef struct ctune_engine_result {
    int n_trials;            /* measured in this call */
    int n_failed;            /* not OK */
    int n_best;              /* entries of best[] */
    ctune_trial best[8];     /* fastest first, distinct points */
} ctune_engine_result;

/* Fails ENOMEM; EENV when the measurer failed before it gave any result. EENV later, a stop by
 * progress and a space that is used up end the search with OK. original_ns: 0 when not known. */
CTUNE_MUST_USE ctune_status ctune_engine_run(ctune_ctx *ctx, const ctune_space *space,
                                             const ctune_machine *machine,
                                             const ctune_measurer *measurer,
                                             const ctune_engine_options *options,
                                             double original_ns, ctune_engine_result *result);

#endif

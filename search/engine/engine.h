/*
 * The tuning loop: proposes points, measures them through a callback, keeps the best.
 *
 * Strategies:
 *   gbt           a learned model's score and the corrected estimate, each weighted by how well it
 *                 ranked the batches measured so far; the estimate drafts, the model decides
 *   anneal        the analytic estimate, corrected by what has been measured (residual.c)
 *   evolutionary  Ansor's search, scored as gbt (evolve.c); without a model as anneal
 *   genetic       evolution on measured times, AutoTVM's baseline
 *   random        uniform samples
 * gbt and anneal make a batch of: parallel annealing chains that persist across rounds (chosen
 * greedily for score + alpha * decision values not yet in the batch), evolution around the fastest
 * (exploit.c), epsilon random points, and at the end coordinate descent.
 *
 * Deterministic from the seed and the measured times, but for two limits that look at the clock:
 * budget_s, and model_share (see there).
 */
#ifndef CTUNE_SEARCH_ENGINE_ENGINE_H
#define CTUNE_SEARCH_ENGINE_ENGINE_H

#include "costmodel/model.h"
#include "runtime/runner.h"
#include "search/estimate/estimate.h"
#include "search/space/space.h"

#define CTUNE_STRATEGY_TABLE(X)                                                                    \
    X(GBT, "gbt", "annealing on a learned model's score (default; without a model: anneal)")       \
    X(ANNEAL, "anneal", "annealing on the analytic estimate")                                      \
    X(EVOLVE, "evolutionary", "Ansor's: evolution on predicted times, by model and estimate")      \
    X(GENETIC, "genetic", "evolution on measured times (population 100, elite 3, mutation 0.1)")   \
    X(RANDOM, "random", "uniform samples of the space")

typedef enum ctune_strategy {
#define X(id, name, help) CTUNE_STRATEGY_##id,
    CTUNE_STRATEGY_TABLE(X)
#undef X
        CTUNE_N_STRATEGIES
} ctune_strategy;
/* Does it look at a learned model? */
static inline bool ctune_strategy_learns(ctune_strategy strategy) {
    return strategy == CTUNE_STRATEGY_GBT || strategy == CTUNE_STRATEGY_EVOLVE;
}

/* One candidate to measure. */
typedef struct ctune_trial {
    int ordinal; /* 0-based in this search */
    ctune_point point;
    double estimate_ns;      /* of the analytic estimate */
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

/* Writes model->n_features numbers for a point of the space and its nest. */
typedef void (*ctune_features_fn)(void *user, const ctune_point *point, const ctune_nest *nest,
                                  float *row);

typedef struct ctune_engine_options {
    ctune_strategy strategy;
    uint64_t seed;
    int max_trials;   /* 0 = no limit */
    double budget_s;  /* 0 = no limit; seconds inside the engine's calls */
    double trial_s;   /* what one costs besides its runs, before any has been measured; 0: 0.02 */
    int batch;        /* at most 64; 0: 16, or 8 when runs take long */
    double epsilon;   /* share of random candidates; 0 = none */
    double alpha;     /* log2 of time that a decision value new in the batch is worth; 0 = none */
    bool no_draft;    /* ablation: the model's chains do without the estimate's draft */
    bool no_ensemble; /* ablation: the model's score alone, once it says anything */
    bool no_descent;  /* ablation: no coordinate descent in the last quarter */
    /* Part of the time that the model (features, scores, fits, annealing) may take: above it the
     * annealing of the next batches gets shorter and fits rarer, so that proposals then depend on
     * the clock. 0: 0.2. Negative: no limit, nothing looks at the clock (tests, replays). */
    double model_share;
    /* Ends the search when so many trials in a row brought less than 1 % and neither the model nor
     * the estimate expects more than 2 %; after twice as many in any case. 0 = off; -1 =
     * max(128, 40 % of the trials so far). */
    int patience_trials;
    /* false: stop early */
    bool (*progress)(void *user, int n_trials, double best_ns, double original_ns);
    void *progress_user;
    /* Results already known (resume): not measured again; they count against max_trials, not
     * against budget_s. Borrowed until ctune_engine_create returns. */
    int n_known;
    const ctune_trial *known;
    /* A learned model for gbt and evolutionary; both or neither. A model that gives all points the
     * same score (not trained yet) is passed over; one that fails (but for memory) is given up with
     * a warning, and the search goes on as anneal. Borrowed. */
    const ctune_model *model;
    ctune_features_fn features;
    void *features_user;
} ctune_engine_options;

/* Zeros, and epsilon 0.05, alpha 0.04, patience off. */
void ctune_engine_options_default(ctune_engine_options *options);

/* id, word, why the search ended */
#define CTUNE_ENGINE_END_TABLE(X)                                                                  \
    X(NOT_YET, "running", "it has not ended")                                                      \
    X(TRIALS, "trials", "max_trials reached")                                                      \
    X(BUDGET, "budget", "budget_s used up")                                                        \
    X(SPACE, "space", "no new point left")                                                         \
    X(NO_GAIN, "no-gain", "no gain expected (patience_trials)")                                    \
    X(STOPPED, "stopped", "progress said so")                                                      \
    X(MEASURER, "measurer", "the measurer failed")

typedef enum ctune_engine_end {
#define X(id, word, help) CTUNE_ENGINE_END_##id,
    CTUNE_ENGINE_END_TABLE(X)
#undef X
} ctune_engine_end;
const char *ctune_engine_end_name(ctune_engine_end end);

typedef struct ctune_engine_result {
    int n_trials;        /* measured in this call */
    int n_failed;        /* not OK */
    int n_slow;          /* of these: stopped, being slower than was worth the time */
    int n_best;          /* entries of best[] */
    ctune_trial best[8]; /* fastest first, distinct points */
    ctune_engine_end end;
    double total_s;    /* inside the engine's calls, measuring included */
    double model_s;    /* part of it: features, scores, fits and annealing */
    bool model_failed; /* and was given up */
    int n_fits;        /* of the model */
    int64_t n_scored;  /* points scored by the estimate */
    int64_t n_rows;    /* rows scored by the model */
    /* Share of pairs (times >= 5 % apart) within a batch that were predicted in the right order
     * before they were measured, recent batches counting more. 0.5 = guessing, NaN = no evidence.
     */
    double estimate_accuracy; /* corrected estimate */
    double model_accuracy;
    double score_accuracy; /* of the two, weighted as they were then */
    double model_weight;   /* of the model in the score now, 0 to 1 */
} ctune_engine_result;

/* Fails ENOMEM; EENV when the measurer failed before it gave any result. EENV later, a stop by
 * progress and a space that is used up end the search with OK. original_ns: 0 when not known. */
CTUNE_MUST_USE ctune_status ctune_engine_run(ctune_ctx *ctx, const ctune_space *space,
                                             const ctune_target *target,
                                             const ctune_measurer *measurer,
                                             const ctune_engine_options *options,
                                             double original_ns, ctune_engine_result *result);

/* ---- the same in steps, so that several searches can take turns ------------------------------ */

typedef struct ctune_engine ctune_engine;

/* options and measurer are copied; what they point to, space and target are borrowed until
 * destroy. Learns from options->known. Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_engine_create(ctune_ctx *ctx, const ctune_space *space,
                                                const ctune_target *target,
                                                const ctune_measurer *measurer,
                                                const ctune_engine_options *options,
                                                double original_ns, ctune_engine **out);
/* Goes on until a batch has been collected and slice_s seconds have passed in this call, or the
 * search is over. One batch may stay in flight (it compiles meanwhile). A search that is over stays
 * so; steps then do nothing. Fails as ctune_engine_run. */
CTUNE_MUST_USE ctune_status ctune_engine_step(ctune_ctx *ctx, ctune_engine *search, double slice_s,
                                              bool *is_over);
/* Collects what is in flight, proposes nothing. */
CTUNE_MUST_USE ctune_status ctune_engine_drain(ctune_ctx *ctx, ctune_engine *search);
/* New limits; a search that ended on one of its limits goes on when the new ones allow. */
void ctune_engine_set_limits(ctune_engine *search, int max_trials, double budget_s);
/* At any time between steps. */
void ctune_engine_get(const ctune_engine *search, ctune_engine_result *result);
void ctune_engine_destroy(ctune_engine *search);

/* ---- choice without measuring ---------------------------------------------------------------- */

typedef struct ctune_predict_options {
    const ctune_model *model;   /* NULL (or one that is not trained): the estimate alone */
    ctune_features_fn features; /* NULL without a model */
    void *features_user;
    uint64_t seed;
    int n_samples;       /* of the draft; 0: 4096 */
    double model_weight; /* of the model in the score, the rest is the estimate's; 0: 0.75 */
    /* CPU seconds of this thread; 0: 1. A safety net: a search that runs into it stops there with
     * what it has. On a machine that does not, the point depends on the seed alone. */
    double limit_s;
} ctune_predict_options;

/* The point that should be fastest: seeds, samples and short annealing by the estimate, the best
 * of them ranked and refined by the model. *out is normalised and legal (at worst the source's own
 * order). *score (may be NULL): log2 of the speed-up over the source's own order, less what the
 * model's members and the estimate disagree about it (costmodel/choice.h); 0 when the point is that
 * order. Fails ENOMEM and what the model fails with. */
CTUNE_MUST_USE ctune_status ctune_engine_predict(ctune_ctx *ctx, const ctune_space *space,
                                                 const ctune_target *target,
                                                 const ctune_predict_options *options,
                                                 ctune_point *out, double *score);

#endif

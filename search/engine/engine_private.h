/*
 * What the parts of the tuning loop share.
 *
 * Times and scores here are log2 of nanoseconds: lower is faster, a difference of 1 is a factor of
 * two; INFINITY = not legal, or failed. A point is predicted in two stages: the draft (estimate and
 * correction, about a microsecond) and, where a model leads, the judgement (features and model,
 * ten times dearer), whose part in the score depends on who ranked better so far (blend.c).
 */
#ifndef CTUNE_SEARCH_ENGINE_ENGINE_PRIVATE_H
#define CTUNE_SEARCH_ENGINE_ENGINE_PRIVATE_H

#include "search/engine/engine.h"

enum {
    MAX_BATCH = 64,
    MAX_SEEDS = 48,
    N_TOP = 8,
    N_CHAINS = 128, /* annealed on the draft */
    N_LED = 64,     /* annealed on the judgement */
    POOL_SIZE = 256,
    CACHE_SIZE = 1 << 14,
    N_POPULATION = 100, /* genetic */
    N_LEAST_FIT = 16    /* results before the model learns */
};

/* ---- set of point hashes (pointset.c) -------------------------------------------------------- */
typedef struct point_set {
    size_t n, size; /* size: 0 or a power of two */
    uint64_t *slot; /* 0 = free */
} point_set;
void point_set_clear(point_set *set);
bool point_set_has(const point_set *set, uint64_t hash);
/* False when memory is out. */
bool point_set_add(point_set *set, uint64_t hash);

/* ---- what has been measured ------------------------------------------------------------------ */
typedef struct sample {
    ctune_point point;
    double estimate; /* log2 ns by the estimate */
    double model;    /* by the model as it is now, up to a constant; NAN = none */
    double time;     /* log2 ns measured; INFINITY when it failed */
    ctune_trial trial;
} sample;

/*
 * Correction of the estimate, learned from the samples: log2 time = slope * log2 estimate + bias +
 * sum over decisions of weight[decision][value]. Ridge-regularised, so that it says little while it
 * knows little.
 */
typedef struct residual {
    int n_decisions;
    int offset[CTUNE_SPACE_DECISIONS + 1]; /* of a decision's values in weight */
    double slope, bias;
    double *weight, *sum, *mass; /* [offset[n_decisions]] */
} residual;
bool residual_init(residual *r, const ctune_space *space);
void residual_clear(residual *r);
/* Says nothing about fewer than 8 samples. False when memory is out. */
bool residual_fit(residual *r, const sample *samples, int n, double best);
double residual_predict(const residual *r, const ctune_point *point, double estimate);

/* ---- proposals ------------------------------------------------------------------------------- */
typedef struct proposal {
    ctune_point point;
    uint64_t hash;
    double estimate; /* log2 ns */
    double base;     /* corrected estimate */
    double model;    /* -score of the model; NAN = not asked */
    double blend;    /* of base and model; base without a model */
    double score;    /* predicted: blend where the model counts, else base; anchored by some */
} proposal;

/* Chains of one annealing, and the best new points that they met. */
typedef struct chains {
    bool is_led; /* scored by the judgement */
    int n;
    int n_rounds;
    proposal chain[N_CHAINS];
    int n_pool;
    int worst; /* of a full pool */
    proposal pool[POOL_SIZE];
} chains;

typedef struct cache_entry {
    uint64_t hash;
    double estimate;
    float model;
    int version; /* of the model that gave `model`; 0 = none */
} cache_entry;

/* Who ranks how well: pairs of the batches so far, older ones fading. */
typedef struct accuracy {
    double right, pairs;
} accuracy;

typedef struct lead {
    bool is_trained;   /* tells points apart */
    bool is_off;       /* it failed: the search goes on without it */
    bool came_trained; /* did so before it saw a sample of this search */
    int version;       /* 1 = as given, one more with each fit */
    int n_fitted;      /* samples in the last fit */
    int n_fits;
    double weight;      /* of the model in the score */
    double slope, bias; /* log2 ns = slope * model + bias */
    accuracy by_estimate, by_model, by_score;
    float *rows;        /* of points being judged */
    float *sample_rows; /* [n_sample_rows][n_features], in the order of the samples */
    int n_sample_rows, size_sample_rows;
} lead;

typedef struct genetic {
    int n, at;        /* points of this generation; proposed */
    int first_sample; /* of this generation */
    ctune_point gene[N_POPULATION];
} genetic;

typedef struct engine {
    ctune_ctx *ctx;
    const ctune_space *space;
    const ctune_target *target;
    ctune_engine_options options;
    ctune_rng rng;
    double effort;   /* 1, or less when the model takes too much time */
    point_set known; /* measured or in flight */
    int n_samples, size_samples;
    int n_learned; /* samples at the last engine_learn */
    sample *samples;
    int n_top;
    int top[N_TOP]; /* samples, fastest first */
    residual residual;
    lead lead;
    chains draft, led;
    genetic genetic;
    cache_entry *cache; /* [CACHE_SIZE], direct-mapped */
    int64_t n_scored, n_rows;
} engine;

/* engine_state.c. False when memory is out; clear in any case. */
bool engine_init(engine *e, ctune_ctx *ctx, const ctune_space *space, const ctune_target *target);
void engine_clear(engine *e);
/* A measured point. False when memory is out. */
bool engine_add_sample(engine *e, const ctune_trial *trial, double estimate, double time);
/* The source's own order. */
ctune_point engine_source_point(const engine *e);
/* Source order and the space's seeds, normalised: at most MAX_SEEDS + 1. Returns how many. */
int engine_seeds(const engine *e, proposal *out);

/* score.c: fills hash, estimate, base, score. Points must be normalised. */
void engine_draft(engine *e, proposal *list, int n);
/* score.c: a model that tells points apart is there, and counts. */
bool engine_is_led(const engine *e);
/* score.c: of drafted points, the model's view and the blended score; nothing without a trained
 * model. */
ctune_status engine_judge(engine *e, proposal *list, int n);
/* Draft and judgement; engine_judge only when it counts. */
ctune_status engine_score(engine *e, proposal *list, int n);
/* Best first; ties in an order that depends on the points alone. */
void engine_sort(proposal *list, int n);

/* model.c: is there one, does the strategy use it, has it not failed? */
bool model_is_given(const engine *e);
/* model.c: learn from all samples where it is time to; what the model then says of them. */
ctune_status model_learn(engine *e);
/* model.c: scores of rows as log2, lower is faster, NAN = no use. n at most MODEL_CHUNK. */
enum { MODEL_CHUNK = 256 };
ctune_status model_predict(engine *e, const float *rows, int n, float *out);
/* model.c: does it tell points apart? Sets lead.is_trained. */
ctune_status model_probe(engine *e);

/* blend.c: what a batch says about the predictions made before it was measured. times [n]. */
void blend_update(engine *e, const proposal *list, const double *times, int n);
/* blend.c: the model's weight from the accuracies. */
void blend_weigh(engine *e);
/* blend.c: the model's scale from the samples. */
void blend_calibrate(engine *e);
double blend_score(const engine *e, double base, double model);
double accuracy_get(const accuracy *a); /* NAN without evidence */

/* Learn from all samples: the correction, the model. */
ctune_status engine_learn(engine *e);

/* anneal.c: one round of the draft's chains and, where a model leads, of its own; fills the pools.
 * n_batch: trials of the batch that it is for. */
ctune_status anneal_round(engine *e, int n_batch);
/* anneal.c: n_steps of the draft's chains from where they stand. */
ctune_status anneal_draft(engine *e, int n_steps, double temperature);
/* anneal.c: up to n points from the pool, diverse; they become known. Returns how many. */
int anneal_pick(engine *e, proposal *out, int n);

/* exploit.c: up to n new points near the fastest samples; they become known. *n_out: how many. */
ctune_status exploit_pick(engine *e, proposal *out, int n, int *n_out);
/* descent.c: up to n new neighbours (one decision changed) of the fastest samples, the fastest's
 * first. */
ctune_status descent_pick(engine *e, proposal *out, int n, int *n_out);
/* genetic.c: up to n of this generation; when it is used up, 0 while some are in flight, else the
 * first of the next. */
ctune_status genetic_pick(engine *e, bool is_in_flight, proposal *out, int n, int *n_out);
/* evolve.c: a batch of max by Ansor's search, appended to list; they become known. */
ctune_status evolve_fill(engine *e, proposal *list, int *n, int max);
/* batch.c: the best by draft of n_each uniform samples, `wanted` times; appended to list. */
ctune_status batch_add_random(engine *e, proposal *list, int *n, int wanted, int n_each);
/* batch.c: a whole batch of the annealing strategies, at most max; they become known. */
typedef struct batch_plan {
    int max;
    int n_batches;   /* proposed before */
    double progress; /* part of the budget that is used up, 0 to 1 */
} batch_plan;
ctune_status batch_fill(engine *e, const batch_plan *plan, proposal *list, int *n);

/* What a child or neighbour of a sample inherits of the error of its prediction. */
#define CTUNE_ANCHOR 0.8
/* log2: predicted so much slower than the best is not tried. */
#define CTUNE_ABSURD 1.5
/* exploit.c: error of the prediction at a sample. */
double sample_error(const engine *e, const sample *s);
bool proposal_is_new(const engine *e, const proposal *p);

#endif

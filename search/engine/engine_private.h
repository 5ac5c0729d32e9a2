/*
 * What the parts of the tuning loop share.
 *
 * Scores here are log2 of nanoseconds: lower is faster, a difference of 1 is a factor of two;
 * INFINITY = not legal.
 */
#ifndef CTUNE_SEARCH_ENGINE_ENGINE_PRIVATE_H
#define CTUNE_SEARCH_ENGINE_ENGINE_PRIVATE_H

#include "search/engine/engine.h"

enum { N_CHAINS = 128, MAX_BATCH = 64, POOL_FACTOR = 4, N_TOP = 8 };

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
void residual_fit(residual *r, const sample *samples, int n, double best);
double residual_predict(const residual *r, const ctune_point *point, double estimate);

/* ---- proposals ------------------------------------------------------------------------------- */
typedef struct proposal {
    ctune_point point;
    uint64_t hash;
    double estimate; /* log2 ns */
    double score;    /* predicted log2 ns */
} proposal;

typedef struct engine {
    ctune_ctx *ctx;
    const ctune_space *space;
    const ctune_machine *machine;
    const ctune_engine_options *options;
    ctune_rng rng;
    point_set known; /* measured or in flight */
    int n_samples, size_samples;
    sample *samples;
    int n_top;
    int top[N_TOP]; /* samples, fastest first */
    residual residual;
    proposal chain[N_CHAINS]; /* score INFINITY: not started */
    int n_pool;
    proposal pool[MAX_BATCH * POOL_FACTOR]; /* best new points that annealing met */
    int n_rounds;                           /* of annealing */
    float *rows;                            /* model: feature rows of one call */
    int max_rows;
} engine;

/* score.c: nest, estimate and prediction of points; hash, estimate and score are filled. Points
 * must be normalised. */
ctune_status engine_score(engine *e, proposal *list, int n);
/* score.c: learn from all samples: the correction, and the model when there is one. */
ctune_status engine_learn(engine *e);
/* anneal.c: one round of the chains; fills the pool. */
ctune_status anneal_round(engine *e);
/* anneal.c: up to n points from the pool, diverse; they become known. Returns how many. */
int anneal_pick(engine *e, proposal *out, int n);

/* exploit.c: up to n new points near the fastest samples; they become known. *n_out: how many. */
ctune_status exploit_pick(engine *e, proposal *out, int n, int *n_out);
/* exploit.c: up to n new neighbours (one decision changed) of the fastest samples, the fastest's
 * first. */
ctune_status descent_pick(engine *e, proposal *out, int n, int *n_out);

#endif

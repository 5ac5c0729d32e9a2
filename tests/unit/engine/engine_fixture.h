/* A space of a sample region, and a measurer that simulates a machine: no compiler, no clock. */
#ifndef CTUNE_TESTS_UNIT_ENGINE_ENGINE_FIXTURE_H
#define CTUNE_TESTS_UNIT_ENGINE_ENGINE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../te/te_samples.h"
#include "search/engine/engine.h"

typedef struct fixture {
    ctune_ctx ctx;
    ctune_region *region;
    ctune_program *program;
    ctune_space *space;
    ctune_target target;
} fixture;

static inline void fixture_init(fixture *f, const char *text) {
    static const int64_t caches[3] = {49152, 1048576, 33554432};
    ctune_ctx_init(&f->ctx);
    ctune_target_init(&f->target, 64, caches, 1);
    assert_int_equal(ctune_te_parse(&f->ctx, text, &f->region), CTUNE_OK);
    assert_int_equal(ctune_program_create(&f->ctx, f->region, &f->program), CTUNE_OK);
    assert_int_equal(ctune_space_create(&f->ctx, f->program, &f->target, &f->space), CTUNE_OK);
}

static inline void fixture_clear(fixture *f) {
    ctune_space_destroy(f->space);
    ctune_program_destroy(f->program);
    ctune_region_destroy(f->region);
}

/* The simulated truth. By point: the estimate bent by a factor for each decision value and for some
 * pairs. By nest: a function of what the nest looks like, so that a model can know it. */
typedef struct simulator {
    const fixture *f;
    uint64_t seed;
    bool is_by_nest;
    double noise;   /* relative */
    int fail_every; /* 0 = never */
    int die_after;  /* batches until EENV, 0 = never */
    int n_batches, n_in_flight, n_max_in_flight, n_trials;
    ctune_rng rng;
    double best; /* smallest true time so far, ns */
    int n_log;
    ctune_trial log[4096];
} simulator;

static inline double bend(uint64_t seed, int a, int va, int b, int vb) {
    int key[4] = {a, va, b, vb};
    ctune_rng rng;
    ctune_rng_init(&rng, ctune_hash(seed ^ CTUNE_HASH_INIT, key, sizeof key));
    return ctune_rng_unit(&rng) - 0.5;
}

static inline double true_time(const simulator *s, const ctune_point *p, double estimate_ns) {
    double x = 0.8 * log2(estimate_ns) + 4;
    for (int j = 0; j < p->n; j++) {
        x += 0.8 * bend(s->seed, j, p->decision[j], -1, 0);
        if (j > 0) {
            x += 0.4 * bend(s->seed, j, p->decision[j], j - 1, p->decision[j - 1]);
        }
    }
    return exp2(x);
}

static inline double nest_time(const fixture *f, uint64_t seed, const ctune_nest *nest) {
    double x = 0.5 * log2(ctune_estimate(nest, &f->target)) + 12;
    for (int i = 0; i < nest->n_nodes; i++) {
        const ctune_nnode *node = &nest->node[i];
        if (node->kind == CTUNE_NN_LOOP) {
            x += 1.2 * bend(seed, node->dim, (int)node->ann, (int)node->step, 0);
        }
    }
    return exp2(x);
}

static inline ctune_status simulate_submit(ctune_ctx *ctx, void *user, ctune_trial *trials, int n) {
    simulator *s = user;
    (void)ctx;
    (void)trials;
    (void)n;
    s->n_in_flight++;
    s->n_max_in_flight = s->n_in_flight > s->n_max_in_flight ? s->n_in_flight : s->n_max_in_flight;
    return CTUNE_OK;
}

static inline ctune_status simulate_collect(ctune_ctx *ctx, void *user, double best_ns,
                                            ctune_trial *trials, int n) {
    simulator *s = user;
    (void)best_ns;
    if (s->die_after > 0 && s->n_batches == s->die_after) {
        return ctune_fail(ctx, CTUNE_EENV, "the runner is gone");
    }
    s->n_batches++;
    s->n_in_flight--;
    for (int i = 0; i < n; i++) {
        ctune_nest nest;
        assert_true(ctune_space_nest(s->f->space, &trials[i].point, &nest));
        double t = s->is_by_nest
                       ? nest_time(s->f, s->seed, &nest)
                       : true_time(s, &trials[i].point, ctune_estimate(&nest, &s->f->target));
        memset(&trials[i].result, 0, sizeof trials[i].result);
        bool fails = s->fail_every > 0 && ++s->n_trials % s->fail_every == 0;
        trials[i].result.outcome = fails ? CTUNE_RUN_CRASH : CTUNE_RUN_OK;
        if (!fails) {
            trials[i].result.best_ns = t * (1 + s->noise * ctune_rng_unit(&s->rng));
            trials[i].result.median_ns = trials[i].result.best_ns * 1.01;
            s->best = s->best == 0 || t < s->best ? t : s->best;
        }
        if (s->n_log < 4096) {
            s->log[s->n_log++] = trials[i];
        }
    }
    return CTUNE_OK;
}

static inline simulator *simulator_new(uint64_t seed) {
    simulator *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->seed = seed;
    s->noise = 0.02;
    return s;
}

static inline ctune_measurer simulator_measurer(fixture *f, simulator *s) {
    s->f = f;
    ctune_rng_init(&s->rng, 99);
    return (ctune_measurer){s, simulate_submit, simulate_collect};
}

/* Runs a whole search; returns s. */
static inline simulator *run_search(fixture *f, const ctune_engine_options *options, simulator *s,
                                    ctune_engine_result *result, ctune_status expected) {
    const ctune_measurer measurer = simulator_measurer(f, s);
    ctune_status status =
        ctune_engine_run(&f->ctx, f->space, &f->target, &measurer, options, 0, result);
    assert_int_equal(status, expected);
    return s;
}

static inline void check_same_trials(const simulator *a, const simulator *b) {
    assert_int_equal(a->n_log, b->n_log);
    for (int i = 0; i < a->n_log; i++) {
        assert_true(ctune_point_hash(&a->log[i].point) == ctune_point_hash(&b->log[i].point));
    }
}

/* Fastest of the first n trials, log2 ns. */
static inline double best_of(const simulator *s, int n) {
    double best = INFINITY;
    for (int i = 0; i < n && i < s->n_log; i++) {
        const ctune_run_result *r = &s->log[i].result;
        best = r->outcome == CTUNE_RUN_OK ? fmin(best, log2(r->best_ns)) : best;
    }
    return best;
}

/* A model that is told the truth: by `right` 1 it knows the order, by -1 the reverse, 0 nothing
 * (all points alike); noise is added per row. needs_fit: 0 before the first fit. */
typedef struct fake_model {
    const fixture *f;
    uint64_t seed; /* of the simulator */
    double right, noise;
    bool needs_fit;
    int n_fits, n_rows_fitted;
    int64_t n_rows;
    ctune_model model;
} fake_model;

static inline void fake_features(void *user, const ctune_point *point, const ctune_nest *nest,
                                 float *row) {
    (void)point;
    const fake_model *m = user;
    row[0] = (float)log2(nest_time(m->f, m->seed, nest));
    row[1] = (float)nest->n_nodes;
}

static inline ctune_status fake_predict(ctune_ctx *ctx, void *self, const float *features,
                                        size_t n_rows, float *scores) {
    fake_model *m = self;
    (void)ctx;
    m->n_rows += (int64_t)n_rows;
    for (size_t i = 0; i < n_rows; i++) {
        int key;
        memcpy(&key, &features[2 * i], sizeof key);
        double off = m->noise * bend(5, key, 0, 0, 0);
        bool is_silent = (m->needs_fit && m->n_fits == 0) || m->right == 0;
        scores[i] = is_silent ? 0 : (float)(-m->right * features[2 * i] + off);
    }
    return CTUNE_OK;
}

static inline ctune_status fake_fit(ctune_ctx *ctx, void *self, const float *features,
                                    const float *labels, size_t n_rows) {
    fake_model *m = self;
    float best = 0;
    (void)ctx;
    (void)features;
    m->n_fits++;
    m->n_rows_fitted = (int)n_rows;
    for (size_t i = 0; i < n_rows; i++) {
        assert_true(labels[i] >= 0 && labels[i] <= 1);
        best = labels[i] > best ? labels[i] : best;
    }
    assert_true(best == 1);
    return CTUNE_OK;
}

/* Sets the options' model; m must outlive the search. */
static inline void fake_model_use(fake_model *m, const fixture *f, uint64_t seed, double right,
                                  ctune_engine_options *options) {
    *m = (fake_model){.f = f, .seed = seed, .right = right};
    m->model = (ctune_model){
        .name = "fake", .n_features = 2, .self = m, .predict = fake_predict, .fit = fake_fit};
    options->model = &m->model;
    options->features = fake_features;
    options->features_user = m;
    options->model_share = -1;
}

#endif

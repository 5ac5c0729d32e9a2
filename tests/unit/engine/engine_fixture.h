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
    ctune_machine machine;
} fixture;

static inline void fixture_init(fixture *f, const char *text) {
    static const int64_t caches[3] = {49152, 1048576, 33554432};
    const ctune_space_options options = {64, false, 49152, 1048576, 33554432};
    ctune_ctx_init(&f->ctx);
    assert_int_equal(ctune_te_parse(&f->ctx, text, &f->region), CTUNE_OK);
    assert_int_equal(ctune_program_create(&f->ctx, f->region, &f->program), CTUNE_OK);
    assert_int_equal(ctune_space_create(&f->ctx, f->program, &options, &f->space), CTUNE_OK);
    ctune_machine_default(&f->machine, 64, caches, 1);
}

static inline void fixture_clear(fixture *f) {
    ctune_space_destroy(f->space);
    ctune_program_destroy(f->program);
    ctune_region_destroy(f->region);
}

/* The simulated truth: the estimate bent by a factor for each decision value and for some pairs. */
typedef struct simulator {
    const fixture *f;
    uint64_t seed;
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
        double t = true_time(s, &trials[i].point, ctune_estimate(&nest, &s->f->machine));
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

#endif

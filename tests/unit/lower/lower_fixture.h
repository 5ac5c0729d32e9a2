/*
 * Lowering by interpretation: a region, a schedule, and the program right after lowering run beside
 * the region itself. No compiler.
 */
#ifndef CTUNE_TESTS_UNIT_LOWER_LOWER_FIXTURE_H
#define CTUNE_TESTS_UNIT_LOWER_LOWER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "runtime/rng.h"
#include "search/lower/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXTURE_TENSORS = 16 };

typedef struct fixture {
    ctune_ctx ctx;
    ctune_region *region;
    ctune_program *program;
    ctune_target target; /* vectors of 32 bytes, OpenMP */
} fixture;

static inline void fixture_init(fixture *f, const char *te) {
    memset(f, 0, sizeof *f);
    ctune_ctx_init(&f->ctx);
    f->target = (ctune_target){.vector_bytes = 32, .openmp = true};
    if (ctune_te_parse(&f->ctx, te, &f->region) != CTUNE_OK ||
        ctune_program_create(&f->ctx, f->region, &f->program) != CTUNE_OK) {
        fail_msg("%s in\n%s", f->ctx.error, te);
    }
}

static inline void fixture_clear(fixture *f) {
    ctune_program_destroy(f->program);
    ctune_region_destroy(f->region);
}

static inline ctune_status fixture_apply(fixture *f, const char *text, ctune_nest *nest) {
    ctune_schedule s;
    ctune_schedule_init(&s);
    if (ctune_schedule_parse(&f->ctx, text, &s) != CTUNE_OK) {
        fail_msg("%s: %s", text, f->ctx.error);
    }
    ctune_status status = ctune_schedule_apply(&f->ctx, f->program, &s, nest);
    ctune_schedule_clear(&s);
    if (status == CTUNE_OK && ctune_nest_verify(&f->ctx, nest) != CTUNE_OK) {
        fail_msg("%s: %s", text, f->ctx.error);
    }
    return status;
}

/* ---- memory ---- */

typedef struct memory {
    int n;
    void *at[FIXTURE_TENSORS];
    size_t bytes[FIXTURE_TENSORS];
} memory;

static inline void memory_init(memory *m, const ctune_region *region, const int64_t *params) {
    m->n = region->n_tensors;
    assert_true(m->n <= FIXTURE_TENSORS);
    for (int t = 0; t < m->n; t++) {
        int64_t n = 1;
        for (int d = 0; d < region->tensors[t].rank; d++) {
            int64_t e = ctune_aff_eval(region, region->tensors[t].extent[d], NULL, params);
            n *= e > 0 ? e : 0;
        }
        m->bytes[t] = (size_t)n * (size_t)ctune_type_get(region->tensors[t].type)->bytes;
        m->at[t] = region->tensors[t].is_temp ? NULL : calloc(m->bytes[t] + 1, 1);
    }
}

static inline void memory_fill(memory *m, const ctune_region *region, uint64_t seed) {
    ctune_rng rng;
    ctune_rng_init(&rng, seed);
    for (int t = 0; t < m->n; t++) {
        ctune_type type = region->tensors[t].type;
        double *f64 = m->at[t];
        float *f32 = m->at[t];
        unsigned char *bytes = m->at[t];
        bool is_f64 = type == CTUNE_F64, is_f32 = type == CTUNE_F32;
        size_t n = bytes == NULL ? 0 : m->bytes[t] / (is_f64 ? 8 : is_f32 ? 4 : 1);
        assert_true(is_f64 || is_f32 || !ctune_type_is_float(type));
        for (size_t i = 0; i < n; i++) {
            if (is_f64) {
                f64[i] = 1.0 + (double)ctune_rng_below(&rng, 1000) / 7.0;
            } else if (is_f32) { /* sums are exact */
                f32[i] = (float)ctune_rng_below(&rng, 17) - 8;
            } else {
                bytes[i] = (unsigned char)ctune_rng_below(&rng, 256);
            }
        }
    }
}

static inline void memory_clear(memory *m) {
    for (int t = 0; t < m->n; t++) {
        free(m->at[t]);
    }
}

static inline bool memory_is_equal(const memory *a, const memory *b) {
    for (int t = 0; t < a->n; t++) {
        if (a->at[t] != NULL && memcmp(a->at[t], b->at[t], a->bytes[t]) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- running ---- */

typedef struct comparison {
    fixture *f;
    const int64_t (*params)[4];
    int n_params; /* sets of values */
    bool is_equal;
    char error[400];
} comparison;

/* At one set of parameter values: does the program do what the region does? */
static inline bool run_once(fixture *f, const ctune_loops *loops, const int64_t *params,
                            char *error, size_t size) {
    memory want, have;
    memory_init(&want, f->region, params);
    memory_init(&have, f->region, params);
    memory_fill(&want, f->region, 7);
    memory_fill(&have, f->region, 7);
    bool is_equal = true;
    if (ctune_te_eval(&f->ctx, f->region, CTUNE_PRODUCTS_ROUNDED, params, want.at, want.bytes) !=
        CTUNE_OK) {
        fail_msg("te_eval: %s", f->ctx.error);
    }
    /* an order of the parallel loops that is not the program's, with a check that they are */
    if (ctune_loops_eval_order(&f->ctx, loops, params, have.at, have.bytes, 3) != CTUNE_OK) {
        snprintf(error, size, "loops_eval: %s", f->ctx.error);
        is_equal = false;
    } else if (!memory_is_equal(&want, &have)) {
        snprintf(error, size, "results differ");
        is_equal = false;
    }
    memory_clear(&want);
    memory_clear(&have);
    return is_equal;
}

static inline void compare_all(void *data, const char *pass, const ctune_loops *loops) {
    comparison *c = data;
    char error[300] = "";
    if (!c->is_equal) {
        return;
    }
    if (ctune_loops_verify(&c->f->ctx, loops) != CTUNE_OK) {
        snprintf(c->error, sizeof c->error, "%s: %.300s", pass, c->f->ctx.error);
        c->is_equal = false;
    }
    for (int p = 0; p < c->n_params && c->is_equal; p++) {
        c->is_equal = run_once(c->f, loops, c->params[p], error, sizeof error);
        if (!c->is_equal) {
            snprintf(c->error, sizeof c->error, "%s at %d %d: %s", pass, (int)c->params[p][0],
                     (int)c->params[p][1], error);
        }
    }
}

/* Lowers the nest and compares; false with words in c->error. */
static inline bool lowers_right(comparison *c, const ctune_nest *nest) {
    ctune_lower_options options = {.target = &c->f->target,
                                   .products = CTUNE_PRODUCTS_ROUNDED,
                                   .observer = compare_all,
                                   .observer_data = c};
    ctune_loops *loops = NULL;
    c->is_equal = true;
    if (ctune_lower(&c->f->ctx, nest, &options, &loops) != CTUNE_OK) {
        snprintf(c->error, sizeof c->error, "lower: %.300s", c->f->ctx.error);
        return false;
    }
    ctune_loops_destroy(loops);
    return c->is_equal;
}

static const int64_t fixture_sizes[][4] = {{0, 0}, {1, 1},  {2, 3},  {3, 2},
                                           {4, 7}, {7, 13}, {5, 20}, {13, 11}};

static inline void assert_runs(fixture *f, const char *schedule) {
    ctune_nest nest;
    comparison c = {f, fixture_sizes, sizeof fixture_sizes / sizeof *fixture_sizes, true, ""};
    if (fixture_apply(f, schedule, &nest) != CTUNE_OK) {
        fail_msg("%s: %s", schedule, f->ctx.error);
    }
    if (!lowers_right(&c, &nest)) {
        fail_msg("%s: %s", schedule, c.error);
    }
}

static inline void assert_refused(fixture *f, const char *schedule, const char *words) {
    ctune_nest nest;
    ctune_status status = fixture_apply(f, schedule, &nest);
    if (status != CTUNE_EREFUSED || strstr(f->ctx.error, words) == NULL) {
        fail_msg("%s: %s, '%s'", schedule, ctune_status_name(status), f->ctx.error);
    }
}

#endif

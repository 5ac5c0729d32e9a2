/* A region with its space and a target, and columns by name. */
#ifndef CTUNE_TESTS_UNIT_FEATURE_FEATURE_FIXTURE_H
#define CTUNE_TESTS_UNIT_FEATURE_FEATURE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../te/te_samples.h"
#include "search/feature/context.h"
#include "search/feature/feature.h"
#include "search/space/space.h"

enum { MAX_COLUMNS = 2048 };

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
    ctune_target_init(&f->target, 64, caches, 4);
    f->target.openmp = true;
    assert_int_equal(ctune_te_parse(&f->ctx, text, &f->region), CTUNE_OK);
    assert_int_equal(ctune_program_create(&f->ctx, f->region, &f->program), CTUNE_OK);
    assert_int_equal(ctune_space_create(&f->ctx, f->program, &f->target, &f->space), CTUNE_OK);
}

static inline void fixture_clear(fixture *f) {
    ctune_space_destroy(f->space);
    ctune_program_destroy(f->program);
    ctune_region_destroy(f->region);
}

static inline void fixture_nest(fixture *f, const char *schedule_text, ctune_nest *nest) {
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    assert_int_equal(ctune_schedule_parse(&f->ctx, schedule_text, &schedule), CTUNE_OK);
    ctune_status status = ctune_schedule_apply(&f->ctx, f->program, &schedule, nest);
    if (status != CTUNE_OK) {
        print_error("%s\n", f->ctx.error);
    }
    assert_int_equal(status, CTUNE_OK);
    ctune_schedule_clear(&schedule);
}

/* The next legal random nest; false when 200 tries found none. */
static inline bool fixture_sample(const fixture *f, ctune_rng *rng, ctune_nest *nest) {
    for (int i = 0; i < 200; i++) {
        ctune_point point;
        ctune_space_sample(f->space, rng, &point);
        if (ctune_space_nest(f->space, &point, nest)) {
            return true;
        }
    }
    return false;
}

static inline float column(const float *row, const char *name) {
    int n = ctune_feature_count(CTUNE_FEATURE_ALL);
    for (int i = 0; i < n; i++) {
        if (strcmp(ctune_feature_name(CTUNE_FEATURE_ALL, i), name) == 0) {
            return row[i];
        }
    }
    fail_msg("no column '%s'", name);
    return 0;
}

#endif

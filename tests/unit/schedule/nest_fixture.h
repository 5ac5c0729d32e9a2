/* A nest from TE text and hand-written direction vectors, without dependence analysis. */
#ifndef CTUNE_TESTS_UNIT_SCHEDULE_NEST_FIXTURE_H
#define CTUNE_TESTS_UNIT_SCHEDULE_NEST_FIXTURE_H

#include "search/schedule/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    ctune_ctx ctx;
    ctune_region *region;
    ctune_form form;
    ctune_nest nest;
} fixture;

static inline void fixture_init(fixture *f, const char *te, const ctune_depvec *vecs, int n) {
    memset(f, 0, sizeof *f);
    if (ctune_te_parse(&f->ctx, te, &f->region) != CTUNE_OK ||
        ctune_tree_from_source(&f->ctx, f->region, &f->form.tree) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
    f->form.vecs.n = n;
    f->form.vecs.vec = vecs;
    ctune_nest_init(&f->nest, f->region, &f->form);
    assert_int_equal(ctune_nest_verify(&f->ctx, &f->nest), CTUNE_OK);
}

static inline void fixture_clear(fixture *f) {
    ctune_tree_destroy(f->form.tree);
    ctune_region_destroy(f->region);
}

/* Back to the form's own loops, then the primitives of text. */
static inline ctune_status fixture_apply(fixture *f, const char *text) {
    ctune_schedule s;
    ctune_status status;
    ctune_schedule_init(&s);
    ctune_nest_init(&f->nest, f->region, &f->form);
    assert_int_equal(ctune_schedule_parse(&f->ctx, text, &s), CTUNE_OK);
    status = CTUNE_OK;
    for (int k = 0; k < s.n && status == CTUNE_OK; k++) {
        status = ctune_nest_apply(&f->ctx, &f->nest, &s.prim[k]);
        if (ctune_nest_verify(&f->ctx, &f->nest) != CTUNE_OK) {
            fail_msg("%s: %s", text, f->ctx.error);
        }
    }
    ctune_schedule_clear(&s);
    return status;
}

static inline void assert_nest(fixture *f, const char *schedule, const char *wanted) {
    ctune_text text;
    ctune_text_init(&text);
    if (fixture_apply(f, schedule) != CTUNE_OK) {
        fail_msg("%s: %s", schedule, f->ctx.error);
    }
    ctune_nest_print(&f->nest, &text);
    assert_string_equal(ctune_text_get(&text), wanted);
    ctune_text_clear(&text);
}

static inline void assert_no(fixture *f, const char *schedule, ctune_status status,
                             const char *words) {
    ctune_status got = fixture_apply(f, schedule);
    if (got != status || strstr(f->ctx.error, words) == NULL) {
        fail_msg("%s: %s, '%s'", schedule, ctune_status_name(got), f->ctx.error);
    }
}

static inline void assert_legal(fixture *f, const char *schedule) {
    char why[200] = "";
    if (fixture_apply(f, schedule) != CTUNE_OK) {
        fail_msg("%s: %s", schedule, f->ctx.error);
    }
    if (!ctune_nest_check(&f->nest, why, sizeof why)) {
        fail_msg("%s: %s", schedule, why);
    }
}

static inline void assert_illegal(fixture *f, const char *schedule, const char *words) {
    char why[200] = "";
    if (fixture_apply(f, schedule) != CTUNE_OK) {
        fail_msg("%s: %s", schedule, f->ctx.error);
    }
    if (ctune_nest_check(&f->nest, why, sizeof why) || strstr(why, words) == NULL) {
        fail_msg("%s: legal, or '%s' instead of '%s'", schedule, why, words);
    }
}

#endif

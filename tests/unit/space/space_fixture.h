/* A region with its space, and the check that a point is what its schedule says. */
#ifndef CTUNE_TESTS_SPACE_FIXTURE_H
#define CTUNE_TESTS_SPACE_FIXTURE_H

#include "search/space/space.h"

#include "tests/unit/te/te_samples.h"

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
    ctune_program *program;
    ctune_space *space;
    ctune_target target;
} fixture;

static inline void fixture_init(fixture *f, const char *te, bool openmp) {
    memset(f, 0, sizeof *f);
    ctune_target_init(&f->target, 64, (const int64_t[]){49152, 1048576, 33554432}, 1);
    f->target.openmp = openmp;
    if (ctune_te_parse(&f->ctx, te, &f->region) != CTUNE_OK ||
        ctune_program_create(&f->ctx, f->region, &f->program) != CTUNE_OK ||
        ctune_space_create(&f->ctx, f->program, &f->target, &f->space) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static inline void fixture_clear(fixture *f) {
    ctune_space_destroy(f->space);
    ctune_program_destroy(f->program);
    ctune_region_destroy(f->region);
}

static inline void print_nest(const ctune_nest *nest, ctune_text *out) {
    ctune_text_clear(out);
    ctune_nest_print(nest, out);
    for (int i = 0; i < nest->n_nodes; i++) {
        const ctune_nnode *n = &nest->node[i];
        ctune_text_printf(out, "%d: %d %d %d %d dim %d outer %d step %ld ann %d %s\n", i, n->kind,
                          n->parent, n->first, n->next, n->dim, n->outer, (long)n->step, n->ann,
                          n->kind == CTUNE_NN_LOOP ? n->name : "");
    }
    for (int s = 0; s < nest->n_sums; s++) {
        for (int t = 0; t < nest->sum[s].n; t++) {
            const ctune_sum_term *term = &nest->sum[s].term[t];
            ctune_text_printf(out, "sum %d %d %d %d\n", s, term->kind, term->of, term->coef);
        }
    }
    for (int c = 0; c < nest->n_caches; c++) {
        ctune_text_printf(out, "cache %d %d %d %d\n", nest->cache[c].kind, nest->cache[c].stmt,
                          nest->cache[c].read, nest->cache[c].at);
    }
}

/* The point's nest, or false when the point is not legal; then its schedule must not apply either.
 */
static inline bool check_point(fixture *f, const ctune_point *point) {
    ctune_nest direct, applied;
    ctune_schedule schedule, again;
    ctune_text a, b, text;
    ctune_schedule_init(&schedule);
    ctune_schedule_init(&again);
    ctune_text_init(&a);
    ctune_text_init(&b);
    ctune_text_init(&text);
    bool is_legal = ctune_space_nest(f->space, point, &direct);
    ctune_status status = ctune_space_schedule(&f->ctx, f->space, point, &schedule);
    if (is_legal) {
        assert_int_equal(status, CTUNE_OK);
        assert_int_equal(ctune_nest_verify(&f->ctx, &direct), CTUNE_OK);
        ctune_schedule_print(&schedule, &text);
        if (ctune_schedule_parse(&f->ctx, ctune_text_get(&text), &again) != CTUNE_OK ||
            ctune_schedule_apply(&f->ctx, f->program, &again, &applied) != CTUNE_OK) {
            fail_msg("%s\n%s", ctune_text_get(&text), f->ctx.error);
        }
        assert_true(ctune_schedule_is_equal(&schedule, &again));
        print_nest(&direct, &a);
        print_nest(&applied, &b);
        assert_string_equal(ctune_text_get(&a), ctune_text_get(&b));
        assert_int_equal(direct.n_caches, applied.n_caches);
    }
    ctune_text_clear(&a);
    ctune_text_clear(&b);
    ctune_text_clear(&text);
    ctune_schedule_clear(&schedule);
    ctune_schedule_clear(&again);
    return is_legal;
}

#endif

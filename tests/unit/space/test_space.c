/*
 * The space of real regions: a point's nest equals its schedule applied; text round-trips;
 * normalising is idempotent; seeds are legal; sampling and mutation stay inside; the fast path is
 * fast.
 */
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

static void fixture_init(fixture *f, const char *te, bool openmp) {
    memset(f, 0, sizeof *f);
    ctune_target_init(&f->target, 64, (const int64_t[]){49152, 1048576, 33554432}, 1);
    f->target.openmp = openmp;
    if (ctune_te_parse(&f->ctx, te, &f->region) != CTUNE_OK ||
        ctune_program_create(&f->ctx, f->region, &f->program) != CTUNE_OK ||
        ctune_space_create(&f->ctx, f->program, &f->target, &f->space) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static void fixture_clear(fixture *f) {
    ctune_space_destroy(f->space);
    ctune_program_destroy(f->program);
    ctune_region_destroy(f->region);
}

static void print_nest(const ctune_nest *nest, ctune_text *out) {
    ctune_text_clear(out);
    ctune_nest_print(nest, out);
    for (int i = 0; i < nest->n_nodes; i++) {
        const ctune_nnode *n = &nest->node[i];
        ctune_text_printf(out, "%d: %d %d %d %d dim %d outer %d step %ld ann %d %s\n", i, n->kind,
                          n->parent, n->first, n->next, n->dim, n->outer, (long)n->step, n->ann,
                          n->kind == CTUNE_NN_LOOP ? n->name : "");
    }
    for (int c = 0; c < nest->n_caches; c++) {
        ctune_text_printf(out, "cache %d %d %d %d\n", nest->cache[c].kind, nest->cache[c].stmt,
                          nest->cache[c].read, nest->cache[c].at);
    }
}

/* The point's nest, or false when the point is not legal; then its schedule must not apply either.
 */
static bool check_point(fixture *f, const ctune_point *point) {
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

static void check_is_inside(fixture *f, const ctune_point *point) {
    ctune_point again = *point;
    assert_int_equal(point->n, ctune_space_n_decisions(f->space));
    for (int k = 0; k < point->n; k++) {
        assert_in_range(point->decision[k], 0, ctune_space_n_choices(f->space, k) - 1);
    }
    ctune_space_normalise(f->space, &again);
    assert_memory_equal(&again, point, sizeof again);
}

static void check_region(const char *te, bool openmp, int min_legal_percent) {
    fixture f;
    ctune_rng rng;
    int n_legal = 0, n = 200;
    fixture_init(&f, te, openmp);
    ctune_rng_init(&rng, 17);
    for (int k = 0; k < n; k++) {
        ctune_point point, other;
        ctune_space_sample(f.space, &rng, &point);
        check_is_inside(&f, &point);
        n_legal += check_point(&f, &point);
        ctune_space_mutate(f.space, &rng, &point, &other);
        check_is_inside(&f, &other);
        if (ctune_space_size(f.space) > 100) {
            assert_true(ctune_point_hash(&point) != ctune_point_hash(&other));
        }
    }
    if (n_legal * 100 < min_legal_percent * n) {
        fail_msg("only %d of %d random points are legal", n_legal, n);
    }
    fixture_clear(&f);
}

static void test_random_points(void **state) {
    (void)state;
    check_region(te_sample_gemm(), false, 40);
    check_region(te_sample_gemm(), true, 40);
    check_region(te_sample_syrk(), true, 25);
    check_region(te_sample_2mm(), true, 5);
    check_region(te_sample_jacobi2d(), true, 25);
    check_region(te_sample_symm(), true, 10);
}

static void test_identity(void **state) {
    static const char *(*const samples[])(void) = {te_sample_gemm, te_sample_syrk, te_sample_2mm,
                                                   te_sample_jacobi2d, te_sample_symm};
    (void)state;
    for (int k = 0; k < 5; k++) {
        fixture f;
        ctune_point zero = {0};
        ctune_schedule schedule;
        fixture_init(&f, samples[k](), true);
        zero.n = ctune_space_n_decisions(f.space);
        ctune_schedule_init(&schedule);
        assert_true(check_point(&f, &zero));
        assert_int_equal(ctune_space_schedule(&f.ctx, f.space, &zero, &schedule), CTUNE_OK);
        assert_int_equal(schedule.n, 0);
        ctune_schedule_clear(&schedule);
        fixture_clear(&f);
    }
}

static void test_seeds(void **state) {
    static const char *(*const samples[])(void) = {te_sample_gemm, te_sample_syrk, te_sample_2mm,
                                                   te_sample_jacobi2d, te_sample_symm};
    (void)state;
    for (int k = 0; k < 5; k++) {
        fixture f;
        ctune_point seeds[32];
        fixture_init(&f, samples[k](), false);
        int n = ctune_space_seeds(f.space, seeds, 32), n_legal = 0;
        assert_in_range(n, 4, 32);
        for (int s = 0; s < n; s++) {
            check_is_inside(&f, &seeds[s]);
            n_legal += check_point(&f, &seeds[s]);
        }
        if (n_legal * 4 < n * 3) {
            fail_msg("sample %d: only %d of %d seeds are legal", k, n_legal, n);
        }
        fixture_clear(&f);
    }
}

static void test_gemm_seed_is_blis(void **state) {
    fixture f;
    ctune_point seed;
    ctune_schedule schedule;
    ctune_text text;
    (void)state;
    fixture_init(&f, te_sample_gemm(), false);
    ctune_schedule_init(&schedule);
    ctune_text_init(&text);
    assert_int_equal(ctune_space_seeds(f.space, &seed, 1), 1);
    assert_int_equal(ctune_space_schedule(&f.ctx, f.space, &seed, &schedule), CTUNE_OK);
    ctune_schedule_print(&schedule, &text);
    const char *got = ctune_text_get(&text);
    assert_non_null(strstr(got, "vectorize j"));
    assert_non_null(strstr(got, "unroll i"));
    assert_non_null(strstr(got, "cache_read S0.0 at i0 pack"));
    assert_non_null(strstr(got, "cache_read S0.1 at k0 pack"));
    assert_non_null(strstr(got, "cache_write S0 at i1 register"));
    ctune_schedule_clear(&schedule);
    ctune_text_clear(&text);
    fixture_clear(&f);
}

static void test_speed(void **state) {
    fixture f;
    ctune_rng rng;
    ctune_point points[64];
    ctune_nest nest;
    int n_legal = 0, rounds = 200;
    (void)state;
    fixture_init(&f, te_sample_gemm(), false);
    ctune_rng_init(&rng, 3);
    for (int k = 0; k < 64; k++) {
        ctune_space_sample(f.space, &rng, &points[k]);
    }
    int64_t start = ctune_now_ns();
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < 64; k++) {
            n_legal += ctune_space_nest(f.space, &points[k], &nest);
        }
    }
    double ns = (double)(ctune_now_ns() - start) / (64 * rounds);
    print_message("ctune_space_nest: %.0f ns, %d%% legal\n", ns, n_legal * 100 / (64 * rounds));
    assert_true(ns < 200000); /* a guard against blunders only: this may run under a sanitizer */
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_points), cmocka_unit_test(test_identity),
        cmocka_unit_test(test_seeds),         cmocka_unit_test(test_gemm_seed_is_blis),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The space of real regions: a point's nest equals its schedule applied; text round-trips;
 * normalising is idempotent; seeds are legal; sampling and mutation stay inside; the fast path is
 * fast.
 */
#include "tests/unit/space/space_fixture.h"

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

/* The tuning loop against a simulated machine. */
#include "engine_fixture.h"

static void check_distinct(const simulator *s) {
    for (int i = 0; i < s->n_log; i++) {
        for (int j = 0; j < i; j++) {
            assert_true(ctune_point_hash(&s->log[i].point) != ctune_point_hash(&s->log[j].point));
        }
    }
}

static void test_trials(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options options = {.seed = 7, .max_trials = 100, .batch = 16, .epsilon = 0.05};
    ctune_engine_result result;
    simulator *s = run_search(&f, &options, simulator_new(1), &result, CTUNE_OK);
    assert_int_equal(result.n_trials, 100);
    assert_int_equal(s->n_log, 100);
    assert_int_equal(s->n_max_in_flight, 2);
    assert_int_equal(result.n_failed, 0);
    assert_int_equal(result.n_best, 8);
    check_distinct(s);
    double best = INFINITY;
    for (int i = 0; i < s->n_log; i++) {
        assert_int_equal(s->log[i].ordinal, i);
        best = fmin(best, s->log[i].result.best_ns);
    }
    assert_true(result.best[0].result.best_ns == best);
    for (int i = 1; i < result.n_best; i++) {
        assert_true(result.best[i - 1].result.best_ns <= result.best[i].result.best_ns);
    }
    free(s);
    fixture_clear(&f);
}

static void test_repeatable(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_syrk());
    ctune_engine_options options = {.seed = 7, .max_trials = 120, .epsilon = 0.05};
    ctune_engine_result result;
    simulator *a = run_search(&f, &options, simulator_new(1), &result, CTUNE_OK);
    simulator *b = run_search(&f, &options, simulator_new(1), &result, CTUNE_OK);
    options.seed = 8;
    simulator *c = run_search(&f, &options, simulator_new(1), &result, CTUNE_OK);
    check_same_trials(a, b);
    int n_same = 0;
    for (int i = 0; i < a->n_log; i++) {
        n_same += ctune_point_hash(&a->log[i].point) == ctune_point_hash(&c->log[i].point);
    }
    assert_true(n_same < 60);
    free(a);
    free(b);
    free(c);
    fixture_clear(&f);
}

/* The loop must beat random sampling and the estimate's own favourites clearly. */
static void test_learns(void **state) {
    (void)state;
    const char *const texts[] = {te_sample_gemm(), te_sample_2mm(), te_sample_symm()};
    double random_sum = 0, early_sum = 0, late_sum = 0;
    for (int w = 0; w < 3; w++) {
        fixture f;
        fixture_init(&f, texts[w]);
        for (uint64_t seed = 1; seed <= 2; seed++) {
            ctune_engine_options options = {.seed = seed, .max_trials = 200, .epsilon = 0.05};
            ctune_engine_result result;
            simulator *s = run_search(&f, &options, simulator_new(seed), &result, CTUNE_OK);
            double early = INFINITY;
            for (int i = 0; i < 32; i++) {
                early = fmin(early, s->log[i].result.best_ns);
            }
            early_sum += log2(early);
            late_sum += log2(s->best);
            free(s);
            options.strategy = CTUNE_STRATEGY_RANDOM;
            s = run_search(&f, &options, simulator_new(seed), &result, CTUNE_OK);
            random_sum += log2(s->best);
            free(s);
        }
        fixture_clear(&f);
    }
    assert_true(random_sum - late_sum > 6 * 1.0); /* twice as fast in the mean */
    assert_true(early_sum - late_sum > 6 * 0.5);
}

static void test_failures(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options options = {.seed = 3, .max_trials = 60, .batch = 8};
    ctune_engine_result result;
    simulator *s = simulator_new(2);
    s->fail_every = 3;
    run_search(&f, &options, s, &result, CTUNE_OK);
    assert_int_equal(result.n_failed, 20);
    assert_true(result.best[0].result.outcome == CTUNE_RUN_OK);
    free(s);
    s = simulator_new(2);
    s->fail_every = 1;
    run_search(&f, &options, s, &result, CTUNE_OK);
    assert_int_equal(result.n_best, 0);
    free(s);
    fixture_clear(&f);
}

static void test_dead_measurer(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options options = {.seed = 3, .max_trials = 60, .batch = 8};
    ctune_engine_result result;
    simulator *s = simulator_new(2);
    s->die_after = 3;
    run_search(&f, &options, s, &result, CTUNE_OK);
    assert_int_equal(result.n_trials, 24);
    free(s);
    fixture_clear(&f);
}

static void test_resume(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options options = {.seed = 3, .max_trials = 40, .batch = 8};
    ctune_engine_result result;
    simulator *first = run_search(&f, &options, simulator_new(4), &result, CTUNE_OK);
    options.max_trials = 100;
    options.n_known = first->n_log;
    options.known = first->log;
    simulator *second = run_search(&f, &options, simulator_new(4), &result, CTUNE_OK);
    assert_int_equal(result.n_trials, 60);
    assert_int_equal(second->log[0].ordinal, 40);
    for (int i = 0; i < second->n_log; i++) {
        for (int j = 0; j < first->n_log; j++) {
            assert_true(ctune_point_hash(&second->log[i].point) !=
                        ctune_point_hash(&first->log[j].point));
        }
    }
    assert_true(result.best[0].result.best_ns <= first->best * 1.03);
    free(first);
    free(second);
    fixture_clear(&f);
}

static bool stop_at_20(void *user, int n_trials, double best_ns, double original_ns) {
    (void)user;
    (void)original_ns;
    assert_true(best_ns > 0);
    return n_trials < 20;
}

static void test_stop(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options options = {.max_trials = 1000, .batch = 8, .progress = stop_at_20};
    ctune_engine_result result;
    simulator *s = run_search(&f, &options, simulator_new(4), &result, CTUNE_OK);
    assert_int_equal(result.n_trials, 24);
    free(s);
    options = (ctune_engine_options){.budget_s = 2.5, .batch = 8};
    int64_t start = ctune_now_ns();
    s = run_search(&f, &options, simulator_new(4), &result, CTUNE_OK);
    assert_true(result.n_trials >= 8);
    assert_true(ctune_now_ns() - start < 20000000000);
    free(s);
    fixture_clear(&f);
}

/* A space that is used up ends the search. */
static void test_small_space(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, "te 1\nparam n i32 sizes 64\naxis i i32\ntensor x f32 [n]\n"
                     "stage S: x[i] = 0.5f\norder {\nfor i: 0 <= i < n {\nS\n}\n}\n");
    ctune_engine_options options = {.seed = 3, .max_trials = 3000, .batch = 32};
    ctune_engine_result result;
    simulator *s = run_search(&f, &options, simulator_new(4), &result, CTUNE_OK);
    assert_true(result.n_trials > 3);
    assert_true(result.n_trials < 3000);
    check_distinct(s);
    free(s);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials),        cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_learns),        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_dead_measurer), cmocka_unit_test(test_resume),
        cmocka_unit_test(test_stop),          cmocka_unit_test(test_small_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

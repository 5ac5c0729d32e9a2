/* A search in steps: the same as in one go; limits that move; the rule of patience; the account. */
#include "engine_fixture.h"

static ctune_engine *create(fixture *f, const ctune_engine_options *o, simulator *s) {
    ctune_engine *e = NULL;
    const ctune_measurer measurer = simulator_measurer(f, s);
    assert_int_equal(ctune_engine_create(&f->ctx, f->space, &f->target, &measurer, o, 0, &e),
                     CTUNE_OK);
    return e;
}

static int finish(fixture *f, ctune_engine *e) {
    bool is_over = false;
    int n_steps = 0;
    while (!is_over) {
        assert_int_equal(ctune_engine_step(&f->ctx, e, 0, &is_over), CTUNE_OK);
        n_steps++;
        assert_true(n_steps < 1000);
    }
    return n_steps;
}

static ctune_engine_options options_new(int max_trials) {
    ctune_engine_options o;
    ctune_engine_options_default(&o);
    o.seed = 5;
    o.batch = 8;
    o.max_trials = max_trials;
    o.model_share = -1;
    return o;
}

/* Two searches that take turns find what each finds alone. */
static void test_turns(void **state) {
    (void)state;
    fixture f, g;
    fixture_init(&f, te_sample_gemm());
    fixture_init(&g, te_sample_syrk());
    ctune_engine_options o = options_new(100);
    ctune_engine_result result;
    simulator *one = run_search(&f, &o, simulator_new(3), &result, CTUNE_OK);
    simulator *two = run_search(&g, &o, simulator_new(4), &result, CTUNE_OK);
    simulator *a = simulator_new(3), *b = simulator_new(4);
    ctune_engine *x = create(&f, &o, a), *y = create(&g, &o, b);
    for (bool is_x_over = false, is_y_over = false; !is_x_over || !is_y_over;) {
        int before = a->n_log;
        assert_int_equal(ctune_engine_step(&f.ctx, x, 0, &is_x_over), CTUNE_OK);
        assert_true(a->n_log - before <= 8);
        assert_int_equal(ctune_engine_step(&g.ctx, y, 0, &is_y_over), CTUNE_OK);
    }
    check_same_trials(one, a);
    check_same_trials(two, b);
    ctune_engine_get(x, &result);
    assert_int_equal(result.n_trials, 100);
    assert_int_equal(result.end, CTUNE_ENGINE_END_TRIALS);
    assert_true(result.best[0].result.best_ns == exp2(best_of(one, 100)) ||
                fabs(log2(result.best[0].result.best_ns) - best_of(one, 100)) < 1e-9);
    ctune_engine_destroy(x);
    ctune_engine_destroy(y);
    free(one);
    free(two);
    free(a);
    free(b);
    fixture_clear(&f);
    fixture_clear(&g);
}

static void test_limits(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_new(24);
    ctune_engine_result result;
    simulator *s = simulator_new(3);
    ctune_engine *e = create(&f, &o, s);
    bool is_over;
    assert_int_equal(ctune_engine_step(&f.ctx, e, 0, &is_over), CTUNE_OK);
    assert_false(is_over);
    assert_int_equal(s->n_log, 8);
    assert_int_equal(s->n_in_flight, 1); /* compiles until our next turn */
    assert_int_equal(ctune_engine_drain(&f.ctx, e), CTUNE_OK);
    assert_int_equal(s->n_log, 16);
    assert_int_equal(s->n_in_flight, 0);
    finish(&f, e);
    assert_int_equal(s->n_log, 24);
    int n_steps = finish(&f, e); /* over stays over */
    assert_int_equal(n_steps, 1);
    assert_int_equal(s->n_log, 24);
    ctune_engine_set_limits(e, 40, 0);
    finish(&f, e);
    assert_int_equal(s->n_log, 40);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(s->log[i].ordinal, i);
    }
    ctune_engine_set_limits(e, 0, 1e-9);
    finish(&f, e);
    ctune_engine_get(e, &result);
    assert_int_equal(result.end, CTUNE_ENGINE_END_BUDGET);
    assert_string_equal(ctune_engine_end_name(result.end), "budget");
    ctune_engine_destroy(e);
    ctune_engine_destroy(NULL);
    free(s);
    fixture_clear(&f);
}

/* One call goes on for its slice. */
static void test_slice(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_new(64);
    simulator *s = simulator_new(3);
    ctune_engine *e = create(&f, &o, s);
    bool is_over;
    assert_int_equal(ctune_engine_step(&f.ctx, e, 3600, &is_over), CTUNE_OK);
    assert_true(is_over);
    assert_int_equal(s->n_log, 64);
    ctune_engine_destroy(e);
    free(s);
    fixture_clear(&f);
}

/* ---- patience -------------------------------------------------------------------------------- */

static void test_patience(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_new(4000);
    ctune_engine_result result;
    o.patience_trials = 60;
    simulator *s = run_search(&f, &o, simulator_new(3), &result, CTUNE_OK);
    assert_int_equal(result.end, CTUNE_ENGINE_END_NO_GAIN);
    assert_true(result.n_trials >= 60 && result.n_trials < 1500);
    /* nothing was gained in the last 60 trials, and something before */
    double last = best_of(s, s->n_log), before = best_of(s, s->n_log - 60);
    assert_true(before - last < 0.02);
    assert_true(best_of(s, 8) > last);
    free(s);
    o.patience_trials = -1;
    s = run_search(&f, &o, simulator_new(3), &result, CTUNE_OK);
    assert_int_equal(result.end, CTUNE_ENGINE_END_NO_GAIN);
    assert_true(result.n_trials >= 128 && result.n_trials < 4000);
    free(s);
    o.max_trials = 400;
    o.patience_trials = 0;
    free(run_search(&f, &o, simulator_new(3), &result, CTUNE_OK));
    assert_int_equal(result.n_trials, 400);
    fixture_clear(&f);
}

/* ---- account --------------------------------------------------------------------------------- */

static ctune_status dear_predict(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                                 float *scores) {
    int64_t end = ctune_now_ns() + (int64_t)n_rows * 50000;
    while (ctune_now_ns() < end) {
    }
    return fake_predict(ctx, self, features, n_rows, scores);
}

/* A dear model is asked less when its share is limited. */
static void test_share(void **state) {
    (void)state;
    fixture f;
    fake_model m;
    ctune_engine_result free_result, result;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_new(48);
    fake_model_use(&m, &f, 3, 1, &o);
    m.model.predict = dear_predict;
    simulator *s = simulator_new(3);
    s->is_by_nest = true;
    free(run_search(&f, &o, s, &free_result, CTUNE_OK));
    o.model_share = 0.2;
    s = simulator_new(3);
    s->is_by_nest = true;
    free(run_search(&f, &o, s, &result, CTUNE_OK));
    assert_true(result.n_rows < free_result.n_rows);
    assert_true(result.model_s > 0 && result.model_s <= result.total_s);
    assert_true(result.model_s >= 50e-6 * (double)(result.n_rows - 24));
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_slice), cmocka_unit_test(test_patience),
        cmocka_unit_test(test_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

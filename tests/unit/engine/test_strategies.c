/* Strategies against a simulated machine: who finds what, what a model does to a search, and the
 * switches for ablations. Everything counts trials, nothing looks at a clock. */
#include "engine_fixture.h"

enum { N_TRIALS = 160, N_SEEDS = 2 };

static ctune_engine_options options_of(ctune_strategy strategy, uint64_t seed) {
    ctune_engine_options o;
    ctune_engine_options_default(&o);
    o.strategy = strategy;
    o.seed = seed;
    o.max_trials = N_TRIALS;
    o.batch = 16;
    o.model_share = -1;
    return o;
}

static simulator *search_by_nest(fixture *f, const ctune_engine_options *o, uint64_t truth) {
    ctune_engine_result result;
    simulator *s = simulator_new(truth);
    s->is_by_nest = true;
    return run_search(f, o, s, &result, CTUNE_OK);
}

/* First trial within `slack` (log2) of a time; n_log when there is none. */
static int trials_to(const simulator *s, double time, double slack) {
    for (int i = 0; i < s->n_log; i++) {
        const ctune_run_result *r = &s->log[i].result;
        if (r->outcome == CTUNE_RUN_OK && log2(r->best_ns) <= time + slack) {
            return i + 1;
        }
    }
    return s->n_log;
}

typedef enum variant { RANDOM, GENETIC, ANNEAL, LEARNED, TRANSFERRED, MISLED, N_VARIANTS } variant;

static ctune_engine_options variant_options(variant v, const fixture *f, uint64_t seed,
                                            fake_model *m) {
    static const ctune_strategy strategies[N_VARIANTS] = {
        CTUNE_STRATEGY_RANDOM, CTUNE_STRATEGY_GENETIC, CTUNE_STRATEGY_ANNEAL,
        CTUNE_STRATEGY_GBT,    CTUNE_STRATEGY_GBT,     CTUNE_STRATEGY_GBT};
    ctune_engine_options o = options_of(strategies[v], seed);
    if (v >= LEARNED) {
        fake_model_use(m, f, seed, v == MISLED ? -1 : 1, &o);
        m->noise = 1.0;
        m->needs_fit = v == LEARNED;
    }
    return o;
}

/* Mean best (log2) of each, and mean trials to the best that random finds in all its trials. */
static void test_order_of_strategies(void **state) {
    (void)state;
    const char *const texts[] = {te_sample_gemm(), te_sample_symm()};
    double best[N_VARIANTS] = {0};
    int reached[N_VARIANTS] = {0};
    for (int w = 0; w < 2; w++) {
        fixture f;
        fixture_init(&f, texts[w]);
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
            double level = 0;
            for (int v = 0; v < N_VARIANTS; v++) {
                fake_model m;
                ctune_engine_options o = variant_options((variant)v, &f, seed, &m);
                simulator *s = search_by_nest(&f, &o, seed);
                level = v == RANDOM ? best_of(s, N_TRIALS) : level;
                best[v] += best_of(s, N_TRIALS) / (2 * N_SEEDS);
                reached[v] += trials_to(s, level, 0);
                free(s);
            }
        }
        fixture_clear(&f);
    }
    for (int v = 0; v < N_VARIANTS; v++) {
        print_message("%d: best %.2f, trials %d\n", v, best[v], reached[v] / (2 * N_SEEDS));
    }
    /* most of these trials are its first population, which is random, too */
    assert_true(best[GENETIC] < best[RANDOM] + 0.5);
    assert_true(best[ANNEAL] < best[GENETIC]);
    assert_true(best[LEARNED] < best[ANNEAL]);
    assert_true(best[TRANSFERRED] < best[ANNEAL]);
    assert_true(reached[LEARNED] * 3 < reached[RANDOM]);
    assert_true(reached[TRANSFERRED] < reached[LEARNED]);
    /* a model that has it the wrong way round */
    assert_true(best[MISLED] < best[ANNEAL] + 0.6);
    assert_true(best[MISLED] < best[RANDOM] - 0.5);
}

/* ---- the model's part ------------------------------------------------------------------------ */

/* A model that tells nothing apart changes nothing. */
static void test_silent_model(void **state) {
    (void)state;
    fixture f;
    fake_model m;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_of(CTUNE_STRATEGY_ANNEAL, 3);
    simulator *a = search_by_nest(&f, &o, 1);
    o.strategy = CTUNE_STRATEGY_GBT;
    simulator *b = search_by_nest(&f, &o, 1);
    fake_model_use(&m, &f, 1, 0, &o);
    simulator *c = search_by_nest(&f, &o, 1);
    o.strategy = CTUNE_STRATEGY_ANNEAL; /* does not ask it at all */
    m.n_rows = 0;
    simulator *d = search_by_nest(&f, &o, 1);
    assert_int_equal(m.n_rows, 0);
    check_same_trials(a, b);
    check_same_trials(a, c);
    check_same_trials(a, d);
    free(a);
    free(b);
    free(c);
    free(d);
    fixture_clear(&f);
}

static void test_weights(void **state) {
    (void)state;
    fixture f;
    fake_model m;
    ctune_engine_result result;
    fixture_init(&f, te_sample_gemm());
    for (int right = -1; right <= 1; right += 2) {
        ctune_engine_options o = options_of(CTUNE_STRATEGY_GBT, 3);
        fake_model_use(&m, &f, 2, right, &o);
        simulator *s = simulator_new(2);
        s->is_by_nest = true;
        run_search(&f, &o, s, &result, CTUNE_OK);
        free(s);
        assert_true(right > 0 ? result.model_accuracy > 0.9 : result.model_accuracy < 0.2);
        assert_true(right > 0 ? result.model_weight > 0.6 : result.model_weight < 0.1);
        assert_true(result.estimate_accuracy > 0.5 && result.estimate_accuracy <= 1);
        assert_true(result.n_rows > 0 && result.n_scored > result.n_rows);
        assert_true(result.n_fits == m.n_fits);
    }
    ctune_engine_options o = options_of(CTUNE_STRATEGY_RANDOM, 3);
    free(run_search(&f, &o, simulator_new(2), &result, CTUNE_OK));
    assert_true(isnan(result.model_accuracy) && result.model_weight == 0);
    fixture_clear(&f);
}

/* Fits come after each batch at first, then when the samples have grown by an eighth; and no
 * earlier than 16 results. */
static void test_fits(void **state) {
    (void)state;
    fixture f;
    fake_model m;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_of(CTUNE_STRATEGY_GBT, 3);
    fake_model_use(&m, &f, 2, 1, &o);
    o.batch = 8;
    o.max_trials = 24;
    free(search_by_nest(&f, &o, 2)); /* 8 results before the last proposal */
    assert_int_equal(m.n_fits, 0);
    o.max_trials = 96;
    free(search_by_nest(&f, &o, 2)); /* 16, 24, ... 72; the next would be 88 */
    assert_int_equal(m.n_fits, 8);
    assert_int_equal(m.n_rows_fitted, 72);
    m.n_fits = 0;
    o.max_trials = 512;
    free(search_by_nest(&f, &o, 2));
    assert_true(m.n_fits > 15 && m.n_fits < 30);
    fixture_clear(&f);
}

static bool fits_fail;

static ctune_status failing_fit(ctune_ctx *ctx, void *self, const float *features,
                                const float *labels, size_t n_rows) {
    return fits_fail ? ctune_fail(ctx, CTUNE_EENV, "no memory in the booster")
                     : fake_fit(ctx, self, features, labels, n_rows);
}

/* A model that fails costs the model, not the search. */
static void test_model_that_fails(void **state) {
    (void)state;
    fixture f;
    fake_model m;
    ctune_engine_result result;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_of(CTUNE_STRATEGY_GBT, 3);
    fake_model_use(&m, &f, 2, 1, &o);
    m.model.fit = failing_fit;
    fits_fail = true;
    o.max_trials = 64;
    simulator *s = run_search(&f, &o, simulator_new(2), &result, CTUNE_OK);
    assert_int_equal(result.n_trials, 64);
    assert_true(result.model_weight == 0 && result.model_failed);
    assert_int_equal(f.ctx.n_warnings, 1);
    free(s);
    fixture_clear(&f);
}

/* ---- switches -------------------------------------------------------------------------------- */

static int distinct_values(const simulator *s, int first, int n) {
    int n_distinct = 0;
    for (int j = 0; j < s->log[0].point.n; j++) {
        bool seen[128] = {false};
        for (int i = first; i < first + n; i++) {
            bool *at = &seen[s->log[i].point.decision[j] & 127];
            n_distinct += !*at;
            *at = true;
        }
    }
    return n_distinct;
}

static void test_alpha(void **state) {
    (void)state;
    static const double alphas[3] = {0, 0.04, 1};
    int distinct[3] = {0};
    fixture f;
    fixture_init(&f, te_sample_gemm());
    for (int i = 0; i < 9; i++) { /* three seeds each */
        ctune_engine_options o = options_of(CTUNE_STRATEGY_ANNEAL, 3 + (uint64_t)i / 3);
        o.alpha = alphas[i % 3];
        o.epsilon = 0;
        o.max_trials = 32;
        simulator *s = search_by_nest(&f, &o, 2);
        distinct[i % 3] += distinct_values(s, 16, 16); /* the second batch: all from the pool */
        free(s);
    }
    assert_true(distinct[0] < distinct[1]);
    assert_true(distinct[1] <= distinct[2]); /* the small alpha may have all there are */
    fixture_clear(&f);
}

static double estimate_mean(const simulator *s) {
    double sum = 0;
    for (int i = 0; i < s->n_log; i++) {
        sum += log2(s->log[i].estimate_ns);
    }
    return sum / s->n_log;
}

/* All random: what is measured is far worse by the estimate than what the search would choose. */
static void test_epsilon(void **state) {
    (void)state;
    static const double epsilons[3] = {0, 0.5, 1};
    double mean[3];
    fixture f;
    fixture_init(&f, te_sample_gemm());
    for (int i = 0; i < 3; i++) {
        ctune_engine_options o = options_of(CTUNE_STRATEGY_ANNEAL, 3);
        o.epsilon = epsilons[i];
        o.max_trials = 32;
        simulator *s = search_by_nest(&f, &o, 2);
        mean[i] = estimate_mean(s);
        free(s);
    }
    assert_true(mean[0] + 0.1 < mean[1]);
    assert_true(mean[1] + 0.1 < mean[2]);
    fixture_clear(&f);
}

/* Each switch changes the search, and each search still works. */
static void test_ablations(void **state) {
    (void)state;
    fixture f;
    fake_model m;
    simulator *s[4];
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options random = options_of(CTUNE_STRATEGY_RANDOM, 3);
    simulator *r = search_by_nest(&f, &random, 2);
    for (int i = 0; i < 4; i++) {
        ctune_engine_options o = options_of(CTUNE_STRATEGY_GBT, 3);
        fake_model_use(&m, &f, 2, 1, &o);
        m.noise = 1;
        o.no_draft = i == 1;
        o.no_ensemble = i == 2;
        o.no_descent = i == 3;
        s[i] = search_by_nest(&f, &o, 2);
        assert_int_equal(s[i]->n_log, N_TRIALS);
        assert_true(best_of(s[i], N_TRIALS) < best_of(r, N_TRIALS) - 0.5);
    }
    for (int i = 1; i < 4; i++) {
        int n_same = 0;
        for (int k = 0; k < N_TRIALS; k++) {
            n_same +=
                ctune_point_hash(&s[0]->log[k].point) == ctune_point_hash(&s[i]->log[k].point);
        }
        assert_true(n_same < N_TRIALS);
        assert_true(i < 3 || n_same >= N_TRIALS / 2); /* descent is for the last quarter */
    }
    for (int i = 0; i < 4; i++) {
        free(s[i]);
    }
    free(r);
    fixture_clear(&f);
}

/* The second population of the genetic strategy waits for the first, and is better. */
static void test_genetic(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    ctune_engine_options o = options_of(CTUNE_STRATEGY_GENETIC, 3);
    o.max_trials = 400;
    simulator *s = search_by_nest(&f, &o, 2);
    assert_int_equal(s->n_log, 400);
    double mean[4] = {0};
    for (int i = 0; i < 400; i++) {
        mean[i / 100] += log2(s->log[i].result.best_ns) / 100;
    }
    assert_true(mean[1] < mean[0] - 0.3);
    assert_true(mean[3] < mean[1] - 0.3);
    free(s);
    fixture_clear(&f);
}

/* The evolutionary strategy is led by a model that knows the truth, and does better by it than by
 * the estimate; every point is new; the seed decides. */
static void test_evolutionary(void **state) {
    (void)state;
    fixture f;
    fake_model m;
    fixture_init(&f, te_sample_symm());
    double best[2] = {0};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (int is_led = 0; is_led < 2; is_led++) {
            ctune_engine_options o = options_of(CTUNE_STRATEGY_EVOLVE, seed);
            if (is_led) {
                fake_model_use(&m, &f, seed, 1, &o);
            }
            o.max_trials = 48;
            simulator *s = search_by_nest(&f, &o, seed), *again;
            assert_int_equal(s->n_log, 48);
            double least = INFINITY;
            for (int i = 0; i < 48; i++) {
                least = fmin(least, log2(s->log[i].result.best_ns));
                for (int j = 0; j < i; j++) {
                    assert_memory_not_equal(&s->log[i].point, &s->log[j].point,
                                            sizeof s->log[i].point);
                }
            }
            best[is_led] += least / 3;
            if (is_led) {
                fake_model_use(&m, &f, seed, 1, &o);
            }
            again = search_by_nest(&f, &o, seed);
            assert_memory_equal(&s->log[47].point, &again->log[47].point, sizeof s->log[47].point);
            free(s);
            free(again);
        }
    }
    assert_true(best[1] < best[0] - 0.3);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_strategies),
        cmocka_unit_test(test_silent_model),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_model_that_fails),
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_epsilon),
        cmocka_unit_test(test_ablations),
        cmocka_unit_test(test_genetic),
        cmocka_unit_test(test_evolutionary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The model of a search: global and local part, any number of rows, order of rows, faults. */
#include "tests/unit/gbt/gbt_fixture.h"

enum { MAX_ROWS = 600 };

typedef struct history {
    float rows[MAX_ROWS][WIDTH];
    float labels[MAX_ROWS];
} history;

/* Rows of task 0 in the order in which they were measured. */
static void history_make(history *h, int n, uint64_t seed) {
    ctune_rng rng;
    ctune_rng_init(&rng, seed);
    double best = INFINITY;
    for (int i = 0; i < n; i++) {
        row_make(&rng, 0, h->rows[i]);
        best = fmin(best, row_time(h->rows[i]));
    }
    for (int i = 0; i < n; i++) {
        h->labels[i] = (float)(best / row_time(h->rows[i]));
    }
}

static ctune_model model_make(const ctune_forest *global, ctune_gbt_objective objective) {
    ctune_ctx ctx = {0};
    ctune_gbt_options options;
    ctune_gbt_options_default(&options);
    options.objective = objective;
    ctune_model model;
    OK(ctune_gbt_model_create(&ctx, global, WIDTH, &options, &model));
    assert_int_equal(model.n_features, WIDTH);
    return model;
}

static void predict(const ctune_model *model, const history *h, int n, float *scores) {
    ctune_ctx ctx = {0};
    OK(model->predict(&ctx, model->self, h->rows[0], (size_t)n, scores));
}

static void fit(const ctune_model *model, const history *h, int n) {
    ctune_ctx ctx = {0};
    OK(model->fit(&ctx, model->self, h->rows[0], h->labels, (size_t)n));
}

static history h;

static void test_before_the_first_fit(void **state) {
    (void)state;
    history_make(&h, 300, 1);
    float scores[300], expected[300];
    ctune_model alone = model_make(NULL, CTUNE_GBT_RANK);
    predict(&alone, &h, 300, scores);
    for (int i = 0; i < 300; i++) {
        assert_true(scores[i] == 0);
    }
    alone.destroy(alone.self);
    ctune_forest *global = forest_of_part_a();
    ctune_model model = model_make(global, CTUNE_GBT_RANK);
    predict(&model, &h, 300, scores);
    ctune_forest_predict(global, h.rows[0], 300, expected);
    assert_memory_equal(scores, expected, sizeof scores);
    model.destroy(model.self);
    ctune_forest_destroy(global);
}

/* Too few rows, or rows that all failed, or are all the same: the global model as it is, and also
 * after a better fit. */
static void test_few_rows_fall_back(void **state) {
    (void)state;
    history_make(&h, 300, 1);
    ctune_forest *global = forest_of_part_a();
    float scores[300], expected[300];
    ctune_forest_predict(global, h.rows[0], 300, expected);
    ctune_model model = model_make(global, CTUNE_GBT_RANK);
    for (int n = 0; n < 8; n++) {
        fit(&model, &h, n);
        predict(&model, &h, 300, scores);
        assert_memory_equal(scores, expected, sizeof scores);
    }
    fit(&model, &h, 100);
    predict(&model, &h, 300, scores);
    assert_memory_not_equal(scores, expected, sizeof scores);
    memset(h.labels, 0, sizeof h.labels);
    fit(&model, &h, 100);
    predict(&model, &h, 300, scores);
    assert_memory_equal(scores, expected, sizeof scores);
    model.destroy(model.self);
    ctune_forest_destroy(global);
}

/* A history of any size helps; a model that knows half of it helps more. */
static void test_more_rows_are_better(void **state) {
    (void)state;
    ctune_forest *global = forest_of_part_a();
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        ctune_model alone = model_make(NULL, (ctune_gbt_objective)objective);
        ctune_model both = model_make(global, (ctune_gbt_objective)objective);
        double known = pairs_right(&both);
        assert_true(known > 0.6 && known < 0.8);
        history_make(&h, 600, 1);
        const int sizes[] = {8, 24, 64, 150, 600};
        for (int i = 0; i < 5; i++) {
            fit(&alone, &h, sizes[i]);
            fit(&both, &h, sizes[i]);
            double a = pairs_right(&alone), b = pairs_right(&both);
            static const double least_alone[] = {0.5, 0.65, 0.85, 0.95, 0.98};
            static const double least_both[] = {0.65, 0.8, 0.93, 0.95, 0.98};
            if (a < least_alone[i] || b < least_both[i]) {
                fail_msg("objective %d, %d rows: alone %.3f, with global %.3f", objective, sizes[i],
                         a, b);
            }
        }
        alone.destroy(alone.self);
        both.destroy(both.self);
    }
    ctune_forest_destroy(global);
}

/* The same rows in another order: the same model. In a model whose margins stay behind when rows
 * move this fails. */
static void test_order_of_rows_does_not_matter(void **state) {
    (void)state;
    enum { N = 31 };
    static history moved;
    ctune_forest *global = forest_of_part_a();
    for (int objective = 0; objective < CTUNE_N_GBT_OBJECTIVES; objective++) {
        history_make(&h, N, 6);
        for (int i = 0; i < N; i++) {
            int from = (i * 11 + 5) % N;
            memcpy(moved.rows[i], h.rows[from], sizeof h.rows[i]);
            moved.labels[i] = h.labels[from];
        }
        ctune_model one = model_make(global, (ctune_gbt_objective)objective);
        ctune_model two = model_make(global, (ctune_gbt_objective)objective);
        fit(&one, &h, N);
        fit(&two, &moved, N);
        float a[N], b[N];
        predict(&one, &h, N, a);
        predict(&two, &h, N, b);
        for (int i = 0; i < N; i++) {
            assert_true(fabsf(a[i] - b[i]) < 1e-3f);
        }
        one.destroy(one.self);
        two.destroy(two.self);
    }
    ctune_forest_destroy(global);
}

/* What it says depends on the rows, not on how they are cut into calls. */
static void test_batches(void **state) {
    (void)state;
    ctune_forest *global = forest_of_part_a();
    ctune_model model = model_make(global, CTUNE_GBT_RANK);
    history_make(&h, 300, 1);
    fit(&model, &h, 50);
    ctune_ctx ctx = {0};
    float all[300], one;
    predict(&model, &h, 300, all);
    for (int i = 0; i < 300; i++) {
        OK(model.predict(&ctx, model.self, h.rows[i], 1, &one));
        assert_true(one == all[i]);
    }
    OK(model.predict(&ctx, model.self, NULL, 0, NULL));
    model.destroy(model.self);
    ctune_forest_destroy(global);
}

static void test_wrong_width(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_forest *global = forest_of_part_a();
    ctune_gbt_options options;
    ctune_gbt_options_default(&options);
    ctune_model model;
    assert_int_equal(ctune_gbt_model_create(&ctx, global, WIDTH + 1, &options, &model),
                     CTUNE_EUSAGE);
    ctune_forest_destroy(global);
}

/* A fit that fails leaves the model as it was. */
static void test_faults(void **state) {
    (void)state;
    ctune_forest *global = forest_of_part_a();
    ctune_model model = model_make(global, CTUNE_GBT_RANK);
    history_make(&h, 100, 1);
    fit(&model, &h, 40);
    float before[100], after[100];
    predict(&model, &h, 100, before);
    for (uint64_t n = 1;; n++) {
        ctune_ctx ctx = {.alloc_fail_at = n};
        if (model.fit(&ctx, model.self, h.rows[0], h.labels, 100) == CTUNE_OK) {
            assert_true(n > 10);
            break;
        }
        predict(&model, &h, 100, after);
        assert_memory_equal(before, after, sizeof after);
    }
    predict(&model, &h, 100, before);
    ctune_ctx ctx = {0};
    h.rows[3][2] = INFINITY;
    assert_int_equal(model.fit(&ctx, model.self, h.rows[0], h.labels, 100), CTUNE_EENV);
    h.rows[3][2] = 0;
    predict(&model, &h, 100, after);
    h.rows[3][2] = 0;
    assert_memory_equal(before + 4, after + 4, 96 * sizeof *after);
    model.destroy(model.self);
    ctune_ctx out = {.alloc_fail_at = 1};
    ctune_gbt_options options;
    ctune_gbt_options_default(&options);
    assert_int_equal(ctune_gbt_model_create(&out, global, WIDTH, &options, &model), CTUNE_ENOMEM);
    ctune_forest_destroy(global);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_first_fit),
        cmocka_unit_test(test_few_rows_fall_back),
        cmocka_unit_test(test_more_rows_are_better),
        cmocka_unit_test(test_order_of_rows_does_not_matter),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_wrong_width),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

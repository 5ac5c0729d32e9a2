/* Metrics against values computed by hand. */
#include "costmodel/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static ctune_dataset data;

static void task(double weight, int n, const double *times) {
    ctune_ctx ctx = {0};
    assert_int_equal(ctune_dataset_add_task(&ctx, &data, "t", "k"), CTUNE_OK);
    data.task[data.n_tasks - 1].weight = weight;
    for (int i = 0; i < n; i++) {
        assert_int_equal(ctune_dataset_add_row(&ctx, &data, (float[]){0}, times[i]), CTUNE_OK);
    }
}

static ctune_metrics get(const float *scores, const bool *select) {
    ctune_ctx ctx = {0};
    ctune_metrics metrics;
    assert_int_equal(ctune_metrics_get(&ctx, &data, scores, select, &metrics), CTUNE_OK);
    return metrics;
}

static void near(double value, double expected) {
    if (!(fabs(value - expected) < 1e-12)) {
        fail_msg("%.15g is not %.15g", value, expected);
    }
}

static int setup(void **state) {
    (void)state;
    ctune_dataset_init(&data, 1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    ctune_dataset_clear(&data);
    return 0;
}

/* Task A: times 10 20 30 40 50 60 70, the model's order 30 70 60 50 40 | 20 10.
 * Task B, weight 3, in other units: 1000 4000; the model has them right. */
static void test_top(void **state) {
    (void)state;
    task(1, 7, (double[]){10, 20, 30, 40, 50, 60, 70});
    task(3, 2, (double[]){4000, 1000});
    const float scores[] = {-2, -1, 9, 1, 2, 3, 4, -5, 5};
    ctune_metrics m = get(scores, NULL);
    assert_int_equal(m.n_tasks, 2);
    near(m.top1, (1 + 3) / (1 * 3.0 + 3 * 1.0));
    near(m.top5, (1 + 3) / (1 * 3.0 + 3 * 1.0)); /* the best of A's five is 30 as well */
    near(m.geo1, pow(1 / 3.0, 1 / 4.0));
    near(m.geo5, pow(1 / 3.0, 1 / 4.0));
    m = get(scores, (bool[]){true, false});
    assert_int_equal(m.n_tasks, 1);
    near(m.top1, 1 / 3.0);
    m = get(scores, (bool[]){false, true});
    near(m.top1, 1);
    near(m.pair_accuracy, 1);
    m = get(scores, (bool[]){false, false});
    assert_int_equal(m.n_tasks, 0);
    assert_true(m.top1 == 0 && m.top5 == 0 && m.pair_accuracy == 0 && m.recall64 == 0);
    assert_true(m.geo1 == 0 && m.geo5 == 0);
}

static void test_top5_looks_at_five(void **state) {
    (void)state;
    task(1, 7, (double[]){70, 60, 50, 40, 30, 20, 10});
    near(get((float[]){7, 6, 5, 4, 3, 2, 1}, NULL).top5, 10 / 30.0);
    near(get((float[]){7, 6, 5, 4, 2, 3, 1}, NULL).top5, 10 / 20.0);
    near(get((float[]){7, 6, 5, 4, 2, 1, 3}, NULL).top5, 1);
}

static void test_failures(void **state) {
    (void)state;
    task(1, 7, (double[]){INFINITY, INFINITY, 10, INFINITY, INFINITY, INFINITY, 30});
    task(1, 2, (double[]){INFINITY, INFINITY}); /* no finite time: does not count */
    ctune_metrics m = get((float[]){6, 5, 1, 4, 3, 2, 0, 1, 2}, NULL);
    assert_int_equal(m.n_tasks, 1);
    near(m.top1, 10 / 30.0); /* as the slowest that works */
    near(m.top5, 10 / 30.0);
    near(m.geo1, 10 / 30.0);
    near(m.pair_accuracy, 1 / 11.0); /* the two that work, and each with five that failed */
    near(m.recall64, 0);
    m = get((float[]){6, 5, 7, 4, 3, 2, 6.5f, 1, 2}, NULL);
    near(m.top1, 1);
    near(m.pair_accuracy, 1);
    near(m.recall64, 1);
    m = get((float[]){6, 5, NAN, 4, 3, 2, 0, 1, 2}, NULL); /* a NaN is the worst score */
    near(m.top1, 10 / 30.0);
}

/* 100, 104: no pair. 100 and 104 with 120 (two pairs), and all three with 200 (three). */
static void test_pairs(void **state) {
    (void)state;
    task(1, 4, (double[]){104, 100, 200, 120});
    near(get((float[]){4, 3, 1, 2}, NULL).pair_accuracy, 1);
    near(get((float[]){1, 2, 4, 3}, NULL).pair_accuracy, 0);
    near(get((float[]){4, 1, 3, 2}, NULL).pair_accuracy, 2 / 5.0); /* 104 < 120, 104 < 200 */
    near(get((float[]){1, 1, 1, 1}, NULL).pair_accuracy, 0.5);
    near(get((float[]){2, 2, 1, 2}, NULL).pair_accuracy, (3 + 2 * 0.5) / 5);
    task(9, 2, (double[]){10, 20}); /* the mean over tasks is not weighted */
    near(get((float[]){1, 1, 1, 1, 1, 2}, NULL).pair_accuracy, 0.25);
    task(1, 2, (double[]){10, 10.1}); /* has no pair: does not count */
    near(get((float[]){1, 1, 1, 1, 1, 2, 1, 2}, NULL).pair_accuracy, 0.25);
}

/* 200 rows with times 1..200; scores are right but for 16 of the 64 fastest, which are last. */
static void test_recall(void **state) {
    (void)state;
    double times[200];
    float scores[200];
    for (int i = 0; i < 200; i++) {
        times[i] = i + 1;
        scores[i] = (float)(i % 4 == 0 && i < 64 ? -i : 1000 - i);
    }
    task(1, 200, times);
    ctune_metrics m = get(scores, NULL);
    near(m.recall64, 48 / 64.0);
    near(m.top1, 1 / 2.0); /* row 0 is among the last */
}

static void test_recall_of_few_rows(void **state) {
    (void)state;
    task(1, 5, (double[]){1, 2, INFINITY, 3, INFINITY}); /* three work: k = 3 */
    near(get((float[]){5, 4, 3, 2, 1}, NULL).recall64, 2 / 3.0);
    near(get((float[]){5, 4, 1, 2, 3}, NULL).recall64, 2 / 3.0);
    near(get((float[]){5, 4, 1, 3, 2}, NULL).recall64, 1);
}

/* A model without an opinion is as good as chance, wherever the best row lies. */
static void test_equal_scores_are_chance(void **state) {
    (void)state;
    double times[8];
    for (int t = 0; t < 2000; t++) {
        for (int i = 0; i < 8; i++) {
            times[i] = i == 0 ? 1 : 2;
        }
        task(1, 8, times);
    }
    float *scores = calloc(data.n_rows, sizeof *scores);
    assert_non_null(scores);
    double expected = 1 / (1 / 8.0 + 2 * 7 / 8.0);
    double top1 = get(scores, NULL).top1;
    assert_true(fabs(top1 - expected) < 0.01);
    free(scores);
}

static void test_memory_fault(void **state) {
    (void)state;
    task(1, 2, (double[]){1, 2});
    ctune_ctx ctx = {.alloc_fail_at = 1};
    ctune_metrics m;
    assert_int_equal(ctune_metrics_get(&ctx, &data, (float[]){1, 2}, NULL, &m), CTUNE_ENOMEM);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_top),
        TEST(test_top5_looks_at_five),
        TEST(test_failures),
        TEST(test_pairs),
        TEST(test_recall),
        TEST(test_recall_of_few_rows),
        TEST(test_equal_scores_are_chance),
        TEST(test_memory_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

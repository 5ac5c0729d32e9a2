/* Choice without measuring, against values computed by hand. */
#include "costmodel/choice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static ctune_dataset data;

static void task(int n, const double *times, int source) {
    ctune_ctx ctx = {0};
    assert_int_equal(ctune_dataset_add_task(&ctx, &data, "t", "k"), CTUNE_OK);
    for (int i = 0; i < n; i++) {
        assert_int_equal(ctune_dataset_add_row(&ctx, &data, (float[]){0}, times[i]), CTUNE_OK);
        if (i == source) {
            ctune_dataset_mark_source(&data, times[i]);
        }
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

static void near(double value, double expected) {
    if (!(fabs(value - expected) < 1e-6)) {
        fail_msg("%.15g is not %.15g", value, expected);
    }
}

static void test_spread(void **state) {
    (void)state;
    near(ctune_choice_spread((float[]){3}, (float[]){1}, 1), 0);
    near(ctune_choice_spread((float[]){3, 5}, (float[]){1, 3}, 2), 0); /* both say 2 */
    near(ctune_choice_spread((float[]){1, 3}, (float[]){0, 0}, 2), sqrt(2));
}

/* One candidate that all voices like (8 -> 4), one that they like more and disagree about (-> 16).
 * A second task without a source does not count, a third knows only losers. */
static void test_choices(void **state) {
    (void)state;
    task(3, (double[]){8, 4, 16}, 0);
    task(2, (double[]){1, 2}, -1);
    task(3, (double[]){10, 20, INFINITY}, 0);
    const float expected[] = {0, 1, 1.5f, 0, 0, 0, 0.05f, -1};
    const float scores[][2] = {{0, 0}, {1, 1}, {0.5f, 2.5f},   {0, 0},
                               {0, 0}, {0, 0}, {0.05f, 0.05f}, {-1, -1}};
    ctune_voices voices = {expected, 2, scores[0]};
    ctune_choices c;
    ctune_choices_get(&data, &voices, NULL, 0, &c);
    assert_int_equal(c.n_tasks, 2);
    assert_int_equal(c.n_kept, 1);
    assert_int_equal(c.n_slower, 1);
    near(c.least_gain, 0.5);
    near(c.geo_gain, sqrt(0.5));
    near(c.geo_best, 0.5);
    ctune_choices_get(&data, &voices, NULL, 1, &c);
    assert_int_equal(c.n_kept, 1);
    assert_int_equal(c.n_slower, 0);
    near(c.least_gain, 1);
    near(c.geo_gain, sqrt(2));
    near(c.geo_best, 1);
    ctune_choices_get(&data, &voices, (bool[]){false, true, false}, 1, &c);
    assert_int_equal(c.n_tasks, 0);
}

/* A choice that failed is as bad as the slowest that works. */
static void test_failed_choice(void **state) {
    (void)state;
    task(3, (double[]){10, 40, INFINITY}, 0);
    const float expected[] = {0, -1, 3};
    ctune_voices voices = {expected, 1, expected};
    ctune_choices c;
    ctune_choices_get(&data, &voices, NULL, 1, &c);
    assert_int_equal(c.n_slower, 1);
    near(c.least_gain, 0.25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spread, setup, teardown),
        cmocka_unit_test_setup_teardown(test_choices, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failed_choice, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

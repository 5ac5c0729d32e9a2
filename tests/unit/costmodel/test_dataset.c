/* Data sets: what is stored, labels, wrong rows, memory faults, sizes that overflow. */
#include "costmodel/dataset.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void add(ctune_dataset *dataset, float a, float b, double time_ns) {
    ctune_ctx ctx = {0};
    assert_int_equal(ctune_dataset_add_row(&ctx, dataset, (float[]){a, b}, time_ns), CTUNE_OK);
}

static void test_content(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_dataset data;
    ctune_dataset_init(&data, 2);
    assert_int_equal(ctune_dataset_add_task(&ctx, &data, "gemm n=4", "gemm"), CTUNE_OK);
    add(&data, 1, 2, 40);
    add(&data, 3, 4, 10);
    add(&data, 5, NAN, INFINITY);
    assert_int_equal(ctune_dataset_add_task(&ctx, &data, "none", "none"), CTUNE_OK);
    add(&data, 6, 7, NAN);
    assert_int_equal(ctune_dataset_add_task(&ctx, &data, "empty", "empty"), CTUNE_OK);
    assert_int_equal(data.n_tasks, 3);
    assert_int_equal(data.n_rows, 4);
    assert_string_equal(data.task[0].name, "gemm n=4");
    assert_string_equal(data.task[0].kernel, "gemm");
    assert_true(data.task[0].best_ns == 10 && data.task[0].weight == 1);
    assert_true(data.task[0].first == 0 && data.task[0].n_rows == 3);
    assert_true(data.task[1].first == 3 && data.task[1].n_rows == 1);
    assert_true(isinf(data.task[1].best_ns));
    assert_true(data.task[2].first == 4 && data.task[2].n_rows == 0);
    assert_true(ctune_dataset_label(&data, 0, 0) == 0.25f);
    assert_true(ctune_dataset_label(&data, 0, 1) == 1);
    assert_true(ctune_dataset_label(&data, 0, 2) == 0);
    assert_true(ctune_dataset_label(&data, 1, 3) == 0);
    assert_true(isinf(data.time_ns[3]) && isnan(data.features[5]) && data.features[6] == 6);
    ctune_dataset_clear(&data);
    assert_true(data.n_rows == 0 && data.n_tasks == 0 && data.features == NULL);
    ctune_dataset_clear(&data);
}

static void test_wrong_rows(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_dataset data;
    ctune_dataset_init(&data, 2);
    const float fine[] = {0, 0}, wrong[] = {0, -INFINITY};
    assert_int_equal(ctune_dataset_add_row(&ctx, &data, fine, 1), CTUNE_EUSAGE);
    assert_int_equal(ctune_dataset_add_task(&ctx, &data, "t", "t"), CTUNE_OK);
    assert_int_equal(ctune_dataset_add_row(&ctx, &data, fine, 0), CTUNE_EUSAGE);
    assert_int_equal(ctune_dataset_add_row(&ctx, &data, fine, -1), CTUNE_EUSAGE);
    assert_int_equal(ctune_dataset_add_row(&ctx, &data, wrong, 1), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "feature 1 is infinite in task 't'"));
    assert_int_equal(data.n_rows, 0);
    ctune_dataset_clear(&data);
}

static void test_growth(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_dataset data;
    ctune_dataset_init(&data, 2);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ctune_dataset_add_task(&ctx, &data, "t", "k"), CTUNE_OK);
        for (int j = 0; j < i; j++) {
            add(&data, (float)i, (float)j, j + 1);
        }
    }
    assert_int_equal(data.n_rows, 99 * 100 / 2);
    size_t row = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(data.task[i].first, row);
        for (int j = 0; j < i; j++, row++) {
            assert_true(data.features[2 * row] == (float)i);
            assert_true(data.features[2 * row + 1] == (float)j);
            assert_true(ctune_dataset_label(&data, i, row) == 1 / (float)(j + 1));
        }
    }
    ctune_dataset_clear(&data);
}

static void test_memory_faults(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= 5; n++) { /* two strings, tasks, features, times */
        ctune_ctx ctx = {.alloc_fail_at = n};
        ctune_dataset data;
        ctune_dataset_init(&data, 2);
        ctune_status status = ctune_dataset_add_task(&ctx, &data, "t", "k");
        assert_int_equal(status, n <= 3 ? CTUNE_ENOMEM : CTUNE_OK);
        if (status == CTUNE_OK) {
            assert_int_equal(ctune_dataset_add_row(&ctx, &data, (float[]){0, 0}, 1), CTUNE_ENOMEM);
        }
        assert_int_equal(data.n_rows, 0);
        ctx.alloc_fail_at = 0;
        assert_int_equal(ctune_dataset_add_task(&ctx, &data, "t", "k"), CTUNE_OK);
        add(&data, 1, 1, 1);
        ctune_dataset_clear(&data);
    }
}

/* Sizes as if there were very many rows: the multiplication is refused, nothing is touched. */
static void test_overflow(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_dataset data;
    ctune_dataset_init(&data, 1 << 20);
    assert_int_equal(ctune_dataset_add_task(&ctx, &data, "t", "k"), CTUNE_OK);
    static float row[1 << 20];
    const size_t sizes[] = {SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX / 8, (size_t)1 << 43};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        data.n_rows = data.size_rows = sizes[i];
        assert_int_equal(ctune_dataset_add_row(&ctx, &data, row, 1), CTUNE_ENOMEM);
        assert_true(data.features == NULL && data.n_rows == sizes[i]);
    }
    data.n_rows = data.size_rows = 0;
    ctune_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content),  cmocka_unit_test(test_wrong_rows),
        cmocka_unit_test(test_growth),   cmocka_unit_test(test_memory_faults),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

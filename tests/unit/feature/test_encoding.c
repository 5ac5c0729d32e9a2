/* Encodings: shapes of lists, names and extents in sequences, parents before children in trees,
 * statements by cost, what is cropped, versions. */
#include "feature_fixture.h"

#include "search/feature/encoding.h"

static const char *(*const samples[])(void) = {te_sample_gemm,     te_sample_syrk, te_sample_2mm,
                                               te_sample_jacobi2d, te_sample_symm, te_sample_odd,
                                               te_sample_gemm_i8};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

static float *row_of(fixture *f, const ctune_model_input *input, const char *text) {
    ctune_nest nest;
    ctune_schedule schedule;
    ctune_schedule_init(&schedule);
    fixture_nest(f, text, &nest);
    assert_int_equal(ctune_schedule_parse(&f->ctx, text, &schedule), CTUNE_OK);
    float *row = malloc((size_t)ctune_model_input_count(input) * sizeof *row);
    ctune_encoding_get(input, &schedule, &nest, &f->target, row);
    ctune_schedule_clear(&schedule);
    return row;
}

static const float *item_of(const ctune_model_input *input, const float *row, int i) {
    return row + 1 + i * input->width;
}

static void test_lists(void **state) {
    (void)state;
    for (int s = 0; s < N_SAMPLES; s++) {
        fixture f;
        ctune_rng rng;
        ctune_rng_init(&rng, 4);
        fixture_init(&f, samples[s]());
        for (int kind = 0; kind < CTUNE_N_INPUTS; kind++) {
            ctune_model_input input;
            ctune_encoding_init(&input, (ctune_input_kind)kind, 0, CTUNE_INPUT_REGION, 0);
            int n = ctune_model_input_count(&input);
            float *row = malloc((size_t)n * sizeof *row);
            for (int k = 0; k < 10; k++) {
                ctune_point point;
                ctune_nest nest;
                ctune_schedule schedule;
                ctune_space_sample(f.space, &rng, &point);
                ctune_schedule_init(&schedule);
                if (ctune_space_nest(f.space, &point, &nest) &&
                    ctune_space_schedule(&f.ctx, f.space, &point, &schedule) == CTUNE_OK) {
                    ctune_encoding_get(&input, &schedule, &nest, &f.target, row);
                    for (int c = 0; c < n; c++) {
                        assert_true(isfinite(row[c]));
                    }
                    bool is_list = kind != CTUNE_INPUT_ROW;
                    int n_items = is_list ? (int)row[0] : 1;
                    assert_in_range(n_items, 1, input.n_items);
                    for (int c = is_list ? 1 + n_items * input.width : n; c < n; c++) {
                        assert_true(row[c] == 0);
                    }
                    for (int i = 0; i < n_items && kind == CTUNE_INPUT_TREE; i++) {
                        float parent = item_of(&input, row, i)[0];
                        assert_true(parent >= 0 && parent <= (float)i);
                        assert_true((parent == 0) == (i == 0));
                    }
                }
                ctune_schedule_clear(&schedule);
            }
            free(row);
        }
        fixture_clear(&f);
    }
}

static void test_sequence(void **state) {
    (void)state;
    fixture f;
    ctune_model_input input, region;
    fixture_init(&f, te_sample_gemm());
    ctune_encoding_init(&input, CTUNE_INPUT_SEQUENCE, 0, 0, 0);
    ctune_encoding_init(&region, CTUNE_INPUT_SEQUENCE, 0, CTUNE_INPUT_REGION, 0);
    assert_int_equal(input.n_items, CTUNE_SEQUENCE_STEPS);
    static const char text[] = "split i 64 -> i0 i1\nsplit i1 8 -> i2 i3\nunroll i3\n";
    float *row = row_of(&f, &input, text), *front = row_of(&f, &region, text);
    assert_true(row[0] == 3);
    /* one-hot: two splits and an unroll */
    assert_true(item_of(&input, row, 0)[CTUNE_PRIM_SPLIT] == 1);
    assert_true(item_of(&input, row, 1)[CTUNE_PRIM_SPLIT] == 1);
    assert_true(item_of(&input, row, 2)[CTUNE_PRIM_UNROLL] == 1);
    /* i1 is gone from the nest: its extent is the product of what it was split into */
    int names = input.width - 16; /* token and extent of eight names are last */
    assert_true(item_of(&input, row, 1)[names + 1] == 6); /* i1 */
    assert_true(item_of(&input, row, 1)[names + 3] == 3); /* i2 */
    assert_true(item_of(&input, row, 2)[names + 1] == 3); /* i3 */
    assert_true(item_of(&input, row, 0)[names] != item_of(&input, row, 1)[names]);
    /* with the region in front the schedule is the end, as it was */
    int n = (int)front[0];
    assert_true(n > 3);
    assert_memory_equal(item_of(&region, front, n - 3), item_of(&input, row, 0),
                        3 * (size_t)input.width * sizeof *row);
    free(row);
    free(front);
    /* cropped at the end */
    ctune_encoding_init(&input, CTUNE_INPUT_SEQUENCE, 0, 0, 2);
    row = row_of(&f, &input, text);
    assert_true(row[0] == 2);
    free(row);
    fixture_clear(&f);
}

static void test_stores(void **state) {
    (void)state;
    fixture f;
    ctune_model_input input, whole;
    fixture_init(&f, te_sample_2mm());
    ctune_encoding_init(&input, CTUNE_INPUT_STORES, 0, 0, 0);
    ctune_encoding_init(&whole, CTUNE_INPUT_ROW, input.groups, 0, 0);
    assert_int_equal(input.width, whole.width);
    float *row = row_of(&f, &input, ""), *one = row_of(&f, &whole, "");
    assert_true(row[0] >= 2);
    /* the first is the hottest, which plain rows are about */
    assert_memory_equal(item_of(&input, row, 0), one, (size_t)whole.width * sizeof *one);
    assert_memory_not_equal(item_of(&input, row, 1), one, (size_t)whole.width * sizeof *one);
    free(row);
    free(one);
    fixture_clear(&f);
}

static void test_check(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    for (int kind = 0; kind < CTUNE_N_INPUTS; kind++) {
        ctune_model_input input;
        ctune_encoding_init(&input, (ctune_input_kind)kind, 0, 0, 0);
        assert_int_equal(ctune_encoding_check(&ctx, &input, "m"), CTUNE_OK);
        input.version++;
        assert_int_equal(ctune_encoding_check(&ctx, &input, "m"), CTUNE_EUSAGE);
        assert_non_null(strstr(ctx.error, "m: was trained on features of version"));
        input.version--;
        input.width++;
        assert_int_equal(ctune_encoding_check(&ctx, &input, "m"), CTUNE_EUSAGE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Kinds: each is made, learns, is saved, loaded by one function, scores the same, describes itself;
 * files that are none; a search on top of any model. */
#include "costmodel/kind/kind.h"
#include "costmodel/nn/blas.h"
#include "runtime/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 4, WIDTH = 6, TASK_ROWS = 24, N_TASKS = 3 };

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != CTUNE_OK) {                                                                  \
            fail_msg("%s: %s", #call, ctx.error);                                                  \
        }                                                                                          \
    } while (0)

static bool has_blas(void) {
    ctune_ctx ctx = {0};
    const ctune_blas *blas;
    return ctune_blas_get(&ctx, &blas) == CTUNE_OK;
}

static void input_make(int kind, ctune_model_input *input) {
    *input = (ctune_model_input){
        .kind = ctune_kind_input(kind), .version = 7, .n_items = ITEMS, .width = WIDTH};
    input->n_items = input->kind == CTUNE_INPUT_ROW ? 1 : ITEMS;
}

static void data_make(const ctune_model_input *input, ctune_dataset *data) {
    ctune_ctx ctx = {0};
    ctune_rng rng;
    float row[1 + ITEMS * WIDTH];
    bool is_list = input->kind != CTUNE_INPUT_ROW;
    ctune_rng_init(&rng, 3);
    ctune_dataset_init(data, ctune_model_input_count(input));
    for (int t = 0; t < N_TASKS; t++) {
        OK(ctune_dataset_add_task(&ctx, data, "t", "k"));
        OK(ctune_dataset_set_target(&ctx, data, "machine"));
        for (int i = 0; i < TASK_ROWS; i++) {
            for (int c = 0; c < ctune_model_input_count(input); c++) {
                row[c] = (float)ctune_rng_below(&rng, 3);
            }
            if (is_list) {
                row[0] = ITEMS;
                row[1] = 0; /* a tree's root */
            }
            OK(ctune_dataset_add_row(&ctx, data, row, exp2(10 + row[4])));
        }
    }
}

static void kind_is_whole(int kind, const char *path) {
    ctune_ctx ctx = {0};
    ctune_model_input input;
    ctune_kind_options options;
    ctune_dataset data;
    ctune_model model, loaded;
    ctune_text text;
    float x[TASK_ROWS] = {1}, y[TASK_ROWS];
    ctune_text_init(&text);
    input_make(kind, &input);
    data_make(&input, &data);
    ctune_kind_options_default(kind, &input, &options);
    options.gbt.n_trees = 5;
    options.net.hidden = 16;
    options.net.heads = 2;
    options.net.epochs = 2;
    OK(ctune_kind_create(&ctx, kind, &input, &options, &model));
    assert_int_equal(model.n_features, ctune_model_input_count(&input));
    OK(model.predict(&ctx, model.self, data.features, TASK_ROWS, x));
    assert_true(x[0] == 0 && x[TASK_ROWS - 1] == 0);
    assert_int_equal(model.save(&ctx, model.self, &text), CTUNE_EUSAGE); /* not trained */
    OK(model.learn(&ctx, model.self, &data, NULL, NULL));
    OK(model.note(&ctx, model.self, "from here\n"));
    OK(model.save(&ctx, model.self, &text));
    OK(ctune_file_write(&ctx, path, ctune_text_get(&text), text.len));
    OK(ctune_kind_load(&ctx, path, &loaded));
    assert_memory_equal(&loaded.input, &model.input, sizeof loaded.input);
    OK(model.predict(&ctx, model.self, data.features, TASK_ROWS, x));
    OK(loaded.predict(&ctx, loaded.self, data.features, TASK_ROWS, y));
    assert_memory_equal(x, y, sizeof x);
    ctune_text_clear(&text);
    loaded.describe(loaded.self, &text);
    assert_non_null(strstr(ctune_text_get(&text), "from here"));
    assert_true((ctune_kind_forest(&loaded) != NULL) == (kind == CTUNE_KIND_GBT));
    ctune_text_clear(&text);
    model.destroy(model.self);
    loaded.destroy(loaded.self);
    ctune_dataset_clear(&data);
}

static void test_kinds(void **state) {
    (void)state;
    char path[] = "/tmp/ctune-kind-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (int kind = 0; kind < (has_blas() ? CTUNE_N_KINDS : 1); kind++) {
        assert_int_equal(ctune_kind_find(ctune_kind_name(kind)), kind);
        assert_true(ctune_kind_help(kind)[0] != '\0');
        kind_is_whole(kind, path);
    }
    assert_int_equal(ctune_kind_find("nonsense"), -1);
    ctune_ctx ctx = {0};
    ctune_model model;
    OK(ctune_file_write(&ctx, path, "ctune-net 99\n", 13));
    assert_int_equal(ctune_kind_load(&ctx, path, &model), CTUNE_EUSAGE);
    OK(ctune_file_write(&ctx, path, "nonsense", 8));
    assert_int_equal(ctune_kind_load(&ctx, path, &model), CTUNE_EUSAGE);
    unlink(path);
    assert_int_equal(ctune_kind_load(&ctx, path, &model), CTUNE_EENV);
}

/* What a compiler's plugin says of a network. */
static void test_plugin_refuses(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL;
    assert_int_equal(ctune_forest_parse(&ctx, "m", "ctune-net 1\n", &forest), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "neural model"));
}

/* A global model that knows its own two numbers; the forest behind it learns the third. */
static ctune_status first_predict(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                                  float *scores) {
    (void)ctx;
    ++*(int *)self;
    for (size_t i = 0; i < n_rows; i++) {
        scores[i] = features[2 * i] - features[2 * i + 1];
    }
    return CTUNE_OK;
}

static void test_search_on_top(void **state) {
    (void)state;
    enum { N = 60 };
    ctune_ctx ctx = {0};
    int n_calls = 0;
    ctune_model global = {
        .name = "first", .n_features = 2, .self = &n_calls, .predict = first_predict};
    ctune_model model;
    ctune_gbt_options options;
    ctune_gbt_options_default(&options);
    options.min_child_weight = 0.01;
    float rows[N][3], labels[N], scores[N];
    ctune_rng rng;
    ctune_rng_init(&rng, 8);
    for (int i = 0; i < N; i++) {
        rows[i][0] = (float)ctune_rng_below(&rng, 3);
        rows[i][1] = (float)ctune_rng_below(&rng, 2);
        rows[i][2] = (float)ctune_rng_below(&rng, 4);
        labels[i] = exp2f(rows[i][0] - rows[i][1] - 2 * rows[i][2] - 2);
    }
    OK(ctune_gbt_model_create_over(&ctx, &global, 1, &options, &model));
    assert_int_equal(model.n_features, 3);
    OK(model.predict(&ctx, model.self, rows[0], N, scores));
    for (int i = 0; i < N; i++) {
        assert_true(scores[i] == rows[i][0] - rows[i][1]);
    }
    OK(model.fit(&ctx, model.self, rows[0], labels, N));
    OK(model.predict(&ctx, model.self, rows[0], N, scores));
    int right = 0, pairs = 0;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            if (labels[i] > 1.5f * labels[k]) {
                pairs++;
                right += scores[i] > scores[k];
            }
        }
    }
    assert_true(n_calls > 0 && right > 0.9 * pairs);
    model.destroy(model.self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_plugin_refuses),
        cmocka_unit_test(test_search_on_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

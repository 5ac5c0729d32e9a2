/* Networks of each kind: gradients of the whole, learning on data with a known truth, the same
 * again from the same seed, stopped and resumed, update, heads; the file and what is wrong in it.
 */
#include "costmodel/metrics.h"
#include "costmodel/nn/net_private.h"
#include "tests/unit/nn/nn_fixture.h"

#include <unistd.h>

enum { ITEMS = 6, WIDTH = 7, N_TASKS = 6, TASK_ROWS = 40 };

static const ctune_net_kind kinds[] = {CTUNE_NET_LINEAR, CTUNE_NET_MLP, CTUNE_NET_TREEGRU,
                                       CTUNE_NET_TLP,    CTUNE_NET_TLP, CTUNE_NET_MTL_TLP};
enum { N_KINDS = sizeof kinds / sizeof *kinds, LSTM_KIND = 4 };

static void config_make(int i_kind, ctune_net_config *c) {
    ctune_model_input input = {
        .kind = ctune_net_input(kinds[i_kind]), .version = 1, .n_items = ITEMS, .width = WIDTH};
    input.n_items = input.kind == CTUNE_INPUT_ROW ? 1 : ITEMS;
    ctune_net_config_default(c, kinds[i_kind], &input);
    c->hidden = 16;
    c->heads = 2;
    c->slots = 2;
    c->layers = 1;
    c->batch = 64;
    c->epochs = 16;
    c->adam.rate = kinds[i_kind] == CTUNE_NET_LINEAR ? 3e-2 : 3e-3;
    c->lstm = i_kind == LSTM_KIND;
}

/* A row of items whose third number (of all) says how slow it is. Returns log2 of its time. */
static double row_make(ctune_rng *rng, const ctune_model_input *input, float *row) {
    bool is_list = input->kind != CTUNE_INPUT_ROW, is_tree = input->kind == CTUNE_INPUT_TREE;
    int n = is_list ? 1 + (int)ctune_rng_below(rng, (uint64_t)input->n_items) : 1;
    float *item = is_list ? row + 1 : row;
    double time = 0;
    memset(row, 0, (size_t)ctune_model_input_count(input) * sizeof *row);
    if (is_list) {
        row[0] = (float)n;
    }
    for (int i = 0; i < n; i++, item += input->width) {
        for (int c = 0; c < input->width; c++) {
            item[c] = (float)ctune_rng_below(rng, 4);
        }
        if (is_tree) {
            item[0] = (float)ctune_rng_below(rng, (uint64_t)i + 1);
            item[1] = (float)ctune_rng_below(rng, 3);
        }
        time += item[3] + 0.5 * item[4];
    }
    return 20 + time;
}

static void data_make(const ctune_model_input *input, ctune_dataset *data) {
    ctune_ctx ctx = {0};
    ctune_rng rng;
    ctune_rng_init(&rng, 5);
    float *row = calloc((size_t)ctune_model_input_count(input), sizeof *row);
    ctune_dataset_init(data, ctune_model_input_count(input));
    for (int t = 0; t < N_TASKS; t++) {
        char kernel[16];
        snprintf(kernel, sizeof kernel, "k%d", t / 2);
        OK(ctune_dataset_add_task(&ctx, data, kernel, kernel));
        OK(ctune_dataset_set_target(&ctx, data, t % 2 == 0 ? "amd" : "intel"));
        for (int i = 0; i < TASK_ROWS; i++) {
            double time = row_make(&rng, input, row);
            OK(ctune_dataset_add_row(&ctx, data, row, exp2(time)));
        }
    }
    free(row);
}

static ctune_net *net_make(const ctune_net_config *config) {
    ctune_ctx ctx = {0};
    ctune_net *net = NULL;
    OK(ctune_net_create(&ctx, config, &net));
    return net;
}

static char *text_of(const ctune_net *net) {
    ctune_ctx ctx = {0};
    ctune_text text;
    ctune_text_init(&text);
    OK(ctune_net_print(&ctx, net, &text));
    char *out = strdup(ctune_text_get(&text));
    ctune_text_clear(&text);
    return out;
}

static double pairs_of(ctune_net *net, const ctune_dataset *data) {
    ctune_ctx ctx = {0};
    ctune_metrics m;
    float scores[N_TASKS * TASK_ROWS];
    OK(ctune_net_predict(&ctx, net, data->features, data->n_rows, scores));
    OK(ctune_metrics_get(&ctx, data, scores, NULL, &m));
    return m.pair_accuracy;
}

/* ---- gradients ------------------------------------------------------------------------------- */
enum { SAMPLES = 5 };

/* ctx: the tape keeps it. */
static double sum_of(ctune_ctx *ctx, ctune_net *net, const net_batch *batch, const float *seed) {
    double sum = 0;
    ctune_nn_tape_reset(ctx, net->tape);
    ctune_nn_var y = net_forward(net, net->tape, batch);
    assert_int_equal(ctune_nn_status(net->tape), CTUNE_OK);
    assert_int_equal(ctune_nn_rows(net->tape, y), SAMPLES);
    assert_int_equal(ctune_nn_cols(net->tape, y), 1);
    for (int i = 0; i < SAMPLES; i++) {
        sum += (double)seed[i] * ctune_nn_value(net->tape, y)[i];
    }
    return sum;
}

/* Differences see a kink of a ReLU: few numbers may be off. */
static void gradient_of_kind(int i_kind) {
    ctune_ctx ctx = {0};
    ctune_net_config config;
    config_make(i_kind, &config);
    config.hidden = 8;
    ctune_net *net = net_make(&config);
    net->n_heads = config.kind == CTUNE_NET_MTL_TLP ? 2 : 1;
    OK(net_build(&ctx, net, 0));
    float rows[SAMPLES][1 + ITEMS * WIDTH], seed[SAMPLES];
    const float *list[SAMPLES];
    const int heads[SAMPLES] = {0, net->n_heads - 1, 0, 0, net->n_heads - 1};
    ctune_rng rng;
    ctune_rng_init(&rng, 9);
    for (int i = 0; i < SAMPLES; i++) {
        row_make(&rng, &config.input, rows[i]);
        list[i] = rows[i];
    }
    nn_fixture_fill(&rng, seed, SAMPLES);
    for (int i = 0; i < net->params.n; i++) { /* none 0, so that everything has a part */
        ctune_nn_param *p = net->params.param[i];
        for (size_t k = 0; k < net_size(p) && !p->is_fixed; k++) {
            p->value[k] += (float)(0.2 * ctune_rng_unit(&rng) - 0.1);
        }
    }
    net_batch batch;
    OK(net_batch_fill(&ctx, net, SAMPLES, list, heads, &batch));
    (void)sum_of(&ctx, net, &batch, seed);
    OK(ctune_nn_backward(
        net->tape, net->params.n_values > 0 ? net_forward(net, net->tape, &batch) : -1, seed));
    int n_seen = 0, n_off = 0;
    for (int i = 0; i < net->params.n; i++) {
        ctune_nn_param *p = net->params.param[i];
        for (size_t k = 0; k < net_size(p) && !p->is_fixed; k += 1 + net_size(p) / 16) {
            const float step = 1.0f / 512;
            float before = p->value[k];
            p->value[k] = before + step;
            double more = sum_of(&ctx, net, &batch, seed);
            p->value[k] = before - step;
            double less = sum_of(&ctx, net, &batch, seed);
            p->value[k] = before;
            double slope = (more - less) / (2 * step);
            n_seen++;
            n_off += fabs(slope - p->grad[k]) > 5e-3 + 2e-2 * fabs(slope);
        }
    }
    print_message("%s: %d of %d numbers off\n", ctune_net_name(config.kind), n_off, n_seen);
    assert_true(n_seen >= WIDTH / 2 && n_off * 20 <= n_seen);
    net_batch_clear(&batch);
    ctune_net_destroy(net);
}

static void test_gradients(void **state) {
    (void)state;
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    for (int i = 0; i < N_KINDS; i++) {
        gradient_of_kind(i);
    }
}

/* ---- learning -------------------------------------------------------------------------------- */
static void test_learns(void **state) {
    (void)state;
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    for (int i = 0; i < N_KINDS; i++) {
        ctune_ctx ctx = {0};
        ctune_net_config config;
        ctune_dataset data;
        config_make(i, &config);
        data_make(&config.input, &data);
        ctune_net *net = net_make(&config), *again = net_make(&config);
        float before[4] = {1, 1, 1, 1};
        OK(ctune_net_predict(&ctx, net, data.features, 4, before));
        assert_true(before[0] == 0 && before[3] == 0);
        OK(ctune_net_learn(&ctx, net, &data, NULL, NULL));
        double pairs = pairs_of(net, &data);
        print_message("%s%s: pairs %.3f\n", ctune_net_name(config.kind), config.lstm ? " lstm" : "",
                      pairs);
        assert_true(pairs > 0.8);
        OK(ctune_net_learn(&ctx, again, &data, NULL, NULL));
        char *a = text_of(net), *b = text_of(again);
        assert_string_equal(a, b);
        /* what is printed parses to what prints and scores the same */
        ctune_net *parsed = NULL;
        OK(ctune_net_parse(&ctx, "m", a, &parsed));
        char *c = text_of(parsed);
        assert_string_equal(a, c);
        float x[8], y[8];
        OK(ctune_net_predict(&ctx, net, data.features, 8, x));
        OK(ctune_net_predict(&ctx, parsed, data.features, 8, y));
        assert_memory_equal(x, y, sizeof x);
        free(a);
        free(b);
        free(c);
        ctune_net_destroy(parsed);
        ctune_net_destroy(net);
        ctune_net_destroy(again);
        ctune_dataset_clear(&data);
    }
}

static bool stop_after(void *user, int epoch, double loss, double score) {
    (void)score;
    assert_true(isfinite(loss));
    return epoch < *(const int *)user;
}

static void test_resume(void **state) {
    (void)state;
    char path[] = "/tmp/ctune-net-XXXXXX";
    int file = mkstemp(path), at = 3;
    if (nn_fixture_blas() == NULL || file < 0) {
        skip();
    }
    close(file);
    unlink(path);
    ctune_ctx ctx = {0};
    ctune_net_config config;
    ctune_dataset data;
    config_make(3, &config);
    config.held_out = 0.4;
    config.epochs = 8;
    data_make(&config.input, &data);
    ctune_net *whole = net_make(&config), *parts = net_make(&config);
    ctune_learn_watch watch = {stop_after, &at, path};
    OK(ctune_net_learn(&ctx, whole, &data, NULL, NULL));
    OK(ctune_net_learn(&ctx, parts, &data, NULL, &watch));
    assert_int_equal(access(path, F_OK), 0);
    /* another training does not go on from it */
    ctune_net_config wrong = config;
    wrong.seed = 2;
    ctune_net *other = net_make(&wrong);
    assert_int_equal(ctune_net_learn(&ctx, other, &data, NULL, &watch), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "another training"));
    ctune_net_destroy(other);
    at = 1000;
    OK(ctune_net_learn(&ctx, parts, &data, NULL, &watch));
    assert_int_not_equal(access(path, F_OK), 0);
    char *a = text_of(whole), *b = text_of(parts);
    assert_string_equal(a, b);
    free(a);
    free(b);
    ctune_net_destroy(whole);
    ctune_net_destroy(parts);
    ctune_dataset_clear(&data);
}

/* Rows that contradict the training: a search's own records count. */
static void test_update(void **state) {
    (void)state;
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    ctune_ctx ctx = {0};
    ctune_net_config config;
    ctune_dataset data;
    ctune_metrics m[2];
    float labels[TASK_ROWS], scores[N_TASKS * TASK_ROWS];
    config_make(1, &config);
    data_make(&config.input, &data);
    ctune_net *net = net_make(&config);
    OK(ctune_net_update(&ctx, net, data.features, labels, 8)); /* not trained: nothing to update */
    OK(ctune_net_learn(&ctx, net, &data, NULL, NULL));
    char *before = text_of(net);
    for (int i = 0; i < TASK_ROWS; i++) { /* the task's times, upside down */
        labels[i] = ctune_dataset_label(&data, 0, 0) > 0
                        ? (float)(data.time_ns[i] / 1e9 < 1 ? data.time_ns[i] / 1e9 : 1)
                        : 0;
    }
    for (int k = 0; k < 2; k++) {
        OK(ctune_net_predict(&ctx, net, data.features, data.n_rows, scores));
        OK(ctune_metrics_get(&ctx, &data, scores, NULL, &m[k]));
        OK(ctune_net_update(&ctx, net, data.features, labels, TASK_ROWS));
    }
    assert_true(m[1].pair_accuracy < m[0].pair_accuracy);
    char *after = text_of(net);
    assert_string_not_equal(before, after);
    free(before);
    free(after);
    ctune_net_destroy(net);
    ctune_dataset_clear(&data);
}

static void test_heads(void **state) {
    (void)state;
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    ctune_ctx ctx = {0};
    ctune_net_config config;
    ctune_dataset data;
    float amd[4], intel[4], none[4];
    config_make(5, &config);
    snprintf(config.target, sizeof config.target, "int");
    data_make(&config.input, &data);
    ctune_net *net = net_make(&config);
    OK(ctune_net_learn(&ctx, net, &data, NULL, NULL));
    ctune_net_set_target(net, "amd");
    OK(ctune_net_predict(&ctx, net, data.features, 4, amd));
    ctune_net_set_target(net, "intel");
    OK(ctune_net_predict(&ctx, net, data.features, 4, intel));
    ctune_net_set_target(net, "riscv");
    OK(ctune_net_predict(&ctx, net, data.features, 4, none));
    assert_memory_not_equal(amd, intel, sizeof amd);
    assert_memory_equal(none, intel, sizeof none); /* head 0 is the wanted target's */
    ctune_net_destroy(net);
    snprintf(config.target, sizeof config.target, "sparc");
    net = net_make(&config);
    assert_int_equal(ctune_net_learn(&ctx, net, &data, NULL, NULL), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "sparc"));
    ctune_net_destroy(net);
    ctune_dataset_clear(&data);
}

/* As many targets as there may be, and one more. */
static void test_many_heads(void **state) {
    (void)state;
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    for (int n = NET_MAX_HEADS; n <= NET_MAX_HEADS + 1; n++) {
        ctune_ctx ctx = {0};
        ctune_net_config config;
        ctune_dataset data;
        ctune_rng rng;
        float row[1 + ITEMS * WIDTH];
        config_make(5, &config);
        config.epochs = 1;
        config.layers = 8;
        ctune_rng_init(&rng, 2);
        ctune_dataset_init(&data, ctune_model_input_count(&config.input));
        for (int t = 0; t < n; t++) {
            char key[16];
            snprintf(key, sizeof key, "target%d", t);
            OK(ctune_dataset_add_task(&ctx, &data, "t", "k"));
            OK(ctune_dataset_set_target(&ctx, &data, key));
            for (int i = 0; i < 4; i++) {
                double time = row_make(&rng, &config.input, row);
                OK(ctune_dataset_add_row(&ctx, &data, row, exp2(time)));
            }
        }
        ctune_net *net = net_make(&config);
        ctune_status status = ctune_net_learn(&ctx, net, &data, NULL, NULL);
        assert_int_equal(status, n <= NET_MAX_HEADS ? CTUNE_OK : CTUNE_EUSAGE);
        assert_true(status == CTUNE_OK || strstr(ctx.error, "targets") != NULL);
        ctune_net_destroy(net);
        ctune_dataset_clear(&data);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */
static char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    assert_non_null(at);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    memcpy(out, text, (size_t)(at - text));
    strcpy(out + (at - text), to);
    strcat(out, at + strlen(from));
    return out;
}

static void test_malformed(void **state) {
    (void)state;
    static const char *const change[][2] = {
        {"ctune-net 1", "ctune-net 2"},
        {"kind mlp", "kind nonsense"},
        {"kind mlp", "kind tlp"},
        {"input stores", "input row"},
        {"items 6", "items 100000"},
        {"width 7", "width 0"},
        {"width 7", "width 8"},
        {"hidden 16", "hidden 1024"},
        {"hidden 16", "hidden 18"},
        {"hidden 16", "hidden -4"},
        {"hidden 16", "hidden 99999999999999999999999"},
        {"attention-heads 2", "attention-heads 3"},
        {"layers 1", "layers 9"},
        {"layers 1", "layers 0"},
        {"rate 0.003", "rate nan"},
        {"rate 0.003", "rate 0"},
        {"score scale", "score scala"},
        {"head ", "tail "},
        {"matrix mean value 1 7", "matrix mean value 7 1"},
        {"matrix mean value", "matrix mean best"},
        {"matrix scale", "matrix other"},
        {"end\n", ""},
        {"end\n", "1\nend\n"},
    };
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    ctune_ctx ctx = {0};
    ctune_net_config config;
    config_make(1, &config);
    ctune_net *net = net_make(&config), *parsed = NULL;
    OK(net_build(&ctx, net, 0));
    char *text = text_of(net);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        char *bad = replaced(text, change[i][0], change[i][1]);
        if (ctune_net_parse(&ctx, "bad", bad, &parsed) != CTUNE_EUSAGE) {
            fail_msg("'%s' for '%s' was taken", change[i][1], change[i][0]);
        }
        assert_null(parsed);
        assert_int_equal(strncmp(ctx.error, "bad:", 4), 0);
        free(bad);
    }
    for (size_t n = 0; n + 1 < strlen(text); n += 1 + n / 16) { /* cut short anywhere */
        char *cut = strndup(text, n);
        assert_int_equal(ctune_net_parse(&ctx, "bad", cut, &parsed), CTUNE_EUSAGE);
        free(cut);
    }
    for (uint64_t at = 1; at < 60; at++) {
        ctune_ctx faulty = {.alloc_fail_at = at};
        ctune_status status = ctune_net_parse(&faulty, "m", text, &parsed);
        assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM);
        ctune_net_destroy(parsed);
        if (status == CTUNE_OK) {
            break;
        }
        assert_true(at < 59);
    }
    free(text);
    ctune_net_destroy(net);
    net = net_make(&config);
    ctune_text unused;
    ctune_text_init(&unused);
    assert_int_equal(ctune_net_print(&ctx, net, &unused), CTUNE_EUSAGE);
    ctune_text_clear(&unused);
    ctune_net_destroy(net);
}

/* Rows that no encoder makes: counts and parents out of range, numbers that are none. */
static void test_hostile_rows(void **state) {
    (void)state;
    static const float odd[] = {-1, 1e30f, NAN, INFINITY, -INFINITY, 3.5f};
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    for (int i = 0; i < N_KINDS; i++) {
        ctune_ctx ctx = {0};
        ctune_net_config config;
        config_make(i, &config);
        ctune_net *net = net_make(&config);
        OK(net_build(&ctx, net, 0));
        float row[1 + ITEMS * WIDTH], score;
        for (size_t k = 0; k < 6 * sizeof odd / sizeof *odd; k++) {
            for (int c = 0; c < 1 + ITEMS * WIDTH; c++) {
                row[c] = odd[(k + (size_t)c * (k / 6)) % 6];
            }
            row[0] = k % 2 == 0 ? row[0] : ITEMS;
            OK(ctune_net_predict(&ctx, net, row, 1, &score));
            assert_true(isfinite(score));
        }
        ctune_net_destroy(net);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_learns),
        cmocka_unit_test(test_resume),    cmocka_unit_test(test_update),
        cmocka_unit_test(test_heads),     cmocka_unit_test(test_many_heads),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_hostile_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

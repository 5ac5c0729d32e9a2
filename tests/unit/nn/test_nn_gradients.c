/* Each operator and layer: its gradient against finite differences of its value, for every operand
 * that is a parameter; each loss likewise. Shapes that do not fit and memory that is out stick. */
#include "costmodel/nn/tape_private.h"
#include "costmodel/rank_loss.h"
#include "tests/unit/nn/nn_fixture.h"

enum { ROWS = 5, COLS = 6, MAX_OPERANDS = 3 };

typedef ctune_nn_var (*build_fn)(ctune_nn_tape *tape, ctune_nn_param *const *p);

/* Sum of seed * value. */
static double value_of(ctune_nn_tape *tape, build_fn build, ctune_nn_param *const *p,
                       const float *seed) {
    ctune_ctx ctx = {0};
    ctune_nn_tape_reset(&ctx, tape);
    ctune_nn_var y = build(tape, p);
    OK(ctune_nn_status(tape));
    double sum = 0;
    size_t n = (size_t)ctune_nn_rows(tape, y) * (size_t)ctune_nn_cols(tape, y);
    for (size_t i = 0; i < n; i++) {
        sum += (double)seed[i] * ctune_nn_value(tape, y)[i];
    }
    return sum;
}

static void gradient_is_right(const char *name, build_fn build, int n_operands,
                              const int (*shape)[2]) {
    ctune_ctx ctx = {0};
    ctune_nn_params params;
    ctune_nn_params_init(&params);
    ctune_nn_param *p[MAX_OPERANDS] = {0};
    ctune_nn_tape *tape = NULL;
    ctune_rng rng;
    ctune_rng_init(&rng, 17);
    OK(ctune_nn_tape_create(&ctx, nn_fixture_blas(), &tape));
    for (int i = 0; i < n_operands; i++) {
        char text[8];
        snprintf(text, sizeof text, "p%d", i);
        p[i] = ctune_nn_params_add(&ctx, &params, &rng, CTUNE_NN_LINEAR, shape[i][0], shape[i][1],
                                   text);
        assert_non_null(p[i]);
        nn_fixture_fill(&rng, p[i]->value, (size_t)shape[i][0] * (size_t)shape[i][1]);
    }
    float seed[512];
    nn_fixture_fill(&rng, seed, 512);
    (void)value_of(tape, build, p, seed);
    ctune_nn_tape_reset(&ctx, tape);
    ctune_nn_var y = build(tape, p);
    assert_true(ctune_nn_rows(tape, y) * ctune_nn_cols(tape, y) <= 512);
    OK(ctune_nn_backward(tape, y, seed));
    double largest = 0;
    for (int i = 0; i < n_operands; i++) {
        for (int k = 0; k < p[i]->rows * p[i]->cols; k++) {
            const float step = 1.0f / 256;
            float before = p[i]->value[k];
            p[i]->value[k] = before + step;
            double more = value_of(tape, build, p, seed);
            p[i]->value[k] = before - step;
            double less = value_of(tape, build, p, seed);
            p[i]->value[k] = before;
            double slope = (more - less) / (2 * step), found = p[i]->grad[k];
            largest = fmax(largest, fabs(slope));
            if (fabs(slope - found) > 2e-3 + 1e-2 * fabs(slope)) {
                fail_msg("%s: operand %d, element %d: %g, differences say %g", name, i, k, found,
                         slope);
            }
        }
    }
    assert_true(largest > 1e-2); /* there was something to see */
    ctune_nn_tape_destroy(tape);
    ctune_nn_params_clear(&params);
}

#define USE(i) ctune_nn_use(tape, p[i])
static const int ids[] = {3, 0, 0, 4, 2, 1, 3};
static const int segments[] = {1, 0, 1, -1, 2};
static const int start[] = {0, 2, 2, 5};

/* name, operands with their shapes, expression */
#define CASE_TABLE(X)                                                                              \
    X(matmul, 2, ({{ROWS, COLS}, {COLS, 4}}), ctune_nn_matmul(tape, USE(0), USE(1)))               \
    X(square, 1, ({{ROWS, ROWS}}), ctune_nn_matmul(tape, USE(0), USE(0)))                          \
    X(add_row, 2, ({{ROWS, COLS}, {1, COLS}}), ctune_nn_add_row(tape, USE(0), USE(1)))             \
    X(mul_row, 2, ({{ROWS, COLS}, {1, COLS}}), ctune_nn_mul_row(tape, USE(0), USE(1)))             \
    X(mul_col, 2, ({{ROWS, COLS}, {ROWS, 1}}), ctune_nn_mul_col(tape, USE(0), USE(1)))             \
    X(add, 2, ({{ROWS, COLS}, {ROWS, COLS}}), ctune_nn_add(tape, USE(0), -0.5f, USE(1)))           \
    X(mul, 2, ({{ROWS, COLS}, {ROWS, COLS}}), ctune_nn_mul(tape, USE(0), USE(1)))                  \
    X(affine, 1, ({{ROWS, COLS}}), ctune_nn_affine(tape, USE(0), 3, -1))                           \
    X(relu, 1, ({{ROWS, COLS}}), ctune_nn_relu(tape, ctune_nn_affine(tape, USE(0), 1, 2)))         \
    X(gelu, 1, ({{ROWS, COLS}}), ctune_nn_gelu(tape, USE(0)))                                      \
    X(tanh, 1, ({{ROWS, COLS}}), ctune_nn_tanh(tape, USE(0)))                                      \
    X(sigmoid, 1, ({{ROWS, COLS}}), ctune_nn_sigmoid(tape, USE(0)))                                \
    X(softmax, 1, ({{ROWS, COLS}}), ctune_nn_softmax(tape, USE(0)))                                \
    X(norm, 1, ({{ROWS, COLS}}), ctune_nn_norm(tape, USE(0)))                                      \
    X(gather, 1, ({{ROWS, COLS}}), ctune_nn_gather(tape, USE(0), 7, ids))                          \
    X(segment_sum, 1, ({{ROWS, COLS}}), ctune_nn_segment_sum(tape, USE(0), 4, segments))           \
    X(segment_mean, 1, ({{ROWS, COLS}}), ctune_nn_segment_mean(tape, USE(0), 4, segments))         \
    X(concat, 2, ({{ROWS, COLS}, {ROWS, 2}}), ctune_nn_concat(tape, USE(0), USE(1)))               \
    X(stack, 2, ({{ROWS, COLS}, {2, COLS}}), ctune_nn_stack(tape, USE(0), USE(1)))                 \
    X(slice, 1, ({{ROWS, COLS}}), ctune_nn_slice(tape, USE(0), 2, 3))                              \
    X(attention, 3, ({{ROWS, COLS}, {ROWS, COLS}, {ROWS, COLS}}),                                  \
      ctune_nn_attention(tape, USE(0), USE(1), USE(2), 2, 3, start))                               \
    X(attention_one, 1, ({{ROWS, COLS}}),                                                          \
      ctune_nn_attention(tape, USE(0), USE(0), USE(0), 3, 3, start))                               \
    X(gru, 2, ({{ROWS, 3 * 4}, {ROWS, 4}}), ctune_nn_gru_step(tape, &gru, USE(0), USE(1)))         \
    X(lstm, 3, ({{ROWS, 4 * 4}, {ROWS, 4}, {ROWS, 4}}), lstm_both(tape, p))                        \
    X(layer_norm, 1, ({{ROWS, 4}}), ctune_nn_layer_norm_apply(tape, &layer_norm, USE(0)))          \
    X(self_attention, 1, ({{ROWS, 4}}),                                                            \
      ctune_nn_self_attention_apply(tape, &self_attention, USE(0), 3, start))

static ctune_nn_params layers;
static ctune_nn_cell gru, lstm;
static ctune_nn_layer_norm layer_norm;
static ctune_nn_self_attention self_attention;

static ctune_nn_var lstm_both(ctune_nn_tape *tape, ctune_nn_param *const *p) {
    ctune_nn_var h = USE(1), c = USE(2);
    ctune_nn_lstm_step(tape, &lstm, USE(0), &h, &c);
    return ctune_nn_concat(tape, h, c);
}

#define X(name, n, shapes, expression)                                                             \
    static ctune_nn_var build_##name(ctune_nn_tape *tape, ctune_nn_param *const *p) {              \
        return expression;                                                                         \
    }
CASE_TABLE(X)
#undef X

#define STRIP(...) __VA_ARGS__
static void test_operators(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    ctune_nn_maker maker = {.ctx = &ctx, .params = &layers};
    ctune_rng_init(&maker.rng, 3);
    ctune_nn_gru_init(&maker, 2, 4, "gru", &gru);
    ctune_nn_lstm_init(&maker, 2, 4, "lstm", &lstm);
    ctune_nn_layer_norm_init(&maker, 4, "norm", &layer_norm);
    ctune_nn_self_attention_init(&maker, 4, 2, "attend", &self_attention);
    assert_false(maker.has_failed);
#define X(name, n, shapes, expression)                                                             \
    {                                                                                              \
        static const int shape[][2] = STRIP shapes;                                                \
        gradient_is_right(#name, build_##name, n, shape);                                          \
    }
    CASE_TABLE(X)
#undef X
    ctune_nn_params_clear(&layers);
}

static void test_no_operator_is_left_out(void **state) {
    (void)state;
    static const char *const cases[] = {
#define X(name, n, shapes, expression) #name,
        CASE_TABLE(X)
#undef X
    };
    static const char *const operators[] = {
#define X(name) #name,
        NN_OP_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            found = found || strcmp(operators[i], cases[k]) == 0;
        }
        if (!found) {
            fail_msg("no case for %s", operators[i]);
        }
    }
}

/* ---- losses ---------------------------------------------------------------------------------- */
typedef double (*loss_fn)(size_t n, const float *labels, const float *scores, float *gradient);

static void loss_is_right(loss_fn loss) {
    enum { N = 9 };
    float labels[N] = {1, 0.5f, 0, 0.25f, 0.9f, 0, 0.7f, 0.7f, 0.01f}, scores[N], gradient[N] = {0};
    float unused[N];
    for (int i = 0; i < N; i++) {
        scores[i] = (float)((i * 5) % N) / 4 - 1; /* no two so near that a step changes ranks */
    }
    loss(N, labels, scores, gradient);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        const float step = 1.0f / 128;
        float before = scores[i];
        scores[i] = before + step;
        double more = loss(N, labels, scores, unused);
        scores[i] = before - step;
        double less = loss(N, labels, scores, unused);
        scores[i] = before;
        double slope = (more - less) / (2 * step);
        assert_true(fabs(slope - gradient[i]) < 1e-3 + 1e-2 * fabs(slope));
        sum += gradient[i];
    }
    assert_true(fabs(sum) < 1e-4);                   /* a constant changes nothing */
    assert_true(gradient[0] < 0 || gradient[4] < 0); /* the fast want higher scores */
}

static void test_losses(void **state) {
    (void)state;
    loss_is_right(ctune_loss_lambda_rank);
    loss_is_right(ctune_loss_mse);
    float none[3] = {0}, scores[3] = {1, 2, 3}, gradient[3] = {0};
    assert_true(ctune_loss_lambda_rank(3, none, scores, gradient) == 0);
    assert_true(gradient[0] == 0 && gradient[2] == 0);
    /* far apart, in both directions: finite, and pulled back */
    float labels[2] = {1, 0.5f}, far[2] = {-1e4f, 1e4f}, pull[2] = {0};
    assert_true(isfinite(ctune_loss_lambda_rank(2, labels, far, pull)));
    assert_true(pull[0] < 0 && pull[1] > 0 && isfinite(pull[0]));
}

/* ---- errors ---------------------------------------------------------------------------------- */
static void test_misfits_stick(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_nn_tape *tape = NULL;
    float x[12] = {0};
    const int bad[] = {0, 7};
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    OK(ctune_nn_tape_create(&ctx, nn_fixture_blas(), &tape));
    for (int k = 0; k < 7; k++) {
        ctune_nn_tape_reset(&ctx, tape);
        ctune_nn_var a = ctune_nn_input(tape, 3, 4, x), b = ctune_nn_input(tape, 2, 3, x);
        ctune_nn_var y = k == 0   ? ctune_nn_matmul(tape, a, b)
                         : k == 1 ? ctune_nn_add(tape, a, 1, b)
                         : k == 2 ? ctune_nn_gather(tape, a, 2, bad)
                         : k == 3 ? ctune_nn_slice(tape, a, 2, 3)
                         : k == 4 ? ctune_nn_concat(tape, a, b)
                         : k == 5 ? ctune_nn_attention(tape, a, a, a, 3, 1, bad)
                                  : ctune_nn_stack(tape, a, b);
        assert_int_equal(y, -1);
        assert_int_equal(ctune_nn_relu(tape, ctune_nn_tanh(tape, y)), -1);
        assert_int_equal(ctune_nn_status(tape), CTUNE_EBUG);
        assert_non_null(strstr(ctx.error, "network: "));
        assert_int_equal(ctune_nn_backward(tape, y, x), CTUNE_EBUG);
    }
    ctune_nn_tape_destroy(tape);
}

static void test_memory_faults(void **state) {
    (void)state;
    bool is_done = false;
    if (nn_fixture_blas() == NULL) {
        skip();
    }
    for (uint64_t at = 1; at < 50 && !is_done; at++) {
        ctune_ctx ctx = {.alloc_fail_at = at};
        ctune_nn_params params;
        ctune_nn_params_init(&params);
        ctune_nn_maker maker = {.ctx = &ctx, .params = &params};
        ctune_nn_linear layer;
        ctune_nn_tape *tape = NULL;
        float x[6] = {1, 2, 3, 4, 5, 6};
        ctune_nn_linear_init(&maker, CTUNE_NN_RELU, 3, 4, "l", &layer);
        ctune_status status =
            maker.has_failed ? CTUNE_ENOMEM : ctune_nn_tape_create(&ctx, nn_fixture_blas(), &tape);
        if (status == CTUNE_OK) {
            ctune_nn_var y = ctune_nn_relu(
                tape, ctune_nn_linear_apply(tape, &layer, ctune_nn_input(tape, 2, 3, x)));
            float seed[8] = {1};
            status = ctune_nn_backward(tape, y, seed);
        }
        assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM);
        is_done = status == CTUNE_OK;
        ctune_nn_tape_destroy(tape);
        ctune_nn_params_clear(&params);
    }
    assert_true(is_done);
}

/* ---- Adam ------------------------------------------------------------------------------------ */
static void test_adam(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_nn_params params;
    ctune_nn_params_init(&params);
    ctune_rng rng;
    ctune_rng_init(&rng, 1);
    ctune_nn_param *p = ctune_nn_params_add(&ctx, &params, &rng, CTUNE_NN_ONE, 1, 2, "p");
    ctune_nn_param *fixed = ctune_nn_params_add(&ctx, &params, &rng, CTUNE_NN_ONE, 1, 1, "f");
    fixed->is_fixed = true;
    ctune_nn_adam adam;
    ctune_nn_adam_default(&adam);
    adam.rate = 0.1;
    adam.decay = 0;
    /* the first step is rate * sign of the gradient, however large that is */
    p->grad[0] = 1000;
    p->grad[1] = -1000;
    assert_true(ctune_nn_adam_step(&adam, 1, &params));
    assert_true(fabsf(p->value[0] - 0.9f) < 1e-5f && fabsf(p->value[1] - 1.1f) < 1e-5f);
    assert_true(fabsf(p->moment1[0]) <= 0.05f); /* clipped: norm 0.5 */
    /* gradients that are none change nothing */
    p->grad[0] = NAN;
    assert_false(ctune_nn_adam_step(&adam, 2, &params));
    assert_true(fabsf(p->value[0] - 0.9f) < 1e-5f);
    /* decay pulls to 0 where nothing else does; what is fixed stays */
    adam.decay = 0.1;
    ctune_nn_params_reset_grads(&params);
    float before = fabsf(p->value[0]);
    for (int i = 2; i < 50; i++) {
        assert_true(ctune_nn_adam_step(&adam, i, &params));
    }
    assert_true(fabsf(p->value[0]) < before);
    assert_true(fixed->value[0] == 1);
    /* minimises */
    adam.decay = 0;
    for (int i = 50; i < 600; i++) {
        p->grad[0] = p->value[0] - 3;
        p->grad[1] = 4 * (p->value[1] + 2);
        assert_true(ctune_nn_adam_step(&adam, i, &params));
    }
    assert_true(fabsf(p->value[0] - 3) < 0.05f && fabsf(p->value[1] + 2) < 0.05f);
    assert_null(ctune_nn_params_add(&ctx, &params, &rng, CTUNE_NN_ONE, 0, 2, "none"));
    ctune_nn_params_clear(&params);
}

static void test_no_library(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    const ctune_blas *blas = NULL;
    setenv("CTUNE_BLAS", "/nonexistent/libnone.so", 1);
    assert_int_equal(ctune_blas_get(&ctx, &blas), CTUNE_EENV);
    assert_null(blas);
    assert_non_null(strstr(ctx.error, "/nonexistent/libnone.so"));
    unsetenv("CTUNE_BLAS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_no_operator_is_left_out),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_misfits_stick),
        cmocka_unit_test(test_memory_faults),
        cmocka_unit_test(test_adam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

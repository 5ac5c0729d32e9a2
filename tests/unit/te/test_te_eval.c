/* Affine builders, shapes, and the interpreter against loops written in C. */
#include "search/te/te.h"
#include "te_samples.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static ctune_region *parse_ok(const char *text) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = NULL;
    ctune_status status = ctune_te_parse(&ctx, text, &region);
    if (status != CTUNE_OK) {
        print_error("%s\n", ctx.error);
    }
    assert_int_equal(status, CTUNE_OK);
    return region;
}

static void eval_ok(const ctune_region *region, const int64_t *params, void *const *tensors,
                    const size_t *bytes) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_status status =
        ctune_te_eval(&ctx, region, CTUNE_PRODUCTS_ROUNDED, params, tensors, bytes);
    if (status != CTUNE_OK) {
        print_error("%s\n", ctx.error);
    }
    assert_int_equal(status, CTUNE_OK);
}

/* One stage over scalars: `types` are tensor lines, the value of x after `stage` is returned. */
static void eval_scalar(const char *tensors, const char *stage, void *x, size_t x_bytes) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_printf(&text, "te 1\n%sstage S: %s\norder {\nS\n}\n", tensors, stage);
    ctune_region *region = parse_ok(ctune_text_get(&text));
    eval_ok(region, NULL, &x, &x_bytes);
    ctune_region_destroy(region);
    ctune_text_clear(&text);
}

static void test_aff(void **state) {
    (void)state;
    ctune_arena *a = ctune_arena_create(NULL);
    const ctune_aff *i = ctune_aff_term(a, CTUNE_TERM_AXIS, 0, 1);
    const ctune_aff *n = ctune_aff_term(a, CTUNE_TERM_PARAM, 0, 3);
    const ctune_aff *sum = ctune_aff_add_const(a, ctune_aff_add(a, n, i), 5);
    assert_int_equal(sum->n_terms, 2);
    assert_int_equal(sum->terms[0].kind, CTUNE_TERM_AXIS);
    assert_int_equal(ctune_aff_coef(sum, CTUNE_TERM_PARAM, 0), 3);
    assert_true(ctune_aff_is_equal(ctune_aff_sub(a, sum, i), ctune_aff_add_const(a, n, 5)));
    assert_true(ctune_aff_is_const(ctune_aff_sub(a, sum, sum)));
    const ctune_aff *twice = ctune_aff_subst(a, sum, CTUNE_TERM_AXIS, 0, ctune_aff_scale(a, n, 2));
    assert_int_equal(ctune_aff_coef(twice, CTUNE_TERM_PARAM, 0), 9);
    assert_false(ctune_aff_has_kind(twice, CTUNE_TERM_AXIS));
    assert_null(ctune_aff_scale(a, n, INT64_MAX));
    assert_null(ctune_aff_add_const(a, ctune_aff_const(a, INT64_MAX), 1));
    assert_null(ctune_aff_add(a, NULL, i));
    ctune_arena_destroy(a);
}

static void test_shape(void **state) {
    (void)state;
    int64_t sizes[2], extents[CTUNE_MAX_RANK];
    ctune_region *symm = parse_ok(te_sample_symm());
    ctune_region_sizes(symm, 0, sizes);
    assert_int_equal(sizes[0], 1000);
    assert_int_equal(ctune_tensor_shape(symm, 2, sizes, extents), 1000 * 1000);
    assert_int_equal(ctune_tensor_shape(symm, 5, sizes, extents), 1000 * 1200);
    assert_int_equal(extents[1], 1200);
    ctune_region_destroy(symm);
    ctune_region *odd = parse_ok(te_sample_odd());
    int64_t small[2] = {9, 20};
    assert_int_equal(ctune_tensor_shape(odd, 0, small, extents), 5 * 20);
    ctune_region_destroy(odd);
    /* an axis that stands in a condition by itself and below a division: j % 3 == 1 */
    ctune_region *third = parse_ok("te 1\nregion r\nparam n i32\naxis j i32\ndiv @0 = (j) / 3\n"
                                   "tensor a f64 [?] write\nstage S0: a[j] = (f64) 1\norder {\n"
                                   "for j: j >= 0, -j + n - 1 >= 0 {\n"
                                   "if: j - 3*@0 - 1 >= 0, -j + 3*@0 + 1 >= 0 {\nS0\n}\n}\n}\n");
    int64_t nine[1] = {9};
    assert_true(ctune_tensor_shape(third, 0, nine, extents) >= 8);
    ctune_region_destroy(third);
}

/* The value of x after `stage` over scalars a to d and x, with products fused. */
static double eval_fused(const char *stage, double a, double b, double c, double d) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_printf(&text,
                      "te 1\ntensor a f64 scalar\ntensor b f64 scalar\ntensor c f64 scalar\n"
                      "tensor d f64 scalar\ntensor x f64 scalar\nstage S: %s\norder {\nS\n}\n",
                      stage);
    ctune_region *region = parse_ok(ctune_text_get(&text));
    double x = d;
    void *tensors[] = {&a, &b, &c, &d, &x};
    size_t bytes[] = {8, 8, 8, 8, 8};
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    assert_int_equal(ctune_te_eval(&ctx, region, CTUNE_PRODUCTS_FUSED, NULL, tensors, bytes),
                     CTUNE_OK);
    ctune_region_destroy(region);
    ctune_text_clear(&text);
    return x;
}

/* Which products are fused, and with which signs: all cases differ from the rounded ones. */
static void test_fused(void **state) {
    (void)state;
    double a = 1 + 0x1p-30, b = 1 - 0x1p-31, c = -1 + 0x1p-33, d = 1 + 0x1p-35;
    volatile double ab = a * b, cd = c * d, cast = (double)((float)a * (float)b);
    assert_true(fma(a, b, c) != ab + c);
    assert_true(eval_fused("x = a * b + c", a, b, c, d) == fma(a, b, c));
    assert_true(eval_fused("x = c + a * b", a, b, c, d) == fma(a, b, c));
    assert_true(eval_fused("x = a * b - c", a, b, c, d) == fma(a, b, -c));
    assert_true(eval_fused("x = c - a * b", a, b, c, d) == fma(-a, b, c));
    assert_true(eval_fused("x = -(a * b) + c", a, b, c, d) == fma(-a, b, c));
    assert_true(eval_fused("x = -(a * b) - c", a, b, c, d) == fma(-a, b, -c));
    assert_true(eval_fused("x = c - -(a * b)", a, b, c, d) == fma(a, b, c));
    /* the left one of two; negated twice it is no product */
    assert_true(eval_fused("x = a * b + c * d", a, b, c, d) == fma(a, b, cd));
    assert_true(eval_fused("x = a * b - c * d", a, b, c, d) == fma(a, b, -cd));
    assert_true(eval_fused("x = - -(a * b) + c", a, b, c, d) == ab + c);
    /* nested: (a*b + c) is no product, a*b within it fuses; the product of a sum fuses */
    assert_true(eval_fused("x = c * d + (a * b + c)", a, b, c, d) == fma(c, d, fma(a, b, c)));
    assert_true(eval_fused("x = (a * b + c) * d + a", a, b, c, d) == fma(fma(a, b, c), d, a));
    /* updates: x starts as d */
    assert_true(eval_fused("x += a * b", a, b, c, d) == fma(a, b, d));
    assert_true(eval_fused("x -= a * b", a, b, c, d) == fma(-a, b, d));
    assert_true(eval_fused("x -= -(a * b)", a, b, c, d) == fma(a, b, d));
    assert_true(eval_fused("x *= a * b", a, b, c, d) == d * ab);
    assert_true(eval_fused("x += a * b + c", a, b, c, d) == d + fma(a, b, c));
    /* a conversion between product and sum */
    assert_true(eval_fused("x += (f64) ((f32) a * (f32) b)", a, b, c, d) == d + cast);
    assert_true(eval_fused("x = c + (f64) ((f32) a * (f32) b)", a, b, c, d) == c + cast);
}

enum { N = 7 };

static void test_gemm(void **state) {
    (void)state;
    float A[N][N], B[N][N], C[N][N], D[N][N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            A[i][j] = (float)(i * 3 + j) / 7;
            B[i][j] = (float)(i - 2 * j) / 3;
            C[i][j] = D[i][j] = (float)(i + j);
        }
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < N; k++) {
                volatile float product = A[i][k] * B[k][j];
                D[i][j] += product;
            }
        }
    }
    ctune_region *region = parse_ok(te_sample_gemm());
    int64_t n = N;
    void *tensors[] = {A, B, C};
    size_t bytes[] = {sizeof A, sizeof B, sizeof C};
    eval_ok(region, &n, tensors, bytes);
    assert_memory_equal(C, D, sizeof C);
    bytes[2]--;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    assert_int_equal(ctune_te_eval(&ctx, region, CTUNE_PRODUCTS_ROUNDED, &n, tensors, bytes),
                     CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "out of bounds of C"));
    ctune_region_destroy(region);
}

static void test_triangular(void **state) {
    (void)state;
    enum { M = 5 };
    double A[N][M], C[N][N], D[N][N], alpha = 2, beta = 3;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            C[i][j] = D[i][j] = i - 2 * j;
        }
        for (int k = 0; k < M; k++) {
            A[i][k] = i * k - 3;
        }
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            D[i][j] *= beta;
        }
        for (int k = 0; k < M; k++) {
            for (int j = 0; j <= i; j++) {
                D[i][j] += alpha * A[i][k] * A[j][k];
            }
        }
    }
    ctune_region *region = parse_ok(te_sample_syrk());
    int64_t params[] = {N, M};
    void *tensors[] = {&alpha, &beta, A, C};
    size_t bytes[] = {8, 8, sizeof A, sizeof C};
    eval_ok(region, params, tensors, bytes);
    assert_memory_equal(C, D, sizeof C);
    ctune_region_destroy(region);
}

static void test_temp(void **state) {
    (void)state;
    enum { M = 4 };
    double A[M][M], B[M][N], C[M][N], D[M][N], alpha = 2, beta = 3;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            C[i][j] = D[i][j] = i - 2 * j;
            B[i][j] = 3 * i + j;
        }
        for (int k = 0; k < M; k++) {
            A[i][k] = i * k - 3;
        }
    }
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double temp2 = 0;
            for (int k = 0; k < i; k++) {
                D[k][j] += alpha * B[i][j] * A[i][k];
                temp2 += B[k][j] * A[i][k];
            }
            D[i][j] = beta * D[i][j] + alpha * B[i][j] * A[i][i] + alpha * temp2;
        }
    }
    ctune_region *region = parse_ok(te_sample_symm());
    int64_t params[] = {M, N};
    void *tensors[] = {&alpha, &beta, A, B, C, NULL};
    size_t bytes[] = {8, 8, sizeof A, sizeof B, sizeof C, 0};
    eval_ok(region, params, tensors, bytes);
    assert_memory_equal(C, D, sizeof C);
    ctune_region_destroy(region);
}

static void test_time_loop(void **state) {
    (void)state;
    double A[N][N], B[N][N], A2[N][N], B2[N][N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            A[i][j] = A2[i][j] = i * 5 + j * j;
            B[i][j] = B2[i][j] = i - j;
        }
    }
    for (int t = 0; t < 3; t++) {
        for (int half = 0; half < 2; half++) {
            double(*in)[N] = half ? B2 : A2, (*out)[N] = half ? A2 : B2;
            for (int i = 1; i < N - 1; i++) {
                for (int j = 1; j < N - 1; j++) {
                    out[i][j] = 0.2 * (in[i][j] + in[i][j - 1] + in[i][j + 1] + in[i + 1][j] +
                                       in[i - 1][j]);
                }
            }
        }
    }
    ctune_region *region = parse_ok(te_sample_jacobi2d());
    int64_t params[] = {3, N};
    void *tensors[] = {A, B};
    size_t bytes[] = {sizeof A, sizeof B};
    eval_ok(region, params, tensors, bytes);
    assert_memory_equal(A, A2, sizeof A);
    assert_memory_equal(B, B2, sizeof B);
    ctune_region_destroy(region);
}

static void test_integers(void **state) {
    (void)state;
    int8_t i8 = 100;
    eval_scalar("tensor x i8\n", "x += 100 ; calc i32", &i8, 1);
    assert_int_equal(i8, (int8_t)200);
    uint8_t u8 = 3;
    eval_scalar("tensor x u8\n", "x -= 5 ; calc i32", &u8, 1);
    assert_int_equal(u8, 254);
    int32_t i32 = INT32_MAX;
    eval_scalar("tensor x i32\n", "x += 1", &i32, 4);
    assert_int_equal(i32, INT32_MIN);
    uint32_t u32 = 1;
    eval_scalar("tensor x u32\n", "x -= 2u", &u32, 4);
    assert_true(u32 == UINT32_MAX);
    eval_scalar("tensor x i32\n", "x = -7 / 2 * 10 + -7 % 2", &i32, 4);
    assert_int_equal(i32, -31);
    eval_scalar("tensor x i32\n", "x = i32(-8) >> 1 | 1 << 4", &i32, 4);
    assert_int_equal(i32, -8 >> 1 | 1 << 4);
    eval_scalar("tensor x u32\n", "x = u32(-8) >> 1", &u32, 4);
    assert_true(u32 == ((uint32_t)-8) >> 1);
    eval_scalar("tensor x i32\n", "x = (u64) 1 < u64(-1)", &i32, 4);
    assert_int_equal(i32, 1);
    eval_scalar("tensor x i32\n", "x = 0 && 1 / 0 || !0", &i32, 4);
    assert_int_equal(i32, 1);
    eval_scalar("tensor x i32\n", "x = select(1 < 2, abs(-5), 1 / 0) + min(4, 3) * max(4, 3)", &i32,
                4);
    assert_int_equal(i32, 17);
    bool b = false;
    eval_scalar("tensor x bool\n", "x = (bool) 0.5", &b, 1);
    assert_true(b);
}

static void test_floats(void **state) {
    (void)state;
    float f = 0;
    eval_scalar("tensor x f32\n", "x = 16777216.0f + 1.0f + 1.0f", &f, 4);
    assert_true(f == 16777216.0f);
    double d = 0;
    eval_scalar("tensor x f64\n", "x = 16777216.0 + 1.0 + (f64) (f32) 0.1", &d, 8);
    assert_true(d == 16777217.0 + (double)0.1f);
    long double l = 0;
    eval_scalar("tensor x f80\n", "x = f80(0x1p+0 \"1.0L\") / f80(0x1.8p+1 \"3.0L\")", &l, 16);
    assert_true(l == 1.0L / 3.0L);
    eval_scalar("tensor x f80\n", "x = f80(0x1.999999999999ap-4 \"0.1L\")", &l, 16);
    assert_true(l == 0.1L);
    _Float16 h = 0;
    eval_scalar("tensor x f16\n", "x = (f16) 2048.0 + (f16) 1.0 + (f16) 1.0", &h, 2);
    assert_true(h == 2048);
    eval_scalar("tensor x f32\n", "x = sqrtf(2.0f) + fmaxf(-1.0f, powf(2.0f, 3.0f))", &f, 4);
    assert_true(f == sqrtf(2.0f) + 8.0f);
    eval_scalar("tensor x f64\n", "x = exp(fabs(-1.5)) * floor(-0.5)", &d, 8);
    assert_true(d == -exp(1.5));
    f = 2;
    eval_scalar("tensor x f32\n", "x above= f32(nan)", &f, 4); /* nan > x ? nan : x */
    assert_true(f == 2);
    eval_scalar("tensor x f32\n", "x below= f32(1)", &f, 4);
    assert_true(f == 1);
    eval_scalar("tensor x f32\n", "x min= f32(nan)", &f, 4); /* x < nan ? x : nan */
    assert_true(f != f);
    f = 1;
    eval_scalar("tensor x f32\n", "x *= 0.1 ; calc f64", &f, 4);
    assert_true(f == (float)(1.0 * 0.1));
    f = 1;
    eval_scalar("tensor x f32\n", "x = 5.0f ; when x > 1.0f", &f, 4);
    assert_true(f == 1);
}

static void test_divs(void **state) {
    (void)state;
    int32_t x[6] = {0};
    ctune_region *region = parse_ok("te 1\nparam n i32\naxis i i32\ndiv @0 = (i - 1) / 2\n"
                                    "tensor x i32 [n]\nstage S: x[i] = i32{10*@0 + i}\n"
                                    "order {\nfor i: 0 <= i < n, @0 <= 1 {\nS\n}\n}\n");
    int64_t n = 6;
    void *tensor = x;
    size_t bytes = sizeof x;
    eval_ok(region, &n, &tensor, &bytes);
    const int32_t expected[6] = {-10, 1, 2, 13, 14, 0};
    assert_memory_equal(x, expected, sizeof x);
    ctune_region_destroy(region);
}

static void test_unset_temp(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = parse_ok("te 1\ntensor x f32\ntensor t f32 temp\nstage S: x = t\n"
                                    "order {\nS\n}\n");
    float x = 0;
    void *tensors[] = {&x, NULL};
    size_t bytes[] = {4, 0};
    assert_int_equal(ctune_te_eval(&ctx, region, CTUNE_PRODUCTS_ROUNDED, NULL, tensors, bytes),
                     CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "read before it is written: t"));
    ctune_region_destroy(region);
}

/* A node shared between two places gets two read ordinals. */
static void test_shared_reads(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = parse_ok("te 1\ntensor x f32\nstage S: x = x + x\norder {\nS\n}\n");
    ctune_expr *sum = (ctune_expr *)(uintptr_t)region->stages[0].rhs;
    ((const ctune_expr **)(uintptr_t)sum->kids)[1] = sum->kids[0];
    assert_int_equal(ctune_region_finish(&ctx, region), CTUNE_OK);
    assert_int_equal(ctune_te_verify(&ctx, region), CTUNE_OK);
    assert_int_equal(region->stages[0].n_reads, 2);
    assert_ptr_not_equal(region->stages[0].reads[0], region->stages[0].reads[1]);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aff),        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_fused),      cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_triangular), cmocka_unit_test(test_temp),
        cmocka_unit_test(test_time_loop),  cmocka_unit_test(test_integers),
        cmocka_unit_test(test_floats),     cmocka_unit_test(test_divs),
        cmocka_unit_test(test_unset_temp), cmocka_unit_test(test_shared_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

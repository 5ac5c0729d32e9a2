/* The interpreter of programs: against C, and what it finds. */
#include "loops_samples.h"

#include <math.h>

enum { N = 21, M = 13, MAX_TENSORS = 16 };

typedef struct bench {
    ctune_region *region;
    int64_t params[2];
    void *tensors[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
    float alpha, A[N][M], B[M][N], C[N][N], L[N][M];
    double D[N];
    struct {
        double x, y, z;
    } E[N];
    int K[N];
    _Float16 H[N];
    unsigned char Z[N];
} bench;

static void bench_init(bench *b) {
    memset(b, 0, sizeof *b);
    b->region = loops_region();
    b->params[0] = N;
    b->params[1] = M;
    b->alpha = 1.25f;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < M; k++) {
            b->A[i][k] = (float)(i * 7 + k * 3) / 11;
            b->B[k][i] = (float)(i - 2 * k) / 7;
            b->L[i][k] = (float)(i + 100 * k);
        }
        for (int j = 0; j < N; j++) {
            b->C[i][j] = (float)(i - j) / 3;
        }
        b->D[i] = i / 3.0;
        b->E[i].x = i / 5.0;
        b->K[i] = i * 5 - 30;
        b->H[i] = (_Float16)i;
    }
    void *memory[] = {&b->alpha, b->A, b->B, b->C, b->D, b->E, b->K, b->L, NULL, NULL, b->H, b->Z};
    size_t bytes[] = {sizeof b->alpha, sizeof b->A, sizeof b->B, sizeof b->C, sizeof b->D,
                      sizeof b->E,     sizeof b->K, sizeof b->L, 0,           0,
                      sizeof b->H,     sizeof b->Z};
    memcpy(b->tensors, memory, sizeof memory);
    memcpy(b->bytes, bytes, sizeof bytes);
}

/* Verifies and runs; the interpreter's words when they are expected. */
static void run(bench *b, const char *text, uint64_t seed, const char *words) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_loops *l = loops_parsed(b->region, text);
    if (ctune_loops_verify(&ctx, l) != CTUNE_OK) {
        print_error("%s\n%s", ctx.error, text);
        fail();
    }
    ctune_status status = ctune_loops_eval_order(&ctx, l, b->params, b->tensors, b->bytes, seed);
    if ((status != CTUNE_OK) != (words != NULL) ||
        (words != NULL && strstr(ctx.error, words) == NULL)) {
        print_error("%s instead of %s\n%s", status != CTUNE_OK ? ctx.error : "success",
                    words != NULL ? words : "success", text);
        fail();
    }
    ctune_loops_destroy(l);
}

static void gemm(const bench *b, float C[N][N]) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < M; k++) {
                C[i][j] = fmaf(b->A[i][k], b->B[k][j], C[i][j]);
            }
        }
    }
}

/* The scalar program and the tiled one of the samples, in order and in others. */
static void test_gemm(void **state) {
    (void)state;
    for (int which = 1; which <= 2; which++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            bench b;
            bench_init(&b);
            float want[N][N];
            memcpy(want, b.C, sizeof want);
            gemm(&b, want);
            run(&b, loops_programs()[which], seed, NULL);
            assert_memory_equal(want, b.C, sizeof want);
            ctune_region_destroy(b.region);
        }
    }
}

static void test_masks(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    b.C[0][3] = NAN;
    float want[N];
    double doubles[N];
    memcpy(want, b.C[0], sizeof want);
    memcpy(doubles, b.D, sizeof doubles);
    for (int i = 0; i < N - 7; i += 8) {
        for (int k = i; k < i + 8; k++) {
            float x = b.C[0][k];
            want[k] = x < b.alpha && !(x != x) ? x : -x;
            doubles[k] = x > 0 ? x : 0;
        }
    }
    run(&b, loops_programs()[3], 0, NULL);
    assert_true(isnan(b.C[0][3]));
    b.C[0][3] = want[3] = 0;
    assert_memory_equal(want, b.C[0], sizeof want);
    assert_memory_equal(doubles, b.D, sizeof doubles);
    ctune_region_destroy(b.region);
}

static int wrapped(int64_t v) {
    return (int)(int32_t)v;
}

static void test_integers(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    b.K[2] = INT32_MAX;
    int K[N];
    unsigned char Z[N] = {0};
    memcpy(K, b.K, sizeof K);
    for (int i = 0; i < N; i++) {
        K[i] = wrapped((int64_t)K[i] + wrapped((2 * i - N) * 3LL) -
                       ((wrapped((int64_t)K[i] * 4)) ^ (~K[i] & 7)));
        if (i >= 1 && N - i - 2 >= 0 &&
            ((K[i] > 0 && !(K[i] % 3 == 1)) || K[i] < wrapped(-(int64_t)K[0]))) {
            K[i] = K[i] >= 10 ? 10 : K[i] / 2;
        } else {
            Z[i] = (unsigned char)K[i];
        }
    }
    run(&b, loops_programs()[4], 0, NULL);
    assert_memory_equal(K, b.K, sizeof K);
    assert_memory_equal(Z, b.Z, sizeof Z);
    ctune_region_destroy(b.region);
}

static int64_t floor_div(int64_t a, int64_t den) {
    return a / den - (a % den != 0 && a < 0);
}

static void test_forms(void **state) {
    (void)state;
    for (int64_t n = 1; n < N; n += 3) {
        bench b;
        bench_init(&b);
        int64_t m = M, least = n + 2 < 2 * m ? n + 2 : 2 * m;
        int64_t a = 3 * m * n + least - floor_div(n + 3, 4) * least + 7;
        int64_t c = floor_div(a < m ? a : m, 3);
        b.params[0] = n;
        run(&b, loops_programs()[5], 0, NULL);
        assert_int_equal(b.K[0], (int)(a * (a > c ? a : c) - m * n * n));
        ctune_region_destroy(b.region);
    }
}

static void test_shapes(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        bench b;
        bench_init(&b);
        run(&b, loops_programs()[6], seed, NULL);
        assert_true(b.C[0][0] == 1.5f + sqrtf(2.5f));
        assert_true(b.D[0] == 0.5 / 3.75);
        run(&b, loops_programs()[8], seed, NULL);
        assert_true(isinf(b.D[0]) && b.D[0] > 0);
        assert_int_equal(b.K[0], INT32_MAX - 6); /* wraps */
        assert_true(b.H[0] == (_Float16)0.1L);
        ctune_region_destroy(b.region);
    }
}

static void test_strides(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    b.E[3].y = 7;
    run(&b,
        "for i.0 from 0 below n {\n"
        "    store E[i.0] = E[i.0] + D[i.0]\n"
        "}\n",
        0, NULL);
    assert_true(b.E[3].x == 3 / 5.0 + 3 / 3.0 && b.E[3].y == 7);
    run(&b, loops_programs()[7], 0, NULL);
    assert_true(b.L[9][M - 1] == 9 && b.L[16][M - 1] == 16 + 100 * (M - 1));
    ctune_region_destroy(b.region);
}

/* fma rounds once, a product and its sum twice; scalars and lanes alike. */
static void test_rounding(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    volatile float x = 1.0f + 0x1p-12f, product;
    b.C[0][0] = x;
    run(&b,
        "store C[1][0] = fma(C[0][0], C[0][0], f32(-0x1p+0))\n"
        "store C[1][1] = C[0][0] * C[0][0] - f32(0x1p+0)\n"
        "def v.0 f32x2 = splat(C[0][0], 2)\n"
        "store C[1][2:2] = fma(v.0, v.0, splat(f32(-0x1p+0), 2))\n"
        "store C[1][4:2] = v.0 * v.0 - splat(f32(0x1p+0), 2)\n",
        0, NULL);
    product = x * x;
    assert_true(b.C[1][0] == fmaf(x, x, -1) && b.C[1][1] == product - 1);
    assert_true(b.C[1][0] != b.C[1][1]);
    assert_true(b.C[1][3] == b.C[1][0] && b.C[1][5] == b.C[1][1]);
    /* f16: 1 + 3 * 2^-11 - 2^-25 lies below the middle of two f16; rounded to float first it would
     * be the middle, and go up to the even one */
    b.H[0] = (_Float16)(0x1p-6f + 0x1p-13f);
    b.H[1] = (_Float16)(0x1p-5f - 0x1p-12f);
    b.H[2] = (_Float16)(1 + 0x1p-10f);
    run(&b, "store H[3] = fma(H[0], H[1], H[2])\n", 0, NULL);
    assert_true(b.H[3] == b.H[2]);
    ctune_region_destroy(b.region);
}

static void test_laziness(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    run(&b,
        "store K[0] = select(K[1] < 0, 5, K[n])\n"
        "store K[1] = K[2] < 0 || K[n] > 0\n"
        "store K[2] = K[3] > 0 && K[n] > 0\n",
        0, NULL);
    assert_int_equal(b.K[0], 5);
    assert_int_equal(b.K[1], 1);
    assert_int_equal(b.K[2], 0);
    ctune_region_destroy(b.region);
}

static void test_findings(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
        uint64_t seed;
    } rows[] = {
        {"store C[n][0] = alpha\n", "C[21][0] is out of bounds of C", 0},
        {"store C[0][-1] = alpha\n", "out of bounds of C", 0},
        {"store C[20][8:16] = splat(alpha, 16)\n", "C[20][8] and its lanes is out of bounds", 0},
        {"store K[0] = K[n]\n", "out of bounds of K", 0},
        {"decl b.b0[4][4] f32 block\nstore b.b0[0][4] = alpha\n", "b[0][4] is out of bounds", 0},
        {"decl b.b0[4][4] f32 block\nstore b.b0[0][2:4] = splat(alpha, 4)\n", "out of bounds", 0},
        {"decl b.b0[n - 30] f32 program\nstore b.b0[0] = alpha\n", "out of bounds of b", 0},
        {"decl b.b0[4] f32 register\nstore b.b0[1] = alpha\nstore C[0][0] = b.b0[0]\n",
         "read before it is written: b", 0},
        {"decl b.b0[4] f32 block\nstore b.b0[1] = alpha\nstore C[0][0:4] = b.b0[0:4]\n",
         "read before it is written: b", 0},
        {"def x.0 f32 mutable\nstore C[0][0] = x.0\n", "read before it is written: x", 0},
        /* a block's memory ends with it: the second iteration sees none of the first */
        {"for i.0 from 0 below 2 {\n    decl b.b0[1] f32 block\n    if -i.0 >= 0 {\n"
         "        store b.b0[0] = alpha\n    }\n    store C[0][0] = b.b0[0]\n}\n",
         "read before it is written: b", 0},
        {"for i.0 from 0 below 2 {\n    def x.1 i32 mutable\n    if -i.0 >= 0 {\n"
         "        set x.1 = 1\n    }\n    store K[0] = x.1\n}\n",
         "read before it is written: x", 0},
        {"store K[0] = 1 / (K[0] - K[0])\n", "division by zero", 0},
        {"let a.0 = 9223372036854775807*n\n", "does not fit 64 bits", 0},
        {"let a.0 = n*n*n*n*n*n*n*n*n*n*n*n*n*n*n*n\n", "does not fit 64 bits", 0},
        {"store C[0][0:4] = select(K[0:4], splat(alpha, 4), splat(0.5f, 4))\n",
         "mask is neither 0 nor -1", 0},
        {"decl b.b0[1000000*n][1000000*n] f32 program\n", "too large a buffer: b", 0},
        /* independent iterations that meet, with a seed only */
        {"for i.0 from 1 below n parallel {\n    store K[i.0] = K[i.0 - 1]\n}\n",
         "independent meet in K", 1},
        {"for i.0 from 1 below n simd {\n    store K[0] = i32{i.0}\n}\n", "independent meet in K",
         2},
        {"for i.0 from 0 below 8 vector {\n    store K[i.0] = K[7 - i.0]\n}\n",
         "independent meet in K", 3},
        {"decl b.b0[1] i32 block\nfor i.0 from 0 below n parallel {\n"
         "    store b.b0[0] = i32{i.0}\n    store K[i.0] = b.b0[0]\n}\n",
         "independent meet in b", 4},
        {"for i.0 from 0 below n parallel collapse 2 {\n    for j.1 from 0 below n {\n"
         "        store K[i.0] = i32{j.1}\n    }\n}\n",
         "independent meet in K", 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b;
        bench_init(&b);
        run(&b, rows[i].text, rows[i].seed, rows[i].words);
        ctune_region_destroy(b.region);
    }
}

/* What may share: read by all, written by each its own, twice by one, one loop after the other. */
static void test_independent(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        bench b;
        bench_init(&b);
        run(&b,
            "for i.0 from 0 below n parallel {\n"
            "    decl b.b0[2] i32 thread\n"
            "    store b.b0[0] = K[i.0] + K[i.0]\n"
            "    store K[i.0] = b.b0[0]\n"
            "    store K[i.0] = K[i.0] + i32{i.0 + n}\n"
            "    store D[i.0] = (f64) alpha\n"
            "}\n"
            "for i.1 from 0 below n simd {\n"
            "    store D[n - i.1 - 1] = (f64) K[i.1] + (f64) K[0]\n"
            "}\n"
            "for i.2 from 0 below n {\n"
            "    for j.3 from 0 below 4 vector {\n"
            "        store Z[j.3] = (u8) (K[0] + i32{i.2})\n"
            "    }\n"
            "}\n",
            seed, NULL);
        for (int i = 0; i < N; i++) {
            int K0 = -60 + N, K = 2 * (i * 5 - 30) + i + N;
            assert_int_equal(b.K[i], K);
            assert_true(b.D[N - 1 - i] == K + K0);
        }
        ctune_region_destroy(b.region);
    }
}

/* The order of iterations is another one, and the same for the same seed. */
static void test_orders(void **state) {
    (void)state;
    int n_different = 0;
    for (uint64_t seed = 1; seed < 9; seed++) {
        float C[2][N];
        for (int k = 0; k < 2; k++) {
            bench b;
            bench_init(&b);
            memset(b.C, 0, sizeof b.C);
            /* inside a parallel loop of one iteration nobody watches who meets */
            run(&b,
                "for p.0 from 0 below 1 parallel {\n"
                "    for i.1 from 0 below n simd {\n"
                "        store C[0][0] = C[0][0] + f32{1}\n"
                "        store C[1][i.1] = C[0][0]\n"
                "    }\n"
                "}\n",
                seed, NULL);
            memcpy(C[k], b.C[1], sizeof C[k]);
            ctune_region_destroy(b.region);
        }
        assert_memory_equal(C[0], C[1], sizeof C[0]);
        bool is_order = true;
        for (int i = 0; i < N; i++) {
            is_order &= C[0][i] == (float)(i + 1);
        }
        n_different += !is_order;
    }
    assert_true(n_different >= 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),     cmocka_unit_test(test_masks),
        cmocka_unit_test(test_integers), cmocka_unit_test(test_forms),
        cmocka_unit_test(test_shapes),   cmocka_unit_test(test_strides),
        cmocka_unit_test(test_rounding), cmocka_unit_test(test_laziness),
        cmocka_unit_test(test_findings), cmocka_unit_test(test_independent),
        cmocka_unit_test(test_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

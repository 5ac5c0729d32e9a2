/* The analytic estimate: orders that everyone agrees on, plausible magnitudes, and its speed. */
#include "engine_fixture.h"

static double estimate(fixture *f, const char *schedule_text) {
    ctune_schedule schedule;
    ctune_nest nest;
    ctune_schedule_init(&schedule);
    assert_int_equal(ctune_schedule_parse(&f->ctx, schedule_text, &schedule), CTUNE_OK);
    ctune_status status = ctune_schedule_apply(&f->ctx, f->program, &schedule, &nest);
    if (status != CTUNE_OK) {
        print_error("%s\n", f->ctx.error);
    }
    assert_int_equal(status, CTUNE_OK);
    ctune_schedule_clear(&schedule);
    double ns = ctune_estimate(&nest, &f->target);
    assert_true(ns > 0 && isfinite(ns));
    return ns;
}

static const char tile[] = "split i 8 -> i0 i1; split j 32 -> j0 j1; reorder i0 j0 k i1 j1;";
static const char blocked[] =
    "split k 256 -> k0 k1; split j 32 -> j0 j1; split i 8 -> i0 i1;"
    "reorder k0 j0 i0 k1 i1 j1; unroll i1; vectorize j1; cache_write S0 at i0 register;";

static void test_gemm(void **state) {
    (void)state;
    fixture f;
    char text[1024];
    fixture_init(&f, te_sample_gemm());
    double source = estimate(&f, "");
    double interchanged = estimate(&f, "reorder i k j");
    double bad_order = estimate(&f, "reorder j k i");
    snprintf(text, sizeof text, "%s unroll i1; vectorize j1", tile);
    double tiled = estimate(&f, text);
    snprintf(text, sizeof text, "%s unroll i1; vectorize j1; cache_write S0 at j0 register", tile);
    double registers = estimate(&f, text);
    double peak_ns = 2.0 * 1024 * 1024 * 1024 / (3.0 * 2 * 16 * 2);
    assert_true(source > 10 * interchanged);
    assert_true(bad_order > 5 * interchanged);
    assert_true(interchanged > 1.5 * registers);
    assert_true(tiled > 1.5 * registers);
    assert_true(registers > peak_ns);
    assert_true(estimate(&f, blocked) < 1.6 * peak_ns);
    fixture_clear(&f);
}

/* Two passes over 64 MiB: placed in rows the temporary stays near; placed in small tiles much is
 * computed twice. */
static void test_placement(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, "te 1\nregion r\nparam n i32 sizes 4096\naxis y i32\naxis x i32\naxis v i32\n"
                     "axis u i32\ntensor A f32 [n + 2][n]\ntensor B f32 [n][n]\n"
                     "tensor t f32 [n + 2][n] temp\nstage S0: t[y][x] = A[y][x] * A[y][x]\n"
                     "stage S1: B[v][u] = t[v][u] + t[v + 1][u] + t[v + 2][u]\norder {\n"
                     " for y: 0 <= y < n + 2 {\n  for x: 0 <= x < n {\n   S0\n  }\n }\n"
                     " for v: 0 <= v < n {\n  for u: 0 <= u < n {\n   S1\n  }\n }\n}\n");
    double apart = estimate(&f, "");
    double rows = estimate(&f, "split v 32 -> vt v; compute S0 at vt");
    double tiles = estimate(&f, "split v 2 -> vt v; split u 512 -> ut u; reorder vt ut v u; "
                                "compute S0 at ut");
    double row = estimate(&f, "compute S0 at v");
    assert_true(apart > 1.2 * rows);
    assert_true(tiles > 1.1 * rows);
    assert_true(row > 1.1 * rows);
    fixture_clear(&f);
}

/* The parts of an element tile by tile: no sweep over a temporary. */
static void test_parts(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f,
                 "te 1\nregion r\nparam n i32 sizes 4096\naxis y i32\naxis x i32\naxis k i32\n"
                 "tensor A f32 [n][4]\ntensor B f32 [4][n]\ntensor C f32 [n][n]\n"
                 "tensor t f32 [n][n] temp\nstage S0: t[y][x] = 0.0f\n"
                 "stage S1: t[y][x] += A[y][k] * B[k][x]\nstage S2: C[y][x] = t[y][x]\norder {\n"
                 " for y: 0 <= y < n {\n  for x: 0 <= x < n {\n   S0\n   for k: 0 <= k < 4 {\n"
                 "    S1\n   }\n   S2\n  }\n }\n}\n");
    double apart = estimate(&f, "distribute; split x 16 -> x0 x1; vectorize x1; "
                                "split x_2 16 -> x_2_0 x_2_1; reorder x_2_0 k x_2_1; "
                                "vectorize x_2_1; cache_write S1 at x_2_0 register; "
                                "split x_3 16 -> x_3_0 x_3_1; vectorize x_3_1");
    double tiles = estimate(&f, "split x 16 -> x0 x1; fission x1; reorder k x1_2; vectorize x1; "
                                "vectorize x1_2; vectorize x1_3; cache_write S1 at x0 register");
    assert_true(apart > 1.2 * tiles);
    fixture_clear(&f);
}

/* Time tiles that fit a cache save traffic; larger and leaner ones save more, too large ones less.
 */
static void test_time_tiles(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_jacobi2d());
    double source = estimate(&f, "");
    double small = estimate(&f, "split t 2 -> tt t; tile 2*t + i + i_2 + S1 by 4 -> it at t");
    double right = estimate(&f, "split t 16 -> tt t; tile 2*t + i + i_2 + S1 by 16 -> it at t");
    double large = estimate(&f, "split t 16 -> tt t; tile 2*t + i + i_2 + S1 by 600 -> it at t");
    assert_true(source > 2 * right);
    assert_true(small > 1.2 * right);
    assert_true(large > 1.5 * right);
    fixture_clear(&f);
}

/* In place: each point waits for the one before it, unless others stand between them. */
static void test_recurrence(void **state) {
    static const char te[] =
        "te 1\nregion r\nparam n i32 sizes 2000\naxis i i32\naxis j i32\ntensor A f64 [n][n]\n"
        "stage S0: A[i][j] = (A[i - 1][j] + A[i][j - 1]) / 3.0\n"
        "order {\n for i: 1 <= i < n {\n  for j: 1 <= j < n {\n   S0\n  }\n }\n}\n";
    (void)state;
    fixture f;
    fixture_init(&f, te);
    double source = estimate(&f, "");
    double wave = estimate(&f, "split i 32 -> iv i; wave i + j -> w");
    double narrow = estimate(&f, "split i 2 -> iv i; wave i + j -> w");
    double across = estimate(&f, "split i 32 -> i0 i1; reorder i0 j i1");
    assert_true(source > 2 * wave);
    assert_true(narrow > 1.3 * wave);
    assert_true(across > 0.8 * source); /* i1 carries, too */
    fixture_clear(&f);
}

/* A value that the next iteration of another statement takes is no recurrence unless it comes back.
 */
static void test_chain_of_two(void **state) {
    static const char head[] =
        "te 1\nregion r\nparam n i32 sizes 4000000\naxis i i32\n"
        "tensor A f64 [n]\ntensor B f64 [n]\nstage S0: A[i] = (B[i - 1] + 1.0) / 3.0\n";
    static const char loop[] = "order {\n for i: 1 <= i < n {\n  S0\n  S1\n }\n}\n";
    double ns[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        fixture f;
        char te[1024];
        snprintf(te, sizeof te, "%sstage S1: B[i] = A[i] * 2.0\n%s", head, loop);
        if (k == 1) { /* S1 reads what no S0 wrote */
            snprintf(te, sizeof te,
                     "te 1\nregion r\nparam n i32 sizes 4000000\naxis i i32\ntensor A f64 [n]\n"
                     "tensor B f64 [n]\ntensor D f64 [n]\n"
                     "stage S0: A[i] = (B[i - 1] + 1.0) / 3.0\nstage S1: B[i] = D[i] * 2.0\n%s",
                     loop);
        }
        fixture_init(&f, te);
        ns[k] = estimate(&f, "");
        fixture_clear(&f);
    }
    assert_true(ns[0] > 1.3 * ns[1]);
}

/* Where the order of a sum is free its lanes hold partial sums: rows of a matrix are read as they
 * lie. Something between the lanes and their tiles costs a join each time. */
static void test_free_sums(void **state) {
    static const char te[] =
        "te 1\nregion r\noption reassoc\nparam n i32 sizes 2000\naxis i i32\naxis j i32\n"
        "tensor A f32 [n][n]\ntensor x f32 [n]\ntensor y f32 [n]\n"
        "stage S0: y[i] += A[i][j] * x[j]\n"
        "order {\n for i: 0 <= i < n {\n  for j: 0 <= j < n {\n   S0\n  }\n }\n}\n";
    (void)state;
    fixture f;
    fixture_init(&f, te);
    double rows =
        estimate(&f, "split i 96 -> i0 i1; reorder i0 j i1; cache_write S0 at i0 register;"
                     "vectorize i1");
    double sums = estimate(&f, "split j 64 -> j0 j1; vectorize j1");
    double joined = estimate(&f, "split j 64 -> j0 j1; reorder j0 i j1; vectorize j1");
    assert_true(rows > 1.5 * sums);
    assert_true(joined > 1.2 * sums);
    assert_true(estimate(&f, "") > 3 * joined);
    fixture_clear(&f);
}

/* Steps of the reduction inside the tile save loop control, no more: no accumulators, no rest of a
 * tile. */
static void test_steps(void **state) {
    (void)state;
    fixture f;
    double ns[3];
    static const int steps[3] = {4, 8, 7};
    fixture_init(&f, te_sample_gemm());
    double plain = estimate(&f, blocked);
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "split k 256 -> k0 k1; split k1 %d -> k1 k2; split j 32 -> j0 j1;"
                 "split i 8 -> i0 i1; reorder k0 j0 i0 k1 k2 i1 j1; unroll k2; unroll i1;"
                 "vectorize j1; cache_write S0 at i0 register",
                 steps[i]);
        ns[i] = estimate(&f, text);
        assert_true(ns[i] < 1.05 * plain && ns[i] > 0.85 * plain);
    }
    assert_true(ns[0] != ns[1]);
    fixture_clear(&f);
}

/* Too few accumulators wait for each other, too many spill. */
static void test_register_tile(void **state) {
    (void)state;
    fixture f;
    double ns[4];
    static const int rows[4] = {1, 2, 12, 24};
    fixture_init(&f, te_sample_gemm());
    for (int i = 0; i < 4; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "split k 256 -> k0 k1; split j 32 -> j0 j1; split i %d -> i0 i1;"
                 "reorder k0 j0 i0 k1 i1 j1; unroll i1; vectorize j1;"
                 "cache_write S0 at i0 register",
                 rows[i]);
        if (rows[i] == 1) {
            snprintf(text, sizeof text,
                     "split k 256 -> k0 k1; split j 32 -> j0 j1; reorder k0 j0 i k1 j1;"
                     "vectorize j1; cache_write S0 at i register");
        }
        ns[i] = estimate(&f, text);
    }
    assert_true(ns[0] > ns[1]);
    assert_true(ns[1] > ns[2]);
    assert_true(ns[3] > 1.2 * ns[2]);
    fixture_clear(&f);
}

static void test_parallel(void **state) {
    (void)state;
    fixture f;
    char text[1024];
    fixture_init(&f, te_sample_gemm());
    double serial = estimate(&f, blocked);
    snprintf(text, sizeof text, "%s parallel j0", blocked);
    double one_core = estimate(&f, text);
    assert_true(one_core >= serial);
    f.target.n_threads = 4;
    double outer = estimate(&f, text);
    snprintf(text, sizeof text, "%s parallel i0", blocked);
    double inner = estimate(&f, text);
    assert_true(outer < 0.4 * serial);
    assert_true(inner > outer); /* forks more often */
    fixture_clear(&f);
}

/* A packed column read is cheaper than a strided one. */
static void test_pack(void **state) {
    (void)state;
    fixture f;
    char text[1024];
    fixture_init(&f, te_sample_gemm());
    snprintf(text, sizeof text, "%s cache_read S0.1 at j0 pack", blocked);
    assert_true(estimate(&f, text) < estimate(&f, blocked));
    fixture_clear(&f);
}

static void test_all_samples(void **state) {
    (void)state;
    const char *const texts[] = {te_sample_gemm(),     te_sample_syrk(), te_sample_2mm(),
                                 te_sample_jacobi2d(), te_sample_symm(), te_sample_gemm_i8()};
    for (size_t w = 0; w < sizeof texts / sizeof *texts; w++) {
        fixture f;
        fixture_init(&f, texts[w]);
        ctune_rng rng;
        ctune_rng_init(&rng, 5);
        for (int i = 0; i < 2000; i++) {
            ctune_point point;
            ctune_nest nest;
            ctune_space_sample(f.space, &rng, &point);
            if (ctune_space_nest(f.space, &point, &nest)) {
                double ns = ctune_estimate(&nest, &f.target);
                assert_true(isfinite(ns) && ns > 1000 && ns < 1e15);
            }
        }
        fixture_clear(&f);
    }
}

/* Of measured rates the estimate takes the clock alone. */
static void test_rates(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, te_sample_gemm());
    double before = estimate(&f, blocked);
    f.target.is_measured = true;
    f.target.rates = (ctune_rates){.fma_per_cycle = 0.5, .fma_latency = 9, .loads_per_cycle = 0.1};
    assert_true(estimate(&f, blocked) == before);
    f.target.ghz *= 2;
    assert_true(fabs(estimate(&f, blocked) / before - 0.5) < 1e-9);
    fixture_clear(&f);
}

/* The design number is 100,000 nests a second; a slow build or a busy machine still passes at a
 * tenth of it. */
static void test_speed(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    ctune_point point;
    fixture_init(&f, te_sample_gemm());
    assert_true(ctune_space_seeds(f.space, &point, 1) == 1);
    assert_true(ctune_space_nest(f.space, &point, &nest));
    int64_t start = ctune_now_ns();
    double sum = 0;
    for (int i = 0; i < 20000; i++) {
        sum += ctune_estimate(&nest, &f.target);
    }
    double per_s = 20000 / ((double)(ctune_now_ns() - start) * 1e-9);
    print_message("%.0f nests a second\n", per_s);
    assert_true(sum > 0 && per_s > 10000);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placement),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_gemm),          cmocka_unit_test(test_rates),
        cmocka_unit_test(test_register_tile), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_free_sums),     cmocka_unit_test(test_time_tiles),
        cmocka_unit_test(test_recurrence),    cmocka_unit_test(test_chain_of_two),
        cmocka_unit_test(test_parallel),      cmocka_unit_test(test_pack),
        cmocka_unit_test(test_all_samples),   cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

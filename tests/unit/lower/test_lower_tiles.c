/* Register tiles and packs inside loops over sums and beside pieces, run beside the region. */
#include "tests/unit/lower/lower_fixture.h"

static const char gemm[] =
    "te 1\nregion r\nparam m i32 sizes 50\nparam n i32 sizes 70\naxis i i32\naxis j i32\n"
    "axis k i32\ntensor A f64 [m][m + 3]\ntensor B f64 [m + 3][n]\ntensor C f64 [m][n]\n"
    "stage S0: C[i][j] += A[i][k] * B[k][j]\n"
    "order {\n for i: 0 <= i < m {\n  for j: 0 <= j < n {\n   for k: 0 <= k < m + 3 {\n    S0\n"
    "   }\n  }\n }\n}\n";

#define REGISTER                                                                                   \
    "split i 3 -> i0 i1; split j 4 -> j0 j1; reorder i0 j0 k i1 j1; unroll i1; vectorize j1;"

static void test_register(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, gemm);
    assert_runs(&f, REGISTER "cache_write S0 at j0 register");
    assert_runs(&f, REGISTER "tile i + j by 8 -> x at i0; cache_write S0 at j0 register");
    assert_runs(&f, REGISTER "tile i - j by 5 -> x at i0; cache_write S0 at j0 register");
    assert_runs(&f, REGISTER "tile k + i by 4 -> x at i0; cache_write S0 at j0 register");
    assert_runs(&f, REGISTER "tile k + 2*i by 4 -> x at i0; tile j by 3 -> y at i0;"
                             "cache_write S0 at j0 register");
    assert_runs(&f, REGISTER "wave i0 + j0 -> w; parallel i0; cache_write S0 at j0 register");
    assert_refused(&f, REGISTER "tile k + i by 4 -> x at k; cache_write S0 at j0 register",
                   "loop over a sum");
    fixture_clear(&f);
}

static void test_packs(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, gemm);
    assert_runs(&f, REGISTER "tile i + j by 8 -> x at i0; cache_read S0.1 at x pack;"
                             "cache_read S0.0 at i0 pack; cache_write S0 at j0 register");
    assert_runs(&f, REGISTER "split k 2 -> k0 k1; reorder k0 i0 j0 k1 i1 j1;"
                             "tile k + i by 4 -> x at k0; cache_read S0.1 at k0 pack;"
                             "cache_write S0 at j0 register");
    assert_runs(&f, REGISTER "wave i0 + j0 -> w; cache_read S0.1 at w pack; cache_read S0.0 at "
                             "root pack; cache_write S0 at j0 register");
    assert_runs(&f, "tile i + j by 8 -> x at i; cache_read S0.1 at x pack");
    /* rows are turned into columns where they are rows: in the array, not in a skewed copy */
#define LANES_I                                                                                    \
    "split i 24 -> i0 i1; split i1 12 -> i1 i2; split k 16 -> k0 k1; reorder k0 i0 j i1 k1 i2;"    \
    "vectorize i2; cache_read S0.0 at i0 pack; cache_write S0 at i1 register;"
    assert_runs(&f, LANES_I);
    assert_runs(&f, LANES_I "skew A 2");
    assert_runs(&f, LANES_I "skew A 0");
    fixture_clear(&f);
}

static void test_pieces(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, gemm);
    assert_runs(&f, "split_domain i at i < 5;" REGISTER "cache_write S0 at j0 register");
    fixture_clear(&f);
}

/* Steps of the reduction inside the tile, unrolled: with a rest, between cache tiles, packed; where
 * something stands between the two levels, or they are not innermost, plain loops. */
static void test_steps(void **state) {
#define STEPS(by) "split i 3 -> i0 i1; split j 4 -> j0 j1; split k " by " -> k0 k1;"
#define STEPS_TILE " unroll k1; unroll i1; vectorize j1; cache_write S0 at j0 register;"
    fixture f;
    (void)state;
    fixture_init(&f, gemm);
    assert_runs(&f, STEPS("2") "reorder i0 j0 k0 k1 i1 j1;" STEPS_TILE);
    assert_runs(&f, STEPS("5") "reorder i0 j0 k0 k1 i1 j1;" STEPS_TILE
                               "cache_read S0.1 at j0 pack; cache_read S0.0 at i0 pack");
    assert_runs(&f, STEPS("8") "split k0 2 -> k2 k3; reorder k2 i0 j0 k3 k1 i1 j1;" STEPS_TILE
                               "cache_read S0.1 at k2 pack");
    assert_runs(&f, STEPS("4") "reorder k0 i0 j0 k1 i1 j1;" STEPS_TILE);
    assert_runs(&f, STEPS("4") "reorder i0 j0 k0 i1 k1 j1;" STEPS_TILE);
    assert_runs(&f, "split_domain i at i < 5;" STEPS("4") "reorder i0 j0 k0 k1 i1 j1;" STEPS_TILE);
    /* a wave counts the steps: not every number of it has some */
    assert_runs(&f, "split i 8 -> i0 i1; split k 4 -> k0 k1; reorder j i0 i1 k0 k1; unroll k1;"
                    "cache_write S0 at i1 register; wave 2*k0 - 2*i0 -> x");
    assert_runs(&f, STEPS("4") "reorder i0 j0 k0 k1 i1 j1; tile k + i by 6 -> x at i0;" STEPS_TILE);
    fixture_clear(&f);
}

/* Points of a tile that share an element of the target: an unrolled loop of the reduction, and two
 * dims in one index. They run as plain loops. */
static void test_shared_elements(void **state) {
    static const char product[] =
        "te 1\nregion r\nparam n i32 sizes 50\naxis i i32\naxis j i32\n"
        "tensor x f64 [2*n]\ntensor y f64 [n]\ntensor z f64 [n]\n"
        "stage S0: x[i + j] += y[i] * z[j]\n"
        "order {\n for i: 0 <= i < n {\n  for j: 0 <= j < n {\n   S0\n  }\n }\n}\n";
    static const char skewed[] =
        "te 1\nregion r\nparam n i32 sizes 50\naxis i i32\naxis j i32\n"
        "tensor x f64 [n][2*n]\ntensor y f64 [n]\ntensor z f64 [n]\n"
        "stage S0: x[i][i + j] += y[i] * z[j]\n"
        "order {\n for i: 0 <= i < n {\n  for j: 0 <= j < n {\n   S0\n  }\n }\n}\n";
    fixture f;
    (void)state;
    fixture_init(&f, gemm);
    assert_runs(&f, "split j 4 -> j0 j1; split k 3 -> k0 k1; reorder i j0 k0 k1 j1; unroll k1;"
                    "vectorize j1; cache_write S0 at k0 register");
    assert_runs(&f, "split j 4 -> j0 j1; split k 3 -> k0 k1; reorder i j0 k0 j1 k1; unroll k1;"
                    "vectorize j1; cache_write S0 at k0 register; cache_read S0.1 at j0 pack");
    assert_runs(&f, "split k 3 -> k0 k1; unroll k1; cache_write S0 at k0 register");
    fixture_clear(&f);
    const char *const tiles = "split i 3 -> i0 i1; split j 4 -> j0 j1; reorder i0 j0 i1 j1;"
                              "unroll i1; unroll j1; cache_write S0 at j0 register";
    fixture_init(&f, skewed);
    assert_runs(&f, tiles);
    fixture_clear(&f);
    fixture_init(&f, product);
    assert_refused(&f, tiles, "runs backwards");
    fixture_clear(&f);
}

/* A tile that cannot be one (a loop over the sum stands inside) still has its packs. */
static void test_pack_without_tile(void **state) {
    static const char band[] =
        "te 1\nregion r\nparam n i32 sizes 50\naxis i i32\naxis d i32\n"
        "tensor x f64 [n]\ntensor A f64 [n][n]\ntensor y f64 [n]\n"
        "stage S0: x[i] += A[i][i + d] * y[i + d]\n"
        "order {\n for i: 0 <= i < n {\n  for d: d + 3 >= 0, -d + 3 >= 0 {\n"
        "   if: i + d >= 0, -i - d + n - 1 >= 0 {\n    S0\n   }\n  }\n }\n}\n";
    fixture f;
    (void)state;
    fixture_init(&f, band);
    for (int i = 0; i < 2; i++) {
        char schedule[200];
        snprintf(schedule, sizeof schedule,
                 "split i 8 -> i0 i1; reorder i0 i1 d; vectorize i1; cache_write S0 at i0 "
                 "register; cache_read S0.%d at %s pack",
                 1 - i, i == 0 ? "root" : "i0");
        assert_runs(&f, schedule);
    }
    fixture_clear(&f);
}

/* Packs read what some instance reads, and nothing when there is none: y has n elements only, m may
 * be 0 and n 0 or 1. */
static void test_pack_of_nothing(void **state) {
    static const char *const regions[] = {
        /* the window is constant, and longer than y where no output is left */
        "te 1\nregion r\nparam n i32 sizes 50\naxis i i32\naxis k i32\n"
        "tensor x f64 [n]\ntensor z f64 [n]\ntensor y f64 [n]\n"
        "stage S0: x[i] += z[i + k] * y[k]\n"
        "order {\n for i: 0 <= i < n - 4 {\n  for k: 0 <= k < 5 {\n   S0\n  }\n }\n}\n",
        /* each second element */
        "te 1\nregion r\nparam n i32 sizes 50\naxis i i32\naxis k i32\n"
        "tensor x f64 [n]\ntensor z f64 [n][n]\ntensor y f64 [n]\n"
        "stage S0: x[i] += z[i][k] * y[2*k]\n"
        "order {\n for i: 0 <= i < n {\n  for k: 0 <= k < n {\n   if: -2*k + n - 1 >= 0 {\n"
        "    S0\n   }\n  }\n }\n}\n",
        /* a guard that reads data, and never holds, keeps the loop from y */
        "te 1\nregion r\nparam n i32 sizes 50\naxis i i32\naxis k i32\n"
        "tensor x f64 [n]\ntensor z f64 [n]\ntensor y f64 [1]\n"
        "stage S0: x[i] += z[i] * y[k] ; when z[i] < 0.5\n"
        "order {\n for i: 0 <= i < n {\n  for k: 0 <= k < 3 {\n   S0\n  }\n }\n}\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        fixture f;
        fixture_init(&f, regions[i]);
        assert_runs(&f, "cache_read S0.1 at root pack");
        assert_runs(&f, "split i 4 -> i0 i1; reorder i0 k i1; cache_read S0.1 at i0 pack");
        assert_runs(&f, "split i 4 -> i0 i1; reorder i0 k i1; vectorize i1; cache_read S0.1 at "
                        "root pack; cache_write S0 at i0 register");
        fixture_clear(&f);
    }
}

/* What a form knows of a read holds for one part of a body; a tile of a sum runs several. */
static void test_packs_in_sums(void **state) {
    static const char sums[] = "tile 3*t + i + k + 2*S1 by 16 -> x at t; "
                               "tile 2*t + j + l + 2*S1 by 12 -> y at t; ";
    char text[300];
    fixture f;
    (void)state;
    fixture_init(&f, "te 1\nregion r\nparam n i32 sizes 19\nparam m i32 sizes 17\naxis t i32\n"
                     "axis i i32\naxis j i32\naxis k i32\naxis l i32\n"
                     "tensor A f64 [n + m + 1][m + 1]\ntensor B f64 [n + m + 2][m + 2]\n"
                     "stage S0: B[i][j] = A[i][j] + A[i + 1][j]\n"
                     "stage S1: A[k][l] = B[k][l] + B[k][l + 2] + B[k + 2][l + 2]\norder {\n"
                     " for t: 0 <= t < 2 {\n  for i: 0 <= i < m {\n   for j: 0 <= j < m {\n    S0\n"
                     "   }\n  }\n  for k: 0 <= k < n {\n   for l: 0 <= l < m {\n    S1\n   }\n"
                     "  }\n }\n}\n");
    snprintf(text, sizeof text, "%sreorder t y; cache_read S1.1 at t pack", sums);
    assert_refused(&f, text, "written under");
    snprintf(text, sizeof text, "%sreorder t y; cache_read S0.0 at t pack", sums);
    assert_refused(&f, text, "written under");
    assert_runs(&f, "cache_read S1.1 at t pack; cache_read S0.0 at t pack");
    assert_runs(&f, "cache_read S1.1 at k pack");
    assert_runs(&f, sums);
    fixture_clear(&f);
}

/* An element whose sum has no terms may not even be there. */
static void test_empty_sums(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f,
                 "te 1\nregion r\nparam n i32 sizes 19\nparam m i32 sizes 17\naxis i i32\n"
                 "axis j i32\ntensor R f64 [n + 1] update\ntensor A f64 [4*n + m][m + 4] read\n"
                 "stage S0: R[j] += A[4*i][j]\norder {\n"
                 " for i: i >= 0, -i + n - 1 >= 0 {\n  for j: 0 <= j < 2 {\n   S0\n  }\n }\n}\n");
    assert_runs(&f, "reorder j i; cache_write S0 at j register");
    assert_runs(&f, "split j 2 -> j0 j1; reorder j0 j1 i; cache_write S0 at j1 register");
    assert_runs(&f,
                "split j 2 -> j0 j1; reorder j0 i j1; unroll j1; cache_write S0 at j0 register");
    assert_runs(&f, "reorder j i; parallel j; cache_write S0 at j register");
    fixture_clear(&f);
    fixture_init(&f,
                 "te 1\nregion r\nparam n i32 sizes 19\nparam m i32 sizes 17\naxis i i32\n"
                 "axis j i32\ntensor R f64 [n] update\ntensor A f64 [n + m][m + 4] read\n"
                 "stage S0: R[j] += A[i][j]\norder {\n"
                 " for i: i >= 0, -i + n - 2 >= 0 {\n  for j: j >= 0, -j + i >= 0, -j + 3 >= 0 {\n"
                 "   S0\n  }\n }\n}\n");
    assert_runs(&f, "reorder j i; cache_write S0 at j register");
    fixture_clear(&f);
}

/* One axis as different loops around different statements: a bound reads the loop of its own. */
static void test_bounds_of_pinned(void **state) {
    fixture f;
    ctune_nest nest;
    (void)state;
    fixture_init(&f,
                 "te 1\nregion r\nparam n i32 sizes 256\nparam m i32\naxis i i32\naxis j i32\n"
                 "axis k i32\ndiv @0 = X[i]\ndiv @1 = Y[j]\ntensor X u8 [n + 1] read\n"
                 "tensor Y u8 [256] read\ntensor A f64 [n + 2][n + 256] update\n"
                 "tensor B f64 [n + 2][n + 256] read\ntensor C f64 [n + 1][n + 1] write\n"
                 "stage S0: A[i][@1] = B[i][j]\nstage S1: C[i][k] = A[1][k] + B[k][i + 1]\n"
                 "order {\n for i: 0 <= i < n {\n  for j: j >= 0, -j + @0 - 1 >= 0 {\n   S0\n  }\n"
                 "  for k: 0 <= k < n {\n   S1\n  }\n }\n}\n");
    static const char *const modes[] = {"", "distribute", "polyhedral smart", "polyhedral max",
                                        "polyhedral min"};
    int n_legal = 0;
    for (int k = 0; k < 5; k++) { /* which there are is isl's to say */
        if (fixture_apply(&f, modes[k], &nest) == CTUNE_OK) {
            assert_runs(&f, modes[k]);
            n_legal++;
        }
    }
    assert_true(n_legal > 0);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packs_in_sums),
        cmocka_unit_test(test_empty_sums),
        cmocka_unit_test(test_bounds_of_pinned),
        cmocka_unit_test(test_register),
        cmocka_unit_test(test_packs),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_shared_elements),
        cmocka_unit_test(test_pack_without_tile),
        cmocka_unit_test(test_pack_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register),        cmocka_unit_test(test_packs),
        cmocka_unit_test(test_pieces),          cmocka_unit_test(test_steps),
        cmocka_unit_test(test_shared_elements), cmocka_unit_test(test_pack_without_tile),
        cmocka_unit_test(test_pack_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

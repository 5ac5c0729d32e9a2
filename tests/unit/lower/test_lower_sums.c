/* Loops over sums: skewed tiles and waves of stencils in time loops, run beside the region. */
#include "tests/unit/lower/lower_fixture.h"

#define HEAD "te 1\nregion r\nparam steps i32 sizes 20\nparam n i32 sizes 100\n"

/* A[t + 1][i] from A[t][i - 1 .. i + 1] */
static const char expanded_1d[] =
    HEAD "axis t i32\naxis i i32\ntensor A f64 [steps + 1][n]\n"
         "stage S0: A[t + 1][i] = 0.33 * (A[t][i - 1] + A[t][i] + A[t][i + 1])\n"
         "order {\n for t: 0 <= t < steps {\n  for i: 1 <= i < n - 1 {\n   S0\n  }\n }\n}\n";

static const char jacobi_1d[] =
    HEAD "axis t i32\naxis i i32\naxis i_2 i32\ntensor A f64 [n]\ntensor B f64 [n]\n"
         "stage S0: B[i] = 0.33 * (A[i - 1] + A[i] + A[i + 1])\n"
         "stage S1: A[i_2] = 0.33 * (B[i_2 - 1] + B[i_2] + B[i_2 + 1])\n"
         "order {\n for t: 0 <= t < steps {\n  for i: 1 <= i < n - 1 {\n   S0\n  }\n"
         "  for i_2: 1 <= i_2 < n - 1 {\n   S1\n  }\n }\n}\n";

static const char jacobi_2d[] =
    HEAD "axis t i32\naxis i i32\naxis j i32\naxis i_2 i32\naxis j_2 i32\n"
         "tensor A f64 [n][n]\ntensor B f64 [n][n]\n"
         "stage S0: B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + "
         "A[i - 1][j])\n"
         "stage S1: A[i_2][j_2] = 0.2 * (B[i_2][j_2] + B[i_2][j_2 - 1] + B[i_2][j_2 + 1] + "
         "B[i_2 + 1][j_2] + B[i_2 - 1][j_2])\n"
         "order {\n for t: 0 <= t < steps {\n"
         "  for i: 1 <= i < n - 1 {\n   for j: 1 <= j < n - 1 {\n    S0\n   }\n  }\n"
         "  for i_2: 1 <= i_2 < n - 1 {\n   for j_2: 1 <= j_2 < n - 1 {\n    S1\n   }\n  }\n"
         " }\n}\n";

static const char seidel_2d[] =
    HEAD "axis t i32\naxis i i32\naxis j i32\ntensor A f64 [n][n]\n"
         "stage S0: A[i][j] = 0.11 * (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + "
         "A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + "
         "A[i + 1][j + 1])\n"
         "order {\n for t: 0 <= t < steps {\n  for i: 1 <= i < n - 1 {\n"
         "   for j: 1 <= j < n - 1 {\n    S0\n   }\n  }\n }\n}\n";

/* A sum in a scalar: vector and parallel loops of one iteration each are legal, and stay serial. */
static const char summed[] =
    HEAD "axis i i32\naxis j i32\ntensor T f64 [n] temp\ntensor A f64 [n][n]\ntensor R f64 [n]\n"
         "stage S0: T[i] = 0.0\nstage S1: T[i] += A[i][j]\nstage S2: R[i] = T[i] + 1.0\n"
         "order {\n for i: 0 <= i < n {\n  S0\n  for j: 0 <= j < n {\n   S1\n  }\n  S2\n }\n}\n";

static void test_one_iteration(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, summed);
    assert_runs(&f, "split j 8 -> j0 j1; tile j by 1 -> x at j1; vectorize j1");
    assert_runs(&f, "split j 8 -> j0 j1; tile 2*j by 2 -> x at j1; vectorize j1");
    assert_runs(&f, "tile 3*j by 2 -> x at j; parallel j");
    assert_runs(&f, "split i 4 -> i0 i1; tile j by 1 -> x at j; parallel j");
    assert_refused(&f, "split j 8 -> j0 j1; tile j by 2 -> x at j1; vectorize j1", "vector loop");
    fixture_clear(&f);
}

static void test_expanded(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, expanded_1d);
    assert_runs(&f, "");
    assert_runs(&f, "tile t + i by 4 -> x at t");
    assert_runs(&f, "split t 3 -> tt t; tile t + i by 4 -> it at t");
    assert_runs(&f, "split t 3 -> tt t; tile t - i by 4 -> a at t; tile t + i by 4 -> b at t");
    assert_refused(&f, "split t 3 -> tt t; tile i by 4 -> it at t", "backwards at loop it");
    /* two levels of skewed tiles, and the tile's points along i in constant trips */
    assert_runs(&f, "split t 4 -> tt t; tile t + i by 8 -> it at t; split it 2 -> it i2;"
                    "split i 2 -> i0 i1; unroll i1");
    /* wavefronts: of tiles, threads across them; of points */
    assert_runs(&f,
                "split t 3 -> tt t; tile t + i by 4 -> it at t; wave tt + it -> w; parallel tt");
    assert_refused(&f, "split t 3 -> tt t; tile t + i by 4 -> it at t; parallel it",
                   "vector loop it");
    assert_runs(&f, "wave 2*t + i -> w; parallel t");
    assert_runs(&f, "tile t + i by 1 -> s at t");
    assert_refused(&f, "wave i + t -> w; parallel t", "parallel");
    fixture_clear(&f);
}

static void test_jacobi_1d(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, jacobi_1d);
    /* S1 stands one behind S0, and the next step one behind S1: only isl sees it over two loops */
    assert_runs(&f, "split t 2 -> tt t; tile 2*t + i + i_2 + S1 by 4 -> it at t");
    assert_runs(&f, "split t 5 -> tt t; tile 2*t + i + i_2 + S1 by 4 -> it at t;"
                    "wave tt + it -> w; parallel tt");
    assert_refused(&f, "split t 2 -> tt t; tile 2*t + i + i_2 by 4 -> it at t",
                   "backwards at loop it");
    assert_refused(&f, "split t 2 -> tt t; tile t + i + i_2 + S1 by 4 -> it at t", "backwards");
    /* fused by isl, tiled in the plain way, and skewed once more */
    assert_runs(&f, "polyhedral max");
    fixture_clear(&f);
}

static void test_jacobi_2d(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, jacobi_2d);
    assert_runs(&f, "split t 2 -> tt t; tile 2*t + i + i_2 + S1 by 4 -> it at t");
    assert_runs(&f, "split t 2 -> tt t; tile 2*t + i + i_2 + S1 by 4 -> it at t;"
                    "tile 2*t + j + j_2 + S1 by 8 -> jt at t");
    assert_runs(&f, "split t 3 -> tt t; tile 2*t + i + i_2 + S1 by 4 -> it at t;"
                    "tile 2*t + j + j_2 + S1 by 5 -> jt at t; wave tt + it + jt -> w; parallel tt");
    assert_refused(&f, "split t 2 -> tt t; tile 2*t + i + i_2 by 4 -> it at t", "backwards");
    fixture_clear(&f);
}

static void test_seidel_2d(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, seidel_2d);
    assert_runs(&f, "split t 2 -> tt t; tile t + i by 4 -> it at t");
    assert_runs(&f,
                "split t 2 -> tt t; tile t + i by 4 -> it at t; tile 2*t + i + j by 6 -> jt at t");
    assert_refused(&f, "split t 2 -> tt t; tile i by 4 -> it at t", "backwards");
    assert_refused(&f, "split t 2 -> tt t; tile t + i by 4 -> it at t; tile t + j by 6 -> jt at t",
                   "backwards");
    /* rows in registers: each two columns behind the one above */
    assert_runs(&f, "wave 2*i + j -> w; parallel i");
    assert_runs(&f, "split i 4 -> i0 i; wave 2*i + j -> w; parallel i");
    assert_refused(&f, "wave i + j -> w; parallel i", "parallel");
    assert_runs(&f, "wave 4*t + 2*i + j -> w; parallel i");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_iteration), cmocka_unit_test(test_expanded),
        cmocka_unit_test(test_jacobi_1d),     cmocka_unit_test(test_jacobi_2d),
        cmocka_unit_test(test_seidel_2d),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Temporaries that are arrays: rows with a border, written by several statements, shifted,
 * reversed, divided. */
#include "tests/unit/lower/lower_fixture.h"

/* t[0], t[1 + i], t[n + 1] and then all three neighbours, in a loop over rows. */
static void test_border(void **state) {
    fixture f;
    (void)state;
    fixture_init(
        &f, "te 1\nregion r\nparam n i32 sizes 50\nparam m i32 sizes 20\naxis y i32\naxis i i32\n"
            "axis j i32\ntensor A f64 [m][n]\ntensor B f64 [m][n]\n"
            "tensor t f64 [m][n + 2] temp\n"
            "stage S0: t[y][0] = A[y][0]\n"
            "stage S1: t[y][n + 1] = A[y][n - 1]\n"
            "stage S2: t[y][i + 1] = A[y][i] * A[y][i]\n"
            "stage S3: B[y][j] = t[y][j] + t[y][j + 1] + t[y][j + 2]\n"
            "order {\n for y: 0 <= y < m, n - 1 >= 0 {\n  S0\n  S1\n  for i: 0 <= i < n {\n   S2\n"
            "  }\n  for j: 0 <= j < n {\n   S3\n  }\n }\n}\n");
    assert_runs(&f, "");
    assert_runs(&f, "parallel y");
    assert_runs(&f, "split i 4 -> i0 i1; vectorize i1; split j 4 -> j0 j1; vectorize j1");
    assert_runs(&f, "distribute");
    fixture_clear(&f);
}

/* Written backwards and in steps, read forwards. */
static void test_reversed(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, "te 1\nregion r\nparam n i32 sizes 50\nparam m i32 sizes 20\naxis y i32\n"
                     "axis i i32\naxis j i32\ntensor A f64 [m][n]\ntensor B f64 [m][n]\n"
                     "tensor t f64 [m][3*n] temp\n"
                     "stage S0: t[y][-3*i + 3*n - 1] = A[y][i]\n"
                     "stage S1: B[y][j] = t[y][3*j + 2] * A[y][j]\n"
                     "order {\n for y: 0 <= y < m {\n  for i: 0 <= i < n {\n   S0\n  }\n"
                     "  for j: 0 <= j < n {\n   S1\n  }\n }\n}\n");
    assert_runs(&f, "");
    assert_runs(&f, "split y 4 -> y0 y1; parallel y0");
    fixture_clear(&f);
}

/* Start, sum and end of each element: tile by tile, in windows of the tile. */
static void test_parts(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, "te 1\nregion r\nparam n i32 sizes 50\nparam m i32 sizes 20\naxis y i32\n"
                     "axis i i32\naxis k i32\ntensor A f64 [m][n]\ntensor B f64 [n][n]\n"
                     "tensor C f64 [m][n]\ntensor t f64 [m][n] temp\n"
                     "stage S0: t[y][i] = 0.0\n"
                     "stage S1: t[y][i] += A[y][k] * B[k][i]\n"
                     "stage S2: C[y][i] = t[y][i] * A[y][i]\n"
                     "order {\n for y: 0 <= y < m {\n  for i: 0 <= i < n {\n   S0\n"
                     "   for k: 0 <= k < n {\n    S1\n   }\n   S2\n  }\n }\n}\n");
    assert_runs(&f, "split i 8 -> i0 i1; fission i1");
    assert_runs(&f, "split i 8 -> i0 i1; fission i1; reorder k i1_2; vectorize i1; vectorize i1_2; "
                    "vectorize i1_3; cache_write S1 at i0 register");
    assert_runs(&f, "split y 3 -> y0 y1; split i 8 -> i0 i1; reorder y0 i0 y1 i1; fission i1; "
                    "fission y1; reorder k y1_2 i1_2; vectorize i1_2; unroll y1_2; "
                    "cache_write S1 at i0 register; cache_read S1.1 at i0 pack; parallel y0");
    assert_runs(&f, "split i 24 -> i0 i1; fission i1; fission i0; fission y");
    assert_runs(&f, "fission i; split i_2 4 -> a b; reorder a k b; vectorize b; "
                    "cache_write S1 at a register; parallel y");
    assert_runs(&f, "split y 4096 -> y0 y1; split i 64 -> i0 i1; reorder y0 i0 y1 i1; fission i1; "
                    "fission y1"); /* a window for the heap */
    fixture_clear(&f);
}

/* A placed stage's box. */
static void test_box(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, "te 1\nregion r\nparam n i32 sizes 50\nparam m i32 sizes 20\naxis y i32\n"
                     "axis i i32\naxis v i32\naxis j i32\ntensor A f64 [m + 2][n]\n"
                     "tensor B f64 [m][n]\ntensor t f64 [m + 2][n] temp\n"
                     "stage S0: t[y][i] = A[y][i] * A[y][i]\n"
                     "stage S1: B[v][j] = t[v][j] + t[v + 1][j] + t[v + 2][j]\n"
                     "order {\n for y: 0 <= y < m + 2 {\n  for i: 0 <= i < n {\n   S0\n  }\n }\n"
                     " for v: 0 <= v < m {\n  for j: 0 <= j < n {\n   S1\n  }\n }\n}\n");
    assert_runs(&f, "compute S0 at v");
    assert_runs(&f, "compute S0 at v; parallel v");
    assert_runs(&f, "split v 4 -> v0 v1; split j 16 -> j0 j1; reorder v0 j0 v1 j1; "
                    "compute S0 at j0; vectorize j1; split i 8 -> i0 i1; vectorize i1");
    assert_runs(&f, "split v 4 -> v0 v1; compute S0 at v0; parallel v0");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_border),
        cmocka_unit_test(test_reversed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

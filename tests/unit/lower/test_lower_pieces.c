/* Pieces of a domain and placed stages, run beside the region. */
#include "search/schedule/nest_ops.h"
#include "tests/unit/lower/lower_fixture.h"

#define HEAD "te 1\nregion r\nparam h i32 sizes 60\nparam w i32 sizes 100\n"

/* 3 x 3 convolution, zero padding as conditions */
static const char padded[] =
    HEAD "axis y i32\naxis x i32\naxis y_2 i32\naxis x_2 i32\naxis r i32\naxis s i32\n"
         "tensor A f64 [h][w]\ntensor K f64 [3][3]\ntensor O f64 [h][w]\n"
         "stage S0: O[y][x] = 0.0\n"
         "stage S1: O[y_2][x_2] += A[y_2 + r - 1][x_2 + s - 1] * K[r][s]\n"
         "order {\n for y: 0 <= y < h {\n  for x: 0 <= x < w {\n   S0\n  }\n }\n"
         " for y_2: 0 <= y_2 < h {\n  for x_2: 0 <= x_2 < w {\n   for r: 0 <= r < 3 {\n"
         "    for s: 0 <= s < 3 {\n     if: y_2 + r - 1 >= 0 {\n      if: h - y_2 - r >= 0 {\n"
         "       if: x_2 + s - 1 >= 0 {\n        if: w - x_2 - s >= 0 {\n         S1\n        }\n"
         "       }\n      }\n     }\n    }\n   }\n  }\n }\n}\n";

/* Separable blur through a temporary */
static const char blur[] =
    HEAD "axis y i32\naxis x i32\naxis y_2 i32\naxis x_2 i32\n"
         "tensor A f64 [h + 2][w + 2]\ntensor T f64 [h + 2][w] temp\ntensor O f64 [h][w]\n"
         "stage S0: T[y][x] = A[y][x] + A[y][x + 1] + A[y][x + 2]\n"
         "stage S1: O[y_2][x_2] = T[y_2][x_2] + T[y_2 + 1][x_2] + T[y_2 + 2][x_2]\n"
         "order {\n for y: 0 <= y < h + 2 {\n  for x: 0 <= x < w {\n   S0\n  }\n }\n"
         " for y_2: 0 <= y_2 < h {\n  for x_2: 0 <= x_2 < w {\n   S1\n  }\n }\n}\n";

/* Three stages, each of which reads its neighbours in the one before */
static const char chain[] =
    HEAD "axis y i32\naxis x i32\naxis y_2 i32\naxis x_2 i32\naxis y_3 i32\naxis x_3 i32\n"
         "tensor A f64 [h + 4][w]\ntensor T f64 [h + 3][w] temp\ntensor U f64 [h + 1][w] temp\n"
         "tensor O f64 [h][w]\n"
         "stage S0: T[y][x] = 2.0 * A[y][x] + A[y + 1][x]\n"
         "stage S1: U[y_2][x_2] = T[y_2][x_2] + T[y_2 + 2][x_2]\n"
         "stage S2: O[y_3][x_3] = U[y_3][x_3] - U[y_3 + 1][x_3]\n"
         "order {\n for y: 0 <= y < h + 3 {\n  for x: 0 <= x < w {\n   S0\n  }\n }\n"
         " for y_2: 0 <= y_2 < h + 1 {\n  for x_2: 0 <= x_2 < w {\n   S1\n  }\n }\n"
         " for y_3: 0 <= y_3 < h {\n  for x_3: 0 <= x_3 < w {\n   S2\n  }\n }\n}\n";

/* x[i] -= L[i][j] * x[j], then the diagonal */
static const char trisolv[] =
    HEAD "axis i i32\naxis j i32\ntensor L f64 [h][h]\ntensor x f64 [h]\n"
         "stage S0: x[i] -= L[i][j] * x[j]\nstage S1: x[i] /= L[i][i]\n"
         "order {\n for i: 0 <= i < h {\n  for j: 0 <= j < i {\n   S0\n  }\n  S1\n }\n}\n";

static void test_padded(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, padded);
    /* upper border, interior, lower border; then columns of the interior */
    assert_runs(&f, "split_domain y_2 at y_2 < 1; split_domain y_3 at y_3 - h < -1");
    assert_runs(&f, "split_domain y_2 at y_2 < 1; split_domain y_3 at y_3 - h < -1;"
                    "split_domain x_3 at x_3 < 1; split_domain x_5 at x_5 - w < -1");
    assert_runs(&f, "split_domain y_2 at y_2 >= 1");
    assert_runs(&f, "split_domain y_2 at x_2 > 2; split x_2 4 -> a b; reorder a y_2 b");
    assert_runs(&f, "split_domain y_2 at 2*y_2 - x_2 + h < 3");
    assert_refused(&f, "split_domain y_2 at r < 2; split_domain y_2 at r >= 2", "always or never");
    assert_refused(&f, "split_domain y_2 at r >= 1", "to come first");
    assert_refused(&f, "split_domain y at x_2 < 1", "outside a loop of the condition");
    fixture_clear(&f);
}

/* The interior has no conditions left: its reduction is 3 x 3. */
static void test_interior(void **state) {
    fixture f;
    ctune_nest nest;
    (void)state;
    fixture_init(&f, padded);
    assert_int_equal(fixture_apply(&f,
                                   "split_domain y_2 at y_2 < 1; split_domain y_3 at y_3 - h < -1;"
                                   "split_domain x_3 at x_3 < 1; split_domain x_5 at x_5 - w < -1",
                                   &nest),
                     CTUNE_OK);
    int inner = ctune_stmt_find(f.region, nest.form->tree, "S1_4");
    assert_true(inner >= 0);
    int n_constant = 0;
    for (int d = 0; d < nest.form->tree->stmts[inner].n_dims; d++) {
        int dim = nest.form->tree->stmts[inner].dims[d];
        n_constant += ctune_tree_const_extent(nest.form->tree, dim) == 3;
    }
    assert_int_equal(n_constant, 2);
    assert_int_equal(nest.form->tree->stmts[inner].n_cons, 8);
    fixture_clear(&f);
}

/* The reduction range of a solve split at the block's start: operands final / inside the tile. */
static void test_trisolv(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, trisolv);
    assert_runs(&f, "split_domain j at j < 2");
    assert_runs(&f, "split_domain i at i < 5");
    assert_refused(&f, "split_domain i at i >= 5", "to come first");
    assert_refused(&f, "split_domain j at j >= 2", "to come first");
    fixture_clear(&f);
}

static void test_blur(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, blur);
    assert_runs(&f, "");
    assert_runs(&f, "compute S0 at y_2");
    assert_runs(&f, "compute S0 at x_2");
    assert_runs(&f, "split y_2 4 -> yt y_2; split x_2 8 -> xt x_2; reorder yt xt y_2 x_2;"
                    "compute S0 at xt");
    assert_runs(&f, "split y_2 4 -> yt y_2; split x_2 8 -> xt x_2; reorder yt xt y_2 x_2;"
                    "parallel yt; compute S0 at xt; split x 4 -> x0 x1; vectorize x1");
    assert_runs(&f, "split y_2 4 -> yt y_2; parallel yt; compute S0 at yt; unroll y_2");
    assert_runs(&f, "tile y_2 + x_2 by 4 -> d at y_2; parallel d; compute S0 at d");
    assert_refused(&f, "compute S1 at y", "not a temporary");
    assert_refused(&f, "split x_2 8 -> xt x_2; vectorize x_2; compute S0 at x_2", "vector loop");
    assert_refused(&f, "compute S0 at y", "own");
    assert_refused(&f, "parallel y; compute S0 at y_2", "cannot be parallel");
    assert_refused(&f, "fuse S0 S1 1", "backwards");
    assert_refused(&f, "compute S0 at y_2; compute S0 at x_2", "placed already");
    assert_refused(&f, "cache_read S0.0 at root pack; compute S0 at y_2", "cannot have caches");
    fixture_clear(&f);
}

static void test_chain(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, chain);
    assert_runs(&f, "split y_3 4 -> yt y_3; compute S1 at yt; compute S0 at yt; parallel yt");
    assert_runs(&f, "split y_3 4 -> yt y_3; compute S1 at yt; compute S0 at y_2");
    assert_runs(&f,
                "split x_3 4 -> xt x_3; reorder xt y_3 x_3; compute S1 at y_3; compute S0 at xt");
    assert_runs(&f, "compute S0 at y_2");
    assert_refused(&f, "compute S0 at y_3; compute S1 at y_3", "read before it");
    assert_refused(&f, "compute S0 at y_3", "read outside the loop");
    fixture_clear(&f);
}

/* What the producer reads changes before its new place; it is also read elsewhere. */
static void test_not_placed(void **state) {
    static const char written[] =
        HEAD "axis y i32\naxis y_2 i32\naxis y_3 i32\n"
             "tensor A f64 [h]\ntensor T f64 [h] temp\ntensor O f64 [h]\n"
             "stage S0: T[y] = A[y]\nstage S1: A[y_2] = 2.0\nstage S2: O[y_3] = T[y_3]\n"
             "order {\n for y: 0 <= y < h {\n  S0\n }\n for y_2: 0 <= y_2 < h {\n  S1\n }\n"
             " for y_3: 0 <= y_3 < h {\n  S2\n }\n}\n";
    fixture f;
    (void)state;
    fixture_init(&f, written);
    assert_refused(&f, "compute S0 at y_3", "written in between");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padded),  cmocka_unit_test(test_interior),
        cmocka_unit_test(test_trisolv), cmocka_unit_test(test_blur),
        cmocka_unit_test(test_chain),   cmocka_unit_test(test_not_placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Blocked factorisations and solves: block loops, splits at their starts, packs inside the nest
 * that writes, rows in lanes; run beside the region. */
#include "search/schedule/nest_ops.h"
#include "tests/unit/lower/lower_fixture.h"

#define HEAD "te 1\nregion r\nparam h i32 sizes 60\nparam w i32 sizes 100\n"

static const char cholesky[] =
    HEAD "axis i i32\naxis j i32\naxis k i32\naxis k_2 i32\ntensor A f64 [h][h]\n"
         "stage S0: A[i][j] -= A[i][k] * A[j][k]\nstage S1: A[i][j] /= A[j][j]\n"
         "stage S2: A[i][i] -= A[i][k_2] * A[i][k_2]\nstage S3: A[i][i] = sqrt(A[i][i])\n"
         "order {\n for i: 0 <= i < h {\n  for j: 0 <= j < i {\n   for k: 0 <= k < j {\n    S0\n"
         "   }\n   S1\n  }\n  for k_2: 0 <= k_2 < i {\n   S2\n  }\n  S3\n }\n}\n";

static const char lu[] =
    HEAD "axis i i32\naxis j i32\naxis k i32\naxis j_2 i32\naxis k_2 i32\ntensor A f64 [h][h]\n"
         "stage S0: A[i][j] -= A[i][k] * A[k][j]\nstage S1: A[i][j] /= A[j][j]\n"
         "stage S2: A[i][j_2] -= A[i][k_2] * A[k_2][j_2]\n"
         "order {\n for i: 0 <= i < h {\n  for j: 0 <= j < i {\n   for k: 0 <= k < j {\n    S0\n"
         "   }\n   S1\n  }\n  for j_2: i <= j_2 < h {\n   for k_2: 0 <= k_2 < i {\n    S2\n   }\n"
         "  }\n }\n}\n";

static const char trisolv[] =
    HEAD "axis i i32\naxis j i32\ntensor L f64 [h][h]\ntensor x f64 [h]\n"
         "stage S0: x[i] -= L[i][j] * x[j]\nstage S1: x[i] /= L[i][i]\n"
         "order {\n for i: 0 <= i < h {\n  for j: 0 <= j < i {\n   S0\n  }\n  S1\n }\n}\n";

#define CHOLESKY                                                                                   \
    "block j by 3 -> J at i; split_domain k at k - 3*J < 0; split_domain k_2 at k_2 - 3*J < 0;"    \
    "distribute;"

static void test_cholesky(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, cholesky);
    assert_runs(&f, "block j by 3 -> J at i");
    assert_runs(&f, "block i by 2 -> I at i; block j by 2 -> J at i");
    assert_refused(&f, "block 2*i - j by 3 -> J at i", "backwards");
    assert_runs(&f, CHOLESKY);
    assert_runs(&f, CHOLESKY "split_domain i at i - 3*J < 3; split_domain i_3 at i_3 - 3*J < 3;"
                             "block i_5 by 2 -> I at i_5; sink i_5");
    assert_runs(&f, CHOLESKY "split i 2 -> i0 i1; split j 2 -> j0 j1; reorder i0 j0 k i1 j1;"
                             "unroll i1; vectorize j1; cache_write S0 at j0 register;"
                             "cache_read S0.0 at J pack; cache_read S0.1 at J pack");
    assert_runs(&f, CHOLESKY "split_domain i at i - 3*J < 3; cache_read S0_3.1 at J pack");
    assert_refused(&f, CHOLESKY "cache_read S0_2.0 at J pack", "is written");
    assert_runs(&f, "cache_read S0.1 at i pack"); /* rows before i */
    assert_refused(&f, "cache_read S0.0 at i pack", "is written");
    assert_refused(&f, "block j by 3 -> J at j; split_domain k at k - 3*J >= 0", "come first");
    assert_refused(&f, "sink i", "come first");
    fixture_clear(&f);
}

#define LU                                                                                         \
    "block j + j_2 by 3 -> J at i; block i by 3 -> I at i; split_domain k at k - 3*J < 0;"         \
    "split_domain k_2 at k_2 - 3*I < 0; split_domain I at I - J < 0;"                              \
    "split_domain I_2 at I_2 - J < 1; distribute;"

/* What earlier nests in the body write may be packed after them: the rows above the diagonal. */
static void test_lu(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, lu);
    assert_runs(&f, LU);
    assert_runs(&f, LU "sink i_7");
    assert_runs(&f, LU "cache_read S0_3.1 at J pack; cache_read S0_3.0 at I_3 pack");
    assert_refused(&f, LU "cache_read S2_2.1 at I pack", "is written");
    assert_refused(&f, LU "cache_read S0_4.0 at J pack", "is written");
    fixture_clear(&f);
}

static void test_trisolv(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, trisolv);
    assert_runs(&f, "block i by 4 -> I at i; split_domain j at j - 4*I < 0; distribute");
    assert_runs(&f, "block i by 4 -> I at i; split_domain j at j - 4*I < 0; distribute;"
                    "split i 2 -> i0 i1; reorder i0 j i1; vectorize i1;"
                    "cache_write S0 at i0 register; cache_read S0.1 at I pack");
    assert_refused(&f,
                   "block i by 4 -> I at i; split_domain j at j - 4*I < 2; distribute;"
                   "cache_read S0.1 at I pack",
                   "is written");
    assert_refused(&f, "block j by 4 -> J at i; sink i", "come first");
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_lu),
        cmocka_unit_test(test_trisolv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

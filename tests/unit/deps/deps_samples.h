/* Regions for the tests of search/deps beyond those of tests/unit/te/te_samples.h. All loops start
 * small. */
#ifndef CTUNE_TESTS_UNIT_DEPS_DEPS_SAMPLES_H
#define CTUNE_TESTS_UNIT_DEPS_DEPS_SAMPLES_H

#define SAMPLE_HEAD "te 1\nregion r at \"r.c\":1\nparam n i32 sizes 100\n"

/* LU without pivoting */
static const char *const sample_lu =
    SAMPLE_HEAD "axis i i32\naxis j i32\naxis k i32\naxis j_2 i32\naxis k_2 i32\n"
                "tensor A f64 [n][n]\n"
                "stage S0: A[i][j] -= A[i][k] * A[k][j]\n"
                "stage S1: A[i][j] /= A[j][j]\n"
                "stage S2: A[i][j_2] -= A[i][k_2] * A[k_2][j_2]\n"
                "order {\n for i: 0 <= i < n {\n"
                "  for j: 0 <= j < i {\n   for k: 0 <= k < j {\n    S0\n   }\n   S1\n  }\n"
                "  for j_2: i <= j_2 < n {\n   for k_2: 0 <= k_2 < i {\n    S2\n   }\n  }\n }\n}\n";

static const char *const sample_cholesky =
    SAMPLE_HEAD "axis i i32\naxis j i32\naxis k i32\naxis k_2 i32\n"
                "tensor A f64 [n][n]\n"
                "stage S0: A[i][j] -= A[i][k] * A[j][k]\n"
                "stage S1: A[i][j] /= A[j][j]\n"
                "stage S2: A[i][i] -= A[i][k_2] * A[i][k_2]\n"
                "stage S3: A[i][i] = sqrt(A[i][i])\n"
                "order {\n for i: 0 <= i < n {\n"
                "  for j: 0 <= j < i {\n   for k: 0 <= k < j {\n    S0\n   }\n   S1\n  }\n"
                "  for k_2: 0 <= k_2 < i {\n   S2\n  }\n  S3\n }\n}\n";

/* C = beta*C, then C += A*B, in one nest */
static const char *const sample_gemm_beta = SAMPLE_HEAD
    "axis i i32\naxis j i32\naxis k i32\n"
    "tensor beta f32 scalar\ntensor A f32 [n][n]\ntensor B f32 [n][n]\ntensor C f32 [n][n]\n"
    "stage S0: C[i][j] *= beta\n"
    "stage S1: C[i][j] += A[i][k] * B[k][j]\n"
    "order {\n for i: 0 <= i < n {\n  for j: 0 <= j < n {\n   S0\n"
    "   for k: 0 <= k < n {\n    S1\n   }\n  }\n }\n}\n";

/* Gauss-Seidel */
static const char *const sample_seidel = SAMPLE_HEAD
    "param steps i32 sizes 10\n"
    "axis t i32\naxis i i32\naxis j i32\n"
    "tensor A f64 [n][n]\n"
    "stage S0: A[i][j] = A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]\n"
    "order {\n for t: 0 <= t < steps {\n  for i: 1 <= i < n - 1 {\n   for j: 1 <= j < n - 1 {\n"
    "    S0\n   }\n  }\n }\n}\n";

/* A[i][j] = A[i][j + 1], in place */
static const char *const sample_shift =
    SAMPLE_HEAD "axis i i32\naxis j i32\n"
                "tensor A f32 [n][n]\n"
                "stage S0: A[i][j] = A[i][j + 1]\n"
                "order {\n for i: 0 <= i < n {\n  for j: 0 <= j < n - 1 {\n   S0\n  }\n }\n}\n";

/* x[i] -= L[i][j] * x[j], then the diagonal */
static const char *const sample_trisolv = SAMPLE_HEAD
    "axis i i32\naxis j i32\n"
    "tensor L f64 [n][n]\ntensor b f64 [n]\ntensor x f64 [n]\n"
    "stage S0: x[i] = b[i]\n"
    "stage S1: x[i] -= L[i][j] * x[j]\n"
    "stage S2: x[i] /= L[i][i]\n"
    "order {\n for i: 0 <= i < n {\n  S0\n  for j: 0 <= j < i {\n   S1\n  }\n  S2\n }\n}\n";

/* every third element, every other row */
static const char *const sample_strided =
    SAMPLE_HEAD "axis i i32\naxis j i32\n"
                "div @0 = (i) / 2\ndiv @1 = (j + 1) / 3\n"
                "tensor A f32 [?]\ntensor B f32 [?][n]\n"
                "stage S0: A[@0] = B[i][@1]\n"
                "stage S1: B[i][@1 + 1] = A[i]\n"
                "order {\n for i: 0 <= i < n {\n  for j: 0 <= j < n {\n   S0\n"
                "   if: i - 2*@0 == 0 {\n    S1\n   }\n  }\n }\n}\n";

#endif

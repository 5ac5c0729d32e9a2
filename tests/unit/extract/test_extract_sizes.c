/* Default sizes from declared extents; the user's own against them; what is asked for. */
#include "fixture.h"

#define LOOP2(n, m, body)                                                                          \
    "TUNE; for (int i = 0; i < " n "; i++) for (int j = 0; j < " m "; j++) { " body " }"
#define LOOP(n, body) "TUNE; for (int i = 0; i < " n "; i++) { " body " }"
#define ARRAYS                                                                                     \
    "double A[1200][1000], C[900][1200], v[500]; float L[10000], W[2000][2000]; int mask[100];\n"  \
    "struct s { int n; float *d; float e[77]; float tail[1]; };\n"
#define F(body)                                                                                    \
    ARRAYS "void f(int n, int m, int ni, int k, int lda, double *p, struct s *s) { " body " }"

static const extract_case defaults[] = {
    {"both dimensions",
     F(LOOP2("n", "m", "A[i][j] *= 2;")),
     {"param n i32 sizes 1200\n", "param m i32 sizes 1000\n"}},
    {"one counter for both", F(LOOP2("n", "n", "A[i][j] *= 2;")), {"param n i32 sizes 1000\n"}},
    {"several arrays: the least",
     F(LOOP2("ni", "n", "C[i][j] = A[j][i];")),
     {"param ni i32 sizes 900\n", "param n i32 sizes 1200\n"}},
    {"offsets and strides",
     F("TUNE; for (int i = 1; i < n - 1; i++) v[3 * i + 2] = v[i];"),
     {"param n i32 sizes 167\n"}},
    {"halo in both dimensions",
     "double in[900][1200], out[900][1200]; void f(int h, int w) { TUNE; for (int i = 1; i < h - "
     "1; "
     "i++) for (int j = 1; j < w - 1; j++) { double s = 0; for (int y = -1; y <= 1; y++) for (int "
     "x = -1; x <= 1; x++) s += in[i + y][j + x]; out[i][j] = s; } }",
     {"param h i32 sizes 900\n", "param w i32 sizes 1200\n"}},
    {"step", F("TUNE; for (int i = 0; i < n; i += 7) v[i] = 1;"), {"param n i32 sizes 504\n"}},
    {"backwards", F("TUNE; for (int i = n; i > 0; i--) v[i] = 1;"), {"param n i32 sizes 499\n"}},
    {"linear",
     F(LOOP2("n", "m", "L[i * m + j] = 1;")),
     {"param n i32 sizes 100\n", "param m i32 sizes 100\n"}},
    {"sizes of 0 and below",
     F("TUNE sizes(n=100, k=0|-1); for (int i = 1; i < n; i++) p[i] = p[i + k];"),
     {"param k i32 sizes 0 -1\n"}},
    {"offset parameter",
     F(LOOP("n", "v[i + k] = 1;")),
     {"param n i32 sizes 250\n", "param k i32 sizes 250\n"}},
    {"triangle is exact",
     F("TUNE; for (int i = 0; i < n; i++) for (int j = 0; j < n - i; j++) v[i + j] = 1;"),
     {"param n i32 sizes 500\n"}},
    {"lower bound",
     F("TUNE; for (int i = k; i < n; i++) v[i] = 1;"),
     {"param n i32 sizes 500\n", "param k i32 sizes 1\n"}},
    {"lower bound of a pointer",
     F("TUNE; for (int i = k; i < n; i++) p[i] = 1;"),
     {"param n i32 sizes 1024\n", "param k i32 sizes 1\n"}},
    {"parameter array",
     "void f(int n, float x[100][50], float y[70]) { TUNE; for (int i = 0; i < n; i++) for (int j "
     "= 0; j < n; j++) y[i] += x[i][j]; }",
     {"param n i32 sizes 50\n"}},
    {"local array",
     "void f(int n, float *p) { float t[300]; " LOOP("n", "t[i] = p[i];")
         LOOP("n", "p[i] = t[i];") "}",
     {"param n i32 sizes 300\n", "!sizes 1024"}},
    {"member", F(LOOP("s->n", "s->d[i] = s->e[i];")), {"param s_n i32 sizes 77"}},
    {"member of unknown size", F(LOOP("s->n", "s->d[i] = 1;")), {"param s_n i32 sizes 1024"}},
    {"last member of one", F(LOOP("s->n", "s->tail[i] = 1;")), {"param s_n i32 sizes 1024"}},
    {"variable extents follow",
     F("double x[k][k]; " LOOP2("n", "n", "x[i][j] = v[i];") " p[0] = x[0][0];"),
     {"param k i32 sizes 1024\n", "param n i32 sizes 500\n"}},
    {"leading dimension",
     F(LOOP2("n", "m", "p[i * lda + j] = W[i][j];")),
     {"param n i32 sizes 2000\n", "param m i32 sizes 2000\n", "param lda i32 sizes 2000\n"}},
    {"condition inside an expression is exact, too",
     F(LOOP("n", "L[i] = i + 1 < n ? v[i + 1] : 0;")),
     {"param n i32 sizes 500\n"}},
    {"data decides", F(LOOP("n", "if (mask[i]) v[i + 1] = 1;")), {"param n i32 sizes 100\n"}},
    {"condition of data inside an expression counts as always",
     F(LOOP("n", "L[i] = mask[i] ? v[i + 1] : 0;")),
     {"param n i32 sizes 100\n"}},
    {"halo row moves the leading dimension, the array bounds it",
     F(LOOP("n", "for (int j = 0; j < m; j++) L[i * lda + j + 2] = 0;")),
     {"param n i32 sizes 100\n", "param m i32 sizes 97\n", "param lda i32 sizes 99\n"}},
    {"affine condition is exact",
     F(LOOP("n", "if (i < 20) mask[i] = 1; L[i] = 1;")),
     {"param n i32 sizes 10000\n"}},
    {"one is given",
     F("TUNE sizes(m=10); for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
       "L[i * m + j] = 1;"),
     {"param n i32 sizes 1000\n", "param m i32 sizes 10\n"}},
    {"all are given",
     F("TUNE sizes(n=30); for (int i = 0; i < n; i++) v[i] = 1;"),
     {"param n i32 sizes 30\n"}},
    {"memory",
     "void f(int n, double a[n][n][n]) { " LOOP2("n", "n", "a[i][j][0] = 1;") "}",
     {"param n i32 sizes 256\n"}},
    {"memory, two of four",
     "void f(int n, int m, double a[n][m][n][m]) { " LOOP2("n", "m", "a[i][j][0][0] = 1;") "}",
     {"param n i32 sizes 64\n", "param m i32 sizes 64\n"}},
    {"product of parameters with sizes",
     F("TUNE sizes(n=10); for (int i = 0; i < n * n; i++) v[i] = 1;"),
     {"sizes 100"}},
    {"time steps",
     F("TUNE; for (int t = 0; t < k; t++) for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
       "A[i][j] *= 2;"),
     {"param n i32 sizes 1200\n", "param m i32 sizes 1000\n", "param k i32 sizes 128\n"}},
    {"time steps of pointers",
     "void f(int t, int n, float a[n][n], float b[n][n]) { TUNE; for (int k = 0; k < t; k++) { for "
     "(int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = b[j][i]; for (int i = 0; i < "
     "n; "
     "i++) for (int j = 0; j < n; j++) b[i][j] = a[i][j]; } }",
     {"param t i32 sizes 128\n", "param n i32 sizes 1024\n"}},
    {"a sum is no time step",
     F(LOOP2("n", "m", "p[i] += W[j][0];")),
     {"param n i32 sizes 1024\n", "param m i32 sizes 2000\n"}},
    {"no limit", F(LOOP("n", "p[i] = 1;")), {"param n i32 sizes 1024\n"}},
};

static const extract_case beyond[] = {
    {"too large",
     F("TUNE sizes(n=2000); for (int i = 0; i < n; i++) v[i] = 1;"),
     {"error [size-beyond-extent] sizes(n=2000): the loops reach index 1999 in dimension 1 of 'v', "
      "which is declared with 500"}},
    {"the second value",
     F("TUNE sizes(n=20|501); for (int i = 0; i < n; i++) v[i] = 1;"),
     {"sizes(n=501): the loops reach index 500"}},
    {"the second dimension",
     F("TUNE sizes(n=7, m=1001); for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = "
       "1;"),
     {"sizes(n=7, m=1001): the loops reach index 1000 in dimension 2 of 'A', which is declared "
      "with 1000"}},
    {"exactly", F("TUNE sizes(n=500); for (int i = 0; i < n; i++) v[i] = 1;"), {"!beyond"}},
    {"triangle, exactly",
     F("TUNE sizes(n=500); for (int i = 0; i < n; i++) for (int j = 0; j < n - i; j++) v[i + j] = "
       "1;"),
     {"!beyond"}},
    {"select",
     F("TUNE sizes(n=500); for (int i = 0; i < n; i++) L[i] = i + 1 < n ? v[i + 1] : 0;"),
     {"!beyond", "param n"}},
    {"and",
     F("TUNE sizes(n=500); for (int i = 0; i < n; i++) L[i] = i + 1 < n && v[i + 1] > 0;"),
     {"!beyond", "param n"}},
    {"affine condition",
     F("TUNE sizes(n=500); for (int i = 0; i < n; i++) if (i + 1 < n) L[i] = v[i + 1];"),
     {"!beyond", "param n"}},
    {"data",
     F("TUNE sizes(n=100); for (int i = 0; i < n; i++) if (mask[i]) L[i] = mask[i + 1];"),
     {"!beyond", "param n"}},
    {"a promise",
     "void f(int n, float y[70]) { TUNE sizes(n=100); for (int i = 0; i < n; i++) "
     "y[i] = 1; }",
     {"!beyond", "param n i32 sizes 100\n"}},
};

static const extract_case unknown[] = {
    {"product", F(LOOP("n * n", "v[i] = 1;")), {"[sizes-unknown]", "write sizes(n=...)"}},
    {"product of two",
     F(LOOP("n * m", "v[i] = 1;")),
     {"[sizes-unknown]", "write sizes(n=..., m=...)"}},
};

static void test_defaults(void **state) {
    (void)state;
    RUN_CASES(defaults);
}

static void test_beyond(void **state) {
    (void)state;
    RUN_CASES(beyond);
}

static void test_unknown(void **state) {
    (void)state;
    RUN_CASES(unknown);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),
                                       cmocka_unit_test(test_beyond),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

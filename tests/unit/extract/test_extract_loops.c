/* Loop headers: one row per shape that users write. */
#include "fixture.h"

#define F(body)                                                                                    \
    "void f(int n, int m, unsigned u, long l, float *a, float *b, int *k) { TUNE; " body " }"

static const extract_case handled[] = {
    {"rows of a sparse matrix",
     "void f(int n, const int *r, const int *c, const float *v, const float *x, float *restrict y) "
     "{ "
     "TUNE; for (int i = 0; i < n; i++) for (int k = r[i]; k < r[i + 1]; k++) y[i] += v[k] * "
     "x[c[k]]; }",
     {"div @0 = r[i]", "for k: k - @0 >= 0, -k + @1 - 1 >= 0", "x[@2]"}},
    {"lengths, counters declared before",
     "void f(int n, const short *len, const float *b, float *restrict y) { int i, k; TUNE; for (i "
     "= 0; "
     "i < n; i++) for (k = 0; k <= len[i]; k++) y[i] += b[k]; }",
     {"for k: k >= 0, -k + @0 >= 0"}},
    {"steps from a load",
     "void f(int n, const int *r, const float *b, float *restrict y) { TUNE; for (int i = 0; i < "
     "n; "
     "i++) for (int k = r[i]; k < r[i + 1]; k += 2) y[i] += b[k]; }",
     {"b[2*k + @0]"}},
    {"lt", F("for (int i = 0; i < n; ++i) a[i] = 1;"), {"i >= 0, -i + n - 1 >= 0", "!assume"}},
    {"le", F("for (int i = 1; i <= n; i++) a[i] = 1;"), {"i - 1 >= 0, -i + n >= 0"}},
    {"gt", F("for (int i = n; i > 0; i--) a[i] = 1;"), {"axis i i32 step -1", "a[-i + n] ="}},
    {"ge", F("for (int i = n - 1; i >= 0; --i) a[i] = 1;"), {"a[-i + n - 1] ="}},
    {"ne", F("for (int i = 0; i != n; i += 1) a[i] = 1;"), {"assume n >= 0", "-i + n - 1 >= 0"}},
    {"reversed comparison", F("for (int i = 0; n > i; i++) a[i] = 1;"), {"-i + n - 1 >= 0"}},
    {"i = i + c", F("for (int i = 0; i < n; i = i + 2) a[i] = 1;"), {"step 2", "a[2*i]"}},
    {"i = c + i", F("for (int i = 0; i < n; i = 3 + i) a[i] = 1;"), {"step 3", "a[3*i]"}},
    {"i -= c", F("for (int i = n; i > 4; i -= 4) a[i] = 1;"), {"step -4", "a[-4*i + n]"}},
    {"unsigned", F("for (unsigned i = 0; i < u; i++) a[i] = 1;"), {"axis i u32", "!assume"}},
    {"unsigned n-1", F("for (unsigned i = 0; i < u - 1; i++) a[i] = 1;"), {"assume u - 1 >= 0"}},
    {"short",
     F("for (short i = 0; i < n; i++) a[i] = 1;"),
     {"axis i i16", "assume -n + 32767 >= 0"}},
    {"char", F("for (signed char i = 0; i < 100; i++) a[i] = 1;"), {"axis i i8", "!assume"}},
    {"long", F("for (long i = 0; i < l; i++) a[i] = 1;"), {"axis i i64", "assume -l + 2147483648"}},
    {"size_t and int", F("for (unsigned long i = 0; i < n; i++) a[i] = 1;"), {"assume n >= 0"}},
    {"int and unsigned", F("for (int i = 0; i < u; i++) a[i] = 1;"), {"axis i i32", "!assume"}},
    {"typedef",
     "typedef unsigned idx; void f(idx n, float *a) { TUNE; for (idx i = 0; i < n; i++) a[i] = 1; "
     "}",
     {"axis i u32"}},
    {"counter before",
     "int f(int n, float *a) { int i; TUNE; for (i = 0; i < n; i++) a[i] = 1; return i; }",
     {"i = (int)((ctune_lo_i + ctune_n_i))"}},
    {"counter before, dead",
     "void f(int n, float *a) { int i; TUNE; for (i = 0; i < n; i++) a[i] = 1; }",
     {"stage S0", "!ctune_n_i"}},
    {"counter set again",
     "int f(int n, float *a) { int i; TUNE; for (i = 0; i < n; i++) a[i] = 1; for (i = 0; i < n; "
     "i++) a[i]++; return i; }",
     {"stage S0", "!ctune_n_i"}},
    {"counter in an outer loop",
     "void f(int n, float *a) { int i; for (int t = 0; t < i; t++) { TUNE; for (i = 0; i < n; i++) "
     "a[i] = 1; } }",
     {"ctune_n_i"}},
    {"negative lower bound",
     F("for (int i = -5; i < n; i++) a[i + 5] = 1;"),
     {"i + 5 >= 0", "a[i + 5]"}},
    {"triangular",
     F("for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) a[j] += b[i];"),
     {"-i + j - 1 >= 0"}},
    {"trapezoid",
     F("for (int i = 0; i < n; i++) for (int j = i; j < i + 4; j++) a[j] += b[i];"),
     {"-i + j >= 0, i - j + 3 >= 0"}},
    {"min",
     "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n" F(
         "for (int i = 0; i < MIN(n, m); i++) a[i] = 1;"),
     {"-i + n - 1 >= 0, -i + m - 1 >= 0"}},
    {"max lower",
     F("for (int i = n > m ? n : m; i < 5000; i++) a[i] = 1;"),
     {"i - n >= 0", "i - m >= 0"}},
    {"max upper",
     F("for (int i = 0; i < (n > m ? n : m); i++) a[i] = 1;"),
     {"text \"((n > m) ? n : m)\""}},
    {"quadratic bound",
     F("for (int i = 0; i < n * n; i++) a[i] = 1;"),
     {"text \"((long)n * n)\"", "sizes 1048576"}},
    {"product bound", F("for (int i = 0; i < n * m; i++) a[i] = 1;"), {"text \"((long)n * m)\""}},
    {"half", F("for (int i = 0; i < n / 2; i++) a[i] = 1;"), {"assume n >= 0", "div @0 = (n) / 2"}},
    {"coefficient", F("for (int i = 0; 2 * i < n; i++) a[i] = 1;"), {"-2*i + n - 1 >= 0"}},
    {"and",
     F("for (int i = 0; i < n && i < m; i++) a[i] = 1;"),
     {"-i + n - 1 >= 0, -i + m - 1 >= 0"}},
    {"empty", F("for (int i = 5; i < 3; i++) a[i] = 1;"), {"stage S0"}},
    {"truth value", F("for (int i = n; i; i--) a[i] = 1;"), {"assume n >= 0"}},
    {"zero trips", F("for (int i = 0; i < 0; i++) a[i] = 1;"), {"stage S0"}},
    {"imperfect",
     F("for (int i = 0; i < n; i++) { a[i] = 0; for (int j = 0; j < m; j++) a[i] += b[j]; a[i] *= "
       "2; }"),
     {"S0", "S1", "S2"}},
    {"names",
     F("for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) a[j] = 1; for (int j = 0; j < n; "
       "j++) a[j] += 1; }"),
     {"axis j i32", "axis j_2 i32"}},
    {"hundred", F("for (int i = 0; i < 100; i++) a[i] = 1;"), {"-i + 99 >= 0"}},
    {"step from a macro",
     "#define STEP 4\n" F("for (int i = 0; i < n; i += STEP) a[i] = 1;"),
     {"step 4"}},
    {"sizeof",
     F("for (unsigned long i = 0; i < sizeof(int) * 4; i++) a[i] = 1;"),
     {"-i + 15 >= 0"}},
    {"enum",
     "enum { K = 7 }; void f(float *a) { TUNE; for (int i = 0; i < K; i++) a[i] = 1; }",
     {"-i + 6 >= 0"}},
    {"const local",
     "void f(float *a) { const int n = 7; TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"-i + 6"}},
    {"two nests",
     F("{ for (int i = 0; i < n; i++) a[i] = 1; for (int i = 0; i < m; i++) b[i] = a[i]; }"),
     {"axis i_2 i32"}},
    {"huge product",
     F("for (int i = 0; i < 2000000000; i++) for (int j = 0; j < 2000000000; j++) for (int h = 0; "
       "h < 2000000000; h++) a[0] += b[h];"),
     {"stage S0"}},
};

static const extract_case refused[] = {
    {"mixed signs, zero trips", F("for (int i = -1000; i < 10u; ++i) a[i] = 1;"), {"[range]"}},
    {"bool counter", F("for (_Bool i = 0; i < 2; i++) a[i] = 1;"), {"[counter-wraps]"}},
    {"char counter", F("for (unsigned char i = 0; i < 256; i++) a[i] = 1;"), {"[counter-wraps]"}},
    {"unsigned down", F("for (unsigned i = u - 1; i >= 0; i--) a[i] = 1;"), {"[counter-wraps]"}},
    {"unsigned trick", F("for (unsigned i = u - 1; i < u; i--) a[i] = 1;"), {"[loop-direction]"}},
    {"run-time step",
     F("for (int i = 0; i < n; i += m) a[i] = 1;"),
     {"[step-not-constant]", "'m'"}},
    {"zero step", F("for (int i = 0; i < n; i += 0) a[i] = 1;"), {"[step-not-constant]"}},
    {"two counters", F("for (int i = 0, j = 1; i < n; i++) a[i] = j;"), {"[several-counters]"}},
    {"two increments",
     F("int j = 0; for (int i = 0; i < n; i++, j++) a[i] = 1;"),
     {"[not-a-loop]"}},
    {"two increments 2", F("for (int i = 0; i < n; i++, m++) a[i] = 1;"), {"[several-counters]"}},
    {"bound changes",
     F("for (int i = 0; i < n; i++) { a[i] = 1; n--; }"),
     {"[bound-changes]", "'n'"}},
    {"bound reads array",
     F("for (int i = 0; i < n; i++) for (int j = 0; j < k[i]; j++) k[j] = 1;"),
     {"[bound-reads-array]", "'k[i]'"}},
    {"bound reads array on a condition",
     "void f(int n, const int *k, float *restrict a) { TUNE; for (int i = 0; i < n; i++) if (k[i] "
     "> "
     "0) for (int j = k[i]; j < k[i + 1]; j++) a[i] += j; }",
     {"[bound-reads-array]", "on a condition"}},
    {"bound reads array, counter is read after it",
     "int f(int n, const int *k, float *restrict a) { int j = 0; TUNE; for (int i = 0; i < n; i++) "
     "for (j = k[i]; j < k[i + 1]; j++) a[i] += j; return j; }",
     {"[counter-live-out]"}},
    {"i times i",
     F("for (int i = 0; i < n; i++) for (int j = 0; j < i * i; j++) a[j] = 1;"),
     {"[bound-not-affine]", "i * i"}},
    {"empty header", F("for (;;) a[0] = 1;"), {"[loop-form]"}},
    {"while", F("while (a[n] > 0) a[n] -= 1;"), {"[while-loop]"}},
    {"while with continue",
     F("{ int i = 0; while (i < n) { if (a[i] > 0) continue; a[i] = 1; i++; } }"),
     {"[while-loop]"}},
    {"while that steps twice",
     F("{ int i = 0; while (i < n) { a[i] = 1; i++; i++; } }"),
     {"[counter-written]"}},
    {"no condition", F("for (;;) a[0] += 1;"), {"[loop-form]"}},
    {"start from data",
     F("{ int i = k[0]; k[1] = 2; i = k[1]; while (i < n) { a[i] = 1; i++; } }"),
     {"[loop-form]", "starts"}},
    {"do", F("do a[n] = 1; while (n-- > 0);"), {"[while-loop]"}},
    {"inner while", F("for (int i = 0; i < n; i++) while (k[i]) k[i]--;"), {"[while-loop]"}},
    {"counting down before the test", F("for (int i = n; --i > 0;) a[i] = 1;"), {"[loop-form]"}},
    {"side effect 2", F("for (int i = n; i-- > 0; i += 0) a[i] = 1;"), {"[step-not-constant]"}},
    {"direction", F("for (int i = 0; i < n; i--) a[i] = 1;"), {"[loop-direction]"}},
    {"invariant condition", F("for (int i = 0; m < n; i++) a[i] = 1;"), {"[loop-condition]"}},
    {"equal", F("for (int i = 0; i == n; i++) a[i] = 1;"), {"[loop-condition]"}},
    {"ne with step 2", F("for (int i = 0; i != n; i += 2) a[i] = 1;"), {"[loop-condition]"}},
    {"data in condition",
     F("for (int i = 0; i < n && k[i] > 0; i++) a[i] = 1;"),
     {"[bound-reads-array]"}},
    {"float counter", F("for (float x = 0; x < n; x++) a[0] += x;"), {"[counter-type]"}},
    {"pointer counter", F("for (float *p = a; p < b; p++) *p = 1;"), {"[moving-pointer]"}},
    {"counter written", F("for (int i = 0; i < n; i++) { a[i] = 1; i++; }"), {"[counter-written]"}},
    {"counter reused",
     F("int q; for (int i = 0; i < n; i++) for (i = 0; i < n; i++) a[i] = 1;"),
     {"[not-a-loop]"}},
    {"counter reused 2",
     F("for (int i = 0; i < n; i++) for (i = 0; i < n; i++) a[i] = 1;"),
     {"[counter-written]"}},
    {"global counter",
     "int i; void f(int n, float *a) { TUNE; for (i = 0; i < n; i++) a[i] = 1; }",
     {"[counter-not-local]"}},
    {"counter address",
     "void g(int *); void f(int n, float *a) { int i; g(&i); TUNE; for (i = 0; i < n; i++) a[i] = "
     "1; }",
     {"[counter-not-local]"}},
    {"member counter",
     "struct s { int i; }; void f(int n, float *a, struct s *s) { TUNE; for (s->i = 0; s->i < n; "
     "s->i++) a[s->i] = 1; }",
     {"[counter-not-local]"}},
    {"counter after its loop",
     "void f(int n, float *a) { int i; TUNE; { for (i = 0; i < n; i += 3) a[i] = 1; a[i] = 2; } }",
     {"[counter-read-after]"}},
    {"run-time division", F("for (int i = 0; i < n / m; i++) a[i] = 1;"), {"[bound-not-affine]"}},
    {"call in bound",
     "int g(void); void f(float *a) { TUNE; for (int i = 0; i < g(); i++) a[i] = 1; }",
     {"[call]"}},
    {"negative division",
     F("for (int i = -n; i < n; i++) a[i / 2 + n] = 1;"),
     {"[subscript-not-affine]", "may be negative"}},
    {"wrong sizes",
     "void f(int n, int m, float *a) { TUNE sizes(n=100, m=50); for (int i = 0; i < n; i++) for "
     "(int j = 0; j < n; j++) a[i * m + j] = 1; }",
     {"[subscript-not-affine]"}},
    {"many conditions",
     F("for (int i = 0; i < n && i < m && i < n + 1 && i < n + 2 && i < n + 3 && i < n + 4 && i < "
       "n + 5 && "
       "i < n + 6 && i < n + 7 && i < n + 8 && i < n + 9 && i < n + 10 && i < n + 11 && i < n + 12 "
       "&& "
       "i < n + 13 && i < n + 14 && i < n + 15 && i < n + 16; i++) a[i] = 1;"),
     {"[too-complex]"}},
    {"empty loop", F("for (int i = 0; i < n; i++) ;"), {"[nothing-to-tune]"}},
    {"too deep",
     F("for (int i1=0;i1<n;i1++) for (int i2=0;i2<n;i2++) for (int i3=0;i3<n;i3++) for (int "
       "i4=0;i4<n;i4++) for (int i5=0;i5<n;i5++) for (int i6=0;i6<n;i6++) for (int i7=0;i7<n;i7++) "
       "for (int i8=0;i8<n;i8++) for (int i9=0;i9<n;i9++) for (int j1=0;j1<n;j1++) for (int "
       "j2=0;j2<n;j2++) for (int j3=0;j3<n;j3++) for (int j4=0;j4<n;j4++) a[j4] = 1;"),
     {"[too-deep]"}},
    {"wrapv",
     F("for (int i = 0; i <= n; i++) a[i] = 1;"),
     {"assume -n + 2147483646 >= 0"},
     {"-fwrapv"}},
};

static void test_handled(void **state) {
    (void)state;
    RUN_CASES(handled);
}

static void test_refused(void **state) {
    (void)state;
    RUN_CASES(refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_handled),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

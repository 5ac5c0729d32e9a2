/* OpenMP directives and other compilers' hints around, on and in the loop. */
#include "fixture.h"

#define LOOP "for (int i = 0; i < n; i++) a[i] = 1;"
#define F(body) "void f(int n, int m, float *a) { " body " }"

/* The compile has -fopenmp where the row says so. */
#define SUM "float f(int n, float *a) { float s = 0; "
#define ADD "for (int i = 0; i < n; i++) s += a[i]; return s; }"
static const extract_case others[] = {
    {"hint above", F("\n#pragma unroll\nTUNE; " LOOP), {"S0"}},
    {"clang loop above", F("\n#pragma clang loop unroll(full)\nTUNE; " LOOP), {"S0"}},
    {"unknown pragma inside", F("TUNE; {\n#pragma acc kernels\n" LOOP "}"), {"S0"}},
    {"unknown pragma above", F("\n#pragma novel hint\nTUNE; " LOOP), {"S0"}},
    {"omp above", F("\n#pragma omp parallel for\nTUNE; " LOOP), {"S0", "!serial"}},
    {"omp above, enabled",
     F("\n#pragma omp parallel for\nTUNE; " LOOP),
     {"S0", "!serial"},
     {"-fopenmp"}},
    {"omp below", F("TUNE; \n#pragma omp parallel for\n" LOOP), {"S0"}},
    {"omp below, enabled",
     F("TUNE; \n#pragma omp parallel for schedule(static) num_threads(2)\n" LOOP),
     {"S0", "!serial"},
     {"-fopenmp"}},
    {"omp inside",
     F("TUNE; for (int j = 0; j < m; j++)\n#pragma omp simd safelen(8)\n" LOOP),
     {"S0", "!serial"},
     {"-fopenmp"}},
    {"omp operator",
     F("TUNE; for (int j = 0; j < m; j++) _Pragma(\"omp simd\") " LOOP),
     {"S0"},
     {"-fopenmp"}},
    {"reduction", SUM "TUNE;\n#pragma omp simd reduction(+ : s)\n" ADD, {"; reassoc", "!option"}},
    {"reduction, enabled",
     SUM "TUNE;\n#pragma omp parallel for reduction(+:s)\n" ADD,
     {"; reassoc", "!option"},
     {"-fopenmp"}},
    {"reduction, strict", SUM "TUNE strict;\n#pragma omp simd reduction(+:s)\n" ADD, {"!reassoc"}},
    {"reduction of another", SUM "TUNE;\n#pragma omp simd reduction(+:t)\n" ADD, {"!reassoc"}},
    {"reduction elsewhere",
     "float f(int n, float *a) { float s = 0; TUNE; {\n#pragma omp simd reduction(+:s)\nfor (int i "
     "= 0; i < n; i++) a[i] = 1; for (int i = 0; i < n; i++) s += a[i]; } return s; }",
     {"S1", "!reassoc"}},
    {"inside a parallel region",
     F("\n#pragma omp parallel\n{ a[0] = 1; TUNE; " LOOP "}"),
     {"option serial"},
     {"-fopenmp"}},
    {"inside a parallel region, disabled",
     F("\n#pragma omp parallel\n{ a[0] = 1; TUNE; " LOOP "}"),
     {"!serial"}},
    {"inside a work-sharing loop",
     F("\n#pragma omp parallel for\nfor (int j = 0; j < m; j++) { TUNE; " LOOP "}"),
     {"option serial"},
     {"-fopenmp"}},
    {"after a parallel region",
     "void g(float *a) {\n#pragma omp parallel\n{ a[0] = 1; }\n}\n" F("TUNE; " LOOP),
     {"!serial"},
     {"-fopenmp"}},
    {"threadprivate",
     "static float q;\n#pragma omp threadprivate(q)\n" F("TUNE; " LOOP),
     {"option serial"},
     {"-fopenmp"}},
    {"private scalar stays alone",
     "float f(int n, float *a) { float t = 3; TUNE;\n#pragma omp parallel for private(t)\nfor (int "
     "i "
     "= 0; i < n; i++) { t = a[i]; a[i] = t * t; } return t; }",
     {"tensor t f32 [?] update temp"},
     {"-fopenmp"}},
    {"private scalar, disabled",
     "float f(int n, float *a) { float t = 3; TUNE;\n#pragma omp parallel for private(t)\nfor (int "
     "i "
     "= 0; i < n; i++) { t = a[i]; a[i] = t * t; } return t; }",
     {"tensor t f32 update scalar"}},
    {"counter of a work-sharing loop stays alone",
     "int f(int n, int m, float *a) { int i, j; TUNE;\n#pragma omp parallel for private(j)\nfor (i "
     "= "
     "0; i < n; i++) for (j = 0; j < m; j++) a[i * m + j] = 1; return i + j; }",
     {"S0", "!ctune_n_i", "!i ="},
     {"-fopenmp"}},
    {"collapsed counters stay alone",
     "int f(int n, int m, float *a) { int i, j; TUNE;\n#pragma omp parallel for collapse(2)\nfor "
     "(i "
     "= 0; i < n; i++) for (j = 0; j < m; j++) a[i * m + j] = 1; return i + j; }",
     {"S0", "!ctune_n_i", "!ctune_n_j"},
     {"-fopenmp"}},
    {"counter of a simd loop",
     "int f(int n, float *a) { int i; TUNE;\n#pragma omp simd\nfor (i = 0; i < n; i++) a[i] = 1; "
     "return i; }",
     {"ctune_n_i"},
     {"-fopenmp"}},
    {"work of a team", F("TUNE;\n#pragma omp for\n" LOOP), {"[openmp-loop]"}, {"-fopenmp"}},
    {"work of a team, disabled", F("TUNE;\n#pragma omp for\n" LOOP), {"S0", "!remark"}},
    {"team in the region",
     F("TUNE;\n#pragma omp parallel\n{\n#pragma omp for nowait\n" LOOP "\n#pragma omp barrier\n}"),
     {"S0", "!remark"},
     {"-fopenmp"}},
    {"barrier of an outer team",
     F("TUNE; {" LOOP "\n#pragma omp barrier\n" LOOP "}"),
     {"[openmp-loop]"},
     {"-fopenmp"}},
    {"device", F("TUNE;\n#pragma omp target\n" LOOP), {"[openmp-loop]"}, {"-fopenmp"}},
    {"tasks", F("TUNE;\n#pragma omp taskloop\n" LOOP), {"[openmp-loop]"}, {"-fopenmp"}},
    {"firstprivate, written",
     "float f(int n, float *a) { float t = 3; TUNE;\n#pragma omp parallel for firstprivate(t)\nfor "
     "(int i = 0; i < n; i++) { t = a[i]; a[i] = t * t; } return t; }",
     {"[openmp-loop]"},
     {"-fopenmp"}},
    {"firstprivate, read",
     "void f(int n, float t, float *a) { TUNE;\n#pragma omp parallel for firstprivate(t)\nfor "
     "(int i = 0; i < n; i++) a[i] = t; }",
     {"S0"},
     {"-fopenmp"}},
    {"private, read before written",
     "void f(int n, float *a) { float t = 3; TUNE;\n#pragma omp parallel for private(t)\nfor (int "
     "i "
     "= 0; i < n; i++) { a[i] = t; t = a[i]; } }",
     {"[openmp-loop]"},
     {"-fopenmp"}},
    {"code under _OPENMP",
     "#ifdef _OPENMP\n#define Q 3\n#else\n#define Q 4\n#endif\n" F(
         "TUNE; for (int i = 0; i < Q; i++) a[i] = 1;"),
     {"-i + 2"},
     {"-fopenmp"}},
};

static void test_others(void **state) {
    (void)state;
    RUN_CASES(others);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

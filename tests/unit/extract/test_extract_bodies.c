/* Loop bodies: statements, scalars, conditions, expressions. */
#include "fixture.h"

#define F(body)                                                                                    \
    "#include <math.h>\nvoid f(int n, int m, float *a, float *b, float *c, int *k) { TUNE; for "   \
    "(int i = 0; i < n; i++) { " body " } }"

static const extract_case handled[] = {
    {"declaration",
     F("float t = a[i] * 2; b[i] = t + t;"),
     {"tensor t f32 [?] update temp", "t[i] ="}},
    {"declaration, no initialiser", F("float t; t = a[i]; b[i] = t * t;"), {"temp", "t[i] = a[i]"}},
    {"forwarded", F("float t = a[i]; b[i] = t;"), {"S0: b[i] = a[i]", "!temp"}},
    {"forwarded in turn",
     F("float t = a[i]; float u = t + 1.0f; b[i] = u;"),
     {"S0: b[i] = a[i] + 1.0f", "!temp"}},
    {"forwarded into an update", F("float t = a[i]; b[i] += t;"), {"S0: b[i] += a[i]", "!temp"}},
    {"forwarded with its conversion",
     F("int t = a[i]; b[i] = t;"),
     {"b[i] = (f32) (i32) a[i]", "!temp"}},
    {"a product stays rounded", F("float t = a[i] * c[i]; b[i] += t;"), {"temp", "b[i] += t[i]"}},
    {"a sum is forwarded",
     F("float t = a[i] + c[i]; b[i] *= t;"),
     {"S0: b[i] *= a[i] + c[i]", "!temp"}},
    {"read twice", F("float t = a[i]; b[i] = t; c[i] = t;"), {"temp", "c[i] = t[i]"}},
    {"something in between", F("float t = a[i]; a[i] = 0; b[i] = t;"), {"temp", "b[i] = t[i]"}},
    {"read behind a condition", F("float t = a[i]; if (i > 2) b[i] = t;"), {"temp", "t[i] = a[i]"}},
    {"scalar from outside",
     "void f(int n, float *a) { float t; TUNE; for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * "
     "t; } }",
     {"tensor t f32 [?] update temp", "t[i] = a[i]"}},
    {"scalar live out",
     "float f(int n, float *a) { float t; TUNE; for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * "
     "t; } return t; }",
     {"tensor t f32 update scalar", "!temp"}},
    {"reduction",
     "float f(int n, float *a) { float s = 0; TUNE; for (int i = 0; i < n; i++) s += a[i]; return "
     "s; }",
     {"S0: s += a[i]", "!temp"}},
    {"private in inner loop",
     "void f(int n, int m, float *a, float *b) { float t; TUNE; for (int i = 0; i < n; i++) { for "
     "(int j = 0; j < m; j++) { t = a[j]; b[j] += t * t; } for (int j = 0; j < m; j++) { t = b[j]; "
     "a[j] += t * t; } } }",
     {"tensor t f32 [?][?] update temp", "tensor t_3 f32 [?][?] update temp"}},
    {"carried",
     "void f(int n, float *a) { float t = 1; TUNE; for (int i = 0; i < n; i++) { a[i] = t; t = "
     "a[i] * 2; } }",
     {"tensor t f32 update scalar", "!temp"}},
    {"maybe written",
     "void f(int n, float *a) { float t = 1; TUNE; for (int i = 0; i < n; i++) { if (a[i] > 0) t = "
     "a[i]; a[i] = t; } }",
     {"tensor t f32 update scalar", "!temp"}},
    {"written in both arms",
     "void f(int n, float *a) { float t; TUNE; for (int i = 0; i < n; i++) { if (a[i] > 0) t = "
     "a[i]; else t = 0; a[i] = t; } }",
     {"tensor t f32 [?] update temp"}},
    {"zero-trip writer",
     "void f(int n, int m, float *a) { float t = 3; TUNE; for (int i = 0; i < n; i++) { for (int j "
     "= 0; j < m; j++) t = a[j]; a[i] = t; } }",
     {"tensor t f32 update scalar"}},
    {"last writer wins",
     "int f(int n, int *k) { int last = -1; TUNE; for (int i = 0; i < n; i++) if (k[i]) last = i; "
     "return last; }",
     {"last = i32{i}", "when k[i] != 0"}},
    {"affine if", F("if (i > 3) a[i] = 1; else a[i] = 2;"), {"if: i - 4 >= 0", "if: -i + 3 >= 0"}},
    {"affine if, two", F("if (i > 3 && i < m) a[i] = 1;"), {"if: i - 4 >= 0, -i + m - 1 >= 0"}},
    {"equality", F("if (i == m) a[i] = 1;"), {"if: "}},
    {"inequality", F("if (i != m) a[i] = 1;"), {"if: -i + m - 1 >= 0", "if: i - m - 1 >= 0"}},
    {"own fmaxf",
     "static float fmaxf(float x, float y) { return x > y ? x : y; } void f(int n, float *a) { "
     "TUNE; for "
     "(int i = 0; i < n; i++) a[i] = fmaxf(a[i], 0); }",
     {"a[i] max= (f32) 0"}},
    {"global in a function",
     "static float s = 2; static float g(float x) { return x + s; } void f(int n, float *a) { "
     "TUNE; for "
     "(int i = 0; i < n; i++) a[i] = g(a[i]); }",
     {"a[i] += s"}},
    {"product of a function",
     "static float g(float x) { return x * x; } void f(int n, float *a, float *b) { TUNE; for (int "
     "i = 0; "
     "i < n; i++) a[i] = b[i] + g(a[i]); }",
     {"b[i] + (f32) (a[i] * a[i])"}},
    {"assertion without effect",
     "#include <assert.h>\nvoid f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) { "
     "assert(a[i] > 0); "
     "a[i] = 1; } }",
     {"a[i] = (f32) 1"},
     {"-DNDEBUG"}},
    {"data if", F("if (a[i] > 0) b[i] = a[i];"), {"when a[i] > (f32) 0"}},
    {"data else", F("if (a[i] > 0) b[i] = 1; else b[i] = 2;"), {"when !(a[i] > (f32) 0)"}},
    {"condition is changed",
     F("if (a[i] > 0) { a[i] = 0; b[i] = 1; }"),
     {"tensor cond i32 [?] update temp", "when cond[i] != 0"}},
    {"affine and data",
     F("if (i > 0 && a[i - 1] > 0) b[i] = 1;"),
     {"if: i - 1 >= 0", "when a[i - 1] > (f32) 0"}},
    {"select", F("b[i] = a[i] > 0 ? a[i] : -a[i];"), {"select(a[i] > (f32) 0, a[i], -a[i])"}},
    {"integer max by if", F("if (k[i] > k[n]) k[n] = k[i];"), {"k[n] max= k[i]", "!when"}},
    {"integer min by if", F("if (k[n] > k[i]) k[n] = k[i];"), {"k[n] min= k[i]"}},
    {"float max by if", F("if (a[i] > a[n]) a[n] = a[i];"), {"a[n] above= a[i]", "!when"}},
    {"float min by if", F("if (a[n] > a[i]) a[n] = a[i];"), {"a[n] below= a[i]", "!when"}},
    {"float max by if, not strict", F("if (a[i] >= a[n]) a[n] = a[i];"), {"when", "!above="}},
    {"float max", F("a[n] = a[n] > a[i] ? a[n] : a[i];"), {"a[n] max= a[i]"}},
    {"float max the other way",
     F("a[n] = a[i] > a[n] ? a[i] : a[n];"),
     {"a[n] above= a[i]", "!max="}},
    {"fmaxf", F("a[n] = fmaxf(a[n], a[i]);"), {"a[n] = fmaxf(a[n], a[i])"}},
    {"math", F("a[i] = sqrtf(b[i]) + expf(c[i]) + fabsf(a[i]);"), {"sqrtf(b[i]) + expf(c[i])"}},
    {"math in double", F("a[i] = fabs(b[i]);"), {"(f32) fabs((f64) b[i])"}},
    {"builtin", F("a[i] = __builtin_sqrtf(b[i]);"), {"sqrtf(b[i])"}},
    {"x = x + e", F("a[m] = a[m] + b[i];"), {"a[m] += b[i]"}},
    {"x = e + x", F("a[m] = b[i] + a[m];"), {"a[m] += b[i]"}},
    {"x = x - e", F("a[m] = a[m] - b[i];"), {"a[m] -= b[i]"}},
    {"x = e - x", F("a[m] = b[i] - a[m];"), {"a[m] = b[i] - a[m]"}},
    {"x = (x + a) + b", F("a[m] = a[m] + b[i] + c[i];"), {"a[m] = a[m] + b[i] + c[i]"}},
    {"parentheses", F("a[i] = b[i] + (c[i] + b[0]) * c[0];"), {"b[i] + (c[i] + b[0]) * c[0]"}},
    {"increment", F("k[i]++; --k[m];"), {"k[i] += 1", "k[m] -= 1"}},
    {"float increment", F("a[i]++;"), {"a[i] += 1.0f"}},
    {"compound",
     F("k[i] *= 3; k[i] |= 1; k[i] &= 7; k[i] ^= 2; k[i] <<= 2; k[i] %= 5;"),
     {"k[i] *= 3", "k[i] |= 1", "k[i] &= 7", "k[i] ^= 2", "k[i] = k[i] << 2", "k[i] = k[i] % 5"}},
    {"double into float", F("a[i] += 1.5;"), {"a[i] += 1.5", "calc f64"}},
    {"comma statement", F("a[i] = 1, b[i] = 2;"), {"S0: a[i]", "S1: b[i]"}},
    {"static assertion", F("_Static_assert(sizeof(int) == 4, \"int\"); a[i] = 1;"), {"S0: a[i]"}},
    {"cast to void", F("(void)m; a[i] = 1;"), {"S0: a[i]"}},
    {"local integer", F("int j = 2 * i + 1; a[j] = b[j];"), {"a[2*i + 1] = b[2*i + 1]", "!temp"}},
    {"local integer as a value", F("int j = 2 * i + 1; a[j] = j;"), {"(f32) (2 * i32{i} + 1)"}},
    {"local integer from data",
     F("int j = k[i]; a[i] = j; b[i] = j;"),
     {"tensor j i32 [?] update temp"}},
    {"local array",
     F("float t[4]; for (int j = 0; j < 4; j++) t[j] = a[j]; b[i] = t[0] + t[3];"),
     {"tensor t f32 [?][4] update temp", "t[i][j]"}},
    {"char arithmetic",
     "void f(int n, unsigned char *p, signed char *q) { TUNE; for (int i = 0; i < n; i++) p[i] = "
     "(p[i] + q[i]) / 2; }",
     {"(u8) (((i32) p[i] + (i32) q[i]) / 2)"}},
    {"bool",
     "void f(int n, _Bool *p, int *q) { TUNE; for (int i = 0; i < n; i++) p[i] = q[i]; }",
     {"(bool) q[i]"}},
    {"long double",
     "void f(int n, long double *p) { TUNE; for (int i = 0; i < n; i++) p[i] *= 1.1L; }",
     {"p f80", "1.1L"}},
    {"half",
     "void f(int n, _Float16 *p) { TUNE; for (int i = 0; i < n; i++) p[i] = p[i] + p[i]; }",
     {"p f16"}},
    {"hash",
     "unsigned long f(int n, unsigned char *p, unsigned long prime) { unsigned long h = 7; TUNE; "
     "for (int i = 0; i < n; i++) h = (h ^ p[i]) * prime; return h; }",
     {"(h ^ (u64) p[i]) * prime", "!assume"}},
    {"shift", F("k[i] = k[i] >> 1 | k[m] << 2;"), {"k[i] >> 1 | k[m] << 2"}},
    {"logic",
     F("k[i] = a[i] > 0 && b[i] || !k[i];"),
     {"a[i] > (f32) 0 && b[i] != 0.0f || !(k[i] != 0)"}},
    {"counter as a value", F("a[i] = i * 0.5f;"), {"(f32) i32{i} * 0.5f"}},
    {"parameter as a value", F("a[i] = n + m;"), {"i32{n} + m"}},
    {"macro constant", "#define EPS 1e-3\n" F("a[i] = b[i] + EPS;"), {"0.001"}},
    {"infinity", F("a[i] = INFINITY;"), {"__builtin_inff()"}},
    {"attributes", F("[[likely]] ; a[i] = 1;"), {"S0"}, {"-std=c2x"}},
};

static const extract_case refused[] = {
    {"break", F("if (a[i] > 0) break; a[i] = 1;"), {"[break]"}},
    {"goto", F("if (a[i] > 0) goto out; a[i] = 1;") "\n", {"status"}},
    {"goto 2",
     "void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) { if (a[i] > 0) goto out; a[i] = "
     "1; } out:; }",
     {"[goto]"}},
    {"goto back", F("again: a[i] = 1; if (a[m] > 0) goto again;"), {"[goto]"}},
    {"label",
     "void f(int n, float *a) { goto here; TUNE; for (int i = 0; i < n; i++) { here: a[i] = 1; } }",
     {"[label]"}},
    {"return", F("if (a[i] > 0) return; a[i] = 1;"), {"[return]"}},
    {"break inside a case",
     F("switch (k[i]) { case 1: if (a[i] > 0) break; a[i] = 1; }"),
     {"[switch]"}},
    {"range of cases", F("switch (k[i]) { case 1 ... 3: a[i] = 1; }"), {"[switch]"}},
    {"statement before the cases",
     F("switch (k[i]) { a[i] = 2; case 1: a[i] = 1; }"),
     {"[switch]"}},
    {"switch over another statement", F("switch (k[i]) case 1: a[i] = 1;"), {"[switch]"}},
    {"asm", F("__asm__(\"nop\"); a[i] = 1;"), {"[inline-asm]"}},
    {"printf",
     "int printf(const char *, ...); void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) "
     "printf(\"%f\", a[i]); }",
     {"[call]", "'printf'"}},
    {"unknown call",
     "float g(float); void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = g(a[i]); "
     "}",
     {"[call]", "'g'"}},
    {"recursion",
     "static float g(float x) { return x > 1 ? g(x / 2) : x; } void f(int n, float *a) { TUNE; for "
     "(int i = 0; i < n; i++) a[i] = g(a[i]); }",
     {"[call]", "'g'"}},
    {"own function that stores, as a part",
     "static float q; static float g(float x) { q = x; return x; } void f(int n, float *a) { TUNE; "
     "for "
     "(int i = 0; i < n; i++) a[i] = g(a[i]) + 1; }",
     {"[call]", "stores"}},
    {"own function with a body under a condition",
     "static float g(const float *x) { float s = 0; for (int i = 0; i < 3; i++) s += x[i]; return "
     "s; } void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = a[i] > 0 ? g(a) : "
     "1; }",
     {"[call]"}},
    {"own function that moves its pointer",
     "static void g(float *x) { *x = 1; x++; *x = 2; } void f(int n, float *a) { TUNE; for (int i "
     "= 0; i < n; i++) g(a + i); }",
     {"[call]", "moves"}},
    {"call as an argument of itself",
     "static float g(float x, float y) { float s = x; for (int i = 0; i < 3; i++) s += y; return "
     "s; "
     "} void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = g(a[i], g(a[i], 1)); }",
     {"[call]", "argument"}},
    {"own function with a loop",
     "static float g(float x) { while (x > 1) x /= 2; return x; } void f(int n, float *a) { TUNE; "
     "for "
     "(int i = 0; i < n; i++) a[i] = g(a[i]); }",
     {"[while-loop]"}},
    {"function that others may replace",
     "float g(float x) { return x; } void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) "
     "a[i] = "
     "g(a[i]); }",
     {"[call]", "replace"},
     {"-fPIC"}},
    {"weak function",
     "__attribute__((weak)) float g(float x) { return x; } void f(int n, float *a) { TUNE; for "
     "(int i = 0; i < n; i++) a[i] = g(a[i]); }",
     {"[call]"}},
    {"hidden variable",
     "static float s; static float g(float x) { return x * s; } void f(int n, float s, float *a) { "
     "TUNE; "
     "for (int i = 0; i < n; i++) a[i] = g(s); }",
     {"[call]", "hidden"}},
    {"bytes that are no elements",
     "#include <string.h>\nvoid f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) memset(a + "
     "i, 0, "
     "n); }",
     {"[call]"}},
    {"function pointer",
     "void f(int n, float *a, float (*g)(float)) { TUNE; for (int i = 0; i < n; i++) a[i] = "
     "g(a[i]); }",
     {"[call]"}},
    {"increment inside", F("a[i] = k[m]++;"), {"[side-effect]"}},
    {"effect in &&", F("if (a[i] > 0 && k[m]++) a[i] = 1;"), {"[side-effect]"}},
    {"step in a condition",
     F("if (b[m] > 0) { int q = i; if (a[q++] > 0) b[q] = 1; }"),
     {"[side-effect]"}},
    {"step below a condition",
     F("int q = i; a[i] = b[i] > 0 ? c[q++] : 0; b[q] = 1;"),
     {"[side-effect]"}},
    {"pointer that moves below a condition",
     F("if (b[i] > 0) *a++ = b[i];"),
     {"[moving-pointer]", "annotate"}},
    {"pointer that is exchanged",
     "void f(int n, float *a, float *b) { TUNE; for (int t = 0; t < n; t++) { for (int i = 0; i < "
     "n; "
     "i++) a[i] = b[i]; float *s = a; a = b; b = s; } }",
     {"[moving-pointer]", "annotate a loop inside"}},
    {"argument that steps",
     "static float g(float x) { return x; } void f(int n, float *a, float *b) { TUNE; for (int i = "
     "0; i < n; i++) a[i] = g(*b++); }",
     {"[call]"}},
    {"comma inside", F("a[i] = (b[i], c[i]);"), {"[side-effect]"}},
    {"assertion",
     "#include <assert.h>\nvoid f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) { "
     "assert(a[i] > 0); "
     "a[i] = 1; } }",
     {"[side-effect]", "-DNDEBUG"}},
    {"chain in an expression", F("a[i] = 2 * (b[i] = 1);"), {"[nested-assignment]"}},
    {"conditional statement", F("a[i] > 0 ? (b[i] = 1) : (c[i] = 2);"), {"[side-effect]"}},
    {"statement expression", F("a[i] = ({ float t = b[i]; t; });"), {"[statement-expression]"}},
    {"elvis", F("k[i] = k[m] ?: 3;"), {"[expression]"}},
    {"generic", F("a[i] = _Generic(n, int: 1.0f, float: 2.0f);"), {"[generic-selection]"}},
    {"volatile",
     "void f(int n, volatile float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"[volatile]"}},
    {"atomic",
     "void f(int n, _Atomic int *a) { TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"[atomic]"}},
    {"complex",
     "void f(int n, _Complex float *a) { TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"[complex]"}},
    {"complex part",
     "void f(int n, _Complex float *a, float *b) { TUNE; for (int i = 0; i < n; i++) b[i] = "
     "__real__ a[i]; }",
     {"[complex]"}},
    {"int128",
     "void f(int n, __int128 *a) { TUNE; for (int i = 0; i < n; i++) a[i] = 1; }",
     {"[type]"}},
    {"array initialiser", F("float t[2] = {1, 2}; a[i] = t[0];"), {"[local-initialiser]"}},
    {"static local", F("static int count; count++; a[i] = 1;"), {"[local-static]"}},
    {"inner function",
     "int f(int n, float *a) { int g(int x) { return x; } TUNE; for (int i = 0; i < n; i++) a[i] = "
     "g(i); return 0; }",
     {"[does-not-parse]", "parse errors"}},
    {"counter written by pointer",
     "void g(int *); void f(int n, float *a) { TUNE; for (int i = 0; i < n; i++) { int *p = &i; "
     "a[i] = *p; } }",
     {"[counter-not-local]"}},
    {"subscript with an effect", F("a[k[m]++] = 1;"), {"[side-effect]"}},
    {"long double from a macro",
     "#define X 1.1L\nvoid f(int n, long double *p) { TUNE; for (int i = 0; i < n; i++) p[i] = X; "
     "}",
     {"[literal]"}},
    {"local function", F("float g(float); a[i] = 1;"), {"[local-declaration]"}},
    {"nothing", F("int q = 3; (void)q;"), {"[nothing-to-tune]"}},
    {"counter under if",
     "int f(int n, int m, float *a) { int j = 0; TUNE; for (int i = 0; i < n; i++) if (i > m) for "
     "(j = 0; j < n; j++) a[j] = 1; return j; }",
     {"[counter-live-out]"}},
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

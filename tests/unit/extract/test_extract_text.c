/* The text around the loop: pragmas, macros, directives, encodings, offsets, earlier rewritings. */
#include "fixture.h"

#define LOOP "for (int i = 0; i < n; i++) a[i] = 1;"
#define F(body) "void f(int n, int m, float *a) { " body " }"

static const extract_case handled[] = {
    {"pragma operator", F("_Pragma(\"tune sizes(n=7)\") " LOOP), {"sizes 7", "S0"}},
    {"pragma from a macro", "#define MARK _Pragma(\"tune\")\n" F("MARK " LOOP), {"S0"}},
    {"loop hints below",
     F("TUNE; \n#pragma unroll 4\n#pragma clang loop vectorize(enable)\n" LOOP),
     {"S0"}},
    {"GCC hint below", F("TUNE; \n#pragma GCC ivdep\n" LOOP), {"S0"}},
    {"hint inside", F("TUNE; for (int j = 0; j < m; j++)\n#pragma unroll\n" LOOP), {"S0"}},
    {"diagnostic pragma above",
     F("\n#pragma GCC diagnostic ignored \"-Wall\"\nTUNE; " LOOP),
     {"S0"}},
    {"ifdef inside",
     F("TUNE; for (int i = 0; i < n; i++) {\n#ifdef Q\n a[i] = 2;\n#else\n a[i] = 1;\n#endif\n}"),
     {"a[i] = (f32) 1", "CTUNE_SAME(Q, ", "!= (f32) 2"}},
    {"if inside with a value",
     F("TUNE; for (int i = 0; i < n; i++) {\n#if defined(Q) && R >= 2\n a[i] = 2;\n#endif\n a[i] "
       "+= "
       "1; }"),
     {"a[i] = (f32) 2", "\"!CTUNE_SAME(Q, ", "CTUNE_SAME(R, \\\"2 + 1\\\")"},
     {"-DQ", "-DR=2 + 1"}},
    {"block", F("TUNE; { " LOOP " for (int i = 0; i < m; i++) a[i] += 2; }"), {"S0", "S1"}},
    {"header by a macro",
     "#define EACH(i, n) for (int i = 0; i < n; i++)\n" F("TUNE; EACH(i, n) a[i] = 1;"),
     {"S0", "-i + n - 1"}},
    {"statement by a macro",
     "#define PUT(x) x = 1\n" F("TUNE; for (int i = 0; i < n; i++) PUT(a[i]);"),
     {"S0: a[i]"}},
    {"two in a function", F("TUNE; " LOOP "TUNE; " LOOP), {"region f at", "region f.2 at"}},
    {"named", F("TUNE name(q); " LOOP "TUNE; " LOOP), {"region q at", "region f at"}},
    {"off", F("TUNE off; " LOOP), {"region 0 refused", "!remark"}},
    {"inactive", F("\n#if 0\n#pragma tune\n#endif\n" LOOP), {"status ok", "!region"}},
    {"in a comment", F("/*\n#pragma tune\n*/ // #pragma tune\n" LOOP), {"status ok", "!region"}},
    {"in a string",
     F("const char *s = \"\\n#pragma tune\\n\"; (void)s; " LOOP),
     {"status ok", "!region"}},
    {"line directive", "#line 700 \"other.c\"\n" F("TUNE; " LOOP), {"region f at \"case.c\":3"}},
    {"CRLF",
     "void f(int n, float *a) {\r\n#pragma tune sizes(n=5)\r\n  for (int i = 0; i < n; i++)\r\n    "
     "a[i] = 1;\r\n}\r\n",
     {"sizes 5", "S0"}},
    {"tabs", F("\n\t#\tpragma\ttune\tsizes(n=5)\n\t\t" LOOP), {"sizes 5"}},
    {"continued line", F("\n#pragma tune \\\n  sizes(n=5) \\\n  reassoc\n" LOOP), {"sizes 5"}},
    {"CRLF continued", F("\n#pragma tune \\\r\n  sizes(n=5)\r\n" LOOP), {"sizes 5"}},
    {"comment in the pragma", F("\n#pragma tune /* big */ sizes(n=5) // now\n" LOOP), {"sizes 5"}},
    {"byte-order mark", "\xef\xbb\xbfvoid f(int n, float *a) {\n#pragma tune\n" LOOP "}", {"S0"}},
    {"UTF-8",
     "/* \xc3\xa9\xe2\x82\xac */ void f(int n, float *a) { const char *s = \"\xc3\xa9\"; "
     "(void)s;\n#pragma tune\n" LOOP "}",
     {"S0", "at 3:"}},
    {"no newline at the end", F("TUNE; " LOOP), {"S0"}},
    {"comment between", F("TUNE; /* here */ // there\n " LOOP), {"S0"}},
    {"under if", F("if (n > 3)\nTUNE; " LOOP), {"S0"}},
    {"inner loop", F("for (int t = 0; t < m; t++)\nTUNE; " LOOP), {"S0", "!axis t"}},
    {"static inline function",
     "static inline " F("TUNE; " LOOP) " void g(float *a) { f(3, 3, a); }",
     {"S0"}},
    {"define inside", F("TUNE; for (int i = 0; i < n; i++) {\n#define Q 3\n a[i] = Q; }"), {"S0"}},
    {"C99", F("TUNE; " LOOP), {"S0"}, {"-std=c99"}},
    {"C11", F("TUNE; " LOOP), {"S0"}, {"-std=c11"}},
    {"gnu17", F("TUNE; " LOOP), {"S0"}, {"-std=gnu17"}},
    {"C23", F("TUNE; " LOOP), {"S0"}, {"-std=c23"}},
    {"C23 separators",
     F("TUNE; for (int i = 0; i < 1'000; i++) a[i] = 1;"),
     {"-i + 999"},
     {"-std=c23"}},
    {"define on the command line",
     F("TUNE; for (int i = 0; i < SIZE; i++) a[i] = 1;"),
     {"-i + 63"},
     {"-DSIZE=64"}},
    {"macro that may differ",
     "#ifndef Q\n#define Q 8\n#endif\n#define R (2 * Q)\n" F(
         "TUNE; for (int i = 0; i < R; i++) a[i] = 1;"),
     {"-i + 15", "Q == 8", "!R =="}},
    {"macro that cannot differ",
     "#define Q 8\n" F("TUNE; for (int i = 0; i < Q; i++) a[i] = 1;"),
     {"!Q =="}},
    {"macro from the command line",
     F("TUNE; for (int i = 0; i < SIZE; i++) a[i] = ALPHA;"),
     {"SIZE == 64", "ALPHA == 1.5f"},
     {"-DSIZE=64", "-D", "ALPHA=1.5f"}},
    {"foreign flags",
     F("TUNE; " LOOP),
     {"S0"},
     {"-fno-tree-vectorize", "-MD", "-c", "-flto", "-fsanitize=address"}},
    {"fast math",
     "float f(int n, float *a) { float s = 0; TUNE; for (int i = 0; i < n; i++) s += a[i]; return "
     "s; }",
     {"reassoc"},
     {"-ffast-math"}},
    {"fast math, strict",
     "float f(int n, float *a) { float s = 0; TUNE strict; for (int i = 0; i < n; i++) s += a[i]; "
     "return s; }",
     {"!reassoc"},
     {"-ffast-math"}},
    {"sizes", F("TUNE sizes(n=100|200); " LOOP), {"sizes 100 200"}},
    {"sizes of 0 and below",
     "void f(int lo, int n, float *a) { TUNE sizes(lo=-3, n=0|7); for (int i = lo; i < n; i++) a[i "
     "+ 3] "
     "= 1; }",
     {"sizes -3", "sizes 0 7"}},
    {"sizes of an element",
     "int gp[3]; double u[64]; void f(int *d) { TUNE sizes(gp[0]=9, *d=5); for (int i = 0; i < "
     "gp[0]; "
     "i++) for (int j = 0; j < *d; j++) u[i] += 1; }",
     {"sizes 9", "sizes 5"}},
    {"sizes of a member",
     "struct s { int n; float *a; }; void f(struct s *s) { TUNE sizes(n=9); for (int i = 0; i < "
     "s->n; i++) s->a[i] = 1; }",
     {"sizes 9"}},
    {"assume",
     F("TUNE assume(n >= 16, n % 8 == 0, 2 * n < 5000 && n > 1); " LOOP),
     {"assume n - 16 >= 0", "n % 8 == 0", "assume"}},
    {"assume helps",
     "void f(unsigned n, float *a) { TUNE assume(n > 0); for (unsigned i = 0; i < n - 1; i++) a[i] "
     "= 1; }",
     {"assume n - 1 >= 0"}},
    {"a macro that is gone",
     "#define double float\n#undef double /* */\n" F("TUNE; " LOOP),
     {"S0"}},
    {"a macro that comes later", F("TUNE; " LOOP) "\n#define double float\n", {"S0"}},
    {"qualifiers may be macros", "#define const\n#define static\n" F("TUNE; " LOOP), {"S0"}},
    {"assume of a variable that is not read",
     F("TUNE assume(m > 3, n > 1); " LOOP),
     {"warning [unused-assume]", "assume n - 2 >= 0", "S0"}},
    {"standard input's name", F("TUNE; " LOOP), {"S0"}},
};

static const extract_case refused[] = {
    {"a 32-bit build", F("TUNE; " LOOP), {"[addresses]", "32 bits"}, {"-m32"}},
    {"pragma in a macro with arguments",
     "#define P(x) _Pragma(#x)\n" F("P(tune sizes(n=3)) " LOOP),
     {"[pragma-in-macro]"}},
    {"pragma and loop in a macro", "#define L _Pragma(\"tune\") " LOOP "\n" F("L"), {"remark"}},
    {"loop by a macro",
     "#define L for (int i = 0; i < n; i++) { a[i] = 1; }\n" F("TUNE; L"),
     {"[loop-from-macro]"}},
    {"body by a macro",
     "#define B { a[i] = 1; }\n" F("TUNE; for (int i = 0; i < n; i++) B"),
     {"[loop-from-macro]"}},
    {"a type is a macro",
     "#define double float\n" F("TUNE; " LOOP),
     {"[language-macro]", "'double'"}},
    {"sizeof is a macro", "#define sizeof 0 *sizeof\n" F("TUNE; " LOOP), {"[language-macro]"}},
    {"a builtin is a macro",
     "#define __builtin_malloc(n) 0\n" F("TUNE; " LOOP),
     {"[language-macro]", "'__builtin_malloc'"}},
    {"a type is a macro of the command line",
     F("TUNE; " LOOP),
     {"[language-macro]", "'float'"},
     {"-Dfloat=double"}},
    {"contraction inside", F("TUNE; {\n#pragma STDC FP_CONTRACT OFF\n" LOOP "}"), {"[fp-pragma]"}},
    {"tune inside tune", F("TUNE; { TUNE; " LOOP "}"), {"[other-pragma]"}},
    {"if inside that asks the compiler",
     F("TUNE; for (int i = 0; i < n; i++) {\n#if __GNUC__ > 4\n a[i] = 2;\n#else\n a[i] = "
       "1;\n#endif\n}"),
     {"[conditional-text]", "4:1", "__GNUC__"}},
    {"if inside that asks for clang",
     F("TUNE; for (int i = 0; i < n; i++) {\n#ifdef __clang__\n a[i] = 2;\n#endif\n a[i] = 1; }"),
     {"[conditional-text]", "__clang__"}},
    {"if inside that calls a macro",
     "#define Q(x) x\n" F("TUNE; for (int i = 0; i < n; i++) {\n#if Q(1)\n a[i] = 2;\n#endif\n "
                          "a[i] = 1; }"),
     {"[conditional-text]", "arguments"}},
    {"if inside and another around what is named",
     "#ifndef Q\nstatic float q[9];\n#endif\n" F("TUNE; for (int i = 0; i < 9; i++) {\n#ifndef "
                                                 "Q\n a[i] = q[i];\n#endif\n a[i] += 1; }"),
     {"[conditional-text]", "'q'"}},
    {"not a loop", F("TUNE; n = 3; " LOOP), {"[not-a-loop]"}},
    {"declaration", F("TUNE; int q = 3; " LOOP), {"[not-a-loop]"}},
    {"nothing follows", F(LOOP "TUNE;"), {"[not-a-loop]"}},
    {"outside a function", "TUNE; void f(int n, float *a) { " LOOP "}", {"[not-in-function]"}},
    {"label", F("TUNE; here: " LOOP " goto here;"), {"[not-a-loop]"}},
    {"target",
     "long double q[9];\n" F("TUNE target(cuda); for (int i = 0; i < 9; i++) q[i] = 1;"),
     {"[target-unsupported]"}},
    {"target",
     "double exp(double);\n" F("TUNE target(opencl); for (int i = 0; i < 9; i++) a[i] = "
                               "(float)exp(a[i]);"),
     {"[target-unsupported]"}},
    {"misspelt clause",
     F("TUNE size(n=3); " LOOP),
     {"error [unknown-clause]", "status usage error"}},
    {"unknown size", F("TUNE sizes(q=3); " LOOP), {"error [unknown-size]", "sizes(q)"}},
    {"bad assume", F("TUNE assume(n ** 2); " LOOP), {"error [bad-assume]"}},
    {"name given twice",
     F("TUNE name(q); " LOOP "TUNE name(q); " LOOP),
     {"error [duplicate-name]", "status ok", "region q at", "region 1 refused"}},
    {"sizes that wrap",
     "void f(unsigned n, float *a) { TUNE sizes(n=0); for (unsigned i = 0; i < n - 1; i++) a[i] = "
     "1; }",
     {"[range]", "assume(n >= 1)"}},
    {"sizes that break the guard",
     "void f(int n, int lda, float *a) { TUNE sizes(n=100, lda=50); for (int i = 0; i < n; i++) "
     "for (int j "
     "= 0; j < n; j++) a[i * lda + j] = 1; }",
     {"[subscript-not-affine]", "lda >= n"}},
    {"sizes that break assume",
     F("TUNE sizes(n=100) assume(n <= 64); " LOOP),
     {"[guard-fails]", "64 >= n"}},
    {"unknown name in assume", F("TUNE assume(zz > 3); " LOOP), {"error [bad-assume]"}},
    {"two names",
     F("TUNE name(q); " LOOP "TUNE name(q); " LOOP),
     {"error [duplicate-name]", "region q at", "region 1 refused", "status ok"}},
    {"syntax error", F("TUNE; for (int i = 0; i < n; i++) a[i] = ;"), {"[does-not-parse]", "3:"}},
    {"damaged marker", F("TUNE;/* ctune:begin f */ " LOOP), {"[damaged-marker]"}},
};

static void test_handled(void **state) {
    (void)state;
    RUN_CASES(handled);
}

static void test_refused(void **state) {
    (void)state;
    RUN_CASES(refused);
}

/* ---- offsets --------------------------------------------------------------------------------- */

static ctune_unit *extract(ctune_ctx *ctx, const char *code) {
    ctune_unit *unit = NULL;
    ctune_ctx_init(ctx);
    assert_int_equal(ctune_extract(ctx, "case.c", code, 0, NULL, &unit), CTUNE_OK);
    return unit;
}

static void check_slice(const ctune_unit *u, size_t begin, size_t end, const char *want) {
    assert_int_equal(end - begin, strlen(want));
    assert_memory_equal(u->text + begin, want, strlen(want));
}

static void test_offsets(void **state) {
    (void)state;
    ctune_ctx ctx;
    const char *code =
        "void f(int n, float *a) {\n#pragma tune sizes(n=3) \\\n   reassoc\n"
        "#pragma unroll\n  for (int i = 0; i < n; i++)\n    a[i] = 1 /* x */ ; n = 2;\n}\n";
    ctune_unit *u = extract(&ctx, code);
    assert_int_equal(u->n_regions, 1);
    const ctune_unit_region *r = &u->regions[0];
    assert_non_null(r->region);
    check_slice(u, r->pragma_begin, r->pragma_end, "#pragma tune sizes(n=3) \\\n   reassoc");
    check_slice(u, r->statement_begin, r->statement_end,
                "#pragma unroll\n  for (int i = 0; i < n; i++)\n    a[i] = 1 /* x */ ;");
    assert_false(r->is_rewritten);
    assert_string_equal(r->function, "f");
    ctune_unit_destroy(u);
}

static void test_rewritten(void **state) {
    (void)state;
    ctune_ctx ctx;
    const char *code =
        "int before;\nvoid f(int n, float *a) {\n#pragma tune\n    /* ctune:begin f */\n#line 3 "
        "\"case.c\"\n"
        "    if (n > 3) { whatever(); } else {\n    /* ctune:original begin */\n"
        "    for (int i = 0; i < n; i++)\n        a[i] = 1;\n    /* ctune:original end */\n"
        "    }\n    /* ctune:end f */ n = 2;\n#pragma tune\n    for (int i = 0; i < n; i++) a[i] = "
        "2;\n}\n";
    ctune_unit *u = extract(&ctx, code);
    assert_int_equal(u->n_regions, 2);
    const ctune_unit_region *r = &u->regions[0];
    assert_non_null(r->region);
    assert_true(r->is_rewritten);
    assert_string_equal(r->region->name, "f");
    const char *begin = strstr(code, "/* ctune:begin"),
               *end = strstr(code, "/* ctune:end f */") + 17;
    check_slice(u, r->original_begin, r->original_end,
                "for (int i = 0; i < n; i++)\n        a[i] = 1;");
    assert_int_equal(r->statement_begin, begin - code);
    assert_int_equal(r->statement_end, end - code);
    assert_int_equal(r->region->stages[0].line, 9);
    check_slice(u, u->regions[1].statement_begin, u->regions[1].statement_end,
                "for (int i = 0; i < n; i++) a[i] = 2;");
    assert_int_equal(u->regions[1].statement_line, 14);
    ctune_unit_destroy(u);
}

static void test_headers(void **state) {
    (void)state;
    char dir[] = "/tmp/extract-XXXXXX", path[100];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/loop.h", dir);
    FILE *header = fopen(path, "w");
    assert_non_null(header);
    fputs("static void LOOP_NAME(int n, float *a) {\n#pragma tune\n for (int i = 0; i < n; i++) "
          "a[i] = 1; }\n",
          header);
    fclose(header);
    snprintf(path, sizeof path, "%s/case.c", dir);
    ctune_text out;
    ctune_text_init(&out);
    extract_answer(path,
                   "#define LOOP_NAME f\n#include \"loop.h\"\n#undef LOOP_NAME\n#define LOOP_NAME "
                   "g\n#include \"loop.h\"\n",
                   0, NULL, &out);
    assert_non_null(strstr(ctune_text_get(&out), "[pragma-in-header]"));
    assert_null(
        strstr(strstr(ctune_text_get(&out), "[pragma-in-header]") + 1, "[pragma-in-header]"));
    ctune_text_clear(&out);
    snprintf(path, sizeof path, "%s/loop.h", dir);
    remove(path);
    remove(dir);
}

static void test_missing_file(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_unit *unit = NULL;
    assert_int_equal(ctune_extract(&ctx, "/nonexistent/x.c", NULL, 0, NULL, &unit), CTUNE_EENV);
    assert_null(unit);
    assert_int_equal(ctune_extract(&ctx, "x.cpp", "int x;", 0, NULL, &unit), CTUNE_EUSAGE);
}

/* Every truncation of a file ends in an answer, never in a crash. */
static void test_truncated(void **state) {
    (void)state;
    const char *code =
        "void f(int n, float *a) {\n#pragma tune sizes(n=3)\n/* ctune:begin f */ { /* "
        "ctune:original begin */"
        " for (int i = 0; i < n; i++) { float t = a[i]; if (t > 0) a[i] = t + 1.5e3f; } "
        "/* ctune:original end */ } /* ctune:end f */ _Pragma(\"tune\") for (;;) ; }\n";
    for (size_t n = 0; n <= strlen(code); n += 7) {
        char *part = strndup(code, n);
        ctune_text out;
        ctune_text_init(&out);
        extract_answer("case.c", part, 0, NULL, &out);
        assert_non_null(strstr(ctune_text_get(&out), "status"));
        ctune_text_clear(&out);
        free(part);
    }
}

/* The n-th allocation fails: an error, no crash. */
static void test_out_of_memory(void **state) {
    (void)state;
    const char *code = "void f(int n, int lda, float *a) {\n#pragma tune\nfor (int i = 0; i < n; "
                       "i++) for (int j = 0; j < n; j++)"
                       " { float t = a[i * lda + j]; if (t > 0) a[i * lda + j] = t + 1; } }";
    for (uint64_t at = 1; at < 40; at++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctx.alloc_fail_at = at;
        ctune_unit *unit = NULL;
        ctune_status status = ctune_extract(&ctx, "case.c", code, 0, NULL, &unit);
        assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM);
        ctune_unit_destroy(unit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handled),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_offsets),   cmocka_unit_test(test_rewritten),
        cmocka_unit_test(test_headers),   cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

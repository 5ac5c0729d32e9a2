/* Generated lines of a rewritten source, joined for a compiler. */
#include "plugin/shim/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text, const char *want) {
    size_t n;
    char *got = ctune_shim_lines_join(text, strlen(text), &n);
    assert_non_null(got);
    assert_string_equal(got, want);
    assert_int_equal(n, strlen(want));
    free(got);
}

static void test_others(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "int a;",
        "int a;\r\n#line 3 \"b.c\"\nint b; // c\n\n",
        "/* ctune:begin a */\nint\nb; // no #line yet\n/* ctune:end a */\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check(texts[i], texts[i]);
    }
}

static void test_region(void **state) {
    (void)state;
    check("a;\n"
          "    /* ctune:begin gemm */\n"
          "#line 2 \"g.c\"\n"
          "    {\n"
          "        for (;;)\n"
          "\n"
          "#pragma omp parallel for\n"
          "            x;\n"
          "        } else {\n"
          "#line 3 \"g.c\"\n"
          "    /* ctune:original begin */\n"
          "for (;;)\n"
          "    y; // the user's\n"
          "    /* ctune:original end */\n"
          "#line 2 \"g.c\"\n"
          "        }\n"
          "    }\n"
          "#line 4 \"g.c\"\n"
          "    /* ctune:end gemm */ z;\n"
          "last\n",
          "a;\n"
          "    /* ctune:begin gemm */\n"
          "#line 2 \"g.c\"\n"
          "{ for (;;)\n"
          "#pragma omp parallel for\n"
          "#line 2 \"g.c\"\n"
          "x; } else {\n"
          "#line 3 \"g.c\"\n"
          "    /* ctune:original begin */\n"
          "for (;;)\n"
          "    y; // the user's\n"
          "    /* ctune:original end */\n"
          "#line 2 \"g.c\"\n"
          "} }\n"
          "#line 4 \"g.c\"\n"
          "    /* ctune:end gemm */ z;\n"
          "last\n");
}

/* A pragma of ours among generated lines becomes an operator; what looks like one does not. */
static void test_pragmas(void **state) {
    (void)state;
    check("/* ctune:begin a */\n#line 2 \"a.c\"\n{\n    #pragma omp parallel for\n    x;\n"
          "    \t# pragma  message(\"a\\n\")\n"
          "    _Pragma(\"omp simd\")\n"
          "    y; }\n/* ctune:end a */\n",
          "/* ctune:begin a */\n#line 2 \"a.c\"\n{ _Pragma(\"omp parallel for\") x; "
          "_Pragma(\" message(\\\"a\\\\n\\\")\") _Pragma(\"omp simd\") y; }\n"
          "/* ctune:end a */\n");
    check("/* ctune:begin a */\n#line 2 \"a.c\"\n    #pragma omp simd\n    x;\n"
          "    #pragmatic\n    #pragma\n/* ctune:end a */\n",
          "/* ctune:begin a */\n#line 2 \"a.c\"\n_Pragma(\"omp simd\") x; #pragmatic #pragma\n"
          "/* ctune:end a */\n");
    static char many[2000], wide[3000]; /* every byte of it is escaped */
    memset(many, '"', sizeof many - 1);
    snprintf(wide, sizeof wide, "/* ctune:begin a */\n#line 2 \"a.c\"\n #pragma %s\n", many);
    size_t n = 0;
    char *got = ctune_shim_lines_join(wide, strlen(wide), &n);
    assert_non_null(got);
    assert_int_equal(n,
                     strlen(wide) - strlen(" #pragma ") + strlen("_Pragma(\"\")") + strlen(many));
    free(got);
}

static void test_prelude(void **state) {
    (void)state;
    check("/* ctune:prelude begin */\n"
          "#ifndef X\n"
          "#define X a \\\n"
          "    b\n"
          "/* two\n"
          " * lines */\n"
          "int f(void) {\n"
          "    return 1; // one\n"
          "}\n"
          "#endif\n"
          "#line 7 \"a \\\" b.c\" /* ctune:prelude end */\n"
          "int main(void);\n",
          "/* ctune:prelude begin */\n"
          "#ifndef X\n"
          "#define X a \\\n"
          "    b\n"
          "#line 7 \"a \\\" b.c\"\n"
          "/* two * lines */ int f(void) { return 1; // one\n"
          "#line 7 \"a \\\" b.c\"\n"
          "}\n"
          "#endif\n"
          "#line 7 \"a \\\" b.c\" /* ctune:prelude end */\n"
          "int main(void);\n");
}

static void test_line_endings(void **state) {
    (void)state;
    check("/* ctune:begin a */\r\n#line 2 \"a.c\"\r\n{\r\nb;\r\n}\r\n#line 4 \"a.c\"\r\n/* "
          "ctune:end a "
          "*/\r\nc;\r\n",
          "/* ctune:begin a */\r\n#line 2 \"a.c\"\n{ b; }\n#line 4 \"a.c\"\n/* ctune:end a "
          "*/\r\nc;\r\n");
    check("/* ctune:begin a */\n#line 2 \"a.c\"\nb;\nc;",
          "/* ctune:begin a */\n#line 2 \"a.c\"\nb; c;\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others),       cmocka_unit_test(test_region),
        cmocka_unit_test(test_pragmas),      cmocka_unit_test(test_prelude),
        cmocka_unit_test(test_line_endings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

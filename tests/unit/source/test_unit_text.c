/*
 * The user's file as a text that compiles elsewhere: marks, bodies, lines; the words of its
 * compile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugin/source/unit_text.h"

#include <string.h>

static const char text[] = "static float x[9];\n"
                           "void f(void) {\n"
                           "#pragma tune\n"
                           "    for (int i = 0; i < 9; i++)\n"
                           "        x[i] = 1; x[0] = 2;\n"
                           "}\n"
                           "int g(void) { return __LINE__; }\n";

static void open_source(ctune_ctx *ctx, ctune_source *source) {
    static const char *const words[] = {"-O2",           "-c",
                                        "dir/a \"b\".c", "-o",
                                        "x.o",           "-I",
                                        "inc",           "-DN=3",
                                        "-Wall",         "-fPIC",
                                        "-flto",         "-MD",
                                        "-MF",           "x.d",
                                        "-include",      "all.h",
                                        "-g3",           "-fsanitize=address",
                                        "-march=native", "-fvisibility=hidden"};
    ctune_ctx_init(ctx);
    memset(source, 0, sizeof *source);
    source->file = "dir/a \"b\".c";
    source->flags.compiler = "gcc";
    assert_int_equal(
        ctune_flags_sort(ctx, sizeof words / sizeof *words, words, "/build", false, &source->flags),
        CTUNE_OK);
    source->flags.n_extract = 0; /* the header is not there */
    assert_int_equal(ctune_source_set_unit(ctx, text, source), CTUNE_OK);
    assert_int_equal(source->unit->n_regions, 1);
}

static void close_source(ctune_source *source) {
    source->lock_path = source->history_path = NULL;
    ctune_source_close(source);
}

static void marks_regions_and_keeps_lines(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_source source;
    open_source(&ctx, &source);
    ctune_text out;
    ctune_text_init(&out);
    ctune_unit_print(&source, NULL, true, &out);
    assert_string_equal(ctune_text_get(&out), "\n#line 1 \"dir/a \\\"b\\\".c\"\n"
                                              "static float x[9];\n"
                                              "void f(void) {\n"
                                              "#pragma tune\n"
                                              "    \n#line 4 \"ctune-region-0\"\n"
                                              "for (int i = 0; i < 9; i++)\n"
                                              "        x[i] = 1;"
                                              "\n#line 5 \"dir/a \\\"b\\\".c\"\n"
                                              " x[0] = 2;\n"
                                              "}\n"
                                              "int g(void) { return __LINE__; }\n\n");
    ctune_text_clear(&out);
    ctune_text_init(&out);
    const char *bodies[] = {"{ other(); }"};
    ctune_unit_print(&source, bodies, false, &out);
    assert_non_null(strstr(ctune_text_get(&out), "{ other(); }"));
    assert_null(strstr(ctune_text_get(&out), "for ("));
    assert_null(strstr(ctune_text_get(&out), "ctune-region"));
    ctune_text_clear(&out);
    close_source(&source);
}

static void keeps_what_code_depends_on(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_source source;
    open_source(&ctx, &source);
    static const char *const more[] = {"-S"};
    const char **argv = ctune_unit_argv(&source, source.flags.arena, 1, more);
    assert_non_null(argv);
    ctune_text out;
    ctune_text_init(&out);
    for (int i = 0; argv[i] != NULL; i++) {
        ctune_text_printf(&out, "%s%s", i > 0 ? " " : "", argv[i]);
    }
    assert_string_equal(ctune_text_get(&out),
                        "gcc -iquote dir -O2 -I /build/inc -DN=3 -fPIC -include /build/all.h "
                        "-march=native -fvisibility=hidden -S");
    ctune_text_clear(&out);
    close_source(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_regions_and_keeps_lines),
        cmocka_unit_test(keeps_what_code_depends_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

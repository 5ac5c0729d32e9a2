/* What the plugins do before the transform library is loaded. */
#include "plugin/shim/shim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bool has(const char *text) {
    return ctune_shim_has_pragma(text, strlen(text));
}

static void test_scan_finds(void **state) {
    (void)state;
    static const char *const texts[] = {
        "#pragma tune\n",
        "# pragma\ttune sizes(n=1)",
        "#pragma /* why */ tune\n",
        "%:pragma tune\n",
        "#pragma \\\n   tune\n",
        "#pragma \\\r\n   tune\r\n",
        "int x; _Pragma(\"tune\") for (;;) ;",
        "#define TUNE _Pragma(\"tune\")\n",
        "#define P(x) _Pragma(#x)\n\n\n P(tune)\n",
        "#define P(x) _Pragma (x)\n\n\n P(\"tune\")\n",
        "#pra\\\ngma tune\n",
        "#pragma tu\\\nne\n",
        "x\\\ny\n#pragma tune",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!has(texts[i])) {
            fail_msg("not found: %s", texts[i]);
        }
    }
}

static void test_scan_finds_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "tune",
        "int tune(void);\n",
        "#pragma once\nint untuned, tuned, tune_, _tune, tune1;\n",
        "#pragma omp parallel for\n",
        "#define X \\\n  y\nint tune;\n",
        "_Pragma(\"once\")\n",
        "#pragma tuned\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (has(texts[i])) {
            fail_msg("found in: %s", texts[i]);
        }
    }
    /* far away from any pragma */
    char text[4000];
    memset(text, ' ', sizeof text);
    memcpy(text, "#pragma once\n", 13);
    memcpy(text + 3000, "tune", 4);
    assert_false(ctune_shim_has_pragma(text, sizeof text));
    /* bounds: nothing behind n_text is read */
    assert_false(ctune_shim_has_pragma("#pragma tune", 11));
}

static void test_args(void **state) {
    (void)state;
    ctune_shim_args args = {0};
    char error[256] = "";
    assert_int_equal(args.mode, CTUNE_TRANSFORM_LOCK);
    assert_true(ctune_shim_arg_set(&args, "mode", "predict", error, sizeof error));
    assert_int_equal(args.mode, CTUNE_TRANSFORM_PREDICT);
    assert_true(ctune_shim_arg_set(&args, "mode", "off", error, sizeof error));
    assert_int_equal(args.mode, CTUNE_TRANSFORM_OFF);
    assert_true(ctune_shim_arg_set(&args, "lock", "a b/c.lock", error, sizeof error));
    assert_string_equal(args.lock, "a b/c.lock");
    assert_true(ctune_shim_arg_set(&args, "report", "remarks", error, sizeof error));
    assert_true(args.shows_remarks);
    assert_null(args.report);
    assert_true(ctune_shim_arg_set(&args, "report", "r.json", error, sizeof error));
    assert_string_equal(args.report, "r.json");
    assert_true(ctune_shim_arg_set(&args, "werror", NULL, error, sizeof error));
    assert_true(args.werror);
    assert_true(ctune_shim_arg_set(&args, "werror", "0", error, sizeof error));
    assert_false(args.werror);
    assert_string_equal(error, "");
    assert_false(ctune_shim_arg_set(&args, "mode", "best", error, sizeof error));
    assert_non_null(strstr(error, "lock|predict|off|record"));
    assert_false(ctune_shim_arg_set(&args, "mode", NULL, error, sizeof error));
    assert_false(ctune_shim_arg_set(&args, "lock", NULL, error, sizeof error));
    assert_false(ctune_shim_arg_set(&args, "lok", "x", error, sizeof error));
    assert_non_null(strstr(error, "lock=FILE"));
}

static void expect_words(const ctune_shim_words *words, const char *const *want, int n) {
    assert_int_equal(words->n, n);
    for (int i = 0; i < n; i++) {
        assert_string_equal(words->words[i], want[i]);
    }
}

static void test_words_of_gcc(void **state) {
    (void)state;
    ctune_shim_words words;
    static const char *const want[] = {"gcc", "-O3", "-DX=a b", "it's", "", "-c"};
    assert_true(ctune_shim_words_parse("gcc", "'-O3' '-DX=a b'  'it'\\''s' '' '-c'", &words));
    expect_words(&words, want, 6);
    ctune_shim_words_clear(&words);
    assert_true(ctune_shim_words_parse("gcc", "", &words));
    assert_int_equal(words.n, 1);
    ctune_shim_words_clear(&words);
    ctune_shim_words_clear(&words);
}

static void test_words_of_files(void **state) {
    (void)state;
    char inner[] = "/tmp/ctune-shim-XXXXXX", outer[] = "/tmp/ctune-shim-XXXXXX", text[128];
    int inner_fd = mkstemp(inner), outer_fd = mkstemp(outer);
    assert_true(inner_fd >= 0 && outer_fd >= 0);
    assert_true(write(inner_fd, "-I\"a b\"\n-DX\\ Y", 14) == 14);
    int n = snprintf(text, sizeof text, "-O2 '@%s'", inner);
    assert_true(write(outer_fd, text, (size_t)n) == n);
    snprintf(text, sizeof text, "-c @%s @/no/such/file", outer);
    ctune_shim_words words;
    static const char *const want[] = {"clang", "-c", "-O2", "-Ia b", "-DX Y", "@/no/such/file"};
    assert_true(ctune_shim_words_parse("clang", text, &words));
    expect_words(&words, want, 6);
    ctune_shim_words_clear(&words);
    close(inner_fd);
    close(outer_fd);
    unlink(inner);
    unlink(outer);
}

static void test_words_of_processes(void **state) {
    (void)state;
    ctune_shim_words words;
    assert_true(ctune_shim_words_read(0, &words));
    assert_true(words.n >= 1);
    assert_non_null(strstr(words.words[0], "test_shim"));
    assert_null(words.words[words.n]);
    ctune_shim_words_clear(&words);
    assert_true(ctune_shim_words_read((int)getpid(), &words));
    ctune_shim_words_clear(&words);
    assert_false(ctune_shim_words_read(0x7ffffffe, &words));
}

static void test_load_says_why(void **state) {
    (void)state;
    char error[256] = "";
    static const char elsewhere = 0; /* the test program's folder holds no transform library */
    assert_null(ctune_shim_load(&elsewhere, error, sizeof error));
    assert_true(strlen(error) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_finds),     cmocka_unit_test(test_scan_finds_nothing),
        cmocka_unit_test(test_args),           cmocka_unit_test(test_words_of_gcc),
        cmocka_unit_test(test_words_of_files), cmocka_unit_test(test_words_of_processes),
        cmocka_unit_test(test_load_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

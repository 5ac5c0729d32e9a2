/* Instrumented text: the declarations are those of the runtime's header, a body for what was
 * extracted only. */
#include "plugin/record/record.h"
#include "runtime/record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char source[] = "void f(int n, float *x, struct s { long m; } *s) {\n"
                             "#pragma tune\n"
                             "    for (int i = 0; i < n; i++)\n"
                             "        for (int j = 0; j < s->m; j++)\n"
                             "            x[i * s->m + j] = 1;\n"
                             "#pragma tune name(refused)\n"
                             "    for (int i = 0; i < n; i++)\n"
                             "        if (x[i] > 2) break;\n"
                             "#pragma tune name(fixed)\n"
                             "    for (int i = 0; i < 8; i++)\n"
                             "        x[i] = 2;\n"
                             "#pragma tune off\n"
                             "    for (int i = 0; i < 8; i++)\n"
                             "        x[i] = 2;\n"
                             "}\n";

typedef struct fixture {
    ctune_ctx ctx;
    ctune_unit *unit;
} fixture;

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    ctune_ctx_init(&f->ctx);
    *state = f;
    return ctune_extract(&f->ctx, "f.c", source, 0, NULL, &f->unit) != CTUNE_OK;
}

static int teardown(void **state) {
    fixture *f = *state;
    ctune_unit_destroy(f->unit);
    free(f);
    return 0;
}

/* Appends text without comments, white space and blank lines. */
static void squeeze(const char *text, size_t n, ctune_text *out) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '/' && i + 1 < n && text[i + 1] == '*') {
            i = (size_t)(strstr(text + i, "*/") - text) + 1;
        } else if (text[i] != ' ' && text[i] != '\n') {
            ctune_text_append_n(out, text + i, 1);
        }
    }
}

static void test_declarations(void **state) {
    fixture *f = *state;
    ctune_text file, header, prelude, emitted;
    ctune_text_init(&file);
    ctune_text_init(&header);
    ctune_text_init(&prelude);
    ctune_text_init(&emitted);
    assert_int_equal(ctune_file_read(&f->ctx, CTUNE_TEST_DIR "/../runtime/record/record.h", &file),
                     CTUNE_OK);
    static const char begin[] = "/* declarations begin */", end[] = "/* declarations end */";
    const char *from = strstr(ctune_text_get(&file), begin);
    const char *to = strstr(ctune_text_get(&file), end);
    assert_true(from != NULL && to != NULL);
    squeeze(from, (size_t)(to - from), &header);
    assert_int_equal(ctune_record_emit_prelude(&f->ctx, f->unit, "/a/f.c", &prelude), CTUNE_OK);
    const char *sites = strstr(ctune_text_get(&prelude), "extern struct");
    assert_non_null(sites);
    squeeze(ctune_text_get(&prelude), (size_t)(sites - ctune_text_get(&prelude)), &emitted);
    assert_string_equal(ctune_text_get(&emitted), ctune_text_get(&header));
    ctune_text_clear(&file);
    ctune_text_clear(&header);
    ctune_text_clear(&prelude);
    ctune_text_clear(&emitted);
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, word)) != NULL; p++) {
        n++;
    }
    return n;
}

static void test_sites(void **state) {
    fixture *f = *state;
    ctune_text text;
    ctune_text_init(&text);
    assert_int_equal(ctune_record_emit_prelude(&f->ctx, f->unit, "/a \"b\"\\?\n/f.c", &text),
                     CTUNE_OK);
    assert_int_equal(count(ctune_text_get(&text), "weak"), 2);
    assert_int_equal(count(ctune_text_get(&text), "\"/a \\\"b\\\"\\\\\\?\\012/f.c\""), 2);
    assert_int_equal(count(ctune_text_get(&text), "\"fixed\""), 1);
    ctune_text_clear(&text);
}

static void test_bodies(void **state) {
    fixture *f = *state;
    assert_int_equal(f->unit->n_regions, 4);
    static const char *const values[] = {"{(long long)(n), (long long)(s->m)}", NULL, "{0}", NULL};
    for (int i = 0; i < 4; i++) {
        ctune_text text;
        ctune_text_init(&text);
        assert_int_equal(
            ctune_record_emit_body(&f->ctx, f->unit, "/a/f.c", i, "for (;;) x;", &text), CTUNE_OK);
        const char *body = ctune_text_get(&text);
        if (values[i] == NULL) {
            assert_string_equal(body, "");
        } else {
            assert_non_null(strstr(body, values[i]));
            assert_non_null(
                strstr(body, "/* ctune:original begin */\nfor (;;) x;\n/* ctune:original end */"));
            assert_int_equal(count(body, "ctune_record_begin"), 1);
            assert_int_equal(count(body, "ctune_record_end"), 1);
        }
        ctune_text_clear(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_declarations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sites, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bodies, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Rewriting: apply, apply again, undo; line endings, byte-order mark, no newline at the end, #line,
 * place of the prelude. Units are made here by a small reader of the markers, so that no compiler
 * library is needed.
 */
#include "plugin/rewrite/place.h"
#include "plugin/rewrite/rewrite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    ctune_unit unit;
    ctune_unit_region regions[8];
    ctune_region te[8];
    char name[8][16];
} fixture;

static size_t find(const char *text, const char *word, size_t from) {
    const char *p = strstr(text + from, word);
    assert_non_null(p);
    return (size_t)(p - text);
}

/* Statements in these tests start with `for` or `{` and end with "/""*E*""/" or, when rewritten, at
 * the end marker. */
static void make_unit(fixture *f, const char *text) {
    memset(f, 0, sizeof *f);
    f->unit.file = "a.c";
    f->unit.text = text;
    f->unit.n_text = strlen(text);
    f->unit.regions = f->regions;
    for (const char *p = text; (p = strstr(p, "#pragma tune")) != NULL;) {
        int n = f->unit.n_regions++;
        ctune_unit_region *r = &f->regions[n];
        r->pragma_begin = (size_t)(p - text);
        r->pragma_end = r->pragma_begin + strcspn(p, "\r\n");
        size_t at = r->pragma_end + strspn(text + r->pragma_end, " \r\n");
        r->statement_begin = at;
        if (strncmp(text + at, "/* ctune:begin", 14) == 0) {
            r->is_rewritten = true;
            size_t end = find(text, "/* ctune:end", at);
            r->statement_end = find(text, "*/", end) + 2;
            r->original_begin = find(text, "for", find(text, "/* ctune:original begin */", at));
            r->original_end = find(text, "/*E*/", r->original_begin) + 5;
        } else {
            r->statement_end = find(text, "/*E*/", at) + 5;
        }
        sprintf(f->name[n], "f.%d", n);
        f->te[n].name = f->name[n];
        r->region = &f->te[n];
        p = text + r->statement_end;
    }
}

static char *body_of(const fixture *f, int i) {
    const ctune_unit_region *r = &f->regions[i];
    size_t begin = r->is_rewritten ? r->original_begin : r->statement_begin;
    size_t end = r->is_rewritten ? r->original_end : r->statement_end;
    ctune_text out;
    ctune_text_init(&out);
    ctune_text_printf(
        &out,
        "{\n    if (ctune_ok) {\n        fast%d();\n    } else {\n/* ctune:original begin */\n", i);
    ctune_text_append_n(&out, f->unit.text + begin, end - begin);
    ctune_text_append(&out, "\n/* ctune:original end */\n    }\n}\n");
    return out.data;
}

/* mask: regions to rewrite; undo: regions to undo; others are not listed. */
static char *apply(const char *text, unsigned mask, unsigned undo, const char *line_file) {
    fixture f;
    make_unit(&f, text);
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_splice splices[8];
    char *bodies[8];
    int n = 0;
    for (int i = 0; i < f.unit.n_regions; i++) {
        bodies[i] = body_of(&f, i);
        if ((mask | undo) >> i & 1) {
            splices[n++] = (ctune_splice){i, mask >> i & 1 ? bodies[i] : NULL};
        }
    }
    ctune_text out;
    ctune_text_init(&out);
    assert_int_equal(
        ctune_rewrite_lines(&ctx, &f.unit, "typedef int ctune_v;\n", splices, n, line_file, &out),
        CTUNE_OK);
    for (int i = 0; i < f.unit.n_regions; i++) {
        free(bodies[i]);
    }
    char *copy = strdup(ctune_text_get(&out));
    ctune_text_clear(&out);
    return copy;
}

static const char *const plain = "/* A file. */\n"
                                 "#include <math.h>\n"
                                 "\n"
                                 "static int g = 3;\n"
                                 "/* Adds. */\n"
                                 "void f(int n) {\n"
                                 "#pragma tune sizes(n=4)\n"
                                 "    for (;;)\n"
                                 "        x(); /*E*/ y();\n"
                                 "#pragma tune\n"
                                 "    /* why */ for (;;) z(); /*E*/\n"
                                 "}\n"
                                 "int last;";

static char *to_crlf(const char *text) {
    ctune_text out;
    ctune_text_init(&out);
    for (; *text != '\0'; text++) {
        ctune_text_append(&out, *text == '\n' ? "\r\n" : (char[2]){*text, '\0'});
    }
    return out.data;
}

static void check_cycle(const char *text) {
    for (int with_lines = 0; with_lines < 2; with_lines++) {
        const char *line_file = with_lines ? "a.c" : NULL;
        for (unsigned mask = 1; mask < 4; mask++) {
            char *once = apply(text, mask, 0, line_file);
            char *twice = apply(once, mask, 0, line_file);
            char *both = apply(once, 3, 0, line_file);
            char *direct = apply(text, 3, 0, line_file);
            char *back = apply(both, 0, 3, line_file);
            char *less = apply(both, 0, 3 & ~mask, line_file);
            char *kept = apply(once, 0, 0, line_file);
            assert_string_equal(twice, once);
            assert_string_equal(both, direct);
            assert_string_equal(back, text);
            assert_string_equal(kept, once);
            if (mask == 3) {
                assert_string_equal(less, both);
            } else {
                char *again = apply(less, mask, 0, line_file);
                assert_string_equal(again, once);
                free(again);
            }
            free(once), free(twice), free(both), free(direct), free(back), free(less), free(kept);
        }
    }
}

/* The plain file's regions carry one comment between pragma and statement; skip it as extraction
 * would. */
static void test_cycles(void **state) {
    (void)state;
    char *text = strdup(plain);
    char *why = strstr(text, "/* why */ ");
    memmove(why, why + 10, strlen(why + 10) + 1);
    check_cycle(text);
    char *crlf = to_crlf(text);
    check_cycle(crlf);
    char *out = apply(crlf, 3, 0, "a.c");
    for (const char *p = out; (p = strchr(p, '\n')) != NULL; p++) {
        assert_true(p > out && p[-1] == '\r');
    }
    free(out);
    free(crlf);
    char *bom = malloc(strlen(text) + 4);
    sprintf(bom, "\xef\xbb\xbf%s", text);
    check_cycle(bom);
    out = apply(bom, 1, 0, "a.c");
    assert_memory_equal(out, "\xef\xbb\xbf", 3);
    free(out);
    free(bom);
    free(text);
}

/* Virtual line numbers after #line agree with the original's. */
static void test_lines(void **state) {
    (void)state;
    char *text = strdup(plain);
    char *why = strstr(text, "/* why */ ");
    memmove(why, why + 10, strlen(why + 10) + 1);
    char *out = apply(text, 3, 0, "a.c");
    static const struct {
        const char *word;
        int line;
    } expect[] = {
        {"#include", 2},   {"static int g", 4}, {"void f", 6},   {"#pragma tune sizes", 7},
        {"for (;;)\n", 8}, {"x();", 9},         {"y();", 9},     {"fast0", 9},
        {"fast1", 12},     {"z();", 11},        {"int last", 13}};
    for (size_t i = 0; i < sizeof expect / sizeof *expect; i++) {
        const char *at = strstr(out, expect[i].word);
        assert_non_null(at);
        int line = 1;
        for (const char *p = out; p < at; p++) {
            if (strncmp(p, "#line ", 6) == 0 && (p == out || p[-1] == '\n')) {
                line = atoi(p + 6) - 1;
            }
            line += *p == '\n';
        }
        assert_int_equal(line, expect[i].line);
    }
    char origin[64];
    ctune_rewrite_origin(out, strlen(out), origin, sizeof origin);
    assert_string_equal(origin, "a.c");
    free(out);
    free(text);
}

static void test_origin_none(void **state) {
    (void)state;
    char origin[8] = "x";
    ctune_rewrite_origin(plain, strlen(plain), origin, sizeof origin);
    assert_string_equal(origin, "");
}

/* `@` marks where the prelude goes, `%` the pragma. */
static void test_place(void **state) {
    (void)state;
    static const char *const cases[] = {
        "@void f(void) { %",
        "@/* doc */\nvoid f(void) { %",
        "/* file */\n\n@/* doc */\n// more\nvoid f(void) { %",
        "#include <x>\n@static\nint f(void)\n{ if (1) { %",
        "#include <x> /* a\n b */\n@int f(void) { %",
        "int x; /* trail */\n@int f(void) { %",
        "@int x; int f(void) { %",
        "struct s { int a; };\n@int f(struct s *p) { %",
        "@struct s {\n int a; } x; int f(void) { %",
        "char q = '{', *s = \"{\\\"{\"; // {\n@int f(void) { %",
        "#define A {\\\n {\n@int f(void) { %",
        "extern \"C\" {\n@int f(void) { %",
        "#ifdef A\n@int f(void) { %",
        "@#ifdef A\nint f(int a) {\n#else\nint f(void) {\n#endif\n %",
        "#ifdef A\nint g(int a) {\n#else\nint g(void) {\n#endif\n}\n@int f(void) { %",
        "@int f(a, b)\n int a;\n int b;\n{ %",
        "int a[] = { 1, 2 };\n@int f(void) __attribute__((pure)); int g(void) { %",
        "\xef\xbb\xbf@int f(void) { %",
        "int f(void) { }\r\n\r\n@int g(void) {\r\n %",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        size_t n = 0, want = 0, at = 0;
        for (const char *p = cases[i]; *p != '\0'; p++) {
            if (*p == '@') {
                want = n;
            } else if (*p == '%') {
                at = n;
            } else {
                text[n++] = *p;
            }
        }
        size_t got = ctune_place_find(text, n, at);
        if (got != want) {
            print_error("case %zu: got %zu, want %zu\n%s\n", i, got, want, cases[i]);
        }
        assert_int_equal(got, want);
    }
}

/* Any bytes: the scan stays inside of the text. */
static void test_place_garbage(void **state) {
    (void)state;
    static const char alphabet[] = "{}()\"'\\/*#\n\r ;aifel";
    unsigned x = 7;
    for (int round = 0; round < 2000; round++) {
        size_t n = round % 40;
        char *text = malloc(n + 1);
        for (size_t i = 0; i < n; i++) {
            x = x * 1103515245u + 12345u;
            text[i] = alphabet[(x >> 16) % (sizeof alphabet - 1)];
        }
        char *exact = malloc(n > 0 ? n : 1);
        memcpy(exact, text, n);
        assert_true(ctune_place_find(exact, n, n) <= n);
        free(exact);
        free(text);
    }
}

static void test_bad_offsets(void **state) {
    (void)state;
    fixture f;
    make_unit(&f, "void f(void) {\n#pragma tune\nfor (;;) x(); /*E*/\n}\n");
    f.regions[0].statement_end = 10000;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_text out;
    ctune_text_init(&out);
    ctune_splice splice = {0, "{}\n"};
    assert_int_equal(ctune_rewrite(&ctx, &f.unit, "p\n", &splice, 1, &out), CTUNE_EBUG);
    ctune_text_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycles),        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_origin_none),   cmocka_unit_test(test_place),
        cmocka_unit_test(test_place_garbage), cmocka_unit_test(test_bad_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

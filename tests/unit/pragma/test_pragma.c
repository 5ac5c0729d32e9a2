/* The pragma grammar: every clause, every kind of mistake with its place and code, and print/parse
 * fixed point. */
#include "plugin/pragma/pragma.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct seen {
    int n;
    int col[8];
    char code[8][32], text[8][160], hint[8][256];
} seen;

static void collect(void *user, const ctune_diag *diag) {
    seen *s = user;
    if (s->n < 8) {
        s->col[s->n] = diag->col;
        snprintf(s->code[s->n], sizeof s->code[0], "%s", diag->code);
        snprintf(s->text[s->n], sizeof s->text[0], "%s", diag->text);
        snprintf(s->hint[s->n], sizeof s->hint[0], "%s", diag->hint != NULL ? diag->hint : "");
    }
    s->n++;
}

static ctune_status parse(ctune_ctx *ctx, ctune_arena *arena, const char *text, ctune_pragma *out) {
    const ctune_token *tokens;
    int n = ctune_pragma_tokenise(arena, text, 3, 1, &tokens);
    assert_true(n >= 0);
    return ctune_pragma_parse(ctx, arena, "a.c", 3, 1, tokens, n, out);
}

static void test_every_clause_is_read(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_arena *arena = ctune_arena_create(&ctx);
    ctune_pragma p;
    assert_int_equal(
        parse(&ctx, arena,
              "name(gemm), target(cuda) sizes(n=512|0x800, s->m=7, k=-3) reassoc serial noalias "
              "assume(n % 8 == 0, f(a, b) >= m) /* why */ assume(-x < y[i]) "
              "schedule(\"split i 64 -> i0 i1\\n\" \"vectorize \\\"j\\\"\") weight(2.5) off",
              &p),
        CTUNE_OK);
    assert_string_equal(p.name, "gemm");
    assert_int_equal(p.target, CTUNE_PRAGMA_CUDA);
    assert_int_equal(p.n_sizes, 3);
    assert_string_equal(p.sizes[1].name, "s->m");
    assert_int_equal(p.sizes[0].n_values, 2);
    assert_int_equal(p.sizes[0].values[1], 2048);
    assert_int_equal(p.sizes[2].values[0], -3);
    assert_true(p.reassoc && p.serial && p.noalias && p.off && !p.strict);
    assert_int_equal(p.n_assumes, 3);
    assert_string_equal(p.assumes[0], "n % 8 == 0");
    assert_string_equal(p.assumes[1], "f(a, b) >= m");
    assert_string_equal(p.assumes[2], "-x < y[i]");
    assert_string_equal(p.schedule, "split i 64 -> i0 i1\nvectorize \"j\"");
    assert_true(p.weight == 2.5);
    ctune_arena_destroy(arena);
}

static void test_defaults_and_places(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_arena *arena = ctune_arena_create(&ctx);
    ctune_pragma p;
    assert_int_equal(parse(&ctx, arena, "", &p), CTUNE_OK);
    assert_true(p.weight == 1 && p.n_threads == 0 && p.line == 3 && p.col == 1);
    assert_string_equal(ctune_pragma_print(arena, &p), "");
    assert_int_equal(parse(&ctx, arena, "parallel", &p), CTUNE_OK);
    assert_int_equal(p.n_threads, -1);
    assert_int_equal(parse(&ctx, arena, "parallel(4)", &p), CTUNE_OK);
    assert_int_equal(p.n_threads, 4);
    ctune_arena_destroy(arena);
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text, *code, *words;
        int col;
    } rows[] = {
        {"parralel", "unknown-clause", "parralel", 1},
        {"size(n=1)", "unknown-clause", "size", 1},
        {"strict strict", "duplicate-clause", "twice", 8},
        {"strict reassoc", "conflicting-clauses", "contradicts", 8},
        {"reassoc strict", "conflicting-clauses", "contradicts", 9},
        {"serial parallel(2)", "conflicting-clauses", "contradicts", 8},
        {"parallel serial", "conflicting-clauses", "contradicts", 10},
        {"parallel(0)", "bad-clause", "1..", 10},
        {"parallel()", "bad-clause", "empty", 10},
        {"parallel(2 3)", "bad-clause", "not expected", 12},
        {"name", "bad-clause", "needs an argument", 1},
        {"name(3)", "bad-clause", "identifier", 6},
        {"name(a b)", "bad-clause", "not expected", 8},
        {"name(a", "bad-clause", "not closed", 5},
        {"target(gpu)", "bad-clause", "cpu, cuda or opencl", 8},
        {"sizes(n)", "bad-clause", "'='", 8},
        {"sizes(n=)", "bad-clause", "integer", 9},
        {"sizes(n=12u)", "bad-clause", "integer", 9},
        {"sizes(n=0x)", "bad-clause", "integer", 9},
        {"sizes(n=010)", "bad-clause", "octal", 9},
        {"sizes(n=9223372036854775808)", "bad-clause", "too large", 9},
        {"sizes(n=1|1)", "bad-clause", "twice", 11},
        {"sizes(n=1, n=2)", "bad-clause", "twice", 12},
        {"sizes(n=1,)", "bad-clause", "parameter", 11},
        {"sizes(n=1|2|3|4|5|6|7|8|9)", "bad-clause", "more than 8", 25},
        {"strict(1)", "bad-clause", "no argument", 1},
        {"assume()", "bad-clause", "empty", 8},
        {"assume(a == 'b)", "bad-clause", "not closed", 7},
        {"assume(a == \"b\n)", "bad-clause", "not closed", 13},
        {"assume(x], a)", "bad-clause", "opened", 9},
        {"assume(x, a[i)", "bad-clause", "not closed", 12},
        {"assume(a,,b)", "bad-clause", "condition", 10},
        {"schedule(split)", "bad-clause", "string", 10},
        {"schedule(\"a\\q\")", "bad-clause", "escape", 10},
        {"schedule(\"a)", "bad-clause", "not closed", 9},
        {"weight(0)", "bad-clause", "above 0", 8},
        {"weight(1e3)", "bad-clause", "above 0", 8},
        {"weight(1.2.3)", "bad-clause", "above 0", 8},
        {"weight(0.0000000001)", "bad-clause", "above 0", 8},
        {"weight(99999999999999999999)", "bad-clause", "above 0", 8},
        {"strict,", "bad-clause", "after ','", 7},
        {", strict", "bad-clause", "expected a clause", 1},
        {"strict ,, off", "bad-clause", "expected a clause", 9},
        {"3", "bad-clause", "expected a clause", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seen s = {0};
        ctune_ctx ctx = {.sink = collect, .sink_user = &s};
        ctune_arena *arena = ctune_arena_create(&ctx);
        ctune_pragma p;
        ctune_status status = parse(&ctx, arena, rows[i].text, &p);
        if (status != CTUNE_EUSAGE || s.n != 1 || strcmp(s.code[0], rows[i].code) != 0 ||
            strstr(s.text[0], rows[i].words) == NULL || s.col[0] != rows[i].col) {
            fail_msg("'%s': status %d, %d diagnostics, col %d [%s] %s", rows[i].text, status, s.n,
                     s.col[0], s.code[0], s.text[0]);
        }
        assert_int_equal(ctx.n_errors, 1);
        assert_non_null(strstr(ctx.error, "a.c:3:"));
        ctune_arena_destroy(arena);
    }
}

static void test_suggestion_and_all_mistakes_of_a_line(void **state) {
    (void)state;
    seen s = {0};
    ctune_ctx ctx = {.sink = collect, .sink_user = &s};
    ctune_arena *arena = ctune_arena_create(&ctx);
    ctune_pragma p;
    assert_int_equal(parse(&ctx, arena, "parralel(4) sizes(n=x) wieght(1) frobnicate strict", &p),
                     CTUNE_EUSAGE);
    assert_int_equal(s.n, 4);
    assert_string_equal(s.hint[0], "did you mean 'parallel'?");
    assert_string_equal(s.hint[2], "did you mean 'weight'?");
    assert_non_null(strstr(s.hint[3], "known clauses: name, target, sizes"));
    assert_true(p.strict);
    ctune_arena_destroy(arena);
}

static void test_print_is_a_fixed_point(void **state) {
    (void)state;
    static const char *const texts[] = {
        "off weight(0.000000001) name(x)",
        "assume(a->b.c[i]  ==- - 1&&!x, ~ y,* p<&q, sizeof (int)==4, a? b:c, 'x' != \"s\")",
        "assume(a ! = b, x - > y, . . ., f(a)(b), - -x, 1.5e-3+ .5)",
        "schedule(\"a\\tb\\\\ \\\"q\\\" '\") parallel , serialx",
        "weight(1000000) sizes(a=0X7fFFffff|0|-0x10)",
        "weight(1.0) strict",
        "assume(a \\\n == 1) // trailing",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ctune_ctx ctx = {0};
        ctune_arena *arena = ctune_arena_create(&ctx);
        ctune_pragma p, q;
        ctune_status status = parse(&ctx, arena, texts[i], &p);
        assert_int_equal(status, strstr(texts[i], "serialx") != NULL ? CTUNE_EUSAGE : CTUNE_OK);
        const char *once = ctune_pragma_print(arena, &p);
        assert_int_equal(parse(&ctx, arena, once, &q), CTUNE_OK);
        assert_string_equal(ctune_pragma_print(arena, &q), once);
        ctune_arena_destroy(arena);
    }
}

static void test_no_memory(void **state) {
    (void)state;
    for (uint64_t n = 1; n < 4; n++) {
        ctune_ctx ctx = {0};
        ctune_arena *arena = ctune_arena_create(&ctx);
        static const ctune_token tokens[] = {{"name", 1, 1}, {"(", 1, 5}, {"a", 1, 6}, {")", 1, 7}};
        ctune_pragma p;
        ctx.alloc_fail_at = n;
        ctune_status status = ctune_pragma_parse(&ctx, arena, NULL, 1, 1, tokens, 4, &p);
        assert_int_equal(status, n == 1 ? CTUNE_ENOMEM : CTUNE_OK);
        ctune_arena_destroy(arena);
    }
}

static void test_help_has_every_clause(void **state) {
    (void)state;
    int n = 0;
    const char *form;
    while (ctune_pragma_clause_help(n, &form) != NULL) {
        assert_non_null(form);
        n++;
    }
    assert_int_equal(n, 12);
    assert_null(ctune_pragma_clause_help(-1, &form));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_clause_is_read),
        cmocka_unit_test(test_defaults_and_places),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_suggestion_and_all_mistakes_of_a_line),
        cmocka_unit_test(test_print_is_a_fixed_point),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_help_has_every_clause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

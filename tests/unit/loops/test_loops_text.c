/* A program's text: what prints, parses to the same; bad text is refused with its place. */
#include "loops_samples.h"

static void print_of(const ctune_loops *l, ctune_text *out) {
    ctune_text_init(out);
    ctune_loops_print(l, out);
    assert_false(out->failed);
}

static void test_round_trip(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    for (const char *const *text = loops_programs(); *text != NULL; text++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_loops *l = loops_parsed(region, *text), *again = NULL;
        if (ctune_loops_verify(&ctx, l) != CTUNE_OK) {
            print_error("%s\n%s", ctx.error, *text);
            fail();
        }
        ctune_text once, twice;
        print_of(l, &once);
        assert_int_equal(ctune_loops_parse(&ctx, region, ctune_text_get(&once), &again), CTUNE_OK);
        assert_int_equal(ctune_loops_verify(&ctx, again), CTUNE_OK);
        print_of(again, &twice);
        assert_string_equal(ctune_text_get(&once), ctune_text_get(&twice));
        /* the samples are written as they print */
        assert_string_equal(ctune_text_get(&once) + strlen("loops 1\n"), *text);
        ctune_text_clear(&once);
        ctune_text_clear(&twice);
        ctune_loops_destroy(l);
        ctune_loops_destroy(again);
    }
    ctune_region_destroy(region);
}

/* What loops_verify refuses prints and parses, too: types that do not fit show. */
static void test_broken_round_trip(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    const char *texts[] = {"store K[0][0] = alpha:i32\n", "store alpha = (alpha + K[0]):f64x2\n",
                           "for i.0 from 0 below 2 parallel collapse 7 {\n}\nstore K[i.0] = 1\n",
                           "def x.0 f32x3 = splat(alpha, 3)\nset x.0 = x.0\n",
                           "decl b.b0[n] f16 register\nstore b.b0[0:4] = f16(0x1p+0):f16x4\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ctune_loops *l = loops_parsed(region, texts[i]);
        ctune_text text;
        print_of(l, &text);
        assert_string_equal(ctune_text_get(&text) + strlen("loops 1\n"), texts[i]);
        ctune_text_clear(&text);
        ctune_loops_destroy(l);
    }
    ctune_region_destroy(region);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "1:1: expected loops"},
        {"loops 2\n", "version 1"},
        {"loops 1\nfor i.0 from 0 below n {\n", "3:1: expected }"},
        {"loops 1\nfor i.0 from 0 to n {\n}\n", "2:16: expected below"},
        {"loops 1\nstore K[i.0] = 1\n", "2:9: no such index variable or parameter: 'i.0'"},
        {"loops 1\nstore Q[0] = 1\n", "2:7: no such variable, buffer or tensor: 'Q'"},
        {"loops 1\nset x.0 = 1\n", "2:5: no such variable: 'x.0'"},
        {"loops 1\nlet i.0 = floor(n / 0)\n", "2:21: not a positive number"},
        {"loops 1\nlet i.0 = 9223372036854775808\n", "not a 64-bit integer"},
        {"loops 1\nlet i.0 = 9223372036854775807*n + 9223372036854775807*n\n", "does not fit"},
        {"loops 1\nlet i.999999 = 1\n", "2:5: too large an id"},
        {"loops 1\nlet i.0 = 1\nlet j.0 = 1\n", "3:5: the id stands for something else: 'j.0'"},
        {"loops 1\ndecl b.0[1] f32 block\n", "2:6: a variable is no buffer: 'b.0'"},
        {"loops 1\ndecl b.b0[1] f32 nowhere\n", "2:18: expected a scope, found 'nowhere'"},
        {"loops 1\ndef x.0 f99\n", "2:9: unknown type 'f99'"},
        {"loops 1\ndef x.0 f32x = alpha\n", "unknown type 'f32x'"},
        {"loops 1\nstore A[0][0:4] = alpha\n", "another number of lanes"},
        {"loops 1\nstore alpha = fma(alpha, alpha)\n", "wrong number of arguments"},
        {"loops 1\nstore alpha = splat(alpha)\n", "wrong number of arguments"},
        {"loops 1\nstore alpha = \n", "2:15: expected a value, found 'end of line'"},
        {"loops 1\nif n >= 1 {\n}\n", "2:9: expected 0"},
        {"loops 1\nstore alpha = 1.0f 2\n", "unexpected '2'"},
        {"loops 1\n}\n", "2:1: unexpected '}'"},
        {"loops 1\nstore alpha = \"x\n", "malformed string"},
        {"loops 1\nif ; 1 {\n} else\n", "expected {"},
        {"loops 1\nlet a.0 = A\n", "no such index variable"},
        {"loops 1\nstore A[0][0][0][0][0][0][0][0][0] = alpha\n", "too many indices"},
    };
    ctune_region *region = loops_region();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_loops *l = NULL;
        assert_int_equal(ctune_loops_parse(&ctx, region, rows[i].text, &l), CTUNE_EUSAGE);
        if (strstr(ctx.error, rows[i].words) == NULL) {
            print_error("row %zu: %s\n", i, ctx.error);
            fail();
        }
    }
    ctune_region_destroy(region);
}

/* head + n times part + mid + n times tail: must be refused, or read and printed. */
static void try_deep(const ctune_region *region, const char *head, const char *part,
                     const char *mid, const char *tail, int n, bool is_refused) {
    ctune_text text, once;
    ctune_text_init(&text);
    ctune_text_append(&text, head);
    for (int i = 0; i < n; i++) {
        ctune_text_append(&text, part);
    }
    ctune_text_append(&text, mid);
    for (int i = 0; i < n; i++) {
        ctune_text_append(&text, tail);
    }
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_loops *l = NULL;
    ctune_status status = ctune_loops_parse(&ctx, region, ctune_text_get(&text), &l);
    if ((status != CTUNE_OK) != is_refused) {
        print_error("%s%s...%s: %s\n", head, part, mid, ctx.error);
    }
    assert_int_equal(status, is_refused ? CTUNE_EUSAGE : CTUNE_OK);
    if (status == CTUNE_OK) {
        print_of(l, &once);
        ctune_text_clear(&once);
        (void)!ctune_loops_verify(&ctx, l);
        ctune_loops_destroy(l);
    }
    ctune_text_clear(&text);
}

static void test_hostile(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    const char *store = "loops 1\nstore alpha = ", *let = "loops 1\nlet i.0 = ";
    try_deep(region, store, "alpha + ", "alpha\n", "", 100000, true);
    try_deep(region, store, "alpha + ", "alpha\n", "", 1000, false);
    try_deep(region, store, "(alpha + ", "alpha", ")", 100000, true);
    try_deep(region, store, "-", "alpha", "", 100000, true);
    try_deep(region, let, "(", "n", ")", 100000, true);
    try_deep(region, let, "min(n, m*", "n", ")", 100000, true);
    try_deep(region, let, "n*", "n", "", 31, false);
    try_deep(region, let, "n*", "n", "", 1000, true);
    try_deep(region, let, "(n + m + 1)*", "n", "", 20, false);
    try_deep(region, let, "(n + m + 1)*", "n", "", 1000, true);
    try_deep(region, let, "(n + 1)*(m + 1) + ", "n", "", 50000, false);
    try_deep(region, let, "(n + m)*(m + n) + ", "n", "", 50000, true);
    try_deep(region, "loops 1\n", "seq {\n", "", "}\n", 100000, true);
    try_deep(region, "loops 1\n", "seq {\n", "", "}\n", 500, false);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_broken_round_trip),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

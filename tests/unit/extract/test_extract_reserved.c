/* Identifiers that emitted code must not declare: where they come from, and that regions share
 * them. */
#include "plugin/extract/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], header[96], file[96];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ctune-reserved-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(header, sizeof header, "%s/own.h", folder);
    snprintf(file, sizeof file, "%s/main.c", folder);
    FILE *f = fopen(header, "w");
    assert_non_null(f);
    fputs("#define WIDTH (tile_rows * 2)\n/* in_comment */ static const int tile_rows = 4;\n"
          "typedef float own_real;\n",
          f);
    fclose(f);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(header);
    rmdir(folder);
    return 0;
}

static bool has(const ctune_region *r, const char *name) {
    int lo = 0, hi = r->n_reserved - 1;
    while (lo <= hi) {
        int mid = (lo + hi) / 2, order = strcmp(r->reserved[mid], name);
        if (order == 0) {
            return true;
        }
        lo = order < 0 ? mid + 1 : lo;
        hi = order > 0 ? mid - 1 : hi;
    }
    return false;
}

static const char text[] =
    "#include <stdint.h>\n#include <errno.h>\n#include \"own.h\"\n"
    "#define LOCAL hidden_name + 1'000\n"
    "#if 0\nint in_dead_code;\n#endif\n"
    "static const char *s = \"in_string \\\" in_string2\"; // in_line_comment 'x\n"
    "static const char c = 'q', d = '\\'', after_quotes = '\"';\n"
    "/* ctune:prelude begin */\nstatic int of_the_prelude;\n/* ctune:prelude end */\n"
    "void f(int n, own_real *acc, struct un\\u00e9 *odd) {\n"
    "#pragma tune sizes(n=40)\n"
    "    for (int i = 0; i < n; i++)\n        acc[i] += 1;\n}\n"
    "void g(int n, own_real *pack_B) {\n"
    "#pragma tune sizes(n=40)\n"
    "    for (int lane = 0; lane < n; lane++)\n        pack_B[lane] += 2;\n}\n";

static ctune_unit *extract(ctune_ctx *ctx, const char *code) {
    static const char *const flags[] = {"-DFROM_FLAGS=flag_body", "-D", "OTHER_FLAG"};
    ctune_unit *unit = NULL;
    ctune_ctx_init(ctx);
    assert_int_equal(ctune_extract(ctx, file, code, 3, flags, &unit), CTUNE_OK);
    return unit;
}

static void test_names(void **state) {
    (void)state;
    static const char *const there[] = {
        "f",
        "g",
        "n",
        "acc",
        "pack_B",
        "lane",
        "LOCAL",
        "hidden_name",
        "WIDTH",
        "tile_rows",
        "own_real",
        "in_dead_code",
        "after_quotes",
        "uint32_t",
        "intptr_t",
        "errno",
        "EINVAL",
        "INT32_MAX",
        "__GNUC__",
        "FROM_FLAGS",
        "flag_body",
        "OTHER_FLAG",
        "for",
        "restrict",
        "typeof",
        "constexpr",
        "bool",
        "asm",
        "linux",
        "s",
    };
    static const char *const absent[] = {"in_comment", "in_string",       "in_string2", "x",
                                         "q",          "in_line_comment", "000",        "1",
                                         "",           "of_the_prelude",  "v0",         "acc_0"};
    ctune_ctx ctx;
    ctune_unit *unit = extract(&ctx, text);
    assert_int_equal(unit->n_regions, 2);
    const ctune_region *r = unit->regions[0].region;
    assert_non_null(r);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        if (!has(r, there[i])) {
            fail_msg("'%s' is missing", there[i]);
        }
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        if (has(r, absent[i])) {
            fail_msg("'%s' is there", absent[i]);
        }
    }
    for (int i = 1; i < r->n_reserved; i++) {
        assert_true(strcmp(r->reserved[i - 1], r->reserved[i]) < 0);
    }
    assert_ptr_equal(r->reserved, unit->regions[1].region->reserved);
    assert_int_equal(r->n_reserved, unit->regions[1].region->n_reserved);
    ctune_unit_destroy(unit);
}

/* They are no part of what a region is. */
static void test_key(void **state) {
    (void)state;
    ctune_ctx ctx;
    static const char kernel[] = "void f(int n, float *a) {\n#pragma tune sizes(n=40)\n"
                                 "for (int i = 0; i < n; i++) a[i] += 1;\n}\n";
    char more[sizeof kernel + 32];
    snprintf(more, sizeof more, "%sint one_more;\n", kernel);
    ctune_unit *x = extract(&ctx, kernel), *y = extract(&ctx, more);
    assert_true(has(y->regions[0].region, "one_more"));
    assert_false(has(x->regions[0].region, "one_more"));
    assert_true(ctune_workload_key(x->regions[0].region, NULL) ==
                ctune_workload_key(y->regions[0].region, NULL));
    ctune_unit_destroy(x);
    ctune_unit_destroy(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_key)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/*
 * Which parameter counts the outermost loop and nothing else.
 */
#include "plugin/session/scale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define HEAD                                                                                       \
    "te 1\nregion r at \"r.c\":1\nparam m i32 sizes 100\nparam n i32 sizes 50\naxis t i32\naxis "  \
    "i i32\n"
#define LOOPS "order {\n    for t: t >= 0, -t + m - 1 >= 0 {\n"
#define INNER "        for i: i >= 0, -i + n - 1 >= 0 {\n            S0\n        }\n    }\n}\n"

/* text, are m and n counts of iterations of the outermost loop alone? */
static const struct {
    const char *what, *text;
    bool m, n;
} rows[] = {
    {"a time loop", HEAD "tensor a f32 [n] update pointer\nstage S0: a[i] += 0.5f\n" LOOPS INNER,
     true, false},
    {"from 1 to m",
     HEAD "tensor a f32 [n] update pointer\nstage S0: a[i] += 0.5f\norder {\n    for t: t >= 0, -t "
          "+ m >= 0 {\n" INNER,
     true, false},
    {"twice as many",
     HEAD "tensor a f32 [n] update pointer\nstage S0: a[i] += 0.5f\norder {\n    for t: t >= 0, -t "
          "+ 2*m - 1 >= 0 {\n" INNER,
     true, false},
    {"an extent, too",
     HEAD "tensor a f32 [m][n] update pointer\nstage S0: a[t][i] += 0.5f\n" LOOPS INNER, false,
     false},
    {"a source's values, too",
     HEAD "tensor a f32 [n][n] update pointer\ntensor s f32 [m]\nstage S0: a[0][i] += s[t]\n" LOOPS
         INNER,
     true, false},
    {"the terms of a sum",
     HEAD "tensor a f32 [n] update pointer\ntensor s f32 [m]\nstage S0: a[i] += s[t]\n" LOOPS INNER,
     false, false},
    {"an inner bound, too",
     HEAD "tensor a f32 [n] update pointer\nstage S0: a[i] += 0.5f\n" LOOPS
          "        for i: i >= 0, -i + n - 1 >= 0, -i + m - 1 >= 0 {\n            S0\n        }\n  "
          "  }\n}\n",
     false, false},
    {"a subscript, too",
     HEAD "tensor a f32 [?] update pointer\nstage S0: a[i + m] += 0.5f\n" LOOPS INNER, false,
     false},
    {"a value, too", HEAD "tensor a i32 [n] update pointer\nstage S0: a[i] += i32{m}\n" LOOPS INNER,
     false, false},
    {"a condition, too",
     HEAD "tensor a f32 [n] update pointer\nstage S0: a[i] += 0.5f\n" LOOPS
          "        for i: i >= 0, -i + n - 1 >= 0 {\n            if: -2*t + m >= 0 {\n             "
          "   S0\n            }\n        }\n    }\n}\n",
     false, false},
    {"a lower bound",
     HEAD "tensor a f32 [n] update pointer\nstage S0: a[i] += 0.5f\norder {\n    for t: t - m >= "
          "0, -t + 200 >= 0 {\n" INNER,
     false, false},
};

static void prefixes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctune_ctx ctx;
        ctune_region *region;
        ctune_ctx_init(&ctx);
        if (ctune_te_parse(&ctx, rows[i].text, &region) != CTUNE_OK) {
            fail_msg("%s: %s", rows[i].what, ctx.error);
        }
        if (ctune_scale_is_prefix(region, 0) != rows[i].m ||
            ctune_scale_is_prefix(region, 1) != rows[i].n) {
            fail_msg("%s", rows[i].what);
        }
        ctune_region_destroy(region);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

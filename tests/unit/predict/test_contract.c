/*
 * Which assembly means that products are fused with sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugin/predict/predict.h"

#include <stdio.h>

static void scans_assembly(void **state) {
    (void)state;
    static const struct {
        const char *text;
        ctune_contraction want;
    } rows[] = {
        {"", CTUNE_CONTRACTS_NEVER},
        {"\tmulss\t%xmm1, %xmm0\n\taddss\t%xmm0, %xmm2\n", CTUNE_CONTRACTS_NEVER},
        {"\tvmulps\t%zmm1, %zmm0, %zmm3\n\tvaddps\t%zmm0, %zmm2, %zmm2\n", CTUNE_CONTRACTS_NEVER},
        {"\tvfmadd231ss\t%xmm1, %xmm0, %xmm2\n", CTUNE_CONTRACTS_ALWAYS},
        {"\tvfmadd231pd\t%ymm1, %ymm0, %ymm2\n\tvmulpd\t%ymm1, %ymm0, %ymm2\n",
         CTUNE_CONTRACTS_ALWAYS},
        {"\tvfnmadd213sd\t%xmm1, %xmm0, %xmm2\n\tvmulsd\t%xmm1, %xmm0, %xmm2\n"
         "\tvaddsd\t%xmm1, %xmm0, %xmm2\n",
         CTUNE_CONTRACTS_SOME},
        {"\taddq\t$8, %rax\n\timulq\t%rax, %rcx\n\tvfmadd132sd\t(%rax), %xmm0, %xmm2\n",
         CTUNE_CONTRACTS_ALWAYS},
        {"# vfmadd in a comment\nmulss_label:\n", CTUNE_CONTRACTS_NEVER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (ctune_contraction_scan(rows[i].text) != rows[i].want) {
            fail_msg("row %zu", i);
        }
    }
}

static void knows_what_may_be_fused(void **state) {
    (void)state;
    static const struct {
        const char *type, *stage;
        bool want;
    } rows[] = {
        {"f32", "A[i] = B[i] + B[i]", false},       {"f32", "A[i] = B[i] * B[i]", false},
        {"f32", "A[i] += B[i] * B[i]", true},       {"f32", "A[i] -= B[i] * B[i]", true},
        {"f64", "A[i] = B[i] * B[i] - B[i]", true}, {"f64", "A[i] *= B[i] + B[i]", true},
        {"i32", "A[i] += B[i] * B[i]", false},      {"f32", "A[i] += B[i]", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char te[512];
        snprintf(te, sizeof te,
                 "te 1\nregion r at \"r.c\":1\nparam n i32 sizes 8\naxis i i32\n"
                 "tensor A %s [n] update pointer base \"&A[0]\"\n"
                 "tensor B %s [n] read pointer base \"&B[0]\"\n"
                 "stage S0: %s ; at 2:1 ; text \"x\"\n"
                 "order {\n    for i: i >= 0, -i + n - 1 >= 0 {\n        S0\n    }\n}\n",
                 rows[i].type, rows[i].type, rows[i].stage);
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_region *region = NULL;
        if (ctune_te_parse(&ctx, te, &region) != CTUNE_OK) {
            fail_msg("%s: %s", rows[i].stage, ctx.error);
        }
        if (ctune_region_may_fuse(region) != rows[i].want) {
            fail_msg("%s %s", rows[i].type, rows[i].stage);
        }
        ctune_region_destroy(region);
    }
}

static void a_model_that_is_not_there_is_said(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_forest *forest;
    assert_int_equal(ctune_cost_model_open(&ctx, "/nonexistent.model", &forest), CTUNE_EENV);
    assert_null(forest);
    assert_non_null(ctx.error[0] != '\0' ? ctx.error : NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_assembly),
        cmocka_unit_test(knows_what_may_be_fused),
        cmocka_unit_test(a_model_that_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

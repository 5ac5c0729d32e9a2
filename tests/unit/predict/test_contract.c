/*
 * Which assembly means that products are fused with sums; which regions have any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugin/predict/predict.h"

#include <stdio.h>

static void counts_what_is_fused(void **state) {
    (void)state;
    enum { NOTHING = -1 };
    static const struct {
        const char *text;
        int want;
    } rows[] = {
        {"", NOTHING},
        {"f:\n\tmulss\t%xmm1, %xmm0\n\taddss\t%xmm0, %xmm2\n", CTUNE_CONTRACTS_NEVER},
        {"\tvmulps\t%zmm1, %zmm0, %zmm3\n\tvaddps\t%zmm3, %zmm2, %zmm2\n", CTUNE_CONTRACTS_NEVER},
        {"\tvfmadd231ss\t%xmm1, %xmm0, %xmm2\n", CTUNE_CONTRACTS_ALWAYS},
        /* a product of its own, and a sum of its own */
        {"\tvfnmadd213sd\t%xmm1, %xmm0, %xmm2\n\tvmulsd\t%xmm1, %xmm0, %xmm2\n"
         "\tvaddsd\t%xmm1, %xmm0, %xmm4\n",
         CTUNE_CONTRACTS_ALWAYS},
        {"\tvmulsd\t%xmm1, %xmm0, %xmm2\n", NOTHING},
        /* the ordered sum of a vector of products: GCC's vectorised remainders */
        {"\tvfmadd231pd\t%ymm1, %ymm0, %ymm9\n\tvmulpd\t%ymm1, %ymm0, %ymm2\n"
         "\tvaddsd\t%xmm2, %xmm5, %xmm5\n",
         CTUNE_CONTRACTS_SOME},
        {"\tvfmadd231pd\t%ymm1, %ymm0, %ymm9\n\tvmulpd\t%ymm1, %ymm0, %ymm2\n"
         "\tvextractf64x2\t$0x1, %ymm2, %xmm3\n.L4:\n\tvunpckhpd\t%xmm3, %xmm3, %xmm3\n"
         "\tvaddsd\t%xmm3, %xmm5, %xmm5\n",
         CTUNE_CONTRACTS_SOME},
        /* a sign change does not separate them; a conversion, a zero, another function do */
        {"\tvfmadd231sd\t%xmm1, %xmm0, %xmm9\n\tvmulsd\t%xmm1, %xmm0, %xmm2\n"
         "\tvxorpd\t%xmm7, %xmm2, %xmm2\n\tvaddsd\t%xmm2, %xmm5, %xmm5\n",
         CTUNE_CONTRACTS_SOME},
        {"\tvfmadd231sd\t%xmm1, %xmm0, %xmm9\n\tvmulss\t%xmm1, %xmm0, %xmm2\n"
         "\tvcvtss2sd\t%xmm2, %xmm2, %xmm2\n\tvaddsd\t%xmm2, %xmm5, %xmm5\n",
         CTUNE_CONTRACTS_ALWAYS},
        {"\tvfmadd231sd\t%xmm1, %xmm0, %xmm9\n\tvmulsd\t%xmm1, %xmm0, %xmm2\n"
         "\tvxorpd\t%xmm2, %xmm2, %xmm2\n\tvaddsd\t%xmm2, %xmm5, %xmm5\n",
         CTUNE_CONTRACTS_ALWAYS},
        {"f:\n\tvfmadd231sd\t%xmm1, %xmm0, %xmm9\n\tvmulsd\t%xmm1, %xmm0, %xmm2\n"
         "g:\n\tvaddsd\t%xmm2, %xmm5, %xmm5\n",
         CTUNE_CONTRACTS_ALWAYS},
        /* unoptimised code keeps values in memory */
        {"\tvmulsd\t%xmm1, %xmm0, %xmm0\n\tvmovsd\t%xmm0, -8(%rbp)\n"
         "\tvmovsd\t-16(%rbp), %xmm0\n\tvaddsd\t-8(%rbp), %xmm0, %xmm0\n",
         CTUNE_CONTRACTS_NEVER},
        {"\taddq\t$8, %rax\n\timulq\t%rax, %rcx\n\tvfmadd132sd\t(%rax), %xmm0, %xmm2{%k1}{z}\n",
         CTUNE_CONTRACTS_ALWAYS},
        {"# vfmadd in a comment\nmulss_label:\n", NOTHING},
        /* AArch64 */
        {"\tfmla\tv0.4s, v1.4s, v2.4s\n", CTUNE_CONTRACTS_ALWAYS},
        {"\tfmul\td0, d1, d2\n\tfadd\td3, d3, d0\n", CTUNE_CONTRACTS_NEVER},
        {"\tfmadd\td4, d1, d2, d4\n\tfmul\tv0.2d, v1.2d, v2.2d\n\tdup\td5, v0.d[1]\n"
         "\tfadd\td3, d3, d5\n",
         CTUNE_CONTRACTS_SOME},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctune_fusing_counts counts;
        ctune_contraction found;
        bool is_there;
        ctune_fusing_count(rows[i].text, NULL, &counts, &is_there);
        int got = ctune_fusing_judge(&counts, &found) ? (int)found : NOTHING;
        if (got != rows[i].want) {
            fail_msg("row %zu: %d, not %d", i, got, rows[i].want);
        }
    }
}

static void counts_only_marked_lines(void **state) {
    (void)state;
    static const char text[] = "\t.file 1 \"/home/u\" \"r.c\"\n"
                               "f:\n\t.loc 1 7 3\n\tvmulsd\t%xmm1, %xmm0, %xmm0\n"
                               "\tvaddsd\t%xmm0, %xmm2, %xmm2\n"
                               "\t.file 2 \"ctune-region-1\"\n"
                               "\t.file 3 \"ctune-region-11\" md5 0x0\n"
                               "\t.loc 2 7 3 is_stmt 0\n\tvfmadd132sd\t(%rax), %xmm0, %xmm2\n"
                               "\t.loc 3 7 3\n\tvmulsd\t%xmm1, %xmm0, %xmm0\n"
                               "\tvaddsd\t%xmm0, %xmm2, %xmm2\n";
    static const struct {
        const char *file;
        int fused, rounded;
        bool is_there;
    } rows[] = {
        {NULL, 1, 2, true},
        {"ctune-region-1", 1, 0, true},
        {"ctune-region-11", 0, 1, true},
        {"ctune-region-2", 0, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctune_fusing_counts counts;
        bool is_there;
        ctune_fusing_count(text, rows[i].file, &counts, &is_there);
        if (counts.n_fused != rows[i].fused || counts.n_rounded != rows[i].rounded ||
            is_there != rows[i].is_there) {
            fail_msg("row %zu: %d fused, %d rounded", i, counts.n_fused, counts.n_rounded);
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

static void knows_what_reaches_a_sum_through_a_variable(void **state) {
    (void)state;
    static const struct {
        const char *first, *second;
        bool want;
    } rows[] = {
        {"t[i] = B[i] * B[i]", "A[i] += t[i]", true},
        {"t[i] = B[i] * B[i]", "A[i] = B[i] - t[i]", true},
        {"t[i] = B[i] + B[i]", "A[i] += t[i]", false},
        {"t[i] = B[i] * B[i]", "A[i] *= t[i]", false},
        {"t[i] = B[i] * B[i]", "A[i] += t[i] * B[i]", false},
        {"t[i] = B[i] * B[i]", "t[i] += B[i]", true},
        {"A[i] = B[i] * B[i]", "A[i] += B[i]", false}, /* through memory */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char te[700];
        snprintf(
            te, sizeof te,
            "te 1\nregion r at \"r.c\":1\nparam n i32 sizes 8\naxis i i32\n"
            "tensor A f32 [n] update pointer base \"&A[0]\"\n"
            "tensor B f32 [n] read pointer base \"&B[0]\"\n"
            "tensor t f32 [?] update temp\n"
            "stage S0: %s ; at 2:1 ; text \"x\"\n"
            "stage S1: %s ; at 3:1 ; text \"x\"\n"
            "order {\n    for i: i >= 0, -i + n - 1 >= 0 {\n        S0\n        S1\n    }\n}\n",
            rows[i].first, rows[i].second);
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_region *region = NULL;
        if (ctune_te_parse(&ctx, te, &region) != CTUNE_OK) {
            fail_msg("row %zu: %s", i, ctx.error);
        }
        if (ctune_region_may_fuse_across(region) != rows[i].want) {
            fail_msg("row %zu: %s; %s", i, rows[i].first, rows[i].second);
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
        cmocka_unit_test(counts_what_is_fused),
        cmocka_unit_test(counts_only_marked_lines),
        cmocka_unit_test(knows_what_may_be_fused),
        cmocka_unit_test(knows_what_reaches_a_sum_through_a_variable),
        cmocka_unit_test(a_model_that_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

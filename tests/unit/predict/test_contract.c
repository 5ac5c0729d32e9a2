/*
 * Which assembly means that products are fused with sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugin/predict/predict.h"

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
        cmocka_unit_test(a_model_that_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* te_print, te_parse, te_verify, the workload key: round trips, broken text, broken regions. */
#include "search/te/te.h"
#include "te_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/rng.h"

static const char *(*const samples[])(void) = {
    te_sample_gemm, te_sample_syrk, te_sample_2mm,     te_sample_jacobi2d,
    te_sample_symm, te_sample_odd,  te_sample_gemm_i8,
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

static ctune_region *parse_ok(const char *text) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = NULL;
    ctune_status status = ctune_te_parse(&ctx, text, &region);
    if (status != CTUNE_OK) {
        print_error("%s\n", ctx.error);
    }
    assert_int_equal(status, CTUNE_OK);
    return region;
}

static void test_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < N_SAMPLES; i++) {
        ctune_region *first = parse_ok(samples[i]());
        ctune_text a, b;
        ctune_text_init(&a);
        ctune_text_init(&b);
        ctune_te_print(first, &a);
        ctune_region *second = parse_ok(ctune_text_get(&a));
        ctune_te_print(second, &b);
        assert_string_equal(ctune_text_get(&a), ctune_text_get(&b));
        assert_true(ctune_workload_key(first, NULL) == ctune_workload_key(second, NULL));
        ctune_text_clear(&a);
        ctune_text_clear(&b);
        ctune_region_destroy(first);
        ctune_region_destroy(second);
    }
}

static void test_parsed_fields(void **state) {
    (void)state;
    ctune_region *r = parse_ok(te_sample_odd());
    assert_string_equal(r->name, "odd.2");
    assert_string_equal(r->file, "dir with space/odd.c");
    assert_int_equal(r->line, 11);
    assert_true(r->reassoc && r->serial && r->noalias);
    assert_int_equal(r->n_threads, 4);
    assert_true(r->weight == 2.5);
    assert_string_equal(r->schedule, "split i 8 -> i0 i1\nunroll i1");
    assert_string_equal(r->params[0].c_text, "s->n");
    assert_int_equal(r->params[0].n_sizes, 2);
    assert_int_equal(r->axes[0].step, -2);
    assert_int_equal(r->n_divs, 2);
    assert_null(r->tensors[0].extent[0]);
    assert_true(r->tensors[0].is_pointer && r->tensors[0].is_restrict && r->tensors[0].is_const);
    assert_true(r->tensors[0].is_read && !r->tensors[0].is_written);
    assert_int_equal(r->tensors[1].elem_stride_bytes, 12);
    assert_string_equal(r->tensors[4].live_out_text, "last");
    assert_int_equal(r->stages[1].n_reads, 4);
    assert_int_equal(r->stages[1].n_axes, 2);
    assert_int_equal(r->stages[1].reduce_mask,
                     2); /* x[@1] depends on t through the div, not on j */
    assert_int_equal(r->stages[1].n_cons, 2 + 3 + 2);
    assert_int_equal(r->stages[2].calc, CTUNE_I32);
    assert_string_equal(r->stages[0].text, "double \"q\"");
    assert_string_equal(r->tensors[2].pattern, "y[$0]");
    assert_string_equal(r->tensors[3].pattern, "*m");
    ctune_region_destroy(r);
}

static void test_key(void **state) {
    (void)state;
    ctune_region *gemm = parse_ok(te_sample_gemm());
    ctune_region *renamed =
        parse_ok("te 1\nregion other\nparam size i32 sizes 7\naxis y i32\naxis x i32\naxis r i32\n"
                 "tensor P f32 [size][size]\ntensor Q f32 [size][size]\ntensor R f32 [size][size]\n"
                 "stage T: R[y][x] += P[y][r] * Q[r][x]\norder {\nfor y: 0 <= y < size {\n"
                 "for x: 0 <= x < size {\nfor r: 0 <= r < size {\nT\n}\n}\n}\n}\n");
    ctune_region *i8 = parse_ok(te_sample_gemm_i8());
    int64_t n512 = 512, n1024 = 1024;
    assert_true(ctune_workload_key(gemm, NULL) == ctune_workload_key(renamed, NULL));
    assert_true(ctune_workload_key(gemm, NULL) != ctune_workload_key(i8, NULL));
    assert_true(ctune_workload_key(gemm, &n512) != ctune_workload_key(gemm, &n1024));
    assert_true(ctune_workload_key(gemm, &n512) == ctune_workload_key(renamed, &n512));
    ctune_region_destroy(gemm);
    ctune_region_destroy(renamed);
    ctune_region_destroy(i8);
}

static void expect_usage(const char *text, const char *where) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_region *region = NULL;
    assert_int_equal(ctune_te_parse(&ctx, text, &region), CTUNE_EUSAGE);
    assert_null(region);
    if (strstr(ctx.error, where) == NULL) {
        fail_msg("'%s' does not contain '%s'", ctx.error, where);
    }
}

static void test_malformed(void **state) {
    (void)state;
    expect_usage("", "te:1:1");
    expect_usage("te 2\n", "version 1");
    expect_usage("te 1\n", "no order");
    expect_usage("te 1\nnonsense\n", "te:2:1");
    expect_usage("te 1\nparam n f99\n", "te:2:9: unknown type 'f99'");
    expect_usage("te 1\nparam n i32\nparam n i32\n", "te:3:7: defined twice");
    expect_usage("te 1\ntensor A f32 [q]\n", "te:2:15: no such axis or parameter: 'q'");
    expect_usage("te 1\nparam n i32 text \"abc\n", "malformed string");
    expect_usage("te 1\nparam n i32 sizes 99999999999999999999\n", "te:2:19");
    expect_usage("te 1\nparam n i32\ntensor A f32 [n*n]\n", "not affine");
    expect_usage("te 1\nparam n i32\ntensor A f32 [9223372036854775807*n*2]\n", "overflows");
    expect_usage("te 1\ntensor x f32\nstage S: x = y\n", "te:3:14: no such tensor");
    expect_usage("te 1\ntensor x f32\nstage S: x = 1.0f +\n", "expected an expression");
    expect_usage("te 1\ntensor x f32\nstage S: x ?= 1.0f\n", "expected an update operator");
    expect_usage("te 1\ntensor x f32\nstage S: x = 1.0f\norder {\nT\n}\n", "no such stage");
    expect_usage("te 1\ntensor x f32\nstage S: x = 1.0f\norder {\nS\n", "end of text");
    expect_usage("te 1\ntensor x f32\nstage S: x = $$\norder {\nS\n}\n", "te:3:14");
    expect_usage("te 1\n\001", "unexpected character");
}

static void test_deep(void **state) {
    (void)state;
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_append(&text, "te 1\ntensor x f32\nstage S: x = ");
    for (int i = 0; i < 100000; i++) {
        ctune_text_append(&text, "(");
    }
    expect_usage(ctune_text_get(&text), "nested too deeply");
    ctune_text_clear(&text);
    ctune_text_append(&text, "te 1\ntensor x f32\nstage S: x = 1.0f");
    for (int i = 0; i < 100000; i++) {
        ctune_text_append(&text, " + 1.0f");
    }
    ctune_text_append(&text, "\norder {\nS\n}\n");
    expect_usage(ctune_text_get(&text), "too large");
    ctune_text_clear(&text);
}

/* Every prefix and many single-byte changes of each sample: parsed or refused, never a crash. */
static void test_mutated(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 20);
    for (int i = 0; i < N_SAMPLES; i++) {
        size_t n = strlen(samples[i]());
        char *copy = malloc(n + 1);
        assert_non_null(copy);
        for (int round = 0; round < 3000; round++) {
            memcpy(copy, samples[i](), n + 1);
            if (round < (int)n) {
                copy[round] = '\0';
            } else {
                for (int k = 0; k < 3; k++) {
                    static const char bytes[] = "()[]{},:;+-*/<>=@\"0129ijkn \n#AS.f";
                    copy[ctune_rng_below(&rng, n)] = bytes[ctune_rng_below(&rng, sizeof bytes - 1)];
                }
            }
            ctune_ctx ctx;
            ctune_ctx_init(&ctx);
            ctune_region *region = NULL;
            ctune_status status = ctune_te_parse(&ctx, copy, &region);
            assert_true(status == CTUNE_OK || status == CTUNE_EUSAGE);
            if (status == CTUNE_OK) {
                ctune_region_destroy(region);
            }
        }
        free(copy);
    }
}

static void test_memory_faults(void **state) {
    (void)state;
    for (uint64_t at = 1; at < 20; at++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctx.alloc_fail_at = at;
        ctune_region *region = NULL;
        ctune_status status = ctune_te_parse(&ctx, te_sample_odd(), &region);
        assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM);
        if (status == CTUNE_OK) {
            ctune_region_destroy(region);
        }
    }
}

typedef void breaker(ctune_region *region);

static ctune_stage *stage0(ctune_region *r) {
    return (ctune_stage *)(uintptr_t)r->stages;
}
static void break_type(ctune_region *r) {
    ((ctune_expr *)(uintptr_t)stage0(r)->rhs)->type = CTUNE_F64;
}
static void break_arity(ctune_region *r) {
    ((ctune_expr *)(uintptr_t)stage0(r)->rhs)->n_kids = 1;
}
static void break_axis(ctune_region *r) {
    const ctune_aff **idx = (const ctune_aff **)(uintptr_t)stage0(r)->target.idx;
    idx[0] = ctune_aff_term(r->arena, CTUNE_TERM_AXIS, 17, 1);
}
static void break_rank(ctune_region *r) {
    stage0(r)->target.n_idx = 1;
}
static void break_cons(ctune_region *r) {
    stage0(r)->n_cons--;
}
static void break_bounds(ctune_region *r) {
    ((ctune_node *)(uintptr_t)r->root->kids[0])->n_cons = 1;
}
static void break_name(ctune_region *r) {
    ((ctune_axis *)(uintptr_t)r->axes)[1].name = "n";
}
static void break_twice(ctune_region *r) {
    static const ctune_node *kids[2];
    kids[0] = kids[1] = r->root->kids[0];
    ctune_node *root = (ctune_node *)(uintptr_t)r->root;
    root->n_kids = 2;
    root->kids = kids;
}
static void break_reads(ctune_region *r) {
    stage0(r)->n_reads = 1;
}
static void break_term(ctune_region *r) {
    ctune_term *term = (ctune_term *)(uintptr_t)stage0(r)->target.idx[0]->terms;
    term->coef = 0;
}
static void break_extent(ctune_region *r) {
    ((ctune_tensor *)(uintptr_t)r->tensors)[0].extent[1] = NULL;
}

static void test_verify(void **state) {
    (void)state;
    breaker *const breakers[] = {break_type,  break_arity,  break_axis,  break_rank,
                                 break_cons,  break_bounds, break_name,  break_twice,
                                 break_reads, break_term,   break_extent};
    for (size_t i = 0; i < sizeof breakers / sizeof *breakers; i++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_region *region = parse_ok(te_sample_gemm());
        assert_int_equal(ctune_te_verify(&ctx, region), CTUNE_OK);
        breakers[i](region);
        ctune_status status = ctune_te_verify(&ctx, region);
        if (status != CTUNE_EBUG) {
            fail_msg("breaker %zu not caught", i);
        }
        ctune_region_destroy(region);
    }
}

static void test_printed_gemm(void **state) {
    (void)state;
    ctune_region *region = parse_ok(te_sample_gemm());
    ctune_text text;
    ctune_text_init(&text);
    ctune_te_print(region, &text);
    assert_string_equal(ctune_text_get(&text), "te 1\n"
                                               "region gemm at \"gemm.c\":3\n"
                                               "param n i32 sizes 1024\n"
                                               "axis i i32\n"
                                               "axis j i32\n"
                                               "axis k i32\n"
                                               "tensor A f32 [n][n] read\n"
                                               "tensor B f32 [n][n] read\n"
                                               "tensor C f32 [n][n] update\n"
                                               "stage S0: C[i][j] += A[i][k] * B[k][j] ; at 7:17\n"
                                               "order {\n"
                                               "    for i: i >= 0, -i + n - 1 >= 0 {\n"
                                               "        for j: j >= 0, -j + n - 1 >= 0 {\n"
                                               "            for k: k >= 0, -k + n - 1 >= 0 {\n"
                                               "                S0\n"
                                               "            }\n"
                                               "        }\n"
                                               "    }\n"
                                               "}\n");
    ctune_text_clear(&text);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_parsed_fields),
        cmocka_unit_test(test_key),          cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_deep),         cmocka_unit_test(test_mutated),
        cmocka_unit_test(test_verify),       cmocka_unit_test(test_memory_faults),
        cmocka_unit_test(test_printed_gemm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

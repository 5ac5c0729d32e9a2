/*
 * The bound on isl's work (search/bound): integer linear programs that keep within isl's own count
 * of operations for minutes end, in the same way each time, and what is asked after them is
 * answered. A stall is the test's time limit. Where isl is a shared library nothing counts its
 * work: skipped.
 */
#include "deps_fixture.h"

#include "search/bound/bound.h"

#include <isl/options.h>
#include <isl/set.h>

/* Found by random programs: subscripts with strides of 39 to 81, few dependences, deep cuts. */
static const char strides[] =
    "te 1\n"
    "region work.2 at \"isl_stall_space.c\":19\n"
    "param n i32 sizes 37\n"
    "axis i i64\n"
    "axis j i32 step -1\n"
    "axis k u32\n"
    "axis i_2 i32 step -1 counter \"i\"\n"
    "axis j_2 u32 counter \"j\"\n"
    "axis k_2 i32 step -1 counter \"k\"\n"
    "tensor e i32 [?] update pointer\n"
    "tensor a u32 [?] update pointer\n"
    "tensor d u32 [?][39] read pointer base \"&d[0][0]\"\n"
    "tensor b f32 [?] update pointer pattern \"b[$0 - 64]\" base \"(b - 64)\"\n"
    "tensor c f64 [?] update pointer\n"
    "assume n >= 0\n"
    "assume -n + 89478483 >= 0\n"
    "assume -n + 89478476 >= 0\n"
    "assume -n + 39 >= 0\n"
    "stage S0: e[-i + 38] += (i32) ((u64) a[81*i + 82] + (u64) d[i + 1][i + 2] + "
    "(u64) (b[49*i + 209] > 0.125f) - (u64) a[41*i + 81] * (u64) d[i + 2][-i + 38] & "
    "(u64) 7)\n"
    "stage S1: e[-i + 38] += (i32) ((u64) a[81*i + 82] + (u64) d[i + 1][i + 2] + "
    "(u64) (b[49*i + 209] > 0.125f) - (u64) a[41*i + 81] * (u64) d[i + 2][-i + 38] & "
    "(u64) 7)\n"
    "stage S2: e[2] += (i32) ((u64) (b[-j + 262] > 0.125f) + (u64) (c[-47*j + 192] > "
    "(f64) 0.125f) + (u64) (b[-48*j + 259] > 0.125f) - (u64) e[-j + 4] & (u64) 7)\n"
    "stage S3: c[-48*i_2 + 574] += 0.03 * ((f64) i32{-i_2 + 8} * 0.001)\n"
    "stage S4: b[48*j_2 - k_2 + 218] = 0.5f * ((f32) a[j_2 - 40*k_2 + 362] * (f32) "
    "c[j_2 + 96] - ((f32) d[1][-i_2 + k_2 + 10] + (f32) c[i_2 - 47*k_2 + 472]) + "
    "((f32) a[-40*i_2 + 401] + (f32) c[47*j_2 + 96] + (b[-48*i_2 + j_2 - k_2 + 507] "
    "- (f32) d[j_2 + 4][2])))\n"
    "stage S5: c[-48*i_2 + 48*j_2 + 480] = 0.5 * ((f64) i32{-i_2 + 8} * 0.001)\n"
    "stage S6: a[-i_2 - 40*j_2 + 1610] += (u32) (((u64) (b[-48*i_2 - 49*j_2 + 2262] "
    "> 0.125f) + (u64) u32(1 \"1u\")) * (u64) u32(7 \"7u\"))\n"
    "order {\n"
    "    for i: i >= 0, -i + n - 1 >= 0 {\n"
    "        if: -i + 3 >= 0 {\n"
    "            if: -i + 2 >= 0 {\n"
    "                S0\n"
    "            }\n"
    "        }\n"
    "        if: i - 4 >= 0 {\n"
    "            S1\n"
    "        }\n"
    "        for j: j >= 0, -j + 1 >= 0 {\n"
    "            for k: k >= 0, -k + 33 >= 0 {\n"
    "                S2\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    for i_2: i_2 >= 0, -i_2 + 8 >= 0 {\n"
    "        S3\n"
    "        for j_2: j_2 >= 0, -j_2 + n - 1 >= 0 {\n"
    "            for k_2: k_2 >= 0, -k_2 + 8 >= 0 {\n"
    "                if: i_2 - 8 >= 0 {\n"
    "                    S4\n"
    "                }\n"
    "                S5\n"
    "            }\n"
    "            S6\n"
    "        }\n"
    "    }\n"
    "}\n";

/* Two hundred dependences of six statements. */
static const char many[] =
    "te 1\n"
    "region k0 at \"isl_stall_smart.c\":8\n"
    "param m i32 sizes 37 17 32\n"
    "param n i32 sizes 40 8 32\n"
    "param lda i32 sizes 1024\n"
    "axis i i32\n"
    "axis j i32\n"
    "axis k i32\n"
    "axis k_2 i32 step 3 counter \"k\"\n"
    "axis j_2 i32 step 2 counter \"j\"\n"
    "axis k_3 i32 counter \"k\"\n"
    "div @0 = (i) / 2\n"
    "tensor a0 u32 [?][lda] update pointer pattern \"a0[$L]\"\n"
    "assume m - 1 >= 0\n"
    "assume lda - 5 >= 0\n"
    "assume n - 1 >= 0\n"
    "assume -m + lda - 1 >= 0\n"
    "assume -n + lda - 1 >= 0\n"
    "assume lda - 11 >= 0\n"
    "assume n - 2 >= 0\n"
    "assume -n + lda - 4 >= 0\n"
    "stage S0: a0[k + 1][4] += a0[k + 1][i + 1] * u32(2 \"2u\")\n"
    "stage S1: a0[k + 1][j + 1] = a0[j + 1][k + 1] + a0[j + 1][k + 1]\n"
    "stage S2: a0[k + 3][j + 1] += a0[i + 1][k + 1] + a0[3][i + 1] * u32(1 \"1u\")\n"
    "stage S3: a0[3*k_2 + 3][i + 1] = a0[i + 3][j + 1]\n"
    "stage S4: a0[i + 1][j + 1] = a0[j + 1][j + 1] * u32(3 \"3u\") + (u32) i32{i} * "
    "u32(1 \"1u\")\n"
    "stage S5: a0[2*j_2 + 1][i + 1] = a0[k_3 + 1][k_3 + 1] * u32(3 \"3u\") + a0[i + "
    "1][2*j_2 + 2] + a0[k_3 + 1][k_3 + 4]\n"
    "order {\n"
    "    for i: i >= 0, -i + m - 1 >= 0 {\n"
    "        for j: j >= 0, -j + n - 1 >= 0 {\n"
    "            for k: k - @0 >= 0, -k + m - 1 >= 0 {\n"
    "                S0\n"
    "                S1\n"
    "                S2\n"
    "            }\n"
    "            for k_2: k_2 >= 0, -3*k_2 + 6 >= 0 {\n"
    "                S3\n"
    "            }\n"
    "            S4\n"
    "        }\n"
    "        for j_2: j_2 >= 0, -2*j_2 + 8 >= 0 {\n"
    "            for k_3: k_3 - 1 >= 0, -k_3 + n - 1 >= 0 {\n"
    "                if: -i + 2*@0 >= 0, i - 2*@0 >= 0 {\n"
    "                    S5\n"
    "                }\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n";

extern void __real_isl_seq_normalize(isl_ctx *isl, void *entries, unsigned n)
    __attribute__((__weak__));

/* Both times the same, for each way of proposing; some end at a bound. */
static void expect_end(const char *text, int n_bounded_least) {
    fixture f;
    fixture_init(&f, text);
    int n_bounded = 0;
    for (int mode = CTUNE_POLY_MAX; mode <= CTUNE_POLY_SMART; mode++) {
        ctune_tree *tree = NULL, *again = NULL;
        ctune_status first = ctune_tree_polyhedral(&f.ctx, f.deps, (ctune_poly_mode)mode, &tree);
        n_bounded += strstr(f.ctx.error, "too complex") != NULL;
        f.ctx.error[0] = '\0';
        assert_int_equal(ctune_tree_polyhedral(&f.ctx, f.deps, (ctune_poly_mode)mode, &again),
                         first);
        f.ctx.error[0] = '\0';
        assert_true(first == CTUNE_OK || first == CTUNE_EREFUSED);
        assert_int_equal(first == CTUNE_OK, tree != NULL);
        ctune_tree_destroy(tree);
        ctune_tree_destroy(again);
    }
    assert_true(n_bounded >= n_bounded_least);
    bool is_legal = false;

    assert_int_equal(ctune_deps_check(&f.ctx, f.deps, f.tree, &is_legal, NULL), CTUNE_OK);
    assert_true(is_legal);

    fixture_clear(&f);
}

static bool is_counted(void) {
    return __real_isl_seq_normalize != NULL;
}

static void test_strides(void **state) {
    (void)state;
    if (!is_counted()) {
        skip();
    }
    expect_end(strides, 1);
}

static void test_many(void **state) {
    (void)state;
    if (!is_counted()) {
        skip();
    }
    expect_end(many, 1);
}

/* The smallest box that holds 14 x + 15 y + ... = 1: any problem ends by either bound. */
static void test_operations(void **state) {
    (void)state;
    isl_ctx *isl = isl_ctx_alloc();
    isl_options_set_on_error(isl, ISL_ON_ERROR_CONTINUE);
    ctune_bound_begin(isl, 1);
    isl_set *set = isl_set_read_from_str(
        isl, "{ [x, y, z] : 14 x + 15 y + 21 z = 1 and -9 <= x, y, z <= 9 and x + y > z }");
    set = isl_set_lexmin(set);
    assert_null(set);
    assert_int_equal(isl_ctx_last_error(isl), isl_error_quota);
    ctune_bound_end(isl);
    assert_int_equal(isl_ctx_last_error(isl), isl_error_none);
    set = isl_set_lexmin(isl_set_read_from_str(
        isl, "{ [x, y, z] : 14 x + 15 y + 21 z = 1 and -9 <= x, y, z <= 9 and x + y > z }"));
    assert_non_null(set);
    isl_set_free(set);
    isl_ctx_free(isl);
}

static isl_set *small_box(isl_ctx *isl) {
    ctune_bound_begin(isl, 1000000);
    isl_set *set = isl_set_lexmin(isl_set_read_from_str(
        isl, "{ [x, y, z] : 14 x + 15 y + 21 z = 1 and -9 <= x, y, z <= 9 and x + y > z }"));
    ctune_bound_end(isl);
    return set;
}

/* What calls have together: the later ones end when it is spent, and not after it is lifted. */
static void test_share(void **state) {
    (void)state;
    isl_ctx *isl = isl_ctx_alloc();
    isl_options_set_on_error(isl, ISL_ON_ERROR_CONTINUE);
    assert_int_equal(ctune_bound_share(2 * CTUNE_BOUND_CALL), -1);
    isl_set *set = small_box(isl);
    assert_non_null(set);
    isl_set_free(set);
    assert_true(ctune_bound_share(0) < 2 * CTUNE_BOUND_CALL);
    assert_null(small_box(isl));
    assert_true(ctune_bound_share(-1) < 0);
    set = small_box(isl);
    assert_non_null(set);
    isl_set_free(set);
    isl_ctx_free(isl);
}

/* While checks are deferred an order is made that is not legal; only the check says so. */
static void test_deferred(void **state) {
    (void)state;
    static const char recurrence[] =
        "te 1\nregion r\nparam n i32 sizes 8\naxis i i32\naxis j i32\ntensor A f64 [n][n]\n"
        "stage S0: A[i][j] = A[i - 1][j + 1] + 1.0\n"
        "order {\n    for i: i >= 1, -i + n - 1 >= 0 {\n"
        "        for j: j >= 0, -j + n - 2 >= 0 {\n            S0\n        }\n    }\n}\n";
    fixture f;
    fixture_init(&f, recurrence);
    const int order[] = {1, 0};
    ctune_tree *tree = NULL;
    bool is_legal = true;
    assert_int_equal(ctune_tree_permute(&f.ctx, f.deps, f.tree, 2, order, &tree), CTUNE_EREFUSED);
    f.ctx.error[0] = '\0';
    assert_false(ctune_deps_defer(f.deps, true));
    assert_int_equal(ctune_tree_permute(&f.ctx, f.deps, f.tree, 2, order, &tree), CTUNE_OK);
    assert_true(ctune_deps_defer(f.deps, false));
    assert_int_equal(ctune_deps_check(&f.ctx, f.deps, tree, &is_legal, NULL), CTUNE_OK);
    assert_false(is_legal);
    f.ctx.error[0] = '\0';
    ctune_tree_destroy(tree);
    ctune_depvecs all, signs;
    assert_int_equal(ctune_deps_check(&f.ctx, f.deps, f.tree, &is_legal, &all), CTUNE_OK);
    assert_int_equal(ctune_deps_check_signs(&f.ctx, f.deps, f.tree, &is_legal, &signs), CTUNE_OK);
    assert_int_equal(all.n, signs.n);
    assert_memory_equal(all.vec[0].sign, signs.vec[0].sign, 2);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strides),    cmocka_unit_test(test_many),
        cmocka_unit_test(test_operations), cmocka_unit_test(test_share),
        cmocka_unit_test(test_deferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

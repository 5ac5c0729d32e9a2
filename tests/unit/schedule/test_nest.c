/* Loop and memory primitives on a nest: effect and structural refusals. */
#include "tests/unit/schedule/nest_fixture.h"

#include "tests/unit/te/te_samples.h"

static void test_blis_shape(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), NULL, 0);
    assert_nest(&f,
                "split j 512 -> jc j1; split k 256 -> kc kk; split i 96 -> ic i1\n"
                "split i1 12 -> ir ii; split j1 32 -> jr jj\n"
                "reorder jc kc ic jr ir kk ii jj\n"
                "vectorize jj; unroll ii; parallel jc\n"
                "cache_read S0.1 at kc pack; cache_read S0.0 at ic pack\n"
                "cache_write S0 at ir register",
                "nest\n"
                "    jc step 512 x2 parallel\n"
                "        kc step 256 x4\n"
                "            pack S0.1\n"
                "            ic step 96 x11\n"
                "                pack S0.0\n"
                "                jr step 32 x16\n"
                "                    ir step 12 x8\n"
                "                        register S0\n"
                "                        kk x256\n"
                "                            ii x12 unroll\n"
                "                                jj x32 vector\n"
                "                                    S0\n");
    char why[200];
    assert_true(ctune_nest_check(&f.nest, why, sizeof why));
    fixture_clear(&f);
}

static void test_reorder_keeps_unnamed(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), NULL, 0);
    assert_nest(&f, "reorder k i",
                "nest\n    k x1024\n        j x1024\n            i x1024\n                S0\n");
    fixture_clear(&f);
}

static void test_split_outer_level(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), NULL, 0);
    assert_nest(
        &f, "split i 16 -> i0 i1; split i0 8 -> i0 i2",
        "nest\n    i0 step 128 x8\n        i2 step 16 x8\n            i1 x16\n"
        "                j x1024\n                    k x1024\n                        S0\n");
    fixture_clear(&f);
}

static void test_imperfect(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_syrk(), NULL, 0);
    assert_no(&f, "reorder i j", CTUNE_EREFUSED, "perfect nest");
    assert_no(&f, "reorder j k", CTUNE_EREFUSED, "perfect nest");
    assert_int_equal(fixture_apply(&f, "reorder j_2 k; split i 8 -> i0 i1"), CTUNE_OK);
    assert_int_equal(f.nest.node[ctune_nest_find(&f.nest, "k")].parent,
                     ctune_nest_find(&f.nest, "j_2"));
    fixture_clear(&f);
}

static void test_refusals(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), NULL, 0);
    assert_no(&f, "split x 4 -> a b", CTUNE_EUSAGE, "no loop named 'x'");
    assert_no(&f, "split i 4 -> j b", CTUNE_EUSAGE, "'j' is taken");
    assert_no(&f, "split i 4 -> b b", CTUNE_EUSAGE, "given twice");
    assert_no(&f, "split i 1 -> a b", CTUNE_EREFUSED, "factor");
    assert_no(&f, "split i 8 -> a b; split b 8 -> c d", CTUNE_EREFUSED, "smaller");
    assert_no(&f, "split i 8 -> a b; reorder b a", CTUNE_EREFUSED, "outside");
    assert_no(&f, "reorder i i", CTUNE_EREFUSED, "twice");
    assert_no(&f, "unroll i", CTUNE_EREFUSED, "split first");
    assert_no(&f, "split i 128 -> a b; unroll b", CTUNE_EREFUSED, "64");
    assert_no(&f, "vectorize i", CTUNE_EREFUSED, "split");
    assert_no(&f, "split i 8 -> a b; vectorize a", CTUNE_EREFUSED, "split");
    assert_no(&f, "split i 8 -> a b; vectorize b; split b 2 -> c d", CTUNE_EREFUSED, "annotated");
    assert_no(&f, "split i 8 -> a b; split j 8 -> c d; vectorize b; vectorize d", CTUNE_EREFUSED,
              "another");
    assert_no(&f, "parallel i; parallel j", CTUNE_EREFUSED, "another");
    assert_no(&f, "collapse i j", CTUNE_EREFUSED, "not parallel");
    assert_no(&f, "parallel i; collapse i k", CTUNE_EREFUSED, "only");
    assert_int_equal(fixture_apply(&f, "parallel i; collapse i j"), CTUNE_OK);
    assert_no(&f, "cache_read S0.2 at i pack", CTUNE_EREFUSED, "no such read");
    assert_no(&f, "cache_read S1.0 at i pack", CTUNE_EUSAGE, "no stage");
    assert_no(&f, "cache_write S0 at i register; cache_write S0 at j register", CTUNE_EREFUSED,
              "already");
    assert_no(&f, "distribute", CTUNE_EUSAGE, "structural");
    fixture_clear(&f);
}

static void test_triangular_collapse(void **state) {
    fixture f;
    (void)state;
    fixture_init(
        &f,
        "te 1\nregion r\nparam n i32 sizes 100\naxis i i32\naxis j i32\ntensor A f32 [n][n]\n"
        "stage S0: A[i][j] = 0.0f\norder {\n    for i: 0 <= i < n {\n"
        "        for j: 0 <= j <= i {\n            S0\n        }\n    }\n}\n",
        NULL, 0);
    assert_no(&f, "parallel i; collapse i j", CTUNE_EREFUSED, "depend");
    fixture_clear(&f);
}

static void test_sums(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), NULL, 0);
    assert_nest(&f, "split k 8 -> k0 k1; tile i + 2*k1 by 16 -> x at i; split x 4 -> x0 x1",
                "nest\n"
                "    x0 over i+2*k step 64 x16\n"
                "        x1 over i+2*k step 16 x4\n"
                "            i x16\n"
                "                j x1024\n"
                "                    k0 step 8 x128\n"
                "                        k1 x8\n"
                "                            S0\n");
    assert_nest(&f,
                "split i 8 -> i0 i1; wave i0 - 3*j -> w; parallel w; tile j - S0 by 1 -> s at k",
                "nest\n"
                "    w wave i0-3*j x1024 parallel\n"
                "        i0 step 8 x128\n"
                "            i1 x8\n"
                "                j x1024\n"
                "                    s over j-S0 x1024\n"
                "                        k x1024\n"
                "                            S0\n");
    assert_no(&f, "tile i by 4 -> j at k", CTUNE_EUSAGE, "taken");
    assert_no(&f, "tile i by 4 -> root at k", CTUNE_EUSAGE, "taken");
    assert_no(&f, "tile q by 4 -> x at k", CTUNE_EUSAGE, "no loop named 'q'");
    assert_no(&f, "tile i by 4 -> x at q", CTUNE_EUSAGE, "no loop named 'q'");
    assert_no(&f, "tile i + i by 4 -> x at k", CTUNE_EREFUSED, "twice");
    assert_no(&f, "tile S0 by 4 -> x at k", CTUNE_EREFUSED, "no loop");
    assert_no(&f, "tile i by 0 -> x at k", CTUNE_EREFUSED, "factor");
    assert_no(&f, "parallel i; tile k by 4 -> x at i", CTUNE_EREFUSED, "annotated");
    assert_no(&f, "tile i by 4 -> x at i; tile x by 4 -> y at i", CTUNE_EREFUSED, "over dims");
    assert_no(&f, "wave i + S0 -> w", CTUNE_EUSAGE, "no loop named 'S0'");
    assert_no(&f, "wave i + j -> w; wave w + k -> v", CTUNE_EREFUSED, "wavefronts");
    assert_no(&f, "wave i + j -> w; reorder i w", CTUNE_EREFUSED, "outside");
    assert_no(&f, "wave i + j -> w; split i 4 -> a b", CTUNE_EREFUSED, "wavefront");
    assert_no(&f, "tile i by 4 -> x at i; unroll x", CTUNE_EREFUSED, "split first");
    assert_no(&f, "tile i by 1 -> x at i; split x 8 -> a b; vectorize b", CTUNE_EREFUSED, "split");
    assert_no(&f, "tile i by 4 -> x at i; parallel x; collapse x i", CTUNE_EREFUSED, "sum");
    fixture_clear(&f);
}

static void test_sums_limit(void **state) {
    fixture f;
    ctune_text text;
    (void)state;
    fixture_init(&f, te_sample_gemm(), NULL, 0);
    ctune_text_init(&text);
    for (int k = 0; k <= CTUNE_NEST_SUMS; k++) {
        ctune_text_printf(&text, "tile i + %d*j by 4 -> x%d at i;", k + 1, k);
    }
    assert_no(&f, ctune_text_get(&text), CTUNE_EREFUSED, "more than 8");
    ctune_text_clear(&text);
    fixture_clear(&f);
}

/* Each invariant of sums and places broken by hand. */
static void test_verify_new(void **state) {
    fixture f;
    (void)state;
    fixture_init(&f, te_sample_gemm(), NULL, 0);
    assert_int_equal(fixture_apply(&f, "tile i + j by 4 -> x at i; wave i + x -> w"), CTUNE_OK);
    int x = ctune_nest_find(&f.nest, "x"), w = ctune_nest_find(&f.nest, "w");
    int stmt = ctune_nest_find_stmt(&f.nest, 0);
    ctune_nest good = f.nest;
    f.nest.node[x].sum = 7;
    assert_int_equal(ctune_nest_verify(&f.ctx, &f.nest), CTUNE_EBUG);
    f.nest = good;
    f.nest.sum[f.nest.node[x].sum].term[0].of = 77;
    assert_int_equal(ctune_nest_verify(&f.ctx, &f.nest), CTUNE_EBUG);
    f.nest = good;
    f.nest.sum[f.nest.node[w].sum].term[0].of = 0;
    assert_int_equal(ctune_nest_verify(&f.ctx, &f.nest), CTUNE_EBUG);
    f.nest = good;
    f.nest.sum[f.nest.node[w].sum].term[1].coef = 0;
    assert_int_equal(ctune_nest_verify(&f.ctx, &f.nest), CTUNE_EBUG);
    f.nest = good;
    f.nest.node[w].step = 4;
    assert_int_equal(ctune_nest_verify(&f.ctx, &f.nest), CTUNE_EBUG);
    f.nest = good;
    f.nest.node[stmt].placed = (int16_t)stmt;
    assert_int_equal(ctune_nest_verify(&f.ctx, &f.nest), CTUNE_EBUG);
    f.nest = good;
    assert_int_equal(ctune_nest_verify(&f.ctx, &f.nest), CTUNE_OK);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blis_shape),
        cmocka_unit_test(test_reorder_keeps_unnamed),
        cmocka_unit_test(test_split_outer_level),
        cmocka_unit_test(test_imperfect),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_triangular_collapse),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_sums_limit),
        cmocka_unit_test(test_verify_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

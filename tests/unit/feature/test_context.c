/* The context table against the published example, and columns whose value is known. */
#include "feature_fixture.h"

/* C[y][x] = sum over k of A[y][k] * B[k][x], 128^3, with the initial store. */
static const char golden_gemm[] = "te 1\n"
                                  "region gemm\n"
                                  "axis y i32\n"
                                  "axis x i32\n"
                                  "axis k i32\n"
                                  "tensor A f32 [128][128]\n"
                                  "tensor B f32 [128][128]\n"
                                  "tensor C f32 [128][128]\n"
                                  "stage S0: C[y][x] = 0x0p+0f\n"
                                  "stage S1: C[y][x] += A[y][k] * B[k][x]\n"
                                  "order {\n"
                                  "    for y: 0 <= y < 128 {\n"
                                  "        for x: 0 <= x < 128 {\n"
                                  "            S0\n"
                                  "            for k: 0 <= k < 128 {\n"
                                  "                S1\n"
                                  "            }\n"
                                  "        }\n"
                                  "    }\n"
                                  "}\n";

static void check_loop(const ctune_context_loop *loop, int level, double length, double topdown,
                       double bottomup) {
    assert_int_equal(loop->level, level);
    assert_true(loop->length == length);
    assert_true(loop->topdown == topdown);
    assert_true(loop->bottomup == bottomup);
    assert_int_equal(loop->ann, CTUNE_ANN_SERIAL);
}

static void check_touch(const ctune_context_touch *t, double stride, double count, double reuse) {
    if (t->stride != stride || t->count != count || t->reuse != reuse) {
        fail_msg("%g %g %g, expected %g %g %g", t->stride, t->count, t->reuse, stride, count,
                 reuse);
    }
}

enum { STORE, LOAD, READ_A, READ_B };

/* AutoTVM's table. Its numbers for the initial store say reuse 128 (as for an access inside k),
 * which its own rule does not give: the store lies outside k, so its reuse is 1. Stride and count
 * agree. */
static void test_golden_gemm(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    ctune_context init, update;
    fixture_init(&f, golden_gemm);
    fixture_nest(&f, "", &nest);
    assert_true(ctune_feature_context(&nest, 0, &init));
    assert_true(ctune_feature_context(&nest, 1, &update));
    assert_false(ctune_feature_context(&nest, 2, &update) && update.n_loops > 0);
    assert_true(ctune_feature_context(&nest, 1, &update));
    assert_int_equal(update.n_loops, 3);
    assert_int_equal(update.n_accesses, 4);
    assert_true(update.is_store[STORE] && !update.is_store[LOAD]);
    const ctune_context_loop *y = &update.loop[0], *x = &update.loop[1], *k = &update.loop[2];

    check_loop(y, 1, 128, 128, 2097152);
    check_touch(&y->touch[READ_A], 128, 16384, 128);
    check_touch(&y->touch[READ_B], 0, 16384, 128);
    check_touch(&y->touch[STORE], 128, 16384, 128);

    check_loop(x, 2, 128, 16384, 16384);
    check_touch(&x->touch[READ_A], 0, 128, 128);
    check_touch(&x->touch[READ_B], 1, 16384, 1);
    check_touch(&x->touch[STORE], 1, 128, 128);

    check_loop(k, 3, 128, 2097152, 128);
    check_touch(&k->touch[READ_A], 1, 128, 1);
    check_touch(&k->touch[READ_B], 128, 128, 1);
    check_touch(&k->touch[STORE], 0, 1, 128);
    check_touch(&k->touch[LOAD], 0, 1, 128);
    assert_true(k->n_add == 1 && k->n_mul == 1 && k->n_div == 0 && x->n_add == 0);

    assert_int_equal(init.n_loops, 2);
    assert_int_equal(init.n_accesses, 1);
    check_touch(&init.loop[0].touch[STORE], 128, 16384, 1);
    check_touch(&init.loop[1].touch[STORE], 1, 128, 1);
    fixture_clear(&f);
}

static const char blocked[] =
    "split k 256 -> k0 k1; split j 32 -> j0 j1; split i 8 -> i0 i1;"
    "reorder k0 j0 i0 k1 i1 j1; unroll i1; vectorize j1; cache_write S0 at i0 register;"
    "cache_read S0.1 at j0 pack;";

static void test_split_strides(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    ctune_context c;
    fixture_init(&f, te_sample_gemm());
    fixture_nest(&f, blocked, &nest);
    assert_true(ctune_feature_context(&nest, 0, &c));
    assert_int_equal(c.n_loops, 6);
    check_touch(&c.loop[0].touch[READ_A], 256, 1048576, 1024); /* k0 */
    check_touch(&c.loop[1].touch[READ_B], 32, 262144, 1024);   /* j0: 256 rows of 1024 */
    check_touch(&c.loop[2].touch[STORE], 8192, 32768, 256);    /* i0: 1024 rows of 32 */
    check_touch(&c.loop[3].touch[READ_B], 1024, 8192, 8);      /* k1 */
    check_touch(&c.loop[4].touch[READ_A], 1024, 8, 32);        /* i1 */
    check_touch(&c.loop[5].touch[READ_B], 1, 32, 1);           /* j1 */
    assert_int_equal(c.loop[4].ann, CTUNE_ANN_UNROLL);
    assert_int_equal(c.loop[5].ann, CTUNE_ANN_VECTOR);
    fixture_clear(&f);
}

static void is_near(const float *row, const char *name, double want) {
    float have = column(row, name);
    if (fabs((double)have - want) > 1e-4) {
        fail_msg("%s is %g, expected %g", name, (double)have, want);
    }
}

static void test_register_tile(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    float row[MAX_COLUMNS];
    fixture_init(&f, te_sample_gemm());
    fixture_nest(&f, blocked, &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
    is_near(row, "knob.v.block", 5);
    is_near(row, "knob.v.tile", 10); /* j0 goes from block to block: no tile */
    is_near(row, "knob.v.full", 10);
    is_near(row, "knob.s0.block", 3);
    is_near(row, "knob.s0.full", 10);
    is_near(row, "knob.r0.block", 0);
    is_near(row, "knob.r0.tile", 8);
    is_near(row, "knob.r0.n_tiles", 2);
    is_near(row, "knob.vector.kind", 3);
    is_near(row, "knob.vector.lanes", 5);
    is_near(row, "knob.vector.registers", 2);
    is_near(row, "knob.vector.native", 1);
    is_near(row, "knob.register.is_tile", 1);
    is_near(row, "knob.register.rows", 8);
    is_near(row, "knob.register.accumulators", 16);
    is_near(row, "knob.register.is_padded", 0); /* A is not packed */
    is_near(row, "knob.unroll.product", 3);
    is_near(row, "knob.pack.count", 1);
    is_near(row, "knob.parallel.level", -1);
    is_near(row, "knob.order.in0", 4);  /* the reduction runs innermost */
    is_near(row, "knob.order.out0", 4); /* and its tiles outermost */
    is_near(row, "estimate.kernel.chains", 1);
    is_near(row, "estimate.kernel.register_share", 0.5);
    is_near(row, "estimate.kernel.reduction", 8);
    is_near(row, "estimate.kernel.unit", 1);
    is_near(row, "estimate.total", log2(ctune_estimate(&nest, &f.target)));
    is_near(row, "estimate.mean.register", 1);
    is_near(row, "store.alloc.count", 1);
    is_near(row, "store.alloc.bytes", log2(256 * 32 * 4));
    is_near(row, "store.alloc.copied_bytes", log2(1024.0 * 1024 * 4));
    is_near(row, "store.ops.add", log2(1 + 1073741824.0));
    is_near(row, "context.n_loops", 6);
    is_near(row, "context.inner0.annotation", CTUNE_ANN_VECTOR);
    is_near(row, "context.inner1.annotation", CTUNE_ANN_UNROLL);
    is_near(row, "context.outer0.topdown", 2);
    fixture_clear(&f);
}

/* The better of two schedules looks better in the columns that say so. */
static void test_direction(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    float source[MAX_COLUMNS], tiled[MAX_COLUMNS];
    fixture_init(&f, te_sample_gemm());
    fixture_nest(&f, "", &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, source);
    fixture_nest(&f, blocked, &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, tiled);
    static const char *const smaller[] = {"estimate.vs_peak",     "estimate.vs_roof",
                                          "estimate.traffic_l1",  "estimate.traffic_l3",
                                          "estimate.kernel.jump", "estimate.kernel_loop.vs_l1"};
    static const char *const larger[] = {"estimate.kernel.efficiency", "estimate.mean.efficiency",
                                         "estimate.fits_l1.work", "estimate.kernel_body.intensity",
                                         "store.curve3"};
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++) {
        if (column(tiled, smaller[i]) >= column(source, smaller[i])) {
            fail_msg("%s: %g, %g", smaller[i], (double)column(tiled, smaller[i]),
                     (double)column(source, smaller[i]));
        }
    }
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
        if (column(tiled, larger[i]) <= column(source, larger[i])) {
            fail_msg("%s: %g, %g", larger[i], (double)column(tiled, larger[i]),
                     (double)column(source, larger[i]));
        }
    }
    fixture_clear(&f);
}

static void test_target(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    float row[MAX_COLUMNS], gcc[MAX_COLUMNS];
    int n_differ = 0;
    fixture_init(&f, te_sample_gemm());
    fixture_nest(&f, blocked, &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
    f.target.is_gcc = true;
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, gcc);
    for (int i = 0; i < ctune_feature_count(CTUNE_FEATURE_ALL); i++) {
        n_differ += row[i] != gcc[i];
    }
    assert_int_equal(n_differ, 1);
    is_near(row, "target.vector_bytes", 6);
    is_near(row, "target.l2_bytes", 20);
    is_near(gcc, "target.is_gcc", 1);
    fixture_clear(&f);
}

/* Rows wait for rows: along j nothing is in order, along i everything. */
static const char rows_wait[] = "te 1\n"
                                "region rows\n"
                                "axis i i32\n"
                                "axis j i32\n"
                                "tensor A f64 [256][512]\n"
                                "stage S0: A[i][j] = A[i - 1][j] + A[i][j]\n"
                                "order {\n"
                                "    for i: 1 <= i < 256 {\n"
                                "        for j: 0 <= j < 512 {\n"
                                "            S0\n"
                                "        }\n"
                                "    }\n"
                                "}\n";

static void test_recurrence(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    float row[MAX_COLUMNS];
    fixture_init(&f, rows_wait);
    fixture_nest(&f, "", &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
    is_near(row, "estimate.chain.own_distance", 9); /* a row of j */
    is_near(row, "estimate.chain.in_kernel_loop", 0);
    assert_true(column(row, "estimate.chain.vs_kernel") < 0);
    fixture_nest(&f, "reorder j i", &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
    is_near(row, "estimate.chain.own_distance", 0);
    is_near(row, "estimate.chain.in_kernel_loop", 1);
    is_near(row, "estimate.cost.serial", 1);
    is_near(row, "estimate.chain.latency", 9); /* an addition, a store and a load */
    assert_true(column(row, "estimate.chain.vs_kernel") > 0);
    fixture_clear(&f);
}

/* Below so many elements: B's panel of 32 columns is used again for each row of the tile. */
static void test_relation(void **state) {
    (void)state;
    fixture f;
    ctune_nest nest;
    float row[MAX_COLUMNS];
    static const char *const curves[] = {"count_reuse", "reuse_count", "count_topdown",
                                         "topdown_count"};
    fixture_init(&f, te_sample_gemm());
    fixture_nest(&f, blocked, &nest);
    ctune_feature_get(&nest, &f.target, CTUNE_FEATURE_ALL, row);
    for (int c = 0; c < 4; c++) {
        float before = 0;
        for (int t = 1; t < 20; t += 2) {
            char name[64];
            snprintf(name, sizeof name, "relation.b0.%s.t%d", curves[c], t);
            assert_true(column(row, name) >= before);
            before = column(row, name);
        }
        assert_true(before > 0);
    }
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_gemm),   cmocka_unit_test(test_split_strides),
        cmocka_unit_test(test_register_tile), cmocka_unit_test(test_direction),
        cmocka_unit_test(test_target),        cmocka_unit_test(test_relation),
        cmocka_unit_test(test_recurrence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

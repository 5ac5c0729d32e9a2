/* Trees: from the source, distributed, fused, interchanged, proposed by isl. Dumps are the
 * expectation. */
#include "tests/unit/deps/deps_fixture.h"
#include "tests/unit/deps/deps_samples.h"
#include "tests/unit/te/te_samples.h"

static int dim_named(const ctune_tree *tree, const char *name) {
    for (int i = 0; i < tree->n_dims; i++) {
        if (strcmp(tree->dims[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no loop %s", name);
    return -1;
}

static void test_source(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, sample_gemm_beta);
    expect_tree(&f, f.tree,
                "loop i extent 100\n"
                "    loop j extent 100\n"
                "        S0(i, j)\n"
                "        loop k extent 100\n"
                "            S1(i, j, k)\n");
    ctune_tree *again;
    assert_int_equal(ctune_tree_from_source(&f.ctx, f.region, &again), CTUNE_OK);
    assert_true(ctune_tree_is_equal(f.tree, again));
    ctune_tree_destroy(again);
    fixture_clear(&f);
}

/* Mean trip counts: n, n/2, n/3 within a few percent. */
static void test_estimate(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f, sample_lu);
    const int64_t n = 600;
    ctune_tree_estimate(f.region, f.tree, &n);
    assert_float_equal(f.tree->dims[dim_named(f.tree, "i")].extent, 600, 2);
    assert_float_equal(f.tree->dims[dim_named(f.tree, "j")].extent, 300, 9);
    assert_float_equal(f.tree->dims[dim_named(f.tree, "k")].extent, 200, 6);
    fixture_clear(&f);
}

/* ---- distribute
 * ---------------------------------------------------------------------------------------------- */

static void expect_distributed(const char *text, const char *expected) {
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, text);
    assert_int_equal(ctune_tree_distribute(&f.ctx, f.deps, f.tree, &tree), CTUNE_OK);
    expect_tree(&f, tree, expected);
    ctune_tree_destroy(tree);
    fixture_clear(&f);
}

static void test_distribute(void **state) {
    (void)state;
    expect_distributed(sample_gemm_beta, "loop i extent 100\n"
                                         "    loop j extent 100\n"
                                         "        S0(i, j)\n"
                                         "loop i_2 extent 100\n"
                                         "    loop j_2 extent 100\n"
                                         "        loop k extent 100\n"
                                         "            S1(i_2, j_2, k)\n");
    expect_distributed(te_sample_2mm(), "loop i extent 800\n"
                                        "    loop j extent 900\n"
                                        "        S0(i, j)\n"
                                        "loop i_3 extent 800\n"
                                        "    loop j_3 extent 900\n"
                                        "        loop k extent 1100\n"
                                        "            S1(i_3, j_3, k)\n"
                                        "loop i_2 extent 800\n"
                                        "    loop j_2 extent 1200\n"
                                        "        S2(i_2, j_2)\n"
                                        "loop i_4 extent 800\n"
                                        "    loop j_4 extent 1200\n"
                                        "        loop k_2 extent 900\n"
                                        "            S3(i_4, j_4, k_2)\n");
}

/* The update of C[k][j] must follow what the same element got earlier: S3 moves before S1. */
static void test_distribute_symm(void **state) {
    (void)state;
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, te_sample_symm());
    assert_int_equal(ctune_tree_distribute(&f.ctx, f.deps, f.tree, &tree), CTUNE_OK);
    assert_int_equal(tree->root->n_kids, 4);
    const int order[] = {0, 2, 3, 1};
    for (int k = 0; k < 4; k++) {
        const ctune_tnode *node = tree->root->kids[k];
        while (node->kind != CTUNE_TNODE_STMT) {
            assert_int_equal(node->n_kids, 1);
            node = node->kids[0];
        }
        assert_int_equal(node->stmt, order[k]);
    }
    ctune_tree_destroy(tree);
    fixture_clear(&f);
}

static void test_distribute_cycle(void **state) {
    (void)state;
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, sample_lu);
    assert_int_equal(ctune_tree_distribute(&f.ctx, f.deps, f.tree, &tree), CTUNE_OK);
    assert_true(ctune_tree_is_equal(f.tree, tree));
    ctune_tree_destroy(tree);
    fixture_clear(&f);
}

/* ---- fuse ------------------------------------------------------------------------------------ */

static void test_fuse(void **state) {
    (void)state;
    fixture f;
    ctune_tree *apart, *together;
    fixture_init(&f, sample_gemm_beta);
    assert_int_equal(ctune_tree_distribute(&f.ctx, f.deps, f.tree, &apart), CTUNE_OK);
    assert_false(ctune_tree_is_equal(f.tree, apart));
    assert_int_equal(ctune_tree_fuse(&f.ctx, f.deps, apart, 0, 1, 2, &together), CTUNE_OK);
    assert_true(ctune_tree_is_equal(f.tree, together));
    ctune_tree_destroy(together);
    assert_int_equal(ctune_tree_fuse(&f.ctx, f.deps, apart, 0, 1, 1, &together), CTUNE_OK);
    expect_tree(&f, together,
                "loop i extent 100\n"
                "    loop j extent 100\n"
                "        S0(i, j)\n"
                "    loop j_2 extent 100\n"
                "        loop k extent 100\n"
                "            S1(i, j_2, k)\n");
    ctune_tree_destroy(together);
    assert_int_equal(ctune_tree_fuse(&f.ctx, f.deps, apart, 0, 1, 3, &together), CTUNE_EREFUSED);
    assert_int_equal(ctune_tree_fuse(&f.ctx, f.deps, apart, 1, 0, 1, &together), CTUNE_EREFUSED);
    ctune_tree_destroy(apart);
    fixture_clear(&f);
}

static void test_fuse_illegal(void **state) {
    (void)state;
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, te_sample_jacobi2d());
    assert_int_equal(ctune_tree_fuse(&f.ctx, f.deps, f.tree, 0, 1, 1, &tree), CTUNE_EREFUSED);
    assert_non_null(strstr(f.ctx.error, "backwards at loop i"));
    fixture_clear(&f);
}

/* ---- permute --------------------------------------------------------------------------------- */

static void test_permute(void **state) {
    (void)state;
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, te_sample_gemm());
    const int all[] = {dim_named(f.tree, "k"), dim_named(f.tree, "i"), dim_named(f.tree, "j")};
    assert_int_equal(ctune_tree_permute(&f.ctx, f.deps, f.tree, 3, all, &tree), CTUNE_OK);
    expect_tree(&f, tree,
                "loop k extent 1024\n"
                "    loop i extent 1024\n"
                "        loop j extent 1024\n"
                "            S0(i, j, k)\n");
    ctune_tree_destroy(tree);
    const int inner[] = {all[0], all[2]};
    assert_int_equal(ctune_tree_permute(&f.ctx, f.deps, f.tree, 2, inner, &tree), CTUNE_OK);
    expect_tree(&f, tree,
                "loop i extent 1024\n"
                "    loop k extent 1024\n"
                "        loop j extent 1024\n"
                "            S0(i, j, k)\n");
    ctune_tree_destroy(tree);
    const int apart[] = {all[0], all[1]};
    assert_int_equal(ctune_tree_permute(&f.ctx, f.deps, f.tree, 2, apart, &tree), CTUNE_EREFUSED);
    fixture_clear(&f);
}

static void test_permute_illegal(void **state) {
    (void)state;
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, sample_seidel);
    const int order[] = {1, 0, 2};
    assert_int_equal(ctune_tree_permute(&f.ctx, f.deps, f.tree, 3, order, &tree), CTUNE_EREFUSED);
    assert_non_null(strstr(f.ctx.error, "backwards"));
    fixture_clear(&f);
}

/* Several statements in the innermost loop of an inner nest. */
static void test_permute_imperfect(void **state) {
    (void)state;
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, sample_strided);
    const int order[] = {1, 0};
    ctune_status status = ctune_tree_permute(&f.ctx, f.deps, f.tree, 2, order, &tree);
    assert_true(status == CTUNE_EREFUSED); /* A is written over j for each i before it is read */
    fixture_clear(&f);
}

/* ---- polyhedral
 * ---------------------------------------------------------------------------------------------- */

static void expect_proposed(const char *text, ctune_poly_mode mode, const char *expected) {
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, text);
    assert_int_equal(ctune_tree_polyhedral(&f.ctx, f.deps, mode, &tree), CTUNE_OK);
    expect_tree(&f, tree, expected);
    ctune_tree_destroy(tree);
    fixture_clear(&f);
}

/* The permutable band (t, 2t + i, 2t + j), the second sweep shifted by one: time tiling for free.
 */
static void test_polyhedral_jacobi(void **state) {
    (void)state;
    expect_proposed(te_sample_jacobi2d(), CTUNE_POLY_MAX,
                    "loop t extent 100\n"
                    "    loop t1 extent 1298\n"
                    "        loop t2 extent 1298\n"
                    "            S0(t, -2*t + t1, -2*t + t2)\n"
                    "            S1(t, -2*t + t1 - 1, -2*t + t2 - 1)\n");
}

/* max keeps the band whole, with pins; min moves the division out of the innermost loop. */
static void test_polyhedral_lu(void **state) {
    (void)state;
    fixture f;
    ctune_tree *tree;
    fixture_init(&f, sample_lu);
    assert_int_equal(ctune_tree_polyhedral(&f.ctx, f.deps, CTUNE_POLY_MAX, &tree), CTUNE_OK);
    assert_int_equal(tree->n_dims, 3);
    assert_int_equal(tree->stmts[1].n_dims, 3);
    ctune_tree_destroy(tree);
    assert_int_equal(ctune_tree_polyhedral(&f.ctx, f.deps, CTUNE_POLY_MIN, &tree), CTUNE_OK);
    assert_int_equal(tree->stmts[1].n_dims, 2);
    ctune_tree_destroy(tree);
    fixture_clear(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_distribute),
        cmocka_unit_test(test_distribute_symm),
        cmocka_unit_test(test_distribute_cycle),
        cmocka_unit_test(test_fuse),
        cmocka_unit_test(test_fuse_illegal),
        cmocka_unit_test(test_permute),
        cmocka_unit_test(test_permute_illegal),
        cmocka_unit_test(test_permute_imperfect),
        cmocka_unit_test(test_polyhedral_jacobi),
        cmocka_unit_test(test_polyhedral_lu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

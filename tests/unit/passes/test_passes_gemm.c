/* The register tile of a matrix product through all passes: what stands in one iteration of k. */
#include "tests/unit/passes/passes_fixture.h"

static const char gemm[] = "te 1\n"
                           "region gemm at \"gemm.c\":3\n"
                           "param n i32 sizes 64\n"
                           "axis i i32\n"
                           "axis j i32\n"
                           "axis k i32\n"
                           "tensor A f32 [n][n]\n"
                           "tensor B f32 [n][n]\n"
                           "tensor C f32 [n][n]\n"
                           "stage S0: C[i][j] += A[i][k] * B[k][j] ; at 7:17\n"
                           "order {\n"
                           "    for i: 0 <= i < n {\n"
                           "        for j: 0 <= j < n {\n"
                           "            for k: 0 <= k < n {\n"
                           "                S0\n"
                           "            }\n"
                           "        }\n"
                           "    }\n"
                           "}\n";

/* Rows x cols of C at (i1, j1), B as it lies. The vector loop stands inside or around the rows. */
static void build_tile(fixture *f, int64_t rows, int64_t cols, bool is_vector_outer) {
    ctune_loops *l = f->l;
    int A = tensor(f, "A"), B = tensor(f, "B"), C = tensor(f, "C");
    int i1 = ctune_loops_index_var(l, "i1"), j1 = ctune_loops_index_var(l, "j1");
    ctune_lnode *tiles = ctune_lnode_for(l, i1, num(f, 0), param(f, 0), rows, CTUNE_LANN_SERIAL);
    ctune_lnode *tile = ctune_lnode_for(l, j1, num(f, 0), param(f, 0), cols, CTUNE_LANN_SERIAL);
    ctune_lnode *seq = ctune_lnode_new(l, CTUNE_L_SEQ);
    ctune_lnode_append(l->root, tiles);
    ctune_lnode_append(tiles, tile);
    ctune_lnode_append(tile, seq);
    int acc = ctune_loops_buffer(l, "acc", CTUNE_F32, CTUNE_SCOPE_REGISTER, 2,
                                 (aff[]){num(f, rows), num(f, cols)});
    ctune_lnode_append(seq, ctune_lnode_decl(l, acc));
    for (int part = 0; part < 3; part++) {
        ctune_lnode *parent = seq;
        int k = -1;
        if (part == 1) {
            k = ctune_loops_index_var(l, "k");
            parent = loop(f, seq, k, num(f, 0), param(f, 0), CTUNE_LANN_SERIAL);
        }
        int a0 = ctune_loops_index_var(l, "a0"), a1 = ctune_loops_index_var(l, "a1");
        for (int depth = 0; depth < 2; depth++) {
            bool is_row = (depth == 0) != is_vector_outer;
            parent = loop(f, parent, is_row ? a0 : a1, num(f, 0), num(f, is_row ? rows : cols),
                          is_row ? CTUNE_LANN_FULL : CTUNE_LANN_VECTOR);
        }
        ctune_place c =
            of_tensor(C, 2, sum(f, at(f, i1, 0), at(f, a0, 0)), sum(f, at(f, j1, 0), at(f, a1, 0)));
        ctune_place r = of_buffer(acc, 2, at(f, a0, 0), at(f, a1, 0));
        if (part == 0) {
            store(f, parent, r, load(f, c));
        } else if (part == 2) {
            store(f, parent, c, load(f, r));
        } else {
            val a = load(f, of_tensor(A, 2, c.idx[0], at(f, k, 0)));
            val b = load(f, of_tensor(B, 2, at(f, k, 0), c.idx[1]));
            store(f, parent, r, ctune_value_fma(l, a, b, load(f, r)));
        }
    }
    assert_int_equal(ctune_loops_status(l), CTUNE_OK);
}

static void run_passes(fixture *f, int vector_bytes) {
    ctune_pass_options options = {.target = &(const ctune_target){.vector_bytes = vector_bytes}};
    if (ctune_passes_run(f->l, &options, NULL, NULL) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static void test_inner_loop(void **state) {
    (void)state;
    for (int outer = 0; outer < 2; outer++) {
        fixture f;
        fixture_open(&f, gemm);
        build_tile(&f, 8, 32, outer);
        run_passes(&f, 64);
        const ctune_lnode *k = nth_for(&f, 2);
        assert_non_null(k);
        assert_null(nth_for(&f, 3));
        assert_int_equal(count_values(k, CTUNE_V_LOAD, 16), 2);
        assert_int_equal(count_values(k, CTUNE_V_LOAD, 1), 8);
        assert_int_equal(count_values(k, CTUNE_V_SPLAT, 16), 8);
        assert_int_equal(count_values(k, CTUNE_V_FMA, 16), 16);
        assert_int_equal(count_nodes(k, CTUNE_L_SET), 16);
        assert_int_equal(count_nodes(k, CTUNE_L_DEF), 10);
        assert_int_equal(count_nodes(f.l->root, CTUNE_L_DECL), 0);
        /* each row's splat stands right before the two products that use it */
        int since_splat = 0;
        for (const ctune_lnode *n = k->first; n != NULL; n = n->next) {
            since_splat++;
            if (n->kind == CTUNE_L_DEF && n->value->op == CTUNE_V_SPLAT) {
                since_splat = 0;
            }
            assert_true(since_splat <= 4);
        }
        fixture_close(&f);
    }
}

/* Accumulators are defined by their first load and stored whole. */
static void test_accumulators(void **state) {
    (void)state;
    fixture f;
    fixture_open(&f, gemm);
    build_tile(&f, 8, 32, false);
    run_passes(&f, 64);
    const ctune_lnode *tile = nth_for(&f, 1)->first;
    assert_int_equal(tile->kind, CTUNE_L_SEQ);
    int n = 0;
    for (const ctune_lnode *kid = tile->first; kid->kind == CTUNE_L_DEF; kid = kid->next, n++) {
        assert_non_null(kid->value);
        assert_int_equal(kid->value->op, CTUNE_V_LOAD);
        assert_int_equal(kid->value->lanes, 16);
    }
    assert_int_equal(n, 16);
    assert_int_equal(count_nodes(tile, CTUNE_L_STORE), 16);
    assert_string_equal(f.l->var[tile->first->var].name, "acc_0_0");
    fixture_close(&f);
}

static void test_widths(void **state) {
    (void)state;
    static const struct {
        int64_t rows, cols;
        int bytes, lanes;
    } rows[] = {{4, 24, 64, 8}, {3, 20, 32, 4}, {14, 32, 64, 16}, {1, 16, 16, 4}, {2, 6, 64, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        fixture_open(&f, gemm);
        build_tile(&f, rows[i].rows, rows[i].cols, i % 2);
        run_passes(&f, rows[i].bytes);
        const ctune_lnode *k = nth_for(&f, 2);
        int n = (int)(rows[i].rows * rows[i].cols / rows[i].lanes);
        assert_int_equal(count_values(k, CTUNE_V_FMA, rows[i].lanes), n);
        assert_int_equal(count_values(k, CTUNE_V_LOAD, rows[i].lanes),
                         rows[i].cols / rows[i].lanes);
        assert_int_equal(count_values(k, CTUNE_V_SPLAT, rows[i].lanes), rows[i].rows);
        fixture_close(&f);
    }
}

/* No lanes fit: scalar products, one load for each operand. */
static void test_odd_width(void **state) {
    (void)state;
    fixture f;
    fixture_open(&f, gemm);
    build_tile(&f, 3, 5, false);
    run_passes(&f, 64);
    const ctune_lnode *k = nth_for(&f, 2);
    assert_int_equal(count_values(k, CTUNE_V_FMA, 1), 15);
    assert_int_equal(count_values(k, CTUNE_V_LOAD, 1), 8);
    assert_int_equal(count_nodes(k, CTUNE_L_STORE), 0);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inner_loop),
        cmocka_unit_test(test_accumulators),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_odd_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Unrolling, register variables and sharing: what straight-line code comes out. */
#include "tests/unit/passes/passes_fixture.h"

static const char vectors[] = "te 1\n"
                              "region vectors\n"
                              "param n i32 sizes 64\n"
                              "axis i i32\n"
                              "tensor a f32 [n]\n"
                              "tensor b f32 [n]\n"
                              "tensor c f32 [n]\n"
                              "tensor x f32 scalar\n"
                              "stage S0: b[i] = a[i]\n"
                              "stage S1: c[i] = a[i] * x\n"
                              "order {\n"
                              "    for i: 0 <= i < n {\n"
                              "        S0\n        S1\n"
                              "    }\n"
                              "}\n";

static ctune_place el(fixture *f, const char *name, aff idx) {
    return of_tensor(tensor(f, name), 1, idx, NULL);
}

static void run(fixture *f, ctune_pass_run pass) {
    ctune_pass_options options = {.target = &(const ctune_target){.vector_bytes = 64}};
    if (pass(f->l, &options) != CTUNE_OK || ctune_loops_verify(&f->ctx, f->l) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static val add(fixture *f, val a, val b) {
    return ctune_value_binary(f->l, CTUNE_V_ADD, a, b);
}

/* ---- unroll ---------------------------------------------------------------------------------- */

static void test_unroll_nest(void **state) {
    (void)state;
    fixture f;
    fixture_open(&f, vectors);
    int i = ctune_loops_index_var(f.l, "i"), j = ctune_loops_index_var(f.l, "j");
    ctune_lnode *n = loop(&f, f.l->root, i, num(&f, 1), num(&f, 4), CTUNE_LANN_FULL);
    n->comment = "tile";
    n = loop(&f, n, j, num(&f, 0), num(&f, 10), CTUNE_LANN_FULL);
    n->step = 4;
    store(&f, n,
          el(&f, "b", ctune_aff_add(f.l->arena, at(&f, j, 0), ctune_loops_var_aff(f.l, i, 16, 0))),
          load(&f, el(&f, "a", at(&f, j, 1))));
    run(&f, ctune_pass_unroll);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_FOR), 0);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_SEQ), 1);
    static const int64_t want[] = {16, 20, 24, 32, 36, 40, 48, 52, 56};
    int k = 0;
    for (n = f.l->root->first; n != NULL; n = n->next, k++) {
        assert_true(k < 9);
        assert_int_equal(n->place.idx[0]->c0, want[k]);
        assert_int_equal(n->place.idx[0]->n_terms, 0);
    }
    assert_int_equal(k, 9);
    assert_string_equal(f.l->root->first->comment, "tile");
    fixture_close(&f);
}

/* LETs of constants and conditions that constants decide disappear; declarations keep a block. */
static void test_unroll_folds(void **state) {
    (void)state;
    fixture f;
    fixture_open(&f, vectors);
    int i = ctune_loops_index_var(f.l, "i"), let = ctune_loops_index_var(f.l, "let");
    ctune_lnode *n = loop(&f, f.l->root, i, num(&f, 0), num(&f, 3), CTUNE_LANN_FULL);
    int tmp = ctune_loops_buffer(f.l, "tmp", CTUNE_F32, CTUNE_SCOPE_BLOCK, 1, (aff[]){num(&f, 2)});
    ctune_lnode_append(n, ctune_lnode_decl(f.l, tmp));
    ctune_lnode_append(n, ctune_lnode_let(f.l, let, ctune_loops_var_aff(f.l, i, 2, 1)));
    const ctune_aff **conds = CTUNE_NEW_ARRAY(f.l->arena, const ctune_aff *, 2);
    conds[0] = at(&f, let, -3);
    conds[1] = param(&f, 0);
    ctune_lnode *branch = ctune_lnode_if(f.l, conds, 2, NULL);
    ctune_lnode_append(n, branch);
    store(&f, branch, el(&f, "b", at(&f, let, 0)), load(&f, el(&f, "a", at(&f, i, 0))));
    branch->other = ctune_lnode_new(f.l, CTUNE_L_SEQ);
    store(&f, branch->other, el(&f, "c", at(&f, let, 0)), load(&f, el(&f, "a", at(&f, i, 0))));
    run(&f, ctune_pass_unroll);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_LET), 0);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_FOR), 0);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_DECL), 3);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_SEQ), 1 + 3 + 2);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_IF), 2); /* n >= 0 stays to be asked */
    const ctune_lnode *first = f.l->root->first->last;
    assert_int_equal(first->kind, CTUNE_L_STORE); /* 1 - 3 < 0: the other arm */
    assert_int_equal(first->place.id, tensor(&f, "c"));
    assert_int_equal(first->place.idx[0]->c0, 1);
    fixture_close(&f);
}

/* A body that would become too long stays a loop; its register array is then an array. */
static void test_unroll_limit(void **state) {
    (void)state;
    fixture f;
    fixture_open(&f, vectors);
    int i = ctune_loops_index_var(f.l, "i");
    int acc =
        ctune_loops_buffer(f.l, "acc", CTUNE_F32, CTUNE_SCOPE_REGISTER, 1, (aff[]){num(&f, 5000)});
    ctune_lnode_append(f.l->root, ctune_lnode_decl(f.l, acc));
    ctune_lnode *n = loop(&f, f.l->root, i, num(&f, 0), num(&f, 5000), CTUNE_LANN_FULL);
    store(&f, n, of_buffer(acc, 1, at(&f, i, 0), NULL), load(&f, el(&f, "a", num(&f, 0))));
    run(&f, ctune_pass_unroll);
    assert_int_equal(n->ann, CTUNE_LANN_UNROLL);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_STORE), 1);
    run(&f, ctune_pass_scalars);
    assert_int_equal(f.l->buffer[acc].scope, CTUNE_SCOPE_BLOCK);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_DECL), 1);
    fixture_close(&f);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static int open_acc(fixture *f, int rank, int64_t extent) {
    fixture_open(f, vectors);
    int acc = ctune_loops_buffer(f->l, "acc", CTUNE_F32, CTUNE_SCOPE_REGISTER, rank,
                                 (aff[]){num(f, extent)});
    ctune_lnode_append(f->l->root, ctune_lnode_decl(f->l, acc));
    return acc;
}

static val wide_load(fixture *f, ctune_place place, int lanes) {
    return ctune_value_load(f->l, &place, lanes);
}

static void test_scalars_ranges(void **state) {
    (void)state;
    fixture f;
    int acc = open_acc(&f, 1, 12);
    store(&f, f.l->root, of_buffer(acc, 1, num(&f, 0), NULL),
          wide_load(&f, el(&f, "a", num(&f, 0)), 8));
    store(&f, f.l->root, of_buffer(acc, 1, num(&f, 8), NULL),
          wide_load(&f, el(&f, "a", num(&f, 8)), 4));
    store(&f, f.l->root, el(&f, "b", num(&f, 0)),
          wide_load(&f, of_buffer(acc, 1, num(&f, 0), NULL), 8));
    store(&f, f.l->root, el(&f, "b", num(&f, 8)), load(&f, of_buffer(acc, 1, num(&f, 10), NULL)));
    run(&f, ctune_pass_scalars);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_DECL), 0);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_DEF), 2);
    assert_int_equal(count_nodes(f.l->root, CTUNE_L_SET), 0);
    val last = f.l->root->last->value;
    assert_int_equal(last->op, CTUNE_V_EXTRACT);
    assert_int_equal(last->lane, 2);
    assert_int_equal(last->kids[0]->lanes, 4);
    fixture_close(&f);
}

static void test_scalars_overlap(void **state) {
    (void)state;
    static const struct {
        int first, first_lanes, second, second_lanes;
    } rows[] = {{0, 8, 4, 8}, {0, 8, 3, 1}, {3, 1, 0, 8}, {0, 8, 0, 4}, {4, 4, 0, 8}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        fixture f;
        int acc = open_acc(&f, 1, 12);
        store(&f, f.l->root, of_buffer(acc, 1, num(&f, rows[r].first), NULL),
              wide_load(&f, el(&f, "a", num(&f, 0)), rows[r].first_lanes));
        store(&f, f.l->root, of_buffer(acc, 1, num(&f, rows[r].second), NULL),
              wide_load(&f, el(&f, "a", num(&f, 8)), rows[r].second_lanes));
        run(&f, ctune_pass_scalars);
        assert_int_equal(f.l->buffer[acc].scope, CTUNE_SCOPE_BLOCK);
        assert_int_equal(count_nodes(f.l->root, CTUNE_L_STORE), 2);
        fixture_close(&f);
    }
}

/* Rank 0; assigned in a loop: the definition stays in front of it, without a value. */
static void test_scalars_rank_0(void **state) {
    (void)state;
    fixture f;
    int acc = open_acc(&f, 0, 1), k = ctune_loops_index_var(f.l, "k");
    ctune_place cell = of_buffer(acc, 0, NULL, NULL);
    ctune_lnode *n = loop(&f, f.l->root, k, num(&f, 0), param(&f, 0), CTUNE_LANN_SERIAL);
    store(&f, n, cell, load(&f, el(&f, "a", at(&f, k, 0))));
    store(&f, n, el(&f, "b", at(&f, k, 0)), load(&f, cell));
    run(&f, ctune_pass_scalars);
    assert_int_equal(f.l->root->first->kind, CTUNE_L_DEF);
    assert_null(f.l->root->first->value);
    assert_int_equal(n->first->kind, CTUNE_L_SET);
    assert_int_equal(n->last->value->op, CTUNE_V_VAR);
    fixture_close(&f);
}

/* ---- share ----------------------------------------------------------------------------------- */

/* Uses on both sides of a write to what is read are two values. */
static void test_share_kill(void **state) {
    (void)state;
    static const struct {
        const char *written;
        int n_defs;
    } rows[] = {{"b", 1}, {"a", 0}};
    for (size_t r = 0; r < 2; r++) {
        fixture f;
        fixture_open(&f, vectors);
        val a = load(&f, el(&f, "a", num(&f, 3)));
        /* the region must say that a is written */
        ctune_tensor *t = (ctune_tensor *)&f.region->tensors[tensor(&f, "a")];
        t->is_written = true;
        store(&f, f.l->root, el(&f, "c", num(&f, 0)), a);
        store(&f, f.l->root, el(&f, rows[r].written, num(&f, 9)), ctune_value_zero(f.l, CTUNE_F32));
        store(&f, f.l->root, el(&f, "c", num(&f, 1)), a);
        run(&f, ctune_pass_share);
        assert_int_equal(count_nodes(f.l->root, CTUNE_L_DEF), rows[r].n_defs);
        fixture_close(&f);
    }
}

/* A value that only arms of choices read is not evaluated for itself. */
static void test_share_arms(void **state) {
    (void)state;
    for (int is_sure = 0; is_sure < 2; is_sure++) {
        fixture f;
        fixture_open(&f, vectors);
        val a = load(&f, el(&f, "a", num(&f, 3))), x = load(&f, el(&f, "b", num(&f, 5)));
        val zero = ctune_value_zero(f.l, CTUNE_F32);
        val kids[3] = {ctune_value_binary(f.l, CTUNE_V_LT, x, zero), a, zero};
        val chosen = ctune_loops_value(
            f.l,
            &(ctune_value){
                .op = CTUNE_V_SELECT, .type = CTUNE_F32, .lanes = 1, .n_kids = 3, .kids = kids});
        if (is_sure) {
            store(&f, f.l->root, el(&f, "c", num(&f, 0)), a);
        }
        store(&f, f.l->root, el(&f, "c", num(&f, 1)), add(&f, chosen, zero));
        store(&f, f.l->root, el(&f, "c", num(&f, 2)),
              ctune_value_binary(f.l, CTUNE_V_MUL, chosen, zero));
        run(&f, ctune_pass_share);
        /* the choice itself is shared; its arm has a name only when it is loaded in any case */
        assert_int_equal(count_nodes(f.l->root, CTUNE_L_DEF), is_sure ? 2 : 1);
        assert_int_equal(count_values(f.l->root, CTUNE_V_SELECT, 1), 1);
        fixture_close(&f);
    }
}

/* In front of a loop stands what is harmless when the loop has no iteration: no load of an array.
 */
static void test_share_hoist(void **state) {
    (void)state;
    for (int is_collapsed = 0; is_collapsed < 2; is_collapsed++) {
        fixture f;
        fixture_open(&f, vectors);
        int i = ctune_loops_index_var(f.l, "i"), k = ctune_loops_index_var(f.l, "k");
        ctune_lnode *outer = loop(&f, f.l->root, i, num(&f, 0), num(&f, 4), CTUNE_LANN_SERIAL);
        ctune_lnode *n = loop(&f, outer, k, num(&f, 0), param(&f, 0), CTUNE_LANN_SERIAL);
        if (is_collapsed) {
            outer->ann = CTUNE_LANN_PARALLEL;
            outer->collapse = 2;
        }
        val x = load(&f, of_tensor(tensor(&f, "x"), 0, NULL, NULL));
        val xs = ctune_value_splat(f.l, add(&f, x, ctune_value_zero(f.l, CTUNE_F32)), 4);
        val as = ctune_value_splat(f.l, load(&f, el(&f, "a", at(&f, i, 0))), 4);
        ctune_place b = el(&f, "b", ctune_loops_var_aff(f.l, k, 4, 0));
        store(&f, n, b, add(&f, add(&f, xs, as), wide_load(&f, b, 4)));
        run(&f, ctune_pass_share);
        assert_int_equal(count_values(n, CTUNE_V_SPLAT, 4), is_collapsed ? 2 : 1);
        assert_int_equal(count_nodes(outer, CTUNE_L_DEF), is_collapsed ? 0 : 1);
        assert_ptr_equal(outer->last, n);
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unroll_nest),     cmocka_unit_test(test_unroll_folds),
        cmocka_unit_test(test_unroll_limit),    cmocka_unit_test(test_scalars_ranges),
        cmocka_unit_test(test_scalars_overlap), cmocka_unit_test(test_scalars_rank_0),
        cmocka_unit_test(test_share_kill),      cmocka_unit_test(test_share_arms),
        cmocka_unit_test(test_share_hoist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

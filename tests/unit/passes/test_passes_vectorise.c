/* Lanes: how many, of what, and where there are none. */
#include "tests/unit/passes/passes_fixture.h"

static const char kinds[] = "te 1\n"
                            "region kinds\n"
                            "param n i32 sizes 64\n"
                            "axis i i32\n"
                            "tensor f f32 [n]\n"
                            "tensor d f64 [n]\n"
                            "tensor b i8 [n]\n"
                            "tensor w i32 [n]\n"
                            "tensor t bool [n]\n"
                            "tensor s f32 [n] stride 8\n"
                            "tensor F f32 [n]\n"
                            "tensor D f64 [n]\n"
                            "tensor W i32 [n]\n"
                            "tensor S f32 [n] stride 8\n"
                            "tensor T bool [n]\n"
                            "tensor x f32 scalar\n"
                            "stage S0: F[i] = f[i]\n"
                            "stage S1: D[i] = d[i]\n"
                            "stage S2: W[i] = w[i] + (i32)b[i]\n"
                            "stage S3: S[i] = s[i] + x\n"
                            "stage S4: T[i] = t[i]\n"
                            "order {\n"
                            "    for i: 0 <= i < n {\n"
                            "        S0\n        S1\n        S2\n        S3\n        S4\n"
                            "    }\n"
                            "}\n";

/* A vector loop over `extent` iterations at the root. */
static ctune_lnode *open_loop(fixture *f, int64_t extent, int *i) {
    fixture_open(f, kinds);
    *i = ctune_loops_index_var(f->l, "i");
    return loop(f, f->l->root, *i, num(f, 0), num(f, extent), CTUNE_LANN_VECTOR);
}

static ctune_place place(fixture *f, const char *name, int i, int64_t coef, int64_t c) {
    return of_tensor(tensor(f, name), 1, ctune_loops_var_aff(f->l, i, coef, c), NULL);
}

static val read(fixture *f, const char *name, int i) {
    return load(f, place(f, name, i, 1, 0));
}

static void vectorise(fixture *f, int bytes) {
    ctune_pass_options options = {.target = &(const ctune_target){.vector_bytes = bytes}};
    if (ctune_pass_vectorise(f->l, &options) != CTUNE_OK ||
        ctune_loops_verify(&f->ctx, f->l) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static val choose(fixture *f, val test, val a, val b) {
    val kids[3] = {test, a, b};
    return ctune_loops_value(
        f->l, &(ctune_value){
                  .op = CTUNE_V_SELECT, .type = a->type, .lanes = 1, .n_kids = 3, .kids = kids});
}

static void test_tile_lanes(void **state) {
    (void)state;
    static const struct {
        int bytes;
        ctune_type type;
        int64_t extent;
        int lanes;
    } rows[] = {{64, CTUNE_F32, 32, 16}, {64, CTUNE_F32, 56, 8},  {64, CTUNE_F64, 56, 8},
                {64, CTUNE_F64, 7, 1},   {32, CTUNE_F64, 6, 2},   {16, CTUNE_F64, 6, 2},
                {64, CTUNE_I8, 128, 64}, {16, CTUNE_I16, 24, 8},  {64, CTUNE_BOOL, 64, 1},
                {64, CTUNE_F16, 64, 1},  {64, CTUNE_F80, 64, 1},  {64, CTUNE_F32, 1, 1},
                {64, CTUNE_F32, 0, 1},   {64, CTUNE_F32, 48, 16}, {8, CTUNE_F64, 8, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(ctune_tile_lanes(rows[i].bytes, rows[i].type, rows[i].extent),
                         rows[i].lanes);
    }
}

/* The widest element decides; narrower ones are half vectors. */
static void test_mixed_widths(void **state) {
    (void)state;
    fixture f;
    int i;
    ctune_lnode *n = open_loop(&f, 32, &i);
    val wide = ctune_value_convert(f.l, CTUNE_F64, read(&f, "f", i));
    store(&f, n, place(&f, "D", i, 1, 0), ctune_value_fma(f.l, wide, wide, read(&f, "D", i)));
    vectorise(&f, 64);
    assert_int_equal(n->ann, CTUNE_LANN_FULL);
    assert_int_equal(n->step, 8);
    assert_int_equal(count_values(n, CTUNE_V_FMA, 8), 1);
    assert_int_equal(n->first->value->kids[0]->op, CTUNE_V_CONVERT);
    assert_int_equal(n->first->value->kids[0]->kids[0]->op, CTUNE_V_LOAD);
    assert_int_equal(n->first->value->kids[0]->kids[0]->type, CTUNE_F32);
    fixture_close(&f);

    n = open_loop(&f, 32, &i);
    val b = ctune_value_convert(f.l, CTUNE_I32, read(&f, "b", i));
    store(&f, n, place(&f, "W", i, 1, 0),
          ctune_value_binary(f.l, CTUNE_V_ADD, read(&f, "W", i),
                             ctune_value_binary(f.l, CTUNE_V_MUL, b, b)));
    vectorise(&f, 32);
    assert_int_equal(n->step, 8);
    assert_int_equal(count_values(n, CTUNE_V_MUL, 8), 1);
    fixture_close(&f);
}

/* The largest part that is the same in all lanes is computed once and splat. */
static void test_invariant(void **state) {
    (void)state;
    fixture f;
    int i;
    ctune_lnode *n = open_loop(&f, 16, &i);
    val x = load(&f, of_tensor(tensor(&f, "x"), 0, NULL, NULL));
    val part = ctune_value_binary(f.l, CTUNE_V_MUL, x,
                                  load(&f, of_tensor(tensor(&f, "f"), 1, num(&f, 3), NULL)));
    store(&f, n, place(&f, "F", i, 1, 0),
          ctune_value_binary(f.l, CTUNE_V_ADD, part, read(&f, "f", i)));
    vectorise(&f, 64);
    val v = n->first->value;
    assert_int_equal(v->kids[0]->op, CTUNE_V_SPLAT);
    assert_ptr_equal(v->kids[0]->kids[0], part);
    assert_int_equal(count_values(n, CTUNE_V_SPLAT, 16), 1);
    fixture_close(&f);
}

/* Reversed, strided and repeated accesses: scalar loads in lanes, one store for each lane. */
static void test_gather_scatter(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t coef, c;
    } rows[] = {{"f", -1, 31}, {"f", 2, 0}, {"s", 1, 0}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        fixture f;
        int i;
        ctune_lnode *n = open_loop(&f, 16, &i);
        store(&f, n, place(&f, "F", i, 1, 0),
              load(&f, place(&f, rows[r].name, i, rows[r].coef, rows[r].c)));
        vectorise(&f, 32);
        assert_int_equal(count_values(n, CTUNE_V_GATHER, 8), 1);
        assert_int_equal(count_values(n, CTUNE_V_LOAD, 1), 8);
        fixture_close(&f);

        n = open_loop(&f, 16, &i);
        const char *to = rows[r].name[0] == 's' ? "S" : "F";
        val v = read(&f, "f", i);
        store(&f, n, place(&f, to, i, rows[r].coef, rows[r].c),
              ctune_value_binary(f.l, CTUNE_V_MUL, v, v));
        vectorise(&f, 32);
        assert_int_equal(count_values(n, CTUNE_V_MUL, 8), 1);
        assert_int_equal(count_nodes(n, CTUNE_L_STORE), 8);
        assert_int_equal(count_values(n, CTUNE_V_EXTRACT, 1), 8);
        fixture_close(&f);
    }
}

/* A mask is as wide as what it chooses between. */
static void test_masks(void **state) {
    (void)state;
    fixture f;
    int i;
    ctune_lnode *n = open_loop(&f, 16, &i);
    val a = read(&f, "f", i), zero = ctune_value_zero(f.l, CTUNE_F32);
    val test = ctune_value_binary(f.l, CTUNE_V_LT, a, zero);
    store(
        &f, n, place(&f, "D", i, 1, 0),
        choose(&f, test, ctune_value_zero(f.l, CTUNE_F64), ctune_value_convert(f.l, CTUNE_F64, a)));
    vectorise(&f, 64);
    val v = n->first->value;
    assert_int_equal(v->op, CTUNE_V_SELECT);
    assert_int_equal(v->lanes, 8);
    assert_int_equal(v->kids[0]->op, CTUNE_V_CONVERT);
    assert_int_equal(v->kids[0]->type, CTUNE_I64);
    assert_int_equal(v->kids[0]->kids[0]->type, CTUNE_I32);
    fixture_close(&f);
}

/* What only some lanes ask for is not loaded for all; what the test reads in any case may be. */
static void test_no_speculation(void **state) {
    (void)state;
    for (int is_safe = 0; is_safe < 2; is_safe++) {
        fixture f;
        int i;
        ctune_lnode *n = open_loop(&f, 16, &i);
        val a = read(&f, "f", i), other = is_safe ? a : read(&f, "F", i);
        val test = ctune_value_binary(f.l, CTUNE_V_LT, a, ctune_value_zero(f.l, CTUNE_F32));
        store(&f, n, place(&f, "D", i, 1, 0),
              ctune_value_convert(f.l, CTUNE_F64,
                                  choose(&f, test, other, ctune_value_zero(f.l, CTUNE_F32))));
        vectorise(&f, 64);
        assert_int_equal(count_values(n, CTUNE_V_SELECT, 8), is_safe);
        assert_int_equal(count_values(n, CTUNE_V_SELECT, 1), is_safe ? 0 : 8);
        fixture_close(&f);
    }
}

/* Sums of an arm wrap: lanes that nobody asked for must not overflow. */
static void test_arms_wrap(void **state) {
    (void)state;
    fixture f;
    int i;
    ctune_lnode *n = open_loop(&f, 16, &i);
    val a = read(&f, "w", i), one = ctune_value_int(f.l, CTUNE_I32, 1);
    store(&f, n, place(&f, "W", i, 1, 0),
          choose(&f, ctune_value_binary(f.l, CTUNE_V_LT, a, one),
                 ctune_value_binary(f.l, CTUNE_V_ADD, a, one), a));
    vectorise(&f, 64);
    assert_int_equal(n->first->value->kids[1]->op, CTUNE_V_ADD);
    assert_true(n->first->value->kids[1]->wraps);
    fixture_close(&f);
}

/* Conditions: the same in all lanes stay around vectors; others leave a scalar loop. */
static void test_conditions(void **state) {
    (void)state;
    for (int varies = 0; varies < 3; varies++) {
        fixture f;
        int i;
        ctune_lnode *n = open_loop(&f, 16, &i);
        const ctune_aff **conds = CTUNE_NEW_ARRAY(f.l->arena, const ctune_aff *, 1);
        conds[0] = ctune_aff_sub(f.l->arena, param(&f, 0), varies == 1 ? at(&f, i, 0) : num(&f, 9));
        ctune_lnode *node = ctune_lnode_if(f.l, conds, 1, varies == 2 ? read(&f, "w", i) : NULL);
        ctune_lnode_append(n, node);
        store(&f, node, place(&f, "F", i, 1, 0), read(&f, "f", i));
        vectorise(&f, 64);
        assert_int_equal(n->ann, varies ? CTUNE_LANN_SIMD : CTUNE_LANN_FULL);
        assert_int_equal(n->step, varies ? 1 : 16);
        assert_int_equal(count_values(n, CTUNE_V_LOAD, 16), !varies);
        fixture_close(&f);
    }
}

static void test_types_without_vectors(void **state) {
    (void)state;
    fixture f;
    int i;
    ctune_lnode *n = open_loop(&f, 16, &i);
    store(&f, n, place(&f, "T", i, 1, 0), read(&f, "t", i));
    vectorise(&f, 64);
    assert_int_equal(n->ann, CTUNE_LANN_SIMD);
    assert_int_equal(n->step, 1);
    fixture_close(&f);

    n = open_loop(&f, 16, &i); /* converted lane by lane */
    store(&f, n, place(&f, "F", i, 1, 0),
          ctune_value_binary(f.l, CTUNE_V_ADD, read(&f, "f", i),
                             ctune_value_convert(f.l, CTUNE_F32, read(&f, "t", i))));
    vectorise(&f, 64);
    assert_int_equal(n->step, 16);
    assert_int_equal(count_values(n, CTUNE_V_ADD, 16), 1);
    assert_int_equal(count_values(n, CTUNE_V_CONVERT, 1), 16);
    fixture_close(&f);
}

/* A scalar of one iteration becomes a vector of one chunk. */
static void test_private(void **state) {
    (void)state;
    fixture f;
    int i;
    ctune_lnode *n = open_loop(&f, 16, &i);
    int tmp = ctune_loops_value_var(f.l, "tmp", CTUNE_F32, 1, true);
    ctune_lnode_append(n, ctune_lnode_def(f.l, tmp, NULL));
    ctune_lnode_append(n, ctune_lnode_set(f.l, tmp, read(&f, "f", i)));
    store(&f, n, place(&f, "F", i, 1, 0), ctune_value_var(f.l, tmp));
    vectorise(&f, 64);
    assert_int_equal(n->step, 16);
    assert_int_equal(f.l->var[n->first->var].lanes, 16);
    assert_int_equal(n->last->value->op, CTUNE_V_VAR);
    assert_int_equal(n->last->value->lanes, 16);
    fixture_close(&f);
}

/* Loops that share a register array have the same lanes; one that has none gives none to all. */
static void test_agreement(void **state) {
    (void)state;
    for (int is_scalar = 0; is_scalar < 2; is_scalar++) {
        fixture f;
        int i;
        ctune_lnode *first = open_loop(&f, 16, &i);
        int acc = ctune_loops_buffer(f.l, "acc", CTUNE_F32, CTUNE_SCOPE_REGISTER, 1,
                                     (aff[]){num(&f, 16)});
        ctune_lnode_prepend(f.l->root, ctune_lnode_decl(f.l, acc));
        store(&f, first, of_buffer(acc, 1, at(&f, i, 0), NULL), read(&f, "f", i));
        int k = ctune_loops_index_var(f.l, "k");
        ctune_lnode *second = loop(&f, f.l->root, k, num(&f, 0), num(&f, 16), CTUNE_LANN_VECTOR);
        val old = load(&f, of_buffer(acc, 1, at(&f, k, 0), NULL));
        if (is_scalar) {
            ctune_lnode *node = ctune_lnode_if(f.l, NULL, 0, read(&f, "w", k));
            ctune_lnode_append(second, node);
            store(&f, node, place(&f, "F", k, 1, 0), old);
        } else {
            store(&f, second, place(&f, "D", k, 1, 0),
                  ctune_value_binary(f.l, CTUNE_V_ADD, read(&f, "d", k),
                                     ctune_value_convert(f.l, CTUNE_F64, old)));
        }
        vectorise(&f, 64);
        assert_int_equal(first->step, is_scalar ? 1 : 8);
        assert_int_equal(second->step, is_scalar ? 1 : 8);
        ctune_pass_options options = {.target = &(const ctune_target){.vector_bytes = 64}};
        assert_int_equal(ctune_passes_run(f.l, &options, NULL, NULL), CTUNE_OK);
        assert_int_equal(count_nodes(f.l->root, CTUNE_L_DECL), 0);
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tile_lanes),
        cmocka_unit_test(test_mixed_widths),
        cmocka_unit_test(test_invariant),
        cmocka_unit_test(test_gather_scatter),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_no_speculation),
        cmocka_unit_test(test_arms_wrap),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_private),
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_types_without_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

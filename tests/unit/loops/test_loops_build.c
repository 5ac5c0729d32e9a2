/* Builders: indices are simplified to what they were, values are shared, copies are fresh. */
#include "loops_samples.h"
#include "runtime/rng.h"

enum { N_VARS = 4, N_PARAMS = 2 };

typedef struct bench {
    ctune_ctx ctx;
    ctune_region *region;
    ctune_loops *l;
    int var[N_VARS];
} bench;

static void bench_init(bench *b) {
    ctune_ctx_init(&b->ctx);
    b->region = loops_region();
    assert_int_equal(ctune_loops_create(&b->ctx, b->region, &b->l), CTUNE_OK);
    for (int i = 0; i < N_VARS; i++) {
        b->var[i] = ctune_loops_index_var(b->l, "v");
    }
}

static void bench_clear(bench *b) {
    ctune_loops_destroy(b->l);
    ctune_region_destroy(b->region);
}

static int64_t floor_div(int64_t a, int64_t den) {
    return a / den - (a % den != 0 && a < 0);
}

/* The definition of a form, atom by atom. */
static int64_t value_of(const ctune_loops *l, const ctune_aff *aff, const int64_t *vars,
                        const int64_t *params) {
    int64_t sum = aff->c0;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *x = &aff->terms[t];
        int64_t v;
        if (x->kind == CTUNE_TERM_AXIS) {
            v = vars[x->id];
        } else if (x->kind == CTUNE_TERM_PARAM) {
            v = params[x->id];
        } else {
            const ctune_atom *atom = &l->atom[x->id];
            int64_t a = value_of(l, atom->a, vars, params);
            int64_t c = atom->b != NULL ? value_of(l, atom->b, vars, params) : 0;
            v = atom->kind == CTUNE_ATOM_FLOOR              ? floor_div(a, atom->den)
                : atom->kind == CTUNE_ATOM_PROD             ? a * c
                : (atom->kind == CTUNE_ATOM_MIN) == (a < c) ? a
                                                            : c;
        }
        sum += x->coef * v;
    }
    return sum;
}

typedef struct sample {
    const ctune_aff *aff;
    int64_t at[3]; /* its value at each point */
} sample;

typedef struct maker {
    bench *b;
    ctune_rng rng;
    int64_t vars[3][N_VARS], params[3][N_PARAMS];
} maker;

static int below(maker *m, int n) {
    return (int)ctune_rng_below(&m->rng, (uint64_t)n);
}

static sample random_leaf(maker *m) {
    ctune_arena *arena = m->b->l->arena;
    int64_t c = below(m, 9) - 4;
    int id;
    sample s = {ctune_loops_const(m->b->l, c), {c, c, c}};
    switch (below(m, 3)) {
    case 0:
        id = below(m, N_VARS);
        s.aff = ctune_loops_var_aff(m->b->l, m->b->var[id], c, 1);
        for (int p = 0; p < 3; p++) {
            s.at[p] = c * m->vars[p][id] + 1;
        }
        return s;
    case 1:
        id = below(m, N_PARAMS);
        s.aff = ctune_aff_term(arena, CTUNE_TERM_PARAM, id, c);
        for (int p = 0; p < 3; p++) {
            s.at[p] = c * m->params[p][id];
        }
        return s;
    default:
        return s;
    }
}

/* A random form and what it is worth by plain evaluation. */
static sample random_form(maker *m, int depth) {
    if (depth == 0) {
        return random_leaf(m);
    }
    ctune_loops *l = m->b->l;
    sample x = random_form(m, depth - 1), y = random_form(m, below(m, depth)), s = {NULL, {0}};
    int op = below(m, 8);
    int64_t k = below(m, 12) + 1;
    s.aff = op == 0   ? ctune_loops_floor(l, x.aff, k)
            : op == 1 ? ctune_loops_ceil(l, x.aff, k)
            : op == 2 ? ctune_loops_min(l, x.aff, y.aff)
            : op == 3 ? ctune_loops_max(l, x.aff, y.aff)
            : op == 4 ? ctune_loops_mul(l, x.aff, y.aff)
            : op == 5 ? ctune_aff_sub(l->arena, x.aff, y.aff)
            : op == 6 ? ctune_aff_scale(l->arena, x.aff, k)
                      : ctune_aff_add(l->arena, x.aff, y.aff);
    for (int p = 0; p < 3; p++) {
        int64_t a = x.at[p], b = y.at[p];
        s.at[p] = op == 0   ? floor_div(a, k)
                  : op == 1 ? -floor_div(-a, k)
                  : op == 2 ? (a < b ? a : b)
                  : op == 3 ? (a > b ? a : b)
                  : op == 4 ? a * b
                  : op == 5 ? a - b
                  : op == 6 ? a * k
                            : a + b;
    }
    return s;
}

static void maker_init(maker *m, bench *b, uint64_t seed) {
    m->b = b;
    ctune_rng_init(&m->rng, seed);
    for (int p = 0; p < 3; p++) {
        for (int i = 0; i < N_VARS; i++) {
            m->vars[p][i] = below(m, 41) - 20;
        }
        for (int i = 0; i < N_PARAMS; i++) {
            m->params[p][i] = below(m, 60);
        }
    }
}

/* Simplified forms are worth what the plain ones are, also with a variable replaced, and read back
 * from their text. */
static void test_random_forms(void **state) {
    (void)state;
    int n_atoms = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        bench b;
        maker m;
        bench_init(&b);
        maker_init(&m, &b, seed);
        sample s = random_form(&m, 5), by = random_form(&m, 2);
        if (s.aff == NULL || by.aff == NULL) { /* a product of too many terms */
            assert_int_not_equal(ctune_loops_status(b.l), CTUNE_OK);
            bench_clear(&b);
            continue;
        }
        const ctune_aff *after = ctune_loops_subst(b.l, s.aff, b.var[1], by.aff);
        for (int p = 0; p < 3; p++) {
            int64_t vars[N_VARS];
            assert_true(value_of(b.l, s.aff, m.vars[p], m.params[p]) == s.at[p]);
            memcpy(vars, m.vars[p], sizeof vars);
            vars[1] = by.at[p];
            assert_true(after == NULL || value_of(b.l, after, m.vars[p], m.params[p]) ==
                                             value_of(b.l, s.aff, vars, m.params[p]));
        }
        assert_true(after != NULL || ctune_loops_status(b.l) != CTUNE_OK);
        assert_true(after == NULL || ctune_loops_uses(b.l, by.aff, b.var[1]) ||
                    !ctune_loops_uses(b.l, after, b.var[1]));
        n_atoms += b.l->n_atoms;
        bench_clear(&b);
    }
    assert_true(n_atoms > 3000);
}

static void assert_text(bench *b, const ctune_aff *aff, const char *want) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_loops_print_aff(b->l, aff, &text);
    assert_string_equal(ctune_text_get(&text), want);
    ctune_text_clear(&text);
}

/* The simplifications themselves: equal values have one form. */
static void test_simplified(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    ctune_loops *l = b.l;
    ctune_arena *a = l->arena;
    const ctune_aff *i = ctune_loops_var_aff(l, b.var[0], 1, 0);
    const ctune_aff *j = ctune_loops_var_aff(l, b.var[1], 1, 0);
    const ctune_aff *n = ctune_aff_term(a, CTUNE_TERM_PARAM, 0, 1);
    const ctune_aff *m = ctune_aff_term(a, CTUNE_TERM_PARAM, 1, 1);
    const ctune_aff *i16 = ctune_aff_scale(a, i, 16);
    assert_text(&b, ctune_loops_floor(l, ctune_aff_add_const(a, i16, 37), 16), "v.0 + 2");
    assert_text(&b, ctune_loops_floor(l, ctune_aff_add(a, i16, j), 16), "v.0 + floor(v.1 / 16)");
    assert_text(&b, ctune_loops_floor(l, ctune_aff_add_const(a, n, -1), 4),
                "floor((n + 3) / 4) - 1");
    assert_text(&b, ctune_loops_floor(l, ctune_aff_add_const(a, ctune_aff_scale(a, n, 6), 5), 4),
                "floor(3*n / 2) + 1");
    assert_text(&b, ctune_loops_ceil(l, n, 8), "floor((n + 7) / 8)");
    assert_text(&b, ctune_loops_min(l, ctune_aff_add_const(a, n, 3), n), "n");
    assert_text(&b, ctune_loops_max(l, ctune_aff_add_const(a, n, 3), n), "n + 3");
    assert_text(&b, ctune_loops_min(l, n, m), "min(n, m)");
    assert_text(&b, ctune_loops_mul(l, ctune_aff_add_const(a, i, 2), ctune_aff_add_const(a, n, 3)),
                "3*v.0 + 2*n + n*v.0 + 6");
    /* one form for each set of factors, however they were multiplied */
    const ctune_aff *left = ctune_loops_mul(l, ctune_loops_mul(l, i, n), m);
    const ctune_aff *right = ctune_loops_mul(l, ctune_loops_mul(l, m, i), n);
    const ctune_aff *inner = ctune_loops_mul(l, n, ctune_loops_mul(l, i, m));
    assert_true(ctune_aff_is_equal(left, right) && ctune_aff_is_equal(left, inner));
    int n_atoms = l->n_atoms;
    assert_true(ctune_aff_is_equal(ctune_loops_mul(l, i, n), ctune_loops_mul(l, n, i)));
    assert_int_equal(l->n_atoms, n_atoms);
    /* addresses one apart differ by one */
    ctune_place here = {.id = 1, .n_idx = 2, .idx = {i, j}}, next = here;
    next.idx[1] = ctune_aff_add_const(a, j, 1);
    const ctune_aff *step =
        ctune_aff_sub(a, ctune_loops_linear(l, &next), ctune_loops_linear(l, &here));
    assert_true(ctune_aff_is_const(step) && step->c0 == 1);
    assert_text(&b, ctune_loops_linear(l, &here), "v.1 + m*v.0");
    /* replaced inside atoms */
    const ctune_aff *deep = ctune_loops_min(l, ctune_loops_floor(l, i, 4), n);
    assert_true(ctune_loops_uses(l, deep, b.var[0]) && !ctune_loops_uses(l, deep, b.var[1]));
    assert_text(&b, ctune_loops_subst(l, deep, b.var[0], ctune_aff_scale(a, n, 4)), "n");
    assert_true(ctune_loops_subst(l, deep, b.var[1], n) == deep);
    assert_int_equal(ctune_loops_status(l), CTUNE_OK);
    bench_clear(&b);
}

/* NULL passes, the first failure stays and has words. */
/* A node with a part that is missing would be left out without a message. */
static void test_missing_parts(void **state) {
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        bench b;
        bench_init(&b);
        const ctune_aff *zero = ctune_loops_const(b.l, 0), *none = NULL;
        const ctune_value *one = ctune_value_int(b.l, CTUNE_I32, 1);
        int var = ctune_loops_index_var(b.l, "i");
        assert_null(kind == 0   ? ctune_lnode_store(b.l, &(ctune_place){.id = -1}, one)
                    : kind == 1 ? ctune_lnode_let(b.l, var, NULL)
                    : kind == 2 ? ctune_lnode_for(b.l, var, zero, NULL, 1, CTUNE_LANN_SERIAL)
                    : kind == 3 ? ctune_lnode_if(b.l, &none, 1, NULL)
                    : kind == 4 ? ctune_lnode_set(b.l, var, NULL)
                                : ctune_lnode_decl(b.l, -1));
        assert_int_equal(ctune_loops_status(b.l), CTUNE_EBUG);
        assert_non_null(strstr(b.ctx.error, "missing"));
        bench_clear(&b);
    }
}

static void test_failures(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    const ctune_aff *n = ctune_aff_term(b.l->arena, CTUNE_TERM_PARAM, 0, INT64_MAX);
    assert_null(ctune_loops_floor(b.l, NULL, 4));
    assert_null(ctune_loops_min(b.l, NULL, n));
    assert_null(ctune_loops_mul(b.l, n, NULL));
    assert_null(ctune_loops_subst(b.l, NULL, 0, n));
    assert_null(ctune_value_binary(b.l, CTUNE_V_ADD, NULL, ctune_value_int(b.l, CTUNE_I32, 1)));
    assert_null(ctune_value_splat(b.l, NULL, 4));
    assert_null(ctune_value_var(b.l, -1));
    assert_int_equal(ctune_loops_status(b.l), CTUNE_OK);
    assert_null(ctune_loops_mul(b.l, n, ctune_loops_const(b.l, 2)));
    assert_int_equal(ctune_loops_status(b.l), CTUNE_EREFUSED);
    assert_non_null(strstr(b.ctx.error, "does not fit 64 bits"));
    ctune_loops_fail(b.l, CTUNE_EBUG, "later");
    assert_int_equal(ctune_loops_status(b.l), CTUNE_EREFUSED);
    bench_clear(&b);
}

/* Memory that runs out anywhere is one failure at the end. */
static void test_out_of_memory(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_append(&text, "loops 1\n");
    ctune_text_append(&text, loops_programs()[2]);
    for (uint64_t at = 1; at < 12; at++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctx.alloc_fail_at = at;
        ctune_loops *l = NULL;
        ctune_status status = ctune_loops_parse(&ctx, b.region, ctune_text_get(&text), &l);
        assert_true(status == CTUNE_OK || status == CTUNE_ENOMEM);
        if (status == CTUNE_OK) {
            ctune_loops_destroy(l);
        }
    }
    ctune_text_clear(&text);
    bench_clear(&b);
}

static void test_shared(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    ctune_loops *l = b.l;
    const ctune_aff *i = ctune_loops_var_aff(l, b.var[0], 1, 0);
    ctune_place place = {.id = 1, .n_idx = 2, .idx = {i, ctune_loops_const(l, 3)}}, other = place;
    other.idx[0] = ctune_loops_var_aff(l, b.var[0], 1, 0); /* another pointer */
    const ctune_value *x = ctune_value_load(l, &place, 1), *y = ctune_value_load(l, &other, 1);
    assert_true(x == y && x->type == CTUNE_F32);
    assert_true(ctune_value_load(l, &place, 4) != x);
    assert_true(ctune_value_binary(l, CTUNE_V_ADD, x, y) ==
                ctune_value_binary(l, CTUNE_V_ADD, y, x));
    assert_true(ctune_value_binary(l, CTUNE_V_SUB, x, y) !=
                ctune_value_binary(l, CTUNE_V_ADD, x, y));
    const ctune_value *lt = ctune_value_binary(l, CTUNE_V_LT, x, y);
    assert_true(lt->type == CTUNE_I32 && lt->lanes == 1);
    const ctune_value *wide = ctune_value_splat(l, x, 8);
    assert_true(ctune_value_binary(l, CTUNE_V_LT, wide, wide)->type == CTUNE_I32);
    assert_true(ctune_value_extract(l, wide, 5) == x && ctune_value_splat(l, x, 1) == x);
    assert_true(ctune_value_convert(l, CTUNE_F32, x) == x);
    /* +0 and -0, and texts, are different constants */
    ctune_value zero = {.op = CTUNE_V_CONST, .type = CTUNE_F32, .lanes = 1}, minus = zero;
    minus.f_value = -0.0;
    assert_true(ctune_loops_value(l, &zero) == ctune_value_zero(l, CTUNE_F32));
    assert_true(ctune_loops_value(l, &zero) != ctune_loops_value(l, &minus));
    /* many: the table grows and still finds */
    const ctune_value *many[1000];
    for (int k = 0; k < 1000; k++) {
        many[k] = ctune_value_int(l, CTUNE_I64, k);
    }
    for (int k = 0; k < 1000; k++) {
        assert_true(ctune_value_int(l, CTUNE_I64, k) == many[k]);
    }
    /* replaced: what does not use the variable stays the same node */
    const ctune_value *sum = ctune_value_binary(l, CTUNE_V_ADD, x, ctune_value_zero(l, CTUNE_F32));
    assert_true(ctune_value_subst(l, sum, b.var[1], i) == sum);
    const ctune_value *at7 = ctune_value_subst(l, sum, b.var[0], ctune_loops_const(l, 7));
    assert_int_equal(at7->kids[0]->place.idx[0]->c0, 7);
    assert_true(at7->kids[1] == sum->kids[1]);
    bench_clear(&b);
}

/* Two copies of a body stand in one program: all that is bound inside is fresh. */
static void test_copies(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_loops *l = loops_parsed(region, "for i.0 from 0 below 2 {\n"
                                          "    let a.1 = 2*i.0\n"
                                          "    decl b.b0[4] i32 block\n"
                                          "    def s.2 i32 mutable = K[a.1]\n"
                                          "    for j.3 from 0 below 4 {\n"
                                          "        store b.b0[j.3] = i32{j.3 + a.1}\n"
                                          "        set s.2 = s.2 + b.b0[j.3]\n"
                                          "    }\n"
                                          "    \"last\"\n"
                                          "    if a.1 - 1 >= 0; s.2 > 0 {\n"
                                          "        store K[i.0] = s.2\n"
                                          "    } else {\n"
                                          "        store K[i.0 + 4] = s.2 - i32{floor(i.0 / 2)}\n"
                                          "    }\n"
                                          "}\n");
    ctune_lnode *loop = l->root->first;
    ctune_lnode *root = ctune_lnode_new(l, CTUNE_L_SEQ);
    for (int k = 0; k < 2; k++) {
        ctune_lnode *whole = ctune_lnode_copy(l, loop, -1, NULL);
        ctune_lnode *body = ctune_lnode_new(l, CTUNE_L_SEQ);
        body->first = whole->first;
        body->last = whole->last;
        ctune_lnode_append(root, ctune_lnode_copy(l, body, whole->var, ctune_loops_const(l, k)));
    }
    int K[64], want[64];
    for (int i = 0; i < 64; i++) {
        K[i] = want[i] = i - 1;
    }
    int64_t params[] = {64, 48};
    void *tensors[16] = {NULL};
    size_t bytes[16] = {0};
    tensors[6] = want;
    bytes[6] = sizeof want;
    assert_int_equal(ctune_loops_verify(&ctx, l), CTUNE_OK);
    assert_int_equal(ctune_loops_eval(&ctx, l, params, tensors, bytes), CTUNE_OK);
    l->root = root; /* both iterations as copies */
    if (ctune_loops_verify(&ctx, l) != CTUNE_OK) {
        print_error("%s\n", ctx.error);
        fail();
    }
    tensors[6] = K;
    assert_int_equal(ctune_loops_eval(&ctx, l, params, tensors, bytes), CTUNE_OK);
    assert_memory_equal(K, want, sizeof K);
    ctune_text text;
    ctune_text_init(&text);
    ctune_loops_print(l, &text);
    assert_non_null(strstr(ctune_text_get(&text), "\"last\""));
    assert_null(strstr(ctune_text_get(&text), "i.0"));
    ctune_text_clear(&text);
    ctune_loops_destroy(l);
    ctune_region_destroy(region);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_forms),  cmocka_unit_test(test_simplified),
        cmocka_unit_test(test_failures),      cmocka_unit_test(test_missing_parts),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_shared),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

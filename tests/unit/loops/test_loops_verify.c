/* The verifier of programs: a planted fault of every kind is found, and said. */
#include "loops_samples.h"

static int n_failed;

static void expect(const ctune_loops *l, const char *words, const char *text) {
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_status status = ctune_loops_verify(&ctx, l);
    if (status != (words != NULL ? CTUNE_EBUG : CTUNE_OK) ||
        (words != NULL && strstr(ctx.error, words) == NULL)) {
        print_error("%s: %s instead of %s\n", text, status != CTUNE_OK ? ctx.error : "whole",
                    words != NULL ? words : "whole");
        n_failed++;
    }
}

static const struct {
    const char *text, *words;
} rows[] = {
    /* scopes */
    {"for i.0 from 0 below n {\n}\nstore K[i.0] = 1\n", "i is used outside its scope in a store"},
    {"for i.0 from i.0 below n {\n}\n", "i is used outside its scope in a loop's lower bound"},
    {"for i.0 from 0 below n {\n}\nfor i.0 from 0 below n {\n}\n", "i is bound twice"},
    {"let a.0 = 1\nlet a.0 = 2\n", "a is bound twice"},
    {"let a.0 = a.0\n", "a is used outside its scope in a let"},
    {"seq {\n    let a.0 = n\n}\nlet b.1 = floor(a.0 / 3)\n", "a is used outside its scope"},
    {"if n >= 0 {\n    def x.0 i32 = 1\n} else {\n    store K[0] = x.0\n}\n",
     "x is used outside its scope"},
    {"seq {\n    def x.0 i32 mutable = 1\n}\nset x.0 = 2\n", "x is set outside its scope"},
    {"seq {\n    decl b.b0[4] f32 block\n}\nstore b.b0[0] = alpha\n",
     "buffer b is used outside its scope"},
    {"decl b.b0[4] f32 block\ndecl b.b0[4] f32 block\n", "b is declared twice"},
    {"def x.0 i32 = 1\nlet a.1 = x.0\n", "uses the value variable x as an index"},
    {"let a.0 = n\nstore K[0] = a.0\n", "the index variable a is used as a value"},
    /* variables */
    {"def x.0 i32 = 1\nset x.0 = 2\n", "x is set and not mutable"},
    {"def x.0 i32 mutable\n", NULL},
    {"def x.0 i32\n", "x has no value"},
    {"def x.0 i32 = alpha\n", "x, i32 of 1 lanes, gets f32 of 1"},
    {"def x.0 f32x4 = splat(alpha, 8)\n", "x, f32 of 4 lanes, gets f32 of 8"},
    {"def x.0 f32x3 mutable\n", "a variable has 3 lanes"},
    {"def x.0 f32x128 mutable\n", "a variable has 128 lanes"},
    {"def x.0 f80x2 mutable\n", "a variable is a vector of f80"},
    {"def x.0 i32 mutable = 1\nfor i.1 from 0 below n simd {\n    set x.0 = 2\n}\n",
     "x is set by iterations that are said to be independent of it"},
    {"for i.1 from 0 below n parallel {\n    def x.0 i32 mutable = 1\n    for j.2 from 0 below n "
     "{\n        set x.0 = 2\n    }\n}\n",
     NULL},
    /* places */
    {"store A[0] = alpha\n", "a store indexes A with 1 of 2 dimensions"},
    {"store K[0] = K[0][0]\n", "a load indexes K with 2 of 1 dimensions"},
    {"store C[0][0] = D[0]\n", "a store of f64 into f32"},
    {"store C[0][0] = D[0]:f32\n", "a load of f32 from f64"},
    {"store A[0][0] = alpha\n", "which the region only reads"},
    {"store t[0] = alpha\n", "a store into the temporary t"},
    {"store u[0] = alpha\n", NULL},
    {"store C[0][0] = u[0]\n", "a load of the temporary u"},
    {"store C[0][0:4] = L[0][0:4]\n", NULL},
    {"store E[0:2] = splat(0.5, 2)\n", "whose elements are not neighbours"},
    {"store D[0:2] = E[0:2]\n", "a load takes 2 lanes of E, whose elements are not neighbours"},
    {"store C[0][0:2] = alpha:f32x2\n", "a load takes 2 lanes of the scalar alpha"},
    {"store H[0:4] = H[0:4]\n", "is a vector of f16"},
    /* loops */
    {"for i.0 from 0 below n step 0 {\n}\n", "loop i has a step below 1"},
    {"for i.0 from 0 below n full {\n}\n", "bounds are not constant"},
    {"for i.0 from n below 8 vector {\n}\n", "bounds are not constant"},
    {"for i.0 from 0 below n unroll 0 {\n}\n", "loop i is unrolled 0 times"},
    {"for i.0 from 0 below n parallel collapse 0 {\n}\n", "parallel loop i collapses 0 loops"},
    {"for i.0 from 0 below n parallel collapse 2 {\n}\n", "not perfectly nested"},
    {"for i.0 from 0 below n parallel collapse 2 {\n    for j.1 from 0 below n {\n    }\n"
     "    store K[0] = 1\n}\n",
     "not perfectly nested"},
    {"for i.0 from 0 below n parallel collapse 2 {\n    for j.1 from 0 below i.0 {\n    }\n}\n",
     "not rectangular"},
    {"for i.0 from 0 below n parallel collapse 2 {\n    for j.1 from floor(i.0 / 2) below n {\n"
     "    }\n}\n",
     "not rectangular"},
    {"for i.0 from 0 below n parallel collapse 2 {\n    for j.1 from 0 below n simd {\n    }\n}\n",
     "has an annotation of its own"},
    /* buffers */
    {"store K[0] = 1\ndecl b.b0[n] f32 program\n", "buffer b of the program is declared outside"},
    {"for i.0 from 0 below n {\n    decl b.b0[n] f32 program\n}\n", "declared outside the setup"},
    {"let a.0 = n + m\ndecl b.b0[a.0] f32 program\nlet c.1 = a.0 + 1\ndecl d.b1[c.1] f32 program\n",
     NULL},
    {"decl b.b0[4] f32 thread\n", "outside the body of a parallel loop"},
    {"for i.0 from 0 below n {\n    decl b.b0[4] f32 thread\n}\n",
     "outside the body of a parallel"},
    {"for i.0 from 0 below n parallel {\n    if n >= 0 {\n        decl b.b0[4] f32 thread\n    "
     "}\n}\n",
     "outside the body of a parallel loop"},
    {"for i.0 from 0 below n parallel collapse 2 {\n    for j.1 from 0 below n {\n"
     "        decl b.b0[n] f32 thread\n    }\n}\n",
     NULL},
    {"for i.0 from 0 below n parallel {\n    for j.1 from 0 below n {\n"
     "        decl b.b0[n] f32 thread\n    }\n}\n",
     "outside the body of a parallel loop"},
    {"for i.0 from 0 below n parallel {\n    decl b.b0[i.0] f32 thread\n}\n",
     "i in a buffer's extent is no variable of the setup"},
    {"for i.0 from 0 below n parallel {\n    let a.1 = n\n    decl b.b0[a.1] f32 thread\n}\n",
     "a in a buffer's extent is no variable of the setup"},
    {"decl b.b0[n] f32 block\n", "block buffer b has an extent that is not constant"},
    {"decl b.b0[4][m] f32 register\n", "register buffer b has an extent that is not constant"},
    {"decl b.b0[0] f32 block\n", "buffer b has an extent below 1"},
    {"decl b.b0[65536][65536] f32 block\n", "too large"},
    /* conditions */
    {"if ; splat(alpha, 4) < splat(alpha, 4) {\n}\n", "the test of a condition is a vector"},
    /* values */
    {"store C[0][0] = alpha + D[0]\n", "an operand of + is f64 and not f32"},
    {"store C[0][0:4] = splat(alpha, 4) * C[0][0]\n", "an operand of * has 1 lanes of 4"},
    {"store C[0][0] = alpha % alpha\n", "% of f32"},
    {"store C[0][0] = ~alpha\n", "~ of f32"},
    {"store C[0][0] = alpha << alpha\n", "<< of f32"},
    {"store K[0] = K[0] << i64(3)\n", NULL},
    {"store K[0:4] = K[0:4] << splat(i64(3), 4)\n", "an operand of << is i64 and not i32"},
    {"store K[0] = fma(K[0], K[0], K[0])\n", "fma of i32"},
    {"store C[0][0] = alpha +% alpha\n", "+ of f32 wraps"},
    {"store Z[0] = Z[0] *% Z[0]\n", "* of u8 wraps"},
    {"store K[0] = alpha < D[0]\n", "< compares f32 of 1 lanes with f64 of 1"},
    {"def x.0 i64x2 = D[0:2] <= D[2:2]\n", NULL},
    {"store K[0] = (D[0] < D[1]):i64\n", "< of f64 yields i64"},
    {"store K[0] = (alpha && alpha):i64\n", "&& does not yield i32"},
    {"store K[0:4] = K[0:4] && K[0:4]\n", "&& has 4 lanes"},
    {"store K[0:4] = !K[0:4]\n", "! has 4 lanes"},
    {"store K[0] = select(K[0], alpha, K[0])\n", "an operand of select is i32 and not f32"},
    {"store K[0] = select(K[0], K[0], alpha)\n", "an operand of select is f32 and not i32"},
    {"store C[0][0:4] = select(K[0], C[0][0:4], C[0][0:4]):f32x4\n", "has 1 lanes of 4"},
    {"store D[0:4] = select(K[0:4], D[0:4], D[0:4])\n", "is i32 and no mask"},
    {"store C[0][0:4] = select(C[0][0:4], C[0][0:4], C[0][0:4])\n", "is f32 and no mask"},
    {"store D[0:4] = ((f64) alpha):f64x4\n", "a conversion of 1 lanes to 4"},
    {"store C[0][0] = call sqrt(alpha)\n", "an operand of call is f32 and not f64"},
    {"store C[0][0] = call launch(alpha):f32\n", "a call of an unknown function launch"},
    {"store C[0][0] = call powf(alpha)\n", "a call of an unknown function powf"},
    {"store C[0][0:4] = call fmodf(C[0][0:4], C[0][0:4])\n", "a call of fmodf in lanes"},
    {"store C[0][0:4] = dot(C[0][0:4], C[0][0:4], C[0][0:4])\n", "dot of f32"},
    {"store C[0][0] = splat(alpha, 1)\n", "splat of one lane"},
    {"store C[0][0:4] = splat(C[0][0:4], 4)\n", "splat of a vector"},
    {"store C[0][0:2] = gather(alpha, alpha, alpha):f32x2\n", "gather of 3 values in 2 lanes"},
    {"store C[0][0:2] = gather(alpha, K[0])\n", "gather of f32 from i32"},
    {"store C[0][0] = extract(C[0][0:4], 4)\n", "extract of lane 4 of 4"},
    {"store C[0][0:4] = slide(C[0][0:4], C[0][0:4], 4)\n", "slide by 4 of 4 lanes"},
    {"store C[0][0:4] = slide(C[0][0:4], C[0][0:4], 0)\n", "slide by 0 of 4 lanes"},
    {"store C[0][0:4] = slide(C[0][0:4], C[0][0:2], 1)\n", "an operand of slide has 2 lanes of 4"},
    {"store C[0][0] = extract(alpha, 0)\n", "extract of lane 0 of 1"},
    {"store K[0] = i32(2147483648)\n", "does not fit i32"},
    {"store C[0][0:4] = 1.0f:f32x4\n", "const has 4 lanes"},
    {"store K[0:4] = i32{n}:i32x4\n", "index has 4 lanes"},
    {"store C[0][0] = bool(1) + bool(1)\n", "+ of bool"},
    /* names */
    {"let n_2 = 1\nlet A = 2\n", "two things are called A"},
    {"let n = 1\n", "two things are called n"},
    {"let a$ = 1\n", NULL},
    {"let if.if = 1\n", "'if.if' is no identifier"},
};

static void test_faults(void **state) {
    (void)state;
    ctune_region *region = loops_region();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctune_loops *l = loops_parsed(region, rows[i].text);
        expect(l, rows[i].words, rows[i].text);
        ctune_loops_destroy(l);
    }
    ctune_region_destroy(region);
    assert_int_equal(n_failed, 0);
}

/* What text cannot say: a gemm is broken in its structure, one way a time. */
typedef void (*breaker)(ctune_loops *l);

static ctune_lnode *innermost(ctune_loops *l) {
    return l->root->first->first->first;
}

static void break_atom_order(ctune_loops *l) {
    const ctune_aff *n = ctune_aff_term(l->arena, CTUNE_TERM_PARAM, 0, 1);
    (void)ctune_loops_floor(l, n, 3);
    (void)ctune_loops_floor(l, ctune_loops_floor(l, n, 3), 2);
    l->atom[0].a = ctune_aff_term(l->arena, CTUNE_TERM_DIV, 1, 1);
}
static void break_atom_den(ctune_loops *l) {
    (void)ctune_loops_floor(l, ctune_aff_term(l->arena, CTUNE_TERM_PARAM, 0, 1), 3);
    l->atom[0].den = 0;
}
static void break_atom_factor(ctune_loops *l) {
    const ctune_aff *n = ctune_aff_term(l->arena, CTUNE_TERM_PARAM, 0, 1);
    (void)ctune_loops_mul(l, n, n);
    l->atom[0].a = ctune_aff_add_const(l->arena, n, 1);
}
static void break_form_zero(ctune_loops *l) {
    ctune_term *term = CTUNE_NEW(l->arena, ctune_term);
    ctune_aff *aff = CTUNE_NEW(l->arena, ctune_aff);
    *aff = (ctune_aff){0, 1, term};
    *term = (ctune_term){CTUNE_TERM_PARAM, 0, 0};
    innermost(l)->hi = aff;
}
static void break_form_id(ctune_loops *l) {
    innermost(l)->hi = ctune_aff_term(l->arena, CTUNE_TERM_PARAM, 99, 1);
}
static void break_form_order(ctune_loops *l) {
    ctune_term *terms = CTUNE_NEW_ARRAY(l->arena, ctune_term, 2);
    ctune_aff *aff = CTUNE_NEW(l->arena, ctune_aff);
    *aff = (ctune_aff){0, 2, terms};
    terms[0] = (ctune_term){CTUNE_TERM_PARAM, 1, 1};
    terms[1] = (ctune_term){CTUNE_TERM_PARAM, 0, 1};
    innermost(l)->hi = aff;
}
static void break_form(ctune_loops *l) {
    innermost(l)->lo = NULL;
}
static void break_last(ctune_loops *l) {
    innermost(l)->last = innermost(l);
}
static void break_kind(ctune_loops *l) {
    innermost(l)->first->kind = CTUNE_N_LNODE_KINDS;
}
static void break_kids(ctune_loops *l) {
    innermost(l)->kind = CTUNE_L_STORE;
}
static void break_arms(ctune_loops *l) {
    innermost(l)->other = ctune_lnode_new(l, CTUNE_L_SEQ);
}
static void break_other(ctune_loops *l) {
    ctune_lnode *n = ctune_lnode_if(l, NULL, 0, NULL);
    n->other = ctune_lnode_for(l, 0, ctune_loops_const(l, 0), ctune_loops_const(l, 1), 1,
                               CTUNE_LANN_SERIAL);
    ctune_lnode_append(l->root, n);
}
static void break_value(ctune_loops *l) {
    innermost(l)->first->value = NULL;
}
static void break_arity(ctune_loops *l) {
    ctune_value *v = CTUNE_NEW(l->arena, ctune_value);
    *v = *innermost(l)->first->value;
    v->n_kids = 2;
    innermost(l)->first->value = v;
}
static void break_op(ctune_loops *l) {
    ctune_value *v = CTUNE_NEW(l->arena, ctune_value);
    *v = *innermost(l)->first->value;
    v->op = CTUNE_N_VALUE_OPS;
    innermost(l)->first->value = v;
}
static void break_place(ctune_loops *l) {
    innermost(l)->first->place.id = 99;
}
static void break_root(ctune_loops *l) {
    l->root = l->root->first;
}
static void break_index_var(ctune_loops *l) {
    innermost(l)->var = ctune_loops_value_var(l, "x", CTUNE_I32, 1, false);
}
static void break_name(ctune_loops *l) {
    l->var[0].name = l->var[1].name = "i";
}
static void break_word(ctune_loops *l) {
    l->var[0].name = "1st";
}
static void break_hint(ctune_loops *l) {
    l->var[0].hint = "a b";
}
static void break_ann(ctune_loops *l) {
    innermost(l)->ann = CTUNE_N_LANNS;
}
static void break_status(ctune_loops *l) {
    ctune_loops_fail(l, CTUNE_EREFUSED, "no");
}

static void test_structure(void **state) {
    (void)state;
    static const struct {
        breaker fn;
        const char *words;
    } faults[] = {
        {break_atom_order, "a form in an atom names something that does not exist"},
        {break_atom_den, "a denominator below 1"},
        {break_atom_factor, "a factor that is not bare"},
        {break_form_zero, "a zero coefficient in a loop's upper bound"},
        {break_form_id, "names something that does not exist"},
        {break_form_order, "terms out of order"},
        {break_form, "a missing form in a loop's lower bound"},
        {break_last, "a block does not know its last node"},
        {break_kind, "a node has no kind"},
        {break_kids, "a statement has kids"},
        {break_arms, "two arms"},
        {break_other, "the other arm of a condition is no single sequence"},
        {break_value, "a store has no value"},
        {break_arity, "fma has 2 operands"},
        {break_op, "a broken value"},
        {break_place, "a tensor or buffer that does not exist"},
        {break_root, "the root is no sequence"},
        {break_index_var, "a loop binds x, which is a value variable"},
        {break_name, "two things are called i"},
        {break_word, "'1st' is no identifier"},
        {break_hint, "variable 0 has no proper hint"},
        {break_ann, "has a broken annotation"},
        {break_status, "a failed program"},
    };
    ctune_region *region = loops_region();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        ctune_loops *l = loops_parsed(region, loops_programs()[1]);
        expect(l, NULL, "gemm");
        faults[i].fn(l);
        expect(l, faults[i].words, faults[i].words);
        ctune_text text; /* a broken program prints */
        ctune_text_init(&text);
        ctune_loops_print(l, &text);
        assert_true(text.len > 0);
        ctune_text_clear(&text);
        ctune_loops_destroy(l);
    }
    ctune_region_destroy(region);
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_structure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

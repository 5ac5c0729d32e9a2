/* Names: hostile hints, hostile regions. */
#include "tests/unit/passes/passes_fixture.h"

/* A source that already uses what an emitter likes to call its own. */
static const char hostile[] =
    "te 1\n"
    "region tile at \"x.c\":1\n"
    "param n i32 sizes 8 text \"s->acc\"\n"
    "axis k i32 counter \"kk\"\n"
    "tensor v0 f32 [n] pattern \"lane[$0].packed\" base \"&lane[0].packed\" stride 8\n"
    "tensor acc_0 f32 [n]\n"
    "stage S0: acc_0[k] = v0[k] ; text \"acc_0[k] = v0[k] + macro_word;\"\n"
    "order {\n"
    "    for k: 0 <= k < n {\n"
    "        S0\n"
    "    }\n"
    "}\n";

static void open_hostile(fixture *f) {
    fixture_open(f, hostile);
}

/* Programs of one DEF for each hint. */
static void define(fixture *f, const char *const *hints, int n) {
    for (int i = 0; i < n; i++) {
        int var = ctune_loops_value_var(f->l, hints[i], CTUNE_F32, 1, false);
        ctune_lnode_append(f->l->root,
                           ctune_lnode_def(f->l, var, ctune_value_zero(f->l, CTUNE_F32)));
    }
}

static void name(fixture *f, const char *const *reserved, int n_reserved) {
    ctune_pass_options options = {.target = &(const ctune_target){.vector_bytes = 64},
                                  .reserved = reserved,
                                  .n_reserved = n_reserved};
    if (ctune_pass_name(f->l, &options) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static void test_hostile_hints(void **state) {
    (void)state;
    static const char *const hints[] = {"acc",
                                        "acc_0",
                                        "acc_0_2",
                                        "tile",
                                        "v0",
                                        "int",
                                        "restrict",
                                        "typeof",
                                        "main",
                                        "errno",
                                        "asm",
                                        "inline",
                                        "auto",
                                        "class",
                                        "template",
                                        "n",
                                        "k",
                                        "kk",
                                        "lane",
                                        "packed",
                                        "macro_word",
                                        "sqrtf",
                                        "mine",
                                        "theirs",
                                        "NULL",
                                        "I",
                                        "linux",
                                        "_Bool",
                                        "__builtin_fma",
                                        "ctune_max",
                                        "2fast",
                                        "",
                                        "a.b",
                                        "s",
                                        "x",
                                        "x",
                                        "x_2",
                                        "x",
                                        "threadIdx",
                                        "bool",
                                        "nullptr",
                                        "static_assert",
                                        "min"};
    static const char *const reserved[] = {"mine", "theirs other"};
    enum { N = sizeof hints / sizeof hints[0] };
    fixture f;
    open_hostile(&f);
    define(&f, hints, N);
    int call = ctune_loops_value_var(f.l, "r", CTUNE_F32, 1, false);
    val arg = ctune_value_zero(f.l, CTUNE_F32);
    ctune_lnode_append(f.l->root,
                       ctune_lnode_def(f.l, call,
                                       ctune_loops_value(f.l, &(ctune_value){.op = CTUNE_V_CALL,
                                                                             .type = CTUNE_F32,
                                                                             .lanes = 1,
                                                                             .n_kids = 1,
                                                                             .kids = &arg,
                                                                             .text = "sqrtf"})));
    name(&f, reserved, 2);
    static const char *const taken[] = {"int",        "restrict",  "typeof",  "main",
                                        "errno",      "asm",       "inline",  "auto",
                                        "class",      "n",         "k",       "kk",
                                        "lane",       "v0",        "acc_0",   "tile",
                                        "packed",     "acc",       "s",       "sqrtf",
                                        "mine",       "theirs",    "other",   "NULL",
                                        "I",          "linux",     "bool",    "template",
                                        "macro_word", "threadIdx", "nullptr", "static_assert",
                                        "min"};
    for (int i = 0; i < f.l->n_vars; i++) {
        const char *got = f.l->var[i].name;
        assert_non_null(got);
        assert_true(got[0] != '_' && (got[0] < '0' || got[0] > '9'));
        assert_int_equal(
            strspn(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
            strlen(got));
        assert_true(strncmp(got, "ctune_", 6) != 0);
        for (size_t t = 0; t < sizeof taken / sizeof taken[0]; t++) {
            assert_string_not_equal(got, taken[t]);
        }
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(got, f.l->var[j].name);
        }
    }
    fixture_close(&f);
}

static void test_good_names(void **state) {
    (void)state;
    static const char *const hints[] = {"i1", "i1", "acc", "i1_2", "acc", "i1"};
    static const char *const want[] = {"i1", "i1_2", "acc_2", "i1_2_2", "acc_3", "i1_3"};
    for (int again = 0; again < 2; again++) {
        fixture f;
        open_hostile(&f);
        define(&f, hints, 6);
        ctune_loops_value_var(f.l, "unused", CTUNE_F32, 1, false);
        name(&f, NULL, 0);
        for (int i = 0; i < 6; i++) {
            assert_string_equal(f.l->var[i].name, want[i]);
        }
        assert_null(f.l->var[6].name); /* what the program does not bind needs no name */
        name(&f, NULL, 0);             /* a second time gives the same */
        assert_string_equal(f.l->var[5].name, want[5]);
        fixture_close(&f);
    }
}

/* The list that extraction gives to all regions of a file. */
static void test_region_list(void **state) {
    (void)state;
    static const char *const hints[] = {"i1", "row", "row_3", "row", "col"};
    static const char *const listed[] = {"a", "i1", "i1_2", "row", "row_2", "row_4"};
    static const char *const want[] = {"i1_3", "row_3", "row_3_2", "row_5", "col"};
    fixture f;
    open_hostile(&f);
    f.region->reserved = listed;
    f.region->n_reserved = 6;
    define(&f, hints, 5);
    name(&f, NULL, 0);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(f.l->var[i].name, want[i]);
    }
    fixture_close(&f);
}

static void test_many(void **state) {
    (void)state;
    enum { N = 3000 };
    const char **hints = malloc(N * sizeof *hints);
    for (int i = 0; i < N; i++) {
        hints[i] = "t";
    }
    fixture f;
    open_hostile(&f);
    define(&f, hints, N);
    name(&f, NULL, 0);
    assert_string_equal(f.l->var[0].name, "t");
    assert_string_equal(f.l->var[N - 1].name, "t_3000");
    if (ctune_loops_verify(&f.ctx, f.l) != CTUNE_OK) {
        fail_msg("%s", f.ctx.error);
    }
    free(hints);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_hints),
        cmocka_unit_test(test_good_names),
        cmocka_unit_test(test_region_list),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

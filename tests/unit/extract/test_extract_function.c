/*
 * What a caller is told about the function around a region: arguments, locals, and why it may not
 * be called by itself.
 */
#include "fixture.h"

static const struct {
    const char *code;
    const char *want; /* "arg:type* local ... | obstacle" */
} rows[] = {
    {"void f(int n, float *x) { for (int i = 0; i < 3; i++) { }TUNE;for (int i = 0; i < n; i++) "
     "x[i] = 1; }",
     "n:i32 x:* -> - locals i i | -"},
    {"double f(unsigned long n, float a[n][n], double s) {TUNE;for (unsigned long i = 0; i < n; "
     "i++) a[i][0] = 1; return s; }",
     "n:u64 a:* s:f64 -> f64 locals i | -"},
    {"typedef struct { int n; } s_t; void f(s_t s, float *x) {TUNE;for (int i = 0; i < 4; i++) "
     "x[i] = 1; }",
     "s:? x:* -> - locals i | -"},
    {"float x[9]; int main(void) {TUNE;for (int i = 0; i < 4; i++) x[i] = 1; }",
     "-> i32 locals i | it is the whole program"},
    {"float x[9]; void g(void); void f(void) { g();TUNE;for (int i = 0; i < 4; i++) x[i] = 1; }",
     "-> - locals i | it calls g()"},
    {"float x[9]; void g(void); static void h(void) { g(); } void f(void) { h();TUNE;for (int i = "
     "0; i < 4; i++) x[i] = 1; }",
     "-> - locals i | it calls g()"},
    {"float x[9]; static int h(int a) { int inner = a; return inner > 0 ? h(a - 1) : 0; } void "
     "f(void) { h(3);TUNE;for (int i = 0; i < 4; i++) x[i] = 1; }",
     "-> - locals i | it calls h()"}, /* recursion is not looked into for ever */
    {"float x[9]; float sqrtf(float); int printf(const char *, ...); static float h(float a) { "
     "return sqrtf(a); } void f(void) { printf(\"%g\", h(2));TUNE;for (int i = 0; i < 4; i++) x[i] "
     "= 1; }",
     "-> - locals i | -"},
    {"float x[9]; void (*p)(void); void f(void) { p();TUNE;for (int i = 0; i < 4; i++) x[i] = 1; }",
     "-> - locals i | it calls through a pointer"},
    {"float x[9]; void f(void) { __asm__(\"nop\");TUNE;for (int i = 0; i < 4; i++) x[i] = 1; }",
     "-> - locals i | it has assembly in it"},
    {"float x[9]; void f(int n, ...) {TUNE;for (int i = 0; i < n; i++) x[i] = 1; }",
     "n:i32 -> - locals i | it takes variable arguments"},
};

static void describe(const ctune_unit_function *f, ctune_text *out) {
    for (int i = 0; i < f->n_args; i++) {
        const ctune_unit_arg *a = &f->args[i];
        ctune_text_printf(out, "%s:%s ", a->name,
                          a->is_pointer              ? "*"
                          : a->type == CTUNE_N_TYPES ? "?"
                                                     : ctune_type_get(a->type)->name);
    }
    ctune_text_printf(out, "-> %s locals",
                      f->returns == CTUNE_N_TYPES ? "-" : ctune_type_get(f->returns)->name);
    for (int i = 0; i < f->n_locals; i++) {
        ctune_text_printf(out, " %s", f->locals[i]);
    }
    ctune_text_printf(out, " | %s", f->obstacle != NULL ? f->obstacle : "-");
}

static void tells_callers(void **state) {
    (void)state;
    static const char *const flags[] = {"-O2"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctune_ctx ctx;
        ctune_ctx_init(&ctx);
        ctune_unit *unit = NULL;
        char *code = expand(rows[i].code);
        assert_int_equal(ctune_extract(&ctx, "f.c", code, 1, flags, &unit), CTUNE_OK);
        if (unit->n_regions != 1 || unit->regions[0].region == NULL) {
            fail_msg("row %zu has no region", i);
        }
        ctune_text text;
        ctune_text_init(&text);
        describe(&unit->regions[0].caller, &text);
        if (strcmp(ctune_text_get(&text), rows[i].want) != 0) {
            fail_msg("row %zu: %s", i, ctune_text_get(&text));
        }
        ctune_text_clear(&text);
        ctune_unit_destroy(unit);
        free(code);
    }
}

int main(void) {
    (void)extract_answer;
    (void)answer_diag;
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells_callers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

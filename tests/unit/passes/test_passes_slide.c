/*
 * Loops that slide: random stencils in one and two dimensions, widths, and sizes from none to some
 * vectors, after each pass against the program as it was. The interpreter checks every access, so a
 * grid that reaches beyond what the loop reads fails here.
 */
#include "runtime/rng.h"
#include "tests/unit/passes/passes_fixture.h"

enum { N_PROGRAMS = 150, MOST = 70, REACH = 12, MAX_READS = 7 };

static const char region[] = "te 1\n"
                             "region r\n"
                             "param n i32 sizes 64\n"
                             "axis i i32\n"
                             "tensor a f64 [3][n]\n"
                             "tensor b f64 [n]\n"
                             "tensor x f32 [n]\n"
                             "tensor y f32 [n]\n"
                             "tensor c f64 [2][n]\n"
                             "stage S0: b[i] = a[0][i] + a[1][i] + a[2][i]\n"
                             "stage S1: y[i] = x[i]\n"
                             "stage S2: c[1][i] = c[0][i]\n"
                             "order {\n"
                             "    for i: 0 <= i < n {\n"
                             "        S0\n        S1\n        S2\n"
                             "    }\n"
                             "}\n";

typedef struct memory {
    double a[3 * MOST], b[MOST];
    float x[MOST], y[MOST];
    double c[2 * MOST];
} memory;

static void memory_fill(memory *m, int n, uint64_t seed) {
    ctune_rng rng;
    ctune_rng_init(&rng, seed);
    memset(m, 0, sizeof *m);
    for (int k = 0; k < 3 * n; k++) {
        m->a[k] = (double)ctune_rng_below(&rng, 100);
    }
    for (int k = 0; k < 2 * n; k++) {
        m->c[k] = (double)ctune_rng_below(&rng, 100);
    }
    for (int k = 0; k < n; k++) {
        m->b[k] = (double)ctune_rng_below(&rng, 100);
        m->x[k] = (float)ctune_rng_below(&rng, 100);
    }
}

static void eval(fixture *f, memory *m, int n, const char *when) {
    int64_t params[] = {n};
    size_t un = (size_t)n;
    void *data[] = {m->a, m->b, m->x, m->y, m->c};
    size_t bytes[] = {un * 3 * sizeof *m->a, un * sizeof *m->b, un * sizeof *m->x,
                      un * sizeof *m->y, un * 2 * sizeof *m->c};
    if (ctune_loops_eval(&f->ctx, f->l, params, data, bytes) != CTUNE_OK) {
        fail_msg("%s, n = %d: %s", when, n, f->ctx.error);
    }
}

/* One loop: b from the rows of a, y from x, or a row of c from another one: of what the loop writes
 * nothing is kept. */
static void make_text(ctune_rng *rng, ctune_text *out) {
    int kind = (int)ctune_rng_below(rng, 4);
    int first = 1 + (int)ctune_rng_below(rng, REACH + 10);
    int last = 1 + (int)ctune_rng_below(rng, REACH);
    int n_reads = 1 + (int)ctune_rng_below(rng, MAX_READS);
    bool is_moved = ctune_rng_below(rng, 2); /* the rows' grid starts anywhere */
    const char *i = is_moved ? "i.0 - n" : "i.0", *n = is_moved ? "n + " : "";
    ctune_text_printf(out, "loops 1\nfor i.0 from %s%d below %sn - %d slide {\n    ", n, first, n,
                      last);
    if (kind == 3) { /* a value of its own between the two */
        ctune_text_printf(out, "def t.1 f64 = a[2][%s - 1] * a[2][%s + 1]\n    ", i, i);
    }
    ctune_text_printf(out,
                      kind == 0   ? "store y[%s] = x[%s]"
                      : kind == 1 ? "store c[1][%s] = c[0][%s]"
                      : kind == 3 ? "store b[%s] = t.1"
                                  : "store b[%s] = b[%s]",
                      i, i);
    for (int k = 0; k < n_reads; k++) {
        int at = (int)ctune_rng_below(rng, 2 * REACH + 1) - REACH;
        at = ctune_rng_below(rng, 2) ? at % 3 : at;
        at = at < -first ? -first : at > last ? last : at; /* all that is there, and no more */
        char place[48];
        const char *name = kind == 0   ? "x"
                           : kind == 1 ? "c[0]"
                                       : (const char *[]){"a[0]", "a[1]", "a[2]"}[k % 3];
        snprintf(place, sizeof place, "%s[%s %c %d]", name, i, at < 0 ? '-' : '+', abs(at));
        if (ctune_rng_below(rng, 6) == 0) { /* not in all iterations */
            ctune_text_printf(out, " + select(%s[%s] > %s, %s, 0%s)", name, i,
                              kind == 0 ? "9.0f" : "9.0", place, kind == 0 ? ".0f" : ".0");
        } else {
            ctune_text_printf(out, " %c %s", ctune_rng_below(rng, 2) ? '+' : '*', place);
        }
    }
    ctune_text_append(out, "\n}\n");
}

typedef struct watch {
    fixture *f;
    uint64_t seed;
    const char *text;
    bool has_carried; /* some value was made of two vectors' lanes */
} watch;

static void check(void *data, const char *pass, const ctune_loops *loops) {
    watch *w = data;
    if (ctune_loops_verify(&w->f->ctx, loops) != CTUNE_OK) {
        fail_msg("seed %llu after %s: %s\n%s", (unsigned long long)w->seed, pass, w->f->ctx.error,
                 w->text);
    }
    for (int lanes = 2; lanes <= 16; lanes *= 2) {
        w->has_carried |= count_values(loops->root, CTUNE_V_SLIDE, lanes) > 0;
    }
    for (int n = 0; n <= MOST; n += n < 24 ? 6 : 1) {
        memory got, want;
        fixture plain = *w->f;
        memory_fill(&got, n, w->seed);
        want = got;
        assert_int_equal(ctune_loops_parse(&w->f->ctx, w->f->region, w->text, &plain.l), CTUNE_OK);
        eval(&plain, &want, n, w->text);
        ctune_loops_destroy(plain.l);
        eval(w->f, &got, n, w->text);
        if (memcmp(&got, &want, sizeof got) != 0) {
            fail_msg("seed %llu after %s, n = %d: other values\n%s", (unsigned long long)w->seed,
                     pass, n, w->text);
        }
    }
}

static void test_random(void **state) {
    (void)state;
    static const int widths[] = {16, 32, 64};
    int n_carried = 0;
    for (uint64_t seed = 1; seed <= N_PROGRAMS; seed++) {
        ctune_rng rng;
        ctune_text text;
        fixture f;
        ctune_rng_init(&rng, seed);
        ctune_text_init(&text);
        make_text(&rng, &text);
        fixture_open(&f, region);
        ctune_loops_destroy(f.l);
        if (ctune_loops_parse(&f.ctx, f.region, ctune_text_get(&text), &f.l) != CTUNE_OK ||
            ctune_loops_verify(&f.ctx, f.l) != CTUNE_OK) {
            fail_msg("%s\n%s", f.ctx.error, ctune_text_get(&text));
        }
        watch w = {&f, seed, ctune_text_get(&text), false};
        ctune_pass_options options = {
            .target = &(const ctune_target){.vector_bytes = widths[seed % 3], .n_vector_regs = 16}};
        assert_int_equal(ctune_passes_run(f.l, &options, check, &w), CTUNE_OK);
        n_carried += w.has_carried;
        fixture_close(&f);
        ctune_text_clear(&text);
    }
    if (n_carried < N_PROGRAMS / 3) {
        fail_msg("only %d programs kept a vector", n_carried);
    }
}

/* No registers to keep a row in: all loads stay. */
static void test_few_registers(void **state) {
    (void)state;
    for (int n_regs = 0; n_regs <= 4; n_regs += 4) {
        fixture f;
        fixture_open(&f, region);
        ctune_loops_destroy(f.l);
        assert_int_equal(ctune_loops_parse(&f.ctx, f.region,
                                           "loops 1\nfor i.0 from 1 below n - 1 slide {\n"
                                           "    store b[i.0] = a[0][i.0 - 1] + a[0][i.0 + 1]\n}\n",
                                           &f.l),
                         CTUNE_OK);
        ctune_pass_options options = {
            .target = &(const ctune_target){.vector_bytes = 32, .n_vector_regs = n_regs}};
        assert_int_equal(ctune_passes_run(f.l, &options, NULL, NULL), CTUNE_OK);
        assert_int_equal(count_values(f.l->root, CTUNE_V_SLIDE, 4) > 0, n_regs == 4);
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_few_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

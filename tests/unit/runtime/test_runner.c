/*
 * The runner with hand-written candidates: right, wrong, crashing, hanging, greedy, declining,
 * malformed; each must cost exactly one candidate. Run with every compiler that is installed.
 */
#include "runtime/run_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prelude[] =
    "#include <stdlib.h>\n#include <string.h>\n"
    "typedef struct ctune_args { const long *params; void *const *tensors; } ctune_args;\n"
    "#define ARGS(n, x, y) long n = a->params[0]; const float *x = a->tensors[0]; (void)x;"
    " float *y = a->tensors[1]; (void)y; (void)n\n";

/* y[i] += 3 * x[i], n elements. One row a candidate: what it does, its name, its body, what is
 * expected. */
static const struct {
    const char *name, *body;
    ctune_run_outcome outcome;
    const char *detail; /* part of result.detail, NULL: anything */
} rows[] = {
    {"right", "for (long i = 0; i < n; i++) y[i] += 3 * x[i];", CTUNE_RUN_OK, NULL},
    {"wrong", "for (long i = 0; i < n; i++) y[i] += 3 * x[i] + (i == 17);", CTUNE_RUN_WRONG,
     "tensor 1 element [17]"},
    {"null", "*(volatile int *)0 = 1;", CTUNE_RUN_CRASH, "SIGSEGV: null pointer"},
    {"right2", "for (long i = n - 1; i >= 0; i--) y[i] += 3 * x[i];", CTUNE_RUN_OK, NULL},
    {"past_end", "for (long i = 0; i < n; i++) y[i] += 3 * x[i]; ((volatile float *)y)[n] = 1;",
     CTUNE_RUN_WRONG, "tensor 1: store 0 bytes past its end"},
    {"before", "for (long i = 0; i < n; i++) y[i] += 3 * x[i]; ((volatile float *)y)[-1] = 1;",
     CTUNE_RUN_WRONG, "tensor 1: store"},
    {"far_past", "for (long i = 0; i < n + 16; i++) y[i] += 3 * x[i % n];", CTUNE_RUN_CRASH,
     "past the end of tensor 1"},
    {"far_read",
     "float s = 0; for (long i = 0; i < n + 16; i++) s += ((volatile float *)x)[i];"
     " y[0] = s;",
     CTUNE_RUN_CRASH, "past the end of tensor 0"},
    {"into_input", "((volatile float *)x)[3] = 1;", CTUNE_RUN_CRASH, "read-only tensor 0"},
    {"hang", "for (volatile int k = 1; k != 0; ) {}", CTUNE_RUN_TIMEOUT, "time limit"},
    {"greedy", "for (;;) *(volatile char *)malloc(1 << 26) = 1;", CTUNE_RUN_MEMORY, NULL},
    {"huge", "void *volatile p = malloc((size_t)1 << 45); if (p == NULL) return 1; free(p);",
     CTUNE_RUN_DECLINED, NULL},
    {"decline", "return 1;", CTUNE_RUN_DECLINED, "returned 1"},
    {"decline_late", "y[0] = 7; return 1;", CTUNE_RUN_WRONG, "after it had written"},
    {"aborts", "abort();", CTUNE_RUN_CRASH, "SIGABRT"},
    {"exits", "exit(0);", CTUNE_RUN_CRASH, "code 0"},
    {"right3", "for (long i = 0; i < n; i += 1) y[i] = y[i] + 3 * x[i];", CTUNE_RUN_OK, NULL},
};
enum { N_ROWS = sizeof rows / sizeof *rows, N_ELEMS = 1003 };

typedef struct fixture {
    ctune_ctx ctx;
    char dir[64];
    ctune_runner *runner;
    char *units[N_ROWS + 1];
    const char *names[N_ROWS + 1];
    int n;
} fixture;

static bool has_compiler(const char *name) {
    char command[128];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

static char *make_unit(const char *name, const char *body) {
    size_t size = strlen(body) + 200;
    char *unit = malloc(size);
    assert_non_null(unit);
    snprintf(unit, size, "static int %s(const ctune_args *a) { ARGS(n, x, y);\n%s\nreturn 0; }\n",
             name, body);
    return unit;
}

static ctune_run_workload vector_workload(void) {
    ctune_run_workload load;
    memset(&load, 0, sizeof load);
    load.n_params = 1;
    load.params[0] = N_ELEMS;
    load.n_tensors = 3;
    for (int i = 0; i < 2; i++) {
        load.tensor[i] = (ctune_run_tensor){.type = "f32",
                                            .elem_bytes = 4,
                                            .stride_bytes = 4,
                                            .rank = 1,
                                            .extent = {N_ELEMS},
                                            .n_elems = N_ELEMS,
                                            .is_written = i == 1};
    }
    load.tensor[2] = (ctune_run_tensor){.type = "f64", .elem_bytes = 8, .stride_bytes = 8};
    load.seed = 7;
    load.time_limit_s = 2; /* what hangs costs this much; a busy machine may be slow */
    load.memory_limit_bytes = (size_t)512 << 20;
    return load;
}

static void set_up(fixture *f, const char *compiler, const ctune_run_workload *load) {
    static const char *const flags[] = {"-O2", "-Werror", "-Wall",
                                        "-MD", "-MF",     "/nonexistent/x.d"};
    ctune_run_compiler how = {compiler, 6, flags};
    memset(f, 0, sizeof *f);
    ctune_ctx_init(&f->ctx);
    snprintf(f->dir, sizeof f->dir, "/tmp/ctune-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(ctune_runner_create(&f->ctx, CTUNE_BUILD_DIR "/ctune-runner", f->dir, &how,
                                         load, &f->runner),
                     CTUNE_OK);
}

static void add(fixture *f, const char *name, const char *body) {
    f->names[f->n] = name;
    f->units[f->n++] = make_unit(name, body);
}

static void start(fixture *f, ctune_run_result *result) {
    char *unit = make_unit("original", rows[0].body);
    ctune_status status =
        ctune_runner_baseline(&f->ctx, f->runner, prelude, unit, "original", result);
    free(unit);
    if (status != CTUNE_OK) {
        fail_msg("baseline: %s", f->ctx.error);
    }
}

/* Everything that the runner wrote is gone. */
static void tear_down(fixture *f) {
    ctune_runner_destroy(f->runner);
    for (int i = 0; i < f->n; i++) {
        free(f->units[i]);
    }
    assert_int_equal(rmdir(f->dir), 0);
}

static void check_row(int i, const ctune_run_result *r) {
    if (r->outcome != rows[i].outcome ||
        (rows[i].detail != NULL && strstr(r->detail, rows[i].detail) == NULL)) {
        fail_msg("%s: %s (%s)", rows[i].name, ctune_run_outcome_name(r->outcome), r->detail);
    }
    if (r->outcome == CTUNE_RUN_OK) {
        assert_true(r->n_samples >= 1);
        assert_true(r->best_ns > 0 && r->median_ns >= r->best_ns);
        assert_true(r->original_ns > 0);
    }
}

static bool is_skipped(int i) {
#ifdef __SANITIZE_ADDRESS__ /* no limit on address space then; its allocator has its own */
    return rows[i].outcome == CTUNE_RUN_MEMORY || strcmp(rows[i].name, "huge") == 0;
#else
    (void)i;
    return false;
#endif
}

static void run_rows(const char *compiler) {
    if (!has_compiler(compiler)) {
        skip();
    }
    fixture f;
    ctune_run_workload load = vector_workload();
    set_up(&f, compiler, &load);
    ctune_run_result base, results[N_ROWS + 1];
    start(&f, &base);
    assert_int_equal(base.outcome, CTUNE_RUN_OK);
    assert_true(base.best_ns > 0 && base.original_ns > 0);
    int row_of[N_ROWS];
    for (int i = 0; i < N_ROWS; i++) {
        if (!is_skipped(i)) {
            row_of[f.n] = i;
            add(&f, rows[i].name, rows[i].body);
        }
    }
    assert_int_equal(
        ctune_runner_submit(&f.ctx, f.runner, prelude, (const char *const *)f.units, f.names, f.n),
        CTUNE_OK);
    if (ctune_runner_collect(&f.ctx, f.runner, 0, results, f.n) != CTUNE_OK) {
        fail_msg("collect: %s", f.ctx.error);
    }
    for (int i = 0; i < f.n; i++) {
        check_row(row_of[i], &results[i]);
    }
    tear_down(&f);
}

static void rows_clang(void **state) {
    (void)state;
    run_rows("clang-19");
}

static void rows_gcc(void **state) {
    (void)state;
    run_rows("gcc");
}

/* A unit that does not compile fails alone. */
static void syntax_error(void **state) {
    (void)state;
    fixture f;
    ctune_run_workload load = vector_workload();
    set_up(&f, "gcc", &load);
    ctune_run_result base, results[4];
    start(&f, &base);
    add(&f, "good1", rows[0].body);
    add(&f, "bad", "int 3x = nonsense(;");
    add(&f, "good2", rows[0].body);
    add(&f, "good3", rows[3].body);
    assert_int_equal(
        ctune_runner_submit(&f.ctx, f.runner, prelude, (const char *const *)f.units, f.names, 4),
        CTUNE_OK);
    assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, 0, results, 4), CTUNE_OK);
    assert_int_equal(results[0].outcome, CTUNE_RUN_OK);
    assert_int_equal(results[1].outcome, CTUNE_RUN_COMPILE);
    assert_true(results[1].detail[0] != '\0');
    assert_int_equal(results[2].outcome, CTUNE_RUN_OK);
    assert_int_equal(results[3].outcome, CTUNE_RUN_OK);
    tear_down(&f);
}

/* Two batches in flight keep their order; a third is refused; hopeless candidates are abandoned. */
static void two_in_flight(void **state) {
    (void)state;
    fixture f;
    ctune_run_workload load = vector_workload();
    set_up(&f, "gcc", &load);
    ctune_run_result base, a[2], b[1];
    start(&f, &base);
    add(&f, "good", rows[0].body);
    add(&f, "slow",
        "for (int k = 0; k < 2000; k++) for (long i = 0; i < n; i++)"
        " ((volatile float *)y)[i] = y[i]; for (long i = 0; i < n; i++) y[i] += 3 * x[i];");
    add(&f, "wrong", rows[1].body);
    const char *const *units = (const char *const *)f.units;
    assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude, units, f.names, 2), CTUNE_OK);
    assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude, units + 2, f.names + 2, 1),
                     CTUNE_OK);
    assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude, units, f.names, 1),
                     CTUNE_EUSAGE);
    assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, base.best_ns, a, 2), CTUNE_OK);
    assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, base.best_ns, b, 1), CTUNE_OK);
    assert_int_equal(a[0].outcome, CTUNE_RUN_OK);
    assert_int_equal(a[1].outcome, CTUNE_RUN_OK);
    assert_true(a[1].abandoned);
    assert_int_equal(b[0].outcome, CTUNE_RUN_WRONG);
    assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, 0, b, 1), CTUNE_EUSAGE);
    /* Destroyed with a batch in flight. */
    assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude, units, f.names, 2), CTUNE_OK);
    tear_down(&f);
}

static void finals(void **state) {
    (void)state;
    fixture f;
    ctune_run_workload load = vector_workload();
    set_up(&f, "gcc", &load);
    ctune_run_result base, results[4];
    start(&f, &base);
    add(&f, "crash", rows[2].body);
    add(&f, "good", rows[0].body);
    add(&f, "bad", "syntax error");
    add(&f, "good2", rows[3].body);
    if (ctune_runner_final(&f.ctx, f.runner, prelude, (const char *const *)f.units, f.names, 4, 7,
                           results) != CTUNE_OK) {
        fail_msg("final: %s", f.ctx.error);
    }
    assert_int_equal(results[0].outcome, CTUNE_RUN_CRASH);
    assert_int_equal(results[1].outcome, CTUNE_RUN_OK);
    assert_int_equal(results[2].outcome, CTUNE_RUN_COMPILE);
    assert_int_equal(results[3].outcome, CTUNE_RUN_OK);
    assert_int_equal(results[1].n_samples, 7);
    assert_true(results[1].original_ns > 0);
    tear_down(&f);
}

/* The original itself can be bad; integer inputs that were 0 are tried again without. */
static void bad_original(void **state) {
    (void)state;
    fixture f;
    ctune_run_workload load = vector_workload();
    set_up(&f, "gcc", &load);
    ctune_run_result result;
    char *unit = make_unit("original", rows[2].body);
    assert_int_equal(ctune_runner_baseline(&f.ctx, f.runner, prelude, unit, "original", &result),
                     CTUNE_OK);
    assert_int_equal(result.outcome, CTUNE_RUN_CRASH);
    const char *name = "original", *text = unit;
    assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude, &text, &name, 1), CTUNE_EUSAGE);
    free(unit);
    tear_down(&f);

    for (int i = 0; i < 2; i++) {
        strcpy(load.tensor[i].type, "i32");
    }
    set_up(&f, "gcc", &load);
    unit = make_unit("original", "int *v = (int *)y; const volatile int *u = (const int *)x;"
                                 " for (long i = 0; i < n; i++) v[i] = 10 / u[i];");
    assert_int_equal(ctune_runner_baseline(&f.ctx, f.runner, prelude, unit, "original", &result),
                     CTUNE_OK);
    assert_int_equal(result.outcome, CTUNE_RUN_OK);
    free(unit);
    tear_down(&f);

    set_up(&f, "no-such-compiler", &load);
    assert_int_equal(ctune_runner_baseline(&f.ctx, f.runner, prelude, "", "original", &result),
                     CTUNE_EENV);
    assert_non_null(strstr(f.ctx.error, "no-such-compiler"));
    tear_down(&f);
}

/* A reordered sum: refused bit for bit, accepted within the bound; a really wrong one is refused by
 * both. */
static void bounded(void **state) {
    (void)state;
    const char *sum = "float s = 0; for (long i = 0; i < n; i++) s += x[i] * x[i]; y[0] = s;";
    const char *back = "float s = 0; for (long i = n - 1; i >= 0; i--) s += x[i] * x[i]; y[0] = s;";
    const char *less = "float s = 0; for (long i = 1; i < n; i++) s += x[i] * x[i]; y[0] = s;";
    for (int is_bounded = 0; is_bounded < 2; is_bounded++) {
        fixture f;
        ctune_run_workload load = vector_workload();
        load.bound_terms = is_bounded ? N_ELEMS : 0;
        set_up(&f, "gcc", &load);
        ctune_run_result results[2];
        char *unit = make_unit("original", sum);
        assert_int_equal(
            ctune_runner_baseline(&f.ctx, f.runner, prelude, unit, "original", results), CTUNE_OK);
        free(unit);
        add(&f, "back", back);
        add(&f, "less", less);
        assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude,
                                             (const char *const *)f.units, f.names, 2),
                         CTUNE_OK);
        assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, 0, results, 2), CTUNE_OK);
        assert_int_equal(results[0].outcome, is_bounded ? CTUNE_RUN_OK : CTUNE_RUN_WRONG);
        assert_int_equal(results[1].outcome, CTUNE_RUN_WRONG);
        tear_down(&f);
    }
}

static void bad_workload(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_run_workload load = vector_workload();
    ctune_run_compiler how = {"gcc", 0, NULL};
    ctune_runner *runner = NULL;
    load.tensor[1].n_elems = INT64_MAX;
    assert_int_equal(ctune_runner_create(&ctx, "x", "/tmp", &how, &load, &runner), CTUNE_EUSAGE);
    load = vector_workload();
    load.n_tensors = CTUNE_RUN_MAX_TENSORS + 1;
    assert_int_equal(ctune_runner_create(&ctx, "x", "/tmp", &how, &load, &runner), CTUNE_EUSAGE);
    ctune_runner_destroy(NULL);
}

/* Large tensors of which little is touched: what the original changes is restored between runs,
 * everything after a candidate that wrote elsewhere. */
static void sparse(void **state) {
    (void)state;
    static const char body[] = "for (long i = 0; i < n; i += 65536) y[i] += 3 * x[i];";
    fixture f;
    ctune_run_workload load = vector_workload();
    load.params[0] = 1 << 20;
    for (int i = 0; i < 2; i++) {
        load.tensor[i].extent[0] = load.tensor[i].n_elems = 1 << 20;
    }
    set_up(&f, "gcc", &load);
    ctune_run_result base, results[5];
    char *unit = make_unit("original", body);
    assert_int_equal(ctune_runner_baseline(&f.ctx, f.runner, prelude, unit, "original", &base),
                     CTUNE_OK);
    free(unit);
    assert_int_equal(base.outcome, CTUNE_RUN_OK);
    add(&f, "right1", body);
    add(&f, "stray", "for (long i = 0; i < n; i += 65536) y[i] += 3 * x[i]; y[300000] += 1;");
    add(&f, "right2", body);
    add(&f, "twice",
        "static int k; for (long i = 0; i < n; i += 65536) y[i] += 3 * x[i];"
        " if (k++ > 0 && y[0] > 6 + 3 * x[0]) abort();");
    add(&f, "right3", body);
    assert_int_equal(
        ctune_runner_submit(&f.ctx, f.runner, prelude, (const char *const *)f.units, f.names, 5),
        CTUNE_OK);
    assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, 0, results, 5), CTUNE_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(results[i].outcome, i == 1 ? CTUNE_RUN_WRONG : CTUNE_RUN_OK);
    }
    assert_non_null(strstr(results[1].detail, "[300000]"));
    tear_down(&f);
}

/* What the deadline does not leave time for is skipped, and measured when there is time again. */
static void deadline(void **state) {
    (void)state;
    fixture f;
    ctune_run_workload load = vector_workload();
    set_up(&f, "gcc", &load);
    ctune_run_result base, results[3];
    start(&f, &base);
    add(&f, "right1", rows[0].body);
    add(&f, "wrong", rows[1].body);
    add(&f, "right2", rows[0].body);
    const char *const *units = (const char *const *)f.units;
    ctune_runner_set_deadline(f.runner, ctune_now_ns() - 1);
    assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude, units, f.names, 3), CTUNE_OK);
    assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, 0, results, 3), CTUNE_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(results[i].outcome, CTUNE_RUN_SKIPPED);
    }
    ctune_runner_set_deadline(f.runner, 0);
    assert_int_equal(ctune_runner_submit(&f.ctx, f.runner, prelude, units, f.names, 1), CTUNE_OK);
    assert_int_equal(ctune_runner_collect(&f.ctx, f.runner, 0, results, 1), CTUNE_OK);
    assert_int_equal(results[0].outcome, CTUNE_RUN_OK);
    tear_down(&f);
}

/* A final that has no time at all is one round; of a verification only what is not optional
 * runs. */
static void late_final(void **state) {
    (void)state;
    fixture f;
    ctune_run_workload load = vector_workload(), loads[2];
    set_up(&f, "gcc", &load);
    ctune_run_result base, results[2], originals[2];
    start(&f, &base);
    add(&f, "right1", rows[0].body);
    add(&f, "right2", rows[3].body);
    const char *const *units = (const char *const *)f.units;
    ctune_runner_set_deadline(f.runner, ctune_now_ns() - 1);
    assert_int_equal(ctune_runner_final(&f.ctx, f.runner, prelude, units, f.names, 2, 25, results),
                     CTUNE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(results[i].outcome, CTUNE_RUN_OK);
        assert_int_equal(results[i].n_samples, 1);
        assert_true(results[i].original_ns > 0);
    }
    loads[0] = loads[1] = load;
    loads[1].is_optional = true;
    assert_int_equal(ctune_runner_verify(&f.ctx, f.runner, prelude, units, f.names, 1, loads, 2,
                                         originals, results),
                     CTUNE_OK);
    assert_int_equal(results[0].outcome, CTUNE_RUN_OK);
    assert_int_equal(originals[1].outcome, CTUNE_RUN_SKIPPED);
    assert_int_equal(results[1].outcome, CTUNE_RUN_SKIPPED);
    tear_down(&f);
}

/* An original that takes too long is given up. */
static void long_original(void **state) {
    (void)state;
    fixture f;
    ctune_run_workload load = vector_workload();
    load.time_limit_s = 60;
    set_up(&f, "gcc", &load);
    ctune_run_result base;
    char *unit = make_unit("original", "for (volatile long k = 0; k < 1000000000000; k++) {}");
    ctune_runner_limit_baseline(f.runner, 0.2);
    assert_int_equal(ctune_runner_baseline(&f.ctx, f.runner, prelude, unit, "original", &base),
                     CTUNE_OK);
    free(unit);
    assert_int_equal(base.outcome, CTUNE_RUN_SKIPPED);
    tear_down(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_clang),   cmocka_unit_test(rows_gcc),
        cmocka_unit_test(syntax_error), cmocka_unit_test(two_in_flight),
        cmocka_unit_test(finals),       cmocka_unit_test(bad_original),
        cmocka_unit_test(bounded),      cmocka_unit_test(bad_workload),
        cmocka_unit_test(sparse),       cmocka_unit_test(deadline),
        cmocka_unit_test(late_final),   cmocka_unit_test(long_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

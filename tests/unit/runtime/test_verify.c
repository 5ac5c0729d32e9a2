/*
 * Verification under many workloads: each hand-written candidate is wrong in one kind of case only,
 * and exactly that case must find it.
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
    "#include <stdint.h>\n#include <stdlib.h>\n"
    "typedef struct ctune_args { const long *params; void *const *tensors; } ctune_args;\n"
    "#define ARGS long n = a->params[0]; const float *x = a->tensors[0]; float *y = a->tensors[1];"
    " const int *u = a->tensors[2]; int *v = a->tensors[3]; (void)x; (void)y; (void)u; (void)v\n";

enum { USUAL, SHORT, SIGNED, HOSTILE, EXTREME, ODD, OVERLAP, N_CASES };

/* y[i] += 3 * x[i]; v[i] = u[i] < v[i] ? u[i] : v[i]. Bit k of wrong: in case k. */
#define RIGHT "for (long i = 0; i < n; i++) { y[i] += 3 * x[i]; v[i] = u[i] < v[i] ? u[i] : v[i]; }"
static const struct {
    const char *name, *body;
    unsigned wrong;
    ctune_run_outcome outcome; /* in the other cases */
} rows[] = {
    {"right", RIGHT, 0, CTUNE_RUN_OK},
    {"short_", RIGHT "if (n == 7) y[6] = 0;", 1u << SHORT, CTUNE_RUN_OK},
    {"crash", RIGHT "if (n == 7) *(volatile int *)0 = 1;", 1u << SHORT, CTUNE_RUN_OK},
    {"sign", RIGHT "for (long i = 0; i < n; i++) y[i] += 0.0f;",
     1u << SIGNED | 1u << HOSTILE | 1u << EXTREME | 1u << ODD | 1u << OVERLAP, CTUNE_RUN_OK},
    {"nan", RIGHT "for (long i = 0; i < n; i++) if (y[i] != y[i]) y[i] = 1;", 1u << HOSTILE,
     CTUNE_RUN_OK},
    {"extreme", RIGHT "for (long i = 0; i < n; i++) if (v[i] < -1000) v[i] = -1000;", 1u << EXTREME,
     CTUNE_RUN_OK},
    {"odd", RIGHT "if ((uintptr_t)y % 64 != 0) y[0] += 1;", 1u << ODD, CTUNE_RUN_OK},
    {"backward",
     "for (long i = n - 1; i >= 0; i--) { y[i] += 3 * x[i]; v[i] = u[i] < v[i] ? u[i] : v[i]; }",
     1u << OVERLAP, CTUNE_RUN_OK},
    {"fell_back", RIGHT "return 3;", 0, CTUNE_RUN_DECLINED},
    {"declines", "return 1;", 0, CTUNE_RUN_DECLINED},
    {"late", "y[0] = 7; return 1;", (1u << N_CASES) - 1, CTUNE_RUN_DECLINED},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void set_tensor(ctune_run_tensor *t, const char *type, int64_t n, bool is_written) {
    *t = (ctune_run_tensor){.elem_bytes = 4,
                            .stride_bytes = 4,
                            .rank = 1,
                            .extent = {n},
                            .n_elems = n,
                            .is_written = is_written};
    strcpy(t->type, type);
}

static ctune_run_workload make_load(int64_t n) {
    ctune_run_workload load = {.n_params = 1, .params = {n}, .n_tensors = 4, .seed = 5};
    set_tensor(&load.tensor[0], "f32", n, false);
    set_tensor(&load.tensor[1], "f32", n, true);
    set_tensor(&load.tensor[2], "i32", n, false);
    set_tensor(&load.tensor[3], "i32", n, true);
    load.time_limit_s = 1;
    return load;
}

static void make_loads(ctune_run_workload *loads) {
    for (int i = 0; i < N_CASES; i++) {
        loads[i] = make_load(i == SHORT ? 7 : 4001);
        loads[i].data = i == HOSTILE  ? CTUNE_RUN_DATA_HOSTILE
                        : i >= SIGNED ? CTUNE_RUN_DATA_SIGNED
                                      : CTUNE_RUN_DATA_NORMAL;
        loads[i].has_extreme_ints = i == EXTREME;
        loads[i].is_odd = i == ODD;
    }
    ctune_run_workload *o = &loads[OVERLAP]; /* x is y from its second element on */
    o->tensor[1].n_elems++;
    o->tensor[0].shares = 2;
    o->tensor[0].shared_at = 1;
}

static char *make_unit(const char *name, const char *body) {
    size_t size = strlen(body) + 200;
    char *unit = malloc(size);
    assert_non_null(unit);
    snprintf(unit, size, "static int %s(const ctune_args *a) { ARGS;\n%s\nreturn 0; }\n", name,
             body);
    return unit;
}

static void finds_what_is_wrong(void **state) {
    (void)state;
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    char dir[] = "/tmp/ctune-verify-XXXXXX";
    assert_non_null(mkdtemp(dir));
    static const char *const flags[] = {"-O1", "-ffp-contract=off"};
    ctune_run_compiler how = {"gcc", 2, flags};
    ctune_run_workload own = make_load(100), *loads = calloc(N_CASES, sizeof *loads);
    assert_non_null(loads);
    make_loads(loads);
    ctune_runner *runner = NULL;
    assert_int_equal(
        ctune_runner_create(&ctx, CTUNE_BUILD_DIR "/ctune-runner", dir, &how, &own, &runner),
        CTUNE_OK);
    ctune_run_result first, originals[N_CASES],
        *results = calloc(N_CASES * N_ROWS, sizeof *results);
    assert_non_null(results);
    char *original = make_unit("original", RIGHT), *units[N_ROWS];
    const char *names[N_ROWS];
    for (int i = 0; i < N_ROWS; i++) {
        names[i] = rows[i].name;
        units[i] = make_unit(names[i], rows[i].body);
    }
    assert_int_equal(ctune_runner_original(&ctx, runner, prelude, original, "original", &first),
                     CTUNE_OK);
    assert_int_equal(first.outcome, CTUNE_RUN_OK);
    assert_int_equal(ctune_runner_verify(&ctx, runner, prelude, (const char *const *)units, names,
                                         N_ROWS, loads, N_CASES, originals, results),
                     CTUNE_OK);
    for (int k = 0; k < N_CASES; k++) {
        assert_int_equal(originals[k].outcome, CTUNE_RUN_OK);
        for (int i = 0; i < N_ROWS; i++) {
            const ctune_run_result *r = &results[k * N_ROWS + i];
            bool is_wrong = rows[i].wrong >> k & 1;
            bool is_found = r->outcome == CTUNE_RUN_WRONG || r->outcome == CTUNE_RUN_CRASH;
            if (is_found != is_wrong || (!is_wrong && r->outcome != rows[i].outcome)) {
                fail_msg("case %d, %s: %s %s", k, names[i], ctune_run_outcome_name(r->outcome),
                         r->detail);
            }
        }
    }
    assert_int_equal(results[8].n_samples, 3); /* what it returned */
    for (int i = 0; i < N_ROWS; i++) {
        free(units[i]);
    }
    free(original);
    free(results);
    free(loads);
    ctune_runner_destroy(runner);
    assert_int_equal(rmdir(dir), 0); /* nothing is left behind */
}

static void inputs_survive_the_protocol(void **state) {
    (void)state;
    ctune_run_workload loads[N_CASES];
    make_loads(loads);
    for (int k = 0; k < N_CASES; k++) {
        ctune_run_setup setup = {0}, setup2 = {0};
        ctune_run_workload got = {0};
        ctune_text text, again;
        ctune_text_init(&text);
        ctune_text_init(&again);
        ctune_run_workload_print(&loads[k], &setup, &text);
        bool is_end = false;
        char *save = NULL, *copy = strdup(ctune_text_get(&text));
        for (char *line = strtok_r(copy, "\n", &save); line != NULL;
             line = strtok_r(NULL, "\n", &save)) {
            if (strcmp(line, CTUNE_RUN_PROTOCOL) != 0 &&
                !ctune_run_workload_parse(line, &got, &setup2, &is_end)) {
                fail_msg("%s", line);
            }
        }
        assert_true(is_end);
        ctune_run_workload_print(&got, &setup2, &again);
        assert_string_equal(ctune_text_get(&text), ctune_text_get(&again));
        free(copy);
        ctune_text_clear(&text);
        ctune_text_clear(&again);
    }
    static const char *const bad[] = {"inputs 7 0 0", "inputs 1", "shares 0 1 5", "shares 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ctune_run_workload load = {0};
        ctune_run_setup setup = {0};
        bool is_end = false;
        assert_false(ctune_run_workload_parse(bad[i], &load, &setup, &is_end));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_wrong),
        cmocka_unit_test(inputs_survive_the_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

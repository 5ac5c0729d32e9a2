/*
 * Records of histories become rows: grouped by task, none lost without being counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "search/learn/learn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const char te[] =
    "te 1\n"
    "region scale at \"scale.c\":3\n"
    "param n i32 sizes 64\n"
    "axis i i32\n"
    "axis j i32\n"
    "tensor A f32 [n][n] update pointer base \"&A[0][0]\"\n"
    "stage S0: A[i][j] *= 0x1p+1f ; at 5:13 ; text \"A[i][j] *= 2\"\n"
    "order {\n"
    "    for i: i >= 0, -i + n - 1 >= 0 {\n"
    "        for j: j >= 0, -j + n - 1 >= 0 {\n"
    "            S0\n"
    "        }\n"
    "    }\n"
    "}\n";
/* clang-format on */

#define TARGET "clang 19 x86-64-v2 sse4.2 t1 d40f5bfc"
#define OTHER "gcc 12 znver5 avx512 t1 507f8bea"

typedef struct fixture {
    ctune_ctx ctx;
    char folder[64], path[128];
    ctune_history *history;
    ctune_learner *learner;
    ctune_dataset data;
    ctune_learn_counts counts;
} fixture;

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    ctune_ctx_init(&f->ctx);
    strcpy(f->folder, "/tmp/ctune-learn-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/history.db", f->folder);
    assert_int_equal(ctune_history_open(&f->ctx, f->path, &f->history), CTUNE_OK);
    assert_int_equal(ctune_learner_create(&f->ctx, &f->learner), CTUNE_OK);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    ctune_dataset_clear(&f->data);
    ctune_learner_destroy(f->learner);
    ctune_history_close(f->history);
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s%s", f->path, ends[i]);
        unlink(path);
    }
    rmdir(f->folder);
    free(f);
    return 0;
}

static void add(fixture *f, const char *target, const char *dump, const char *schedule,
                ctune_run_outcome outcome, double ns, double original_ns) {
    ctune_record r = {.workload = 1,
                      .target = target,
                      .region = "scale",
                      .te = dump,
                      .sizes = "n=64",
                      .schedule = schedule,
                      .outcome = outcome,
                      .best_ns = ns,
                      .median_ns = ns,
                      .original_ns = original_ns};
    assert_int_equal(ctune_history_append(&f->ctx, f->history, &r), CTUNE_OK);
}

static void learn(fixture *f) {
    assert_int_equal(ctune_learner_add(&f->ctx, f->learner, f->history), CTUNE_OK);
    ctune_status status =
        ctune_learner_dataset(&f->ctx, f->learner, CTUNE_FEATURE_ALL, &f->data, &f->counts);
    if (status != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
}

static void groups_by_dump_and_target(void **state) {
    fixture *f = *state;
    add(f, TARGET, te, "", CTUNE_RUN_OK, 1000, 1000);
    add(f, OTHER, te, "", CTUNE_RUN_OK, 700, 700);
    add(f, TARGET, te, "split j 8 -> j0 j1\nvectorize j1\n", CTUNE_RUN_OK, 250, 1000);
    learn(f);
    assert_int_equal(f->data.n_tasks, 2);
    assert_int_equal(f->data.task[0].n_rows, 2);
    assert_int_equal(f->data.task[1].n_rows, 1);
    assert_string_equal(f->data.task[0].kernel, "scale");
    assert_string_equal(f->data.task[0].name, "scale n=64 | " TARGET);
    assert_true(f->data.task[0].best_ns == 250);
    assert_int_equal(f->data.n_features, ctune_feature_count(CTUNE_FEATURE_ALL));
}

static void counts_what_it_does_not_use(void **state) {
    fixture *f = *state;
    add(f, TARGET, te, "", CTUNE_RUN_OK, 1000, 1000);
    add(f, TARGET, te, "", CTUNE_RUN_OK, 900, 1000); /* again */
    add(f, TARGET, te, "unroll k\n", CTUNE_RUN_OK, 500, 1000);
    add(f, TARGET, te, "unroll j\n", CTUNE_RUN_WRONG, NAN, 1000);
    add(f, TARGET, te, "split i 4 -> i0 i1\n", CTUNE_RUN_CRASH, NAN, 1000);
    add(f, TARGET, "te 1\nnonsense\n", "", CTUNE_RUN_OK, 1, 1);
    add(f, TARGET, NULL, "", CTUNE_RUN_OK, 1, 1);
    learn(f);
    const ctune_learn_counts *c = &f->counts;
    assert_int_equal(c->n_records, 7);
    assert_int_equal(c->n_rows, 2);
    assert_int_equal(c->n_failed, 1);
    assert_int_equal(c->n_replaced, 1);
    assert_int_equal(c->n_illegal, 1);
    assert_int_equal(c->n_wrong, 1);
    assert_int_equal(c->n_no_te, 2);
    assert_int_equal(c->n_rows + c->n_replaced + c->n_illegal + c->n_wrong + c->n_no_te,
                     c->n_records);
    assert_true(f->data.task[0].best_ns == 900);
}

/* Measured again: the faster one counts. Each task holds the original, as a row that no record
 * gave where the source's order was not tried. */
static void knows_the_original(void **state) {
    fixture *f = *state;
    add(f, TARGET, te, "split j 8 -> j0 j1\n", CTUNE_RUN_OK, 400, 1000);
    add(f, TARGET, te, "split j 8 -> j0 j1\n", CTUNE_RUN_OK, 300, 1000);
    add(f, OTHER, te, "", CTUNE_RUN_OK, 900, 800);
    learn(f);
    assert_int_equal(f->counts.n_rows, 2);
    assert_int_equal(f->counts.n_sources, 1);
    assert_int_equal(f->data.n_rows, 3);
    assert_true(f->data.task[0].best_ns == 300);
    assert_int_equal(f->data.task[0].source, 1);
    assert_true(f->data.time_ns[1] == 1000);
    assert_int_equal(f->data.task[1].source, 2);
    assert_true(f->data.time_ns[2] == 900);
    assert_true(f->data.task[1].source_ns == 800);
}

/* The machine was half as fast during the second measurement: the original says so. */
static void takes_drift_out(void **state) {
    fixture *f = *state;
    add(f, TARGET, te, "", CTUNE_RUN_OK, 1000, 1000);
    add(f, TARGET, te, "split j 4 -> j0 j1\n", CTUNE_RUN_OK, 1000, 1000);
    add(f, TARGET, te, "split j 8 -> j0 j1\n", CTUNE_RUN_OK, 1250, 1250);
    learn(f);
    assert_int_equal(f->data.n_rows, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fabs(f->data.time_ns[i] - 1000) < 1e-6);
    }
}

static void facts_of_a_target_reach_the_rows(void **state) {
    fixture *f = *state;
    ctune_target facts;
    ctune_target_from_key(TARGET, &facts);
    facts.ghz = 1.5;
    assert_int_equal(ctune_history_facts_set(&f->ctx, f->history, TARGET, &facts), CTUNE_OK);
    add(f, TARGET, te, "", CTUNE_RUN_OK, 1000, 1000);
    add(f, OTHER, te, "", CTUNE_RUN_OK, 1000, 1000);
    learn(f);
    int differs = 0;
    const float *a = f->data.features, *b = a + f->data.n_features;
    for (int c = 0; c < f->data.n_features; c++) {
        bool is_target = ctune_feature_group_of(CTUNE_FEATURE_ALL, c) == CTUNE_FEATURE_TARGET;
        differs += is_target && a[c] != b[c];
    }
    assert_true(differs >= 3); /* clock, vectors, compiler */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_by_dump_and_target, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_what_it_does_not_use, setup, teardown),
        cmocka_unit_test_setup_teardown(knows_the_original, setup, teardown),
        cmocka_unit_test_setup_teardown(takes_drift_out, setup, teardown),
        cmocka_unit_test_setup_teardown(facts_of_a_target_reach_the_rows, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

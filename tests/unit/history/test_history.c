/* The history: append, visit, facts, versions. Exchange is in test_exchange.c, faults in
 * test_faults.c. */
#include "search/history/history.h"

#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    char folder[64], path[128];
    ctune_ctx ctx;
    ctune_history *history;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/ctune-history-XXXXXX");
    if (mkdtemp(f->folder) == NULL) {
        return -1;
    }
    snprintf(f->path, sizeof f->path, "%s/a/.ctune/history.db", f->folder);
    *state = f;
    return ctune_history_open(&f->ctx, f->path, &f->history) == CTUNE_OK ? 0 : -1;
}

static int tear_down(void **state) {
    fixture *f = *state;
    ctune_history_close(f->history);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    int rc = system(command);
    free(f);
    return rc;
}

static ctune_record record(int trial) {
    return (ctune_record){.workload = 0xfedcba9876543210u + (uint64_t)(trial % 2),
                          .target = trial % 3 == 0 ? "t0" : "t1",
                          .region = "gemm",
                          .te = "te 1\nregion \"gemm\"\n",
                          .sizes = "n=1024",
                          .schedule = "split i 64 -> i0 i1\nvectorize j\n",
                          .seed = UINT64_MAX,
                          .trial = trial,
                          .outcome = (ctune_run_outcome)(trial % CTUNE_N_RUN_OUTCOMES),
                          .best_ns = trial == 4 ? NAN : 1.0 / 3 + trial,
                          .median_ns = trial == 4 ? INFINITY : 2e9,
                          .original_ns = 1e-300};
}

typedef struct visited {
    int n, stop_at;
    int trial[64];
    ctune_record last; /* strings not kept */
    fixture *append_to;
} visited;

static bool visit(void *user, const ctune_record *r) {
    visited *v = user;
    v->trial[v->n++] = r->trial;
    v->last = *r;
    if (r->trial == 5) {
        assert_string_equal(r->te, "te 1\nregion \"gemm\"\n");
        assert_string_equal(r->schedule, "split i 64 -> i0 i1\nvectorize j\n");
        assert_true(r->seed == UINT64_MAX && r->workload == 0xfedcba9876543211u);
        assert_true(r->best_ns == 1.0 / 3 + 5 && r->original_ns == 1e-300);
        assert_int_equal(r->outcome, CTUNE_RUN_DECLINED);
    }
    if (v->append_to != NULL) {
        ctune_record more = record(9);
        assert_int_equal(ctune_history_append(&v->append_to->ctx, v->append_to->history, &more),
                         CTUNE_OK);
    }
    return v->n != v->stop_at;
}

static void append_many(fixture *f, int n) {
    for (int i = 0; i < n; i++) {
        ctune_record r = record(i);
        assert_int_equal(ctune_history_append(&f->ctx, f->history, &r), CTUNE_OK);
    }
}

static void test_append_and_visit(void **state) {
    fixture *f = *state;
    append_many(f, 8);
    visited v = {0};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, visit, &v), CTUNE_OK);
    assert_int_equal(v.n, 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(v.trial[i], i);
    }
    v = (visited){0};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0xfedcba9876543210u, "t0", visit, &v),
                     CTUNE_OK);
    assert_int_equal(v.n, 2); /* 0, 6 */
    assert_int_equal(v.trial[1], 6);
    v = (visited){0};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, "t0", visit, &v), CTUNE_OK);
    assert_int_equal(v.n, 3);
    v = (visited){.stop_at = 5};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, visit, &v), CTUNE_OK);
    assert_int_equal(v.n, 5);
    assert_true(isnan(v.last.best_ns) && isnan(v.last.median_ns));
    v = (visited){.append_to = f};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, visit, &v), CTUNE_OK);
    assert_int_equal(v.n, 8);
}

static void test_close_and_open_again(void **state) {
    fixture *f = *state;
    append_many(f, 3);
    ctune_history_close(f->history);
    f->history = NULL;
    assert_int_equal(ctune_history_open(&f->ctx, f->path, &f->history), CTUNE_OK);
    ctune_record batch[2] = {record(3), record(4)};
    assert_int_equal(ctune_history_append_batch(&f->ctx, f->history, batch, 2), CTUNE_OK);
    assert_int_equal(ctune_history_append_batch(&f->ctx, f->history, NULL, 0), CTUNE_OK);
    visited v = {0};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, visit, &v), CTUNE_OK);
    assert_int_equal(v.n, 5);
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_other_databases(void **state) {
    fixture *f = *state;
    ctune_history *h;
    char path[160];
    snprintf(path, sizeof path, "%s/newer.db", f->folder);
    run_sql(path, "CREATE TABLE x(a); PRAGMA user_version = 3");
    assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "newer ctune"));
    assert_null(h);
    assert_int_equal(ctune_history_open_readonly(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "newer ctune"));
    run_sql(path, "PRAGMA user_version = 0");
    assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "no history"));
    assert_int_equal(ctune_history_open_readonly(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "no history"));
    run_sql(path, "PRAGMA user_version = 1");
    assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "no history"));
    run_sql(path, "PRAGMA user_version = 2");
    assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "tables"));
    append_many(f, 1);
    run_sql(f->path, "UPDATE record SET outcome = 'sublime'");
    visited v = {0};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, visit, &v), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "sublime"));
}

/* ---- schema 1 -------------------------------------------------------------------------------- */
/* As ctune 0.1 of schema 1 made it, with two records. */
static const char version_1[] =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE te(id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE);"
    "CREATE TABLE record(id INTEGER PRIMARY KEY, workload INTEGER NOT NULL, target TEXT NOT NULL,"
    " region TEXT NOT NULL, te INTEGER NOT NULL REFERENCES te(id), sizes TEXT NOT NULL,"
    " schedule TEXT NOT NULL, seed INTEGER NOT NULL, trial INTEGER NOT NULL, outcome TEXT NOT NULL,"
    " best_ns REAL, median_ns REAL, original_ns REAL);"
    "CREATE INDEX record_of ON record(workload, target, seed, trial);"
    "PRAGMA user_version = 1;"
    "INSERT INTO te VALUES(1, 'te 1'), (2, 'te 1 b');"
    "INSERT INTO record VALUES(1, -81985529216486896, 'clang 19 znver5 avx512 t1 0a', 'gemm', 1,"
    " 'n=8', 'unroll i', 1, 0, 'ok', 10.5, 11, 12),"
    " (7, 2, 'gcc 12 x86-64-v3 avx2 t4 0b', 'copy', 2, '', '', -1, 3, 'crash', NULL, NULL, 12);";

static void check_version_1(fixture *f, ctune_history *h) {
    visited v = {0};
    assert_int_equal(ctune_history_visit(&f->ctx, h, 0, NULL, visit, &v), CTUNE_OK);
    assert_true(v.n == 2 && v.trial[0] == 0 && v.trial[1] == 3);
    assert_true(v.last.workload == 2 && v.last.seed == UINT64_MAX && isnan(v.last.best_ns));
    ctune_target facts;
    bool is_stored = true;
    const char *key = "gcc 12 x86-64-v3 avx2 t4 0b";
    assert_int_equal(ctune_history_facts_get(&f->ctx, h, key, &facts, &is_stored), CTUNE_OK);
    assert_false(is_stored);
    assert_true(facts.is_gcc && facts.vector_bytes == 32 && facts.n_threads == 4);
}

static void test_migration(void **state) {
    fixture *f = *state;
    ctune_history *h;
    char path[160];
    snprintf(path, sizeof path, "%s/old.db", f->folder);
    run_sql(path, version_1);
    assert_int_equal(ctune_history_open_readonly(&f->ctx, path, &h), CTUNE_OK);
    check_version_1(f, h);
    ctune_target facts;
    ctune_target_from_key("t", &facts);
    assert_int_equal(ctune_history_facts_set(&f->ctx, h, "t", &facts), CTUNE_EENV);
    ctune_history_close(h);
    run_sql(path, "CREATE TABLE target(x); DROP TABLE target"); /* fails when it was made */
    for (int round = 0; round < 2; round++) {
        assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_OK);
        check_version_1(f, h);
        assert_int_equal(ctune_history_facts_set(&f->ctx, h, "t", &facts), CTUNE_OK);
        ctune_history_close(h);
    }
    run_sql(path, "SELECT key, facts FROM target");
    assert_int_equal(f->ctx.n_warnings, 0);
}

/* ---- facts ----------------------------------------------------------------------------------- */
static double stored_ghz(fixture *f, const char *key) {
    ctune_target facts;
    bool is_stored;
    assert_int_equal(ctune_history_facts_get(&f->ctx, f->history, key, &facts, &is_stored),
                     CTUNE_OK);
    return is_stored ? facts.ghz : 0;
}

static void test_facts(void **state) {
    fixture *f = *state;
    const char *key = "clang 19 znver5 avx512 t1 0a0b0c0d";
    ctune_target facts;
    ctune_target_from_key(key, &facts);
    assert_true(stored_ghz(f, key) == 0);
    facts.ghz = 2.5;
    assert_int_equal(ctune_history_facts_set(&f->ctx, f->history, key, &facts), CTUNE_OK);
    assert_true(stored_ghz(f, key) == 2.5);
    facts.ghz = 3.5; /* defaults do not replace defaults */
    assert_int_equal(ctune_history_facts_set(&f->ctx, f->history, key, &facts), CTUNE_OK);
    assert_true(stored_ghz(f, key) == 2.5);
    facts.is_measured = true;
    assert_int_equal(ctune_history_facts_set(&f->ctx, f->history, key, &facts), CTUNE_OK);
    facts.ghz = 4.5; /* measured anew */
    assert_int_equal(ctune_history_facts_set(&f->ctx, f->history, key, &facts), CTUNE_OK);
    assert_true(stored_ghz(f, key) == 4.5);
    facts.ghz = 1.5;
    facts.is_measured = false;
    assert_int_equal(ctune_history_facts_set(&f->ctx, f->history, key, &facts), CTUNE_OK);
    assert_true(stored_ghz(f, key) == 4.5);
    run_sql(f->path, "UPDATE target SET facts = 'ghz fast'");
    assert_true(stored_ghz(f, key) == 0); /* with a warning, as if there were none */
    assert_int_equal(f->ctx.n_warnings, 1);
    assert_int_equal(ctune_history_facts_set(&f->ctx, f->history, key, &facts), CTUNE_OK);
    assert_true(stored_ghz(f, key) == 1.5);
}

static bool same_te(void *user, const ctune_record *r) {
    const char **te = user;
    te[r->trial / 4] = te[r->trial / 4] == NULL ? r->te : te[r->trial / 4];
    assert_true(te[r->trial / 4] == r->te);
    return true;
}

static void test_dumps_are_shared(void **state) {
    fixture *f = *state;
    for (int i = 0; i < 8; i++) {
        ctune_record r = record(i);
        r.te = i < 4 ? "te 1\na\n" : "te 1\nb\n";
        assert_int_equal(ctune_history_append(&f->ctx, f->history, &r), CTUNE_OK);
    }
    const char *te[2] = {NULL, NULL};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, same_te, te), CTUNE_OK);
    assert_true(te[0] != te[1]);
    run_sql(f->path, "DELETE FROM te WHERE id = 2");
    te[0] = te[1] = NULL;
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, same_te, te), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "no dump"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_migration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dumps_are_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_append_and_visit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_close_and_open_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_databases, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The history: append, visit, export, import, merge, versions. Faults are in test_faults.c. */
#include "search/records/records.h"

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

static bool collect(void *user, const char *line) {
    ctune_text_printf(user, "%s\n", line);
    return true;
}

static void test_export_import_merge(void **state) {
    fixture *f = *state;
    append_many(f, 8);
    ctune_text lines, again;
    ctune_text_init(&lines);
    ctune_text_init(&again);
    assert_int_equal(ctune_history_export(&f->ctx, f->history, collect, &lines), CTUNE_OK);
    char other_path[160];
    snprintf(other_path, sizeof other_path, "%s/other.db", f->folder);
    ctune_history *other;
    assert_int_equal(ctune_history_open(&f->ctx, other_path, &other), CTUNE_OK);
    int n = -1;
    assert_int_equal(ctune_history_import(&f->ctx, other, ctune_text_get(&lines), &n), CTUNE_OK);
    assert_int_equal(n, 8);
    assert_int_equal(ctune_history_export(&f->ctx, other, collect, &again), CTUNE_OK);
    assert_string_equal(ctune_text_get(&lines), ctune_text_get(&again));
    assert_int_equal(ctune_history_import(&f->ctx, other, ctune_text_get(&lines), &n), CTUNE_OK);
    assert_int_equal(n, 0); /* all there already */
    ctune_record extra = record(100);
    assert_int_equal(ctune_history_append(&f->ctx, other, &extra), CTUNE_OK);
    ctune_history_close(other);
    assert_int_equal(ctune_history_merge(&f->ctx, f->history, other_path, &n), CTUNE_OK);
    assert_int_equal(n, 1);
    assert_int_equal(ctune_history_merge(&f->ctx, f->history, other_path, &n), CTUNE_OK);
    assert_int_equal(n, 0);
    assert_int_equal(ctune_history_merge(&f->ctx, f->history, f->path, &n), CTUNE_OK); /* itself */
    assert_int_equal(n, 0);
    assert_int_equal(ctune_history_merge(&f->ctx, f->history, "/nonexistent.db", &n), CTUNE_EENV);
    ctune_text_clear(&lines);
    ctune_text_clear(&again);
}

static void test_import_is_all_or_nothing(void **state) {
    fixture *f = *state;
    append_many(f, 1);
    ctune_text lines;
    ctune_text_init(&lines);
    assert_int_equal(ctune_history_export(&f->ctx, f->history, collect, &lines), CTUNE_OK);
    char path[160];
    snprintf(path, sizeof path, "%s/other.db", f->folder);
    ctune_history *other;
    assert_int_equal(ctune_history_open(&f->ctx, path, &other), CTUNE_OK);
    static const char *const bad[] = {"{",
                                      "[]",
                                      "{\"trial\":1}",
                                      "3",
                                      "{} x",
                                      "{\"trial\":-1}",
                                      "{\"trial\":1,\"workload\":\"xyz\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ctune_text text;
        ctune_text_init(&text);
        ctune_text_printf(&text, "%s\n%s\n", ctune_text_get(&lines), bad[i]);
        int n = -1;
        assert_int_equal(ctune_history_import(&f->ctx, other, ctune_text_get(&text), &n),
                         CTUNE_EUSAGE);
        assert_non_null(strstr(f->ctx.error, "import:3:"));
        assert_int_equal(n, -1);
        ctune_text_clear(&text);
    }
    visited v = {0};
    assert_int_equal(ctune_history_visit(&f->ctx, other, 0, NULL, visit, &v), CTUNE_OK);
    assert_int_equal(v.n, 0);
    ctune_history_close(other);
    ctune_text_clear(&lines);
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
    run_sql(path, "CREATE TABLE x(a); PRAGMA user_version = 2");
    assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "newer ctune"));
    assert_null(h);
    run_sql(path, "PRAGMA user_version = 0");
    assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "no history"));
    run_sql(path, "PRAGMA user_version = 1");
    assert_int_equal(ctune_history_open(&f->ctx, path, &h), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "tables"));
    append_many(f, 1);
    run_sql(f->path, "UPDATE record SET outcome = 'sublime'");
    visited v = {0};
    assert_int_equal(ctune_history_visit(&f->ctx, f->history, 0, NULL, visit, &v), CTUNE_EENV);
    assert_non_null(strstr(f->ctx.error, "sublime"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_append_and_visit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_close_and_open_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_export_import_merge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_import_is_all_or_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_databases, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Export, import and merge of histories. */
#include "search/history/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

static const char key[] = "clang 19 znver5 avx512 t1 0a0b0c0d";

typedef struct fixture {
    char folder[64], path[128], other_path[128], file[128];
    ctune_ctx ctx;
    ctune_history *history, *other;
    int n_warnings, last_line;
    char last_text[256];
} fixture;

static void keep(void *user, const ctune_diag *diag) {
    fixture *f = user;
    f->n_warnings++;
    f->last_line = diag->line;
    snprintf(f->last_text, sizeof f->last_text, "%s", diag->text);
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/ctune-exchange-XXXXXX");
    if (mkdtemp(f->folder) == NULL) {
        return -1;
    }
    snprintf(f->path, sizeof f->path, "%s/history.db", f->folder);
    snprintf(f->other_path, sizeof f->other_path, "%s/other.db", f->folder);
    snprintf(f->file, sizeof f->file, "%s/file", f->folder);
    f->ctx.sink = keep;
    f->ctx.sink_user = f;
    *state = f;
    return ctune_history_open(&f->ctx, f->path, &f->history) == CTUNE_OK &&
                   ctune_history_open(&f->ctx, f->other_path, &f->other) == CTUNE_OK
               ? 0
               : -1;
}

static int tear_down(void **state) {
    fixture *f = *state;
    ctune_history_close(f->history);
    ctune_history_close(f->other);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    int rc = system(command);
    free(f);
    return rc;
}

/* Two workloads, two targets, all outcomes; the second workload has two dumps. */
static ctune_record record(int trial) {
    return (ctune_record){.workload = 0xfedcba9876543210u + (uint64_t)(trial % 2),
                          .target = trial % 3 == 0 ? "gcc 12 x86-64 sse2 t1 00000000" : key,
                          .region = "gemm",
                          .te = trial % 2 == 0 ? "te 1\nregion a\n"
                                : trial < 6    ? "te 1\nregion b\n"
                                               : "te 1\nregion c\n",
                          .sizes = "n=1024",
                          .schedule = "split i 64 -> i0 i1\nvectorize j\n",
                          .seed = UINT64_MAX,
                          .trial = trial,
                          .outcome = (ctune_run_outcome)(trial % CTUNE_N_RUN_OUTCOMES),
                          .best_ns = trial == 4 ? NAN : 1.0 / 3 + trial,
                          .median_ns = trial == 4 ? INFINITY : 2e9,
                          .original_ns = 1e-300};
}

static void append_many(fixture *f, int n) {
    for (int i = 0; i < n; i++) {
        ctune_record r = record(i);
        assert_int_equal(ctune_history_append(&f->ctx, f->history, &r), CTUNE_OK);
    }
}

static bool collect(void *user, const char *line) {
    ctune_text_printf(user, "%s\n", line);
    return true;
}

static char *export_text(fixture *f, ctune_history *history) {
    ctune_text lines;
    ctune_text_init(&lines);
    assert_int_equal(ctune_history_export(&f->ctx, history, collect, &lines), CTUNE_OK);
    return lines.data != NULL ? lines.data : strdup("");
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p++) {
        n++;
    }
    return n;
}

static void import_text(fixture *f, const char *text, ctune_import_counts *counts) {
    assert_int_equal(ctune_history_import(&f->ctx, f->other, "x.jsonl", text, counts), CTUNE_OK);
}

static void set_facts(fixture *f, ctune_history *history, double ghz) {
    ctune_target facts;
    ctune_target_from_key(key, &facts);
    facts.ghz = ghz;
    facts.is_measured = true;
    assert_int_equal(ctune_history_facts_set(&f->ctx, history, key, &facts), CTUNE_OK);
}

static double get_ghz(fixture *f, ctune_history *history) {
    ctune_target facts;
    bool is_stored;
    assert_int_equal(ctune_history_facts_get(&f->ctx, history, key, &facts, &is_stored), CTUNE_OK);
    return is_stored ? facts.ghz : 0;
}

/* ---- round trips ----------------------------------------------------------------------------- */
static void test_export_and_import(void **state) {
    fixture *f = *state;
    append_many(f, 10);
    set_facts(f, f->history, 4.25);
    char *lines = export_text(f, f->history);
    assert_int_equal(count(lines, "\n"), 11);
    assert_int_equal(count(lines, "\"facts\""), 1);
    assert_int_equal(count(lines, "\"te\""), 3); /* once a dump */
    ctune_import_counts c;
    import_text(f, lines, &c);
    assert_true(c.n_records == 10 && c.n_new == 10 && c.n_known == 0 && c.n_malformed == 0);
    char *again = export_text(f, f->other);
    assert_string_equal(lines, again);
    assert_true(get_ghz(f, f->other) == 4.25);
    import_text(f, lines, &c);
    assert_true(c.n_records == 10 && c.n_new == 0 && c.n_known == 10);
    set_facts(f, f->other, 2.5); /* what is here stays */
    import_text(f, lines, &c);
    assert_true(get_ghz(f, f->other) == 2.5);
    free(lines);
    free(again);
}

static void test_lines_of_older_exports(void **state) {
    fixture *f = *state;
    static const char line[] =
        "{\"workload\":\"00000000000000ff\",\"target\":\"t\",\"region\":\"r\",\"sizes\":\"\","
        "\"schedule\":\"\",\"seed\":\"1\",\"trial\":%d,\"outcome\":\"ok\",\"best_ns\":1,"
        "\"median_ns\":1,\"original_ns\":null%s}\n";
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_printf(&text, line, 0, ",\"te\":\"te 1\\n\"");
    ctune_text_printf(&text, line, 1, ",\"te\":\"te 1\\n\"");
    ctune_import_counts c;
    import_text(f, text.data, &c);
    assert_true(c.n_new == 2 && c.n_malformed == 0);
    ctune_text_clear(&text);
    ctune_text_printf(&text, line, 2, ""); /* a part of a file: the history knows the dump */
    import_text(f, text.data, &c);
    assert_true(c.n_new == 1);
    ctune_text_clear(&text);
    char *all = export_text(f, f->other);
    assert_int_equal(count(all, "\"te\""), 1);
    free(all);
}

static void test_merge(void **state) {
    fixture *f = *state;
    append_many(f, 8);
    set_facts(f, f->history, 4.25);
    ctune_import_counts c;
    assert_int_equal(ctune_history_merge(&f->ctx, f->other, f->path, &c), CTUNE_OK);
    assert_true(c.n_records == 8 && c.n_new == 8 && get_ghz(f, f->other) == 4.25);
    ctune_record extra = record(100);
    assert_int_equal(ctune_history_append(&f->ctx, f->other, &extra), CTUNE_OK);
    assert_int_equal(ctune_history_merge(&f->ctx, f->history, f->other_path, &c), CTUNE_OK);
    assert_true(c.n_records == 9 && c.n_new == 1 && c.n_known == 8);
    assert_int_equal(ctune_history_merge(&f->ctx, f->history, f->path, &c), CTUNE_OK); /* itself */
    assert_true(c.n_records == 9 && c.n_new == 0);
    assert_int_equal(ctune_history_merge(&f->ctx, f->history, "/nonexistent.db", &c), CTUNE_EENV);
    assert_true(c.n_records == 9); /* untouched */
}

/* ---- malformed ------------------------------------------------------------------------------- */
static void test_malformed_lines(void **state) {
    fixture *f = *state;
    append_many(f, 2);
    char *good = export_text(f, f->history);
    static const struct {
        const char *line, *words;
    } bad[] = {
        {"{", "JSON object"},
        {"[]", "JSON object"},
        {"3", "JSON object"},
        {"{} x", "JSON object"},
        {"{\"trial\":1}", "'workload'"},
        {"{\"trial\":-1}", "'trial'"},
        {"{\"trial\":1,\"workload\":\"xyz\"}", "'workload'"},
        {"{\"trial\":1,\"workload\":\"1ffffffffffffffff\"}", "'workload'"},
        {"{\"facts\":{}}", "'target'"},
        {"{\"target\":\"t\",\"facts\":[]}", "'facts'"},
        {"{\"target\":\"t\",\"facts\":{\"ghz\":\"fast\"}}", "ghz"},
        {"{\"target\":\"t\",\"facts\":{\"ghz\":1e9}}", "ghz"},
        {"{\"target\":\"t\",\"facts\":{\"cores\":1.5}}", "cores"},
        {"{\"target\":\"t\",\"facts\":{\"isa\":3}}", "isa"},
        {"{\"workload\":\"00000000000000aa\",\"target\":\"t\",\"region\":\"r\",\"sizes\":\"\","
         "\"schedule\":\"\",\"seed\":\"1\",\"trial\":0,\"outcome\":\"ok\",\"best_ns\":1,"
         "\"median_ns\":1,\"original_ns\":null}",
         "'te'"},
        {"{\"workload\":\"00000000000000aa\",\"target\":\"t\",\"region\":\"r\",\"sizes\":\"\","
         "\"schedule\":\"\",\"seed\":\"1\",\"trial\":0,\"outcome\":\"ok\",\"best_ns\":1,"
         "\"median_ns\":1,\"original_ns\":null,\"te\":1}",
         "'te'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ctune_text text;
        ctune_text_init(&text);
        ctune_text_printf(&text, "\n%s\n%s", bad[i].line, good);
        ctune_import_counts c;
        f->n_warnings = 0;
        import_text(f, text.data, &c);
        assert_true(c.n_malformed == 1 && c.n_records == 2 && c.n_new == (i == 0 ? 2 : 0));
        assert_true(f->n_warnings == 1 && f->last_line == 2);
        assert_non_null(strstr(f->last_text, bad[i].words));
        ctune_text_clear(&text);
    }
    free(good);
}

static void test_many_malformed_lines(void **state) {
    fixture *f = *state;
    ctune_text text;
    ctune_text_init(&text);
    for (int i = 0; i < 1000; i++) {
        ctune_text_append(&text, "{\n");
    }
    ctune_import_counts c;
    import_text(f, text.data, &c);
    assert_true(c.n_malformed == 1000 && c.n_records == 0);
    assert_int_equal(f->n_warnings, 20);
    ctune_text_clear(&text);
}

/* Facts of a later version: what is not known is skipped. */
static void test_unknown_facts(void **state) {
    fixture *f = *state;
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_printf(&text, "{\"target\":\"%s\",\"facts\":{\"ghz\":3.25,\"tensor_cores\":4}}\n",
                      key);
    ctune_import_counts c;
    import_text(f, text.data, &c);
    assert_true(c.n_malformed == 0 && get_ghz(f, f->other) == 3.25);
    ctune_text_clear(&text);
}

/* ---- files ----------------------------------------------------------------------------------- */
static void test_files(void **state) {
    fixture *f = *state;
    append_many(f, 6);
    char *lines = export_text(f, f->history);
    ctune_import_counts c;
    assert_int_equal(ctune_file_write(&f->ctx, f->file, lines, strlen(lines)), CTUNE_OK);
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, f->file, &c), CTUNE_OK);
    assert_true(c.n_new == 6);
    gzFile gz = gzopen(f->file, "wb");
    assert_int_equal(gzputs(gz, lines), (int)strlen(lines));
    assert_int_equal(gzclose(gz), Z_OK);
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, f->file, &c), CTUNE_OK);
    assert_true(c.n_records == 6 && c.n_known == 6);
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, f->path, &c), CTUNE_OK);
    assert_true(c.n_records == 6 && c.n_known == 6);
    assert_int_equal(truncate(f->file, 60), 0); /* a compressed file that was cut */
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, f->file, &c), CTUNE_EENV);
    assert_int_equal(ctune_file_write(&f->ctx, f->file, "a\0b", 3), CTUNE_OK);
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, f->file, &c), CTUNE_EUSAGE);
    assert_int_equal(ctune_file_write(&f->ctx, f->file, "", 0), CTUNE_OK);
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, f->file, &c), CTUNE_OK);
    assert_true(c.n_records == 0);
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, f->folder, &c), CTUNE_EENV);
    assert_int_equal(ctune_history_import_file(&f->ctx, f->other, "/nonexistent", &c), CTUNE_EENV);
    free(lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_export_and_import, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_of_older_exports, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_merge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_malformed_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_malformed_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

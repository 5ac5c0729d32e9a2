/*
 * The transform call: what comes back for each fate of a region, in builds and for the tool; hooks,
 * report, failures. No compiler is run: macros are given.
 */
#include "plugin/transform/entries.h"
#include "plugin/transform/transform.h"
#include "search/lock/lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char macros[] = "#define __clang__ 1\n#define __clang_major__ 19\n"
                             "#define __x86_64__ 1\n#define __SSE2__ 1\n#define __AVX2__ 1\n";
static const char *const words[] = {"-O2", "-march=haswell", "-c", "-o", "x.o", "-fplugin=x.so"};

#define KERNEL(name, clauses, body)                                                                \
    "void " name "(int n, float a[n][n], float b[n][n]) {\n"                                       \
    "#pragma tune sizes(n=40) " clauses "\n"                                                       \
    "    for (int i = 0; i < n; i++)\n"                                                            \
    "        for (int j = 0; j < n; j++)\n"                                                        \
    "            " body "\n"                                                                       \
    "}\n"
#define SCHEDULE "schedule(\"split j 8 -> j0 j1; vectorize j1\")"
#define SCHEDULE2 "schedule(\"split i 8 -> i0 i1; vectorize i1\")"
#define ADD "a[i][j] += b[i][j];"

typedef struct fixture {
    char folder[64], lock[96], report[96];
    ctune_ctx ctx;
    ctune_transform_options options;
    ctune_transform_result result;
    ctune_text log; /* "severity code line;" for each diagnostic */
} fixture;

static void keep(void *user, const ctune_diag *d) {
    fixture *f = user;
    ctune_text_printf(&f->log, "%s %s %d;", ctune_severity_name(d->severity),
                      d->code != NULL ? d->code : "-", d->line);
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    snprintf(f->folder, sizeof f->folder, "/tmp/ctune-transform-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->lock, sizeof f->lock, "%s/ctune.lock", f->folder);
    snprintf(f->report, sizeof f->report, "%s/report", f->folder);
    ctune_ctx_init(&f->ctx);
    f->ctx.sink = keep;
    f->ctx.sink_user = f;
    f->options = (ctune_transform_options){.file = "a.c",
                                           .is_clang = true,
                                           .is_build = true,
                                           .n_words = 6,
                                           .words = words,
                                           .macros = macros,
                                           .lock_path = f->lock};
    ctune_text_init(&f->log);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    ctune_transform_clear(&f->result);
    ctune_text_clear(&f->log);
    unlink(f->lock);
    unlink(f->report);
    rmdir(f->folder);
    free(f);
    return 0;
}

static ctune_status run(fixture *f, const char *text) {
    ctune_transform_clear(&f->result);
    ctune_text_clear(&f->log);
    f->options.text = text;
    return ctune_transform_run(&f->ctx, &f->options, &f->result);
}

static void expect_log(const fixture *f, const char *want) {
    assert_string_equal(ctune_text_get(&f->log), want);
}

/* An entry for region `name` of `text`, as `ctune tune` would write it. */
static void add_entry(fixture *f, const char *text, const char *name, const char *schedule) {
    ctune_source source = {0};
    assert_int_equal(ctune_source_set_paths(&f->ctx, "a.c", f->lock, NULL, &source), CTUNE_OK);
    assert_int_equal(ctune_flags_sort(&f->ctx, 6, words, NULL, true, &source.flags), CTUNE_OK);
    assert_int_equal(ctune_source_set_unit(&f->ctx, text, &source), CTUNE_OK);
    assert_int_equal(ctune_source_set_target(&f->ctx, macros, &source), CTUNE_OK);
    int n_found = 0;
    for (int i = 0; i < source.unit->n_regions; i++) {
        const ctune_region *region = source.unit->regions[i].region;
        if (region != NULL && strcmp(region->name, name) == 0) {
            ctune_lock_entry entry = {.region = (char *)name,
                                      .source = "a.c",
                                      .target = source.key,
                                      .workload = ctune_workload_key(region, NULL),
                                      .sizes = "n=40",
                                      .schedule = (char *)schedule,
                                      .speedup = 2,
                                      .tuned_ns = 10};
            assert_int_equal(ctune_lock_update(&f->ctx, f->lock, &entry, 1), CTUNE_OK);
            n_found++;
        }
    }
    assert_int_equal(n_found, 1);
    ctune_source_close(&source);
    char lk[128];
    snprintf(lk, sizeof lk, "%s.lk", f->lock);
    unlink(lk);
}

static void test_clause(void **state) {
    fixture *f = *state;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_OK);
    assert_true(f->result.is_changed);
    assert_int_equal(strlen(f->result.text), f->result.n_text);
    assert_non_null(strstr(f->result.text, "ctune:begin f"));
    assert_non_null(strstr(f->result.text, "#line 2 \"a.c\""));
    assert_int_equal(f->result.counts.n_regions, 1);
    assert_int_equal(f->result.counts.n_applied, 1);
    assert_false(f->result.has_lock);
    expect_log(f, "remark applied 2;");
    /* for the tool, again on the output: nothing new */
    f->options.is_build = false;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_OK);
    char *once = strdup(f->result.text);
    assert_int_equal(run(f, once), CTUNE_OK);
    assert_false(f->result.is_changed);
    free(once);
}

static void test_no_entry_leaves_alone(void **state) {
    fixture *f = *state;
    assert_int_equal(run(f, KERNEL("f", "", ADD)), CTUNE_OK);
    assert_false(f->result.is_changed);
    assert_null(f->result.text);
    assert_int_equal(f->result.counts.n_untuned, 1);
    assert_string_equal(f->result.lock_path, f->lock);
    expect_log(f, "remark lock-no-entry 2;");
    assert_int_equal(run(f, "int x;\n"), CTUNE_OK);
    assert_false(f->result.is_changed);
    expect_log(f, "");
}

static void test_lock(void **state) {
    fixture *f = *state;
    const char *text = KERNEL("f", "", ADD) KERNEL("g", "", ADD) KERNEL("h", "off", ADD);
    add_entry(f, text, "f", "split j 8 -> j0 j1\nvectorize j1\n");
    add_entry(f, text, "g", "");
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_true(f->result.is_changed);
    assert_true(f->result.has_lock);
    assert_non_null(strstr(f->result.text, "ctune:begin f"));
    assert_null(strstr(f->result.text, "ctune:begin g"));
    assert_int_equal(f->result.counts.n_applied, 1);
    assert_int_equal(f->result.counts.n_original, 1);
    assert_int_equal(f->result.counts.n_off, 1);
    expect_log(f, "remark applied 2;remark original-best 8;");
    f->options.mode = CTUNE_TRANSFORM_OFF;
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_false(f->result.is_changed);
    expect_log(f, "");
}

static void test_stale_and_other(void **state) {
    fixture *f = *state;
    add_entry(f, KERNEL("f", "", ADD), "f", "split j 8 -> j0 j1\nvectorize j1\n");
    assert_int_equal(run(f, KERNEL("f", "", "a[i][j] -= b[i][j];")), CTUNE_OK);
    assert_false(f->result.is_changed);
    assert_int_equal(f->result.counts.n_stale, 1);
    assert_int_equal(f->result.worst, CTUNE_EREFUSED);
    expect_log(f, "warning lock-stale 2;");
    f->options.n_words = 1; /* without -march */
    assert_int_equal(run(f, KERNEL("f", "", ADD)), CTUNE_OK);
    assert_int_equal(f->result.counts.n_untuned, 1);
    expect_log(f, "remark lock-other-target 2;remark lock-none-applies 0;");
    f->options.any_target = true;
    assert_int_equal(run(f, KERNEL("f", "", ADD)), CTUNE_OK);
    assert_int_equal(f->result.counts.n_applied, 1);
}

static void test_refusals_are_warnings_in_builds(void **state) {
    fixture *f = *state;
    const char *text = KERNEL("f", "", "while (n) { }") KERNEL("g", SCHEDULE, ADD);
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_int_equal(f->result.counts.n_refused, 1);
    assert_int_equal(f->result.counts.n_applied, 1);
    expect_log(f, "warning while-loop 5;remark applied 8;");
    f->options.is_build = false;
    assert_int_equal(run(f, text), CTUNE_OK);
    expect_log(f, "remark while-loop 5;");
    assert_int_equal(f->result.worst, CTUNE_EREFUSED);
    /* a schedule that does not apply */
    f->options.is_build = true;
    assert_int_equal(run(f, KERNEL("f", "schedule(\"split nothing 4 -> a b\")", ADD)), CTUNE_OK);
    assert_false(f->result.is_changed);
    expect_log(f, "warning not-applied 2;");
}

static void test_malformed_pragma(void **state) {
    fixture *f = *state;
    const char *text = KERNEL("f", "nonsense(3)", ADD) KERNEL("g", SCHEDULE, ADD);
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_true(f->result.is_changed);
    assert_int_equal(f->result.counts.n_refused, 1);
    expect_log(f, "warning unknown-clause 2;remark applied 8;");
    f->options.is_build = false;
    assert_int_equal(run(f, text), CTUNE_EUSAGE);
    assert_false(f->result.is_changed);
    expect_log(f, "error unknown-clause 2;");
}

static void test_failures_are_one_warning(void **state) {
    fixture *f = *state;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD) "int y = z; int z = q;\n"), CTUNE_EENV);
    assert_false(f->result.is_changed);
    expect_log(f, "warning does-not-parse 7;");
    assert_string_equal(f->ctx.error, "");
    assert_int_equal(ctune_file_write(&f->ctx, f->lock, "not a lock\n", 11), CTUNE_OK);
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_EUSAGE);
    assert_false(f->result.is_changed);
    expect_log(f, "warning no-transform 0;");
    f->options.file = "a.cpp";
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_EUSAGE);
    expect_log(f, "warning no-transform 0;");
}

static void test_rewritten_text_stays_in_builds(void **state) {
    fixture *f = *state;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_OK);
    char *text = strdup(f->result.text);
    char *clause = strstr(text, SCHEDULE);
    memset(clause, ' ', strlen(SCHEDULE)); /* now neither clause nor entry */
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_false(f->result.is_changed);
    f->options.is_build = false; /* the tool takes it out */
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_true(f->result.is_changed);
    assert_null(strstr(f->result.text, "ctune:"));
    free(text);
}

static void test_only_one_region(void **state) {
    fixture *f = *state;
    f->options.region = "g";
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD) KERNEL("g", SCHEDULE, ADD)), CTUNE_OK);
    assert_null(strstr(f->result.text, "ctune:begin f"));
    assert_non_null(strstr(f->result.text, "ctune:begin g"));
}

static void test_self_include(void **state) {
    fixture *f = *state;
    char path[96], text[600];
    snprintf(path, sizeof path, "%s/a.c", f->folder);
    snprintf(text, sizeof text,
             "#ifdef ONCE\nstatic int y;\n#else\n#define ONCE\n#include \"%s\"\n%s#endif\n", path,
             KERNEL("f", SCHEDULE, ADD));
    assert_int_equal(ctune_file_write(&f->ctx, path, "static int y;\n", 14), CTUNE_OK);
    f->options.file = path;
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_false(f->result.is_changed);
    expect_log(f, "warning self-include 7;");
    unlink(path);
}

/* The compile's standard decides where counters are declared. */
static void test_old_standard(void **state) {
    fixture *f = *state;
    static const char *const standards[] = {"", "#define __STDC_VERSION__ 199409L\n",
                                            "#define __STDC_VERSION__ 201710L\n"};
    const char *text = "void f(float a[8]) {\n    int i;\n#pragma tune " SCHEDULE2
                       "\n    for (i = 0; i < 8; i++)\n        a[i] += 1;\n}\n";
    for (int i = 0; i < 3; i++) {
        char all[512];
        snprintf(all, sizeof all, "%s%s", standards[i], macros);
        f->options.macros = all;
        assert_int_equal(run(f, text), CTUNE_OK);
        expect_log(f, "remark applied 3;");
        assert_int_equal(strstr(f->result.text, "for (long ") != NULL, i == 2);
    }
    f->options.macros = macros;
}

/* Only what was put in goes without clang's warnings; #line stays last before the user's lines. */
static void test_quiet(void **state) {
    fixture *f = *state;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_OK);
    int depth = 0, n_lines = 0;
    const char *original = strstr(f->result.text, "/* ctune:original begin */");
    for (const char *p = f->result.text; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n') {
        depth += strncmp(p, "#pragma clang diagnostic push", 29) == 0;
        depth -= strncmp(p, "#pragma clang diagnostic pop", 28) == 0;
        assert_in_range(depth, 0, 1);
        n_lines++;
        if (p <= original && original < p + strcspn(p, "\n")) {
            assert_int_equal(depth, 0);
        }
    }
    assert_int_equal(depth, 0);
    assert_true(n_lines > 20);
    f->options.is_clang = false;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_OK);
    assert_null(strstr(f->result.text, "diagnostic push"));
}

/* ---- hooks ---------------------------------------------------------------------------------- */
static ctune_status predict(ctune_ctx *ctx, void *user, const ctune_source *source,
                            ctune_program *program, ctune_text *schedule) {
    const char *answer = user;
    assert_non_null(program->region);
    assert_string_equal(source->target.isa, "avx2");
    if (strcmp(answer, "refuse") == 0) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "no idea");
    }
    ctune_text_append(schedule, answer);
    return CTUNE_OK;
}

static void test_predict(void **state) {
    fixture *f = *state;
    const char *text = KERNEL("f", "", ADD);
    f->options.mode = CTUNE_TRANSFORM_PREDICT;
    assert_int_equal(run(f, text), CTUNE_OK);
    expect_log(f, "remark no-predictor 2;");
    f->options.predict = predict;
    f->options.predict_user = "split j 8 -> j0 j1\nvectorize j1\n";
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_true(f->result.is_changed);
    assert_int_equal(f->result.counts.n_predicted, 1);
    expect_log(f, "remark predicted 2;");
    f->options.predict_user = "";
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_false(f->result.is_changed);
    assert_int_equal(f->result.counts.n_original, 1);
    f->options.predict_user = "refuse";
    assert_int_equal(run(f, text), CTUNE_OK);
    expect_log(f, "remark no-prediction 2;");
    f->options.predict_user = "split nothing 4 -> a b\n";
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_false(f->result.is_changed);
    expect_log(f, "warning not-applied 2;");
    /* an entry is better than a prediction */
    add_entry(f, text, "f", "");
    assert_int_equal(run(f, text), CTUNE_OK);
    expect_log(f, "remark original-best 2;");
}

static ctune_status record(ctune_ctx *ctx, void *user, const ctune_source *source, int i_region,
                           const char *original, ctune_text *body) {
    (void)ctx;
    (void)user;
    if (i_region < 0) {
        ctune_text_append(body, "extern void recorded(int);\n");
    } else {
        const ctune_region *region = source->unit->regions[i_region].region;
        ctune_text_printf(body, "{ recorded(%d);\n%s }\n", region->n_params, original);
    }
    return CTUNE_OK;
}

static void test_record(void **state) {
    fixture *f = *state;
    f->options.mode = CTUNE_TRANSFORM_RECORD;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_OK);
    assert_false(f->result.is_changed);
    f->options.record = record;
    assert_int_equal(run(f, KERNEL("f", SCHEDULE, ADD)), CTUNE_OK);
    assert_true(f->result.is_changed);
    assert_int_equal(f->result.counts.n_recorded, 1);
    assert_non_null(strstr(f->result.text, "extern void recorded(int);"));
    assert_non_null(strstr(f->result.text, "recorded(1);"));
    expect_log(f, "remark recorded 2;");
}

static void test_report(void **state) {
    fixture *f = *state;
    f->options.report_path = f->report;
    const char *text = KERNEL("f", "", "while (n) { }") KERNEL("g", SCHEDULE, ADD);
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_int_equal(run(f, text), CTUNE_OK);
    ctune_text rows;
    ctune_text_init(&rows);
    assert_int_equal(ctune_file_read(&f->ctx, f->report, &rows), CTUNE_OK);
    int n_lines = 0;
    for (const char *p = rows.data; (p = strchr(p, '\n')) != NULL; p++) {
        n_lines++;
    }
    assert_int_equal(n_lines, 4);
    assert_non_null(strstr(rows.data, "\"status\":\"refused\""));
    assert_non_null(strstr(rows.data, "\"code\":\"while-loop\""));
    assert_non_null(strstr(rows.data, "\"region\":\"g\",\"status\":\"applied\""));
    ctune_text_clear(&rows);
    f->options.report_path = "/no/such/folder/report";
    assert_int_equal(run(f, text), CTUNE_OK);
    assert_true(f->result.is_changed);
    assert_non_null(strstr(ctune_text_get(&f->log), "warning no-transform 0;"));
}

/* From the n-th on, pieces of memory are refused: the text is left alone or as it should be, never
 * half. */
static void test_out_of_memory(void **state) {
    fixture *f = *state;
    const char *text = KERNEL("f", SCHEDULE, ADD);
    f->ctx.alloc_fail_at = UINT64_MAX;
    assert_int_equal(run(f, text), CTUNE_OK);
    char *want = strdup(f->result.text);
    uint64_t n_allocs = f->ctx.n_allocs;
    int n_failed = 0;
    for (uint64_t at = 1; at <= n_allocs; at += at < 20 ? 1 : 7) {
        f->ctx.n_allocs = 0;
        f->ctx.alloc_fail_at = at;
        ctune_status status = run(f, text);
        n_failed += status != CTUNE_OK;
        if (f->result.is_changed) {
            assert_string_equal(f->result.text, want);
        } else {
            assert_null(f->result.text);
        }
    }
    assert_true(n_failed > 0);
    free(want);
}

static void test_modes(void **state) {
    (void)state;
    ctune_transform_mode mode;
    assert_true(ctune_transform_mode_find("record", &mode));
    assert_int_equal(mode, CTUNE_TRANSFORM_RECORD);
    assert_false(ctune_transform_mode_find("", &mode));
}

static void expect_words(int n, const char **got, const char *const *want) {
    for (int i = 0; i < n; i++) {
        assert_string_equal(got[i], want[i]);
    }
}

static void test_flags(void **state) {
    fixture *f = *state;
    static const char *const given[] = {"-c",
                                        "a.c",
                                        "-o",
                                        "a.o",
                                        "-Ilib",
                                        "-I",
                                        "inc",
                                        "-O3",
                                        "-march=znver5",
                                        "-fPIC",
                                        "-Wall",
                                        "-MD",
                                        "-MF",
                                        "a.d",
                                        "-Xclang",
                                        "-include-pch",
                                        "-Xclang",
                                        "p.pch",
                                        "-Xclang",
                                        "-include",
                                        "-Xclang",
                                        "p.h",
                                        "-fplugin=x.so",
                                        "-fplugin-arg-ctune-mode=predict",
                                        "-ffunction-sections",
                                        "-DX=1",
                                        "-fopenmp",
                                        "-fbogus"};
    static const char *const extract[] = {"-I/d/lib",      "-I",       "/d/inc", "-O3",
                                          "-march=znver5", "-include", "/d/p.h", "-DX=1",
                                          "-fopenmp",      "-fbogus"};
    static const char *const code[] = {"-O3", "-march=znver5", "-fopenmp", "-fbogus"};
    ctune_flags flags = {0};
    assert_int_equal(ctune_flags_sort(&f->ctx, 28, given, "/d", true, &flags), CTUNE_OK);
    assert_int_equal(flags.n_extract, 10);
    expect_words(10, flags.extract, extract);
    assert_int_equal(flags.n_run, 4);
    expect_words(4, flags.run, code);
    ctune_flags_clear(&flags);
    assert_int_equal(ctune_flags_sort(&f->ctx, 28, given, NULL, false, &flags), CTUNE_OK);
    assert_int_equal(flags.n_extract, 9); /* without -fbogus, that libclang does not know */
    assert_string_equal(flags.extract[2], "inc");
    ctune_flags_clear(&flags);
    assert_true(ctune_flags_is_compiler("x86_64-linux-gnu-gcc-12"));
    assert_false(ctune_flags_is_compiler("clang-tidy"));
    assert_true(ctune_flags_is_clang("/opt/bin/clang-19"));
    assert_false(ctune_flags_is_clang("/opt/clang/bin/gcc"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
/* What a compiler did not take stays, with one warning a region, or one for all of them. */
static void test_failures(void **state) {
    fixture *f = *state;
    static const char text[] = KERNEL("f", SCHEDULE, ADD) KERNEL("g", SCHEDULE, ADD);
    ctune_transform_failure failures[] = {{8, "no such thing"}, {0, ""}};
    f->options.report_path = f->report;
    f->options.failures = failures;
    f->options.n_failures = 1;
    assert_int_equal(run(f, text), CTUNE_OK);
    expect_log(f, "remark applied 2;warning does-not-compile 8;");
    assert_int_equal(f->result.counts.n_applied, 1);
    assert_int_equal(f->result.counts.n_refused, 1);
    assert_non_null(strstr(f->result.text, "/* ctune:begin f */"));
    assert_null(strstr(f->result.text, "/* ctune:begin g */"));
    f->options.n_failures = 2;
    assert_int_equal(run(f, text), CTUNE_OK);
    expect_log(f, "warning does-not-compile 2;warning does-not-compile 8;");
    assert_false(f->result.is_changed);
    failures[0].line = 5; /* no region's: of all */
    f->options.n_failures = 1;
    assert_int_equal(run(f, text), CTUNE_OK);
    expect_log(f, "warning does-not-compile 2;");
    assert_int_equal(f->result.counts.n_refused, 2);
    assert_int_equal(run(f, KERNEL("f", "", ADD)), CTUNE_OK); /* nothing that could be at fault */
    expect_log(f, "remark lock-no-entry 2;");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_clause),
        TEST(test_no_entry_leaves_alone),
        TEST(test_lock),
        TEST(test_stale_and_other),
        TEST(test_refusals_are_warnings_in_builds),
        TEST(test_malformed_pragma),
        TEST(test_failures_are_one_warning),
        TEST(test_rewritten_text_stays_in_builds),
        TEST(test_only_one_region),
        TEST(test_self_include),
        TEST(test_old_standard),
        TEST(test_failures),
        TEST(test_quiet),
        TEST(test_predict),
        TEST(test_record),
        TEST(test_report),
        TEST(test_out_of_memory),
        TEST(test_modes),
        TEST(test_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

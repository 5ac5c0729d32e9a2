/* The lock: text round trip, order, every kind of malformed file with its place, set and find. */
#include "search/lock/lock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char full[] = "ctune-lock 1\n"
                           "region gemm in gemm.c\n"
                           "  target clang 19 znver5 avx512 t1 1a2b3c4d\n"
                           "  workload 0123456789abcdef sizes n=1024\n"
                           "  speedup 41.20 time 9.530 ms\n"
                           "  verified identical to the user's compile of gemm() at n=1024 37\n"
                           "  schedule\n"
                           "    split i 64 -> i0 i1\n"
                           "    vectorize j\n"
                           "end\n"
                           "region f.2 in my file.c\n"
                           "  target gcc 12 x86-64 sse2 t2 00000000\n"
                           "  workload ffffffffffffffff\n"
                           "  speedup 1.00 time 12.000 ns\n"
                           "  schedule original\n"
                           "end\n";

static void print_is(const ctune_lock *lock, const char *expected) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_lock_print(lock, &text);
    assert_string_equal(ctune_text_get(&text), expected);
    ctune_text_clear(&text);
}

static void test_round_trip(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_lock lock;
    ctune_lock_init(&lock);
    assert_int_equal(ctune_lock_parse(&ctx, "x", full, &lock), CTUNE_OK);
    assert_int_equal(lock.n, 2);
    const ctune_lock_entry *e = ctune_lock_find(&lock, "gemm.c", "gemm", NULL, NULL);
    assert_non_null(e);
    assert_string_equal(e->schedule, "split i 64 -> i0 i1\nvectorize j\n");
    assert_string_equal(e->sizes, "n=1024");
    assert_string_equal(e->verified, "identical to the user's compile of gemm() at n=1024 37");
    assert_true(e->workload == 0x0123456789abcdefu);
    assert_true(fabs(e->tuned_ns - 9.53e6) < 1e-3 && fabs(e->speedup - 41.2) < 1e-9);
    e = ctune_lock_find(&lock, "my file.c", "f.2", "gcc 12 x86-64 sse2 t2 00000000", "");
    assert_non_null(e);
    assert_string_equal(e->schedule, "");
    assert_string_equal(e->verified, ""); /* older locks have no such line */
    assert_null(ctune_lock_find(&lock, "my file.c", "f.2", NULL, "n=1"));
    assert_null(ctune_lock_find(&lock, "my file.c", "f", NULL, NULL));
    print_is(&lock, full);
    ctune_lock_clear(&lock);
}

static void test_line_ends_and_indentation_do_not_matter(void **state) {
    (void)state;
    char other[2 * sizeof full];
    size_t n = 0;
    for (const char *c = full; *c != '\0'; c++) {
        if (*c == '\n') {
            n += (size_t)snprintf(other + n, sizeof other - n, " \t\r\n\n");
        } else if (c == full || c[-1] != '\n' || *c != ' ') {
            other[n++] = *c;
        }
    }
    other[n] = '\0';
    ctune_ctx ctx = {0};
    ctune_lock lock;
    ctune_lock_init(&lock);
    assert_int_equal(ctune_lock_parse(&ctx, "x", other, &lock), CTUNE_OK);
    print_is(&lock, full);
    ctune_lock_clear(&lock);
}

static ctune_lock_entry entry(const char *source, const char *region, const char *target,
                              const char *sizes, const char *schedule) {
    return (ctune_lock_entry){.region = (char *)region,
                              .source = (char *)source,
                              .target = (char *)target,
                              .sizes = (char *)sizes,
                              .schedule = (char *)schedule,
                              .workload = 7,
                              .speedup = 2,
                              .tuned_ns = 1e6};
}

static void test_set_sorts_and_replaces(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_lock lock;
    ctune_lock_init(&lock);
    for (int i = 0; i < 60; i++) {
        char region[16], sizes[16];
        snprintf(region, sizeof region, "r%d", i * 7 % 10);
        snprintf(sizes, sizeof sizes, "n=%d", i * 7 % 3);
        ctune_lock_entry e =
            entry(i % 2 ? "b.c" : "a.c", region, "t", sizes, "  unroll i ; \n\n a\n");
        assert_int_equal(ctune_lock_set(&ctx, &lock, &e), CTUNE_OK);
    }
    assert_int_equal(lock.n, 30);
    for (int i = 1; i < lock.n; i++) {
        const ctune_lock_entry *a = &lock.entry[i - 1], *b = &lock.entry[i];
        int order = strcmp(a->source, b->source);
        order = order != 0 ? order : strcmp(a->region, b->region);
        order = order != 0 ? order : strcmp(a->sizes, b->sizes);
        assert_true(order < 0);
    }
    assert_string_equal(lock.entry[0].schedule, "unroll i ;\na\n");
    ctune_lock_entry e = entry("a.c", "r0", "t", "n=0", "");
    assert_int_equal(ctune_lock_set(&ctx, &lock, &e), CTUNE_OK);
    assert_int_equal(lock.n, 30);
    assert_string_equal(lock.entry[0].schedule, "");
    ctune_lock_clear(&lock);
}

static void test_bad_entries_are_refused(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_lock lock;
    ctune_lock_init(&lock);
    ctune_lock_entry bad[] = {
        entry("a.c", "", "t", "", ""),      entry("a.c", "a b", "t", "", ""),
        entry(" ", "a", "t", "", ""),       entry("a\nb", "a", "t", "", ""),
        entry("a.c", "a", "", "", ""),      entry("a.c", "a", "t\nt", "", ""),
        entry("a.c", "a", "t", "a\nb", ""), entry("a.c", "a", "t", "", "x\n end \n"),
        entry("a.c", "a", "t", "", ""),     entry("a.c", "a", "t", "", ""),
    };
    bad[8].speedup = NAN;
    bad[9].tuned_ns = INFINITY;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ctune_lock_set(&ctx, &lock, &bad[i]), CTUNE_EUSAGE);
    }
    assert_int_equal(lock.n, 0);
    ctune_lock_clear(&lock);
}

#define HEAD "ctune-lock 1\nregion r in a.c\n"
static void test_malformed_text_has_a_place_and_loses_nothing(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *words;
    } rows[] = {
        {"region r in a.c\n", "x:1:1:", "ctune-lock"},
        {"ctune-lock 2\n", "x:1:12:", "version '2'"},
        {"ctune-lock 1 2\n", "x:1:14:", "not expected"},
        {"ctune-lock 1\nend\n", "x:2:1:", "'region', not 'end'"},
        {"ctune-lock 1\n<<<<<<< HEAD\n", "x:2:1:", "merge"},
        {"ctune-lock 1\nregion\n", "x:2:7:", "name of a region"},
        {"ctune-lock 1\nregion r\n", "x:2:9:", "'in'"},
        {HEAD, "x:3:1:", "'target' (is the file cut off?)"},
        {HEAD "  target\n", "x:3:9:", "a target"},
        {HEAD "  target t\n workload 12\n", "x:4:11:", "16 hexadecimal"},
        {HEAD "  target t\n workload 0123456789ABCDEF\n", "x:4:11:", "16 hexadecimal"},
        {HEAD "  target t\n workload 0123456789abcdef n=1\n", "x:4:28:", "not expected"},
        {HEAD "  target t\n workload 0123456789abcdef sizes\n", "x:4:33:", "sizes"},
        {HEAD "target t\nworkload 0123456789abcdef\nspeedup -1 time 1 s\n", "x:5:9:", "decimal"},
        {HEAD "target t\nworkload 0123456789abcdef\nspeedup 1. time 1 s\n", "x:5:9:", "decimal"},
        {HEAD "target t\nworkload 0123456789abcdef\nspeedup 1.234 time 1 s\n", "x:5:9:", "decimal"},
        {HEAD "target t\nworkload 0123456789abcdef\nspeedup 99999999999999999999 time 1 s\n",
         "x:5:9:", "decimal"},
        {HEAD "target t\nworkload 0123456789abcdef\nspeedup 1 time 1 h\n", "x:5:18:", "ns, us, ms"},
        {HEAD "target t\nworkload 0123456789abcdef\nspeedup 1 time 1 s\nschedule\nend\n",
         "x:7:4:", "empty schedule"},
        {HEAD
         "target t\nworkload 0123456789abcdef\nspeedup 1 time 1 s\nschedule original\nx\nend\n",
         "x:8:4:", "with lines"},
        {HEAD "target t\nworkload 0123456789abcdef\nspeedup 1 time 1 s\nschedule\nx\n",
         "x:8:1:", "cut off"},
        {HEAD
         "target t\nworkload 0123456789abcdef\nspeedup 9999999999 time 1 s\nschedule\nx\nend\n",
         "x:8:4:", "out of range"},
    };
    ctune_ctx ctx = {0};
    ctune_lock lock;
    ctune_lock_init(&lock);
    assert_int_equal(ctune_lock_parse(&ctx, "x", full, &lock), CTUNE_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctune_status status = ctune_lock_parse(&ctx, "x", rows[i].text, &lock);
        if (status != CTUNE_EUSAGE ||
            strncmp(ctx.error, rows[i].place, strlen(rows[i].place)) != 0 ||
            strstr(ctx.error, rows[i].words) == NULL) {
            fail_msg("row %zu: status %d: %s", i, status, ctx.error);
        }
    }
    char twice[2 * sizeof full];
    snprintf(twice, sizeof twice, "%s%s", full, full + strlen("ctune-lock 1\n"));
    assert_int_equal(ctune_lock_parse(&ctx, "x", twice, &lock), CTUNE_EUSAGE);
    assert_non_null(strstr(ctx.error, "second entry for region gemm of gemm.c"));
    print_is(&lock, full);
    ctune_lock_clear(&lock);
}

static void test_every_truncation_is_an_error_or_a_whole_prefix(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof full - 1; n++) {
        char *cut = strndup(full, n);
        ctune_ctx ctx = {0};
        ctune_lock lock;
        ctune_lock_init(&lock);
        ctune_status status = ctune_lock_parse(&ctx, "x", cut, &lock);
        size_t first_end = (size_t)(strstr(full, "end\n") - full) + 3;
        bool is_whole = n == 0 || n == 12 || n == 13 || n == first_end || n == first_end + 1 ||
                        n == sizeof full - 2;
        assert_int_equal(status, is_whole ? CTUNE_OK : CTUNE_EUSAGE);
        ctune_lock_clear(&lock);
        free(cut);
    }
}

static void test_time_units_are_stable(void **state) {
    (void)state;
    static const double times[] = {0,        0.4e-3, 9.5,       999.9994,   999.9996,      1000,
                                   999999.6, 1e6,    999999600, 9999996000, 1.23456789e12, 1e15};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        ctune_ctx ctx = {0};
        ctune_lock lock;
        ctune_lock_init(&lock);
        ctune_lock_entry e = entry("a.c", "r", "t", "", "");
        e.tuned_ns = times[i];
        assert_int_equal(ctune_lock_set(&ctx, &lock, &e), CTUNE_OK);
        ctune_text text;
        ctune_text_init(&text);
        ctune_lock_print(&lock, &text);
        assert_int_equal(ctune_lock_parse(&ctx, "x", ctune_text_get(&text), &lock), CTUNE_OK);
        assert_true(fabs(lock.entry[0].tuned_ns - times[i]) <= 1e-3 * times[i] + 1e-3);
        print_is(&lock, ctune_text_get(&text));
        ctune_text_clear(&text);
        ctune_lock_clear(&lock);
    }
}

static void test_files(void **state) {
    (void)state;
    char path[] = "/tmp/ctune-lock-XXXXXX";
    assert_non_null(mkdtemp(path));
    char file[64], left[64];
    snprintf(file, sizeof file, "%s/ctune.lock", path);
    snprintf(left, sizeof left, "%s/ctune.lock.lk", path);
    ctune_ctx ctx = {0};
    ctune_lock lock;
    ctune_lock_init(&lock);
    assert_int_equal(ctune_lock_read(&ctx, file, &lock), CTUNE_OK); /* missing: empty */
    assert_int_equal(lock.n, 0);
    ctune_lock_entry e = entry("a.c", "r", "t", "", "unroll i");
    assert_int_equal(ctune_lock_update(&ctx, file, &e, 1), CTUNE_OK);
    e = entry("a.c", "s", "t", "", "unroll i");
    assert_int_equal(ctune_lock_update(&ctx, file, &e, 1), CTUNE_OK);
    assert_int_equal(ctune_lock_read(&ctx, file, &lock), CTUNE_OK);
    assert_int_equal(lock.n, 2);
    assert_int_equal(access(left, F_OK), -1);
    /* A malformed file is not overwritten. */
    assert_int_equal(ctune_file_write(&ctx, file, "ctune-lock 1\nregion", 19), CTUNE_OK);
    assert_int_equal(ctune_lock_update(&ctx, file, &e, 1), CTUNE_EUSAGE);
    ctune_text text;
    ctune_text_init(&text);
    assert_int_equal(ctune_file_read(&ctx, file, &text), CTUNE_OK);
    assert_string_equal(ctune_text_get(&text), "ctune-lock 1\nregion");
    assert_int_equal(ctune_file_write(&ctx, file, "ctune-lock 1\n\0x", 15), CTUNE_OK);
    assert_int_equal(ctune_lock_read(&ctx, file, &lock), CTUNE_EUSAGE);
    assert_int_equal(ctune_lock_read(&ctx, path, &lock), CTUNE_EENV); /* a folder */
    assert_int_equal(ctune_lock_update(&ctx, "/nonexistent/ctune.lock", &e, 1), CTUNE_EENV);
    assert_int_equal(lock.n, 2);
    ctune_text_clear(&text);
    ctune_lock_clear(&lock);
    unlink(file);
    rmdir(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_line_ends_and_indentation_do_not_matter),
        cmocka_unit_test(test_set_sorts_and_replaces),
        cmocka_unit_test(test_bad_entries_are_refused),
        cmocka_unit_test(test_malformed_text_has_a_place_and_loses_nothing),
        cmocka_unit_test(test_every_truncation_is_an_error_or_a_whole_prefix),
        cmocka_unit_test(test_time_units_are_stable),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

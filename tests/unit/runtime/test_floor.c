/* The floor: arena, text, files, generator, hash, diagnostics, statistics, counters. */
#include "runtime/arena.h"
#include "runtime/counters.h"
#include "runtime/rng.h"
#include "runtime/stats.h"
#include "runtime/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    ctune_arena *arena = ctune_arena_create(NULL);
    assert_non_null(arena);
    for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
        unsigned char *p = ctune_arena_alloc(arena, bytes);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(p[i], 0);
        }
        memset(p, 0xff, bytes);
    }
    assert_string_equal(ctune_arena_strndup(arena, "abcdef", 3), "abc");
    assert_string_equal(ctune_arena_printf(arena, "%d-%s", 42, "x"), "42-x");
    assert_false(ctune_arena_has_failed(arena));
    ctune_arena_reset(arena);
    assert_string_equal(ctune_arena_strdup(arena, "again"), "again");
    ctune_arena_destroy(arena);
    ctune_arena_destroy(NULL);
}

static void arena_remembers_failure(void **state) {
    (void)state;
    ctune_arena *arena = ctune_arena_create(NULL);
    assert_null(ctune_arena_array(arena, SIZE_MAX / 2, 3)); /* the multiplication overflows */
    assert_true(ctune_arena_has_failed(arena));
    ctune_arena_reset(arena);
    assert_false(ctune_arena_has_failed(arena));
    ctune_arena_destroy(arena);

    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctx.alloc_fail_at = 2; /* the second chunk */
    arena = ctune_arena_create(&ctx);
    assert_non_null(ctune_arena_alloc(arena, 100));
    assert_null(ctune_arena_alloc(arena, 1 << 20));
    assert_true(ctune_arena_has_failed(arena));
    ctune_arena_destroy(arena);
    assert_true(ctune_arena_has_failed(NULL));
    assert_null(ctune_arena_alloc(NULL, 1));
}

static void text_grows_and_indents(void **state) {
    (void)state;
    ctune_text text;
    ctune_text_init(&text);
    assert_string_equal(ctune_text_get(&text), "");
    ctune_text_line(&text, "for (;;) {");
    text.indent = 2;
    ctune_text_line(&text, "x = %d;", 7);
    ctune_text_append_n(&text, "tail---", 4);
    assert_string_equal(ctune_text_get(&text), "for (;;) {\n        x = 7;\ntail");
    size_t before = text.len;
    for (int i = 0; i < 5000; i++) {
        ctune_text_printf(&text, "%04d", i);
    }
    assert_int_equal(text.len, before + 20000);
    assert_string_equal(text.data + text.len - 4, "4999");
    assert_false(text.failed);
    ctune_text_clear(&text);
    assert_null(text.data);
}

static void file_is_replaced_whole(void **state) {
    (void)state;
    char dir[] = "/tmp/ctune-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
    ctune_ctx ctx;
    ctune_text text;
    ctune_ctx_init(&ctx);
    ctune_text_init(&text);
    assert_int_equal(ctune_file_write(&ctx, path, "one\n", 4), CTUNE_OK);
    struct stat info;
    mode_t mask = umask(077); /* counts for new files, not for those that are replaced */
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(ctune_file_write(&ctx, path, "t\0wo\n", 5), CTUNE_OK);
    umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0664);
    assert_int_equal(ctune_file_read(&ctx, path, &text), CTUNE_OK);
    assert_int_equal(text.len, 5);
    assert_memory_equal(text.data, "t\0wo\n", 5);
    ctune_text_clear(&text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* and no temporary file is left */

    assert_int_equal(ctune_file_read(&ctx, path, &text), CTUNE_EENV);
    assert_non_null(strstr(ctx.error, path));
    assert_int_equal(ctune_file_write(&ctx, path, "x", 1), CTUNE_EENV);
    assert_non_null(strstr(ctx.error, "No such file"));
    ctune_text_clear(&text);
}

static void generator_is_fixed(void **state) {
    (void)state;
    ctune_rng rng;
    ctune_rng_init(&rng, 1234567);
    assert_true(ctune_rng_next(&rng) == 6457827717110365317u); /* published test vector */
    assert_true(ctune_rng_next(&rng) == 3203168211198807973u);
    int seen[7] = {0};
    for (int i = 0; i < 7000; i++) {
        seen[ctune_rng_below(&rng, 7)]++;
        double unit = ctune_rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
    }
    for (int i = 0; i < 7; i++) {
        assert_in_range(seen[i], 800, 1200);
    }
    assert_true(ctune_hash(CTUNE_HASH_INIT, "", 0) == 0xcbf29ce484222325u);
    assert_true(ctune_hash(CTUNE_HASH_INIT, "a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(ctune_hash(ctune_hash(CTUNE_HASH_INIT, "foo", 3), "bar", 3) == 0x85944171f73967e8u);
}

static void keep_count(void *user, const ctune_diag *diag) {
    (void)diag;
    ++*(int *)user;
}

static void diagnostics_are_formatted(void **state) {
    (void)state;
    char out[256];
    ctune_diag diag = {CTUNE_REMARK, "g.c", 12, 9, "bound-not-affine", "loop not tuned", "copy it"};
    ctune_diag_format(&diag, out, sizeof out);
    assert_string_equal(out, "g.c:12:9: remark: loop not tuned [bound-not-affine]\n"
                             "g.c:12:9: note: copy it\n");
    diag = (ctune_diag){.severity = CTUNE_ERROR, .text = "no file"};
    ctune_diag_format(&diag, out, sizeof out);
    assert_string_equal(out, "error: no file\n");
    assert_int_equal(ctune_diag_format(&diag, out, 5), 4); /* cut, still terminated */
    assert_string_equal(out, "erro");

    ctune_ctx ctx;
    int n = 0;
    ctune_ctx_init(&ctx);
    ctune_diag_send(&ctx, &diag); /* no sink */
    ctx.sink = keep_count;
    ctx.sink_user = &n;
    ctune_diag_send(&ctx, &diag);
    assert_int_equal(n, 1);
    assert_int_equal(ctx.n_errors, 2);
    assert_int_equal(ctune_fail(&ctx, CTUNE_EUSAGE, "bad %d", 3), CTUNE_EUSAGE);
    assert_string_equal(ctx.error, "bad 3");
    for (int i = 0; i <= CTUNE_ENOMEM; i++) {
        assert_true(strlen(ctune_status_name((ctune_status)i)) > 0);
    }
}

static void statistics(void **state) {
    (void)state;
    ctune_samples s;
    ctune_samples_init(&s);
    assert_true(ctune_samples_median(&s) == 0 && ctune_samples_best(&s) == 0);
    ctune_samples_append(&s, 30, true);
    assert_true(ctune_samples_median(&s) == 30); /* nothing better */
    ctune_samples_append(&s, 12, false);
    ctune_samples_append(&s, 10, false);
    ctune_samples_append(&s, 5, true);
    assert_int_equal(ctune_samples_count_clean(&s), 2);
    assert_true(ctune_samples_best(&s) == 10);
    assert_true(ctune_samples_median(&s) == 11);
    assert_true(ctune_samples_spread(&s) > 0.099 && ctune_samples_spread(&s) < 0.101);
    for (int i = 0; i < 2 * CTUNE_SAMPLES_MAX; i++) {
        ctune_samples_append(&s, 100 + i, false);
    }
    assert_int_equal(s.n, CTUNE_SAMPLES_MAX); /* the oldest are forgotten */
    assert_true(ctune_samples_best(&s) == 100 + CTUNE_SAMPLES_MAX);
    double values[] = {5, 1, 4};
    assert_true(ctune_median(values, 3) == 4);
}

static void counters_read(void **state) {
    (void)state;
    ctune_counter_values before, after, hardware;
    ctune_counters_read_software(&before);
    volatile char *page = malloc(1 << 22);
    assert_non_null((void *)page);
    for (int i = 0; i < 1 << 22; i += 4096) {
        page[i] = 1;
    }
    ctune_counters_read_software(&after);
    free((void *)page);
    assert_true(after.value[CTUNE_COUNTER_MINOR_FAULTS] > before.value[CTUNE_COUNTER_MINOR_FAULTS]);
    assert_int_equal(after.value[CTUNE_COUNTER_CYCLES], CTUNE_COUNTER_MISSING);
    ctune_counters *counters = ctune_counters_create(); /* NULL on machines without any */
    ctune_counters_read(counters, &hardware);
    for (int i = 0; i < CTUNE_N_COUNTERS; i++) {
        bool has = ctune_counters_has(counters, (ctune_counter)i);
        assert_int_equal(has, hardware.value[i] != CTUNE_COUNTER_MISSING);
    }
    ctune_counters_destroy(counters);
    assert_string_equal(ctune_counter_name(CTUNE_COUNTER_L1_MISSES), "l1-misses");
}

static void test_steady_times(void **state) {
    (void)state;
    assert_true(ctune_time_steady(10, 0, 5) == 10 && ctune_time_steady(10, 5, 0) == 10);
    assert_true(ctune_time_steady(10, 100, 100) == 10);
    assert_true(ctune_time_steady(10, 125, 100) == 8); /* the machine was slow */
    assert_true(ctune_time_steady(14, 1000, 100) == 14 / 1.4 &&
                ctune_time_steady(10, 1, 100) == 14);
    assert_true(isinf(ctune_time_steady(INFINITY, 125, 100)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_times),
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_remembers_failure),
        cmocka_unit_test(text_grows_and_indents),
        cmocka_unit_test(file_is_replaced_whole),
        cmocka_unit_test(generator_is_fixed),
        cmocka_unit_test(diagnostics_are_formatted),
        cmocka_unit_test(statistics),
        cmocka_unit_test(counters_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

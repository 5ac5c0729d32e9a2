/* Calibration: figures of a real run lie in sane ranges; what the program prints is not trusted. */
#include "runtime/calibrate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char good[] = "ghz 4\nfma 2\nfma_f64 2\nfma_latency 4\nloads 2\nstores 1\nl1 128\n"
                           "l2 60\nl3 27.5\nmemory 8\n";

static void test_parse(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_calibration c;
    assert_int_equal(ctune_calibration_parse(&ctx, good, &c), CTUNE_OK);
    assert_true(c.ghz == 4 && c.bytes_per_cycle[2] == 27.5 && c.bytes_per_cycle[3] == 8);
    for (size_t n = 0; n + 2 < sizeof good; n++) { /* an output that was cut */
        char text[sizeof good];
        memcpy(text, good, n);
        text[n] = '\0';
        ctune_calibration cut;
        ctune_status status = ctune_calibration_parse(&ctx, text, &cut);
        assert_true(status == CTUNE_EENV);
    }
    static const char *const bad[] = {"ghz 400\n", "ghz nan\n", "ghz -3\n", "ghz x\n", "ghz 3x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s%s", bad[i], strchr(good, '\n') + 1);
        assert_int_equal(ctune_calibration_parse(&ctx, text, &c), CTUNE_EENV);
        assert_non_null(strstr(ctx.error, "ghz"));
    }
}

/* Ranges are wide: they tell a wrong unit or an optimised-away loop, not a slow machine. */
static void test_run(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_calibration c;
    char folder[] = "/tmp/ctune-calibrate-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    static const char *const flags[] = {"-O3", "-ffast-math", "-std=c99", "-Wall", "-MD"};
    ctune_run_compiler compiler = {"gcc", 5, flags};
    const int64_t caches[3] = {32 << 10, 512 << 10, 8 << 20};
    ctune_status status = ctune_calibrate(&ctx, &compiler, 16, caches, folder, &c);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (status != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
    assert_true(c.ghz > 0.3 && c.ghz < 8);
    assert_true(c.fma_per_cycle > 0.1 && c.fma_per_cycle <= 6);
    assert_true(c.fma_f64_per_cycle > 0.1 && c.fma_f64_per_cycle <= 6);
    assert_true(c.fma_latency >= 2 && c.fma_latency < 40);
    assert_true(c.loads_per_cycle > 0.2 && c.loads_per_cycle <= 6);
    assert_true(c.stores_per_cycle > 0.1 && c.stores_per_cycle <= 6);
    assert_true(c.bytes_per_cycle[0] > 2 && c.bytes_per_cycle[0] < 300);
    assert_true(c.bytes_per_cycle[3] > 0.1 && c.bytes_per_cycle[3] < c.bytes_per_cycle[0]);
}

static void test_failures(void **state) {
    (void)state;
    ctune_ctx ctx = {0};
    ctune_calibration c;
    char folder[] = "/tmp/ctune-calibrate-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    const int64_t caches[3] = {32 << 10, 512 << 10, 8 << 20};
    ctune_run_compiler missing = {"no-such-compiler", 0, NULL};
    assert_int_equal(ctune_calibrate(&ctx, &missing, 16, caches, folder, &c), CTUNE_EENV);
    static const char *const flags[] = {"--no-such-flag"};
    ctune_run_compiler strict = {"gcc", 1, flags};
    assert_int_equal(ctune_calibrate(&ctx, &strict, 16, caches, folder, &c), CTUNE_EENV);
    assert_non_null(strstr(ctx.error, "no-such-flag"));
    ctune_run_compiler compiler = {"gcc", 0, NULL};
    assert_int_equal(ctune_calibrate(&ctx, &compiler, 16, caches, "/nonexistent", &c), CTUNE_EENV);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

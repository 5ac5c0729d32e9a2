/*
 * The child that tries a text: what its end means, and what is read from what it says.
 */
#include "plugin/shim/job.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void first_error(const char *said, int line, const char *text) {
    ctune_transform_failure failure;
    ctune_job_first_error(said, &failure);
    assert_int_equal(failure.line, line);
    assert_string_equal(failure.text, text);
}

static void test_first_error(void **state) {
    (void)state;
    first_error("", 0, "");
    first_error("a.c:3:5: error: no 'x'\n    3 | y\n      | ^\n", 3, "no 'x'");
    first_error("a.c: In function 'f':\na.c:3:5: warning: w\na.c:12: fatal error: f: g\n", 12,
                "f: g");
    first_error("it's: here/a:7.c:30:5: internal compiler error: Segmentation fault\nx", 30,
                "Segmentation fault");
    first_error("cc1: error: bad value", 0, "bad value");
    first_error(
        "a.c:8:13: error: stray '@'\n  8 | #define\na.c:2:9: note: in expansion of macro 'M'\n"
        "a.c:4: note: in expansion of macro 'L'\na.c:9:9: error: b\n"
        "a.c:5:1: note: in expansion of macro 'K'\n",
        4, "stray '@'");
    first_error("the compiler was ended by signal 11 (x)", 0,
                "the compiler was ended by signal 11 (x)");
    char wide[1000];
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    ctune_transform_failure failure;
    ctune_job_first_error(wide, &failure);
    assert_int_equal(strlen(failure.text), sizeof failure.text - 1);
}

/* What the child does; the parent's verdict, said in `said`. */
static ctune_job_verdict fork_and(void (*act)(void), char *said, size_t size) {
    ctune_job_verdict verdict = ctune_job_fork(said, size);
    if (verdict == CTUNE_JOB_IS_CHILD) {
        act();
        _exit(0);
    }
    return verdict;
}

static void speak(void) {
    printf("to nowhere\n");
    fflush(stdout);
    for (int i = 0; i < 100000; i++) {
        fprintf(stderr, "%d\n", i);
    }
}

static void give_up(void) {
    _exit(3);
}

static void crash(void) {
    raise(SIGKILL);
}

static void use_cpu(void) {
    ctune_job_limit_cpu(0); /* the second that has begun is left */
    for (volatile int i = 0;; i = i + 1) {
    }
}

static void test_fork(void **state) {
    (void)state;
    char said[64];
    assert_int_equal(fork_and(speak, said, sizeof said), CTUNE_JOB_COMPILES);
    assert_memory_equal(said, "0\n1\n2\n", 6);
    assert_int_equal(strlen(said), sizeof said - 1);
    assert_int_equal(fork_and(give_up, said, sizeof said), CTUNE_JOB_REFUSED);
    assert_string_equal(said, "");
    assert_int_equal(fork_and(crash, said, sizeof said), CTUNE_JOB_REFUSED);
    assert_non_null(strstr(said, "signal 9"));
    assert_int_equal(fork_and(use_cpu, said, sizeof said), CTUNE_JOB_REFUSED);
    assert_non_null(strstr(said, "signal"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

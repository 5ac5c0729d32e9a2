/*
 * The table of texts that the compiler has taken: what makes another key, and that a table that
 * cannot be read or written makes every text new. What is said once a build.
 */
#include "plugin/shim/seen.h"
#include "plugin/shim/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32], inner[64], table[96], said[96];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ctune-seen-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/.ctune-%lu", folder, (unsigned long)geteuid());
    snprintf(table, sizeof table, "%s/gcc-texts", inner);
    setenv("TMPDIR", folder, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    snprintf(said, sizeof said, "%s/said", inner);
    unlink(said);
    unlink(table);
    rmdir(inner);
    rmdir(folder);
    return 0;
}

static void test_keys(void **state) {
    (void)state;
    char *words[] = {"gcc", "-O2", "-c", "-O", "2-c"};
    uint64_t key = ctune_shim_seen_key("int a;", 6, 3, words);
    assert_true(key != 0);
    assert_true(key == ctune_shim_seen_key("int a;", 6, 3, words));
    assert_true(key != ctune_shim_seen_key("int b;", 6, 3, words));
    assert_true(key != ctune_shim_seen_key("int a;", 5, 3, words));
    assert_true(key != ctune_shim_seen_key("int a;", 6, 2, words));
    /* where a word ends counts */
    assert_true(ctune_shim_seen_key("", 0, 2, words + 1) !=
                ctune_shim_seen_key("", 0, 2, words + 3));
}

static void test_table(void **state) {
    (void)state;
    struct stat st;
    assert_false(ctune_shim_seen_has(1));
    assert_int_equal(access(table, F_OK), -1); /* looking makes nothing */
    for (uint64_t key = 1; key < 3000; key++) {
        ctune_shim_seen_add(key * 0x9e3779b97f4a7c15u);
    }
    assert_true(ctune_shim_seen_has(2999 * 0x9e3779b97f4a7c15u));
    assert_false(ctune_shim_seen_has(3000 * 0x9e3779b97f4a7c15u));
    assert_false(ctune_shim_seen_has(0x9e3779b97f4a7c15u + 8192)); /* the same place */
    assert_int_equal(stat(table, &st), 0);
    assert_true(st.st_size <= 8192 * 8);
    ctune_shim_seen_add(5);
    ctune_shim_seen_add(5 + 8192);
    assert_false(ctune_shim_seen_has(5)); /* the later one has the place */
    assert_true(ctune_shim_seen_has(5 + 8192));
}

static void test_no_place(void **state) {
    (void)state;
    setenv("TMPDIR", "/dev/null", 1);
    ctune_shim_seen_add(7);
    assert_false(ctune_shim_seen_has(7));
    assert_true(ctune_shim_once("word") && ctune_shim_once("word"));
    /* a folder that others may write to, or that is a link, is nobody's */
    setenv("TMPDIR", folder, 1);
    assert_int_equal(mkdir(inner, 0777), 0);
    assert_int_equal(chmod(inner, 0777), 0);
    ctune_shim_seen_add(7);
    assert_false(ctune_shim_seen_has(7));
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(symlink("/tmp", inner), 0);
    ctune_shim_seen_add(7);
    assert_false(ctune_shim_seen_has(7));
    assert_int_equal(unlink(inner), 0);
}

/* Within one build once; a process of another session is another build's. */
static void test_once(void **state) {
    (void)state;
    int status;
    assert_true(ctune_shim_once("a header"));
    assert_false(ctune_shim_once("a header"));
    assert_true(ctune_shim_once("another"));
    pid_t pid = fork();
    if (pid == 0) {
        bool is_same = !ctune_shim_once("a header");
        bool is_other = setsid() > 0 && ctune_shim_once("a header");
        _exit(is_same && is_other ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(ctune_shim_once("a header"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test_setup_teardown(test_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Facts of targets: text, keys, and the calibration file. */
#include "search/facts/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    char folder[64], path[128];
    ctune_ctx ctx;
    ctune_target target;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/ctune-facts-XXXXXX");
    if (mkdtemp(f->folder) == NULL) {
        return -1;
    }
    snprintf(f->path, sizeof f->path, "%s/a/machine.txt", f->folder);
    f->target = (ctune_target){.cpu = "x86-64-v3",
                               .isa = "avx2",
                               .vector_bytes = 32,
                               .n_threads = 3,
                               .compiler = "gcc 12",
                               .cache_bytes = {48 << 10, 2 << 20, 16 << 20},
                               .host = "znver5"};
    setenv("CTUNE_MACHINE", f->path, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    unsetenv("CTUNE_MACHINE");
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    int rc = system(command);
    free(f);
    return rc;
}

static void print(const ctune_target *facts, ctune_text *out) {
    ctune_text_init(out);
    ctune_target_facts_print(facts, out);
    assert_false(out->failed);
}

/* ---- text ------------------------------------------------------------------------------------ */
static void test_print_and_parse(void **state) {
    fixture *f = *state;
    ctune_target facts, again = {0};
    facts = f->target;
    ctune_target_complete(&facts);
    facts.ghz = 1.0 / 3;
    facts.rates.bytes_per_cycle[3] = 8.125;
    facts.is_measured = true;
    ctune_text text, second;
    print(&facts, &text);
    assert_int_equal(ctune_target_facts_parse(&f->ctx, "x", text.data, &again), CTUNE_OK);
    print(&again, &second);
    assert_string_equal(text.data, second.data);
    assert_true(again.is_gcc && again.is_measured && again.n_threads == 3);
    assert_string_equal(again.host, "znver5");
    ctune_text_clear(&text);
    ctune_text_clear(&second);
}

static void test_malformed_text(void **state) {
    fixture *f = *state;
    static const char *const bad[] = {
        "ghz\n",     "ghz x\n",          "ghz 1e300\n",   "ghz nan\n",   "ghz -1\n",
        "ghz 3 4\n", "vector_bytes 0\n", "threads 2.5\n", "is_gcc yes\n"};
    ctune_target facts;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        snprintf(text, sizeof text, "cores 7\n%s", bad[i]);
        facts = f->target;
        ctune_target_complete(&facts);
        int n_cores = facts.n_cores;
        assert_int_equal(ctune_target_facts_parse(&f->ctx, "x", text, &facts), CTUNE_EUSAGE);
        assert_non_null(strstr(f->ctx.error, "x:2: "));
        assert_int_equal(facts.n_cores, n_cores); /* nothing was set */
    }
    char text[400];
    snprintf(text, sizeof text, "cpu %0300d\n", 1);
    assert_int_equal(ctune_target_facts_parse(&f->ctx, "x", text, &facts), CTUNE_EUSAGE);
    assert_int_equal(
        ctune_target_facts_parse(&f->ctx, "x", "warp_size 32\n\ncores 7\r\ncpu", &facts), CTUNE_OK);
    assert_int_equal(facts.n_cores, 7);
    assert_string_equal(facts.cpu, "");
}

/* ---- keys ------------------------------------------------------------------------------------ */
static void test_keys(void **state) {
    fixture *f = *state;
    ctune_target facts, own;
    char key[256];
    ctune_target_key(&f->target, key, sizeof key);
    ctune_target_from_key(key, &facts);
    own = f->target;
    ctune_target_complete(&own);
    assert_string_equal(facts.compiler, own.compiler);
    assert_string_equal(facts.cpu, own.cpu);
    assert_string_equal(facts.isa, own.isa);
    assert_true(facts.is_gcc && facts.n_threads == 3 && facts.vector_bytes == 32);
    assert_int_equal(facts.n_vector_regs, 16);
    ctune_target_from_key("clang 19 znver5 avx512 t1 0a0b0c0d", &facts);
    assert_true(!facts.is_gcc && facts.vector_bytes == 64 && facts.n_vector_regs == 32);
    static const char *const odd[] = {"", " ", "t", "a b", "clang", "x y z w v u t s r"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        ctune_target_from_key(odd[i], &facts);
        assert_true(facts.vector_bytes == 16 && facts.n_threads == 1 && facts.ghz > 0);
    }
    char *longest = malloc(5000);
    memset(longest, 'a', 4999);
    longest[4999] = '\0';
    ctune_target_from_key(longest, &facts);
    free(longest);
}

static void test_defaults(void **state) {
    fixture *f = *state;
    ctune_target facts = f->target, same;
    ctune_target_init(&same, 32, f->target.cache_bytes, 3);
    ctune_target_complete(&facts);
    assert_true(facts.ghz == same.ghz && facts.vector_bytes == same.vector_bytes &&
                facts.n_vector_regs == same.n_vector_regs &&
                facts.rates.fma_per_cycle == same.rates.fma_per_cycle &&
                facts.rates.fma_latency == same.rates.fma_latency &&
                facts.n_threads == same.n_threads &&
                facts.rates.loads_per_cycle == same.rates.loads_per_cycle &&
                facts.rates.stores_per_cycle == same.rates.stores_per_cycle);
    for (int i = 0; i < 4; i++) {
        assert_true(facts.rates.bytes_per_cycle[i] == same.rates.bytes_per_cycle[i]);
        assert_true(i == 3 || facts.cache_bytes[i] == same.cache_bytes[i]);
    }
}

/* ---- the calibration file -------------------------------------------------------------------- */
static void write_text(fixture *f, const char *text) {
    assert_int_equal(ctune_file_write(&f->ctx, f->path, text, strlen(text)), CTUNE_OK);
}

static void test_machine_file(void **state) {
    fixture *f = *state;
    ctune_target facts, read;
    facts = f->target;
    ctune_target_complete(&facts);
    facts.ghz = 4.25;
    facts.rates.loads_per_cycle = 3;
    facts.rates.bytes_per_cycle[1] = 62;
    facts.is_measured = true;
    assert_int_equal(ctune_machine_facts_write(&f->ctx, f->path, &facts), CTUNE_OK);
    ctune_machine_facts_get(&f->ctx, &f->target, &read);
    assert_true(read.is_measured && read.ghz == 4.25 && read.rates.loads_per_cycle == 3 &&
                read.rates.bytes_per_cycle[1] == 62);
    assert_true(read.cache_bytes[1] == 2 << 20 && read.n_threads == 3);
    ctune_target own = f->target; /* in place */
    ctune_machine_facts_get(&f->ctx, &own, &own);
    assert_true(own.is_measured && own.ghz == 4.25 && own.rates.bytes_per_cycle[1] == 62);
    assert_int_equal(f->ctx.n_warnings, 0);
    snprintf(f->target.isa, sizeof f->target.isa, "avx512"); /* another one's file */
    ctune_machine_facts_get(&f->ctx, &f->target, &read);
    assert_true(!read.is_measured && read.ghz != 4.25);
    assert_int_equal(f->ctx.n_warnings, 1);
}

static void test_implausible_file(void **state) {
    fixture *f = *state;
    static const struct {
        const char *text;
        int n_warnings;
    } rows[] = {
        {"", 1},
        {"ctune-machine 2\n", 1},
        {"ctune-machine 1", 1},
        {"ctune-machine 1x\nghz 4\n", 1},
        {"ctune-machine 1\nghz 400\nhost znver5\nisa avx2\nvector_bytes 32\n", 1},
        {"ctune-machine 1\nghz\nfma_per_cycle many\n", 2},
        {"ctune-machine 1\nmemory_bytes_per_cycle 500\n", 1}, /* faster than L3 */
        {"ctune-machine 1\nhost znver4\n", 1},
        {"ctune-machine 1\nvector_bytes 16\n", 1},
        {"ctune-machine 1\r\nghz 3\r\nnew_fact 1\r\n\r\n", 0},
    };
    ctune_target facts, plain;
    setenv("CTUNE_MACHINE", "", 1);
    ctune_machine_facts_get(&f->ctx, &f->target, &plain);
    setenv("CTUNE_MACHINE", f->path, 1);
    ctune_machine_facts_get(&f->ctx, &f->target, &facts); /* missing, though it was asked for */
    assert_int_equal(f->ctx.n_warnings, 1);
    assert_int_equal(ctune_machine_facts_write(&f->ctx, f->path, &plain), CTUNE_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f->ctx.n_warnings = 0;
        write_text(f, rows[i].text);
        ctune_machine_facts_get(&f->ctx, &f->target, &facts);
        assert_int_equal(f->ctx.n_warnings, rows[i].n_warnings);
        assert_memory_equal(&facts, &plain, sizeof facts);
    }
}

static void test_path(void **state) {
    fixture *f = *state;
    char path[256];
    unsetenv("CTUNE_MACHINE");
    setenv("XDG_CACHE_HOME", "/c", 1);
    snprintf(f->target.host, sizeof f->target.host, "a/../b c");
    ctune_machine_path(&f->target, path, sizeof path);
    assert_string_equal(path, "/c/ctune/machine-a_.._b_c-avx2.txt");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/h", 1);
    f->target.host[0] = '\0';
    ctune_machine_path(&f->target, path, sizeof path);
    assert_string_equal(path, "/h/.cache/ctune/machine-unknown-avx2.txt");
    ctune_machine_path(&f->target, path, 20); /* no room */
    assert_string_equal(path, "");
    unsetenv("HOME");
    ctune_machine_path(&f->target, path, sizeof path);
    assert_string_equal(path, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_print_and_parse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_malformed_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_machine_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_implausible_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_path, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Inside the runner, in this process: protocol round trips, inputs, canaries, comparison of every
 * element type; and the parent's helpers that need no child.
 */
#include "runtime/exec_private.h"
#include "runtime/run_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
    const char *type;
    int bytes;
} types[] = {
    {"bool", 1}, {"i8", 1},  {"u8", 1},  {"i16", 2}, {"u16", 2}, {"i32", 4},  {"u32", 4},
    {"i64", 8},  {"u64", 8}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"f80", 16},
};
enum { N_TYPES = sizeof types / sizeof *types };

static ctune_run_workload all_types(int extra_stride) {
    ctune_run_workload load;
    memset(&load, 0, sizeof load);
    load.n_params = 2;
    load.params[0] = 5;
    load.params[1] = -9000000000;
    load.n_tensors = N_TYPES;
    for (int i = 0; i < N_TYPES; i++) {
        ctune_run_tensor *t = &load.tensor[i];
        snprintf(t->type, sizeof t->type, "%s", types[i].type);
        t->elem_bytes = types[i].bytes;
        t->stride_bytes = types[i].bytes + extra_stride;
        t->rank = 2;
        t->extent[0] = 5;
        t->extent[1] = 7;
        t->n_elems = 35;
        t->is_written = true;
    }
    load.seed = 99;
    load.time_limit_s = 1;
    load.min_sample_ns = 1000;
    load.memory_limit_bytes = 12345678;
    return load;
}

static void workload_round_trip(void **state) {
    (void)state;
    ctune_run_workload load = all_types(3), back;
    ctune_run_setup setup = {.n_cpus = 2, .cpu = {3, 5}, .is_nonzero = true}, setup_back;
    load.bound_terms = 0.1;
    memset(&back, 0, sizeof back);
    memset(&setup_back, 0, sizeof setup_back);
    ctune_text text;
    ctune_text_init(&text);
    ctune_run_workload_print(&load, &setup, &text);
    char *save = NULL, *line = strtok_r(text.data, "\n", &save);
    assert_string_equal(line, CTUNE_RUN_PROTOCOL);
    bool is_end = false;
    while (!is_end) {
        line = strtok_r(NULL, "\n", &save);
        assert_non_null(line);
        assert_true(ctune_run_workload_parse(line, &back, &setup_back, &is_end));
    }
    assert_memory_equal(&load, &back, sizeof load);
    assert_memory_equal(&setup, &setup_back, sizeof setup);
    ctune_text_clear(&text);
    static const char *const bad[] = {"",       "tensor f32 4", "tensor f32 4 2 1 3 1 3",
                                      "cpus x", "limits 1",     "tensor f32 4 4 1 3 99 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(ctune_run_workload_parse(bad[i], &back, &setup_back, &is_end));
    }
}

static void result_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < CTUNE_N_RUN_OUTCOMES; i++) {
        ctune_run_result result = {(ctune_run_outcome)i, 1.5,        2.25, 1e9, 3,
                                   i % 2 == 1,           "two words"},
                         back;
        ctune_text text;
        int index;
        ctune_text_init(&text);
        ctune_run_result_print(i, &result, &text);
        text.data[text.len - 1] = '\0';
        assert_true(ctune_run_result_parse(text.data, &index, &back));
        assert_int_equal(index, i);
        assert_int_equal(back.outcome, i);
        assert_true(back.best_ns == 1.5 && back.median_ns == 2.25 && back.original_ns == 1e9);
        assert_int_equal(back.n_samples, 3);
        assert_int_equal(back.abandoned, result.abandoned);
        assert_string_equal(back.detail, "two words");
        ctune_text_clear(&text);
        ctune_run_outcome outcome;
        assert_true(
            ctune_run_outcome_parse(ctune_run_outcome_name((ctune_run_outcome)i), &outcome));
        assert_int_equal(outcome, i);
    }
    ctune_run_result back;
    int index;
    assert_false(ctune_run_result_parse("result 1 nonsense 1 1 1 1 0 ", &index, &back));
    assert_false(ctune_run_result_parse("start 1", &index, &back));
}

static ctune_exec *make_exec(const ctune_run_workload *load) {
    ctune_exec *exec = calloc(1, sizeof *exec);
    assert_non_null(exec);
    exec->load = *load;
    size_t bytes;
    assert_true(ctune_run_state_bytes(load, &bytes));
    ctune_run_state header;
    memset(&header, 0, sizeof header);
    header.magic = CTUNE_RUN_STATE_MAGIC;
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
    assert_int_equal(ctune_exec_tensors_create(exec, fd), CTUNE_OK);
    close(fd);
    return exec;
}

static void drop_exec(ctune_exec *exec) {
    for (int i = 0; i < exec->load.n_tensors; i++) {
        munmap(exec->tensor[i].map, exec->tensor[i].map_bytes);
        if (exec->tensor[i].pristine != NULL) {
            munmap(exec->tensor[i].pristine, exec->tensor[i].bytes);
        }
    }
    munmap(exec->state, exec->state_bytes);
    free(exec);
}

/* Any changed value byte is found in any type, strided or not; so are stores into the gaps and
 * around. */
static void changes_are_found(void **state) {
    (void)state;
    char detail[160];
    for (int extra = 0; extra <= 3; extra += 3) {
        ctune_run_workload load = all_types(extra);
        ctune_exec *exec = make_exec(&load);
        assert_true(ctune_exec_outputs_are_pristine(exec));
        ctune_exec_reference_store(exec);
        assert_true(ctune_exec_outputs_check(exec, detail, sizeof detail));
        for (int i = 0; i < N_TYPES; i++) {
            ctune_exec_tensor *t = &exec->tensor[i];
            assert_int_equal((uintptr_t)t->base % 64, 0);
            assert_true((size_t)(t->inner + t->inner_bytes - (t->base + t->bytes)) < 64);
            bool is_f80 = strcmp(types[i].type, "f80") == 0;
            size_t value_bytes = is_f80 ? 10 : (size_t)types[i].bytes;
            for (size_t k = 0; k < value_bytes; k++) {
                t->base[17 * t->shape->stride_bytes + k] ^= 1;
                assert_false(ctune_exec_outputs_check(exec, detail, sizeof detail));
                char place[64];
                snprintf(place, sizeof place, "tensor %d element [2][3]: ", i);
                assert_non_null(strstr(detail, place));
                assert_false(ctune_exec_outputs_are_pristine(exec));
                ctune_exec_tensors_restore(exec);
            }
            if (is_f80) {
                t->base[12] ^= 1; /* padding is nobody's */
                assert_true(ctune_exec_outputs_check(exec, detail, sizeof detail));
                ctune_exec_tensors_restore(exec);
            }
            if (extra > 0) {
                t->base[t->shape->elem_bytes] ^= 1;
                assert_false(ctune_exec_outputs_check(exec, detail, sizeof detail));
                ctune_exec_tensors_restore(exec);
            }
            assert_true(ctune_exec_canaries_check(exec, detail, sizeof detail));
            t->base[-1] ^= 1;
            assert_false(ctune_exec_canaries_check(exec, detail, sizeof detail));
            assert_non_null(strstr(detail, "store 1 bytes before its start"));
            assert_true(ctune_exec_canaries_check(exec, detail, sizeof detail));
            if (t->bytes % 64 != 0) {
                t->base[t->bytes] ^= 1;
                assert_false(ctune_exec_canaries_check(exec, detail, sizeof detail));
                assert_non_null(strstr(detail, "past its end"));
            }
        }
        drop_exec(exec);
    }
}

static void nan_equals_nan(void **state) {
    (void)state;
    char detail[160];
    ctune_run_workload load = all_types(0);
    ctune_exec *exec = make_exec(&load);
    float *f = (float *)exec->tensor[10].base;
    uint16_t *h = (uint16_t *)exec->tensor[9].base;
    float zero = 0;
    f[3] = NAN;
    f[4] = zero;
    h[2] = 0x7e01;
    ctune_exec_reference_store(exec);
    f[3] = -NAN;
    h[2] = 0xfe55;
    assert_true(ctune_exec_outputs_check(exec, detail, sizeof detail));
    f[4] = -zero; /* strict: other bits */
    assert_false(ctune_exec_outputs_check(exec, detail, sizeof detail));
    f[4] = NAN;
    assert_false(ctune_exec_outputs_check(exec, detail, sizeof detail));
    exec->load.bound_terms = 100;
    assert_false(ctune_exec_outputs_check(exec, detail, sizeof detail));
    f[4] = -zero;
    f[5] *= 1 + 30 * 0x1p-23f;
    assert_true(ctune_exec_outputs_check(exec, detail, sizeof detail));
    f[5] *= 1 + 400 * 0x1p-23f;
    assert_false(ctune_exec_outputs_check(exec, detail, sizeof detail));
    drop_exec(exec);
}

static void inputs_follow_the_seed(void **state) {
    (void)state;
    ctune_run_tensor t = {.type = "f64",
                          .elem_bytes = 8,
                          .stride_bytes = 8,
                          .rank = 2,
                          .extent = {6, 6},
                          .n_elems = 36};
    const ctune_run_workload load = {.n_tensors = 1};
    double a[36], b[36];
    ctune_exec_tensor_fill(&t, &load, 1, false, (unsigned char *)a);
    ctune_exec_tensor_fill(&t, &load, 1, false, (unsigned char *)b);
    assert_memory_equal(a, b, sizeof a);
    ctune_exec_tensor_fill(&t, &load, 2, false, (unsigned char *)b);
    assert_memory_not_equal(a, b, sizeof a);
    for (int i = 0; i < 36; i++) {
        double low = i % 7 == 0 ? 6.5 : 0.5;
        assert_true(a[i] >= low && a[i] < low + 1);
    }
    signed char bytes[36];
    ctune_run_tensor i8 = t;
    strcpy(i8.type, "i8");
    i8.elem_bytes = i8.stride_bytes = 1;
    ctune_exec_tensor_fill(&i8, &load, 1, false, (unsigned char *)bytes);
    for (int i = 0; i < 36; i++) {
        assert_true(bytes[i] >= -4 && bytes[i] <= 4);
    }
    ctune_exec_tensor_fill(&i8, &load, 1, true, (unsigned char *)bytes);
    for (int i = 0; i < 36; i++) {
        assert_true(bytes[i] != 0);
    }
}

static void flags_are_filtered(void **state) {
    (void)state;
    static const char *const in[] = {
        "-O3",        "-MD",      "-MF",    "x.d",           "-MFy.d",
        "-o",         "z.o",      "-c",     "-march=native", "-fplugin=/x/libctune-clang.so",
        "-flto=auto", "-fopenmp", "-mllvm", "-polly",        "-o"};
    static const char *const want[] = {"-O3", "-march=native", "-fopenmp", "-mllvm", "-polly"};
    const char *out[15];
    int n = ctune_run_flags_filter(15, in, out);
    assert_int_equal(n, 5);
    for (int i = 0; i < n; i++) {
        assert_string_equal(out[i], want[i]);
    }
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(ctune_run_threads_guess(n, out), 0);
    assert_int_equal(ctune_run_threads_guess(2, out), 1);
    static const char *const simd[] = {"-fopenmp-simd"};
    assert_int_equal(ctune_run_threads_guess(1, simd), 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    assert_int_equal(ctune_run_threads_guess(n, out), 3);
}

static void cpus_are_disjoint(void **state) {
    (void)state;
    for (int n_threads = 0; n_threads < 4; n_threads++) {
        run_cpus cpus;
        cpu_set_t both;
        ctune_run_cpus_choose(n_threads, &cpus);
        assert_true(cpus.n_measure >= 1);
        assert_int_equal(CPU_COUNT(&cpus.measure), cpus.n_measure);
        assert_int_equal(CPU_COUNT(&cpus.compile), cpus.n_compile);
        CPU_AND(&both, &cpus.measure, &cpus.compile);
        assert_int_equal(CPU_COUNT(&both), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workload_round_trip),    cmocka_unit_test(result_round_trip),
        cmocka_unit_test(changes_are_found),      cmocka_unit_test(nan_equals_nan),
        cmocka_unit_test(inputs_follow_the_seed), cmocka_unit_test(flags_are_filtered),
        cmocka_unit_test(cpus_are_disjoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

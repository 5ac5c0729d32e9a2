/*
 * Small regions that tests run on the fake devices, with the CPU code that emitted nests have in
 * their else branch. Included by one test program each.
 */
#ifndef CTUNE_TESTS_GPU_WORK_H
#define CTUNE_TESTS_GPU_WORK_H

#include "fake.h"
#include "runtime/gpu/gpu_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char told[1024]; /* by the library's error handler; the first of them */
static int n_told;
static _Atomic int n_on_device; /* regions that ran there */

static inline void on_error(const char *message) {
    if (n_told++ == 0) {
        snprintf(told, sizeof told, "%s", message);
    }
}

/* ---- kernels: the first arguments are arrays --------------------------------------------------
 */
static int32_t *words(void *arg, long long n) {
    uint64_t at;
    memcpy(&at, arg, sizeof at);
    return fake_pointer(at, (size_t)n * sizeof(int32_t));
}

static long long number(const void *arg) {
    long long value;
    memcpy(&value, arg, sizeof value);
    return value;
}

/* y += a x */
static void kernel_add(void *const *args, const unsigned grid[3], const unsigned block[3]) {
    long long n = number(args[2]), a = number(args[3]);
    int32_t *x = words(args[0], n), *y = words(args[1], n);
    for (long long i = 0; i < (long long)grid[0] * block[0] && i < n && x && y; i++) {
        y[i] = (int32_t)((uint32_t)y[i] + (uint32_t)a * (uint32_t)x[i]);
    }
}

/* x = a + i */
static void kernel_set(void *const *args, const unsigned grid[3], const unsigned block[3]) {
    long long n = number(args[1]), a = number(args[2]);
    int32_t *x = words(args[0], n);
    for (long long i = 0; i < (long long)grid[0] * block[0] && i < n && x; i++) {
        x[i] = (int32_t)(a + i);
    }
}

/* rows of n words, pitch words apart: x *= a */
static void kernel_scale(void *const *args, const unsigned grid[3], const unsigned block[3]) {
    (void)grid, (void)block;
    long long rows = number(args[1]), n = number(args[2]), pitch = number(args[3]);
    int32_t *x = words(args[0], (rows - 1) * pitch + n);
    for (long long i = 0; x && i < rows * n; i++) {
        int32_t *at = &x[i / n * pitch + i % n];
        *at = (int32_t)((uint32_t)*at * (uint32_t)number(args[4]));
    }
}

fake_kernel *fake_kernel_find(const char *name) {
    return strcmp(name, "add") == 0     ? kernel_add
           : strcmp(name, "set") == 0   ? kernel_set
           : strcmp(name, "scale") == 0 ? kernel_scale
                                        : NULL;
}

/* ---- regions ----------------------------------------------------------------------------------
 */
static const struct ctune_gpu_region work_region = {"work", "add set scale", "add set scale",
                                                    CTUNE_GPU_STRICT};

static inline struct ctune_gpu_array work_array(int32_t *x, long long n, unsigned flags) {
    size_t bytes = (size_t)n * sizeof *x;
    return (struct ctune_gpu_array){x, bytes, 1, bytes, bytes, flags};
}

static inline void work_launch(struct ctune_gpu *run, const char *name, size_t shared,
                               unsigned n_params, const long long *values) {
    const void *params[8];
    size_t sizes[8];
    for (unsigned i = 0; i < n_params; i++) {
        params[i] = &values[i];
        sizes[i] = sizeof values[i];
    }
    ctune_gpu_launch(run, name, (unsigned[3]){64, 1, 1}, (unsigned[3]){64, 1, 1}, shared, params,
                     sizes, n_params);
}

static inline bool work_end(struct ctune_gpu *run) {
    bool done = ctune_gpu_end(run) == 1;
    n_on_device += done;
    return done;
}

/* steps times y += a x, each in a launch */
static inline void work_add(int32_t *x, int32_t *y, long long n, long long a, int steps) {
    struct ctune_gpu_array arrays[] = {work_array(x, n, CTUNE_GPU_READ),
                                       work_array(y, n, CTUNE_GPU_READ | CTUNE_GPU_WRITE)};
    struct ctune_gpu *run = ctune_gpu_begin(&work_region, arrays, 2);
    for (int s = 0; run != NULL && s < steps; s++) {
        work_launch(run, "add", s == 1 ? 60000 : 0, 2, (long long[]){n, a});
    }
    if (run == NULL || !work_end(run)) {
        for (long long i = 0; i < n; i++) {
            y[i] = (int32_t)((uint32_t)y[i] + (uint32_t)(steps * a) * (uint32_t)x[i]);
        }
    }
}

static inline void work_set(int32_t *x, long long n, long long a) {
    struct ctune_gpu_array arrays[] = {work_array(x, n, CTUNE_GPU_WRITE)};
    struct ctune_gpu *run = ctune_gpu_begin(&work_region, arrays, 1);
    if (run != NULL) {
        work_launch(run, "set", 0, 2, (long long[]){n, a});
    }
    if (run == NULL || !work_end(run)) {
        for (long long i = 0; i < n; i++) {
            x[i] = (int32_t)(a + i);
        }
    }
}

static inline void work_scale(int32_t *x, long long rows, long long n, long long pitch,
                              long long a) {
    size_t size = sizeof *x;
    struct ctune_gpu_array arrays[] = {{x, (size_t)((rows - 1) * pitch + n) * size, (size_t)rows,
                                        (size_t)n * size, (size_t)pitch * size,
                                        CTUNE_GPU_READ | CTUNE_GPU_WRITE}};
    struct ctune_gpu *run = ctune_gpu_begin(&work_region, arrays, 1);
    if (run != NULL) {
        work_launch(run, "scale", 0, 4, (long long[]){rows, n, pitch, a});
    }
    if (run == NULL || !work_end(run)) {
        for (long long i = 0; i < rows * n; i++) {
            int32_t *at = &x[i / n * pitch + i % n];
            *at = (int32_t)((uint32_t)*at * (uint32_t)a);
        }
    }
}

/* A new process, as far as the library knows. api: cuda or opencl. */
static inline void work_begin(const char *api, const char *mode) {
    ctune_gpu_reset();
    fake_reset();
    setenv("CTUNE_GPU", mode, 1);
    setenv("CTUNE_GPU_API", api, 1);
    setenv("CTUNE_LIBCUDA", CTUNE_FAKE_CUDA, 1);
    setenv("CTUNE_NVRTC", CTUNE_FAKE_NVRTC, 1);
    setenv("CTUNE_LIBOPENCL", CTUNE_FAKE_OPENCL, 1);
    ctune_gpu_on_error(on_error);
    told[0] = '\0';
    n_told = n_on_device = 0;
}

#endif

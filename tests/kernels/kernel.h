/*
 * Driver shared by all kernels: data sets, arrays with reproducible contents, timing, a checksum of
 * the outputs.
 *
 * A kernel file holds, in this order: `void kernel_<name>(sizes, scalars, arrays)` with the pragma;
 * `sizes`, one row for each of MINI, SMALL, MEDIUM, LARGE (those of PolyBench/C 4.2.1 where the
 * kernel is one of its class); `setup`, which makes the arrays in order with KERNEL_FILL1 or
 * KERNEL_FILL2; `call`; and KERNEL_MAIN.
 *
 *     ./gemm [MINI|SMALL|MEDIUM|LARGE] [repetitions]
 *     gemm SMALL checksum 0123456789abcdef min 0.123456 ms median 0.130000 ms runs 3
 *
 * Each run starts from the same contents. The checksum (FNV-1a, 64 bits) covers the bytes of all
 * outputs after the first run, so that equal checksums mean bit-identical results; a later run that
 * ends differently is an error.
 */
#ifndef CTUNE_TESTS_KERNELS_KERNEL_H
#define CTUNE_TESTS_KERNELS_KERNEL_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L
#endif

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNEL_MAX_ARRAYS = 16, KERNEL_MAX_RUNS = 1000 };
enum { KERNEL_IN, KERNEL_OUT }; /* OUT: part of the checksum; scratch arrays are IN */

typedef struct kernel_run {
    const int *z; /* the chosen row of `sizes` */
    int n_arrays;
    void *data[KERNEL_MAX_ARRAYS];    /* in order of setup */
    void *initial[KERNEL_MAX_ARRAYS]; /* contents before each run */
    size_t bytes[KERNEL_MAX_ARRAYS];
    int is_output[KERNEL_MAX_ARRAYS];
} kernel_run;

/* One-dimensional array; `expr` gives element i. */
#define KERNEL_FILL1(r, role, type, n, expr)                                                       \
    do {                                                                                           \
        type *fill_ = kernel_array(r, role, sizeof(type), n, 1);                                   \
        for (long i = 0; i < (long)(n); i++) {                                                     \
            fill_[i] = (type)(expr);                                                               \
        }                                                                                          \
    } while (0)

/* Row-major n x m array; `expr` gives element (i, j). */
#define KERNEL_FILL2(r, role, type, n, m, expr)                                                    \
    do {                                                                                           \
        type *fill_ = kernel_array(r, role, sizeof(type), n, m);                                   \
        for (long i = 0; i < (long)(n); i++) {                                                     \
            for (long j = 0; j < (long)(m); j++) {                                                 \
                fill_[i * (long)(m) + j] = (type)(expr);                                           \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define KERNEL_MAIN(name)                                                                          \
    int main(int argc, char **argv) {                                                              \
        return kernel_main(name, sizes[0], (int)(sizeof sizes[0] / sizeof sizes[0][0]), setup,     \
                           call, argc, argv);                                                      \
    }

/* Reproducible number in [0, 1) with 20 significant bits. */
static inline double kernel_noise(long index) {
    uint32_t x = (uint32_t)index * 2654435761u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (double)(x >> 12) * 0x1p-20;
}

/* x, unknown to the compiler: a caller's constant must not make a special version of the kernel. */
static inline double kernel_scalar(double x) {
    volatile double hidden = x;
    return hidden;
}

static void *kernel_get_memory(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes > 0 ? bytes : 1) != 0) {
        fprintf(stderr, "out of memory\n");
        exit(3);
    }
    return p;
}

/* Returns the initial contents to fill. */
static void *kernel_array(kernel_run *r, int role, size_t elem_bytes, long n, long m) {
    size_t bytes;
    if (r->n_arrays == KERNEL_MAX_ARRAYS || n < 0 || m < 0 ||
        __builtin_mul_overflow((size_t)n, (size_t)m, &bytes) ||
        __builtin_mul_overflow(bytes, elem_bytes, &bytes)) {
        fprintf(stderr, "too many or too large arrays\n");
        exit(3);
    }
    int a = r->n_arrays++;
    r->bytes[a] = bytes;
    r->is_output[a] = role == KERNEL_OUT;
    r->data[a] = kernel_get_memory(bytes);
    r->initial[a] = kernel_get_memory(bytes);
    return r->initial[a];
}

static uint64_t kernel_checksum(const kernel_run *r) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int a = 0; a < r->n_arrays; a++) {
        const unsigned char *p = r->data[a];
        for (size_t i = 0; r->is_output[a] && i < r->bytes[a]; i++) {
            hash = (hash ^ p[i]) * 0x100000001b3u;
        }
    }
    return hash;
}

static double kernel_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int kernel_compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int kernel_main(const char *name, const int *sizes, int n_sizes, void (*setup)(kernel_run *),
                       void (*call)(kernel_run *), int argc, char **argv) {
    static const char *const datasets[] = {"MINI", "SMALL", "MEDIUM", "LARGE"};
    int dataset = argc > 1 ? -1 : 1;
    for (int d = 0; d < 4; d++) {
        if (argc > 1 && strcmp(argv[1], datasets[d]) == 0) {
            dataset = d;
        }
    }
    int n_runs = argc > 2 ? atoi(argv[2]) : 1;
    if (dataset < 0 || argc > 3 || n_runs < 1 || n_runs > KERNEL_MAX_RUNS) {
        fprintf(stderr, "usage: %s [MINI|SMALL|MEDIUM|LARGE] [repetitions 1..1000]\n", argv[0]);
        return 2;
    }
    kernel_run r = {.z = sizes + (long)dataset * n_sizes};
    setup(&r);

    static double ms[KERNEL_MAX_RUNS];
    uint64_t first = 0;
    for (int i_run = 0; i_run < n_runs; i_run++) {
        for (int a = 0; a < r.n_arrays; a++) {
            memcpy(r.data[a], r.initial[a], r.bytes[a]);
        }
        double begin = kernel_now_ms();
        call(&r);
        ms[i_run] = kernel_now_ms() - begin;
        if (i_run == 0) {
            first = kernel_checksum(&r);
        } else if (i_run == n_runs - 1 && kernel_checksum(&r) != first) {
            fprintf(stderr, "%s: the last run differs from the first\n", name);
            return 1;
        }
    }
    qsort(ms, (size_t)n_runs, sizeof ms[0], kernel_compare_times);
    printf("%s %s checksum %016" PRIx64 " min %.6f ms median %.6f ms runs %d\n", name,
           datasets[dataset], first, ms[0], ms[n_runs / 2], n_runs);
    for (int a = 0; a < r.n_arrays; a++) {
        free(r.data[a]);
        free(r.initial[a]);
    }
    return 0;
}

#endif

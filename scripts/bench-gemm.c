/*
 * bench-gemm: several implementations of C += A B in one process, interleaved.
 *
 * In: element type, m, n, k, then LABEL=PATH of shared objects that export
 *     void gemm(int m, int n, int k, T A[m][k], T B[k][n], T C[m][n])
 * OpenBLAS and BLIS are loaded with dlopen when they are installed, so that nothing is linked and
 * neither resolves the other's symbols. The first implementation is the reference for the
 * comparison of results. Out, one line each:  time LABEL <median ns of one call> <min ns> <samples>
 * same|differs|- peak <GFLOP/s of independent FMA chains> library LABEL <kernel that it picked> A
 * sample lasts at least 5 ms; each round measures every implementation once, and slow ones drop out
 * after 3 rounds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_IMPLS = 16, ROUNDS = 15, SLOW_ROUNDS = 3 };
static const double sample_ns = 5e6, slow_ns = 3e8;

typedef void gemm_f32_fn(int m, int n, int k, const float *a, const float *b, float *c);
typedef void gemm_f64_fn(int m, int n, int k, const double *a, const double *b, double *c);
typedef void cblas_sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha,
                            const float *a, int lda, const float *b, int ldb, float beta, float *c,
                            int ldc);
typedef void cblas_dgemm_fn(int order, int ta, int tb, int m, int n, int k, double alpha,
                            const double *a, int lda, const double *b, int ldb, double beta,
                            double *c, int ldc);
enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111 };

typedef struct impl {
    const char *label;
    void *symbol; /* gemm_*_fn, or cblas_*gemm_fn when is_cblas */
    int is_cblas;
    int n_samples;
    double ns[ROUNDS];
    const char *verdict; /* against the reference */
} impl;

typedef struct problem {
    int is_f64, m, n, k;
    void *a, *b, *c;
    size_t c_bytes;
} problem;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void impl_run(const impl *f, const problem *p) {
    if (f->is_cblas && p->is_f64) {
        ((cblas_dgemm_fn *)f->symbol)(CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_NO_TRANS, p->m, p->n,
                                      p->k, 1.0, p->a, p->k, p->b, p->n, 1.0, p->c, p->n);
    } else if (f->is_cblas) {
        ((cblas_sgemm_fn *)f->symbol)(CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_NO_TRANS, p->m, p->n,
                                      p->k, 1.0f, p->a, p->k, p->b, p->n, 1.0f, p->c, p->n);
    } else if (p->is_f64) {
        ((gemm_f64_fn *)f->symbol)(p->m, p->n, p->k, p->a, p->b, p->c);
    } else {
        ((gemm_f32_fn *)f->symbol)(p->m, p->n, p->k, p->a, p->b, p->c);
    }
}

/* Time of one call, from as many calls as a sample needs. */
static double impl_measure(const impl *f, const problem *p) {
    double begin = now_ns(), elapsed = 0;
    int n = 0;
    while (elapsed < sample_ns) {
        impl_run(f, p);
        n++;
        elapsed = now_ns() - begin;
    }
    return elapsed / n;
}

static void fill(void *data, long n, int is_f64, uint32_t seed) {
    for (long i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        double value = (double)(seed >> 8) * 0x1p-24 - 0.5;
        if (is_f64) {
            ((double *)data)[i] = value;
        } else {
            ((float *)data)[i] = (float)value;
        }
    }
}

static void *get_memory(long n, int is_f64) {
    void *p = NULL;
    if (posix_memalign(&p, 4096, (size_t)n * (is_f64 ? 8 : 4)) != 0) {
        fprintf(stderr, "bench-gemm: out of memory\n");
        exit(3);
    }
    return p;
}

/* ---- the machine's peak: independent chains of vector FMAs in registers  */
/* Compilers that prefer 32 bytes on such a target would halve the vectors: clang keeps them whole
 * where a function says so, gcc where they are written. */
#ifdef __AVX512F__
#define VECTOR_BYTES 64
enum { CHAINS = 16 };
#ifdef __clang__
#define WHOLE_VECTORS __attribute__((noinline, min_vector_width(512)))
#endif
#elif defined(__AVX__)
#define VECTOR_BYTES 32
enum { CHAINS = 12 };
#else
#define VECTOR_BYTES 16
enum { CHAINS = 12 };
#endif
#ifndef WHOLE_VECTORS
#define WHOLE_VECTORS __attribute__((noinline))
#endif

#define DEFINE_PEAK(name, type)                                                                    \
    WHOLE_VECTORS static double name(void) {                                                       \
        typedef type vec __attribute__((vector_size(VECTOR_BYTES)));                               \
        enum { LANES = VECTOR_BYTES / sizeof(type) };                                              \
        volatile type hidden = (type)0.5;                                                          \
        vec x, y, acc[CHAINS];                                                                     \
        for (int l = 0; l < LANES; l++) {                                                          \
            x[l] = hidden;                                                                         \
            y[l] = hidden;                                                                         \
        }                                                                                          \
        for (int c = 0; c < CHAINS; c++) {                                                         \
            acc[c] = x * (type)c;                                                                  \
        }                                                                                          \
        const long n = 2000000;                                                                    \
        double begin = now_ns();                                                                   \
        for (long i = 0; i < n; i++) {                                                             \
            _Pragma("GCC unroll 16") for (int c = 0; c < CHAINS; c++) {                            \
                acc[c] = acc[c] * x + y;                                                           \
            }                                                                                      \
        }                                                                                          \
        double ns = now_ns() - begin;                                                              \
        vec sum = acc[0];                                                                          \
        for (int c = 1; c < CHAINS; c++) {                                                         \
            sum += acc[c];                                                                         \
        }                                                                                          \
        hidden = sum[0];                                                                           \
        return 2.0 * LANES * CHAINS * (double)n / ns;                                              \
    }
DEFINE_PEAK(peak_f32, float)
DEFINE_PEAK(peak_f64, double)

/* ---- peers ----------------------------------------------------------- */
static void add_library(impl *impls, int *n, const char *label, const char *file, int is_f64) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("library %s missing\n", label);
        return;
    }
    void *symbol = dlsym(library, is_f64 ? "cblas_dgemm" : "cblas_sgemm");
    if (symbol == NULL || *n == MAX_IMPLS) {
        printf("library %s has no cblas\n", label);
        return;
    }
    void *core = dlsym(library, "openblas_get_corename");
    int (*arch_id)(void) = (int (*)(void))dlsym(library, "bli_arch_query_id");
    char *(*arch_name)(int) = (char *(*)(int))dlsym(library, "bli_arch_string");
    const char *name = core != NULL                           ? ((char *(*)(void))core)()
                       : arch_id != NULL && arch_name != NULL ? arch_name(arch_id())
                                                              : "unknown";
    printf("library %s %s\n", label, name);
    impls[(*n)++] = (impl){.label = label, .symbol = symbol, .is_cblas = 1, .verdict = "-"};
}

static int add_object(impl *impls, int *n, char *argument) {
    char *equals = strchr(argument, '=');
    if (equals == NULL || *n == MAX_IMPLS) {
        fprintf(stderr, "bench-gemm: '%s' is not LABEL=PATH\n", argument);
        return 0;
    }
    *equals = '\0';
    void *object = dlopen(equals + 1, RTLD_NOW | RTLD_LOCAL);
    void *symbol = object != NULL ? dlsym(object, "gemm") : NULL;
    if (symbol == NULL) {
        fprintf(stderr, "bench-gemm: %s\n", dlerror());
        return 0;
    }
    impls[(*n)++] = (impl){.label = argument, .symbol = symbol, .verdict = "-"};
    return 1;
}

/* Results of one call from the same C; the first implementation is the reference. */
static void verify(impl *impls, int n, const problem *p) {
    long count = (long)p->m * p->n;
    void *reference = get_memory(count, p->is_f64);
    for (int f = 0; f < n; f++) {
        fill(p->c, count, p->is_f64, 3);
        impl_run(&impls[f], p);
        if (f == 0) {
            memcpy(reference, p->c, p->c_bytes);
        }
        impls[f].verdict = memcmp(reference, p->c, p->c_bytes) == 0 ? "same" : "differs";
    }
    free(reference);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc < 6 || (strcmp(argv[1], "f32") != 0 && strcmp(argv[1], "f64") != 0)) {
        fprintf(stderr, "usage: bench-gemm f32|f64 M N K LABEL=OBJECT...\n");
        return 2;
    }
    problem p = {.is_f64 = strcmp(argv[1], "f64") == 0,
                 .m = atoi(argv[2]),
                 .n = atoi(argv[3]),
                 .k = atoi(argv[4])};
    if (p.m <= 0 || p.n <= 0 || p.k <= 0) {
        fprintf(stderr, "bench-gemm: sizes must be positive\n");
        return 2;
    }
    impl impls[MAX_IMPLS];
    int n_impls = 0;
    for (int i = 5; i < argc; i++) {
        if (!add_object(impls, &n_impls, argv[i])) {
            return 3;
        }
    }
    add_library(impls, &n_impls, "openblas", "libopenblas.so.0", p.is_f64);
    add_library(impls, &n_impls, "blis", "libblis.so.4", p.is_f64);

    p.a = get_memory((long)p.m * p.k, p.is_f64);
    p.b = get_memory((long)p.k * p.n, p.is_f64);
    p.c = get_memory((long)p.m * p.n, p.is_f64);
    p.c_bytes = (size_t)p.m * (size_t)p.n * (p.is_f64 ? 8 : 4);
    fill(p.a, (long)p.m * p.k, p.is_f64, 1);
    fill(p.b, (long)p.k * p.n, p.is_f64, 2);
    verify(impls, n_impls, &p);

    double peak[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        peak[round] = p.is_f64 ? peak_f64() : peak_f32();
        for (int f = 0; f < n_impls; f++) {
            if (round < SLOW_ROUNDS || impls[f].ns[0] < slow_ns) {
                impls[f].ns[impls[f].n_samples++] = impl_measure(&impls[f], &p);
            }
        }
    }
    qsort(peak, ROUNDS, sizeof peak[0], compare_doubles);
    printf("peak %.2f\n", peak[ROUNDS / 2]);
    for (int f = 0; f < n_impls; f++) {
        qsort(impls[f].ns, (size_t)impls[f].n_samples, sizeof(double), compare_doubles);
        printf("time %s %.0f %.0f %d %s\n", impls[f].label, impls[f].ns[impls[f].n_samples / 2],
               impls[f].ns[0], impls[f].n_samples, impls[f].verdict);
    }
    return 0;
}

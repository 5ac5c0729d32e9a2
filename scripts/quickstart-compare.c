/*
 * Original against tuned against OpenBLAS (loaded at run time when it is there), one process,
 * interleaved, medians.
 *
 * Prints the speed-up, the share of OpenBLAS, and whether original and tuned gave the same bytes.
 * Exit code 1 when they differ.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void gemm_original(int n, float *A, float *B, float *C);
void gemm_tuned(int n, float *A, float *B, float *C);

typedef void sgemm_fn(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);
static sgemm_fn *sgemm;

static void gemm_openblas(int n, float *A, float *B, float *C) {
    sgemm(101, 111, 111, n, n, n, 1, A, n, B, n, 1, C, n); /* row-major, nothing transposed */
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

enum { ROUNDS = 9, N_KINDS = 3 };

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1024;
    size_t elems = (size_t)n * (size_t)n;
    float *a = aligned_alloc(64, elems * 4), *b = aligned_alloc(64, elems * 4),
          *c0 = aligned_alloc(64, elems * 4);
    float *c[N_KINDS];
    void (*run[N_KINDS])(int, float *, float *, float *) = {gemm_original, gemm_tuned,
                                                            gemm_openblas};
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
    char *(*core)(void) = NULL;
    if (blas != NULL) {
        sgemm = (sgemm_fn *)dlsym(blas, "cblas_sgemm");
        core = (char *(*)(void))dlsym(blas, "openblas_get_corename");
    }
    int n_kinds = sgemm != NULL ? N_KINDS : N_KINDS - 1;
    srand(1);
    for (size_t i = 0; i < elems; i++) {
        a[i] = (float)rand() / (float)RAND_MAX - 0.5f;
        b[i] = (float)rand() / (float)RAND_MAX - 0.5f;
        c0[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    }
    double times[N_KINDS][ROUNDS];
    for (int k = 0; k < N_KINDS; k++) {
        c[k] = aligned_alloc(64, elems * 4);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < n_kinds; k++) {
            if (k == 0 && round >= 3) {
                times[k][round] = times[k][round - 3]; /* the slow one: three rounds are enough */
                continue;
            }
            memcpy(c[k], c0, elems * 4);
            double start = now_s();
            run[k](n, a, b, c[k]);
            times[k][round] = now_s() - start;
        }
    }
    double flops = 2.0 * n * (double)elems, median[N_KINDS];
    for (int k = 0; k < n_kinds; k++) {
        qsort(times[k], ROUNDS, sizeof(double), by_value);
        median[k] = times[k][ROUNDS / 2];
    }
    int same = memcmp(c[0], c[1], elems * 4) == 0;
    printf("gemm %d x %d x %d, float, one thread\n", n, n, n);
    printf("  original  %8.2f ms  %7.1f GFLOP/s\n", median[0] * 1e3, flops / median[0] * 1e-9);
    printf("  tuned     %8.2f ms  %7.1f GFLOP/s   %.1f times the original\n", median[1] * 1e3,
           flops / median[1] * 1e-9, median[0] / median[1]);
    if (n_kinds == N_KINDS) {
        printf("  OpenBLAS  %8.2f ms  %7.1f GFLOP/s   %s kernels; tuned reaches %.0f %% of it\n",
               median[2] * 1e3, flops / median[2] * 1e-9, core != NULL ? core() : "?",
               100 * median[2] / median[1]);
    } else {
        printf("  OpenBLAS  is not installed (scripts/quickstart --bench installs it)\n");
    }
    printf("results %s\n", same ? "identical" : "DIFFER");
    return same ? 0 : 1;
}

/*
 * The baseline of scripts/gpu-check: matrix products by cuBLAS, found by dlopen.
 *
 *   gpu-check-blas
 *
 * Out: "name value unit" a line on stdout. f32 is pedantic: no TF32. (cuBLAS cannot be kept off the
 * FP64 tensor cores of compute capability 8.0 and 9.0: its f64 is told as it is.) Exit code 0:
 * measured; 3: no library or device, the reason on stdout.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PEDANTIC = 2, N_ROUNDS = 7 };

/* X(name, symbol, parameters): the runtime's, then cuBLAS's */
#define RUNTIME(X)                                                                                 \
    X(cudaMalloc, "cudaMalloc", (void **, size_t))                                                 \
    X(cudaFree, "cudaFree", (void *))                                                              \
    X(cudaMemset, "cudaMemset", (void *, int, size_t))                                             \
    X(cudaEventCreate, "cudaEventCreate", (void **))                                               \
    X(cudaEventRecord, "cudaEventRecord", (void *, void *))                                        \
    X(cudaEventSynchronize, "cudaEventSynchronize", (void *))                                      \
    X(cudaEventElapsedTime, "cudaEventElapsedTime", (float *, void *, void *))
#define BLAS(X)                                                                                    \
    X(cublasCreate, "cublasCreate_v2", (void **))                                                  \
    X(cublasSetMathMode, "cublasSetMathMode", (void *, int))                                       \
    X(cublasSgemm, "cublasSgemm_v2",                                                               \
      (void *, int, int, int, int, int, const void *, const void *, int, const void *, int,        \
       const void *, void *, int))                                                                 \
    X(cublasDgemm, "cublasDgemm_v2",                                                               \
      (void *, int, int, int, int, int, const void *, const void *, int, const void *, int,        \
       const void *, void *, int))

#define POINTER(name, symbol, parameters) static int(*name) parameters;
RUNTIME(POINTER)
BLAS(POINTER)
#undef POINTER

static void *open_first(const char *const *names) {
    void *library = NULL;
    while (library == NULL && *names != NULL) {
        library = dlopen(*names++, RTLD_NOW | RTLD_GLOBAL);
    }
    return library;
}

static bool load(void) {
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12",
                                           "libcudart.so.11.0", NULL};
    static const char *const libraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                            NULL};
    void *runtime = open_first(runtimes), *blas = open_first(libraries);
    if (runtime == NULL || blas == NULL) {
        return false;
    }
    bool is_whole = true;
#define FROM_RUNTIME(name, symbol, parameters)                                                     \
    *(void **)&name = dlsym(runtime, symbol);                                                      \
    is_whole = is_whole && name != NULL;
#define FROM_BLAS(name, symbol, parameters)                                                        \
    *(void **)&name = dlsym(blas, symbol);                                                         \
    is_whole = is_whole && name != NULL;
    RUNTIME(FROM_RUNTIME)
    BLAS(FROM_BLAS)
    return is_whole;
}

/* Milliseconds of the fastest round; INFINITY: something failed. */
static double time_gemm(void *handle, bool is_f64, int n) {
    static const double one64 = 1, zero64 = 0;
    static const float one32 = 1, zero32 = 0;
    size_t bytes = (size_t)n * (size_t)n * (is_f64 ? 8 : 4);
    void *a = NULL, *b = NULL, *c = NULL, *event[2] = {NULL, NULL};
    bool ok = cudaMalloc(&a, bytes) == 0 && cudaMalloc(&b, bytes) == 0 &&
              cudaMalloc(&c, bytes) == 0 && cudaMemset(a, 0, bytes) == 0 &&
              cudaMemset(b, 0, bytes) == 0 && cudaEventCreate(&event[0]) == 0 &&
              cudaEventCreate(&event[1]) == 0;
    double best = INFINITY;
    for (int i = 0; ok && i < N_ROUNDS; i++) {
        float ms = 0;
        ok = cudaEventRecord(event[0], NULL) == 0;
        int status = is_f64 ? cublasDgemm(handle, 0, 0, n, n, n, &one64, a, n, b, n, &zero64, c, n)
                            : cublasSgemm(handle, 0, 0, n, n, n, &one32, a, n, b, n, &zero32, c, n);
        ok = ok && status == 0 && cudaEventRecord(event[1], NULL) == 0 &&
             cudaEventSynchronize(event[1]) == 0 &&
             cudaEventElapsedTime(&ms, event[0], event[1]) == 0;
        best = ok && i > 0 ? fmin(best, ms) : best; /* the first one warms up */
    }
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return ok ? best : INFINITY;
}

int main(void) {
    void *handle = NULL;
    if (!load()) {
        printf("cublas none: no library\n");
        return 3;
    }
    if (cublasCreate(&handle) != 0 || cublasSetMathMode(handle, PEDANTIC) != 0) {
        printf("cublas none: no device\n");
        return 3;
    }
    static const int sizes[] = {1024, 2048, 4096};
    int n_failed = 0;
    for (int is_f64 = 0; is_f64 < 2; is_f64++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            double n = sizes[i], ms = time_gemm(handle, is_f64 != 0, sizes[i]);
            n_failed += !isfinite(ms);
            if (isfinite(ms)) {
                printf("cublas_%s_%d %.6g GFLOP/s\n", is_f64 ? "dgemm" : "sgemm", sizes[i],
                       2 * n * n * n / ms / 1e6);
            }
        }
    }
    return n_failed > 0;
}

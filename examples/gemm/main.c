/*
 * Calls gemm and prints its time and a checksum.
 *
 *     gemm [n]
 */
#include "../example.h"

void gemm(int n, float A[n][n], float B[n][n], float C[n][n]);

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1024;
    if (n < 1) {
        fprintf(stderr, "usage: gemm [n]\n");
        return 2;
    }
    size_t bytes = (size_t)n * n * sizeof(float);
    float *a = example_alloc(bytes), *b = example_alloc(bytes), *c = example_alloc(bytes);
    for (size_t i = 0; i < (size_t)n * n; i++) {
        a[i] = example_noise(i);
        b[i] = example_noise(i + 7);
        c[i] = 0;
    }
    EXAMPLE_RUN("gemm", gemm(n, (float(*)[n])a, (float(*)[n])b, (float(*)[n])c), c, bytes);
    free(a);
    free(b);
    free(c);
    return 0;
}

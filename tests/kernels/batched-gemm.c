/* batched-gemm: C[b] = A[b] B[b] for a batch of small matrices */
#include "kernel.h"

void kernel_batched_gemm(int nb, int m, int n, int k, float A[nb][m][k], float B[nb][k][n],
                         float C[nb][m][n]) {
#pragma tune sizes(nb=64, m=128, n=128, k=64)
    for (int b = 0; b < nb; b++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                C[b][i][j] = 0.0f;
                for (int p = 0; p < k; p++)
                    C[b][i][j] += A[b][i][p] * B[b][p][j];
            }
}

static const int sizes[4][4] = {
    {3, 8, 9, 7}, {8, 32, 32, 16}, {16, 64, 64, 64}, {64, 128, 128, 64}};

static void setup(kernel_run *r) {
    const int nb = r->z[0], m = r->z[1], n = r->z[2], k = r->z[3];
    KERNEL_FILL2(r, KERNEL_IN, float, nb *m, k, kernel_noise(i * k + j) - 0.5);
    KERNEL_FILL2(r, KERNEL_IN, float, nb *k, n, kernel_noise(i * n + j + 7) - 0.5);
    KERNEL_FILL2(r, KERNEL_OUT, float, nb *m, n, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_batched_gemm(z[0], z[1], z[2], z[3], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("batched-gemm")

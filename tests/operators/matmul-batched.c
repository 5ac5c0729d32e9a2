/* matmul-batched: many small matrix products */
#include "kernel.h"

void kernel_matmul_batched(int b, int m, int n, int k, float x[b][m][k], float y[b][k][n],
                           float z[b][m][n]) {
#pragma tune sizes(b=32, m=128, n=128, k=64)
    for (int t = 0; t < b; t++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0.0f;
                for (int p = 0; p < k; p++)
                    sum += x[t][i][p] * y[t][p][j];
                z[t][i][j] = sum;
            }
}

static const int sizes[4][4] = {{2, 5, 7, 9}, {3, 17, 19, 33}, {4, 32, 33, 34}, {32, 128, 128, 64}};

static void setup(kernel_run *r) {
    const int b = r->z[0], m = r->z[1], n = r->z[2], k = r->z[3];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)b *m *k, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)b *k *n, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)b *m *n, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_matmul_batched(z[0], z[1], z[2], z[3], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("matmul-batched")

/* syrk: C = beta C + alpha A A', lower triangle */
#include "kernel.h"

void kernel_syrk(int m, int n, double alpha, double beta, double C[n][n], double A[n][m]) {
#pragma tune sizes(m=1000, n=1200)
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
}

static const int sizes[4][2] = {{20, 30}, {60, 80}, {200, 240}, {1000, 1200}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_OUT, double, n, n, kernel_noise(i * n + j));
    KERNEL_FILL2(r, KERNEL_IN, double, n, m, kernel_noise(i * m + j + 7));
}

static void call(kernel_run *r) {
    kernel_syrk(r->z[0], r->z[1], kernel_scalar(1.5), kernel_scalar(1.2), r->data[0], r->data[1]);
}

KERNEL_MAIN("syrk")

/* trmm: B = alpha A' B, A unit lower triangular */
#include "kernel.h"

void kernel_trmm(int m, int n, double alpha, double A[m][m], double B[m][n]) {
#pragma tune sizes(m=1000, n=1200)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = i + 1; k < m; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        }
}

static const int sizes[4][2] = {{20, 30}, {60, 80}, {200, 240}, {1000, 1200}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, double, m, m, kernel_noise(i * m + j));
    KERNEL_FILL2(r, KERNEL_OUT, double, m, n, kernel_noise(i * n + j + 7));
}

static void call(kernel_run *r) {
    kernel_trmm(r->z[0], r->z[1], kernel_scalar(1.5), r->data[0], r->data[1]);
}

KERNEL_MAIN("trmm")

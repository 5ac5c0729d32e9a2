/* symm: C = beta C + alpha A B, A symmetric with its lower triangle stored */
#include "kernel.h"

void kernel_symm(int m, int n, double alpha, double beta, double C[m][n], double A[m][m],
                 double B[m][n]) {
#pragma tune sizes(m=1000, n=1200)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                sum += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
        }
}

static const int sizes[4][2] = {{20, 30}, {60, 80}, {200, 240}, {1000, 1200}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_OUT, double, m, n, kernel_noise(i * n + j));
    KERNEL_FILL2(r, KERNEL_IN, double, m, m, kernel_noise(i * m + j + 7));
    KERNEL_FILL2(r, KERNEL_IN, double, m, n, kernel_noise(i * n + j + 13));
}

static void call(kernel_run *r) {
    kernel_symm(r->z[0], r->z[1], kernel_scalar(1.5), kernel_scalar(1.2), r->data[0], r->data[1],
                r->data[2]);
}

KERNEL_MAIN("symm")

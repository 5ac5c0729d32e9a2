/* gramschmidt: A = Q R by modified Gram-Schmidt */
#include "kernel.h"

void kernel_gramschmidt(int m, int n, double A[m][n], double R[n][n], double Q[m][n]) {
#pragma tune sizes(m=1000, n=1200)
    for (int k = 0; k < n; k++) {
        double norm = 0.0;
        for (int i = 0; i < m; i++)
            norm += A[i][k] * A[i][k];
        R[k][k] = sqrt(norm);
        for (int i = 0; i < m; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < n; j++) {
            R[k][j] = 0.0;
            for (int i = 0; i < m; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < m; i++)
                A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    }
}

static const int sizes[4][2] = {{20, 30}, {60, 80}, {200, 240}, {1000, 1200}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, double, m, n, kernel_noise(i * n + j) + (i == j ? 10.0 : 0.0));
    KERNEL_FILL2(r, KERNEL_OUT, double, n, n, 0);
    KERNEL_FILL2(r, KERNEL_OUT, double, m, n, 0);
}

static void call(kernel_run *r) {
    kernel_gramschmidt(r->z[0], r->z[1], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("gramschmidt")

/* atax: y = A' (A x) */
#include "kernel.h"

void kernel_atax(int m, int n, double A[m][n], double x[n], double y[n], double tmp[m]) {
#pragma tune sizes(m=1900, n=2100)
    {
        for (int i = 0; i < n; i++)
            y[i] = 0.0;
        for (int i = 0; i < m; i++) {
            tmp[i] = 0.0;
            for (int j = 0; j < n; j++)
                tmp[i] += A[i][j] * x[j];
            for (int j = 0; j < n; j++)
                y[j] += A[i][j] * tmp[i];
        }
    }
}

static const int sizes[4][2] = {{38, 42}, {116, 124}, {390, 410}, {1900, 2100}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, double, m, n, kernel_noise(i * n + j));
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 7));
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, m, 0);
}

static void call(kernel_run *r) {
    kernel_atax(r->z[0], r->z[1], r->data[0], r->data[1], r->data[2], r->data[3]);
}

KERNEL_MAIN("atax")

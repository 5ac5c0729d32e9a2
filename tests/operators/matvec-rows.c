/* matvec-rows: matrix times vector, row by row */
#include "kernel.h"

void kernel_matvec_rows(int n, int m, float a[n][m], float x[m], float y[n]) {
#pragma tune sizes(n=1024, m=1024)
    for (int i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int j = 0; j < m; j++)
            sum += a[i][j] * x[j];
        y[i] = sum;
    }
}

static const int sizes[4][2] = {{3, 10}, {9, 33}, {64, 200}, {1024, 1024}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *m, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, m, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, n, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_matvec_rows(z[0], z[1], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("matvec-rows")

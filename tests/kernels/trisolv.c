/* trisolv: solves L x = b, L lower triangular */
#include "kernel.h"

void kernel_trisolv(int n, double L[n][n], double x[n], double b[n]) {
#pragma tune sizes(n=2000)
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
}

static const int sizes[4][1] = {{40}, {120}, {400}, {2000}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL2(r, KERNEL_IN, double, n, n, kernel_noise(i * n + j) + (i == j ? n : 0));
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 7));
}

static void call(kernel_run *r) {
    kernel_trisolv(r->z[0], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("trisolv")

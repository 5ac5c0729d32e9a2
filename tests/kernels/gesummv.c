/* gesummv: y = alpha A x + beta B x */
#include "kernel.h"

void kernel_gesummv(int n, double alpha, double beta, double A[n][n], double B[n][n], double tmp[n],
                    double x[n], double y[n]) {
#pragma tune sizes(n=1300)
    for (int i = 0; i < n; i++) {
        tmp[i] = 0.0;
        y[i] = 0.0;
        for (int j = 0; j < n; j++) {
            tmp[i] += A[i][j] * x[j];
            y[i] += B[i][j] * x[j];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
}

static const int sizes[4][1] = {{30}, {90}, {250}, {1300}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL2(r, KERNEL_IN, double, n, n, kernel_noise(i * n + j));
    KERNEL_FILL2(r, KERNEL_IN, double, n, n, kernel_noise(i * n + j + 7));
    KERNEL_FILL1(r, KERNEL_IN, double, n, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
}

static void call(kernel_run *r) {
    kernel_gesummv(r->z[0], kernel_scalar(1.5), kernel_scalar(1.2), r->data[0], r->data[1],
                   r->data[2], r->data[3], r->data[4]);
}

KERNEL_MAIN("gesummv")

/* gemver: A += u1 v1' + u2 v2'; x += beta A' y + z; w += alpha A x */
#include "kernel.h"

void kernel_gemver(int n, double alpha, double beta, double A[n][n], double u1[n], double v1[n],
                   double u2[n], double v2[n], double w[n], double x[n], double y[n], double z[n]) {
#pragma tune sizes(n=2000)
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                x[i] += beta * A[j][i] * y[j];
        for (int i = 0; i < n; i++)
            x[i] += z[i];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                w[i] += alpha * A[i][j] * x[j];
    }
}

static const int sizes[4][1] = {{40}, {120}, {400}, {2000}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL2(r, KERNEL_OUT, double, n, n, kernel_noise(i * n + j));
    for (int v = 0; v < 4; v++) {
        KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 1000 * v));
    }
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 5000));
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 6000));
}

static void call(kernel_run *r) {
    kernel_gemver(r->z[0], kernel_scalar(1.5), kernel_scalar(1.2), r->data[0], r->data[1],
                  r->data[2], r->data[3], r->data[4], r->data[5], r->data[6], r->data[7],
                  r->data[8]);
}

KERNEL_MAIN("gemver")

/* mvt: x1 += A y1 and x2 += A' y2 */
#include "kernel.h"

void kernel_mvt(int n, double x1[n], double x2[n], double y1[n], double y2[n], double A[n][n]) {
#pragma tune sizes(n=2000)
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                x1[i] += A[i][j] * y1[j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                x2[i] += A[j][i] * y2[j];
    }
}

static const int sizes[4][1] = {{40}, {120}, {400}, {2000}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL1(r, KERNEL_OUT, double, n, kernel_noise(i));
    KERNEL_FILL1(r, KERNEL_OUT, double, n, kernel_noise(i + 7));
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 29));
    KERNEL_FILL2(r, KERNEL_IN, double, n, n, kernel_noise(i * n + j + 31));
}

static void call(kernel_run *r) {
    kernel_mvt(r->z[0], r->data[0], r->data[1], r->data[2], r->data[3], r->data[4]);
}

KERNEL_MAIN("mvt")

/* jacobi-2d: mean of five neighbours, back and forth between two arrays */
#include "kernel.h"

void kernel_jacobi_2d(int steps, int n, double A[n][n], double B[n][n]) {
#pragma tune sizes(steps=500, n=1300)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
    }
}

static const int sizes[4][2] = {{20, 30}, {40, 90}, {100, 250}, {500, 1300}};

static void setup(kernel_run *r) {
    const int n = r->z[1];
    for (int a = 0; a < 2; a++) {
        KERNEL_FILL2(r, KERNEL_OUT, double, n, n, 1.0 + kernel_noise(i * n + j + a));
    }
}

static void call(kernel_run *r) {
    kernel_jacobi_2d(r->z[0], r->z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("jacobi-2d")

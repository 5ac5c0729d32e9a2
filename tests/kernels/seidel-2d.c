/* seidel-2d: mean of nine neighbours in place (Gauss-Seidel) */
#include "kernel.h"

void kernel_seidel_2d(int steps, int n, double A[n][n]) {
#pragma tune sizes(steps=500, n=2000)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] +
                           A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) /
                          9.0;
}

static const int sizes[4][2] = {{20, 40}, {40, 120}, {100, 400}, {500, 2000}};

static void setup(kernel_run *r) {
    const int n = r->z[1];
    KERNEL_FILL2(r, KERNEL_OUT, double, n, n, 1.0 + kernel_noise(i * n + j));
}

static void call(kernel_run *r) {
    kernel_seidel_2d(r->z[0], r->z[1], r->data[0]);
}

KERNEL_MAIN("seidel-2d")

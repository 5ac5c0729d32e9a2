/* jacobi-1d: mean of three neighbours, back and forth between two arrays */
#include "kernel.h"

void kernel_jacobi_1d(int steps, int n, double A[n], double B[n]) {
#pragma tune sizes(steps=500, n=2000)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
    }
}

static const int sizes[4][2] = {{20, 30}, {40, 120}, {100, 400}, {500, 2000}};

static void setup(kernel_run *r) {
    for (int a = 0; a < 2; a++) {
        KERNEL_FILL1(r, KERNEL_OUT, double, r->z[1], 1.0 + kernel_noise(i + a));
    }
}

static void call(kernel_run *r) {
    kernel_jacobi_1d(r->z[0], r->z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("jacobi-1d")

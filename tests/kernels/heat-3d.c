/* heat-3d: heat equation in three dimensions, explicit steps between two arrays */
#include "kernel.h"

void kernel_heat_3d(int steps, int n, double A[n][n][n], double B[n][n][n]) {
#pragma tune sizes(steps=500, n=120)
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    B[i][j][k] = 0.125 * (A[i + 1][j][k] - 2.0 * A[i][j][k] + A[i - 1][j][k]) +
                                 0.125 * (A[i][j + 1][k] - 2.0 * A[i][j][k] + A[i][j - 1][k]) +
                                 0.125 * (A[i][j][k + 1] - 2.0 * A[i][j][k] + A[i][j][k - 1]) +
                                 A[i][j][k];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    A[i][j][k] = 0.125 * (B[i + 1][j][k] - 2.0 * B[i][j][k] + B[i - 1][j][k]) +
                                 0.125 * (B[i][j + 1][k] - 2.0 * B[i][j][k] + B[i][j - 1][k]) +
                                 0.125 * (B[i][j][k + 1] - 2.0 * B[i][j][k] + B[i][j][k - 1]) +
                                 B[i][j][k];
    }
}

static const int sizes[4][2] = {{20, 10}, {40, 20}, {100, 40}, {500, 120}};

static void setup(kernel_run *r) {
    const int n = r->z[1];
    for (int a = 0; a < 2; a++) {
        KERNEL_FILL2(r, KERNEL_OUT, double, n *n, n, 10.0 * kernel_noise(i * n + j));
    }
}

static void call(kernel_run *r) {
    kernel_heat_3d(r->z[0], r->z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("heat-3d")

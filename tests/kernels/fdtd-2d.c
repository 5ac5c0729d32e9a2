/* fdtd-2d: electromagnetic field in two dimensions by finite differences in the time domain (Yee)
 */
#include "kernel.h"

void kernel_fdtd_2d(int steps, int nx, int ny, double ex[nx][ny], double ey[nx][ny],
                    double hz[nx][ny], double source[steps]) {
#pragma tune sizes(steps=500, nx=1000, ny=1200)
    for (int t = 0; t < steps; t++) {
        for (int j = 0; j < ny; j++)
            ey[0][j] = source[t];
        for (int i = 1; i < nx; i++)
            for (int j = 0; j < ny; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < nx; i++)
            for (int j = 1; j < ny; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < nx - 1; i++)
            for (int j = 0; j < ny - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

static const int sizes[4][3] = {{20, 20, 30}, {40, 60, 80}, {100, 200, 240}, {500, 1000, 1200}};

static void setup(kernel_run *r) {
    const int steps = r->z[0], nx = r->z[1], ny = r->z[2];
    KERNEL_FILL2(r, KERNEL_OUT, double, nx, ny, kernel_noise(i * ny + j));
    KERNEL_FILL2(r, KERNEL_OUT, double, nx, ny, kernel_noise(i * ny + j + 7));
    KERNEL_FILL2(r, KERNEL_OUT, double, nx, ny, kernel_noise(i * ny + j + 13));
    KERNEL_FILL1(r, KERNEL_IN, double, steps, (double)i / steps);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_fdtd_2d(z[0], z[1], z[2], r->data[0], r->data[1], r->data[2], r->data[3]);
}

KERNEL_MAIN("fdtd-2d")

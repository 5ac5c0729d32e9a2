/* adi: heat equation in two dimensions by alternating direction implicit sweeps (Peaceman-Rachford)
 */
#include "kernel.h"

void kernel_adi(int steps, int n, double u[n][n], double v[n][n], double p[n][n], double q[n][n]) {
    const double h = 1.0 / n, dt = 1.0 / steps;
    const double m1 = 2.0 * dt / (h * h), m2 = dt / (h * h);
    const double a = -m1 / 2.0, b = 1.0 + m1, c = a;
    const double d = -m2 / 2.0, e = 1.0 + m2, f = d;
#pragma tune sizes(steps=500, n=1000)
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = v[0][i];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -c / (a * p[i][j - 1] + b);
                q[i][j] = (-d * u[j][i - 1] + (1.0 + 2.0 * d) * u[j][i] - f * u[j][i + 1] -
                           a * q[i][j - 1]) /
                          (a * p[i][j - 1] + b);
            }
            v[n - 1][i] = 1.0;
            for (int j = n - 2; j >= 1; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (int i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = u[i][0];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -f / (d * p[i][j - 1] + e);
                q[i][j] = (-a * v[i - 1][j] + (1.0 + 2.0 * a) * v[i][j] - c * v[i + 1][j] -
                           d * q[i][j - 1]) /
                          (d * p[i][j - 1] + e);
            }
            u[i][n - 1] = 1.0;
            for (int j = n - 2; j >= 1; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

static const int sizes[4][2] = {{20, 20}, {40, 60}, {100, 200}, {500, 1000}};

static void setup(kernel_run *r) {
    const int n = r->z[1];
    KERNEL_FILL2(r, KERNEL_OUT, double, n, n, (double)(i + n - j) / n);
    for (int a = 0; a < 3; a++) {
        KERNEL_FILL2(r, KERNEL_IN, double, n, n, 0);
    }
}

static void call(kernel_run *r) {
    kernel_adi(r->z[0], r->z[1], r->data[0], r->data[1], r->data[2], r->data[3]);
}

KERNEL_MAIN("adi")

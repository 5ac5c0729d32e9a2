/* bicg: s = A' r and q = A p, the two products of a BiCG step */
#include "kernel.h"

void kernel_bicg(int m, int n, double A[n][m], double s[m], double q[n], double p[m], double r[n]) {
#pragma tune sizes(m=1900, n=2100)
    {
        for (int j = 0; j < m; j++)
            s[j] = 0.0;
        for (int i = 0; i < n; i++) {
            q[i] = 0.0;
            for (int j = 0; j < m; j++) {
                s[j] += r[i] * A[i][j];
                q[i] += A[i][j] * p[j];
            }
        }
    }
}

static const int sizes[4][2] = {{38, 42}, {116, 124}, {390, 410}, {1900, 2100}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, double, n, m, kernel_noise(i * m + j));
    KERNEL_FILL1(r, KERNEL_OUT, double, m, 0);
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, m, kernel_noise(i + 7));
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 13));
}

static void call(kernel_run *r) {
    kernel_bicg(r->z[0], r->z[1], r->data[0], r->data[1], r->data[2], r->data[3], r->data[4]);
}

KERNEL_MAIN("bicg")

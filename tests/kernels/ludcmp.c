/* ludcmp: solves A x = b through A = L U, then L y = b, then U x = y */
#include "kernel.h"

void kernel_ludcmp(int n, double A[n][n], double b[n], double x[n], double y[n]) {
#pragma tune sizes(n=2000)
    {
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < i; j++) {
                double w = A[i][j];
                for (int k = 0; k < j; k++)
                    w -= A[i][k] * A[k][j];
                A[i][j] = w / A[j][j];
            }
            for (int j = i; j < n; j++) {
                double w = A[i][j];
                for (int k = 0; k < i; k++)
                    w -= A[i][k] * A[k][j];
                A[i][j] = w;
            }
        }
        for (int i = 0; i < n; i++) {
            double w = b[i];
            for (int j = 0; j < i; j++)
                w -= A[i][j] * y[j];
            y[i] = w;
        }
        for (int i = n - 1; i >= 0; i--) {
            double w = y[i];
            for (int j = i + 1; j < n; j++)
                w -= A[i][j] * x[j];
            x[i] = w / A[i][i];
        }
    }
}

static const int sizes[4][1] = {{40}, {120}, {400}, {2000}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL2(r, KERNEL_IN, double, n, n, kernel_noise(i * n + j) + (i == j ? n : 0));
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 7));
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
}

static void call(kernel_run *r) {
    kernel_ludcmp(r->z[0], r->data[0], r->data[1], r->data[2], r->data[3]);
}

KERNEL_MAIN("ludcmp")

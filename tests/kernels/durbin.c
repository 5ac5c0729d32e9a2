/* durbin: solves the Yule-Walker equations T y = -r, T the symmetric Toeplitz matrix of (1, r) */
#include "kernel.h"

void kernel_durbin(int n, double r[n], double y[n], double z[n]) {
    double alpha = -r[0];
    double beta = 1.0;
    y[0] = -r[0];
#pragma tune sizes(n=2000)
    for (int k = 1; k < n; k++) {
        beta = (1.0 - alpha * alpha) * beta;
        double sum = 0.0;
        for (int i = 0; i < k; i++)
            sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
}

static const int sizes[4][1] = {{40}, {120}, {400}, {2000}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    /* The sum of |r| stays below 1/2, so the Toeplitz matrix is positive definite. */
    KERNEL_FILL1(r, KERNEL_IN, double, n, 0.25 / (double)((i + 1) * (i + 1)));
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, n, 0);
}

static void call(kernel_run *r) {
    kernel_durbin(r->z[0], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("durbin")

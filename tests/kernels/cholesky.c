/* cholesky: A = L L' in place, A symmetric positive definite */
#include "kernel.h"

void kernel_cholesky(int n, double A[n][n]) {
#pragma tune sizes(n=2000)
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (int k = 0; k < i; k++)
            A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = sqrt(A[i][i]);
    }
}

static const int sizes[4][1] = {{40}, {120}, {400}, {2000}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    /* Symmetric with a dominant diagonal. */
    KERNEL_FILL2(r, KERNEL_OUT, double, n, n, kernel_noise(i + j) + (i == j ? n : 0));
}

static void call(kernel_run *r) {
    kernel_cholesky(r->z[0], r->data[0]);
}

KERNEL_MAIN("cholesky")

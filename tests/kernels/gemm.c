/* gemm: C = beta C + alpha A B */
#include "kernel.h"

void kernel_gemm(int ni, int nj, int nk, double alpha, double beta, double C[ni][nj],
                 double A[ni][nk], double B[nk][nj]) {
#pragma tune sizes(ni=1000, nj=1100, nk=1200)
    for (int i = 0; i < ni; i++) {
        for (int j = 0; j < nj; j++)
            C[i][j] *= beta;
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}

static const int sizes[4][3] = {{20, 25, 30}, {60, 70, 80}, {200, 220, 240}, {1000, 1100, 1200}};

static void setup(kernel_run *r) {
    const int *z = r->z;
    KERNEL_FILL2(r, KERNEL_OUT, double, z[0], z[1], kernel_noise(i * z[1] + j));
    KERNEL_FILL2(r, KERNEL_IN, double, z[0], z[2], kernel_noise(i * z[2] + j + 7));
    KERNEL_FILL2(r, KERNEL_IN, double, z[2], z[1], kernel_noise(i * z[1] + j + 13));
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_gemm(z[0], z[1], z[2], kernel_scalar(1.5), kernel_scalar(1.2), r->data[0], r->data[1],
                r->data[2]);
}

KERNEL_MAIN("gemm")

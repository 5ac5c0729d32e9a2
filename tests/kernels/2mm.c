/* 2mm: D = alpha A B C + beta D */
#include "kernel.h"

void kernel_2mm(int ni, int nj, int nk, int nl, double alpha, double beta, double tmp[ni][nj],
                double A[ni][nk], double B[nk][nj], double C[nj][nl], double D[ni][nl]) {
#pragma tune sizes(ni=800, nj=900, nk=1100, nl=1200)
    {
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nj; j++) {
                tmp[i][j] = 0.0;
                for (int k = 0; k < nk; k++)
                    tmp[i][j] += alpha * A[i][k] * B[k][j];
            }
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nl; j++) {
                D[i][j] *= beta;
                for (int k = 0; k < nj; k++)
                    D[i][j] += tmp[i][k] * C[k][j];
            }
    }
}

static const int sizes[4][4] = {
    {16, 18, 22, 24}, {40, 50, 70, 80}, {180, 190, 210, 220}, {800, 900, 1100, 1200}};

static void setup(kernel_run *r) {
    const int *z = r->z;
    KERNEL_FILL2(r, KERNEL_IN, double, z[0], z[1], 0);
    KERNEL_FILL2(r, KERNEL_IN, double, z[0], z[2], kernel_noise(i * z[2] + j));
    KERNEL_FILL2(r, KERNEL_IN, double, z[2], z[1], kernel_noise(i * z[1] + j + 7));
    KERNEL_FILL2(r, KERNEL_IN, double, z[1], z[3], kernel_noise(i * z[3] + j + 13));
    KERNEL_FILL2(r, KERNEL_OUT, double, z[0], z[3], kernel_noise(i * z[3] + j + 29));
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_2mm(z[0], z[1], z[2], z[3], kernel_scalar(1.5), kernel_scalar(1.2), r->data[0],
               r->data[1], r->data[2], r->data[3], r->data[4]);
}

KERNEL_MAIN("2mm")

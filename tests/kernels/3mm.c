/* 3mm: G = (A B) (C D) */
#include "kernel.h"

void kernel_3mm(int ni, int nj, int nk, int nl, int nm, double E[ni][nj], double A[ni][nk],
                double B[nk][nj], double F[nj][nl], double C[nj][nm], double D[nm][nl],
                double G[ni][nl]) {
#pragma tune sizes(ni=800, nj=900, nk=1000, nl=1100, nm=1200)
    {
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nj; j++) {
                E[i][j] = 0.0;
                for (int k = 0; k < nk; k++)
                    E[i][j] += A[i][k] * B[k][j];
            }
        for (int i = 0; i < nj; i++)
            for (int j = 0; j < nl; j++) {
                F[i][j] = 0.0;
                for (int k = 0; k < nm; k++)
                    F[i][j] += C[i][k] * D[k][j];
            }
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nl; j++) {
                G[i][j] = 0.0;
                for (int k = 0; k < nj; k++)
                    G[i][j] += E[i][k] * F[k][j];
            }
    }
}

static const int sizes[4][5] = {{16, 18, 20, 22, 24},
                                {40, 50, 60, 70, 80},
                                {180, 190, 200, 210, 220},
                                {800, 900, 1000, 1100, 1200}};

static void setup(kernel_run *r) {
    const int *z = r->z;
    KERNEL_FILL2(r, KERNEL_IN, double, z[0], z[1], 0);
    KERNEL_FILL2(r, KERNEL_IN, double, z[0], z[2], kernel_noise(i * z[2] + j));
    KERNEL_FILL2(r, KERNEL_IN, double, z[2], z[1], kernel_noise(i * z[1] + j + 7));
    KERNEL_FILL2(r, KERNEL_IN, double, z[1], z[3], 0);
    KERNEL_FILL2(r, KERNEL_IN, double, z[1], z[4], kernel_noise(i * z[4] + j + 13));
    KERNEL_FILL2(r, KERNEL_IN, double, z[4], z[3], kernel_noise(i * z[3] + j + 29));
    KERNEL_FILL2(r, KERNEL_OUT, double, z[0], z[3], 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_3mm(z[0], z[1], z[2], z[3], z[4], r->data[0], r->data[1], r->data[2], r->data[3],
               r->data[4], r->data[5], r->data[6]);
}

KERNEL_MAIN("3mm")

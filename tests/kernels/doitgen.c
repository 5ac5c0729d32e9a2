/* doitgen: each vector A[r][q][:] is multiplied by the matrix C4 */
#include "kernel.h"

void kernel_doitgen(int nr, int nq, int np, double A[nr][nq][np], double C4[np][np],
                    double sum[np]) {
#pragma tune sizes(nr=150, nq=140, np=160)
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++) {
            for (int p = 0; p < np; p++) {
                sum[p] = 0.0;
                for (int s = 0; s < np; s++)
                    sum[p] += A[r][q][s] * C4[s][p];
            }
            for (int p = 0; p < np; p++)
                A[r][q][p] = sum[p];
        }
}

static const int sizes[4][3] = {{10, 8, 12}, {25, 20, 30}, {50, 40, 60}, {150, 140, 160}};

static void setup(kernel_run *r) {
    const int *z = r->z;
    KERNEL_FILL2(r, KERNEL_OUT, double, z[0] * z[1], z[2], kernel_noise(i * z[2] + j));
    KERNEL_FILL2(r, KERNEL_IN, double, z[2], z[2], kernel_noise(i * z[2] + j + 7));
    KERNEL_FILL1(r, KERNEL_IN, double, z[2], 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_doitgen(z[0], z[1], z[2], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("doitgen")

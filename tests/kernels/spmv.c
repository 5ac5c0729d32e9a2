/* spmv: y = A x, A sparse in compressed rows. Bounds and subscripts are data: to be refused. */
#include "kernel.h"

void kernel_spmv(int n, int nnz, int row[n + 1], int col[nnz], double value[nnz], double x[n],
                 double y[n]) {
#pragma tune sizes(n=100000)
    for (int i = 0; i < n; i++) {
        y[i] = 0.0;
        for (int p = row[i]; p < row[i + 1]; p++)
            y[i] += value[p] * x[col[p]];
    }
}

/* n, entries in each row */
static const int sizes[4][2] = {{10, 3}, {1000, 5}, {20000, 9}, {100000, 27}};

static void setup(kernel_run *r) {
    const int n = r->z[0], per_row = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, int, n + 1, i * per_row);
    KERNEL_FILL1(r, KERNEL_IN, int, n *per_row, n *kernel_noise(i));
    KERNEL_FILL1(r, KERNEL_IN, double, n *per_row, kernel_noise(i + 7));
    KERNEL_FILL1(r, KERNEL_IN, double, n, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_OUT, double, n, 0);
}

static void call(kernel_run *r) {
    kernel_spmv(r->z[0], r->z[0] * r->z[1], r->data[0], r->data[1], r->data[2], r->data[3],
                r->data[4]);
}

KERNEL_MAIN("spmv")

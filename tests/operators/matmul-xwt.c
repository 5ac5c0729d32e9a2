/* matmul-xwt: x W^T: a linear layer */
#include "kernel.h"

void kernel_matmul_xwt(int m, int n, int k, float x[m][k], float weight[n][k], float y[m][n]) {
#pragma tune sizes(m=512, n=512, k=512)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int p = 0; p < k; p++)
                sum += x[i][p] * weight[j][p];
            y[i][j] = sum;
        }
}

static const int sizes[4][3] = {{5, 7, 9}, {17, 19, 33}, {64, 65, 66}, {512, 512, 512}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1], k = r->z[2];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)m *k, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *k, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)m *n, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_matmul_xwt(z[0], z[1], z[2], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("matmul-xwt")

/* matmul-u8s8: bytes to 32-bit sums, weights transposed: a quantised layer */
#include "kernel.h"

void kernel_matmul_u8s8(int m, int n, int k, uint8_t x[m][k], int8_t weight[n][k],
                        int32_t y[m][n]) {
#pragma tune sizes(m=512, n=512, k=512)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int32_t sum = 0;
            for (int p = 0; p < k; p++)
                sum += (int32_t)x[i][p] * (int32_t)weight[j][p];
            y[i][j] = sum;
        }
}

static const int sizes[4][3] = {{5, 7, 9}, {17, 19, 33}, {64, 65, 66}, {512, 512, 512}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1], k = r->z[2];
    KERNEL_FILL1(r, KERNEL_IN, uint8_t, (long)m *k, 256.0 * kernel_noise(i));
    KERNEL_FILL1(r, KERNEL_IN, int8_t, (long)n *k, 256.0 * kernel_noise(i + 7) - 128.0);
    KERNEL_FILL1(r, KERNEL_OUT, int32_t, (long)m *n, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_matmul_u8s8(z[0], z[1], z[2], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("matmul-u8s8")

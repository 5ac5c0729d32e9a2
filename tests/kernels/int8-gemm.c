/* int8-gemm: C += A B, 8-bit integers accumulated in 32 bits */
#include "kernel.h"

void kernel_int8_gemm(int m, int n, int k, int8_t A[m][k], int8_t B[k][n], int32_t C[m][n]) {
#pragma tune sizes(m=512, n=512, k=512)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int p = 0; p < k; p++)
                C[i][j] += (int32_t)A[i][p] * (int32_t)B[p][j];
}

static const int sizes[4][3] = {{13, 17, 19}, {64, 72, 80}, {200, 220, 240}, {512, 512, 512}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1], k = r->z[2];
    KERNEL_FILL2(r, KERNEL_IN, int8_t, m, k, 255.0 * kernel_noise(i * k + j) - 127.0);
    KERNEL_FILL2(r, KERNEL_IN, int8_t, k, n, 255.0 * kernel_noise(i * n + j + 7) - 127.0);
    KERNEL_FILL2(r, KERNEL_OUT, int32_t, m, n, i + j);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_int8_gemm(z[0], z[1], z[2], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("int8-gemm")

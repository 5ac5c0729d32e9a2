/* gelu: GELU, as its approximation by tanh */
#include "kernel.h"

void kernel_gelu(int n, int m, float x[n][m], float y[n][m]) {
#pragma tune sizes(n=512, m=1024)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float v = x[i][j];
            y[i][j] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
        }
}

static const int sizes[4][2] = {{3, 10}, {9, 33}, {64, 200}, {512, 1024}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *m, 8.0 * kernel_noise(i) - 4.0);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *m, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_gelu(z[0], z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("gelu")

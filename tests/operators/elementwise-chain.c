/* elementwise-chain: three element-wise steps over whole matrices */
#include "kernel.h"

void kernel_elementwise_chain(int n, int m, float a[n][m], float b[n][m], float y[n][m]) {
#pragma tune sizes(n=512, m=512)
    {
        float t[n][m], u[n][m];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                t[i][j] = a[i][j] * 1.5f + b[i][j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                u[i][j] = t[i][j] > 0.0f ? t[i][j] : 0.0f;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                y[i][j] = u[i][j] * a[i][j] - b[i][j];
    }
}

static const int sizes[4][2] = {{3, 10}, {9, 33}, {64, 200}, {512, 512}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *m, 8.0 * kernel_noise(i) - 4.0);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *m, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *m, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_elementwise_chain(z[0], z[1], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("elementwise-chain")

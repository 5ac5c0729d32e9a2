/* rms-norm: each row divided by the root of its mean square */
#include "kernel.h"

void kernel_rms_norm(int n, int m, float x[n][m], float gain[m], float y[n][m]) {
#pragma tune sizes(n=512, m=1024)
    for (int i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int j = 0; j < m; j++)
            sum += x[i][j] * x[i][j];
        for (int j = 0; j < m; j++)
            y[i][j] = x[i][j] * (1.0f / sqrtf(sum / m + 1e-5f)) * gain[j];
    }
}

static const int sizes[4][2] = {{3, 10}, {9, 33}, {64, 200}, {512, 1024}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *m, 8.0 * kernel_noise(i) - 4.0);
    KERNEL_FILL1(r, KERNEL_IN, float, m, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *m, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_rms_norm(z[0], z[1], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("rms-norm")

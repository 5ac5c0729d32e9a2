/* layer-norm: layer normalisation of each row */
#include "kernel.h"

void kernel_layer_norm(int n, int m, float x[n][m], float gain[m], float bias[m], float y[n][m]) {
#pragma tune sizes(n=512, m=1024)
    for (int i = 0; i < n; i++) {
        float mean = 0.0f;
        for (int j = 0; j < m; j++)
            mean += x[i][j];
        mean = mean / m;
        float variance = 0.0f;
        for (int j = 0; j < m; j++)
            variance += (x[i][j] - mean) * (x[i][j] - mean);
        float scale = 1.0f / sqrtf(variance / m + 1e-5f);
        for (int j = 0; j < m; j++)
            y[i][j] = (x[i][j] - mean) * scale * gain[j] + bias[j];
    }
}

static const int sizes[4][2] = {{3, 10}, {9, 33}, {64, 200}, {512, 1024}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *m, 8.0 * kernel_noise(i) - 4.0);
    KERNEL_FILL1(r, KERNEL_IN, float, m, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_IN, float, m, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *m, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_layer_norm(z[0], z[1], r->data[0], r->data[1], r->data[2], r->data[3]);
}

KERNEL_MAIN("layer-norm")

/* layernorm: each row to mean 0 and variance 1, then scaled and shifted */
#include "kernel.h"

void kernel_layernorm(int n, int m, float x[n][m], float gain[m], float bias[m], float y[n][m]) {
    const float count = (float)m;
#pragma tune sizes(n=1024, m=768)
    for (int i = 0; i < n; i++) {
        float mean = 0.0f;
        for (int j = 0; j < m; j++)
            mean += x[i][j];
        mean /= count;
        float variance = 0.0f;
        for (int j = 0; j < m; j++)
            variance += (x[i][j] - mean) * (x[i][j] - mean);
        variance /= count;
        float scale = 1.0f / sqrtf(variance + 1e-5f);
        for (int j = 0; j < m; j++)
            y[i][j] = (x[i][j] - mean) * scale * gain[j] + bias[j];
    }
}

static const int sizes[4][2] = {{8, 10}, {32, 96}, {128, 384}, {1024, 768}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, float, n, m, 8.0 * kernel_noise(i * m + j) - 4.0);
    KERNEL_FILL1(r, KERNEL_IN, float, m, 0.5 + kernel_noise(i + 7));
    KERNEL_FILL1(r, KERNEL_IN, float, m, kernel_noise(i + 13));
    KERNEL_FILL2(r, KERNEL_OUT, float, n, m, 0);
}

static void call(kernel_run *r) {
    kernel_layernorm(r->z[0], r->z[1], r->data[0], r->data[1], r->data[2], r->data[3]);
}

KERNEL_MAIN("layernorm")

/* attention-head: one attention head: softmax(q k^T / root d) v */
#include "kernel.h"

void kernel_attention_head(int n, int d, float q[n][d], float k[n][d], float v[n][d], float s[n][n],
                           float y[n][d]) {
    const float scale = 1.0f / sqrtf((float)d);
#pragma tune sizes(n=512, d=64)
    for (int i = 0; i < n; i++) {
        float best = -3.0e38f;
        for (int j = 0; j < n; j++) {
            float dot = 0.0f;
            for (int p = 0; p < d; p++)
                dot += q[i][p] * k[j][p];
            s[i][j] = dot * scale;
        }
        for (int j = 0; j < n; j++)
            best = s[i][j] > best ? s[i][j] : best;
        float sum = 0.0f;
        for (int j = 0; j < n; j++) {
            s[i][j] = expf(s[i][j] - best);
            sum += s[i][j];
        }
        for (int p = 0; p < d; p++) {
            float acc = 0.0f;
            for (int j = 0; j < n; j++)
                acc += s[i][j] * v[j][p];
            y[i][p] = acc / sum;
        }
    }
}

static const int sizes[4][2] = {{5, 4}, {17, 9}, {64, 32}, {512, 64}};

static void setup(kernel_run *r) {
    const int n = r->z[0], d = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *d, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *d, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *d, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *n, 0);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *d, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_attention_head(z[0], z[1], r->data[0], r->data[1], r->data[2], r->data[3], r->data[4]);
}

KERNEL_MAIN("attention-head")

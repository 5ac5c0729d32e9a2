/* batch-norm: batch normalisation with given statistics, NCHW */
#include "kernel.h"

void kernel_batch_norm(int n, int c, int h, int w, float x[n][c][h][w], float mean[c],
                       float variance[c], float gain[c], float bias[c], float y[n][c][h][w]) {
#pragma tune sizes(n=1, c=64, h=56, w=56)
    for (int b = 0; b < n; b++)
        for (int i = 0; i < c; i++)
            for (int p = 0; p < h; p++)
                for (int q = 0; q < w; q++)
                    y[b][i][p][q] =
                        (x[b][i][p][q] - mean[i]) / sqrtf(variance[i] + 1e-5f) * gain[i] + bias[i];
}

static const int sizes[4][4] = {{1, 3, 5, 7}, {1, 16, 14, 15}, {1, 32, 28, 28}, {1, 64, 56, 56}};

static void setup(kernel_run *r) {
    const int n = r->z[0], c = r->z[1], h = r->z[2], w = r->z[3];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *c *h *w, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, c, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_IN, float, c, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_IN, float, c, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_IN, float, c, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *c *h *w, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_batch_norm(z[0], z[1], z[2], z[3], r->data[0], r->data[1], r->data[2], r->data[3],
                      r->data[4], r->data[5]);
}

KERNEL_MAIN("batch-norm")

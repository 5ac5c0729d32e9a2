/* pool-avg: mean of each 3x3 window, stride 2, NCHW */
#include "kernel.h"

void kernel_pool_avg(int n, int c, int h, int w, float in[n][c][2 * h + 1][2 * w + 1],
                     float out[n][c][h][w]) {
#pragma tune sizes(n=1, c=64, h=56, w=56)
    for (int b = 0; b < n; b++)
        for (int i = 0; i < c; i++)
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++) {
                    float sum = 0.0f;
                    for (int dy = 0; dy < 3; dy++)
                        for (int dx = 0; dx < 3; dx++)
                            sum += in[b][i][2 * y + dy][2 * x + dx];
                    out[b][i][y][x] = sum / 9.0f;
                }
}

static const int sizes[4][4] = {{1, 3, 7, 9}, {1, 16, 14, 15}, {1, 32, 28, 28}, {1, 64, 56, 56}};

static void setup(kernel_run *r) {
    const int n = r->z[0], c = r->z[1], h = r->z[2], w = r->z[3];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *c * (2 * h + 1) * (2 * w + 1),
                 kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *c *h *w, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_pool_avg(z[0], z[1], z[2], z[3], r->data[0], r->data[1]);
}

KERNEL_MAIN("pool-avg")

/* conv-transposed: transposed convolution, NCHW, 3x3, stride 2, written as a scatter */
#include "kernel.h"

void kernel_conv_transposed(int n, int c, int k, int h, int w, float in[n][c][h][w],
                            float filter[c][k][3][3], float out[n][k][2 * h + 1][2 * w + 1]) {
#pragma tune sizes(n=1, c=64, k=32, h=28, w=28)
    for (int b = 0; b < n; b++)
        for (int i = 0; i < c; i++)
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++)
                    for (int o = 0; o < k; o++)
                        for (int dy = 0; dy < 3; dy++)
                            for (int dx = 0; dx < 3; dx++)
                                out[b][o][2 * y + dy][2 * x + dx] +=
                                    in[b][i][y][x] * filter[i][o][dy][dx];
}

static const int sizes[4][5] = {
    {1, 3, 4, 5, 6}, {1, 8, 8, 9, 10}, {1, 16, 16, 14, 14}, {1, 64, 32, 28, 28}};

static void setup(kernel_run *r) {
    const int n = r->z[0], c = r->z[1], k = r->z[2], h = r->z[3], w = r->z[4];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *c *h *w, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)k *c * 9, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *k * (2 * h + 1) * (2 * w + 1), 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_conv_transposed(z[0], z[1], z[2], z[3], z[4], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("conv-transposed")

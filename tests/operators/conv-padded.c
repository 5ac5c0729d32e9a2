/* conv-padded: convolution, NCHW, 3x3, padding as a condition */
#include "kernel.h"

void kernel_conv_padded(int n, int c, int k, int h, int w, float in[n][c][h][w],
                        float filter[k][c][3][3], float out[n][k][h][w]) {
#pragma tune sizes(n=1, c=64, k=64, h=56, w=56)
    for (int b = 0; b < n; b++)
        for (int o = 0; o < k; o++)
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++) {
                    float sum = 0.0f;
                    for (int i = 0; i < c; i++)
                        for (int dy = 0; dy < 3; dy++)
                            for (int dx = 0; dx < 3; dx++)
                                if (y + dy - 1 >= 0 && y + dy - 1 < h && x + dx - 1 >= 0 &&
                                    x + dx - 1 < w)
                                    sum += in[b][i][y + dy - 1][x + dx - 1] * filter[o][i][dy][dx];
                    out[b][o][y][x] = sum;
                }
}

static const int sizes[4][5] = {
    {1, 3, 4, 7, 9}, {1, 8, 8, 14, 15}, {1, 16, 16, 28, 28}, {1, 64, 64, 56, 56}};

static void setup(kernel_run *r) {
    const int n = r->z[0], c = r->z[1], k = r->z[2], h = r->z[3], w = r->z[4];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *c *h *w, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)k *c * 9, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *k *h *w, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_conv_padded(z[0], z[1], z[2], z[3], z[4], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("conv-padded")

/* conv-7x7: convolution, NCHW, 7x7, stride 2: the first layer of many networks */
#include "kernel.h"

void kernel_conv_7x7(int n, int c, int k, int h, int w, float in[n][c][2 * h + 5][2 * w + 5],
                     float filter[k][c][7][7], float out[n][k][h][w]) {
#pragma tune sizes(n=1, c=3, k=64, h=112, w=112)
    for (int b = 0; b < n; b++)
        for (int o = 0; o < k; o++)
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++) {
                    float sum = 0.0f;
                    for (int i = 0; i < c; i++)
                        for (int dy = 0; dy < 7; dy++)
                            for (int dx = 0; dx < 7; dx++)
                                sum += in[b][i][2 * y + dy][2 * x + dx] * filter[o][i][dy][dx];
                    out[b][o][y][x] = sum;
                }
}

static const int sizes[4][5] = {
    {1, 2, 3, 4, 5}, {1, 3, 8, 9, 10}, {1, 3, 16, 28, 28}, {1, 3, 64, 112, 112}};

static void setup(kernel_run *r) {
    const int n = r->z[0], c = r->z[1], k = r->z[2], h = r->z[3], w = r->z[4];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *c * (2 * h + 5) * (2 * w + 5),
                 kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)k *c * 49, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *k *h *w, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_conv_7x7(z[0], z[1], z[2], z[3], z[4], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("conv-7x7")

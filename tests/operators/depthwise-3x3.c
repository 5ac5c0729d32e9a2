/* depthwise-3x3: depthwise convolution, NCHW, 3x3, the sum in a variable */
#include "kernel.h"

void kernel_depthwise_3x3(int n, int c, int h, int w, float in[n][c][h + 2][w + 2],
                          float filter[c][3][3], float out[n][c][h][w]) {
#pragma tune sizes(n=1, c=128, h=56, w=56)
    for (int b = 0; b < n; b++)
        for (int i = 0; i < c; i++)
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++) {
                    float sum = 0.0f;
                    for (int dy = 0; dy < 3; dy++)
                        for (int dx = 0; dx < 3; dx++)
                            sum += in[b][i][y + dy][x + dx] * filter[i][dy][dx];
                    out[b][i][y][x] = sum;
                }
}

static const int sizes[4][4] = {{1, 3, 7, 9}, {1, 16, 14, 15}, {1, 32, 28, 28}, {1, 128, 56, 56}};

static void setup(kernel_run *r) {
    const int n = r->z[0], c = r->z[1], h = r->z[2], w = r->z[3];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *c *(h + 2) * (w + 2), kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, (long)c * 9, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *c *h *w, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_depthwise_3x3(z[0], z[1], z[2], z[3], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("depthwise-3x3")

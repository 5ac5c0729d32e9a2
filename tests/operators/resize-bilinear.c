/* resize-bilinear: bilinear resize by two, source places computed with a cast */
#include "kernel.h"

void kernel_resize_bilinear(int h, int w, float in[h][w], float out[2 * h][2 * w]) {
#pragma tune sizes(h=360, w=640)
    for (int y = 0; y < 2 * h; y++)
        for (int x = 0; x < 2 * w; x++) {
            int y0 = (int)(y * 0.5f), x0 = (int)(x * 0.5f);
            int y1 = y0 + 1 < h ? y0 + 1 : h - 1, x1 = x0 + 1 < w ? x0 + 1 : w - 1;
            float fy = y * 0.5f - y0, fx = x * 0.5f - x0;
            float top = in[y0][x0] * (1.0f - fx) + in[y0][x1] * fx;
            float bottom = in[y1][x0] * (1.0f - fx) + in[y1][x1] * fx;
            out[y][x] = top * (1.0f - fy) + bottom * fy;
        }
}

static const int sizes[4][2] = {{5, 7}, {20, 33}, {60, 80}, {360, 640}};

static void setup(kernel_run *r) {
    const int h = r->z[0], w = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)h *w, kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)4 * h * w, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_resize_bilinear(z[0], z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("resize-bilinear")

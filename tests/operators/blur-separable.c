/* blur-separable: 3x3 box blur as two passes over a temporary image */
#include "kernel.h"

void kernel_blur_separable(int h, int w, float in[h + 2][w + 2], float out[h][w]) {
#pragma tune sizes(h=720, w=1280)
    {
        float t[h + 2][w];
        for (int y = 0; y < h + 2; y++)
            for (int x = 0; x < w; x++)
                t[y][x] = (in[y][x] + in[y][x + 1] + in[y][x + 2]) / 3.0f;
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                out[y][x] = (t[y][x] + t[y + 1][x] + t[y + 2][x]) / 3.0f;
    }
}

static const int sizes[4][2] = {{7, 9}, {20, 33}, {100, 120}, {720, 1280}};

static void setup(kernel_run *r) {
    const int h = r->z[0], w = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)(h + 2) * (w + 2), kernel_noise(i + 13));
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)h *w, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_blur_separable(z[0], z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("blur-separable")

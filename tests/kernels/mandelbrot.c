/* mandelbrot: iterations until escape. The inner loop leaves early: to be refused. */
#include "kernel.h"

void kernel_mandelbrot(int h, int w, int limit, int count[h][w]) {
    const float step_y = 2.0f / (float)h, step_x = 3.0f / (float)w;
#pragma tune sizes(h=512, w=768, limit=256)
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            float cy = (float)i * step_y - 1.0f;
            float cx = (float)j * step_x - 2.0f;
            float re = 0.0f, im = 0.0f;
            int n = 0;
            for (int k = 0; k < limit; k++) {
                float next = re * re - im * im + cx;
                im = 2.0f * re * im + cy;
                re = next;
                if (re * re + im * im > 4.0f)
                    break;
                n = n + 1;
            }
            count[i][j] = n;
        }
}

static const int sizes[4][3] = {{16, 24, 32}, {64, 96, 64}, {256, 384, 128}, {512, 768, 256}};

static void setup(kernel_run *r) {
    KERNEL_FILL2(r, KERNEL_OUT, int, r->z[0], r->z[1], 0);
}

static void call(kernel_run *r) {
    kernel_mandelbrot(r->z[0], r->z[1], r->z[2], r->data[0]);
}

KERNEL_MAIN("mandelbrot")

/* bilateral: edge-preserving filter, weights fall with distance and with difference of brightness
 */
#include "kernel.h"

void kernel_bilateral(int h, int w, float falloff, float in[h + 4][w + 4], float near[5][5],
                      float out[h][w]) {
#pragma tune sizes(h=512, w=512)
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sum = 0.0f;
            float total = 0.0f;
            for (int dy = 0; dy < 5; dy++)
                for (int dx = 0; dx < 5; dx++) {
                    float diff = in[y + dy][x + dx] - in[y + 2][x + 2];
                    float weight = near[dy][dx] * expf(-falloff * diff * diff);
                    sum += weight * in[y + dy][x + dx];
                    total += weight;
                }
            out[y][x] = sum / total;
        }
}

static const int sizes[4][2] = {{12, 16}, {48, 64}, {128, 128}, {512, 512}};

static void setup(kernel_run *r) {
    const int h = r->z[0], w = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, float, h + 4, w + 4, kernel_noise(i * (w + 4) + j));
    KERNEL_FILL2(r, KERNEL_IN, float, 5, 5,
                 1.0 / (double)(1 + (i - 2) * (i - 2) + (j - 2) * (j - 2)));
    KERNEL_FILL2(r, KERNEL_OUT, float, h, w, 0);
}

static void call(kernel_run *r) {
    kernel_bilateral(r->z[0], r->z[1], (float)kernel_scalar(8.0), r->data[0], r->data[1],
                     r->data[2]);
}

KERNEL_MAIN("bilateral")

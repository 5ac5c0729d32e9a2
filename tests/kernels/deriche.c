/* deriche: smoothing by a recursive filter (Deriche), forwards and backwards along both axes of an
 * image */
#include "kernel.h"

void kernel_deriche(int w, int h, float alpha, float in[w][h], float out[w][h], float y1[w][h],
                    float y2[w][h]) {
    const float e1 = expf(-alpha), e2 = expf(-2.0f * alpha);
    const float k = (1.0f - e1) * (1.0f - e1) / (1.0f + 2.0f * alpha * e1 - e2);
    const float a1 = k, a2 = k * e1 * (alpha - 1.0f);
    const float a3 = k * e1 * (alpha + 1.0f), a4 = -k * e2;
    const float b1 = 2.0f * e1, b2 = -e2;
#pragma tune sizes(w=4096, h=2160)
    {
        for (int i = 0; i < w; i++) {
            float ym1 = 0.0f, ym2 = 0.0f, xm1 = 0.0f;
            for (int j = 0; j < h; j++) {
                y1[i][j] = a1 * in[i][j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
                xm1 = in[i][j];
                ym2 = ym1;
                ym1 = y1[i][j];
            }
        }
        for (int i = 0; i < w; i++) {
            float yp1 = 0.0f, yp2 = 0.0f, xp1 = 0.0f, xp2 = 0.0f;
            for (int j = h - 1; j >= 0; j--) {
                y2[i][j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
                xp2 = xp1;
                xp1 = in[i][j];
                yp2 = yp1;
                yp1 = y2[i][j];
            }
        }
        for (int i = 0; i < w; i++)
            for (int j = 0; j < h; j++)
                out[i][j] = y1[i][j] + y2[i][j];
        for (int j = 0; j < h; j++) {
            float tm1 = 0.0f, ym1 = 0.0f, ym2 = 0.0f;
            for (int i = 0; i < w; i++) {
                y1[i][j] = a1 * out[i][j] + a2 * tm1 + b1 * ym1 + b2 * ym2;
                tm1 = out[i][j];
                ym2 = ym1;
                ym1 = y1[i][j];
            }
        }
        for (int j = 0; j < h; j++) {
            float tp1 = 0.0f, tp2 = 0.0f, yp1 = 0.0f, yp2 = 0.0f;
            for (int i = w - 1; i >= 0; i--) {
                y2[i][j] = a3 * tp1 + a4 * tp2 + b1 * yp1 + b2 * yp2;
                tp2 = tp1;
                tp1 = out[i][j];
                yp2 = yp1;
                yp1 = y2[i][j];
            }
        }
        for (int i = 0; i < w; i++)
            for (int j = 0; j < h; j++)
                out[i][j] = y1[i][j] + y2[i][j];
    }
}

static const int sizes[4][2] = {{64, 64}, {192, 128}, {720, 480}, {4096, 2160}};

static void setup(kernel_run *r) {
    const int w = r->z[0], h = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, float, w, h, kernel_noise(i * h + j));
    KERNEL_FILL2(r, KERNEL_OUT, float, w, h, 0);
    KERNEL_FILL2(r, KERNEL_IN, float, w, h, 0);
    KERNEL_FILL2(r, KERNEL_IN, float, w, h, 0);
}

static void call(kernel_run *r) {
    kernel_deriche(r->z[0], r->z[1], (float)kernel_scalar(0.25), r->data[0], r->data[1], r->data[2],
                   r->data[3]);
}

KERNEL_MAIN("deriche")

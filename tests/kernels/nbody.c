/* nbody: gravitational acceleration of n bodies, softened */
#include "kernel.h"

void kernel_nbody(int n, float soft, float x[n], float y[n], float z[n], float mass[n], float ax[n],
                  float ay[n], float az[n]) {
#pragma tune sizes(n=4096)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float dx = x[j] - x[i];
            float dy = y[j] - y[i];
            float dz = z[j] - z[i];
            float d2 = dx * dx + dy * dy + dz * dz + soft;
            float pull = mass[j] / (d2 * sqrtf(d2));
            ax[i] += pull * dx;
            ay[i] += pull * dy;
            az[i] += pull * dz;
        }
}

static const int sizes[4][1] = {{30}, {200}, {1000}, {4096}};

static void setup(kernel_run *r) {
    for (int a = 0; a < 4; a++) {
        KERNEL_FILL1(r, KERNEL_IN, float, r->z[0], kernel_noise(i + 10000L * a));
    }
    for (int a = 0; a < 3; a++) {
        KERNEL_FILL1(r, KERNEL_OUT, float, r->z[0], 0);
    }
}

static void call(kernel_run *r) {
    kernel_nbody(r->z[0], (float)kernel_scalar(0.01), r->data[0], r->data[1], r->data[2],
                 r->data[3], r->data[4], r->data[5], r->data[6]);
}

KERNEL_MAIN("nbody")

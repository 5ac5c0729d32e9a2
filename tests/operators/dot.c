/* dot: inner product of two vectors */
#include "kernel.h"

void kernel_dot(int n, float a[n], float b[n], float result[1]) {
#pragma tune sizes(n=200000)
    for (int i = 0; i < n; i++)
        result[0] += a[i] * b[i];
}

static const int sizes[4][1] = {{10}, {100}, {5000}, {200000}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL1(r, KERNEL_IN, float, n, kernel_noise(i) - 0.5);
    KERNEL_FILL1(r, KERNEL_IN, float, n, kernel_noise(i + 7) - 0.5);
    KERNEL_FILL1(r, KERNEL_OUT, float, 1, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_dot(z[0], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("dot")

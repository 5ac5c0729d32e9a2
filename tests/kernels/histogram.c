/* histogram: counts of byte values. The subscript is data: to be refused. */
#include "kernel.h"

void kernel_histogram(int n, uint8_t data[n], int count[256]) {
#pragma tune sizes(n=1000000)
    for (int i = 0; i < n; i++)
        count[data[i]] += 1;
}

static const int sizes[4][1] = {{100}, {10000}, {1000000}, {10000000}};

static void setup(kernel_run *r) {
    KERNEL_FILL1(r, KERNEL_IN, uint8_t, r->z[0], 256.0 * kernel_noise(i));
    KERNEL_FILL1(r, KERNEL_OUT, int, 256, 0);
}

static void call(kernel_run *r) {
    kernel_histogram(r->z[0], r->data[0], r->data[1]);
}

KERNEL_MAIN("histogram")

/* softmax: of each row, made safe by subtracting the row's maximum */
#include "kernel.h"

void kernel_softmax(int n, int m, float x[n][m], float y[n][m]) {
#pragma tune sizes(n=1024, m=1000)
    for (int i = 0; i < n; i++) {
        float best = x[i][0];
        for (int j = 1; j < m; j++)
            best = x[i][j] > best ? x[i][j] : best;
        float sum = 0.0f;
        for (int j = 0; j < m; j++) {
            y[i][j] = expf(x[i][j] - best);
            sum += y[i][j];
        }
        for (int j = 0; j < m; j++)
            y[i][j] = y[i][j] / sum;
    }
}

static const int sizes[4][2] = {{8, 10}, {32, 100}, {128, 500}, {1024, 1000}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, float, n, m, 8.0 * kernel_noise(i * m + j) - 4.0);
    KERNEL_FILL2(r, KERNEL_OUT, float, n, m, 0);
}

static void call(kernel_run *r) {
    kernel_softmax(r->z[0], r->z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("softmax")

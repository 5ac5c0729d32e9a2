/* softmax-rows: softmax of each row, in three passes */
#include "kernel.h"

void kernel_softmax_rows(int n, int m, float x[n][m], float y[n][m]) {
#pragma tune sizes(n=512, m=1024)
    for (int i = 0; i < n; i++) {
        float best = x[i][0];
        for (int j = 1; j < m; j++)
            best = x[i][j] > best ? x[i][j] : best;
        float sum = 0.0f;
        for (int j = 0; j < m; j++) {
            float e = expf(x[i][j] - best);
            y[i][j] = e;
            sum += e;
        }
        float scale = 1.0f / sum;
        for (int j = 0; j < m; j++)
            y[i][j] = y[i][j] * scale;
    }
}

static const int sizes[4][2] = {{3, 10}, {9, 33}, {64, 200}, {512, 1024}};

static void setup(kernel_run *r) {
    const int n = r->z[0], m = r->z[1];
    KERNEL_FILL1(r, KERNEL_IN, float, (long)n *m, 8.0 * kernel_noise(i) - 4.0);
    KERNEL_FILL1(r, KERNEL_OUT, float, (long)n *m, 0);
}

static void call(kernel_run *r) {
    const int *z = r->z;
    kernel_softmax_rows(z[0], z[1], r->data[0], r->data[1]);
}

KERNEL_MAIN("softmax-rows")

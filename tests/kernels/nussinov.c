/* nussinov: most base pairs of an RNA sequence; table[i][j] is the best of the bases i..j */
#include "kernel.h"

void kernel_nussinov(int n, signed char seq[n], int table[n][n]) {
#pragma tune sizes(n=2500)
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            table[i][j] = table[i][j] > table[i][j - 1] ? table[i][j] : table[i][j - 1];
            table[i][j] = table[i][j] > table[i + 1][j] ? table[i][j] : table[i + 1][j];
            if (i < j - 1) {
                int paired = table[i + 1][j - 1] + (seq[i] + seq[j] == 3 ? 1 : 0);
                table[i][j] = table[i][j] > paired ? table[i][j] : paired;
            } else {
                table[i][j] = table[i][j] > table[i + 1][j - 1] ? table[i][j] : table[i + 1][j - 1];
            }
            for (int k = i + 1; k < j; k++) {
                int joined = table[i][k] + table[k + 1][j];
                table[i][j] = table[i][j] > joined ? table[i][j] : joined;
            }
        }
}

static const int sizes[4][1] = {{60}, {180}, {500}, {2500}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL1(r, KERNEL_IN, signed char, n, 4.0 * kernel_noise(i));
    KERNEL_FILL2(r, KERNEL_OUT, int, n, n, 0);
}

static void call(kernel_run *r) {
    kernel_nussinov(r->z[0], r->data[0], r->data[1]);
}

KERNEL_MAIN("nussinov")

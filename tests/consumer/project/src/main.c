/* Prints a checksum of whole numbers: it does not depend on how a compiler rounds. */
#include "mul.h"

#include <stdio.h>

static float a[64][64], b[64][64], c[64][64];

int main(void) {
    unsigned sum = (unsigned)other(0);
    for (int i = 0; i < 64 * 64; i++) {
        a[i / 64][i % 64] = (float)(i * 37 % 11);
        b[i / 64][i % 64] = (float)(i * 53 % 7);
    }
    mul(64, a, b, c);
    for (int i = 0; i < 64 * 64; i++) {
        sum = sum * 31 + (unsigned)c[i / 64][i % 64];
    }
    printf("%u\n", sum);
    return 0;
}

/* Which of two products is fused; differences; a product of its own; one that does not depend on the inner loop. */
#include <stdio.h>
#include <string.h>
enum { N = 80 * 80 };

__attribute__((noinline)) static void work(int n, const float *a, const float *b, float *c) {
#pragma tune sizes(n=64)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] -= a[i * n + j] * b[i * n + j];
            c[i * n + j] = a[i * n + j] * b[j * n + i] - a[j * n + i] * c[i * n + j] + a[i] * b[i] * 3.0f;
        }
}

int main(void) {
    static float a[N], b[N], c[N];
    unsigned h = 0;
    for (int n = 0; n < 70; n++) {
        for (int i = 0; i < N; i++) {
            a[i] = (float)(i * 7 % 13) / 3;
            b[i] = (float)(i * 5 % 11) / 7;
            c[i] = (float)(i * 3 % 17) / 9;
        }
        work(n, a, b, c);
        for (int i = 0; i < N; i++) {
            unsigned u;
            memcpy(&u, &c[i], 4);
            h = h * 31 + u;
        }
    }
    printf("%08x\n", h);
    return 0;
}

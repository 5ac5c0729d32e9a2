/* A static function that nothing calls: the file has no code of it. */
#include <stdio.h>
#include <string.h>
enum { N = 80 * 80 };

__attribute__((unused)) static void work(int n, const float *a, const float *b, float *c) {
#pragma tune sizes(n=64)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            c[i] += a[i * n + j] * b[j];
}

int main(void) {
    printf("nothing\n");
    return 0;
}

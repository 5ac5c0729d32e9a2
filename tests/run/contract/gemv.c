/* Sizes that the compiler sees, in main. */
#include <stdio.h>
#include <string.h>
#define N 130
static double A[N][N], B[N][N], T[N][N], x[N], y[N];
int main(void) {
    for (int i = 0; i < N; i++) { x[i] = (i * 77 % 101) / 101.0 - 0.4; y[i] = 0.1; for (int j = 0; j < N; j++) A[i][j] = (double)((i * 1103515245u + j * 12345u) % 10007u) / 10007.0 - 0.5, B[j][i] = A[i][j] * 0.7 + 0.01; }
#pragma tune
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) y[i] += A[i][j] * x[j];
    unsigned long long h = 0; for (int i = 0; i < N; i++) { for (int j = 0; j < N; j++) { unsigned long long u; memcpy(&u, &T[i][j], 8); h = h * 1099511628211ull + u; } unsigned long long u; memcpy(&u, &y[i], 8); h = h * 1099511628211ull + u; }
    printf("%016llx\n", h);
}

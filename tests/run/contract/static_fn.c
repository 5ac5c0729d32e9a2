/* A static function: the caller's constant may be propagated into it. */
#include <stdio.h>
#include <string.h>
#define N 130
static double A_[N][N], x_[N], y_[N];
__attribute__((noinline)) static void gemv(int n, double (*restrict A)[130], double *restrict x, double *restrict y) {
#pragma tune sizes(n=130)
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j];
}
int main(void) {
    for (int i = 0; i < N; i++) { x_[i] = (i * 77 % 101) / 101.0 - 0.4; y_[i] = 0.1; for (int j = 0; j < N; j++) A_[i][j] = (double)((i * 1103515245u + j * 12345u) % 10007u) / 10007.0 - 0.5; }
    gemv(N, A_, x_, y_);
    unsigned long long h = 0; for (int i = 0; i < N; i++) { unsigned long long u; memcpy(&u, &y_[i], 8); h = h * 1099511628211ull + u; }
    printf("%016llx\n", h);
}

/* A triangular nest in main with three statements. */
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#define N 130
static double A[N][N], T[N][N];
int main(void) {
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) A[i][j] = (double)((i * 1103515245u + j * 12345u) % 10007u) / 10007.0 - 0.5;
#pragma tune
    for (int i = 0; i < N; i++) for (int j = 0; j <= i; j++) { T[i][j] = 0; for (int k = j; k < N; k++) T[i][j] += A[i][k] * A[j][k]; T[j][i] = T[i][j]; }
    unsigned long long h = 0; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { unsigned long long u; memcpy(&u, &T[i][j], 8); h = h * 1099511628211ull + u; }
    printf("%016llx %.17g\n", h, T[77][11]);
}

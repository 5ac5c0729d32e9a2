# Threads from a number of instances on, copies made by all of them, turned copies, steps of a reduction in one: results are the
# original's below and above that number, with both compilers, with one thread and several.
. "$(dirname "$0")/lib.sh"

cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
void gemm(int m, int n, int k, float A[m][k], float B[k][n], float C[m][n]) {
#pragma tune schedule("split i 12 -> i1 i2; split j 16 -> j0 j1; split p 32 -> p0 p1; split p1 4 -> p1 p2; reorder p0 i1 j0 p1 p2 i2 j1; cache_read S0.0 at p0 pack; cache_read S0.1 at p0 pack; cache_write S0 at j0 register; unroll p2; unroll i2; vectorize j1; parallel i1")
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int p = 0; p < k; p++) C[i][j] += A[i][p] * B[p][j];
}
void rows(int m, int n, double A[m][n], double x[n], double y[m]) {
#pragma tune schedule("split i 16 -> i0 i1; split j 32 -> j0 j1; reorder i0 j0 j1 i1; cache_read S0.0 at j0 pack; cache_write S0 at j0 register; vectorize i1; parallel i0")
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j];
}
void steps(int t, int n, double A[t][n]) {
#pragma tune schedule("parallel i")
    for (int s = 1; s < t; s++)
        for (int i = 1; i < n; i++) A[s][i] = A[s - 1][i] * 0.5 + A[s - 1][i - 1];
}
int main(void) {
    static const int sizes[][3] = {{0, 3, 3}, {3, 5, 0}, {1, 1, 1}, {13, 17, 33}, {30, 50, 70}, {150, 130, 141}};
    unsigned long sum = 1;
    for (int c = 0; c < 6; c++) {
        int m = sizes[c][0], n = sizes[c][1], k = sizes[c][2];
        unsigned *a = calloc(60000, 4), *b = calloc(60000, 4), *d = calloc(60000, 4);
        double *w = calloc(60000, 8), *x = calloc(60000, 8), *y = calloc(60000, 8);
        for (int i = 0; i < 60000; i++) {
            ((float *)a)[i] = (float)(i * 7 % 23) / 3, ((float *)b)[i] = (float)(i * 5 % 19) / 7;
            w[i] = i * 11 % 29 / 3.0, x[i] = i * 3 % 31 / 7.0, y[i] = i % 5;
        }
        gemm(m, n, k, (void *)a, (void *)b, (void *)d);
        rows(m, n, (void *)w, x, y);
        steps(m, n, (void *)w);
        for (int i = 0; i < 60000; i++) {
            union { double v; unsigned long u; } p = {w[i]}, q = {y[i]};
            sum = ((sum * 31 + d[i]) * 31 + p.u) * 31 + q.u;
        }
    }
    printf("%lu\n", sum);
    return 0;
}
C
for compiler in "$clang" "$gcc"; do
    command -v "${compiler%% *}" >/dev/null || continue
    options="-ffp-contract=off -fopenmp"
    expect 0 $compiler $options -w program.c -o program
    expect 0 ./program
    original=$(cat "$work/stdout")
    expect 0 "$CTUNE" apply program.c -o tuned.c -- $compiler $options
    has tuned.c 'omp parallel for if('
    has tuned.c CTUNE_STEP
    has tuned.c 'CTUNE_SHUFFLE[248](row'
    expect 0 $compiler $options -Wall -Wextra -Werror -Wno-unknown-pragmas tuned.c -o tuned
    for threads in 1 3; do
        OMP_NUM_THREADS=$threads
        export OMP_NUM_THREADS
        expect 0 ./tuned
        [ "$(cat "$work/stdout")" = "$original" ] || fail "$compiler, $threads threads: the result differs"
    done
done

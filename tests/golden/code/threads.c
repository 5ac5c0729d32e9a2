// RUN: ctune show code %s -- clang-19 -O3 -march=x86-64-v3 -fopenmp | FileCheck-19 %s
// RUN: ctune show code %s -- gcc -O3 -march=x86-64-v3 | FileCheck-19 --check-prefix=SERIAL %s
// Threads where there is work enough for them: by the number of instances, tiles and what runs in them cancel. A triangle's work
// is not told apart from its rows: always threads.
void gemm(int m, int n, int k, float A[m][k], float B[k][n], float C[m][n]) {
#pragma tune schedule("split i 48 -> i0 i1; split i1 6 -> i1 i2; split j 16 -> j0 j1; reorder i0 j0 i1 k0 i2 j1; cache_write S0 at i1 register; unroll i2; vectorize j1; parallel i0")
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int k0 = 0; k0 < k; k0++)
                C[i][j] += A[i][k0] * B[k0][j];
}
// CHECK: omp parallel for if([[N:[0-9]+]] <= ctune_min(ctune_max({{[mnk]}}, 0), {{[0-9]+}}) * ctune_min(ctune_max({{[mnk]}}, 0), {{[0-9]+}}) * ctune_min(ctune_max({{[mnk]}}, 0), {{[0-9]+}}))")
void step(int n, int t, double A[t][n]) {
#pragma tune schedule("parallel i")
    for (int s = 1; s < t; s++)
        for (int i = 0; i < n; i++)
            A[s][i] = A[s - 1][i] * 0.5;
}
// CHECK: for (long s
// CHECK: omp parallel for if({{[0-9]+}} <= {{(ctune_max\(n, 0\)|n)}})")
void rows(int n, double A[n][n], double x[n]) {
#pragma tune schedule("parallel i")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            x[i] += A[i][j];
}
// CHECK: omp parallel for schedule(dynamic)")
void packed(int m, int n, int k, float A[m][k], float B[k][n], float C[m][n]) {
#pragma tune schedule("split i 6 -> i0 i1; split j 16 -> j0 j1; split k0 256 -> k1 k2; reorder k1 i0 j0 k2 i1 j1; cache_read S0.1 at k1 pack; cache_write S0 at j0 register; unroll i1; vectorize j1; parallel i0")
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int k0 = 0; k0 < k; k0++)
                C[i][j] += A[i][k0] * B[k0][j];
}
// A copy that all threads read is made by all of them.
// CHECK: pack read 1 of S0
// CHECK: omp parallel for if({{[0-9]+}} <= {{(ctune_max\(n, 0\)|n)}})")
// CHECK-NEXT: for (long panel
// CHECK: omp parallel for if(
// CHECK-NEXT: for (long i0
// SERIAL-NOT: omp parallel for

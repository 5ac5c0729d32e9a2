// RUN: ctune show loops %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// Steps of the reduction in a register tile: one loop, which the compiler repeats; the accumulators stay.
void gemm(int n, int m, float A[n][m], float B[m][n], float C[n][n]) {
#pragma tune schedule("split i 4 -> i0 i1; split j 16 -> j0 j1; split k 256 -> k0 k1; split k1 4 -> k1 k2; reorder k0 j0 i0 k1 k2 i1 j1; cache_read S0.1 at j0 pack; cache_write S0 at i0 register; unroll k2; unroll i1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++)
                C[i][j] += A[i][k] * B[k][j];
}
// CHECK: if n - i0 - 4 >= 0, n - j0 - 16 >= 0 {
// CHECK: def acc_0_0 f32x8 mutable = C[i0][j0:8]
// CHECK: for k2 from k0 below min(m, k0 + 256) unroll 4 {
// CHECK-NOT: for
// CHECK: set acc_3_1 = fma({{.*}}, acc_3_1)
// CHECK: store C[i0 + 3][j0 + 8:8] = acc_3_1

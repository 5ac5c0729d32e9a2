// RUN: ctune show loops %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// Packing, a full register tile without bounds inside, and smaller ones, padded along the packed dim, for what is left over.
void gemm(int n, int m, float A[n][m], float B[m][n], float C[n][n]) {
#pragma tune schedule("split i 8 -> i0 i1; split j 32 -> j0 j1; split k 256 -> k0 k1; reorder k0 j0 i0 k1 i1 j1; cache_read S0.1 at j0 pack; cache_write S0 at i0 register; unroll i1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++)
                C[i][j] += A[i][k] * B[k][j];
}
// CHECK: decl pack_B[j_size*k_size] f32 program
// CHECK: for k0 from 0 below m step 256 {
// CHECK-NEXT: for j0 from 0 below n step 32 {
// CHECK: store pack_B[32*[[K:k.*]] + lane - j0 - 32*k0] = B{{\[}}[[K]]][lane]
// CHECK: for i0 from 0 below n step 8 {
// CHECK: if n - i0 - 8 >= 0, n - j0 - 32 >= 0 {
// CHECK: def acc_0_0 f32x8 mutable = C[i0][j0:8]
// CHECK: for k1 from k0 below min(m, k0 + 256) {
// CHECK-NEXT: def [[ROW:A.*]] f32x8 = splat(A[i0][k1], 8)
// CHECK-NEXT: def [[V:pack_B_.*]] f32x8 = pack_B[32*k1 - 32*k0:8]
// CHECK-NEXT: set acc_0_0 = fma([[ROW]], [[V]], acc_0_0)
// CHECK-NOT: for
// CHECK: set acc_7_3 = fma({{.*}}, acc_7_3)
// CHECK: store C[i0 + 7][j0 + 24:8] = acc_7_3
// CHECK: else
// CHECK: decl tile[8][32] f32 block
// CHECK: decl tile{{.*}}[2][32] f32 block
// CHECK: decl tile{{.*}}[32] f32 block

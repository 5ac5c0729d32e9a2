// RUN: ctune show code %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// The C of a register tile: accumulators are vector variables, the packed panel is read in order, one fused product each.
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune schedule("split i 2 -> i0 i1; split j 16 -> j0 j1; split k 256 -> k0 k1; reorder k0 j0 i0 k1 i1 j1; cache_read S0.1 at j0 pack; cache_write S0 at i0 register; unroll i1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
// CHECK: typedef float ctune_f32x8 __attribute__((__vector_size__(32)
// CHECK: for (long i0 = 0; i0 < n; i0 += 2) {
// CHECK: ctune_f32x8 acc_0_0 = *(const ctune_f32x8u *)&C[i0][j0];
// CHECK: ctune_f32x8 acc_1_1 = *(const ctune_f32x8u *)&C[i0 + 1][j0 + 8];
// CHECK-NEXT: for (long k1 = k0; k1 < ctune_min(n, k0 + 256); k1++) {
// CHECK-NEXT: const ctune_f32x8 [[A:A[a-z_0-9]+]] = CTUNE_SPLAT8(ctune_f32x8, A[i0][k1]);
// CHECK-NEXT: const ctune_f32x8 [[B:pack_B[a-z_0-9]+]] = *(const ctune_f32x8u *)&pack_B[16 * (k1 - k0)];
// CHECK-NEXT: acc_0_0 = ctune_fma_f32x8([[A]], [[B]], acc_0_0);
// CHECK: *(ctune_f32x8u *)&C[i0][j0] = acc_0_0;

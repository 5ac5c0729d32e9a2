// RUN: ctune show loops %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// Packing, a full register tile without bounds inside, and narrower tiles for what is left over.
void gemm(int n, int m, float A[n][m], float B[m][n], float C[n][n]) {
#pragma tune schedule("split i 8 -> i0 i1; split j 32 -> j0 j1; split k 256 -> k0 k1; reorder k0 j0 i0 k1 i1 j1; cache_read S0.1 at j0 pack; cache_write S0 at i0 register; unroll i1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++)
                C[i][j] += A[i][k] * B[k][j];
}
// CHECK: buffer pack_B f32 [0 .. n-1] at most 64 [0 .. m-1] at most 256
// CHECK: for k0 in [0 .. m-1] step 256
// CHECK-NEXT: for j0 in [0 .. n-1] step 32
// CHECK: pack into pack_B
// CHECK: for i0 in [0 .. n-1] step 8
// CHECK: if -i0+n-8 >= 0 and -j0+n-32 >= 0
// CHECK-NEXT: register tile S0 i0:8 j0:32v
// CHECK-NEXT: for k1 in [k0 .. min(m-1, k0+255)] step 1
// CHECK: else
// CHECK: register tile S0 j:8v
// CHECK: register tile S0{{$}}

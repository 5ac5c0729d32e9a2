// RUN: ctune show loops %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// In-place triangular update: the core of a tile runs over the reduction values that all its points share; what only some
// points have comes before it in plain loops.
void trmm(int m, int n, double A[m][m], double B[m][n]) {
#pragma tune schedule("split i 4 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 k i1 j1; cache_write S0 at j0 register; unroll i1; vectorize j1")
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int k = i + 1; k < m; k++)
                B[i][j] += A[k][i] * B[k][j];
}
// CHECK: let k_first = i0 + 4
// CHECK: let k_last = max(m - 1, k_first - 1)
// CHECK: for k{{.*}} from {{.*}}i0 + 1{{.*}} below min({{.*}}k_first{{.*}}) {
// CHECK: def acc_0_0 f64x4 mutable = B[i0][j0:4]
// CHECK: for k{{.*}} from k_first below k_last + 1 {
// CHECK: set acc_3_1 = fma(
// CHECK: store B[i0 + 3][j0 + 4:4] = acc_3_1
// CHECK: else

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
// CHECK: let k_first = i0+4
// CHECK: let k_last = m-1 at least k_first-1
// CHECK: for k{{.*}} in [{{.*}}i0+1{{.*}} .. min({{.*}}k_first-1{{.*}})]
// CHECK: register tile S0 i0:4 j0:8v
// CHECK-NEXT: for k{{.*}} in [k_first .. k_last] step 1

// RUN: ctune show code %s -- clang-19 -O3 -march=x86-64-v3 | FileCheck-19 %s
// RUN: ctune show code %s -- gcc -O3 -march=x86-64-v2 | FileCheck-19 --check-prefix=NARROW %s
// A pack whose panels run across the rows of its source: whole panels by blocks, rows loaded, turned, stored as columns.
void gemm(int m, int n, int k, float A[m][k], float B[k][n], float C[m][n]) {
#pragma tune schedule("split i 6 -> i0 i1; split j 16 -> j0 j1; reorder i0 j0 p i1 j1; cache_read S0.0 at i0 pack; cache_write S0 at j0 register; unroll i1; vectorize j1")
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int p = 0; p < k; p++)
                C[i][j] += A[i][p] * B[p][j];
}
// CHECK: pack read 0 of S0
// CHECK: if (i0 + 6 <= m) {
// CHECK-NEXT: for (long [[P:[a-z_0-9]+]] = 0; [[P]] < 8 * ctune_floordiv(ctune_max(k, 0), 8); [[P]] += 8) {
// CHECK-NEXT: const ctune_f32x4 [[R:row[_0-9]*]] = *(const ctune_f32x4u *)&A[i0][[[P]]];
// CHECK: CTUNE_SHUFFLE4([[R]], {{row[_0-9]*}}, 0, 1, 4, 5)
// CHECK: *(ctune_f32x4u *)&pack_A[6 * [[P]]] = {{turned[_0-9]*}};
// CHECK: const ctune_f32x2 {{row[_0-9]*}} = *(const ctune_f32x2u *)&A[i0 + 4][[[P]]];
// The rest of the rows' elements one by one.
// CHECK: for (long [[Q:[a-z_0-9]+]] = 8 * ctune_floordiv(ctune_max(k, 0), 8); [[Q]] < k; [[Q]]++) {
// CHECK-NEXT: for (long [[L:lane[_0-9]*]] = i0; [[L]] < i0 + 6; [[L]]++) {
// NARROW: CTUNE_SHUFFLE4(
// NARROW-NOT: CTUNE_SHUFFLE8(row

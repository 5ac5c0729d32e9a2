// RUN: ctune show loops %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// A filter along each row, in lanes over rows: vectors along the rows, transposed; what the chunk before has computed comes in
// a variable; the last columns and rows as they were.
void filter(int n, int m, double a, double in[n][m], double out[n][m]) {
#pragma tune schedule("split i 4 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++) {
        double y = 0.0;
        for (int j = 1; j < m; j++) {
            y = in[i][j] + a * y;
            out[i][j] = y - a * out[i][j - 1];
        }
    }
}
// CHECK: if {{.*}} {
// CHECK: def y{{.*}} f64x4 mutable
// CHECK: let rest = 4*max(floor((m + 3) / 4) - 1, 0) + 1
// CHECK: def before f64x4 mutable = gather(out[i0][0], out[i0 + 1][0], out[i0 + 2][0], out[i0 + 3][0])
// CHECK: for j{{.*}} from 1 below rest step 4 {
// CHECK: def row f64x4 = in[i0][j
// CHECK: def t{{.*}} f64x4 = gather(extract(row, 0), extract(row_2, 0), extract(row, 2), extract(row_2, 2))
// CHECK-NOT: gather(in
// CHECK: def v f64x4 =
// CHECK: set before = v_4
// CHECK: store out[i0][j
// CHECK: store out[i0 + 3][j
// CHECK: for j{{.*}} from rest below m {
// CHECK: else

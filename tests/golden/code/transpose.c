// RUN: ctune show code %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// Squares of values change rows and columns by shuffles that GCC and clang know.
void scan(int n, int m, float a[n][m]) {
#pragma tune schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++) {
        a[i][0] = 0.0f;
        for (int j = 1; j < m; j++)
            a[i][j] = a[i][j] + a[i][j - 1];
    }
}
// CHECK: #define CTUNE_SHUFFLE8(a, b, i0, i1, i2, i3, i4, i5, i6, i7)
// CHECK: __builtin_shufflevector(a, b, i0
// CHECK: for (long j{{.*}} < rest; j{{.*}} += 8) {
// CHECK: const ctune_f32x8 row = *(const ctune_f32x8u *)&a[i0][j
// CHECK: = CTUNE_SHUFFLE8(row, row_2, 0, 8, 1, 9, 4, 12, 5, 13);

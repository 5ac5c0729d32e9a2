// RUN: ctune show loops --region blur %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix BLUR %s
// RUN: ctune show loops --region gap %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix GAP %s
// RUN: ctune show loops --region own %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix OWN %s
// RUN: ctune show loops --region picked %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix PICKED %s
// RUN: ctune show loops --region sweep %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix SWEEP %s
// RUN: ctune show code --region blur %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix CODE %s
// Loops in vectors of their own: one new vector a row, the others kept, lanes moved.
void blur(int n, double A[n][n], double B[n][n]) {
#pragma tune schedule("slide j")
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            B[i][j] = A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i - 1][j];
}
// The row's vectors start at a multiple of the lanes; one iteration of it is kept back behind the
// last of them, three in front of the first.
// BLUR: let grid = min(end, 4)
// BLUR: for j_2 from 1 below {{.*}} step 2 {
// BLUR: if border - grid - 1 >= 0 {
// BLUR-NEXT: def A_v f64x4 mutable = A[{{.*}}][grid - 4:4]
// BLUR-NEXT: def A_v_2 f64x4 mutable = A[{{.*}}][grid:4]
// BLUR-NEXT: for [[J:.*]] from grid below border step 4 {
// BLUR-NEXT: def A_v_3 f64x4 = A[{{.*}} + 4:4]
// BLUR-NEXT: slide(A_v, A_v_2, 3) + A_v_2 + slide(A_v_2, A_v_3, 1) + A[{{.*}} - 1]
// BLUR-NEXT: set A_v = A_v_2
// BLUR-NEXT: set A_v_2 = A_v_3
// CODE: CTUNE_SLIDE(ctune_i64x4, (A_v), (A_v_2), CTUNE_FROM4(3))

// Further than the vectors that are kept: a load like others.
void gap(int n, double a[n], double b[n]) {
#pragma tune schedule("slide i")
    for (int i = 0; i < n - 100; i++)
        b[i] = a[i] + a[i + 100];
}
// GAP-NOT: mutable
// GAP: store b[{{.*}}:4] = a[{{.*}}:4] + a[{{.*}} + 100:4]

// What the loop writes is never kept.
void own(int n, double a[n], double b[n]) {
#pragma tune schedule("slide i")
    for (int i = 1; i < n - 1; i++)
        a[i] = a[i] + b[i - 1] + b[i];
}
// OWN: def b_v f64x4 mutable = b[
// OWN-NEXT: for [[I:.*]] from grid
// OWN: store a[{{.*}}:4] = a[{{.*}}:4] + slide(b_v, b_v_2, 3) + b_v_2

// Elements that only some iterations read: their rows do not reach beyond what all of them read.
void picked(int n, double a[n], double b[n], double c[n]) {
#pragma tune schedule("slide i")
    for (int i = 0; i < n - 1; i++)
        b[i] = c[i] > 0.0 ? a[i] : a[i + 1];
}
// PICKED-NOT: mutable
// PICKED: for

// A skewed array: an in-place sweep's wavefront is a row of the copy, and a loop over vectors.
void sweep(int n, int m, double A[n][m]) {
#pragma tune schedule("wave i + j -> w; slide i; skew A 1")
    for (int i = 1; i < n; i++)
        for (int j = 1; j < m; j++)
            A[i][j] = 0.5 * (A[i - 1][j] + A[i][j - 1]);
}
// SWEEP: let width = 16*floor(({{.*}} + 7) / 16) + 8
// SWEEP: decl A_skewed[{{.*}}][width] f64 program
// SWEEP: if n - 2 >= 0, m - 2 >= 0 {
// SWEEP: store A_skewed[{{.*}}][{{.*}}] = A[{{.*}}]
// SWEEP: for w from
// SWEEP: store A_skewed[w][{{[^:]*}}:4] = splat(0.5, 4) * (A_skewed[w - 1][{{[^:]*}} - 1:4] + A_skewed[w - 1][{{[^:]*}}:4])
// SWEEP: slide(
// SWEEP: for {{.*}} from 1 below m
// SWEEP: store A[{{.*}}] = A_skewed[

// RUN: ctune show te %s | FileCheck-19 --check-prefix=TE %s
// RUN: ctune show deps %s | FileCheck-19 --check-prefix=DEPS %s
// RUN: ctune show loops %s | FileCheck-19 --check-prefix=LOOPS %s
// RUN: echo "reorder i k j" > %t
// RUN: ctune show loops %s --region outside --schedule %t | FileCheck-19 --check-prefix=MOVED %s
// RUN: echo "reorder k i j" > %t.no
// RUN: (ctune show loops %s --region spmm --schedule %t.no 2>&1 || true) | FileCheck-19 --check-prefix=NO %s
// Rows of a sparse matrix: bounds and subscripts are loads.
void spmm(int n, int m, const int *row, const int *col, const float *val, const float *B,
          float *restrict C) {
#pragma tune sizes(n=1000, m=64)
    for (int i = 0; i < n; i++)
        for (int k = row[i]; k < row[i + 1]; k++)
            for (int j = 0; j < m; j++)
                C[i * m + j] += val[k] * B[col[k] * m + j];
}
void outside(int n, int m, const int *row, const int *col, const float *val, const float *B,
             float *restrict C) {
#pragma tune sizes(n=1000, m=64)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = row[i]; k < row[i + 1]; k++)
                C[i * m + j] += val[k] * B[col[k] * m + j];
}
// TE: div @0 = row[i]
// TE-NEXT: div @1 = row[i + 1]
// TE-NEXT: div @2 = col[k]
// TE: stage S0: C[i][j] += val[k] * B[@2][j]
// TE: for k: k - @0 >= 0, -k + @1 - 1 >= 0 {
// DEPS: flow,anti,output C S0 -> S0 (0, +, 0)
// LOOPS: for k_2 from row[i_2] below row[i_2 + 1] {
// LOOPS: B[col[k_2]][j_2]
// Where the dense loop has no iteration the source reads no bound.
// MOVED: if m - 1 >= 0 {
// MOVED-NEXT: for k_2 from row[i_2] below row[i_2 + 1] {
// MOVED-NEXT: for j_2 from 0 below m {
// NO: a loop whose bounds are read from an array stands outside of the loops that choose them

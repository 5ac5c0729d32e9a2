// RUN: ctune show loops %s -- clang-19 -O3 -mavx2 | FileCheck-19 %s
// Two statements of one loop of the source in loops of their own: a bound that is read from an array is that of the
// statement at hand.
void f(int n, unsigned *len, int (*R)[n + 6], short *to, int (*A)[6], unsigned *from, int (*Q)[n + 1], int (*B)[n + 1]) {
#pragma tune noalias sizes(n=64) schedule("polyhedral smart")
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < len[i]; j++)
            R[i][to[j]] = A[i][from[j]];
        for (int k = 0; k < n; k++)
            Q[i][k] = R[1][k] + B[n - 1 - k][i + 1];
    }
}
// CHECK: for [[ROW:i[_0-9]*]] from 0 below n {
// CHECK-NEXT: for {{.*}} below len{{\[}}[[ROW]]] {
// CHECK-NEXT: store R{{\[}}[[ROW]]]

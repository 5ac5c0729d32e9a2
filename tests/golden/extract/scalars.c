// RUN: ctune show te %s | FileCheck-19 %s
// A scalar from outside is private to the loop in which it is written before it is read.
void f(int n, double a[n][n], double *x) {
    int i, j;
    double sum;
#pragma tune
    for (i = 0; i < n; i++) {
        sum = 0;
        for (j = 0; j <= i; j++)
            sum += a[i][j];
        x[i] = sum;
    }
}
// CHECK: tensor sum f64 [?] update temp
// CHECK: stage S1: sum[i] += a[i][j]
// CHECK: for j: j >= 0, i - j >= 0

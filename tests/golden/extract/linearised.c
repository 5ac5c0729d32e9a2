// RUN: ctune show te %s | FileCheck-19 %s
// A linearised array gets its rows back, with the fact that rows need.
void f(int n, int lda, float *a, const float *x) {
#pragma tune sizes(n=100, lda=128)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * lda + j] += x[j];
}
// CHECK: param n i32 sizes 100
// CHECK: param lda i32 sizes 128
// CHECK: tensor a f32 [?][lda] update pointer
// CHECK: assume -n + lda >= 0
// CHECK: stage S0: a[i][j] += x[j]

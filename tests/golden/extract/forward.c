// RUN: ctune show te %s | FileCheck-19 %s
// A scalar that only leads to the next statement is a part of it; a product is not, for a sum would fuse it.
void f(int n, float a[n], float b[n], float c[n]) {
#pragma tune
    for (int i = 0; i < n; i++) {
        int whole = a[i] + b[i];
        c[i] = c[i] > whole ? c[i] : whole;
        float square = a[i] * a[i];
        b[i] += square;
    }
}
// CHECK-NOT: tensor whole
// CHECK: tensor square f32 [?] update temp
// CHECK: stage S0: c[i] max= (f32) (i32) (a[i] + b[i])
// CHECK: stage S1: square[i] = a[i] * a[i]
// CHECK: stage S2: b[i] += square[i]

// RUN: (ctune show te %s 2>&1 || true) | FileCheck-19 %s
// A refusal names the place, the construct, the rule and the way out.
void f(int n, int *index, float *a) {
#pragma tune
    for (int i = 0; i < n; i++)
        a[index[i]] += 1, index[i] = 0;
}
// CHECK: refused.c:6:11: remark: loop not tuned: 'index[i]' is read from an array that the region writes [subscript-indirect]
// CHECK: refused.c:6:11: note:

// RUN: ctune show loops --region dot %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix DOT %s
// RUN: ctune show loops --region largest %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix LARGEST %s
// RUN: ctune show loops --region bytes %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix BYTES %s
// Sums along lanes: as many accumulators as the tile has vectors, joined in halves; the rest one by one.
void dot(int n, float a[n], float b[n], float s[1]) {
#pragma tune reassoc schedule("split i 16 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        s[0] += a[i] * b[i];
}
void largest(int n, int a[n], int s[1]) {
#pragma tune schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        s[0] = a[i] > s[0] ? a[i] : s[0];
}
void bytes(int n, unsigned char a[n], int s[1]) {
#pragma tune schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        s[0] += a[i];
}
// DOT: let end = 16*floor(max(n, 0) / 16)
// DOT: def acc f32x8 mutable = splat(0
// DOT: def acc_2 f32x8 mutable
// DOT: for i1 from 0 below end step 16 {
// DOT-NEXT: set acc = fma(a[i1:8], b[i1:8], acc)
// DOT-NEXT: set acc_2 = fma(a[i1 + 8:8], b[i1 + 8:8], acc_2)
// DOT: gather(extract(
// DOT: for {{.*}} from end below n {
// LARGEST: set acc = max(acc, a[{{.*}}:8])
// BYTES: set acc = acc +% (i32) a[{{.*}}:8]

// RUN: ctune show code --region roots %s -- clang-19 -O3 -mavx512f | FileCheck-19 --check-prefix ROOTS %s
// RUN: ctune show code --region strict %s -- clang-19 -O3 -mavx512f | FileCheck-19 --check-prefix STRICT %s
// RUN: ctune show code --region approx %s -- clang-19 -O3 -mavx512f | FileCheck-19 --check-prefix APPROX %s
// Math functions in vectors: a square root is an instruction, always; others are the library's when other bits are permitted.
#include <math.h>
void roots(int n, float x[n], float y[n]) {
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        y[i] = 1.0f / sqrtf(fabsf(x[i]));
}
void strict(int n, float x[n], float y[n]) {
#pragma tune schedule("split i 4 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        y[i] = 2.0f * expf(x[i]);
}
void approx(int n, float x[n], float y[n]) {
#pragma tune reassoc schedule("split i 16 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        y[i] = powf(x[i], 1.5f) + tanhf(x[i]);
}
// ROOTS: if (i0 + 16 <= ctune_min(n, i0 + 16)) {
// ROOTS: ctune_sqrt_f32x16((ctune_f32x16)((ctune_i32x16){{.*}} & 0x7fffffff))
// ROOTS: } else {
// ROOTS: CTUNE_SIMD
// ROOTS: ctune_sqrt_f32({{.*}}fabsf(
// STRICT: (ctune_f32x4){{.*}}expf(x[i0]), {{.*}}expf(x[i0 + 1]),
// APPROX: extern ctune_f32x16 _ZGVeN16vv_powf(ctune_f32x16, ctune_f32x16);
// APPROX-NEXT: extern ctune_f32x16 _ZGVeN16v_tanhf(ctune_f32x16);
// APPROX: _ZGVeN16vv_powf(

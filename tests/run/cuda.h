/* What clang needs to compile CUDA text without a toolkit: words, and functions that round. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#include <__clang_cuda_builtin_vars.h>
#define CTUNE_D static inline __attribute__((device, always_inline))
CTUNE_D float __fmaf_rn(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
CTUNE_D float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
CTUNE_D float __fsub_rn(float a, float b) { return __nvvm_add_rn_f(a, -b); }
CTUNE_D float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
CTUNE_D float __fdiv_rn(float a, float b) { return __nvvm_div_rn_f(a, b); }
CTUNE_D float __fsqrt_rn(float a) { return __nvvm_sqrt_rn_f(a); }
CTUNE_D double __fma_rn(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
CTUNE_D double __dadd_rn(double a, double b) { return __nvvm_add_rn_d(a, b); }
CTUNE_D double __dsub_rn(double a, double b) { return __nvvm_add_rn_d(a, -b); }
CTUNE_D double __dmul_rn(double a, double b) { return __nvvm_mul_rn_d(a, b); }
CTUNE_D double __ddiv_rn(double a, double b) { return __nvvm_div_rn_d(a, b); }
CTUNE_D double __dsqrt_rn(double a) { return __nvvm_sqrt_rn_d(a); }
CTUNE_D float fabsf(float a) { return __builtin_fabsf(a); }
CTUNE_D double fabs(double a) { return __builtin_fabs(a); }

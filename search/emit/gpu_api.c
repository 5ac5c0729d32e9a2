/*
 * CUDA C and OpenCL C: what differs between them, and from C. One row of one table each.
 *
 * Floating point is the host's (docs/floating-point.md): in CUDA each sum and product is a function
 * that rounds and that nobody fuses; in OpenCL contraction is off, and fma() is what is fused.
 * Functions of the math library are those whose result on a device is the correctly rounded one.
 */
#include "search/emit/emit_private.h"

#include <string.h>

const emit_api emit_api_cuda = {
    .name = "cuda",
    .head = "",
    .head_f64 = "",
    .function = "static __device__ __forceinline__ ",
    .kernel = "extern \"C\" __global__ void ",
    .bounds = "__launch_bounds__(%d) ",
    .global = "",
    .restricted = " *__restrict__ ",
    .shared = "__shared__ ",
    .barrier = "__syncthreads();",
    .index = "long long",
    .block = {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
    .blocks = {"gridDim.x", "gridDim.y", "gridDim.z"},
    .thread = {"threadIdx.x", "threadIdx.y", "threadIdx.z"},
    .type = {[CTUNE_I8] = "signed char",
             [CTUNE_U8] = "unsigned char",
             [CTUNE_I16] = "short",
             [CTUNE_U16] = "unsigned short",
             [CTUNE_I32] = "int",
             [CTUNE_U32] = "unsigned int",
             [CTUNE_I64] = "long long",
             [CTUNE_U64] = "unsigned long long",
             [CTUNE_F32] = "float",
             [CTUNE_F64] = "double"},
    .arith = {[CTUNE_V_ADD] = {"__fadd_rn", "__dadd_rn"},
              [CTUNE_V_SUB] = {"__fsub_rn", "__dsub_rn"},
              [CTUNE_V_MUL] = {"__fmul_rn", "__dmul_rn"},
              [CTUNE_V_DIV] = {"__fdiv_rn", "__ddiv_rn"},
              [CTUNE_V_FMA] = {"__fmaf_rn", "__fma_rn"}},
};

const emit_api emit_api_opencl = {
    .name = "opencl",
    .head = "#pragma OPENCL FP_CONTRACT OFF\n",
    .head_f64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    .function = "static inline ",
    .kernel = "__kernel void ",
    .bounds = "",
    .global = "__global ",
    .restricted = " *restrict ",
    .shared = "__local ",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .index = "long",
    .block = {"get_group_id(0)", "get_group_id(1)", "get_group_id(2)"},
    .blocks = {"get_num_groups(0)", "get_num_groups(1)", "get_num_groups(2)"},
    .thread = {"get_local_id(0)", "get_local_id(1)", "get_local_id(2)"},
    .type = {[CTUNE_I8] = "char",
             [CTUNE_U8] = "uchar",
             [CTUNE_I16] = "short",
             [CTUNE_U16] = "ushort",
             [CTUNE_I32] = "int",
             [CTUNE_U32] = "uint",
             [CTUNE_I64] = "long",
             [CTUNE_U64] = "ulong",
             [CTUNE_F32] = "float",
             [CTUNE_F64] = "double"},
    .arith = {[CTUNE_V_FMA] = {"fma", "fma"}},
};

/* By root; NULL: not there. */
static const struct {
    const char *root, *cuda_f32, *cuda_f64, *opencl;
} functions[] = {
    {"sqrt", "__fsqrt_rn", "__dsqrt_rn", "sqrt"},
    {"fabs", "fabsf", "fabs", "fabs"},
    {"floor", "floorf", "floor", "floor"},
    {"ceil", "ceilf", "ceil", "ceil"},
    {"trunc", "truncf", "trunc", "trunc"},
    {"round", "roundf", "round", "round"},
    {"rint", "rintf", "rint", "rint"},
    {"nearbyint", "nearbyintf", "nearbyint", "rint"},
    {"fmod", "fmodf", "fmod", "fmod"},
    {"copysign", "copysignf", "copysign", "copysign"},
    {"fma", "__fmaf_rn", "__fma_rn", "fma"},
};

static const char *function_name(const emit_api *api, const char *name, ctune_type type) {
    const char *root = ctune_math_root(name);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].root, root) == 0 && (type == CTUNE_F32 || type == CTUNE_F64)) {
            return api == &emit_api_opencl ? functions[i].opencl
                   : type == CTUNE_F32     ? functions[i].cuda_f32
                                           : functions[i].cuda_f64;
        }
    }
    return NULL;
}

const char *emit_gpu_type(ctune_emitter *e, ctune_type type, int lanes) {
    const char *name = lanes == 1 ? e->api->type[type] : NULL;
    if (name == NULL) {
        ctune_loops_fail(e->loops, CTUNE_EREFUSED, "a GPU has no values of type %s",
                         ctune_type_get(type)->c_name);
        return "";
    }
    e->has_f64 |= type == CTUNE_F64;
    return name;
}

const char *emit_gpu_arith(const ctune_emitter *e, const ctune_value *v) {
    bool is_float = v->type == CTUNE_F32 || v->type == CTUNE_F64;
    return e->api != NULL && is_float ? e->api->arith[v->op][v->type == CTUNE_F64] : NULL;
}

void emit_gpu_call(ctune_emitter *e, const ctune_value *v) {
    if (!ctune_type_is_float(v->type) && v->n_kids == 1) { /* abs, labs */
        ctune_text_append(e->out, "(");
        emit_value(e, v->kids[0], CTUNE_LEVEL_SUM);
        ctune_text_append(e->out, " < 0 ? -");
        emit_value(e, v->kids[0], CTUNE_LEVEL_PRIMARY);
        ctune_text_append(e->out, " : ");
        emit_value(e, v->kids[0], CTUNE_LEVEL_SUM);
        ctune_text_append(e->out, ")");
        return;
    }
    const char *name = function_name(e->api, v->text, v->type);
    if (name == NULL) {
        ctune_loops_fail(e->loops, CTUNE_EREFUSED, "%s has other bits on a GPU", v->text);
        return;
    }
    ctune_text_printf(e->out, "%s(", name);
    for (int i = 0; i < v->n_kids; i++) {
        ctune_text_append(e->out, i > 0 ? ", " : "");
        emit_value(e, v->kids[i], CTUNE_LEVEL_ANY);
    }
    ctune_text_append(e->out, ")");
}

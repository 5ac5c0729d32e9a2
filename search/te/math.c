/*
 * The pure math functions that a stage may call: one table for the verifier, the extraction and the
 * interpreter.
 *
 * Each row stands for three functions: sin, sinf, sinl. errno and floating-point exceptions are not
 * part of the contract: an annotated loop that relies on them must not be tuned.
 */
#include "search/te/te_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATH_ROOTS(X) X(sqrt) X(cbrt) X(fabs)
#define MATH_ROUNDING(X) X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint)
#define MATH_POWERS(X) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p)
#define MATH_ANGLES(X) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)
#define MATH_HYPERBOLIC(X) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
#define MATH_SPECIAL(X) X(erf) X(erfc) X(tgamma) X(lgamma)
#define MATH_TABLE_1(X)                                                                            \
    MATH_ROOTS(X)                                                                                  \
    MATH_ROUNDING(X)                                                                               \
    MATH_POWERS(X) MATH_ANGLES(X) MATH_HYPERBOLIC(X) MATH_SPECIAL(X)
#define MATH_TABLE_2(X)                                                                            \
    X(pow) X(fmin) X(fmax) X(fmod) X(remainder) X(atan2) X(hypot) X(copysign) X(fdim) X(nextafter)
#define MATH_TABLE_3(X) X(fma)

typedef struct math_row {
    const char *name, *root;
    int n_args;
    ctune_type type;
    union {
        float (*f1)(float);
        float (*f2)(float, float);
        float (*f3)(float, float, float);
        double (*d1)(double);
        double (*d2)(double, double);
        double (*d3)(double, double, double);
        long double (*l1)(long double);
        long double (*l2)(long double, long double);
        long double (*l3)(long double, long double, long double);
    } fn; /* arm by type and n_args; integer rows have none */
} math_row;

static const math_row rows[] = {
#define X(name)                                                                                    \
    {#name, #name, 1, CTUNE_F64, {.d1 = name}}, {#name "f", #name, 1, CTUNE_F32, {.f1 = name##f}}, \
        {#name "l", #name, 1, CTUNE_F80, {.l1 = name##l}},
    MATH_TABLE_1(X)
#undef X
#define X(name)                                                                                    \
    {#name, #name, 2, CTUNE_F64, {.d2 = name}}, {#name "f", #name, 2, CTUNE_F32, {.f2 = name##f}}, \
        {#name "l", #name, 2, CTUNE_F80, {.l2 = name##l}},
        MATH_TABLE_2(X)
#undef X
#define X(name)                                                                                    \
    {#name, #name, 3, CTUNE_F64, {.d3 = name}}, {#name "f", #name, 3, CTUNE_F32, {.f3 = name##f}}, \
        {#name "l", #name, 3, CTUNE_F80, {.l3 = name##l}},
            MATH_TABLE_3(X)
#undef X
                {"abs", "", 1, CTUNE_I32, {NULL}},
    {"labs", "", 1, CTUNE_I64, {NULL}},
    {"llabs", "", 1, CTUNE_I64, {NULL}},
};

static const math_row *row_find(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

int ctune_math_find(const char *name, ctune_type *type) {
    const math_row *row = row_find(name);
    if (row == NULL) {
        return 0;
    }
    *type = row->type;
    return row->n_args;
}

static bool is_in(const char *root, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], root) == 0) {
            return true;
        }
    }
    return false;
}

ctune_math_lanes ctune_math_lanes_of(const char *name) {
    static const char *const exact[] = {"sqrt", "fabs"};
    static const char *const approx[] = {"exp",  "exp2", "expm1", "log",  "log2", "log10", "log1p",
                                         "sin",  "cos",  "tan",   "sinh", "cosh", "tanh",  "asin",
                                         "acos", "atan", "erf",   "erfc", "cbrt", "pow"};
    const math_row *row = row_find(name);
    if (row == NULL || (row->type != CTUNE_F32 && row->type != CTUNE_F64)) {
        return CTUNE_MATH_SCALAR;
    }
    return is_in(row->root, exact, sizeof exact / sizeof *exact)      ? CTUNE_MATH_EXACT
           : is_in(row->root, approx, sizeof approx / sizeof *approx) ? CTUNE_MATH_APPROX
                                                                      : CTUNE_MATH_SCALAR;
}

const char *ctune_math_root(const char *name) {
    const math_row *row = row_find(name);
    return row == NULL ? "" : row->root;
}

static ctune_math_arg call_float(const math_row *row, const ctune_math_arg *a) {
    ctune_math_arg out = {0};
    int n = row->n_args;
    if (row->type == CTUNE_F32) {
        out.f32 = n == 1   ? row->fn.f1(a[0].f32)
                  : n == 2 ? row->fn.f2(a[0].f32, a[1].f32)
                           : row->fn.f3(a[0].f32, a[1].f32, a[2].f32);
    } else if (row->type == CTUNE_F64) {
        out.f64 = n == 1   ? row->fn.d1(a[0].f64)
                  : n == 2 ? row->fn.d2(a[0].f64, a[1].f64)
                           : row->fn.d3(a[0].f64, a[1].f64, a[2].f64);
    } else {
        out.f80 = n == 1   ? row->fn.l1(a[0].f80)
                  : n == 2 ? row->fn.l2(a[0].f80, a[1].f80)
                           : row->fn.l3(a[0].f80, a[1].f80, a[2].f80);
    }
    return out;
}

ctune_math_arg ctune_math_call(const char *name, const ctune_math_arg *args) {
    const math_row *row = row_find(name);
    ctune_math_arg out = {0};
    if (row == NULL) {
        return out;
    }
    if (row->type == CTUNE_I32) {
        out.i32 = args[0].i32 == INT32_MIN ? INT32_MIN : abs(args[0].i32);
    } else if (row->type == CTUNE_I64) {
        out.i64 = args[0].i64 == INT64_MIN ? INT64_MIN : labs(args[0].i64);
    } else {
        out = call_float(row, args);
    }
    return out;
}

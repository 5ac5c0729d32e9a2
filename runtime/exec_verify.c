/*
 * Comparing a candidate's outputs with the original's.
 *
 * Strict: bit for bit, except that any NaN equals any NaN (which payload survives an operation is
 * up to the compiler). Bounded: |x - y| <= terms * eps * scale, see runner.h. One memcmp answers
 * nearly always; elements are looked at only when it differs. Gaps between strided elements count
 * as output: nobody may write them.
 */
#include "runtime/exec_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct float_kind {
    const char *type;
    int value_bytes; /* that carry the value (f80 has padding) */
    long double eps;
} float_kind;

static const float_kind float_kinds[] = {
    {"f16", 2, 0x1p-10L},
    {"f32", 4, 0x1p-23L},
    {"f64", 8, 0x1p-52L},
    {"f80", 10, 0x1p-63L},
};

static const float_kind *find_float_kind(const char *type) {
    for (size_t i = 0; i < sizeof float_kinds / sizeof *float_kinds; i++) {
        if (strcmp(float_kinds[i].type, type) == 0) {
            return &float_kinds[i];
        }
    }
    return NULL;
}

static long double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    long double value;
    if (exponent == 31) {
        value = fraction != 0 ? (long double)NAN : (long double)INFINITY;
    } else if (exponent == 0) {
        value = ldexpl(fraction, -24);
    } else {
        value = ldexpl(fraction + 1024, exponent - 25);
    }
    return bits & 0x8000 ? -value : value;
}

static long double load_float(const unsigned char *at, const float_kind *kind) {
    float f32;
    double f64;
    long double f80 = 0;
    uint16_t f16;
    switch (kind->value_bytes) {
    case 2:
        memcpy(&f16, at, sizeof f16);
        return half_value(f16);
    case 4:
        memcpy(&f32, at, sizeof f32);
        return f32;
    case 8:
        memcpy(&f64, at, sizeof f64);
        return f64;
    default:
        memcpy(&f80, at, 10);
        return f80;
    }
}

static int64_t load_int(const unsigned char *at, const ctune_run_tensor *shape) {
    uint64_t bits = 0;
    int bytes = shape->elem_bytes < 8 ? shape->elem_bytes : 8;
    memcpy(&bits, at, (size_t)bytes);
    int unused = 64 - 8 * bytes;
    return shape->type[0] == 'i' ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static bool is_equal_element(const ctune_exec *exec, const ctune_run_tensor *shape,
                             const float_kind *kind, const unsigned char *got,
                             const unsigned char *want) {
    size_t bytes = kind != NULL ? (size_t)kind->value_bytes : (size_t)shape->elem_bytes;
    if (memcmp(got, want, bytes) == 0) {
        return true;
    }
    if (kind == NULL) {
        return false;
    }
    long double x = load_float(got, kind), y = load_float(want, kind);
    if (isnan(x) || isnan(y)) {
        return isnan(x) && isnan(y);
    }
    if (exec->load.bound_terms <= 0 || isinf(x) || isinf(y)) {
        return false; /* infinities of one sign have equal bits */
    }
    long double scale = fmaxl(fmaxl(fabsl(x), fabsl(y)), exec->input_scale);
    return fabsl(x - y) <= exec->load.bound_terms * kind->eps * scale;
}

static void describe(const ctune_exec *exec, int i_tensor, int64_t i_elem, const float_kind *kind,
                     char *detail, size_t size) {
    const ctune_exec_tensor *t = &exec->tensor[i_tensor];
    const ctune_run_tensor *shape = t->shape;
    int64_t index[CTUNE_RUN_MAX_RANK], rest = i_elem;
    for (int k = shape->rank - 1; k >= 0; k--) {
        int64_t extent = shape->extent[k] > 0 ? shape->extent[k] : 1;
        index[k] = rest % extent;
        rest /= extent;
    }
    int n = snprintf(detail, size, "tensor %d element ", i_tensor);
    for (int k = 0; k < shape->rank && n > 0 && (size_t)n < size; k++) {
        n += snprintf(detail + n, size - (size_t)n, "[%lld]", (long long)index[k]);
    }
    size_t offset = (size_t)i_elem * (size_t)shape->stride_bytes;
    if (n < 0 || (size_t)n >= size) {
        return;
    }
    if (kind != NULL) {
        snprintf(detail + n, size - (size_t)n, ": %.12Lg instead of %.12Lg",
                 load_float(t->base + offset, kind), load_float(t->reference + offset, kind));
    } else {
        snprintf(detail + n, size - (size_t)n, ": %lld instead of %lld",
                 (long long)load_int(t->base + offset, shape),
                 (long long)load_int(t->reference + offset, shape));
    }
}

static bool is_gap_equal(const ctune_exec_tensor *t, size_t offset) {
    size_t elem = (size_t)t->shape->elem_bytes, stride = (size_t)t->shape->stride_bytes;
    return memcmp(t->base + offset + elem, t->reference + offset + elem, stride - elem) == 0;
}

static bool check_tensor(const ctune_exec *exec, int i_tensor, char *detail, size_t size) {
    const ctune_exec_tensor *t = &exec->tensor[i_tensor];
    if (t->reference == NULL || memcmp(t->base, t->reference, t->bytes) == 0) {
        return true;
    }
    const float_kind *kind = find_float_kind(t->shape->type);
    for (int64_t i = 0; i < t->shape->n_elems; i++) {
        size_t offset = (size_t)i * (size_t)t->shape->stride_bytes;
        if (!is_equal_element(exec, t->shape, kind, t->base + offset, t->reference + offset)) {
            describe(exec, i_tensor, i, kind, detail, size);
            return false;
        }
        if (!is_gap_equal(t, offset)) {
            snprintf(detail, size, "tensor %d: store behind element %lld", i_tensor, (long long)i);
            return false;
        }
    }
    return true;
}

bool ctune_exec_outputs_check(const ctune_exec *exec, char *detail, size_t size) {
    for (int i = 0; i < exec->load.n_tensors; i++) {
        if (!check_tensor(exec, i, detail, size)) {
            return false;
        }
    }
    return true;
}

bool ctune_exec_outputs_are_pristine(const ctune_exec *exec) {
    for (int i = 0; i < exec->load.n_tensors; i++) {
        const ctune_exec_tensor *t = &exec->tensor[i];
        if (t->pristine != NULL && memcmp(t->base, t->pristine, t->bytes) != 0) {
            return false;
        }
    }
    return true;
}

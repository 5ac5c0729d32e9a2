/* Values of the interpreters: see te_value.h. */
#include "search/te/te_value.h"

#include "search/te/te_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- conversions ----------------------------------------------------------------------------- */

int64_t te_wrap(ctune_type type, int64_t v) {
    switch (type) {
    case CTUNE_BOOL:
        return v != 0;
    case CTUNE_I8:
        return (int8_t)v;
    case CTUNE_U8:
        return (uint8_t)v;
    case CTUNE_I16:
        return (int16_t)v;
    case CTUNE_U16:
        return (uint16_t)v;
    case CTUNE_I32:
        return (int32_t)v;
    case CTUNE_U32:
        return (uint32_t)v;
    default:
        return v;
    }
}

static long double round_to(ctune_type type, long double f) {
    switch (type) {
    case CTUNE_F16:
        return (long double)(_Float16)f;
    case CTUNE_F32:
        return (long double)(float)f;
    case CTUNE_F64:
        return (long double)(double)f;
    default:
        return f;
    }
}

/* Out of range is undefined in C; what x86-64 does is the smallest int64. */
static int64_t float_to_int(ctune_type type, long double f) {
    if (type == CTUNE_BOOL) {
        return f != 0;
    }
    if (type == CTUNE_U64 && f >= 0x1p63L && f < 0x1p64L) {
        return (int64_t)(uint64_t)f;
    }
    return f > -0x1p63L - 1 && f < 0x1p63L ? (int64_t)f : INT64_MIN;
}

te_value te_value_convert(te_value v, ctune_type type) {
    te_value out = {.type = type};
    if (ctune_type_is_float(v.type)) {
        if (ctune_type_is_float(type)) {
            out.f = round_to(type, v.f);
        } else {
            out.i = te_wrap(type, float_to_int(type, v.f));
        }
    } else if (ctune_type_is_float(type)) {
        out.f = round_to(type, v.type == CTUNE_U64 ? (long double)(uint64_t)v.i : (long double)v.i);
    } else {
        out.i = te_wrap(type, v.i);
    }
    return out;
}

bool te_value_is_true(te_value v) {
    return ctune_type_is_float(v.type) ? v.f != 0 : v.i != 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

te_value te_value_load(ctune_type type, const unsigned char *at) {
    te_value v = {.type = type};
    switch (type) {
#define LOAD(id, ctype, arm)                                                                       \
    case id: {                                                                                     \
        ctype x;                                                                                   \
        memcpy(&x, at, sizeof x);                                                                  \
        v.arm = x;                                                                                 \
        break;                                                                                     \
    }
        LOAD(CTUNE_BOOL, uint8_t, i)
        LOAD(CTUNE_I8, int8_t, i)
        LOAD(CTUNE_U8, uint8_t, i)
        LOAD(CTUNE_I16, int16_t, i)
        LOAD(CTUNE_U16, uint16_t, i)
        LOAD(CTUNE_I32, int32_t, i)
        LOAD(CTUNE_U32, uint32_t, i)
        LOAD(CTUNE_I64, int64_t, i)
        LOAD(CTUNE_U64, int64_t, i)
        LOAD(CTUNE_F16, _Float16, f)
        LOAD(CTUNE_F32, float, f)
        LOAD(CTUNE_F64, double, f)
        LOAD(CTUNE_F80, long double, f)
#undef LOAD
    default:
        break;
    }
    return v;
}

void te_value_store(te_value v, unsigned char *at) {
    switch (v.type) {
#define STORE(id, ctype, arm)                                                                      \
    case id: {                                                                                     \
        ctype x = (ctype)v.arm;                                                                    \
        memcpy(at, &x, sizeof x);                                                                  \
        break;                                                                                     \
    }
        STORE(CTUNE_BOOL, uint8_t, i)
        STORE(CTUNE_I8, int8_t, i)
        STORE(CTUNE_U8, uint8_t, i)
        STORE(CTUNE_I16, int16_t, i)
        STORE(CTUNE_U16, uint16_t, i)
        STORE(CTUNE_I32, int32_t, i)
        STORE(CTUNE_U32, uint32_t, i)
        STORE(CTUNE_I64, int64_t, i)
        STORE(CTUNE_U64, int64_t, i)
        STORE(CTUNE_F16, _Float16, f)
        STORE(CTUNE_F32, float, f)
        STORE(CTUNE_F64, double, f)
    case CTUNE_F80:
        memcpy(at, &v.f, 10);
        break; /* leaves the padding alone */
#undef STORE
    default:
        break;
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

#define ARITHMETIC(op, x, y)                                                                       \
    ((op) == CTUNE_OP_ADD   ? (x) + (y)                                                            \
     : (op) == CTUNE_OP_SUB ? (x) - (y)                                                            \
     : (op) == CTUNE_OP_MUL ? (x) * (y)                                                            \
                            : (x) / (y))

static long double float_binary(ctune_op op, ctune_type type, long double a, long double b) {
    if (type == CTUNE_F80) {
        return ARITHMETIC(op, a, b);
    }
    if (type == CTUNE_F64) {
        double x = (double)a, y = (double)b;
        return ARITHMETIC(op, x, y);
    }
    /* f32; f16, too: rounding the f32 result of one operation to 11 bits rounds once (24 >= 2 * 11
     * + 2) */
    float x = (float)a, y = (float)b;
    float r = ARITHMETIC(op, x, y);
    return round_to(type, (long double)r);
}

static bool int_divide(ctune_op op, ctune_type type, int64_t a, int64_t b, int64_t *r) {
    if (b == 0) {
        return false;
    }
    if (type == CTUNE_U64) {
        uint64_t x = (uint64_t)a, y = (uint64_t)b;
        *r = (int64_t)(op == CTUNE_OP_DIV ? x / y : x % y);
    } else if (b == -1) {
        *r = op == CTUNE_OP_DIV ? (int64_t)(0 - (uint64_t)a) : 0;
    } else {
        *r = op == CTUNE_OP_DIV ? a / b : a % b;
    }
    return true;
}

static int64_t int_shift(ctune_op op, ctune_type type, int64_t a, int64_t count) {
    int bits = 8 * ctune_type_get(type)->bytes;
    int by = (int)(count &
                   (bits - 1)); /* other counts are undefined in C: masked, as the hardware does */
    if (op == CTUNE_OP_SHL) {
        return (int64_t)((uint64_t)a << by);
    }
    return type == CTUNE_U64 ? (int64_t)((uint64_t)a >> by) : a >> by;
}

static bool int_binary(ctune_op op, ctune_type type, int64_t a, int64_t b, int64_t *out) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    int64_t r;
    switch (op) {
    case CTUNE_OP_ADD:
        r = (int64_t)(x + y);
        break;
    case CTUNE_OP_SUB:
        r = (int64_t)(x - y);
        break;
    case CTUNE_OP_MUL:
        r = (int64_t)(x * y);
        break;
    case CTUNE_OP_BAND:
        r = (int64_t)(x & y);
        break;
    case CTUNE_OP_BOR:
        r = (int64_t)(x | y);
        break;
    case CTUNE_OP_BXOR:
        r = (int64_t)(x ^ y);
        break;
    case CTUNE_OP_SHL:
    case CTUNE_OP_SHR:
        r = int_shift(op, type, a, b);
        break;
    default:
        if (!int_divide(op, type, a, b, &r)) {
            return false;
        }
        break;
    }
    *out = te_wrap(type, r);
    return true;
}

bool te_value_binary(ctune_op op, te_value a, te_value b, te_value *out) {
    *out = (te_value){.type = a.type};
    if (ctune_type_is_float(a.type)) {
        out->f = float_binary(op, a.type, a.f, b.f);
        return true;
    }
    return int_binary(op, a.type, a.i, b.i, &out->i);
}

static bool is_less(te_value a, te_value b) {
    if (ctune_type_is_float(a.type)) {
        return a.f < b.f;
    }
    return a.type == CTUNE_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}

static bool is_same(te_value a, te_value b) {
    return ctune_type_is_float(a.type) ? a.f == b.f : a.i == b.i;
}

bool te_value_compare(ctune_op op, te_value a, te_value b) {
    switch (op) {
    case CTUNE_OP_LT:
        return is_less(a, b);
    case CTUNE_OP_GT:
        return is_less(b, a);
    case CTUNE_OP_LE:
        return is_less(a, b) || is_same(a, b); /* false when one is a NaN */
    case CTUNE_OP_GE:
        return is_less(b, a) || is_same(a, b);
    case CTUNE_OP_EQ:
        return is_same(a, b);
    default:
        return !is_same(a, b);
    }
}

te_value te_value_negate(te_value v) {
    if (ctune_type_is_float(v.type)) {
        v.f = -v.f;
    } else {
        v.i = te_wrap(v.type, (int64_t)(0 - (uint64_t)v.i));
    }
    return v;
}

te_value te_value_extreme(ctune_op op, te_value a, te_value b) {
    return te_value_compare(op == CTUNE_OP_MIN ? CTUNE_OP_LT : CTUNE_OP_GT, a, b) ? a : b;
}

/* The sum in double with the last bit set when it is not exact (round to odd): rounding that to
 * the 11 bits of an f16 rounds once. The product of two f16 is exact in double. */
static _Float16 fma_f16(double a, double b, double c) {
    double product = a * b, sum = product + c;
    if (isfinite(sum)) {
        double part = sum - product;
        double rest = (product - (sum - part)) + (c - part);
        uint64_t bits;
        memcpy(&bits, &sum, sizeof bits);
        if (rest != 0 && (bits & 1) == 0) {
            bits = (rest > 0) == (sum > 0) ? bits + 1 : bits - 1;
            memcpy(&sum, &bits, sizeof sum);
        }
    }
    return (_Float16)sum;
}

te_value te_value_fma(te_value a, te_value b, te_value c) {
    te_value out = {.type = a.type};
    switch (a.type) {
    case CTUNE_F16:
        out.f = (long double)fma_f16((double)a.f, (double)b.f, (double)c.f);
        break;
    case CTUNE_F32:
        out.f = (long double)fmaf((float)a.f, (float)b.f, (float)c.f);
        break;
    case CTUNE_F64:
        out.f = (long double)fma((double)a.f, (double)b.f, (double)c.f);
        break;
    default:
        out.f = fmal(a.f, b.f, c.f);
        break;
    }
    return out;
}

te_value te_value_call(const char *name, ctune_type type, const te_value *args, int n_args) {
    ctune_math_arg given[3] = {{0}}, result;
    te_value out = {.type = type};
    for (int i = 0; i < n_args && i < 3; i++) {
        switch (type) {
        case CTUNE_F32:
            given[i].f32 = (float)args[i].f;
            break;
        case CTUNE_F64:
            given[i].f64 = (double)args[i].f;
            break;
        case CTUNE_F80:
            given[i].f80 = args[i].f;
            break;
        case CTUNE_I32:
            given[i].i32 = (int32_t)args[i].i;
            break;
        default:
            given[i].i64 = args[i].i;
            break;
        }
    }
    result = ctune_math_call(name, given);
    switch (type) {
    case CTUNE_F32:
        out.f = (long double)result.f32;
        break;
    case CTUNE_F64:
        out.f = (long double)result.f64;
        break;
    case CTUNE_F80:
        out.f = result.f80;
        break;
    case CTUNE_I32:
        out.i = result.i32;
        break;
    default:
        out.i = result.i64;
        break;
    }
    return out;
}

te_value te_value_const(ctune_type type, int64_t i_value, double f_value, const char *text) {
    te_value v = {.type = type};
    if (type == CTUNE_F80 && text != NULL) {
        char *end; /* the literal has more bits than f_value */
        long double exact = strtold(text, &end);
        bool is_literal = end != text && (*end == '\0' || strcasecmp(end, "l") == 0);
        v.f = is_literal ? exact : (long double)f_value;
    } else if (ctune_type_is_float(type)) {
        v.f = round_to(type, (long double)f_value);
    } else {
        v.i = te_wrap(type, i_value);
    }
    return v;
}

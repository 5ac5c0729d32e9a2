/*
 * The interpreter: runs a region as the source would. The oracle of the tests, so it is plain
 * rather than fast.
 *
 * In: a verified region, parameter values, buffers. Out: the buffers. C's semantics by type:
 * integers wrap at their width (where C leaves signed overflow undefined, two's complement is what
 * every compiler's code does without assumptions), f32 and f16 are rounded after each operation,
 * f64 and f80 computed in their type, nothing is contracted. Each access is checked against its
 * buffer, and each read of a temporary against what has been written.
 */
#include "search/te/te_private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct value {
    ctune_type type; /* selects the arm: floats f (exact for every float type), integers i */
    long double f;
    int64_t i; /* in the value range of the type; u64 as its bit pattern */
} value;

typedef struct buffer {
    unsigned char *bytes;
    size_t n_bytes;
    int64_t lo[CTUNE_MAX_RANK]; /* first index: 0 but for temporaries */
    int64_t extent[CTUNE_MAX_RANK];
    unsigned char *is_set; /* temporaries: [elements]; NULL for others */
} buffer;

typedef struct machine {
    ctune_ctx *ctx;
    const ctune_region *region;
    const int64_t *params;
    int64_t *axes;
    buffer *buffers;
    ctune_status status;
} machine;

static void fail(machine *m, const char *what, const char *name) {
    if (m->status == CTUNE_OK) {
        m->status = ctune_fail(m->ctx, CTUNE_EUSAGE, "eval: %s%s", what, name);
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

static int64_t wrap(ctune_type type, int64_t v) {
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

static value convert(value v, ctune_type type) {
    value out = {.type = type};
    if (ctune_type_is_float(v.type)) {
        if (ctune_type_is_float(type)) {
            out.f = round_to(type, v.f);
        } else {
            out.i = wrap(type, float_to_int(type, v.f));
        }
    } else if (ctune_type_is_float(type)) {
        out.f = round_to(type, v.type == CTUNE_U64 ? (long double)(uint64_t)v.i : (long double)v.i);
    } else {
        out.i = wrap(type, v.i);
    }
    return out;
}

static bool is_true(value v) {
    return ctune_type_is_float(v.type) ? v.f != 0 : v.i != 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static value load(ctune_type type, const unsigned char *at) {
    value v = {.type = type};
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

static void store(value v, unsigned char *at) {
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

/* Where an element lives; NULL after a failure. *flat: its ordinal. */
static unsigned char *locate(machine *m, const ctune_access *access, int64_t *flat) {
    const ctune_tensor *t = &m->region->tensors[access->tensor];
    buffer *b = &m->buffers[access->tensor];
    int64_t at = 0;
    for (int d = 0; d < access->n_idx; d++) {
        int64_t idx = ctune_aff_eval(m->region, access->idx[d], m->axes, m->params) - b->lo[d];
        if ((t->is_temp && (idx < 0 || idx >= b->extent[d])) ||
            __builtin_mul_overflow(at, b->extent[d], &at) || __builtin_add_overflow(at, idx, &at)) {
            fail(m, "index out of bounds of ", t->name);
            return NULL;
        }
    }
    int64_t stride = t->is_temp ? ctune_type_get(t->type)->bytes : t->elem_stride_bytes, offset;
    size_t elem = (size_t)ctune_type_get(t->type)->bytes;
    if (at < 0 || b->bytes == NULL || __builtin_mul_overflow(at, stride, &offset) ||
        (uint64_t)offset > b->n_bytes || b->n_bytes - (size_t)offset < elem) {
        fail(m, "index out of bounds of ", t->name);
        return NULL;
    }
    *flat = at;
    return b->bytes + offset;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static value eval_expr(machine *m, const ctune_expr *e);

static value eval_read(machine *m, const ctune_access *access) {
    const ctune_tensor *t = &m->region->tensors[access->tensor];
    int64_t flat = 0;
    const unsigned char *at = locate(m, access, &flat);
    if (at == NULL) {
        return (value){.type = t->type};
    }
    if (t->is_temp && !m->buffers[access->tensor].is_set[flat]) {
        fail(m, "read before it is written: ", t->name);
    }
    return load(t->type, at);
}

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

static int64_t int_divide(machine *m, ctune_op op, ctune_type type, int64_t a, int64_t b) {
    if (b == 0) {
        fail(m, "division by zero", "");
        return 0;
    }
    if (type == CTUNE_U64) {
        uint64_t x = (uint64_t)a, y = (uint64_t)b;
        return (int64_t)(op == CTUNE_OP_DIV ? x / y : x % y);
    }
    if (b == -1) {
        return op == CTUNE_OP_DIV ? (int64_t)(0 - (uint64_t)a) : 0;
    }
    return op == CTUNE_OP_DIV ? a / b : a % b;
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

static int64_t int_binary(machine *m, ctune_op op, ctune_type type, int64_t a, int64_t b) {
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
        r = int_divide(m, op, type, a, b);
        break;
    }
    return wrap(type, r);
}

/* both operands of one type */
static value arithmetic(machine *m, ctune_op op, value a, value b) {
    value out = {.type = a.type};
    if (ctune_type_is_float(a.type)) {
        out.f = float_binary(op, a.type, a.f, b.f);
    } else {
        out.i = int_binary(m, op, a.type, a.i, b.i);
    }
    return out;
}

static bool is_less(value a, value b) {
    if (ctune_type_is_float(a.type)) {
        return a.f < b.f;
    }
    return a.type == CTUNE_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}

static bool is_same(value a, value b) {
    return ctune_type_is_float(a.type) ? a.f == b.f : a.i == b.i;
}

static bool compare(ctune_op op, value a, value b) {
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

static value negate(value v) {
    if (ctune_type_is_float(v.type)) {
        v.f = -v.f;
    } else {
        v.i = wrap(v.type, (int64_t)(0 - (uint64_t)v.i));
    }
    return v;
}

static value eval_call(machine *m, const ctune_expr *e) {
    ctune_math_arg args[3] = {{0}}, result;
    value out = {.type = e->type};
    for (int i = 0; i < e->n_kids && i < 3; i++) {
        value v = convert(eval_expr(m, e->kids[i]), e->type);
        switch (e->type) {
        case CTUNE_F32:
            args[i].f32 = (float)v.f;
            break;
        case CTUNE_F64:
            args[i].f64 = (double)v.f;
            break;
        case CTUNE_F80:
            args[i].f80 = v.f;
            break;
        case CTUNE_I32:
            args[i].i32 = (int32_t)v.i;
            break;
        default:
            args[i].i64 = v.i;
            break;
        }
    }
    result = ctune_math_call(e->text, args);
    switch (e->type) {
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

static value eval_const(const ctune_expr *e) {
    value v = {.type = e->type};
    if (e->type == CTUNE_F80 && e->text != NULL) {
        char *end; /* the literal has more bits than f_value */
        long double exact = strtold(e->text, &end);
        bool is_literal = end != e->text && (*end == '\0' || strcasecmp(end, "l") == 0);
        v.f = is_literal ? exact : (long double)e->f_value;
    } else if (ctune_type_is_float(e->type)) {
        v.f = round_to(e->type, (long double)e->f_value);
    } else {
        v.i = wrap(e->type, e->i_value);
    }
    return v;
}

static value eval_expr(machine *m, const ctune_expr *e) {
    value out = {.type = e->type}, a;
    switch (e->op) {
    case CTUNE_OP_CONST:
        return eval_const(e);
    case CTUNE_OP_READ:
        return eval_read(m, &e->access);
    case CTUNE_OP_AFF:
        out.i = wrap(e->type, ctune_aff_eval(m->region, e->aff, m->axes, m->params));
        return out;
    case CTUNE_OP_SELECT:
        return eval_expr(m, e->kids[is_true(eval_expr(m, e->kids[0])) ? 1 : 2]);
    case CTUNE_OP_LAND:
        out.i = is_true(eval_expr(m, e->kids[0])) && is_true(eval_expr(m, e->kids[1]));
        return out;
    case CTUNE_OP_LOR:
        out.i = is_true(eval_expr(m, e->kids[0])) || is_true(eval_expr(m, e->kids[1]));
        return out;
    case CTUNE_OP_CALL:
        return eval_call(m, e);
    default:
        break;
    }
    a = eval_expr(m, e->kids[0]);
    switch (e->op) {
    case CTUNE_OP_CAST:
        return convert(a, e->type);
    case CTUNE_OP_NEG:
        return negate(a);
    case CTUNE_OP_BNOT:
        out.i = wrap(e->type, ~a.i);
        return out;
    case CTUNE_OP_LNOT:
        out.i = !is_true(a);
        return out;
    default:
        break;
    }
    value b = eval_expr(m, e->kids[1]);
    if (e->op >= CTUNE_OP_LT && e->op <= CTUNE_OP_NE) {
        out.i = compare(e->op, a, b);
        return out;
    }
    if (e->op == CTUNE_OP_MIN || e->op == CTUNE_OP_MAX) {
        return is_less(e->op == CTUNE_OP_MIN ? a : b, e->op == CTUNE_OP_MIN ? b : a) ? a : b;
    }
    return arithmetic(m, e->op, a, b);
}

/* ---- statements ------------------------------------------------------------------------------ */

static value updated(machine *m, const ctune_stage *stage, value old, value rhs) {
    static const ctune_op ops[CTUNE_N_UPDATES] = {
        [CTUNE_UPDATE_ADD] = CTUNE_OP_ADD,   [CTUNE_UPDATE_SUB] = CTUNE_OP_SUB,
        [CTUNE_UPDATE_MUL] = CTUNE_OP_MUL,   [CTUNE_UPDATE_DIV] = CTUNE_OP_DIV,
        [CTUNE_UPDATE_BAND] = CTUNE_OP_BAND, [CTUNE_UPDATE_BOR] = CTUNE_OP_BOR,
        [CTUNE_UPDATE_BXOR] = CTUNE_OP_BXOR, [CTUNE_UPDATE_MIN] = CTUNE_OP_MIN,
        [CTUNE_UPDATE_MAX] = CTUNE_OP_MAX,
    };
    value a = convert(old, stage->calc), b = convert(rhs, stage->calc);
    if (stage->update == CTUNE_UPDATE_MIN) {
        return is_less(a, b) ? a : b;
    }
    if (stage->update == CTUNE_UPDATE_MAX) {
        return is_less(b, a) ? a : b;
    }
    return arithmetic(m, ops[stage->update], a, b);
}

static void run_stage(machine *m, const ctune_stage *stage) {
    if (stage->guard != NULL && !is_true(eval_expr(m, stage->guard))) {
        return;
    }
    const ctune_tensor *t = &m->region->tensors[stage->target.tensor];
    value v = eval_expr(m, stage->rhs);
    if (stage->update != CTUNE_UPDATE_SET) {
        v = updated(m, stage, eval_read(m, &stage->target), v);
    }
    int64_t flat = 0;
    unsigned char *at = locate(m, &stage->target, &flat);
    if (at != NULL && m->status == CTUNE_OK) {
        store(convert(v, t->type), at);
        if (t->is_temp) {
            m->buffers[stage->target.tensor].is_set[flat] = 1;
        }
    }
}

static int64_t floor_div(int64_t num, int64_t den) {
    int64_t q = num / den;
    return q - (num % den != 0 && (num < 0) != (den < 0));
}

/* Range of a loop from the constraints in which its axis stands outside divs. True when others have
 * to be checked in each iteration. */
static bool loop_range(machine *m, const ctune_node *node, int64_t *lo, int64_t *hi) {
    bool has_others = false;
    *lo = INT64_MIN;
    *hi = INT64_MAX;
    m->axes[node->axis] = 0;
    for (int i = 0; i < node->n_cons; i++) {
        const ctune_aff *con = node->cons[i];
        int64_t coef = ctune_aff_coef(con, CTUNE_TERM_AXIS, node->axis);
        int64_t rest = ctune_aff_eval(m->region, con, m->axes, m->params), bound;
        if (coef == 0 || ctune_aff_div_uses_axis(m->region, con, node->axis)) {
            has_others = true;
        } else if (coef > 0) {
            bound = -floor_div(rest, coef);
            *lo = bound > *lo ? bound : *lo;
        } else {
            bound = floor_div(rest, -coef);
            *hi = bound < *hi ? bound : *hi;
        }
    }
    return has_others;
}

static bool holds(machine *m, const ctune_node *node) {
    for (int i = 0; i < node->n_cons; i++) {
        if (ctune_aff_eval(m->region, node->cons[i], m->axes, m->params) < 0) {
            return false;
        }
    }
    return true;
}

static void run_node(machine *m, const ctune_node *node);

static void run_kids(machine *m, const ctune_node *node) {
    for (int i = 0; i < node->n_kids && m->status == CTUNE_OK; i++) {
        run_node(m, node->kids[i]);
    }
}

static void run_loop(machine *m, const ctune_node *node) {
    int64_t lo, hi;
    bool is_checked = loop_range(m, node, &lo, &hi);
    if (lo == INT64_MIN || hi == INT64_MAX) {
        fail(m, "unbounded loop ", m->region->axes[node->axis].name);
        return;
    }
    for (int64_t i = lo; i <= hi && m->status == CTUNE_OK; i++) {
        m->axes[node->axis] = i;
        if (!is_checked || holds(m, node)) {
            run_kids(m, node);
        }
    }
}

static void run_node(machine *m, const ctune_node *node) {
    switch (node->kind) {
    case CTUNE_NODE_STAGE:
        run_stage(m, &m->region->stages[node->stage]);
        break;
    case CTUNE_NODE_LOOP:
        run_loop(m, node);
        break;
    case CTUNE_NODE_IF:
        if (holds(m, node)) {
            run_kids(m, node);
        }
        break;
    default:
        run_kids(m, node);
        break;
    }
}

/* ---- buffers --------------------------------------------------------------------------------- */

enum { MAX_TEMP_ELEMS = 1 << 28 };

/* A temporary spans the bounding box of its accesses. */
static ctune_status temp_init(machine *m, ctune_arena *arena, int id) {
    const ctune_tensor *t = &m->region->tensors[id];
    buffer *b = &m->buffers[id];
    int64_t hi[CTUNE_MAX_RANK], n_elems = 1;
    ctune_tensor_box(m->region, id, m->params, b->lo, hi);
    for (int d = 0; d < t->rank; d++) {
        b->extent[d] = hi[d] - b->lo[d] + 1;
        if (__builtin_mul_overflow(n_elems, b->extent[d], &n_elems) || n_elems > MAX_TEMP_ELEMS) {
            return ctune_fail(m->ctx, CTUNE_EUSAGE, "eval: temporary %s is too large", t->name);
        }
    }
    b->n_bytes = (size_t)n_elems * (size_t)ctune_type_get(t->type)->bytes;
    b->bytes = ctune_arena_alloc(arena, b->n_bytes);
    b->is_set = ctune_arena_alloc(arena, (size_t)n_elems);
    return b->bytes != NULL && b->is_set != NULL
               ? CTUNE_OK
               : ctune_fail(m->ctx, CTUNE_ENOMEM, "out of memory");
}

static ctune_status buffers_init(machine *m, ctune_arena *arena, void *const *tensors,
                                 const size_t *tensor_bytes) {
    for (int i = 0; i < m->region->n_tensors; i++) {
        buffer *b = &m->buffers[i];
        if (m->region->tensors[i].is_temp) {
            ctune_status status = temp_init(m, arena, i);
            if (status != CTUNE_OK) {
                return status;
            }
            continue;
        }
        if (ctune_tensor_shape(m->region, i, m->params, b->extent) < 0) {
            return ctune_fail(m->ctx, CTUNE_EUSAGE, "eval: tensor %s is too large",
                              m->region->tensors[i].name);
        }
        b->bytes = tensors[i];
        b->n_bytes = tensor_bytes[i];
    }
    return CTUNE_OK;
}

ctune_status ctune_te_eval(ctune_ctx *ctx, const ctune_region *region, const int64_t *params,
                           void *const *tensors, const size_t *tensor_bytes) {
    ctune_arena *arena = ctune_arena_create(ctx);
    machine m = {.ctx = ctx, .region = region, .params = params, .status = CTUNE_OK};
    m.axes = CTUNE_NEW_ARRAY(arena, int64_t, region->n_axes);
    m.buffers = CTUNE_NEW_ARRAY(arena, buffer, region->n_tensors);
    if (m.axes == NULL || m.buffers == NULL) {
        m.status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    } else {
        m.status = buffers_init(&m, arena, tensors, tensor_bytes);
    }
    if (m.status == CTUNE_OK) {
        run_node(&m, region->root);
    }
    ctune_arena_destroy(arena);
    return m.status;
}

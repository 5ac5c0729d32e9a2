/*
 * The interpreter: runs a region as the source would. The oracle of the tests, so it is plain
 * rather than fast.
 *
 * In: a verified region, parameter values, buffers. Out: the buffers. Arithmetic: te_value.h, and
 * products that are added are fused when asked for (te.h, ctune_products). Each access is checked
 * against its buffer, and each read of a temporary against what has been written.
 */
#include "search/te/te_private.h"
#include "search/te/te_value.h"

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
    bool fuses; /* products into sums */
    ctune_status status;
} machine;

static void fail(machine *m, const char *what, const char *name) {
    if (m->status == CTUNE_OK) {
        m->status = ctune_fail(m->ctx, CTUNE_EUSAGE, "eval: %s%s", what, name);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t read_index(void *data, const ctune_access *access);

static int64_t eval_aff(machine *m, const ctune_aff *aff) {
    return ctune_aff_eval_with(m->region, aff, m->axes, m->params, read_index, m);
}

/* Where an element lives; NULL after a failure. *flat: its ordinal. */
static unsigned char *locate(machine *m, const ctune_access *access, int64_t *flat) {
    const ctune_tensor *t = &m->region->tensors[access->tensor];
    buffer *b = &m->buffers[access->tensor];
    int64_t at = 0;
    for (int d = 0; d < access->n_idx; d++) {
        int64_t idx = eval_aff(m, access->idx[d]) - b->lo[d];
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

static te_value eval_expr(machine *m, const ctune_expr *e);

static te_value eval_read(machine *m, const ctune_access *access) {
    const ctune_tensor *t = &m->region->tensors[access->tensor];
    int64_t flat = 0;
    const unsigned char *at = locate(m, access, &flat);
    if (at == NULL) {
        return (te_value){.type = t->type};
    }
    if (t->is_temp && !m->buffers[access->tensor].is_set[flat]) {
        fail(m, "read before it is written: ", t->name);
    }
    return te_value_load(t->type, at);
}

/* An element as a subscript or bound. */
static int64_t read_index(void *data, const ctune_access *access) {
    return eval_read(data, access).i;
}

static te_value binary(machine *m, ctune_op op, te_value a, te_value b) {
    te_value out;
    if (!te_value_binary(op, a, b, &out)) {
        fail(m, "division by zero", "");
    }
    return out;
}

/* product + addend in one rounding; product: a MUL or the negation of one, subtracted when
 * is_minus. */
static te_value eval_fused(machine *m, const ctune_expr *product, bool is_minus, te_value addend) {
    if (product->op == CTUNE_OP_NEG) {
        product = product->kids[0];
        is_minus = !is_minus;
    }
    te_value a = eval_expr(m, product->kids[0]), b = eval_expr(m, product->kids[1]);
    return te_value_fma(is_minus ? te_value_negate(a) : a, b, addend);
}

static te_value eval_sum(machine *m, const ctune_expr *e) {
    bool is_minus = e->op == CTUNE_OP_SUB;
    int which = m->fuses ? ctune_fma_operand(e->kids[0], e->kids[1]) : -1;
    if (which == 0) {
        te_value b = eval_expr(m, e->kids[1]);
        return eval_fused(m, e->kids[0], false, is_minus ? te_value_negate(b) : b);
    }
    te_value a = eval_expr(m, e->kids[0]);
    return which == 1 ? eval_fused(m, e->kids[1], is_minus, a)
                      : binary(m, e->op, a, eval_expr(m, e->kids[1]));
}

static te_value eval_call(machine *m, const ctune_expr *e) {
    te_value args[3] = {{0}};
    for (int i = 0; i < e->n_kids && i < 3; i++) {
        args[i] = te_value_convert(eval_expr(m, e->kids[i]), e->type);
    }
    return te_value_call(e->text, e->type, args, e->n_kids);
}

static te_value eval_unary(const ctune_expr *e, te_value a) {
    te_value out = {.type = e->type};
    switch (e->op) {
    case CTUNE_OP_CAST:
        return te_value_convert(a, e->type);
    case CTUNE_OP_NEG:
        return te_value_negate(a);
    case CTUNE_OP_BNOT:
        out.i = te_wrap(e->type, ~a.i);
        return out;
    default:
        out.i = !te_value_is_true(a);
        return out;
    }
}

static bool eval_truth(machine *m, const ctune_expr *e) {
    return te_value_is_true(eval_expr(m, e));
}

static te_value eval_expr(machine *m, const ctune_expr *e) {
    te_value out = {.type = e->type};
    switch (e->op) {
    case CTUNE_OP_CONST:
        return te_value_const(e->type, e->i_value, e->f_value, e->text);
    case CTUNE_OP_READ:
        return eval_read(m, &e->access);
    case CTUNE_OP_AFF:
        out.i = te_wrap(e->type, eval_aff(m, e->aff));
        return out;
    case CTUNE_OP_SELECT:
        return eval_expr(m, e->kids[eval_truth(m, e->kids[0]) ? 1 : 2]);
    case CTUNE_OP_LAND:
        out.i = eval_truth(m, e->kids[0]) && eval_truth(m, e->kids[1]);
        return out;
    case CTUNE_OP_LOR:
        out.i = eval_truth(m, e->kids[0]) || eval_truth(m, e->kids[1]);
        return out;
    case CTUNE_OP_CALL:
        return eval_call(m, e);
    case CTUNE_OP_ADD:
    case CTUNE_OP_SUB:
        return eval_sum(m, e);
    default:
        break;
    }
    te_value a = eval_expr(m, e->kids[0]);
    if (e->n_kids == 1) {
        return eval_unary(e, a);
    }
    te_value b = eval_expr(m, e->kids[1]);
    if (e->op >= CTUNE_OP_LT && e->op <= CTUNE_OP_NE) {
        out.i = te_value_compare(e->op, a, b);
        return out;
    }
    return e->op == CTUNE_OP_MIN || e->op == CTUNE_OP_MAX ? te_value_extreme(e->op, a, b)
                                                          : binary(m, e->op, a, b);
}

/* ---- statements ------------------------------------------------------------------------------ */

static te_value updated(machine *m, const ctune_stage *stage, te_value old, te_value rhs) {
    static const ctune_op ops[CTUNE_N_UPDATES] = {
        [CTUNE_UPDATE_ADD] = CTUNE_OP_ADD,   [CTUNE_UPDATE_SUB] = CTUNE_OP_SUB,
        [CTUNE_UPDATE_MUL] = CTUNE_OP_MUL,   [CTUNE_UPDATE_DIV] = CTUNE_OP_DIV,
        [CTUNE_UPDATE_BAND] = CTUNE_OP_BAND, [CTUNE_UPDATE_BOR] = CTUNE_OP_BOR,
        [CTUNE_UPDATE_BXOR] = CTUNE_OP_BXOR, [CTUNE_UPDATE_MIN] = CTUNE_OP_MIN,
        [CTUNE_UPDATE_MAX] = CTUNE_OP_MAX,   [CTUNE_UPDATE_BELOW] = CTUNE_OP_MIN,
        [CTUNE_UPDATE_ABOVE] = CTUNE_OP_MAX,
    };
    te_value a = te_value_convert(old, stage->calc), b = te_value_convert(rhs, stage->calc);
    if (stage->update == CTUNE_UPDATE_BELOW || stage->update == CTUNE_UPDATE_ABOVE) {
        return te_value_extreme(ops[stage->update], b, a);
    }
    return stage->update == CTUNE_UPDATE_MIN || stage->update == CTUNE_UPDATE_MAX
               ? te_value_extreme(ops[stage->update], a, b)
               : binary(m, ops[stage->update], a, b);
}

/* Does the update itself absorb the product on its right? */
static bool is_fused_update(const machine *m, const ctune_stage *stage) {
    return m->fuses && (stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB) &&
           stage->calc == stage->rhs->type && ctune_expr_is_product(stage->rhs);
}

/* The value that is stored, before its conversion to the target's type. */
static te_value stage_value(machine *m, const ctune_stage *stage) {
    if (is_fused_update(m, stage)) {
        te_value old = te_value_convert(eval_read(m, &stage->target), stage->calc);
        return eval_fused(m, stage->rhs, stage->update == CTUNE_UPDATE_SUB, old);
    }
    te_value v = eval_expr(m, stage->rhs);
    return stage->update == CTUNE_UPDATE_SET ? v
                                             : updated(m, stage, eval_read(m, &stage->target), v);
}

static void run_stage(machine *m, const ctune_stage *stage) {
    if (stage->guard != NULL && !eval_truth(m, stage->guard)) {
        return;
    }
    const ctune_tensor *t = &m->region->tensors[stage->target.tensor];
    te_value v = stage_value(m, stage);
    int64_t flat = 0;
    unsigned char *at = locate(m, &stage->target, &flat);
    if (at != NULL && m->status == CTUNE_OK) {
        te_value_store(te_value_convert(v, t->type), at);
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
        if (coef == 0 || ctune_aff_div_uses_axis(m->region, con, node->axis)) {
            has_others = true;
            continue;
        }
        int64_t rest = eval_aff(m, con), bound;
        if (coef > 0) {
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
        if (eval_aff(m, node->cons[i]) < 0) {
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

ctune_status ctune_te_eval(ctune_ctx *ctx, const ctune_region *region, ctune_products products,
                           const int64_t *params, void *const *tensors,
                           const size_t *tensor_bytes) {
    ctune_arena *arena = ctune_arena_create(ctx);
    machine m = {
        .ctx = ctx, .region = region, .params = params, .fuses = products == CTUNE_PRODUCTS_FUSED};
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

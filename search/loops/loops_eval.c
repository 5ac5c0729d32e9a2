/*
 * The interpreter of a program: the second oracle. After every pass a program must compute what
 * te_eval computes of its region.
 *
 * In: a verified program, parameter values, the tensors. Out: the tensors. Values are te_value.h's,
 * lane by lane. Every access is checked against its memory, every read of a buffer or variable
 * against what has been written since its DECL or DEF. It runs once for each of thousands of random
 * programs, so values are walked as they stand and an access costs no search and no allocation.
 *
 * PARALLEL, SIMD and VECTOR loops may be run in another order, and then each element remembers
 * which iteration touched it: two that meet are a wrong annotation, whatever they compute.
 *
 * A block of a GPU runs from barrier to barrier, in each part one thread after the other; threads
 * keep their variables and buffers meanwhile. Ordinals tell who touched an element: any thread of
 * another block of the launch meets this one, one of the same block since the last barrier.
 */
#include "search/loops/loops.h"
#include "search/te/te_value.h"

#include <stdio.h>
#include <string.h>

/* Functions with lanes on their stack, kept out of the frames of the recursion. */
#define NOINLINE __attribute__((noinline))

enum { MAX_ELEMS = 1 << 28, MAX_VECTOR_DEPTH = 400, MAX_COLLAPSE = 32 };

/* Who touched an element last inside a loop whose iterations are independent. */
typedef struct toucher {
    uint32_t writer, reader, other_reader; /* ordinals of iterations, 0 = nobody; readers differ */
} toucher;

typedef struct memory {
    const char *name;
    ctune_type type;
    unsigned char *bytes;
    size_t n_bytes;
    int64_t stride; /* bytes between neighbours of the last dimension */
    int rank;
    int64_t extent[CTUNE_MAX_RANK];
    bool is_buffer;    /* each index is checked; reads want written elements */
    int64_t cap_elems; /* buffers: what fits into bytes, written, touched */
    uint32_t *written; /* buffers: [elements] the generation in which it was */
    uint32_t generation;
    toucher *touched; /* [elements]; NULL: nobody asks */
    bool is_private;  /* of one iteration */
    bool is_of_block; /* of a GPU: other blocks have their own */
} memory;

typedef struct variable {
    int64_t index;   /* index variables */
    te_value *lanes; /* value variables */
    bool is_set;
} variable;

/* One thread of a block of a GPU: what it has for itself. */
typedef struct thread_state {
    variable *var;  /* [n_vars] */
    memory *buffer; /* [n_buffers] those declared outside are copies of the machine's */
} thread_state;

typedef struct machine {
    ctune_ctx *ctx;
    const ctune_loops *l;
    ctune_arena *arena;
    const int64_t *params;
    variable *var;
    memory *tensor, *buffer;
    uint64_t seed, random; /* seed 0: in order */
    /* inside an independent loop: ordinal of its iteration and of its first one; else 0 */
    uint32_t iteration, first_iteration, n_iterations;
    /* in a launch: ordinals of its first thread and of its block's; n_threads of the block at hand,
     * whose ordinals are first_iteration .. since the last barrier */
    uint32_t launch_first, block_first;
    int n_threads, cap_threads;
    thread_state *thread;
    int depth; /* of vector values */
    ctune_status status;
} machine;

static void fail(machine *m, const char *what, const char *name) {
    if (m->status == CTUNE_OK) {
        m->status = ctune_fail(m->ctx, CTUNE_EUSAGE, "loops eval: %s%s", what, name);
    }
}

/* ---- indices --------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t num, int64_t den) {
    int64_t q = num / den;
    return q - (num % den != 0 && (num < 0) != (den < 0));
}

static int64_t eval_aff(machine *m, const ctune_aff *aff);

static int64_t eval_load(machine *m, const ctune_place *place);

static int64_t eval_atom(machine *m, const ctune_atom *atom) {
    if (atom->kind == CTUNE_ATOM_LOAD) {
        return eval_load(m, atom->place);
    }
    int64_t a = eval_aff(m, atom->a);
    if (atom->kind == CTUNE_ATOM_FLOOR) {
        return floor_div(a, atom->den);
    }
    int64_t b = eval_aff(m, atom->b);
    if (atom->kind == CTUNE_ATOM_PROD) {
        if (__builtin_mul_overflow(a, b, &a)) {
            fail(m, "an index does not fit 64 bits", "");
        }
        return a;
    }
    return (a < b) == (atom->kind == CTUNE_ATOM_MIN) ? a : b;
}

static int64_t eval_aff(machine *m, const ctune_aff *aff) {
    int64_t sum = aff->c0;
    bool is_over = false;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        int64_t x = term->kind == CTUNE_TERM_AXIS    ? m->var[term->id].index
                    : term->kind == CTUNE_TERM_PARAM ? m->params[term->id]
                                                     : eval_atom(m, &m->l->atom[term->id]);
        is_over |= __builtin_mul_overflow(x, term->coef, &x);
        is_over |= __builtin_add_overflow(sum, x, &sum);
    }
    if (is_over) {
        fail(m, "an index does not fit 64 bits", "");
    }
    return sum;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void fail_bounds(machine *m, const memory *mem, const ctune_place *place, int lanes) {
    char where[160] = "";
    int len = 0;
    for (int d = 0; d < place->n_idx && len < 140; d++) {
        len += snprintf(where + len, sizeof where - (size_t)len, "[%lld]",
                        (long long)eval_aff(m, place->idx[d]));
    }
    if (m->status == CTUNE_OK) {
        m->status = ctune_fail(m->ctx, CTUNE_EUSAGE, "loops eval: %s%s%s is out of bounds of %s",
                               mem->name, where, lanes > 1 ? " and its lanes" : "", mem->name);
    }
}

static memory *memory_of(machine *m, const ctune_place *place) {
    return place->is_buffer ? &m->buffer[place->id] : &m->tensor[place->id];
}

/* The ordinal of the first element of an access of `lanes`; -1 after a failure. */
static int64_t locate(machine *m, const memory *mem, const ctune_place *place, int lanes) {
    int64_t at = 0, offset, last = lanes - 1;
    for (int d = 0; d < place->n_idx; d++) {
        int64_t idx = eval_aff(m, place->idx[d]);
        int64_t reach = d == place->n_idx - 1 ? idx + last : idx;
        if ((mem->is_buffer && (idx < 0 || reach >= mem->extent[d])) ||
            __builtin_mul_overflow(at, mem->extent[d], &at) ||
            __builtin_add_overflow(at, idx, &at)) {
            fail_bounds(m, mem, place, lanes);
            return -1;
        }
    }
    size_t elem = (size_t)ctune_type_get(mem->type)->bytes;
    if (at < 0 || mem->bytes == NULL || __builtin_mul_overflow(at + last, mem->stride, &offset) ||
        (uint64_t)offset > mem->n_bytes || mem->n_bytes - (size_t)offset < elem) {
        fail_bounds(m, mem, place, lanes);
        return -1;
    }
    return at;
}

/* Does somebody else's touch lie in the loop that runs? */
static bool is_foreign(const machine *m, const memory *mem, uint32_t toucher_iteration) {
    bool is_of_block = m->launch_first != 0 && !mem->is_of_block &&
                       toucher_iteration >= m->launch_first && toucher_iteration < m->block_first;
    return is_of_block ||
           (toucher_iteration >= m->first_iteration && toucher_iteration != m->iteration);
}

/* Iterations of an independent loop must not meet in an element. */
static void touch(machine *m, const memory *mem, int64_t at, bool is_write) {
    if (mem->touched == NULL || m->iteration == 0 || mem->is_private) {
        return;
    }
    toucher *t = &mem->touched[at];
    if (is_foreign(m, mem, t->writer) ||
        (is_write && (is_foreign(m, mem, t->reader) || is_foreign(m, mem, t->other_reader)))) {
        fail(m, "iterations that are said to be independent meet in ", mem->name);
    }
    if (is_write) {
        t->writer = m->iteration;
    } else if (is_foreign(m, mem, t->reader)) {
        t->other_reader = m->iteration;
    } else {
        t->reader = m->iteration;
    }
}

static void load(machine *m, const ctune_place *place, int lanes, te_value *out) {
    const memory *mem = memory_of(m, place);
    int64_t at = locate(m, mem, place, lanes);
    for (int k = 0; k < lanes; k++) {
        if (at < 0) {
            out[k] = (te_value){.type = mem->type};
            continue;
        }
        if (mem->is_buffer && mem->written[at + k] != mem->generation) {
            fail(m, "read before it is written: ", mem->name);
        }
        touch(m, mem, at + k, false);
        out[k] = te_value_load(mem->type, mem->bytes + (at + k) * mem->stride);
    }
}

static int64_t eval_load(machine *m, const ctune_place *place) {
    te_value element;
    load(m, place, 1, &element);
    return element.i;
}

static void store(machine *m, const ctune_place *place, int lanes, const te_value *values) {
    const memory *mem = memory_of(m, place);
    if (!place->is_buffer && m->l->region->tensors[place->id].is_temp) {
        return; /* a value that lives on: outside the region's memory */
    }
    int64_t at = locate(m, mem, place, lanes);
    for (int k = 0; k < lanes && at >= 0 && m->status == CTUNE_OK; k++) {
        te_value_store(values[k], mem->bytes + (at + k) * mem->stride);
        if (mem->is_buffer) {
            mem->written[at + k] = mem->generation;
        }
        touch(m, mem, at + k, true);
    }
}

/* ---- scalar values --------------------------------------------------------------------------- */

static const ctune_op op_of[CTUNE_N_VALUE_OPS] = {
    [CTUNE_V_ADD] = CTUNE_OP_ADD, [CTUNE_V_SUB] = CTUNE_OP_SUB,   [CTUNE_V_MUL] = CTUNE_OP_MUL,
    [CTUNE_V_DIV] = CTUNE_OP_DIV, [CTUNE_V_MOD] = CTUNE_OP_MOD,   [CTUNE_V_BAND] = CTUNE_OP_BAND,
    [CTUNE_V_BOR] = CTUNE_OP_BOR, [CTUNE_V_BXOR] = CTUNE_OP_BXOR, [CTUNE_V_SHL] = CTUNE_OP_SHL,
    [CTUNE_V_SHR] = CTUNE_OP_SHR, [CTUNE_V_LT] = CTUNE_OP_LT,     [CTUNE_V_LE] = CTUNE_OP_LE,
    [CTUNE_V_GT] = CTUNE_OP_GT,   [CTUNE_V_GE] = CTUNE_OP_GE,     [CTUNE_V_EQ] = CTUNE_OP_EQ,
    [CTUNE_V_NE] = CTUNE_OP_NE,   [CTUNE_V_MIN] = CTUNE_OP_MIN,   [CTUNE_V_MAX] = CTUNE_OP_MAX,
};

static te_value eval_scalar(machine *m, const ctune_value *v);
static void eval_vector(machine *m, const ctune_value *v, te_value *out);

static te_value of_int(ctune_type type, int64_t i) {
    return (te_value){.type = type, .i = i};
}

static bool eval_truth(machine *m, const ctune_value *v) {
    return te_value_is_true(eval_scalar(m, v));
}

/* One lane of an operator of one operand. */
static te_value unary(const ctune_value *v, te_value a) {
    switch (v->op) {
    case CTUNE_V_NEG:
        return te_value_negate(a);
    case CTUNE_V_BNOT:
        return of_int(v->type, te_wrap(v->type, ~a.i));
    case CTUNE_V_LNOT:
        return of_int(CTUNE_I32, !te_value_is_true(a));
    default:
        return te_value_convert(a, v->type);
    }
}

/* One lane of an operator of two operands. */
static te_value binary(machine *m, const ctune_value *v, te_value a, te_value b) {
    ctune_op op = op_of[v->op];
    if (v->op >= CTUNE_V_LT && v->op <= CTUNE_V_NE) {
        return of_int(v->type, te_value_compare(op, a, b) ? v->lanes > 1 ? -1 : 1 : 0);
    }
    if (v->op == CTUNE_V_MIN || v->op == CTUNE_V_MAX) {
        return te_value_extreme(op, a, b);
    }
    te_value out;
    if (!te_value_binary(op, a, b, &out)) {
        fail(m, "division by zero", "");
    }
    return out;
}

static const te_value *variable_read(machine *m, int var) {
    if (!m->var[var].is_set) {
        const ctune_lvar *info = &m->l->var[var];
        fail(m, "read before it is written: ", info->name != NULL ? info->name : info->hint);
    }
    return m->var[var].lanes;
}

static te_value eval_call(machine *m, const ctune_value *v) {
    te_value args[3] = {{0}};
    for (int i = 0; i < v->n_kids && i < 3; i++) {
        args[i] = eval_scalar(m, v->kids[i]);
    }
    return te_value_call(v->text, v->type, args, v->n_kids);
}

NOINLINE static te_value eval_extract(machine *m, const ctune_value *v) {
    te_value lanes[CTUNE_MAX_LANES];
    eval_vector(m, v->kids[0], lanes);
    return lanes[v->lane];
}

static te_value eval_scalar(machine *m, const ctune_value *v) {
    te_value a, b;
    switch (v->op) {
    case CTUNE_V_CONST:
        return te_value_const(v->type, v->i_value, v->f_value, v->text);
    case CTUNE_V_INDEX:
        return te_value_convert(of_int(CTUNE_I64, eval_aff(m, v->index)), v->type);
    case CTUNE_V_VAR:
        return *variable_read(m, v->var);
    case CTUNE_V_LOAD:
        load(m, &v->place, 1, &a);
        return a;
    case CTUNE_V_FMA:
        a = eval_scalar(m, v->kids[0]);
        b = eval_scalar(m, v->kids[1]);
        return te_value_fma(a, b, eval_scalar(m, v->kids[2]));
    case CTUNE_V_LAND:
        return of_int(CTUNE_I32, eval_truth(m, v->kids[0]) && eval_truth(m, v->kids[1]));
    case CTUNE_V_LOR:
        return of_int(CTUNE_I32, eval_truth(m, v->kids[0]) || eval_truth(m, v->kids[1]));
    case CTUNE_V_SELECT:
        return eval_scalar(m, v->kids[eval_truth(m, v->kids[0]) ? 1 : 2]);
    case CTUNE_V_CALL:
        return eval_call(m, v);
    case CTUNE_V_EXTRACT:
        return eval_extract(m, v);
    default:
        break;
    }
    a = eval_scalar(m, v->kids[0]);
    return v->n_kids == 1 ? unary(v, a) : binary(m, v, a, eval_scalar(m, v->kids[1]));
}

/* ---- vector values --------------------------------------------------------------------------- */

NOINLINE static void eval_slide(machine *m, const ctune_value *v, te_value *out) {
    te_value both[2 * CTUNE_MAX_LANES];
    eval_vector(m, v->kids[0], both);
    eval_vector(m, v->kids[1], both + v->lanes);
    memcpy(out, both + v->lane, (size_t)v->lanes * sizeof *out);
}

NOINLINE static void eval_fma(machine *m, const ctune_value *v, te_value *out) {
    te_value b[CTUNE_MAX_LANES], c[CTUNE_MAX_LANES];
    eval_vector(m, v->kids[0], out);
    eval_vector(m, v->kids[1], b);
    eval_vector(m, v->kids[2], c);
    for (int k = 0; k < v->lanes; k++) {
        out[k] = te_value_fma(out[k], b[k], c[k]);
    }
}

NOINLINE static void eval_blend(machine *m, const ctune_value *v, te_value *out) {
    te_value mask[CTUNE_MAX_LANES], other[CTUNE_MAX_LANES];
    eval_vector(m, v->kids[0], mask);
    eval_vector(m, v->kids[1], out);
    eval_vector(m, v->kids[2], other);
    for (int k = 0; k < v->lanes; k++) {
        if (mask[k].i != 0 && mask[k].i != -1) {
            fail(m, "a lane of a mask is neither 0 nor -1", "");
        }
        out[k] = mask[k].i != 0 ? out[k] : other[k];
    }
}

NOINLINE static void eval_lanewise(machine *m, const ctune_value *v, te_value *out) {
    te_value b[CTUNE_MAX_LANES];
    eval_vector(m, v->kids[0], out);
    if (v->n_kids == 2) {
        eval_vector(m, v->kids[1], b);
    }
    for (int k = 0; k < v->lanes; k++) {
        out[k] = v->n_kids == 1 ? unary(v, out[k]) : binary(m, v, out[k], b[k]);
    }
}

NOINLINE static void eval_lane_calls(machine *m, const ctune_value *v, te_value *out) {
    te_value arg[2][CTUNE_MAX_LANES];
    for (int i = 0; i < v->n_kids && i < 2; i++) {
        eval_vector(m, v->kids[i], arg[i]);
    }
    for (int k = 0; k < v->lanes; k++) {
        te_value args[3] = {arg[0][k], v->n_kids > 1 ? arg[1][k] : arg[0][k]};
        out[k] = te_value_call(v->text, v->type, args, v->n_kids);
    }
}

NOINLINE static void eval_dot(machine *m, const ctune_value *v, te_value *out) {
    te_value a[CTUNE_MAX_LANES], b[CTUNE_MAX_LANES];
    int n = v->kids[1]->lanes / v->lanes;
    eval_vector(m, v->kids[0], out);
    eval_vector(m, v->kids[1], a);
    eval_vector(m, v->kids[2], b);
    for (int k = 0; k < v->lanes; k++) {
        uint32_t sum = (uint32_t)out[k].i;
        for (int i = n * k; i < n * k + n; i++) {
            sum += (uint32_t)((int32_t)a[i].i * (int32_t)b[i].i);
        }
        out[k] = of_int(CTUNE_I32, (int32_t)sum);
    }
}

/* out [v->lanes] */
static void eval_vector(machine *m, const ctune_value *v, te_value *out) {
    if (m->depth >= MAX_VECTOR_DEPTH) {
        fail(m, "a vector value is nested too deeply", "");
        memset(out, 0, sizeof *out * (size_t)v->lanes);
        return;
    }
    m->depth++;
    if (v->lanes == 1) {
        *out = eval_scalar(m, v);
    } else if (v->op == CTUNE_V_VAR) {
        memcpy(out, variable_read(m, v->var), sizeof *out * (size_t)v->lanes);
    } else if (v->op == CTUNE_V_LOAD) {
        load(m, &v->place, v->lanes, out);
    } else if (v->op == CTUNE_V_SPLAT) {
        te_value a = eval_scalar(m, v->kids[0]);
        for (int k = 0; k < v->lanes; k++) {
            out[k] = a;
        }
    } else if (v->op == CTUNE_V_GATHER) {
        for (int k = 0; k < v->lanes; k++) {
            out[k] = eval_scalar(m, v->kids[k]);
        }
    } else if (v->op == CTUNE_V_FMA) {
        eval_fma(m, v, out);
    } else if (v->op == CTUNE_V_SELECT) {
        eval_blend(m, v, out);
    } else if (v->op == CTUNE_V_SLIDE) {
        eval_slide(m, v, out);
    } else if (v->op == CTUNE_V_DOT) {
        eval_dot(m, v, out);
    } else if (v->op == CTUNE_V_CALL) {
        eval_lane_calls(m, v, out);
    } else {
        eval_lanewise(m, v, out);
    }
    m->depth--;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void run_node(machine *m, const ctune_lnode *node);

static void run_kids(machine *m, const ctune_lnode *node) {
    for (const ctune_lnode *kid = node->first; kid != NULL && m->status == CTUNE_OK;
         kid = kid->next) {
        run_node(m, kid);
    }
}

static uint64_t random_next(machine *m) { /* splitmix64 */
    uint64_t z = m->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    return b == 0 ? a : gcd(b, a % b);
}

/* The loops that share their iterations: node and, when it is parallel, the collapsed ones. */
typedef struct bundle {
    int n_loops;
    const ctune_lnode *loop[MAX_COLLAPSE];
    int64_t lo[MAX_COLLAPSE];
    uint64_t count[MAX_COLLAPSE], total;
} bundle;

static uint64_t n_iterations(int64_t lo, int64_t hi, int64_t step) {
    return hi <= lo ? 0 : ((uint64_t)hi - (uint64_t)lo - 1) / (uint64_t)step + 1;
}

static void bundle_init(machine *m, const ctune_lnode *node, bundle *b) {
    b->n_loops = node->ann == CTUNE_LANN_PARALLEL ? node->collapse : 1;
    b->total = 1;
    for (int i = 0; i < b->n_loops; i++, node = node->first) {
        b->loop[i] = node;
        b->lo[i] = eval_aff(m, node->lo);
        b->count[i] = n_iterations(b->lo[i], eval_aff(m, node->hi), node->step);
        if (__builtin_mul_overflow(b->total, b->count[i], &b->total) || b->total > INT32_MAX) {
            fail(m, "too many iterations", "");
        }
    }
}

/* Iterations in the order q -> (a * q + c) mod total: cheap, and every pair of neighbours parts. */
static void run_independent(machine *m, const ctune_lnode *node) {
    bundle b;
    bundle_init(m, node, &b);
    if (b.total == 0 || m->status != CTUNE_OK) {
        return;
    }
    uint64_t a = random_next(m) % b.total, c = random_next(m) % b.total;
    while (gcd(a, b.total) != 1) {
        a = (a + 1) % b.total;
    }
    bool is_outermost = m->iteration == 0;
    if (is_outermost) {
        m->first_iteration = m->n_iterations + 1;
    }
    for (uint64_t q = 0; q < b.total && m->status == CTUNE_OK; q++) {
        uint64_t rest = (a * q + c) % b.total;
        for (int i = b.n_loops - 1; i >= 0; i--) {
            m->var[b.loop[i]->var].index = b.lo[i] + (int64_t)(rest % b.count[i]) * b.loop[i]->step;
            rest /= b.count[i];
        }
        if (is_outermost) {
            m->iteration = ++m->n_iterations;
        }
        run_kids(m, b.loop[b.n_loops - 1]);
    }
    if (is_outermost) {
        m->iteration = 0;
    }
}

/* ---- launches --------------------------------------------------------------------------------
 */

/* Makes thread t the one that runs. */
static void thread_enter(machine *m, int t) {
    m->var = m->thread[t].var;
    m->buffer = m->thread[t].buffer;
    m->iteration = m->first_iteration + (uint32_t)t;
}

/* t-th of the threads in the order of this run: with a seed, an odd one backwards. */
static int thread_at(const machine *m, int t) {
    return (m->seed & 1) != 0 ? m->n_threads - 1 - t : t;
}

/* Since the last barrier nobody has done anything. */
static void begin_interval(machine *m) {
    m->first_iteration = m->n_iterations + 1;
    if (__builtin_add_overflow(m->n_iterations, (uint32_t)m->n_threads, &m->n_iterations)) {
        fail(m, "too many threads", "");
    }
}

static bool thread_grow(machine *m, int n) {
    size_t n_lanes = 0;
    for (int i = 0; i < m->l->n_vars; i++) {
        n_lanes += m->l->var[i].is_index ? 0 : (size_t)m->l->var[i].lanes;
    }
    m->thread = CTUNE_NEW_ARRAY(m->arena, thread_state, n);
    for (int t = 0; m->thread != NULL && t < n; t++) {
        thread_state *s = &m->thread[t];
        s->var = CTUNE_NEW_ARRAY(m->arena, variable, m->l->n_vars);
        s->buffer = CTUNE_NEW_ARRAY(m->arena, memory, m->l->n_buffers);
        te_value *lanes = CTUNE_NEW_ARRAY(m->arena, te_value, n_lanes);
        for (int i = 0; s->var != NULL && lanes != NULL && i < m->l->n_vars; i++) {
            s->var[i].lanes = lanes;
            lanes += m->l->var[i].is_index ? 0 : m->l->var[i].lanes;
        }
    }
    if (ctune_arena_has_failed(m->arena)) {
        m->status = ctune_fail(m->ctx, CTUNE_ENOMEM, "out of memory");
    }
    m->cap_threads = n;
    return m->status == CTUNE_OK;
}

/* What the thread sees of the block: the machine's variables, and buffers declared outside. */
static void thread_copy(machine *m, thread_state *s, const variable *var, const memory *buffer) {
    for (int i = 0; i < m->l->n_vars; i++) {
        const ctune_lvar *info = &m->l->var[i];
        s->var[i].index = var[i].index;
        s->var[i].is_set = var[i].is_set;
        if (!info->is_index) {
            memcpy(s->var[i].lanes, var[i].lanes, sizeof *var[i].lanes * (size_t)info->lanes);
        }
    }
    for (int i = 0; i < m->l->n_buffers; i++) {
        if (buffer[i].bytes != NULL || s->buffer[i].name == NULL) {
            s->buffer[i] = buffer[i];
        }
    }
}

static void run_threads(machine *m, const ctune_lnode *first);

/* A node with a barrier inside, which all threads take the same way. */
static void run_together(machine *m, const ctune_lnode *node) {
    if (node->kind == CTUNE_L_BARRIER) {
        begin_interval(m);
    } else if (node->kind == CTUNE_L_FOR) {
        thread_enter(m, 0);
        int64_t lo = eval_aff(m, node->lo), hi = eval_aff(m, node->hi);
        uint64_t n = n_iterations(lo, hi, node->step);
        for (int t = 1; t < m->n_threads; t++) {
            thread_enter(m, t);
            if (eval_aff(m, node->lo) != lo ||
                n_iterations(lo, eval_aff(m, node->hi), node->step) != n) {
                fail(m, "threads part before a barrier", "");
            }
        }
        for (uint64_t q = 0; q < n && m->status == CTUNE_OK; q++) {
            for (int t = 0; t < m->n_threads; t++) {
                m->thread[t].var[node->var].index = lo + (int64_t)q * node->step;
            }
            run_threads(m, node->first);
        }
    } else if (node->kind == CTUNE_L_IF) {
        int n_holds = 0;
        for (int t = 0; t < m->n_threads; t++) {
            thread_enter(m, t);
            bool holds = true;
            for (int i = 0; i < node->n_conds && holds; i++) {
                holds = eval_aff(m, node->conds[i]) >= 0;
            }
            n_holds += holds && (node->test == NULL || eval_truth(m, node->test));
        }
        if (n_holds != 0 && n_holds != m->n_threads) {
            fail(m, "threads part before a barrier", "");
        } else if (n_holds != 0) {
            run_threads(m, node->first);
        } else if (node->other != NULL) {
            run_threads(m, node->other->first);
        }
    } else {
        run_threads(m, node->first);
    }
}

/* A list of nodes by all threads: what has no barrier inside one thread after the other. */
static void run_threads(machine *m, const ctune_lnode *first) {
    for (const ctune_lnode *node = first; node != NULL && m->status == CTUNE_OK;) {
        if (ctune_lnode_has(node, CTUNE_L_BARRIER)) {
            run_together(m, node);
            node = node->next;
            continue;
        }
        const ctune_lnode *end = node;
        while (end != NULL && !ctune_lnode_has(end, CTUNE_L_BARRIER)) {
            end = end->next;
        }
        for (int i = 0; i < m->n_threads && m->status == CTUNE_OK; i++) {
            thread_enter(m, thread_at(m, i));
            for (const ctune_lnode *n = node; n != end && m->status == CTUNE_OK; n = n->next) {
                run_node(m, n);
            }
        }
        node = end;
    }
}

/* The loops over threads of one block, node the outermost, up to the code of one thread. */
static void run_block(machine *m, const ctune_lnode *node) {
    const ctune_lnode *loop[3], *code = node;
    variable *var = m->var;
    memory *buffer = m->buffer;
    int n_loops = 0;
    m->n_threads = 1;
    for (; code != NULL && code->kind == CTUNE_L_FOR && ctune_lann_is_thread(code->ann) &&
           n_loops < 3;
         code = code->first) {
        loop[n_loops++] = code;
        m->n_threads *= (int)(code->hi->c0 > 1024 ? 1024 : code->hi->c0);
    }
    if (m->n_threads > 1024) {
        fail(m, "a block of over 1024 threads", "");
        return;
    }
    if (m->n_threads > m->cap_threads && !thread_grow(m, m->n_threads)) {
        return;
    }
    for (int t = 0; t < m->n_threads; t++) {
        thread_copy(m, &m->thread[t], var, buffer);
        int rest = t;
        for (int i = n_loops - 1; i >= 0; i--) {
            m->thread[t].var[loop[i]->var].index = rest % loop[i]->hi->c0;
            rest /= (int)loop[i]->hi->c0;
        }
    }
    begin_interval(m);
    m->block_first = m->first_iteration;
    run_threads(m, code);
    m->iteration = 0;
    m->var = var;
    m->buffer = buffer;
}

static void run_blocks(machine *m, const ctune_lnode *node) {
    int64_t n = eval_aff(m, node->hi);
    for (int64_t q = 0; q < n && m->status == CTUNE_OK; q++) {
        m->var[node->var].index = (m->seed & 2) != 0 ? n - 1 - q : q;
        run_kids(m, node);
    }
}

static void run_launch(machine *m, const ctune_lnode *node) {
    m->launch_first = m->n_iterations + 1;
    run_kids(m, node);
    m->launch_first = m->block_first = 0;
}

static void run_for(machine *m, const ctune_lnode *node) {
    if (ctune_lann_is_thread(node->ann)) {
        run_block(m, node);
        return;
    }
    if (ctune_lann_is_block(node->ann)) {
        run_blocks(m, node);
        return;
    }
    bool is_independent = node->ann == CTUNE_LANN_PARALLEL || node->ann == CTUNE_LANN_SIMD ||
                          node->ann == CTUNE_LANN_SLIDE || node->ann == CTUNE_LANN_VECTOR;
    if (is_independent && m->seed != 0) {
        run_independent(m, node);
        return;
    }
    int64_t lo = eval_aff(m, node->lo), hi = eval_aff(m, node->hi);
    uint64_t n = n_iterations(lo, hi, node->step);
    for (uint64_t q = 0; q < n && m->status == CTUNE_OK; q++) {
        m->var[node->var].index = lo + (int64_t)q * node->step;
        run_kids(m, node);
    }
}

static void run_if(machine *m, const ctune_lnode *node) {
    bool holds = true;
    for (int i = 0; i < node->n_conds && holds; i++) {
        holds = eval_aff(m, node->conds[i]) >= 0;
    }
    if (holds && (node->test == NULL || eval_truth(m, node->test))) {
        run_kids(m, node);
    } else if (node->other != NULL) {
        run_kids(m, node->other);
    }
}

/* Room for n elements; what was there is forgotten. */
static bool buffer_grow(machine *m, memory *mem, int64_t n) {
    int64_t cap = n > 2 * mem->cap_elems ? n : 2 * mem->cap_elems;
    size_t elem = (size_t)ctune_type_get(mem->type)->bytes;
    mem->bytes = ctune_arena_array(m->arena, (size_t)cap, elem);
    mem->written = CTUNE_NEW_ARRAY(m->arena, uint32_t, cap);
    mem->touched = m->seed != 0 ? CTUNE_NEW_ARRAY(m->arena, toucher, cap) : NULL;
    mem->cap_elems = cap;
    mem->generation = 0;
    if (ctune_arena_has_failed(m->arena)) {
        m->status = ctune_fail(m->ctx, CTUNE_ENOMEM, "out of memory");
    }
    return m->status == CTUNE_OK;
}

static void run_decl(machine *m, const ctune_lnode *node) {
    const ctune_lbuffer *b = &m->l->buffer[node->buffer];
    memory *mem = &m->buffer[node->buffer];
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++) {
        int64_t extent = eval_aff(m, b->extent[d]);
        mem->extent[d] = extent < 0 ? 0 : extent;
        if (__builtin_mul_overflow(n, mem->extent[d], &n) || n > MAX_ELEMS) {
            fail(m, "too large a buffer: ", mem->name);
            return;
        }
    }
    if ((n > mem->cap_elems || mem->bytes == NULL) && !buffer_grow(m, mem, n)) {
        return;
    }
    mem->n_bytes = (size_t)n * (size_t)mem->stride;
    mem->generation++;
    mem->is_private = m->iteration != 0;
    mem->is_of_block = b->scope == CTUNE_SCOPE_SHARED;
}

NOINLINE static void run_assign(machine *m, const ctune_lnode *node) {
    variable *var = &m->var[node->var];
    te_value lanes[CTUNE_MAX_LANES];
    if (node->value != NULL) {
        eval_vector(m, node->value, lanes);
        memcpy(var->lanes, lanes, sizeof *lanes * (size_t)node->value->lanes);
    }
    var->is_set = node->value != NULL;
}

NOINLINE static void run_store(machine *m, const ctune_lnode *node) {
    te_value lanes[CTUNE_MAX_LANES];
    eval_vector(m, node->value, lanes);
    store(m, &node->place, node->value->lanes, lanes);
}

static void run_node(machine *m, const ctune_lnode *node) {
    switch (node->kind) {
    case CTUNE_L_FOR:
        run_for(m, node);
        break;
    case CTUNE_L_IF:
        run_if(m, node);
        break;
    case CTUNE_L_LET:
        m->var[node->var].index = eval_aff(m, node->lo);
        break;
    case CTUNE_L_DECL:
        run_decl(m, node);
        break;
    case CTUNE_L_DEF:
    case CTUNE_L_SET:
        run_assign(m, node);
        break;
    case CTUNE_L_STORE:
        run_store(m, node);
        break;
    case CTUNE_L_LAUNCH:
        run_launch(m, node);
        break;
    case CTUNE_L_BARRIER:
        break; /* of a block of one thread, or nobody's */
    default:
        run_kids(m, node);
        break;
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static void tensors_init(machine *m, void *const *tensors, const size_t *tensor_bytes) {
    const ctune_region *r = m->l->region;
    for (int i = 0; i < r->n_tensors && m->status == CTUNE_OK; i++) {
        const ctune_tensor *t = &r->tensors[i];
        memory *mem = &m->tensor[i];
        *mem = (memory){.name = t->name, .type = t->type, .rank = t->rank};
        if (t->is_temp) {
            continue;
        }
        if (ctune_tensor_shape(r, i, m->params, mem->extent) < 0) {
            fail(m, "too large a tensor: ", t->name);
        }
        mem->stride = t->elem_stride_bytes;
        mem->bytes = tensors[i];
        mem->n_bytes = tensor_bytes[i];
        if (m->seed != 0) {
            mem->touched = CTUNE_NEW_ARRAY(m->arena, toucher, mem->n_bytes / mem->stride + 1);
        }
    }
}

static void machine_init(machine *m) {
    const ctune_loops *l = m->l;
    size_t n_lanes = 0;
    for (int i = 0; i < l->n_vars; i++) {
        n_lanes += l->var[i].is_index ? 0 : (size_t)l->var[i].lanes;
    }
    m->var = CTUNE_NEW_ARRAY(m->arena, variable, l->n_vars);
    m->tensor = CTUNE_NEW_ARRAY(m->arena, memory, l->region->n_tensors);
    m->buffer = CTUNE_NEW_ARRAY(m->arena, memory, l->n_buffers);
    te_value *lanes = CTUNE_NEW_ARRAY(m->arena, te_value, n_lanes);
    if (m->var == NULL || m->tensor == NULL || m->buffer == NULL || lanes == NULL) {
        m->status = ctune_fail(m->ctx, CTUNE_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < l->n_vars; i++) {
        m->var[i].lanes = lanes;
        lanes += l->var[i].is_index ? 0 : l->var[i].lanes;
    }
    for (int i = 0; i < l->n_buffers; i++) {
        const ctune_lbuffer *b = &l->buffer[i];
        m->buffer[i] = (memory){.name = b->name != NULL ? b->name : b->hint,
                                .type = b->type,
                                .rank = b->rank,
                                .stride = ctune_type_get(b->type)->bytes,
                                .is_buffer = true};
    }
}

ctune_status ctune_loops_eval_order(ctune_ctx *ctx, const ctune_loops *loops, const int64_t *params,
                                    void *const *tensors, const size_t *tensor_bytes,
                                    uint64_t seed) {
    machine m = {.ctx = ctx, .l = loops, .params = params, .seed = seed, .random = seed};
    m.arena = ctune_arena_create(ctx);
    machine_init(&m);
    if (m.status == CTUNE_OK) {
        tensors_init(&m, tensors, tensor_bytes);
    }
    if (m.status == CTUNE_OK && ctune_arena_has_failed(m.arena)) {
        m.status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (m.status == CTUNE_OK) {
        run_kids(&m, loops->root);
    }
    ctune_arena_destroy(m.arena);
    return m.status;
}

ctune_status ctune_loops_eval(ctune_ctx *ctx, const ctune_loops *loops, const int64_t *params,
                              void *const *tensors, const size_t *tensor_bytes) {
    return ctune_loops_eval_order(ctx, loops, params, tensors, tensor_bytes, 0);
}

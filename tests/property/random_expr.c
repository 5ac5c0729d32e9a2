/*
 * Accesses and expressions of random TE regions.
 *
 * How an access stays in bounds: each axis carries a constant lower bound and an upper bound that
 * is affine in the parameters (both inclusive, loose is fine). An index gets a constant (and
 * parameters) added until its lower bound is at least 0, and the tensor's extent grows to the
 * component-wise largest upper bound of all accesses.
 */
#include "tests/property/random_private.h"

#include <string.h>

/* ---- affine forms and their ranges ----------------------------------- */

const ctune_aff *gen_constant(gen *g, int64_t c) {
    return ctune_aff_const(g->a, c);
}
const ctune_aff *gen_axis_aff(gen *g, int axis, int64_t coef) {
    return ctune_aff_term(g->a, CTUNE_TERM_AXIS, axis, coef);
}
const ctune_aff *gen_param_aff(gen *g, int param, int64_t coef) {
    g->is_param_used[param] = true;
    return ctune_aff_term(g->a, CTUNE_TERM_PARAM, param, coef);
}

static void linear_add(linear *out, const linear *x, int64_t k) {
    out->c += k * x->c;
    for (int i = 0; i < MAX_PARAMS; i++) {
        out->p[i] += k * x->p[i];
    }
}

/* An axis counts from 0 when it is strided; its value's upper bound then bounds the axis, too. */
static void axis_range(const gen *g, int axis, linear *lo, linear *hi) {
    bool is_plain = ctune_aff_coef(g->info[axis].value, CTUNE_TERM_AXIS, axis) == 1 &&
                    g->info[axis].value->c0 == 0;
    *lo = (linear){.c = is_plain ? g->info[axis].lo : 0};
    *hi = g->info[axis].hi;
    if (!is_plain && g->info[axis].lo < 0) {
        hi->c -= g->info[axis].lo;
    }
}

static void aff_range(const gen *g, const ctune_aff *aff, linear *lo, linear *hi) {
    *lo = *hi = (linear){.c = aff->c0};
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        linear l = {0}, h = {0};
        if (t->kind == CTUNE_TERM_PARAM) {
            l.p[t->id] = h.p[t->id] = 1;
        } else if (t->kind == CTUNE_TERM_AXIS) {
            axis_range(g, t->id, &l, &h);
        } else {
            h = g->div_hi[t->id];
        }
        linear_add(lo, t->coef > 0 ? &l : &h, t->coef);
        linear_add(hi, t->coef > 0 ? &h : &l, t->coef);
    }
}

/* An index of a tensor's dimension d: moved to start at 0 or above; the extent grows. */
const ctune_aff *gen_place_index(gen *g, int tensor, int d, const ctune_aff *aff) {
    linear lo, hi;
    if (aff == NULL) {
        return NULL;
    }
    aff_range(g, aff, &lo, &hi);
    aff = ctune_aff_add_const(g->a, aff, lo.c < 0 ? -lo.c : 0);
    for (int p = 0; p < g->n_params; p++) {
        if (lo.p[p] < 0) {
            aff = ctune_aff_add(g->a, aff, gen_param_aff(g, p, -lo.p[p]));
        }
    }
    if (aff == NULL) {
        return NULL;
    }
    aff_range(g, aff, &lo, &hi);
    linear *extent = &g->extent[tensor][d];
    extent->c = hi.c + 1 > extent->c ? hi.c + 1 : extent->c;
    for (int p = 0; p < g->n_params; p++) {
        extent->p[p] = hi.p[p] > extent->p[p] ? hi.p[p] : extent->p[p];
    }
    return aff;
}

static const ctune_aff *make_div(gen *g, int axis, int64_t den) {
    if (g->n_divs == MAX_DIVS || g->info[axis].lo < 0) {
        return g->info[axis].value;
    }
    g->div_hi[g->n_divs] = g->info[axis].hi; /* floor(value / d) of a value >= 0 */
    g->divs[g->n_divs] = (ctune_div){.num = g->info[axis].value, .den = den};
    return ctune_aff_term(g->a, CTUNE_TERM_DIV, g->n_divs++, 1);
}

const ctune_aff *gen_load(gen *g, int axis, int64_t shift, bool again, linear hi) {
    static const ctune_type types[] = {CTUNE_I32, CTUNE_I32, CTUNE_I16, CTUNE_U32, CTUNE_I64};
    ctune_access *load = CTUNE_NEW(g->a, ctune_access);
    const ctune_aff **idx = CTUNE_NEW_ARRAY(g->a, const ctune_aff *, 1);
    if (load == NULL || idx == NULL || g->n_divs == MAX_DIVS ||
        (!again && (g->n_loads == MAX_LOADS || g->n_tensors + 4 > MAX_TENSORS))) {
        return NULL;
    }
    if (!again) {
        g->load_tensor =
            gen_new_tensor(g, 'X', types[below(g, (int)(sizeof types / sizeof types[0]))], 1);
        g->n_loads++;
    }
    idx[0] = gen_place_index(g, g->load_tensor, 0,
                             ctune_aff_add_const(g->a, g->info[axis].value, shift));
    *load = (ctune_access){.tensor = g->load_tensor, .n_idx = 1, .idx = idx};
    g->div_hi[g->n_divs] = hi;
    g->divs[g->n_divs] = (ctune_div){.load = load};
    return ctune_aff_term(g->a, CTUNE_TERM_DIV, g->n_divs++, 1);
}

/* ---- tensors and accesses -------------------------------------------- */

/* Letter R: a result, which later stages may read and update, too. */
int gen_new_tensor(gen *g, char letter, ctune_type type, int rank) {
    int id = g->n_tensors++;
    g->tensors[id] = (ctune_tensor){.name = ctune_arena_printf(g->a, "%c%d", letter, id),
                                    .type = type,
                                    .rank = rank,
                                    .is_scalar_var = rank == 0};
    if (letter == 'R') {
        g->results[g->n_results++] = id;
    }
    return id;
}

int gen_pick_input(gen *g) {
    int slot = below(g, g->n_inputs);
    if (g->inputs[slot] < 0) {
        ctune_type type = g->type;
        if (chance(g, 8)) { /* a conversion that is exact */
            type = ctune_type_is_float(g->calc) ? CTUNE_I32 : CTUNE_I8;
        }
        g->inputs[slot] = gen_new_tensor(g, 'A', type, slot < 2 ? 2 : below(g, 4));
    }
    return g->inputs[slot];
}

/* Form of one subscript around the value of an open axis. */
static const ctune_aff *subscript(gen *g, int axis, bool is_plain) {
    const ctune_aff *value = g->info[axis].value;
    int kind = is_plain ? 0 : below(g, 100);
    if (g->has_loads && !is_plain && chance(g, 30)) {
        const ctune_aff *load = gen_load(g, axis, 0, false, (linear){.c = 5});
        if (load != NULL) {
            return chance(g, 70) ? load : ctune_aff_add(g->a, load, value);
        }
    }
    if (kind < 60) {
        return value;
    }
    if (kind < 78) {
        return ctune_aff_add_const(g->a, value, between(g, -2, 2));
    }
    if (kind < 84 && g->n_params > 0) { /* n - 1 - i */
        return ctune_aff_sub(g->a, ctune_aff_add_const(g->a, gen_param_aff(g, 0, 1), -1), value);
    }
    if (kind < 88) {
        return ctune_aff_add(g->a, value, g->info[g->open[below(g, g->n_open)]].value);
    }
    if (kind < 91) {
        return make_div(g, axis, between(g, 2, 3));
    }
    if (kind < 94) {
        return ctune_aff_scale(g->a, value, 2);
    }
    return gen_constant(g, below(g, 3));
}

/* order: which open axis (position) subscripts dimension d; NULL = at random, distinct where
 * possible. */
ctune_access gen_make_access(gen *g, int tensor, const int *order, bool is_plain) {
    int rank = g->tensors[tensor].rank, shuffled[CTUNE_MAX_DEPTH] = {0};
    const ctune_aff **idx = CTUNE_NEW_ARRAY(g->a, const ctune_aff *, rank);
    for (int i = 0; i < g->n_open; i++) {
        int j = below(g, i + 1);
        shuffled[i] = shuffled[j];
        shuffled[j] = i;
    }
    for (int d = 0; d < rank && idx != NULL; d++) {
        const ctune_aff *aff = gen_constant(g, 0);
        if (g->n_open > 0) {
            int at = order != NULL ? order[d] : shuffled[d % g->n_open];
            aff = subscript(g, g->open[at], is_plain);
        }
        idx[d] = gen_place_index(g, tensor, d, aff);
    }
    return (ctune_access){.tensor = tensor, .n_idx = idx != NULL ? rank : 0, .idx = idx};
}

/* ---- expressions ----------------------------------------------------- */

const ctune_expr *gen_node(gen *g, ctune_op op, ctune_type type, int n_kids, const ctune_expr *k0,
                           const ctune_expr *k1, const ctune_expr *k2) {
    ctune_expr *e = CTUNE_NEW(g->a, ctune_expr);
    const ctune_expr **kids = CTUNE_NEW_ARRAY(g->a, const ctune_expr *, 3);
    if (e == NULL || kids == NULL) {
        return NULL;
    }
    kids[0] = k0;
    kids[1] = k1;
    kids[2] = k2;
    *e = (ctune_expr){.op = op, .type = type, .n_kids = n_kids, .kids = kids};
    return e;
}

static const ctune_expr *cast(gen *g, const ctune_expr *e, ctune_type type) {
    return e == NULL || e->type == type ? e : gen_node(g, CTUNE_OP_CAST, type, 1, e, NULL, NULL);
}

const ctune_expr *gen_number(gen *g, int64_t value) {
    ctune_expr *e = CTUNE_NEW(g->a, ctune_expr);
    if (e == NULL) {
        return NULL;
    }
    bool is_float = ctune_type_is_float(g->calc);
    const char *suffix = g->calc == CTUNE_F32   ? ".0f"
                         : g->calc == CTUNE_F64 ? ".0"
                         : g->calc == CTUNE_I64 ? "L"
                         : g->calc == CTUNE_U32 ? "u"
                                                : "";
    *e = (ctune_expr){.op = CTUNE_OP_CONST,
                      .type = g->calc,
                      .i_value = is_float ? 0 : value,
                      .f_value = is_float ? (double)value : 0,
                      .text = ctune_arena_printf(g->a, "%lld%s", (long long)value, suffix)};
    return e;
}

const ctune_expr *gen_read_access(gen *g, ctune_access access) {
    ctune_expr *e = CTUNE_NEW(g->a, ctune_expr);
    if (e == NULL) {
        return NULL;
    }
    *e =
        (ctune_expr){.op = CTUNE_OP_READ, .type = g->tensors[access.tensor].type, .access = access};
    return cast(g, e, g->calc);
}

static const ctune_expr *affine_value(gen *g, const ctune_aff *aff) {
    ctune_expr *e = CTUNE_NEW(g->a, ctune_expr);
    if (e == NULL) {
        return NULL;
    }
    *e = (ctune_expr){.op = CTUNE_OP_AFF, .type = CTUNE_I32, .aff = aff};
    return cast(g, e, g->calc);
}

/* A tensor that an expression may read: inputs, and when the region may be entangled, results as
 * well. */
static int pick_source(gen *g) {
    if (!g->is_simple && g->n_results > 0 && chance(g, 15)) {
        return g->results[below(g, g->n_results)];
    }
    return gen_pick_input(g);
}

const ctune_expr *gen_leaf(gen *g) {
    int kind = below(g, 100);
    if (kind < 76) {
        return gen_read_access(g, gen_make_access(g, pick_source(g), NULL, false));
    }
    if (kind < 88 || g->is_simple) {
        return gen_number(g, between(g, 1, 3));
    }
    if (kind < 96 && g->n_open > 0) {
        return affine_value(g, g->info[g->open[below(g, g->n_open)]].value);
    }
    return g->n_params > 0 ? affine_value(g, gen_param_aff(g, below(g, g->n_params), 1))
                           : gen_number(g, 2);
}

const ctune_expr *gen_comparison(gen *g, const ctune_expr *a, const ctune_expr *b) {
    return gen_node(g, (ctune_op)(CTUNE_OP_LT + below(g, 6)), CTUNE_I32, 2, a, b, NULL);
}

static const ctune_expr *special(gen *g, const ctune_expr *x, const ctune_expr *y) {
    bool is_float = ctune_type_is_float(g->calc);
    int kind = below(g, is_float ? 6 : 10);
    switch (kind) {
    case 0:
        return gen_node(g, CTUNE_OP_MIN, g->calc, 2, x, y, NULL);
    case 1:
        return gen_node(g, CTUNE_OP_MAX, g->calc, 2, x, y, NULL);
    case 2:
        return gen_node(g, CTUNE_OP_SELECT, g->calc, 3, gen_comparison(g, x, y), y, x);
    case 3:
        return gen_node(g, CTUNE_OP_NEG, g->calc, 1, x, NULL, NULL);
    case 4:
        return g->is_simple ? x
                            : gen_node(g, CTUNE_OP_DIV, g->calc, 2, x,
                                       gen_number(g, 2 << below(g, 2)), NULL);
    case 5:
        if (is_float) {
            ctune_expr *call =
                (ctune_expr *)(uintptr_t)gen_node(g, CTUNE_OP_CALL, g->calc, 1, x, NULL, NULL);
            if (call != NULL) {
                call->text = g->calc == CTUNE_F32 ? "fabsf" : "fabs";
            }
            return call;
        }
        return gen_node(g, CTUNE_OP_MOD, g->calc, 2, x, gen_number(g, between(g, 2, 7)), NULL);
    case 6:
        return gen_node(g, CTUNE_OP_BXOR, g->calc, 2, x, y, NULL);
    case 7:
        return gen_node(g, CTUNE_OP_BAND, g->calc, 2, x, y, NULL);
    case 8:
        return gen_node(g, CTUNE_OP_BNOT, g->calc, 1, x, NULL, NULL);
    default:
        return gen_node(g, CTUNE_OP_SHR, g->calc, 2, x, gen_number(g, between(g, 1, 2)), NULL);
    }
}

const ctune_expr *gen_expression(gen *g, int depth) {
    if (depth == 0) {
        return gen_leaf(g);
    }
    const ctune_expr *x = gen_expression(g, depth - 1), *y = gen_leaf(g);
    int kind = below(g, 100);
    if (kind < 35) {
        return gen_node(g, CTUNE_OP_ADD, g->calc, 2, x, y, NULL);
    }
    if (kind < 50) {
        return gen_node(g, CTUNE_OP_SUB, g->calc, 2, x, y, NULL);
    }
    if (kind < 78) {
        return gen_node(g, CTUNE_OP_MUL, g->calc, 2, x, depth > 1 ? gen_number(g, 2) : y, NULL);
    }
    return special(g, x, y);
}

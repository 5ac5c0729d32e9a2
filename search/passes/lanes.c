/*
 * Lanes: the vector form of a scalar value. See lanes.h.
 *
 * What is the same in all lanes stays scalar under one splat, the largest such part; neighbours in
 * memory are one vector; conditions are masks as wide as what they choose between. All else is
 * gathered from the scalar values of the lanes. An arm of a choice is only evaluated for lanes that
 * did not ask for it when that cannot be seen: no access, no division, no conversion that may not
 * fit, sums that wrap.
 */
#include "search/passes/lanes.h"

/* ---- what moves ------------------------------------------------------------------------------ */

int ctune_lane_find(const ctune_lane_ctx *c, int var) {
    for (int i = 0; i < c->n_private; i++) {
        if (c->scalar[i] == var) {
            return i;
        }
    }
    return -1;
}

void ctune_lane_add(ctune_lane_ctx *c, int var) {
    if (c->n_private == c->cap_private) {
        int cap = c->cap_private == 0 ? 8 : c->cap_private * 2;
        int *scalar = CTUNE_NEW_ARRAY(c->l->arena, int, cap);
        int *vector = CTUNE_NEW_ARRAY(c->l->arena, int, cap);
        if (scalar == NULL || vector == NULL) {
            return;
        }
        for (int i = 0; i < c->n_private; i++) {
            scalar[i] = c->scalar[i];
            vector[i] = c->vector[i];
        }
        c->scalar = scalar;
        c->vector = vector;
        c->cap_private = cap;
    }
    c->scalar[c->n_private] = var;
    c->vector[c->n_private++] = -1;
}

bool ctune_lane_is_invariant(const ctune_lane_ctx *c, const ctune_value *v) {
    if (ctune_value_uses(c->l, v, c->var)) {
        return false;
    }
    for (int i = 0; i < c->n_private; i++) {
        if (ctune_value_reads(v, c->scalar[i])) {
            return false;
        }
    }
    return true;
}

/* By how much does aff move from one iteration to the next? False when by no constant. */
static bool get_move(const ctune_lane_ctx *c, const ctune_aff *aff, int64_t *move) {
    *move = 0;
    if (!ctune_loops_uses(c->l, aff, c->var)) {
        return true;
    }
    const ctune_aff *next =
        ctune_loops_subst(c->l, aff, c->var, ctune_loops_var_aff(c->l, c->var, 1, 1));
    const ctune_aff *diff = ctune_aff_sub(c->l->arena, next, aff);
    if (diff == NULL || diff->n_terms > 0) {
        return false;
    }
    *move = diff->c0;
    return true;
}

/* Are the places of neighbouring iterations neighbours in memory? */
bool ctune_lane_is_contiguous(const ctune_lane_ctx *c, const ctune_place *place) {
    ctune_type type = ctune_place_type(c->l, place);
    if (place->n_idx == 0 || !ctune_type_has_vectors(type)) {
        return false;
    }
    const ctune_tensor *t = place->is_buffer ? NULL : &c->l->region->tensors[place->id];
    if (t != NULL && (t->is_temp || t->elem_stride_bytes != ctune_type_get(type)->bytes)) {
        return false; /* a temporary's place is one variable, whatever its index */
    }
    for (int d = 0; d < place->n_idx; d++) {
        int64_t move;
        if (!get_move(c, place->idx[d], &move) || move != (d == place->n_idx - 1)) {
            return false;
        }
    }
    return true;
}

/* ---- what may be evaluated for all lanes ----------------------------------------------------- */

/* Does evaluating `in` evaluate v in any case? */
static bool is_evaluated(const ctune_value *in, const ctune_value *v) {
    if (in == v) {
        return true;
    }
    for (int i = 0; in != NULL && i < in->n_kids; i++) {
        if (ctune_value_is_always(in, i) && is_evaluated(in->kids[i], v)) {
            return true;
        }
    }
    return false;
}

/* May v be evaluated in lanes that would not have asked for it? */
static bool may_speculate(const ctune_lane_ctx *c, const ctune_value *v) {
    if (is_evaluated(c->statement, v)) {
        return true;
    }
    switch (v->op) {
    case CTUNE_V_LOAD:
        return c->target != NULL && ctune_place_is_equal(c->target, &v->place);
    case CTUNE_V_INDEX:
        return !ctune_loops_has_load(c->l, v->index);
    case CTUNE_V_DIV:
    case CTUNE_V_MOD:
    case CTUNE_V_SHL:
    case CTUNE_V_SHR:
        return false;
    case CTUNE_V_CALL:
        if (ctune_math_lanes_of(v->text) != CTUNE_MATH_EXACT) {
            return false;
        }
        break;
    case CTUNE_V_CONVERT:
        if (ctune_type_is_float(v->kids[0]->type) && !ctune_type_is_float(v->type)) {
            return false;
        }
        break;
    default:
        break;
    }
    if (!ctune_type_has_vectors(v->type)) {
        return false;
    }
    for (int i = 0; i < v->n_kids; i++) {
        if (!may_speculate(c, v->kids[i])) {
            return false;
        }
    }
    return true;
}

static const ctune_value *wrap_one(ctune_loops *l, const ctune_value *v, void *data) {
    (void)data;
    bool is_sum = v->op == CTUNE_V_ADD || v->op == CTUNE_V_SUB || v->op == CTUNE_V_MUL ||
                  v->op == CTUNE_V_NEG;
    if (!is_sum || v->wraps || (v->type != CTUNE_I32 && v->type != CTUNE_I64)) {
        return v;
    }
    ctune_value proto = *v;
    proto.wraps = true;
    return ctune_loops_value(l, &proto);
}

/* ---- which values have a vector form --------------------------------------------------------- */

static bool is_comparison(ctune_value_op op) {
    return op >= CTUNE_V_LT && op <= CTUNE_V_NE;
}

/* Can the truth of v be a mask? */
static bool has_mask(const ctune_lane_ctx *c, const ctune_value *v) {
    switch (v->op) {
    case CTUNE_V_LAND:
    case CTUNE_V_LOR:
        return has_mask(c, v->kids[0]) && has_mask(c, v->kids[1]) && may_speculate(c, v->kids[1]);
    case CTUNE_V_LNOT:
        return has_mask(c, v->kids[0]);
    default:
        return ctune_type_has_vectors(is_comparison(v->op) ? v->kids[0]->type : v->type);
    }
}

/* Does v, which is not the same in all lanes, have a vector form whose kids are vectors? */
bool ctune_lane_has_form(const ctune_lane_ctx *c, const ctune_value *v) {
    int64_t move;
    if (!ctune_type_has_vectors(v->type)) {
        return false;
    }
    switch (v->op) {
    case CTUNE_V_LOAD:
        return ctune_lane_is_contiguous(c, &v->place);
    case CTUNE_V_INDEX:
        return !ctune_type_is_float(v->type) && ctune_type_get(v->type)->bytes >= 4 &&
               get_move(c, v->index, &move);
    case CTUNE_V_DIV:
        return ctune_type_is_float(v->type);
    case CTUNE_V_CALL:
        return ctune_math_lanes_of(v->text) == CTUNE_MATH_EXACT ||
               (c->is_approx && ctune_math_lanes_of(v->text) == CTUNE_MATH_APPROX);
    case CTUNE_V_CONVERT:
        return ctune_type_has_vectors(v->kids[0]->type);
    case CTUNE_V_SELECT:
        return has_mask(c, v->kids[0]) && may_speculate(c, v->kids[1]) &&
               may_speculate(c, v->kids[2]);
    case CTUNE_V_VAR:
    case CTUNE_V_ADD:
    case CTUNE_V_SUB:
    case CTUNE_V_MUL:
    case CTUNE_V_FMA:
    case CTUNE_V_NEG:
    case CTUNE_V_BAND:
    case CTUNE_V_BOR:
    case CTUNE_V_BXOR:
    case CTUNE_V_BNOT:
    case CTUNE_V_MIN:
    case CTUNE_V_MAX:
        return true;
    default:
        return (is_comparison(v->op) || v->op == CTUNE_V_LAND || v->op == CTUNE_V_LOR ||
                v->op == CTUNE_V_LNOT) &&
               has_mask(c, v);
    }
}

/* ---- vectors --------------------------------------------------------------------------------- */

typedef struct lane_pick {
    const ctune_lane_ctx *c;
    int lane;
} lane_pick;

static const ctune_value *pick_one(ctune_loops *l, const ctune_value *v, void *data) {
    const lane_pick *pick = data;
    int at = v->op == CTUNE_V_VAR ? ctune_lane_find(pick->c, v->var) : -1;
    return at < 0 ? v : ctune_value_extract(l, ctune_value_var(l, pick->c->vector[at]), pick->lane);
}

/* v as lane `lane` would compute it. */
const ctune_value *ctune_lane_scalar(ctune_lane_ctx *c, const ctune_value *v, int lane) {
    lane_pick pick = {c, lane};
    v = ctune_value_subst(c->l, v, c->var, ctune_loops_var_aff(c->l, c->var, 1, lane));
    return ctune_value_rebuild(c->l, v, pick_one, &pick);
}

static const ctune_value *gather(ctune_lane_ctx *c, const ctune_value *v) {
    const ctune_value **kids = CTUNE_NEW_ARRAY(c->l->arena, const ctune_value *, c->lanes);
    if (kids == NULL) {
        return NULL;
    }
    for (int i = 0; i < c->lanes; i++) {
        kids[i] = ctune_lane_scalar(c, v, i);
    }
    return ctune_loops_value(c->l, &(ctune_value){.op = CTUNE_V_GATHER,
                                                  .type = v->type,
                                                  .lanes = c->lanes,
                                                  .n_kids = c->lanes,
                                                  .kids = kids});
}

static ctune_type int_of(int bytes) {
    return bytes == 1 ? CTUNE_I8 : bytes == 2 ? CTUNE_I16 : bytes == 4 ? CTUNE_I32 : CTUNE_I64;
}

/* Truth of v: 0 or -1 in integers of `bytes`. has_mask holds. */
static const ctune_value *to_mask(ctune_lane_ctx *c, const ctune_value *v, int bytes) {
    ctune_loops *l = c->l;
    const ctune_value *mask;
    if (v->op == CTUNE_V_LAND || v->op == CTUNE_V_LOR) {
        mask = ctune_value_binary(l, v->op == CTUNE_V_LAND ? CTUNE_V_BAND : CTUNE_V_BOR,
                                  to_mask(c, v->kids[0], bytes), to_mask(c, v->kids[1], bytes));
    } else if (v->op == CTUNE_V_LNOT) {
        mask = ctune_value_unary(l, CTUNE_V_BNOT, to_mask(c, v->kids[0], bytes));
    } else if (is_comparison(v->op)) {
        mask = ctune_value_binary(l, v->op, ctune_lane_vector(c, v->kids[0]),
                                  ctune_lane_vector(c, v->kids[1]));
    } else {
        const ctune_value *zero = ctune_value_zero(l, v->type);
        mask = ctune_value_binary(l, CTUNE_V_NE, ctune_lane_vector(c, v),
                                  ctune_value_splat(l, zero, c->lanes));
    }
    return ctune_value_convert(l, int_of(bytes), mask);
}

/* base, base + move, base + 2 * move, ... */
static const ctune_value *count_up(ctune_lane_ctx *c, const ctune_value *v) {
    ctune_loops *l = c->l;
    int64_t move;
    const ctune_value **kids = CTUNE_NEW_ARRAY(l->arena, const ctune_value *, c->lanes);
    if (kids == NULL || !get_move(c, v->index, &move)) {
        return NULL;
    }
    for (int i = 0; i < c->lanes; i++) {
        int64_t by = (int64_t)((uint64_t)move * (uint64_t)i);
        bool is_small = ctune_type_get(v->type)->bytes == 4;
        kids[i] = ctune_value_int(l, v->type,
                                  !is_small              ? by
                                  : v->type == CTUNE_I32 ? (int32_t)by
                                                         : (int64_t)(uint32_t)by);
    }
    ctune_value lanes = {
        .op = CTUNE_V_GATHER, .type = v->type, .lanes = c->lanes, .n_kids = c->lanes, .kids = kids};
    const ctune_value *sum = ctune_value_binary(l, CTUNE_V_ADD, ctune_value_splat(l, v, c->lanes),
                                                ctune_loops_value(l, &lanes));
    return sum == NULL ? NULL : wrap_one(l, sum, NULL);
}

/* An arm of a choice, evaluated for all lanes: sums that nobody asked for may overflow. */
static const ctune_value *to_arm(ctune_lane_ctx *c, const ctune_value *v) {
    v = ctune_value_rebuild(c->l, v, wrap_one, NULL);
    return v == NULL ? NULL : ctune_lane_vector(c, v);
}

/* Vector whose lanes are v in iterations var, var + 1, ...; v's type has vectors. */
const ctune_value *ctune_lane_vector(ctune_lane_ctx *c, const ctune_value *v) {
    ctune_loops *l = c->l;
    if (ctune_lane_is_invariant(c, v)) {
        return ctune_value_splat(l, v, c->lanes);
    }
    if (!ctune_lane_has_form(c, v)) {
        return gather(c, v);
    }
    ctune_value proto = *v;
    const ctune_value *kids[3];
    switch (v->op) {
    case CTUNE_V_LOAD:
        return ctune_value_load(l, &v->place, c->lanes);
    case CTUNE_V_INDEX:
        return count_up(c, v);
    case CTUNE_V_VAR:
        return ctune_value_var(l, c->vector[ctune_lane_find(c, v->var)]);
    case CTUNE_V_SELECT:
        kids[0] = to_mask(c, v->kids[0], ctune_type_get(v->type)->bytes);
        kids[1] = to_arm(c, v->kids[1]);
        kids[2] = to_arm(c, v->kids[2]);
        break;
    case CTUNE_V_ADD:
    case CTUNE_V_SUB:
    case CTUNE_V_MUL:
    case CTUNE_V_FMA:
    case CTUNE_V_DIV:
    case CTUNE_V_NEG:
    case CTUNE_V_BAND:
    case CTUNE_V_BOR:
    case CTUNE_V_BXOR:
    case CTUNE_V_BNOT:
    case CTUNE_V_MIN:
    case CTUNE_V_MAX:
    case CTUNE_V_CALL:
    case CTUNE_V_CONVERT:
        for (int i = 0; i < v->n_kids; i++) {
            kids[i] = ctune_lane_vector(c, v->kids[i]);
        }
        break;
    default: /* the truth of a condition as 0 or 1 */
        return ctune_value_binary(l, CTUNE_V_BAND, to_mask(c, v, 4),
                                  ctune_value_splat(l, ctune_value_int(l, CTUNE_I32, 1), c->lanes));
    }
    proto.lanes = c->lanes;
    proto.kids = kids;
    return ctune_loops_value(l, &proto);
}

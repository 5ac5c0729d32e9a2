/*
 * Vectorise.
 * In:  FOR vector, scalar statements in it, iterations independent.
 * Out: FOR full over chunks of `lanes` iterations, vector statements in it; what has no vector form
 *      is gathered from scalar lanes. A body that cannot run in lanes makes the loop FULL.
 * Why: lanes are decided here, once, from the types in the body; no compiler's vectoriser is asked.
 *
 * All vectors of a loop have equal lanes: as many as its widest element allows, so that each fits
 * a register and conversions stay lane by lane. Loops that share a register array get the same
 * lanes: its ranges then stay whole. Since iterations are independent, all lanes of a statement may
 * run before the next statement.
 */
#include "search/passes/passes_private.h"

#include <string.h>

typedef struct vec_loop {
    ctune_lnode *node;
    int lanes;
} vec_loop;

/* One loop at work. */
typedef struct lane_ctx {
    ctune_loops *l;
    int var;       /* index of the loop */
    int lanes;     /* 0 while the loop is checked */
    int max_bytes; /* widest element of a vector */
    ctune_type widest;
    int n_private, cap_private; /* scalar variables that live within one iteration */
    int *scalar, *vector;
    const ctune_value *statement; /* value of the statement at work */
    const ctune_place *target;    /* STORE: its place, else NULL */
} lane_ctx;

/* ---- what moves ------------------------------------------------------------------------------ */

static int find_private(const lane_ctx *c, int var) {
    for (int i = 0; i < c->n_private; i++) {
        if (c->scalar[i] == var) {
            return i;
        }
    }
    return -1;
}

static void add_private(lane_ctx *c, int var) {
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

static bool is_invariant(const lane_ctx *c, const ctune_value *v) {
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
static bool get_move(const lane_ctx *c, const ctune_aff *aff, int64_t *move) {
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
static bool is_contiguous(const lane_ctx *c, const ctune_place *place) {
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
static bool may_speculate(const lane_ctx *c, const ctune_value *v) {
    if (is_evaluated(c->statement, v)) {
        return true;
    }
    switch (v->op) {
    case CTUNE_V_LOAD:
        return c->target != NULL && ctune_place_is_equal(c->target, &v->place);
    case CTUNE_V_DIV:
    case CTUNE_V_MOD:
    case CTUNE_V_SHL:
    case CTUNE_V_SHR:
    case CTUNE_V_CALL:
        return false;
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
static bool has_mask(const lane_ctx *c, const ctune_value *v) {
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
static bool has_form(const lane_ctx *c, const ctune_value *v) {
    int64_t move;
    if (!ctune_type_has_vectors(v->type)) {
        return false;
    }
    switch (v->op) {
    case CTUNE_V_LOAD:
        return is_contiguous(c, &v->place);
    case CTUNE_V_INDEX:
        return !ctune_type_is_float(v->type) && ctune_type_get(v->type)->bytes >= 4 &&
               get_move(c, v->index, &move);
    case CTUNE_V_DIV:
        return ctune_type_is_float(v->type);
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
    const lane_ctx *c;
    int lane;
} lane_pick;

static const ctune_value *pick_one(ctune_loops *l, const ctune_value *v, void *data) {
    const lane_pick *pick = data;
    int at = v->op == CTUNE_V_VAR ? find_private(pick->c, v->var) : -1;
    return at < 0 ? v : ctune_value_extract(l, ctune_value_var(l, pick->c->vector[at]), pick->lane);
}

/* v as lane `lane` would compute it. */
static const ctune_value *scalar_lane(lane_ctx *c, const ctune_value *v, int lane) {
    lane_pick pick = {c, lane};
    v = ctune_value_subst(c->l, v, c->var, ctune_loops_var_aff(c->l, c->var, 1, lane));
    return ctune_value_rebuild(c->l, v, pick_one, &pick);
}

static const ctune_value *gather(lane_ctx *c, const ctune_value *v) {
    const ctune_value **kids = CTUNE_NEW_ARRAY(c->l->arena, const ctune_value *, c->lanes);
    if (kids == NULL) {
        return NULL;
    }
    for (int i = 0; i < c->lanes; i++) {
        kids[i] = scalar_lane(c, v, i);
    }
    return ctune_loops_value(c->l, &(ctune_value){.op = CTUNE_V_GATHER,
                                                  .type = v->type,
                                                  .lanes = c->lanes,
                                                  .n_kids = c->lanes,
                                                  .kids = kids});
}

static const ctune_value *to_vector(lane_ctx *c, const ctune_value *v);

static ctune_type int_of(int bytes) {
    return bytes == 1 ? CTUNE_I8 : bytes == 2 ? CTUNE_I16 : bytes == 4 ? CTUNE_I32 : CTUNE_I64;
}

/* Truth of v: 0 or -1 in integers of `bytes`. has_mask holds. */
static const ctune_value *to_mask(lane_ctx *c, const ctune_value *v, int bytes) {
    ctune_loops *l = c->l;
    const ctune_value *mask;
    if (v->op == CTUNE_V_LAND || v->op == CTUNE_V_LOR) {
        mask = ctune_value_binary(l, v->op == CTUNE_V_LAND ? CTUNE_V_BAND : CTUNE_V_BOR,
                                  to_mask(c, v->kids[0], bytes), to_mask(c, v->kids[1], bytes));
    } else if (v->op == CTUNE_V_LNOT) {
        mask = ctune_value_unary(l, CTUNE_V_BNOT, to_mask(c, v->kids[0], bytes));
    } else if (is_comparison(v->op)) {
        mask = ctune_value_binary(l, v->op, to_vector(c, v->kids[0]), to_vector(c, v->kids[1]));
    } else {
        const ctune_value *zero = ctune_value_zero(l, v->type);
        mask = ctune_value_binary(l, CTUNE_V_NE, to_vector(c, v),
                                  ctune_value_splat(l, zero, c->lanes));
    }
    return ctune_value_convert(l, int_of(bytes), mask);
}

/* base, base + move, base + 2 * move, ... */
static const ctune_value *count_up(lane_ctx *c, const ctune_value *v) {
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
static const ctune_value *to_arm(lane_ctx *c, const ctune_value *v) {
    v = ctune_value_rebuild(c->l, v, wrap_one, NULL);
    return v == NULL ? NULL : to_vector(c, v);
}

/* Vector whose lanes are v in iterations var, var + 1, ...; v's type has vectors. */
static const ctune_value *to_vector(lane_ctx *c, const ctune_value *v) {
    ctune_loops *l = c->l;
    if (is_invariant(c, v)) {
        return ctune_value_splat(l, v, c->lanes);
    }
    if (!has_form(c, v)) {
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
        return ctune_value_var(l, c->vector[find_private(c, v->var)]);
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
    case CTUNE_V_CONVERT:
        for (int i = 0; i < v->n_kids; i++) {
            kids[i] = to_vector(c, v->kids[i]);
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

/* ---- may the loop run in lanes, and in how many? --------------------------------------------- */

/* Note the types of the vectors that v becomes. False when v is no scalar program. */
static bool widen(lane_ctx *c, const ctune_value *v) {
    if (v->lanes != 1) {
        return false;
    }
    bool has_vectors = ctune_type_has_vectors(v->type);
    bool is_truth = is_comparison(v->op) || (v->op >= CTUNE_V_LAND && v->op <= CTUNE_V_LNOT);
    if (has_vectors && !is_truth && ctune_type_get(v->type)->bytes > c->max_bytes) {
        c->max_bytes = ctune_type_get(v->type)->bytes;
        c->widest = v->type;
    }
    bool is_whole = is_invariant(c, v) || !has_form(c, v);
    for (int i = 0; !is_whole && i < v->n_kids; i++) {
        if (!widen(c, v->kids[i])) {
            return false;
        }
    }
    return true;
}

static bool check_value(lane_ctx *c, const ctune_value *v, const ctune_place *target) {
    c->statement = v;
    c->target = target;
    return v == NULL || widen(c, v);
}

static bool is_fixed(const lane_ctx *c, const ctune_aff *aff) {
    return !ctune_loops_uses(c->l, aff, c->var);
}

static bool check_node(lane_ctx *c, const ctune_lnode *node) {
    bool is_ok = true;
    switch (node->kind) {
    case CTUNE_L_STORE:
        is_ok = check_value(c, node->value, &node->place);
        break;
    case CTUNE_L_DEF:
        if (!c->l->var[node->var].is_mutable && is_invariant(c, node->value)) {
            break; /* stays a scalar */
        }
        is_ok =
            ctune_type_has_vectors(c->l->var[node->var].type) && check_value(c, node->value, NULL);
        add_private(c, node->var);
        break;
    case CTUNE_L_SET:
        is_ok = find_private(c, node->var) >= 0 && check_value(c, node->value, NULL);
        break;
    case CTUNE_L_LET:
        is_ok = is_fixed(c, node->lo);
        break;
    case CTUNE_L_FOR:
        is_ok = is_fixed(c, node->lo) && is_fixed(c, node->hi) && node->ann != CTUNE_LANN_PARALLEL;
        break;
    case CTUNE_L_IF:
        for (int i = 0; i < node->n_conds; i++) {
            is_ok &= is_fixed(c, node->conds[i]);
        }
        is_ok = is_ok && (node->test == NULL || is_invariant(c, node->test));
        break;
    case CTUNE_L_SEQ:
        break;
    default:
        is_ok = false;
    }
    for (const ctune_lnode *kid = node->first; is_ok && kid != NULL; kid = kid->next) {
        is_ok = check_node(c, kid);
    }
    return is_ok && (node->other == NULL || check_node(c, node->other));
}

static void note_stored_types(ctune_lnode *node, void *data) {
    lane_ctx *c = data;
    ctune_type type = node->kind == CTUNE_L_STORE ? ctune_place_type(c->l, &node->place)
                      : node->kind == CTUNE_L_SET ? c->l->var[node->var].type
                                                  : CTUNE_BOOL;
    if (ctune_type_has_vectors(type) && c->max_bytes == 0) {
        c->max_bytes = ctune_type_get(type)->bytes;
        c->widest = type;
    }
}

/* Lanes of a VECTOR loop, 1 = none. */
static int plan(ctune_loops *l, int vector_bytes, ctune_lnode *node) {
    lane_ctx c = {.l = l, .var = node->var};
    int64_t trips = ctune_for_trips(l, node);
    if (node->step != 1 || trips < 2) {
        return 1;
    }
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (!check_node(&c, kid)) {
            return 1;
        }
    }
    ctune_lnode_walk(node, note_stored_types, &c);
    return c.max_bytes == 0 ? 1 : ctune_tile_lanes(vector_bytes, c.widest, trips);
}

/* ---- the loop in lanes ----------------------------------------------------------------------- */

/* One store for each lane, of the lanes of one vector where there is a form for it. */
static void scatter(lane_ctx *c, ctune_lnode *node) {
    ctune_loops *l = c->l;
    const ctune_value *vector = NULL;
    ctune_lnode *seq = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (seq == NULL) {
        return;
    }
    if (!is_invariant(c, node->value) && has_form(c, node->value)) {
        int var = ctune_loops_value_var(l, "v", node->value->type, c->lanes, false);
        ctune_lnode_append(seq, ctune_lnode_def(l, var, to_vector(c, node->value)));
        vector = ctune_value_var(l, var);
    }
    for (int i = 0; i < c->lanes; i++) {
        ctune_place place =
            ctune_place_subst(l, &node->place, c->var, ctune_loops_var_aff(l, c->var, 1, i));
        ctune_lnode_append(seq,
                           ctune_lnode_store(l, &place,
                                             vector == NULL ? scalar_lane(c, node->value, i)
                                                            : ctune_value_extract(l, vector, i)));
    }
    seq->next = node->next;
    seq->comment = node->comment;
    *node = *seq;
}

static void apply_node(lane_ctx *c, ctune_lnode *node) {
    ctune_loops *l = c->l;
    c->statement = node->value;
    c->target = node->kind == CTUNE_L_STORE ? &node->place : NULL;
    if (node->kind == CTUNE_L_STORE) {
        if (is_contiguous(c, &node->place)) {
            node->value = to_vector(c, node->value);
        } else {
            scatter(c, node);
            return;
        }
    } else if (node->kind == CTUNE_L_DEF || node->kind == CTUNE_L_SET) {
        int at = find_private(c, node->var);
        if (at < 0) {
            return; /* a scalar DEF */
        }
        const ctune_lvar old = l->var[node->var];
        if (c->vector[at] < 0) {
            c->vector[at] = ctune_loops_value_var(l, old.hint, old.type, c->lanes, old.is_mutable);
        }
        node->value = node->value == NULL ? NULL : to_vector(c, node->value);
        node->var = c->vector[at];
    } else if (node->kind == CTUNE_L_FOR && node->ann == CTUNE_LANN_VECTOR) {
        node->ann = CTUNE_LANN_FULL;
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        apply_node(c, kid);
    }
    if (node->other != NULL) {
        apply_node(c, node->other);
    }
}

/* The chunks of a row stand together, so that what they share is near: the loop over chunks moves
 * into the FULL loops that it perfectly encloses. */
static void sink(ctune_loops *l, ctune_lnode *node) {
    ctune_lnode *kid = node->first;
    while (kid != NULL && kid == node->last && kid->kind == CTUNE_L_FOR &&
           kid->ann == CTUNE_LANN_FULL && !ctune_loops_uses(l, kid->lo, node->var) &&
           !ctune_loops_uses(l, kid->hi, node->var)) {
        const ctune_lnode outer = *node;
        node->var = kid->var;
        node->lo = kid->lo;
        node->hi = kid->hi;
        node->step = kid->step;
        kid->var = outer.var;
        kid->lo = outer.lo;
        kid->hi = outer.hi;
        kid->step = outer.step;
        node = kid;
        kid = node->first;
    }
}

static void apply(ctune_loops *l, ctune_lnode *node, int lanes) {
    lane_ctx c = {.l = l, .var = node->var};
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (!check_node(&c, kid)) { /* fills the private variables; held when planned */
            ctune_loops_fail(l, CTUNE_EBUG, "vectorise: a loop changed since it was checked");
            return;
        }
    }
    c.lanes = lanes;
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        apply_node(&c, kid);
    }
    node->ann = CTUNE_LANN_FULL;
    node->step = lanes;
    sink(l, node);
}

/* ---- all loops ------------------------------------------------------------------------------- */

typedef struct vec_pass {
    ctune_loops *l;
    int vector_bytes;
    int n_loops, cap_loops;
    vec_loop *loops;
    int *buffer_lanes; /* [l->n_buffers] REGISTER: lanes of the loops that use it */
    int lanes;         /* of the loop at work */
    bool is_changed;
} vec_pass;

static void collect(vec_pass *p, ctune_lnode *node) {
    if (node->kind == CTUNE_L_FOR && node->ann == CTUNE_LANN_VECTOR) {
        if (p->n_loops == p->cap_loops) {
            int cap = p->cap_loops == 0 ? 16 : p->cap_loops * 2;
            vec_loop *more = CTUNE_NEW_ARRAY(p->l->arena, vec_loop, cap);
            if (more == NULL) {
                return;
            }
            if (p->n_loops > 0) {
                memcpy(more, p->loops, (size_t)p->n_loops * sizeof *more);
            }
            p->loops = more;
            p->cap_loops = cap;
        }
        int lanes = plan(p->l, p->vector_bytes, node);
        p->loops[p->n_loops++] = (vec_loop){node, lanes};
        if (lanes > 1) {
            return;
        }
        node->ann = ctune_for_trips(p->l, node) < 0 ? CTUNE_LANN_SIMD : CTUNE_LANN_FULL;
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        collect(p, kid);
    }
    if (node->other != NULL) {
        collect(p, node->other);
    }
}

static void lower_place(vec_pass *p, const ctune_place *place) {
    if (place->is_buffer && p->l->buffer[place->id].scope == CTUNE_SCOPE_REGISTER) {
        int *lanes = &p->buffer_lanes[place->id];
        p->is_changed |= *lanes > p->lanes;
        *lanes = *lanes > p->lanes ? p->lanes : *lanes;
        p->lanes = *lanes;
    }
}

static void lower_value(vec_pass *p, const ctune_value *v) {
    if (v != NULL && v->op == CTUNE_V_LOAD) {
        lower_place(p, &v->place);
    }
    for (int i = 0; v != NULL && i < v->n_kids; i++) {
        lower_value(p, v->kids[i]);
    }
}

static void lower_node(ctune_lnode *node, void *data) {
    if (node->kind == CTUNE_L_STORE) {
        lower_place(data, &node->place);
    }
    lower_value(data, node->value);
    lower_value(data, node->test);
}

/* Loops that use one register array get the fewest lanes that one of them has. */
static void agree(vec_pass *p) {
    do {
        p->is_changed = false;
        for (int i = 0; i < p->n_loops; i++) {
            p->lanes = p->loops[i].lanes;
            ctune_lnode_walk(p->loops[i].node, lower_node, p);
            p->is_changed |= p->lanes != p->loops[i].lanes;
            p->loops[i].lanes = p->lanes;
        }
    } while (p->is_changed);
}

ctune_status ctune_pass_vectorise(ctune_loops *l, const ctune_pass_options *options) {
    vec_pass p = {.l = l, .vector_bytes = options->vector_bytes};
    p.buffer_lanes = CTUNE_NEW_ARRAY(l->arena, int, l->n_buffers + 1);
    if (ctune_loops_status(l) != CTUNE_OK || p.buffer_lanes == NULL) {
        return ctune_loops_status(l);
    }
    for (int b = 0; b < l->n_buffers; b++) {
        p.buffer_lanes[b] = options->vector_bytes;
    }
    collect(&p, l->root);
    agree(&p);
    for (int i = 0; i < p.n_loops && ctune_loops_status(l) == CTUNE_OK; i++) {
        if (p.loops[i].lanes > 1) {
            apply(l, p.loops[i].node, p.loops[i].lanes);
        } else if (p.loops[i].node->ann == CTUNE_LANN_VECTOR) {
            p.loops[i].node->ann = CTUNE_LANN_FULL; /* lowered to 1 by another loop */
        }
    }
    return ctune_loops_status(l);
}

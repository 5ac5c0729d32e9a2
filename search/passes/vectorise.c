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
#include "search/passes/lanes.h"

#include <string.h>

typedef struct vec_loop {
    ctune_lnode *node;
    int lanes;
} vec_loop;

/* ---- may the loop run in lanes, and in how many? --------------------------------------------- */

/* Note the types of the vectors that v becomes. False when v is no scalar program. */
static bool widen(ctune_lane_ctx *c, const ctune_value *v) {
    if (v->lanes != 1) {
        return false;
    }
    bool has_vectors = ctune_type_has_vectors(v->type);
    bool is_truth = v->op >= CTUNE_V_LT && v->op <= CTUNE_V_LNOT;
    if (has_vectors && !is_truth && ctune_type_get(v->type)->bytes > c->max_bytes) {
        c->max_bytes = ctune_type_get(v->type)->bytes;
        c->widest = v->type;
    }
    bool is_whole = ctune_lane_is_invariant(c, v) || !ctune_lane_has_form(c, v);
    for (int i = 0; !is_whole && i < v->n_kids; i++) {
        if (!widen(c, v->kids[i])) {
            return false;
        }
    }
    return true;
}

bool ctune_lane_check_value(ctune_lane_ctx *c, const ctune_value *v, const ctune_place *target) {
    c->statement = v;
    c->target = target;
    return v == NULL || widen(c, v);
}

static bool is_fixed(const ctune_lane_ctx *c, const ctune_aff *aff) {
    return !ctune_loops_uses(c->l, aff, c->var);
}

bool ctune_lane_check(ctune_lane_ctx *c, const ctune_lnode *node) {
    bool is_ok = true;
    switch (node->kind) {
    case CTUNE_L_STORE:
        is_ok = ctune_lane_check_value(c, node->value, &node->place);
        break;
    case CTUNE_L_DEF:
        if (!c->l->var[node->var].is_mutable && ctune_lane_is_invariant(c, node->value)) {
            break; /* stays a scalar */
        }
        is_ok = ctune_type_has_vectors(c->l->var[node->var].type) &&
                ctune_lane_check_value(c, node->value, NULL);
        ctune_lane_add(c, node->var);
        break;
    case CTUNE_L_SET:
        is_ok = ctune_lane_find(c, node->var) >= 0 && ctune_lane_check_value(c, node->value, NULL);
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
        is_ok = is_ok && (node->test == NULL || ctune_lane_is_invariant(c, node->test));
        break;
    case CTUNE_L_SEQ:
        break;
    default:
        is_ok = false;
    }
    for (const ctune_lnode *kid = node->first; is_ok && kid != NULL; kid = kid->next) {
        is_ok = ctune_lane_check(c, kid);
    }
    return is_ok && (node->other == NULL || ctune_lane_check(c, node->other));
}

static void note_stored_types(ctune_lnode *node, void *data) {
    ctune_lane_ctx *c = data;
    ctune_type type = node->kind == CTUNE_L_STORE ? ctune_place_type(c->l, &node->place)
                      : node->kind == CTUNE_L_SET ? c->l->var[node->var].type
                                                  : CTUNE_BOOL;
    if (ctune_type_has_vectors(type) && c->max_bytes == 0) {
        c->max_bytes = ctune_type_get(type)->bytes;
        c->widest = type;
    }
}

int ctune_lane_count(ctune_loops *l, int vector_bytes, bool is_approx, ctune_lnode *node,
                     int64_t trips) {
    ctune_lane_ctx c = {.l = l, .var = node->var, .is_approx = is_approx};
    if (node->step != 1 || trips < 2) {
        return 1;
    }
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (!ctune_lane_check(&c, kid)) {
            return 1;
        }
    }
    ctune_lnode_walk(node, note_stored_types, &c);
    return c.max_bytes == 0 ? 1 : ctune_tile_lanes(vector_bytes, c.widest, trips);
}

/* ---- the loop in lanes ----------------------------------------------------------------------- */

/* One store for each lane, of the lanes of one vector where there is a form for it. */
static void scatter(ctune_lane_ctx *c, ctune_lnode *node) {
    ctune_loops *l = c->l;
    const ctune_value *vector = NULL;
    ctune_lnode *seq = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (seq == NULL) {
        return;
    }
    if (!ctune_lane_is_invariant(c, node->value) && ctune_lane_has_form(c, node->value)) {
        int var = ctune_loops_value_var(l, "v", node->value->type, c->lanes, false);
        ctune_lnode_append(seq, ctune_lnode_def(l, var, ctune_lane_vector(c, node->value)));
        vector = ctune_value_var(l, var);
    }
    for (int i = 0; i < c->lanes; i++) {
        ctune_place place =
            ctune_place_subst(l, &node->place, c->var, ctune_loops_var_aff(l, c->var, 1, i));
        ctune_lnode_append(seq,
                           ctune_lnode_store(l, &place,
                                             vector == NULL ? ctune_lane_scalar(c, node->value, i)
                                                            : ctune_value_extract(l, vector, i)));
    }
    seq->next = node->next;
    seq->comment = node->comment;
    *node = *seq;
}

void ctune_lane_apply(ctune_lane_ctx *c, ctune_lnode *node) {
    ctune_loops *l = c->l;
    c->statement = node->value;
    c->target = node->kind == CTUNE_L_STORE ? &node->place : NULL;
    l->line = node->line;
    if (node->kind == CTUNE_L_STORE) {
        if (ctune_lane_is_contiguous(c, &node->place)) {
            node->value = ctune_lane_vector(c, node->value);
        } else {
            scatter(c, node);
            return;
        }
    } else if (node->kind == CTUNE_L_DEF || node->kind == CTUNE_L_SET) {
        int at = ctune_lane_find(c, node->var);
        if (at < 0) {
            return; /* a scalar DEF */
        }
        const ctune_lvar old = l->var[node->var];
        if (c->vector[at] < 0) {
            c->vector[at] = ctune_loops_value_var(l, old.hint, old.type, c->lanes, old.is_mutable);
        }
        node->value = node->value == NULL ? NULL : ctune_lane_vector(c, node->value);
        node->var = c->vector[at];
    } else if (node->kind == CTUNE_L_FOR && node->ann == CTUNE_LANN_VECTOR) {
        node->ann = CTUNE_LANN_FULL;
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        ctune_lane_apply(c, kid);
    }
    if (node->other != NULL) {
        ctune_lane_apply(c, node->other);
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

static void apply(ctune_loops *l, ctune_lnode *node, bool is_approx, int lanes) {
    ctune_lane_ctx c = {.l = l, .var = node->var, .is_approx = is_approx};
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (!ctune_lane_check(&c, kid)) { /* fills the private variables; held when planned */
            ctune_loops_fail(l, CTUNE_EBUG, "vectorise: a loop changed since it was checked");
            return;
        }
    }
    c.lanes = lanes;
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        ctune_lane_apply(&c, kid);
    }
    l->line = 0;
    node->ann = CTUNE_LANN_FULL;
    node->step = lanes;
    sink(l, node);
    ctune_lane_jam(l, node);
}

/* ---- all loops ------------------------------------------------------------------------------- */

typedef struct vec_pass {
    ctune_loops *l;
    int vector_bytes;
    bool is_approx; /* see ctune_lane_ctx */
    int n_loops, cap_loops;
    vec_loop *loops;
    int *buffer_lanes; /* [l->n_buffers] REGISTER: lanes of the loops that use it */
    int lanes;         /* of the loop at work */
    bool is_changed;
} vec_pass;

typedef struct register_search {
    const ctune_loops *l;
    bool is_found;
} register_search;

static bool is_register(const ctune_loops *l, const ctune_place *place) {
    return place->is_buffer && l->buffer[place->id].scope == CTUNE_SCOPE_REGISTER;
}

static void search_value(register_search *s, const ctune_value *v) {
    if (v != NULL && v->op == CTUNE_V_LOAD && is_register(s->l, &v->place)) {
        s->is_found = true;
    }
    for (int i = 0; v != NULL && i < v->n_kids; i++) {
        search_value(s, v->kids[i]);
    }
}

static void search_node(ctune_lnode *node, void *data) {
    register_search *s = data;
    if (node->kind == CTUNE_L_STORE && is_register(s->l, &node->place)) {
        s->is_found = true;
    }
    search_value(s, node->value);
    search_value(s, node->test);
}

/* Must the loop be repeated for its register arrays to become variables? */
static bool uses_registers(const ctune_loops *l, ctune_lnode *node) {
    register_search s = {.l = l};
    ctune_lnode_walk(node, search_node, &s);
    return s.is_found;
}

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
        if (ctune_for_trips(p->l, node) < 0) {
            node->ann = CTUNE_LANN_SIMD;
        } else {
            int lanes = ctune_lane_count(p->l, p->vector_bytes, p->is_approx, node,
                                         ctune_for_trips(p->l, node));
            p->loops[p->n_loops++] = (vec_loop){node, lanes};
            if (lanes > 1) {
                return;
            }
            node->ann = uses_registers(p->l, node)   ? CTUNE_LANN_FULL
                        : ctune_lnode_has_loop(node) ? CTUNE_LANN_SERIAL
                                                     : CTUNE_LANN_SIMD;
        }
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

bool ctune_lane_is_approx(const ctune_loops *l, const ctune_pass_options *options) {
    return l->region->reassoc && options->target->vector_math;
}

ctune_status ctune_pass_vectorise(ctune_loops *l, const ctune_pass_options *options) {
    vec_pass p = {.l = l,
                  .vector_bytes = options->target->vector_bytes,
                  .is_approx = ctune_lane_is_approx(l, options)};
    p.buffer_lanes = CTUNE_NEW_ARRAY(l->arena, int, l->n_buffers + 1);
    if (ctune_loops_status(l) != CTUNE_OK || p.buffer_lanes == NULL) {
        return ctune_loops_status(l);
    }
    for (int b = 0; b < l->n_buffers; b++) {
        p.buffer_lanes[b] = options->target->vector_bytes;
    }
    collect(&p, l->root);
    agree(&p);
    for (int i = 0; i < p.n_loops && ctune_loops_status(l) == CTUNE_OK; i++) {
        if (p.loops[i].lanes > 1) {
            apply(l, p.loops[i].node, p.is_approx, p.loops[i].lanes);
        } else if (p.loops[i].node->ann == CTUNE_LANN_VECTOR) {
            p.loops[i].node->ann =
                CTUNE_LANN_FULL; /* a register array; lowered to 1 by another loop */
        }
    }
    return ctune_loops_status(l);
}

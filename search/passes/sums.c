/*
 * Sums along lanes.
 * In:  FOR sum N: iterations are independent but for sums (products, extremes, ...) that they add
 * up in one place each, in an order that may change. Out: as many accumulators as N has vectors,
 * each over every N-th iteration, joined at the end; the iterations after the last whole N as they
 * were. What cannot run so is a serial loop. Why: one chain of additions waits for each of them;
 * several chains of vectors keep the units busy.
 *
 *     acc0, acc1 = 0
 *     for (k = lo; k < end; k += 32) { acc0 += x[k:16] * y[k:16]; acc1 += x[k + 16:16] * ... }
 *     s += the lanes of acc0 + acc1, halves onto halves
 *     for (k = end; k < hi; k++) s += x[k] * y[k]
 */
#include "search/passes/lanes.h"

#include <math.h>
#include <string.h>

enum { MAX_SUMS = 8 };

/* One statement that adds up. */
typedef struct sum_row {
    int index;               /* of the statement among the loop's */
    const ctune_value *old;  /* what it adds to: a LOAD or a VAR */
    ctune_value_op join;     /* of two partial results */
    bool is_turned;          /* the old value is the second operand */
    const ctune_value *none; /* what accumulators start from: scalar */
    int acc;                 /* variable of the first accumulator; the others follow */
} sum_row;

typedef struct sum_loop {
    ctune_loops *l;
    const ctune_pass_options *options;
    ctune_lnode *loop;
    int lanes, n_acc;
    int n_sums;
    sum_row sum[MAX_SUMS];
} sum_loop;

/* ---- what adds up ---------------------------------------------------------------------------- */

static bool is_own(const ctune_lnode *node, const ctune_value *v) {
    return node->kind == CTUNE_L_STORE
               ? v->op == CTUNE_V_LOAD && ctune_place_is_equal(&v->place, &node->place)
               : node->kind == CTUNE_L_SET && v->op == CTUNE_V_VAR && v->var == node->var;
}

/* Is the statement `place op= e`? Then what it reads of its own place; else NULL. */
static const ctune_value *find_old(const ctune_lnode *node) {
    const ctune_value *v = node->value;
    switch (v == NULL ? CTUNE_V_CONST : v->op) {
    case CTUNE_V_ADD:
    case CTUNE_V_SUB:
    case CTUNE_V_MUL:
    case CTUNE_V_BAND:
    case CTUNE_V_BOR:
    case CTUNE_V_BXOR:
        return is_own(node, v->kids[0]) ? v->kids[0] : NULL;
    case CTUNE_V_MIN:
    case CTUNE_V_MAX:
        return is_own(node, v->kids[0]) ? v->kids[0] : is_own(node, v->kids[1]) ? v->kids[1] : NULL;
    case CTUNE_V_FMA:
        return is_own(node, v->kids[2]) ? v->kids[2] : NULL;
    default:
        return NULL;
    }
}

static const ctune_value *number(ctune_loops *l, ctune_type type, int n) {
    ctune_value proto = {.op = CTUNE_V_CONST, .type = type, .lanes = 1, .i_value = n, .f_value = n};
    return ctune_loops_value(l, &proto);
}

static void describe(ctune_loops *l, const ctune_value *v, sum_row *row) {
    row->join = v->op;
    row->is_turned = v->op != CTUNE_V_FMA && v->kids[1] == row->old;
    switch (v->op) {
    case CTUNE_V_ADD:
    case CTUNE_V_SUB:
    case CTUNE_V_FMA:
        row->join = CTUNE_V_ADD;
        row->none = number(l, v->type, 0);
        break;
    case CTUNE_V_MUL:
        row->none = number(l, v->type, 1);
        break;
    case CTUNE_V_BOR:
    case CTUNE_V_BXOR:
        row->none = number(l, v->type, 0);
        break;
    default: /* again and again the same: BAND, MIN, MAX */
        row->none = row->old;
        break;
    }
}

static bool reads_old(const ctune_value *v, const ctune_value *old) {
    if (v == NULL) {
        return false;
    }
    if (old->op == CTUNE_V_VAR
            ? v->op == CTUNE_V_VAR && v->var == old->var
            : v->op == CTUNE_V_LOAD && ctune_place_is_equal(&v->place, &old->place)) {
        return true;
    }
    for (int i = 0; i < v->n_kids; i++) {
        if (reads_old(v->kids[i], old)) {
            return true;
        }
    }
    return false;
}

/* How many operands of the loop's statements read what a sum adds to: its own one only. */
static int count_reads(const ctune_lnode *loop, const ctune_value *old) {
    int n = 0;
    for (const ctune_lnode *kid = loop->first; kid != NULL; kid = kid->next) {
        const ctune_value *v = kid->value;
        if (v != NULL && find_old(kid) == old) {
            for (int i = 0; i < v->n_kids; i++) {
                n += reads_old(v->kids[i], old);
            }
        } else {
            n += reads_old(v, old) ? 2 : 0;
        }
    }
    return n;
}

/* The sums of the loop; false: it has none, or something in it does not suit. */
static bool find_sums(sum_loop *s) {
    int index = 0;
    for (const ctune_lnode *kid = s->loop->first; kid != NULL; kid = kid->next, index++) {
        if (kid->kind != CTUNE_L_STORE && kid->kind != CTUNE_L_SET && kid->kind != CTUNE_L_DEF) {
            return false;
        }
        const ctune_value *old = kid->kind == CTUNE_L_DEF ? NULL : find_old(kid);
        if (old == NULL || ctune_value_uses(s->l, old, s->loop->var) ||
            (kid->kind == CTUNE_L_SET && !s->l->var[kid->var].is_mutable)) {
            continue;
        }
        bool is_private = false; /* a variable of one iteration */
        for (const ctune_lnode *def = s->loop->first; def != kid; def = def->next) {
            is_private |=
                kid->kind == CTUNE_L_SET && def->kind == CTUNE_L_DEF && def->var == kid->var;
        }
        if (is_private) {
            continue;
        }
        if (s->n_sums == MAX_SUMS || count_reads(s->loop, old) != 1 ||
            !ctune_type_has_vectors(kid->value->type)) {
            return false;
        }
        sum_row *row = &s->sum[s->n_sums++];
        *row = (sum_row){.index = index, .old = old, .acc = -1};
        describe(s->l, kid->value, row);
    }
    return s->n_sums > 0;
}

static const sum_row *row_of(const sum_loop *s, int index) {
    for (int i = 0; i < s->n_sums; i++) {
        if (s->sum[i].index == index) {
            return &s->sum[i];
        }
    }
    return NULL;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Lanes of the loop's vectors: as many as its widest type allows and N divides into; 1: none. */
static int plan_lanes(sum_loop *s, ctune_lane_ctx *c) {
    int index = 0;
    for (ctune_lnode *kid = s->loop->first; kid != NULL; kid = kid->next, index++) {
        const sum_row *row = row_of(s, index);
        bool is_ok = true;
        if (row == NULL) {
            is_ok = ctune_lane_check(c, kid);
        } else {
            for (int i = 0; i < kid->value->n_kids && is_ok; i++) {
                is_ok = kid->value->kids[i] == row->old ||
                        ctune_lane_check_value(c, kid->value->kids[i], NULL);
            }
            int bytes = ctune_type_get(kid->value->type)->bytes;
            if (bytes > c->max_bytes) {
                c->max_bytes = bytes;
                c->widest = kid->value->type;
            }
        }
        if (!is_ok) {
            return 1;
        }
    }
    return ctune_tile_lanes(s->options->target->vector_bytes, c->widest, s->loop->factor);
}

/* acc = acc op e, for the lanes of the iterations from c->var on. */
static ctune_lnode *add_up(sum_loop *s, ctune_lane_ctx *c, const ctune_lnode *kid,
                           const sum_row *row, int i_acc) {
    const ctune_value *acc = ctune_value_var(s->l, row->acc + i_acc), *kids[3];
    ctune_value proto = *kid->value;
    const ctune_value *old = find_old(kid);
    c->statement = kid->value;
    c->target = NULL;
    for (int i = 0; i < proto.n_kids; i++) {
        kids[i] = proto.kids[i] == old ? acc : ctune_lane_vector(c, proto.kids[i]);
    }
    proto.lanes = s->lanes;
    proto.kids = kids;
    return ctune_lnode_set(s->l, row->acc + i_acc, ctune_loops_value(s->l, &proto));
}

/* The body for the iterations that start `by` after `var`. */
static void append_body(sum_loop *s, int var, int i_acc, ctune_lnode *into) {
    ctune_lane_ctx c = {.l = s->l, .var = var, .is_approx = ctune_lane_is_approx(s->l, s->options)};
    ctune_lnode shell = {.kind = CTUNE_L_SEQ, .first = s->loop->first, .last = s->loop->last};
    ctune_lnode *copy = ctune_lnode_copy(
        s->l, &shell, s->loop->var, ctune_loops_var_aff(s->l, var, 1, (int64_t)i_acc * s->lanes));
    int index = 0;
    if (copy == NULL) {
        return;
    }
    for (ctune_lnode *kid = copy->first; kid != NULL; kid = kid->next, index++) {
        if (row_of(s, index) == NULL && !ctune_lane_check(&c, kid)) {
            ctune_loops_fail(s->l, CTUNE_EBUG, "sums: a loop changed since it was checked");
            return;
        }
    }
    c.lanes = s->lanes;
    index = 0;
    for (ctune_lnode *kid = copy->first, *next; kid != NULL; kid = next, index++) {
        const sum_row *row = row_of(s, index);
        next = kid->next;
        if (row == NULL) {
            ctune_lane_apply(&c, kid);
            kid->next = NULL;
            ctune_lnode_append(into, kid);
        } else {
            ctune_lnode_append(into, add_up(s, &c, kid, row, i_acc));
        }
    }
}

/* One half of a vector. */
static const ctune_value *half(ctune_loops *l, const ctune_value *v, int first) {
    int lanes = v->lanes / 2;
    const ctune_value **kids = CTUNE_NEW_ARRAY(l->arena, const ctune_value *, lanes);
    if (kids == NULL) {
        return NULL;
    }
    for (int i = 0; i < lanes; i++) {
        kids[i] = ctune_value_extract(l, v, first + i);
    }
    return lanes == 1 ? kids[0]
                      : ctune_loops_value(l, &(ctune_value){.op = CTUNE_V_GATHER,
                                                            .type = v->type,
                                                            .lanes = lanes,
                                                            .n_kids = lanes,
                                                            .kids = kids});
}

static const ctune_value *join(ctune_loops *l, const sum_row *row, const ctune_value *a,
                               const ctune_value *b) {
    const ctune_value *v =
        ctune_value_binary(l, row->join, row->is_turned ? b : a, row->is_turned ? a : b);
    bool is_wide = v != NULL && (v->type == CTUNE_I32 || v->type == CTUNE_I64) &&
                   (row->join == CTUNE_V_ADD || row->join == CTUNE_V_MUL);
    if (!is_wide) {
        return v;
    }
    ctune_value proto = *v;
    proto.wraps = true; /* a new order of the sum must add no overflow */
    return ctune_loops_value(l, &proto);
}

static const ctune_value *keep(ctune_loops *l, const ctune_value *v, ctune_lnode *into) {
    int var = v == NULL ? -1 : ctune_loops_value_var(l, "sum", v->type, v->lanes, false);
    ctune_lnode_append(into, ctune_lnode_def(l, var, v));
    return ctune_value_var(l, var);
}

/* place = place op all lanes of all accumulators */
static void append_join(sum_loop *s, const ctune_lnode *kid, const sum_row *row,
                        ctune_lnode *into) {
    ctune_loops *l = s->l;
    const ctune_value *v[64];
    for (int i = 0; i < s->n_acc; i++) {
        v[i] = ctune_value_var(l, row->acc + i);
    }
    for (int n = s->n_acc; n > 1; n = (n + 1) / 2) {
        for (int i = 0; i < n / 2; i++) {
            v[i] = join(l, row, v[i], v[i + (n + 1) / 2]);
        }
    }
    while (v[0] != NULL && v[0]->lanes > 1) {
        v[0] = keep(l, v[0], into);
        v[0] = join(l, row, half(l, v[0], 0), half(l, v[0], v[0]->lanes / 2));
    }
    const ctune_value *total = join(l, row, row->old, v[0]);
    ctune_lnode_append(into, kid->kind == CTUNE_L_STORE ? ctune_lnode_store(l, &kid->place, total)
                                                        : ctune_lnode_set(l, kid->var, total));
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void make_accumulators(sum_loop *s, ctune_lnode *into) {
    for (int k = 0; k < s->n_sums; k++) {
        sum_row *row = &s->sum[k];
        for (int i = 0; i < s->n_acc; i++) {
            int var = ctune_loops_value_var(
                s->l, "acc", row->none == NULL ? CTUNE_F32 : row->none->type, s->lanes, true);
            row->acc = i == 0 ? var : row->acc;
            ctune_lnode_append(
                into, ctune_lnode_def(s->l, var, ctune_value_splat(s->l, row->none, s->lanes)));
        }
    }
}

/* In place of the loop. */
static void rewrite(sum_loop *s) {
    ctune_loops *l = s->l;
    ctune_lnode *loop = s->loop, *seq = ctune_lnode_new(l, CTUNE_L_SEQ);
    int64_t chunk = loop->factor;
    int end = ctune_loops_index_var(l, "end"),
        var = ctune_loops_index_var(l, l->var[loop->var].hint);
    const ctune_aff *n =
        ctune_loops_max(l, ctune_aff_sub(l->arena, loop->hi, loop->lo), ctune_loops_const(l, 0));
    const ctune_aff *whole = ctune_aff_scale(l->arena, ctune_loops_floor(l, n, chunk), chunk);
    ctune_lnode *many = ctune_lnode_for(l, var, loop->lo, ctune_loops_var_aff(l, end, 1, 0), chunk,
                                        CTUNE_LANN_SERIAL);
    ctune_lnode *rest = ctune_lnode_copy(l, loop, -1, NULL);
    if (seq == NULL || many == NULL || rest == NULL || whole == NULL) {
        return; /* the failure is recorded */
    }
    ctune_lnode_append(seq, ctune_lnode_let(l, end, ctune_aff_add(l->arena, loop->lo, whole)));
    make_accumulators(s, seq);
    for (int i = 0; i < s->n_acc; i++) {
        append_body(s, var, i, many);
    }
    ctune_lnode_append(seq, many);
    int index = 0;
    for (const ctune_lnode *kid = loop->first; kid != NULL; kid = kid->next, index++) {
        const sum_row *row = row_of(s, index);
        if (row != NULL) {
            append_join(s, kid, row, seq);
        }
    }
    rest->ann = CTUNE_LANN_SERIAL;
    rest->lo = ctune_loops_var_aff(l, end, 1, 0);
    rest->next = NULL;
    ctune_lnode_append(seq, rest);
    seq->next = loop->next;
    seq->comment = loop->comment;
    *loop = *seq;
}

static void visit(ctune_lnode *node, void *data) {
    sum_loop s = *(const sum_loop *)data;
    if (node->kind != CTUNE_L_FOR || node->ann != CTUNE_LANN_SUM) {
        return;
    }
    node->ann = CTUNE_LANN_SERIAL;
    s.loop = node;
    ctune_lane_ctx c = {
        .l = s.l, .var = node->var, .is_approx = ctune_lane_is_approx(s.l, s.options)};
    if (node->step != 1 || !find_sums(&s)) {
        return;
    }
    s.lanes = plan_lanes(&s, &c);
    s.n_acc = s.lanes > 1 ? (int)(node->factor / s.lanes) : 0;
    if (s.lanes > 1 && s.n_acc <= 16) {
        rewrite(&s);
    }
}

ctune_status ctune_pass_sums(ctune_loops *l, const ctune_pass_options *options) {
    sum_loop s = {.l = l, .options = options};
    if (ctune_loops_status(l) == CTUNE_OK) {
        ctune_lnode_walk(l->root, visit, &s);
    }
    return ctune_loops_status(l);
}

/*
 * Assignments: expression statements -> stages with a target, an update operator and a right-hand
 * side.
 *
 * In: `x = e`, `x op= e`, `x++`. Out: stages. `x = x + e` is the update += (bit for bit the same),
 * a minimum or maximum is one only where NaN and signed zeros cannot tell the difference.
 */
#include "plugin/extract/assign.h"

#include <stdio.h>

typedef struct target {
    ctune_lval lval;
    ctune_access *slot;
    int acc;
    ctune_type type;
} target;

ctune_mnode *ctune_stage_new(ctune_build *b, CXCursor at, ctune_access *slot, int target_acc,
                             ctune_update update, ctune_type calc, const ctune_expr *rhs) {
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_STAGE);
    ctune_mstage *stage = rhs != NULL ? CTUNE_PUSH(b, b->stages) : NULL;
    if (node == NULL || stage == NULL) {
        return NULL;
    }
    node->stage = b->stages.n - 1;
    stage->target = slot;
    stage->target_acc = target_acc;
    stage->s.update = update;
    stage->s.calc = calc;
    stage->s.rhs = rhs;
    at = b->frame != NULL || ctune_cx_kind(at) == CXCursor_ParmDecl ? b->call : at;
    stage->offset = ctune_cx_begin(at);
    ctune_source_place(b->source, ctune_cx_begin(at), &stage->s.line, &stage->s.col);
    stage->s.text = ctune_source_line(b->source, b->arena, ctune_cx_begin(at), ctune_cx_end(at));
    return node;
}

/* ---- recognising updates --------------------------------------------------------------------- */

/* The old value of the target, converted to `calc` once at most? */
static bool is_old(ctune_build *b, const ctune_expr *e, int acc, ctune_type calc) {
    if (e->op == CTUNE_OP_CAST && e->type == calc) {
        e = e->kids[0];
    }
    return e->op == CTUNE_OP_READ && (e->type == calc || e->op == CTUNE_OP_READ) &&
           ctune_access_is_equal(b, e->read_id, acc);
}

static bool is_same_expr(ctune_build *b, const ctune_expr *x, const ctune_expr *y) {
    if (x->op != y->op || x->type != y->type || x->n_kids != y->n_kids) {
        return false;
    }
    bool same = true;
    if (x->op == CTUNE_OP_READ) {
        return ctune_access_is_equal(b, x->read_id, y->read_id);
    }
    if (x->op == CTUNE_OP_CONST) {
        return x->text != NULL && y->text != NULL && strcmp(x->text, y->text) == 0;
    }
    if (x->op == CTUNE_OP_AFF) {
        return ctune_aff_is_equal(x->aff, y->aff);
    }
    if (x->op == CTUNE_OP_CALL) {
        same = strcmp(x->text, y->text) == 0;
    }
    for (int i = 0; i < x->n_kids && same; i++) {
        same = is_same_expr(b, x->kids[i], y->kids[i]);
    }
    return same;
}

typedef struct found_update {
    ctune_update update; /* SET: none found */
    ctune_type calc;
    const ctune_expr *rhs;
} found_update;

/* cond ? x : y as the smaller or larger of the old value and another. */
static found_update find_extremum(ctune_build *b, const ctune_expr *cond, const ctune_expr *x,
                                  const ctune_expr *y, int acc) {
    found_update none = {.update = CTUNE_UPDATE_SET};
    if (cond->op < CTUNE_OP_LT || cond->op > CTUNE_OP_GE || x->type != y->type ||
        cond->kids[0]->type != x->type) {
        return none;
    }
    const ctune_expr *p = cond->kids[0], *q = cond->kids[1];
    bool is_less = cond->op == CTUNE_OP_LT || cond->op == CTUNE_OP_LE;
    bool is_strict = cond->op == CTUNE_OP_LT || cond->op == CTUNE_OP_GT;
    bool takes_p = is_same_expr(b, p, x) && is_same_expr(b, q, y);
    bool takes_q = is_same_expr(b, p, y) && is_same_expr(b, q, x);
    if (!takes_p && !takes_q) {
        return none;
    }
    /* p < q ? p : q is MIN(p, q); p < q ? q : p is q > p ? q : p, MAX(q, p) */
    const ctune_expr *first = takes_p ? p : q, *second = takes_p ? q : p;
    bool is_min = is_less == takes_p;
    bool is_float = ctune_type_is_float(x->type);
    found_update out = {is_min ? CTUNE_UPDATE_MIN : CTUNE_UPDATE_MAX, x->type, NULL};
    if (is_old(b, first, acc, x->type) && (is_strict || !is_float)) {
        out.rhs = second;
    } else if (is_old(b, second, acc, x->type) && (is_strict || !is_float)) {
        out.rhs = first;
        out.update = !is_float ? out.update : is_min ? CTUNE_UPDATE_BELOW : CTUNE_UPDATE_ABOVE;
    }
    return out.rhs != NULL ? out : none;
}

static found_update find_update(ctune_build *b, const ctune_expr *rhs, int acc) {
    static const struct {
        ctune_op op;
        ctune_update update;
        bool commutes;
    } table[] = {{CTUNE_OP_ADD, CTUNE_UPDATE_ADD, true},   {CTUNE_OP_SUB, CTUNE_UPDATE_SUB, false},
                 {CTUNE_OP_MUL, CTUNE_UPDATE_MUL, true},   {CTUNE_OP_DIV, CTUNE_UPDATE_DIV, false},
                 {CTUNE_OP_BAND, CTUNE_UPDATE_BAND, true}, {CTUNE_OP_BOR, CTUNE_UPDATE_BOR, true},
                 {CTUNE_OP_BXOR, CTUNE_UPDATE_BXOR, true}};
    const ctune_expr *e = rhs->op == CTUNE_OP_CAST ? rhs->kids[0] : rhs;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (e->op != table[i].op) {
            continue;
        }
        if (is_old(b, e->kids[0], acc, e->type)) {
            return (found_update){table[i].update, e->type, e->kids[1]};
        }
        if (table[i].commutes && is_old(b, e->kids[1], acc, e->type)) {
            return (found_update){table[i].update, e->type, e->kids[0]};
        }
    }
    if (e->op == CTUNE_OP_SELECT) {
        return find_extremum(b, e->kids[0], e->kids[1], e->kids[2], acc);
    }
    return (found_update){.update = CTUNE_UPDATE_SET};
}

void ctune_stage_fold_guard(ctune_build *b, ctune_mnode *guard) {
    if (guard->kids.n != 1 || guard->otherwise.n != 0 || guard->kids.at[0]->kind != CTUNE_M_STAGE) {
        return;
    }
    ctune_mstage *stage = &b->stages.at[guard->kids.at[0]->stage];
    const ctune_expr *cond = guard->guard, *rhs = stage->s.rhs;
    if (stage->s.update != CTUNE_UPDATE_SET || cond->op < CTUNE_OP_LT || cond->op > CTUNE_OP_GE ||
        rhs->type < CTUNE_I32) {
        return;
    }
    const ctune_expr *old = is_same_expr(b, cond->kids[0], rhs) ? cond->kids[1] : cond->kids[0];
    found_update found = find_extremum(b, cond, rhs, old, stage->target_acc);
    if (found.update != CTUNE_UPDATE_SET) {
        stage->s.update = found.update;
        stage->s.calc = found.calc;
        stage->s.rhs = found.rhs;
        guard->guard = ctune_expr_int(b, CTUNE_I32, 1);
    }
}

/* ---- building -------------------------------------------------------------------------------- */

static bool get_target(ctune_build *b, CXCursor cursor, target *out) {
    if (!ctune_lval_get(b, cursor, &out->lval)) {
        return false;
    }
    if (ctune_cx_is_pointer(out->lval.type)) {
        return ctune_build_refuse(b, CTUNE_REFUSE_MOVING_POINTER, cursor,
                                  "the pointer '%s' is assigned", ctune_build_text(b, cursor));
    }
    ctune_var *var = out->lval.root;
    if (out->lval.n_steps == 0 && var->is_counter) {
        return ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_WRITTEN, cursor,
                                  "the counter '%s' is assigned in the loop", var->name);
    }
    out->slot = CTUNE_NEW(b->arena, ctune_access);
    out->acc = out->slot == NULL ? -1 : ctune_access_add(b, &out->lval, cursor, out->slot);
    out->type = ctune_cx_type(out->lval.type);
    return out->acc >= 0;
}

static bool add_stage(ctune_build *b, CXCursor at, const target *t, ctune_update update,
                      ctune_type calc, const ctune_expr *rhs) {
    ctune_mnode *node = ctune_stage_new(b, at, t->slot, t->acc, update, calc, rhs);
    return node != NULL && ctune_mnode_add(b, b->at, node);
}

static bool add_set(ctune_build *b, CXCursor at, const target *t, ctune_expr *value) {
    ctune_expr *rhs = ctune_expr_cast(b, value, t->type);
    if (rhs == NULL) {
        return false;
    }
    found_update found = find_update(b, rhs, t->acc);
    if (found.update != CTUNE_UPDATE_SET) {
        return add_stage(b, at, t, found.update, found.calc, found.rhs);
    }
    return add_stage(b, at, t, CTUNE_UPDATE_SET, t->type, rhs);
}

/* A read of the target's old value. */
static ctune_expr *read_old(ctune_build *b, CXCursor at, const target *t) {
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_READ, t->type, 0);
    if (e != NULL) {
        e->read_id = ctune_access_add(b, &t->lval, at, &e->access);
    }
    return e != NULL && e->read_id >= 0 ? e : NULL;
}

static ctune_type promoted(ctune_type type) {
    return type < CTUNE_I32 ? CTUNE_I32 : type;
}

/* x %= e, x <<= e, x >>= e: plain stores that read x. */
static bool compound_store(ctune_build *b, CXCursor at, const target *t, ctune_op op,
                           ctune_expr *rhs) {
    ctune_type calc = op == CTUNE_OP_MOD ? rhs->type : promoted(t->type);
    ctune_expr *old = ctune_expr_cast(b, read_old(b, at, t), calc);
    ctune_expr *value = old == NULL ? NULL : ctune_expr_new(b, op, calc, 2, old, rhs);
    return value != NULL && add_set(b, at, t, value);
}

/* The variable, when the target is an integer that subscripts depend on. */
static ctune_var *index_of(const target *t) {
    return t->lval.n_steps == 0 && ctune_index_is(t->lval.root) ? t->lval.root : NULL;
}

static bool build_compound(ctune_build *b, CXCursor cursor) {
    static const struct {
        enum CXBinaryOperatorKind kind;
        ctune_update update; /* SET: stored through `op` */
        ctune_op op;
    } table[] = {{CXBinaryOperator_MulAssign, CTUNE_UPDATE_MUL, CTUNE_OP_MUL},
                 {CXBinaryOperator_DivAssign, CTUNE_UPDATE_DIV, CTUNE_OP_DIV},
                 {CXBinaryOperator_RemAssign, CTUNE_UPDATE_SET, CTUNE_OP_MOD},
                 {CXBinaryOperator_AddAssign, CTUNE_UPDATE_ADD, CTUNE_OP_ADD},
                 {CXBinaryOperator_SubAssign, CTUNE_UPDATE_SUB, CTUNE_OP_SUB},
                 {CXBinaryOperator_ShlAssign, CTUNE_UPDATE_SET, CTUNE_OP_SHL},
                 {CXBinaryOperator_ShrAssign, CTUNE_UPDATE_SET, CTUNE_OP_SHR},
                 {CXBinaryOperator_AndAssign, CTUNE_UPDATE_BAND, CTUNE_OP_BAND},
                 {CXBinaryOperator_XorAssign, CTUNE_UPDATE_BXOR, CTUNE_OP_BXOR},
                 {CXBinaryOperator_OrAssign, CTUNE_UPDATE_BOR, CTUNE_OP_BOR}};
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    target t;
    if (kids.n != 2 || !get_target(b, kids.at[0], &t)) {
        return kids.n == 2 ? false
                           : ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor, "no assignment");
    }
    enum CXBinaryOperatorKind kind = clang_getCursorBinaryOperatorKind(cursor);
    ctune_var *index = index_of(&t);
    ctune_index_value worth = {0};
    if (index != NULL) {
        worth = ctune_index_eval(b, index, kind, kids.at[1]);
    }
    ctune_expr *rhs = ctune_expr_get(b, kids.at[1]);
    if (rhs == NULL) {
        return false;
    }
    if (index != NULL) {
        ctune_index_set(b, index, worth);
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].kind != kind) {
            continue;
        }
        if (table[i].update == CTUNE_UPDATE_SET) {
            return compound_store(b, cursor, &t, table[i].op, rhs);
        }
        /* the right side already has the common type of both */
        if (rhs->type < CTUNE_I32) {
            rhs = ctune_expr_cast(b, rhs, CTUNE_I32);
        }
        return rhs != NULL && add_stage(b, cursor, &t, table[i].update, rhs->type, rhs);
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor,
                              "an operator that ctune does not know");
}

static bool build_step(ctune_build *b, CXCursor cursor, bool is_plus) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    target t;
    if (kids.n != 1 || !get_target(b, kids.at[0], &t)) {
        return kids.n == 1 ? false
                           : ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor, "no assignment");
    }
    ctune_var *index = index_of(&t);
    if (index != NULL) {
        ctune_index_set(b, index, ctune_index_step(b, index, is_plus ? 1 : -1));
    }
    if (t.type == CTUNE_BOOL) { /* b-- toggles, b++ sets: as C computes it */
        ctune_expr *old = ctune_expr_cast(b, read_old(b, cursor, &t), CTUNE_I32);
        ctune_expr *sum = old == NULL
                              ? NULL
                              : ctune_expr_new(b, is_plus ? CTUNE_OP_ADD : CTUNE_OP_SUB, CTUNE_I32,
                                               2, old, ctune_expr_int(b, CTUNE_I32, 1));
        ctune_expr *value = ctune_expr_cast(b, sum, CTUNE_BOOL);
        return value != NULL && add_stage(b, cursor, &t, CTUNE_UPDATE_SET, CTUNE_BOOL, value);
    }
    ctune_type calc = promoted(t.type);
    return add_stage(b, cursor, &t, is_plus ? CTUNE_UPDATE_ADD : CTUNE_UPDATE_SUB, calc,
                     ctune_expr_int(b, calc, 1));
}

static bool build_assign(ctune_build *b, CXCursor cursor);

/* a = b = e: first b = e, then a is what b holds now. */
static bool build_chain(ctune_build *b, CXCursor cursor, CXCursor inner, CXCursor value_at,
                        const target *t) {
    ctune_kids kids = ctune_cx_exprs(b->arena, inner);
    if (kids.n != 2 || !build_assign(b, inner)) {
        return false;
    }
    ctune_index_value worth = {0};
    ctune_var *index = index_of(t);
    if (index != NULL) {
        worth = ctune_index_eval(b, index, CXBinaryOperator_Assign, kids.at[0]);
    }
    ctune_expr *value = ctune_expr_get(b, kids.at[0]);
    value = ctune_expr_cast(b, value, ctune_cx_type(clang_getCursorType(value_at)));
    bool ok = value != NULL && add_set(b, cursor, t, value);
    if (ok && index != NULL) {
        ctune_index_set(b, index, worth);
    }
    return ok;
}

static bool build_assign(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    target t;
    if (kids.n != 2) {
        return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT, cursor, "no assignment");
    }
    if (clang_getCanonicalType(clang_getCursorType(cursor)).kind == CXType_Record) {
        return ctune_copy_struct(b, cursor, kids.at[0], kids.at[1]);
    }
    if (!get_target(b, kids.at[0], &t)) {
        return false;
    }
    CXCursor right = kids.at[1];
    while (ctune_cx_kind(right) == CXCursor_UnexposedExpr ||
           ctune_cx_kind(right) == CXCursor_ParenExpr) {
        ctune_kids inner = ctune_cx_exprs(b->arena, right);
        if (inner.n != 1) {
            break;
        }
        right = inner.at[0];
    }
    if (clang_getCursorBinaryOperatorKind(right) == CXBinaryOperator_Assign) {
        return build_chain(b, cursor, right, kids.at[1], &t);
    }
    ctune_var *index = index_of(&t);
    ctune_index_value worth = {0};
    if (index != NULL) {
        worth = ctune_index_eval(b, index, CXBinaryOperator_Assign, kids.at[1]);
    }
    b->may_store = ctune_callee_is_value(b, kids.at[1]);
    ctune_expr *value = ctune_expr_get(b, kids.at[1]);
    b->may_store = false;
    bool ok = value != NULL && add_set(b, cursor, &t, value);
    if (ok && index != NULL) {
        ctune_index_set(b, index, worth);
    }
    return ok;
}

bool ctune_assign_initialiser(ctune_build *b, CXCursor decl, ctune_var *var, CXCursor init) {
    target t = {.lval = {.root = var, .type = var->type}, .type = ctune_cx_type(var->type)};
    t.slot = CTUNE_NEW(b->arena, ctune_access);
    t.acc = t.slot == NULL ? -1 : ctune_access_add(b, &t.lval, decl, t.slot);
    ctune_index_value worth = {0};
    if (ctune_index_is(var)) {
        worth = ctune_index_eval(b, var, CXBinaryOperator_Assign, init);
    }
    b->may_store = ctune_callee_is_value(b, init);
    ctune_expr *value = t.acc < 0 ? NULL : ctune_expr_get(b, init);
    b->may_store = false;
    ctune_expr *rhs = ctune_expr_cast(b, value, t.type);
    bool ok = rhs != NULL && add_stage(b, decl, &t, CTUNE_UPDATE_SET, t.type, rhs);
    if (ok && ctune_index_is(var)) {
        ctune_index_set(b, var, worth);
    }
    return ok;
}

static bool build_expression(ctune_build *b, CXCursor cursor) {
    cursor = ctune_cx_strip(b->arena, cursor);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    enum CXUnaryOperatorKind unary = clang_getCursorUnaryOperatorKind(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (op == CXBinaryOperator_Comma && kids.n == 2) {
        return ctune_assign_build(b, kids.at[0]) && ctune_assign_build(b, kids.at[1]);
    }
    if (op == CXBinaryOperator_Assign) {
        return build_assign(b, cursor);
    }
    if (op > CXBinaryOperator_Assign && op < CXBinaryOperator_Comma) {
        return build_compound(b, cursor);
    }
    if (unary >= CXUnaryOperator_PostInc && unary <= CXUnaryOperator_PreDec) {
        return build_step(b, cursor,
                          unary == CXUnaryOperator_PostInc || unary == CXUnaryOperator_PreInc);
    }
    if (!ctune_cx_has_effect(b->arena, cursor)) {
        return true; /* (void)x; */
    }
    if (ctune_cx_kind(cursor) == CXCursor_CallExpr && ctune_copy_is_row(b, cursor)) {
        return ctune_copy_row(b, cursor);
    }
    CXCursor definition = ctune_cx_kind(cursor) == CXCursor_CallExpr
                              ? ctune_inline_definition(cursor)
                              : clang_getNullCursor();
    if (!clang_Cursor_isNull(definition)) {
        return ctune_inline_statement(b, cursor, definition);
    }
    if (ctune_cx_kind(cursor) == CXCursor_CallExpr) {
        return ctune_build_refuse(b, CTUNE_REFUSE_CALL, cursor, "call of '%s'",
                                  ctune_cx_name(b->arena, cursor));
    }
    if (strncmp(ctune_build_text(b, cursor), "assert", 6) == 0) {
        return ctune_build_refuse(b, CTUNE_REFUSE_SIDE_EFFECT, cursor,
                                  "'%s' may stop the program; with -DNDEBUG it is gone",
                                  ctune_build_text(b, cursor));
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_SIDE_EFFECT, cursor, "'%s' is no assignment",
                              ctune_build_text(b, cursor));
}

bool ctune_assign_build(ctune_build *b, CXCursor cursor) {
    int from = b->steps.n;
    if (!build_expression(b, cursor)) {
        b->steps.n = from;
        return false;
    }
    bool ok = true;
    int to = b->steps.n;
    for (int i = from; i < to && ok; i++) {
        enum CXUnaryOperatorKind op = clang_getCursorUnaryOperatorKind(b->steps.at[i]);
        ok = build_step(b, b->steps.at[i],
                        op == CXUnaryOperator_PostInc || op == CXUnaryOperator_PreInc);
    }
    b->steps.n = from;
    return ok;
}

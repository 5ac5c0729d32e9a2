/*
 * Loop headers: for (i = lo; i < hi; i += step) as an axis with affine inequalities.
 *
 * In: a for, while or do statement. Out: a LOOP node, its axis, facts. A step may be the body's
 * last statement, a start what the counter holds before; a do loop's condition must hold at the
 * start. The mathematics of the bounds is what C does as long as the counter and both sides of the
 * comparison keep their values: shown by induction over the iterations, from the first value and
 * from value -> value + step, with facts where the types could wrap.
 */
#include "plugin/extract/build.h"

typedef struct header {
    CXCursor cursor, init, cond, step, body;
    bool has_init, has_step, is_do;
    int n_drop; /* 1: the body's last statement is the step */
    ctune_var *var;
    ctune_type type;
    int64_t by; /* what a step adds */
    int axis;
    ctune_bound lo;
    const ctune_aff *lo_aff[CTUNE_MAX_ALTERNATIVES];
    const ctune_aff *value; /* the counter, affine */
    const ctune_poly *value_poly;
    ctune_conds conds; /* of the condition */
    int n_sides;       /* sides of comparisons whose range is to be shown */
    ctune_int side[16];
    CXCursor side_at[16];
    const ctune_poly *countdown_end; /* k-- > end; NULL: an ordinary loop */
    int countdown_gap;               /* 1: >, 0: >= */
    bool is_ne;                      /* a != comparison: must not step over its end */
    const ctune_aff *ne_distance;    /* >= 0 at the start */
} header;

/* ---- parts of the header --------------------------------------------------------------------- */

static bool read_init(ctune_build *b, header *h, CXCursor at) {
    ctune_kids kids = ctune_cx_kids(b->arena, at);
    CXCursor decl = clang_getNullCursor();
    if (ctune_cx_kind(at) == CXCursor_DeclStmt) {
        if (kids.n > 1) {
            return ctune_build_refuse(b, CTUNE_REFUSE_SEVERAL_COUNTERS, at,
                                      "'%s' declares %d variables", ctune_build_text(b, at),
                                      kids.n);
        }
        ctune_kids exprs = kids.n == 1 ? ctune_cx_exprs(b->arena, kids.at[0]) : kids;
        if (kids.n == 1 && exprs.n > 0) {
            decl = kids.at[0];
            h->init = exprs.at[exprs.n - 1];
        }
    } else if (clang_getCursorBinaryOperatorKind(at) == CXBinaryOperator_Comma) {
        return ctune_build_refuse(b, CTUNE_REFUSE_SEVERAL_COUNTERS, at,
                                  "'%s' sets several variables", ctune_build_text(b, at));
    } else if (clang_getCursorBinaryOperatorKind(at) == CXBinaryOperator_Assign && kids.n == 2) {
        CXCursor left = ctune_cx_strip(b->arena, kids.at[0]);
        if (ctune_cx_kind(left) != CXCursor_DeclRefExpr) {
            return ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_ADDRESS, at,
                                      "'%s' is no local variable", ctune_build_text(b, left));
        }
        decl = ctune_cx_decl(left);
        h->init = kids.at[1];
    }
    h->var = clang_Cursor_isNull(decl) ? NULL : ctune_vars_find(b, decl);
    if (h->var == NULL) {
        return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_FORM, at, "'%s' does not set a counter",
                                  ctune_build_text(b, at));
    }
    return true;
}

static bool check_counter(ctune_build *b, header *h) {
    ctune_var *var = h->var;
    if (ctune_cx_is_pointer(var->type)) {
        return ctune_build_refuse(b, CTUNE_REFUSE_MOVING_POINTER, h->cursor,
                                  "the pointer '%s' is the loop counter", var->name);
    }
    if (!ctune_type_check(b, var->type, h->cursor)) {
        return false;
    }
    h->type = ctune_cx_type(var->type);
    if (h->type >= CTUNE_F16) {
        return ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_TYPE, h->cursor,
                                  "the counter '%s' is a %s", var->name,
                                  ctune_type_get(h->type)->c_name);
    }
    if (!var->is_automatic || var->is_address_taken) {
        return ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_ADDRESS, h->cursor,
                                  "the counter '%s' can be changed through memory", var->name);
    }
    if (var->is_counter || ctune_vars_count_writes(b, h->body, var) > h->n_drop) {
        return ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_WRITTEN, h->cursor,
                                  "the counter '%s' is assigned in the loop", var->name);
    }
    return true;
}

static bool is_counter(ctune_build *b, const header *h, CXCursor cursor) {
    cursor = ctune_cx_strip(b->arena, cursor);
    for (int i = 0; i < 4 && ctune_cx_kind(cursor) == CXCursor_UnexposedExpr; i++) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor); /* promotion of a narrow counter */
        if (kids.n == 1) {
            cursor = ctune_cx_strip(b->arena, kids.at[0]);
        }
    }
    return ctune_cx_kind(cursor) == CXCursor_DeclRefExpr &&
           clang_equalCursors(ctune_cx_decl(cursor), h->var->decl);
}

/* The constant that `cursor` adds to the counter. */
static bool read_amount(ctune_build *b, header *h, CXCursor cursor, int sign) {
    ctune_int amount = ctune_affine_get(b, cursor);
    int64_t value;
    if (amount.poly == NULL) {
        return false;
    }
    if (!ctune_poly_is_const(amount.poly, &value) || value == 0 || value > 1000000 ||
        value < -1000000) {
        return ctune_build_refuse(b, CTUNE_REFUSE_STEP_NOT_CONSTANT, cursor,
                                  "the step '%s' is no constant other than 0",
                                  ctune_build_text(b, cursor));
    }
    h->by = sign * value;
    return true;
}

static bool read_step(ctune_build *b, header *h, CXCursor at) {
    at = ctune_cx_strip(b->arena, at);
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    enum CXUnaryOperatorKind unary = clang_getCursorUnaryOperatorKind(at);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(at);
    if (op == CXBinaryOperator_Comma) {
        return ctune_build_refuse(b, CTUNE_REFUSE_SEVERAL_COUNTERS, at,
                                  "'%s' changes several variables", ctune_build_text(b, at));
    }
    bool is_ours = kids.n > 0 && is_counter(b, h, kids.at[0]);
    if (is_ours && (unary == CXUnaryOperator_PostInc || unary == CXUnaryOperator_PreInc)) {
        h->by = 1;
        return true;
    }
    if (is_ours && (unary == CXUnaryOperator_PostDec || unary == CXUnaryOperator_PreDec)) {
        h->by = -1;
        return true;
    }
    if (is_ours && kids.n == 2 &&
        (op == CXBinaryOperator_AddAssign || op == CXBinaryOperator_SubAssign)) {
        return read_amount(b, h, kids.at[1], op == CXBinaryOperator_AddAssign ? 1 : -1);
    }
    if (is_ours && op == CXBinaryOperator_Assign) { /* i = i + c, i = c + i, i = i - c */
        CXCursor sum = kids.at[1];
        for (int i = 0; i < 4 && ctune_cx_kind(sum) != CXCursor_BinaryOperator; i++) {
            ctune_kids inner = ctune_cx_exprs(b->arena, sum);
            sum = inner.n == 1 ? inner.at[0] : sum;
        }
        ctune_kids terms = ctune_cx_exprs(b->arena, sum);
        enum CXBinaryOperatorKind sign = clang_getCursorBinaryOperatorKind(sum);
        bool is_sum =
            terms.n == 2 && (sign == CXBinaryOperator_Add || sign == CXBinaryOperator_Sub);
        if (is_sum && is_counter(b, h, terms.at[0])) {
            return read_amount(b, h, terms.at[1], sign == CXBinaryOperator_Add ? 1 : -1);
        }
        if (is_sum && sign == CXBinaryOperator_Add && is_counter(b, h, terms.at[1])) {
            return read_amount(b, h, terms.at[0], 1);
        }
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_FORM, at,
                              "'%s' does not add a constant to the counter '%s'",
                              ctune_build_text(b, at), h->var->name);
}

/* for (k = n; k-- > 0;) and for (k = n; k--;): the test counts, the body sees one less. */
static bool read_countdown(ctune_build *b, header *h) {
    CXCursor cond = ctune_cx_strip(b->arena, h->cond), left = cond, right;
    enum CXBinaryOperatorKind op = CXBinaryOperator_NE;
    bool is_relation = ctune_affine_relation(b, cond, &op, &left, &right);
    if (!is_relation) {
        op = CXBinaryOperator_NE;
        left = cond;
    }
    while (ctune_cx_kind(left) == CXCursor_UnexposedExpr ||
           ctune_cx_kind(left) == CXCursor_ParenExpr) {
        ctune_kids inner = ctune_cx_exprs(b->arena, left);
        if (inner.n != 1) {
            return false;
        }
        left = inner.at[0];
    }
    ctune_kids kids = ctune_cx_exprs(b->arena, left);
    bool is_known =
        op == CXBinaryOperator_GT || op == CXBinaryOperator_GE || op == CXBinaryOperator_NE;
    if (!is_known || clang_getCursorUnaryOperatorKind(left) != CXUnaryOperator_PostDec ||
        kids.n != 1 || !is_counter(b, h, kids.at[0])) {
        return false;
    }
    ctune_int end = {ctune_poly_const(b->arena, 0), h->type, true};
    if (is_relation) {
        end = ctune_affine_settle(b, ctune_affine_get(b, right), right);
    }
    h->by = -1;
    h->countdown_end = end.poly;
    h->countdown_gap = op != CXBinaryOperator_GE;
    h->is_ne = op == CXBinaryOperator_NE;
    return end.poly != NULL;
}

/* value + 1 > end; with != the start must not lie below the end. */
static bool bound_countdown(ctune_build *b, header *h, int n_outer) {
    ctune_arena *a = b->arena;
    const ctune_poly *diff = ctune_poly_sub(a, h->value_poly, h->countdown_end);
    diff = ctune_poly_add(a, diff, ctune_poly_const(a, 1 - h->countdown_gap));
    const ctune_aff *aff = ctune_affine_form(b, diff, CTUNE_REFUSE_BOUND_NOT_AFFINE, h->cond);
    if (aff == NULL) {
        return false;
    }
    h->conds.at[h->conds.n++] = aff;
    bool is_signed = (ctune_type_get(h->type)->flags & CTUNE_TF_SIGNED) != 0;
    const ctune_aff *end = ctune_poly_to_aff(a, h->countdown_end);
    const ctune_aff *start = ctune_aff_add_const(a, ctune_aff_sub(a, h->lo_aff[0], end), 1);
    bool ok = (!h->is_ne || ctune_facts_require(b, n_outer, b->domain.at, start)) &&
              (is_signed || ctune_facts_require(b, n_outer, b->domain.at, end));
    return ok || ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, h->cond,
                                    "'%s' may start behind its end", ctune_build_text(b, h->cond));
}

/* ---- the axis -------------------------------------------------------------------------------- */

/* `i = 0;` above the loop: the loop knows the value, and sets the counter itself. */
static void forget_start(ctune_build *b, const ctune_var *var) {
    ctune_mnode *parent = b->at;
    int n = parent->in_otherwise ? parent->otherwise.n : parent->kids.n;
    ctune_mnode **kids = parent->in_otherwise ? parent->otherwise.at : parent->kids.at;
    for (int i = n - 1; i >= 0 && kids[i]->kind == CTUNE_M_STAGE; i--) {
        ctune_mstage *stage = &b->stages.at[kids[i]->stage];
        if (stage->target->tensor == var->tensor) {
            stage->is_dead = true;
            return;
        }
        if (ctune_expr_reads(stage->s.rhs, var->tensor)) {
            return;
        }
    }
}

/* What the counter holds before the loop. */
static bool read_entry(ctune_build *b, header *h) {
    ctune_int entry = ctune_index_get(b, h->var, h->cursor);
    h->init = h->cond;
    h->lo = (ctune_bound){.n = 1, .type = h->type, .is_exact = true, .value[0] = entry};
    if (entry.poly != NULL && h->var->tensor >= 0) {
        forget_start(b, h->var);
    }
    return entry.poly != NULL || b->split != NULL ||
           ctune_build_refuse(b, CTUNE_REFUSE_LOOP_FORM, h->cursor,
                              "where the counter '%s' starts is not known", h->var->name);
}

static bool read_start(ctune_build *b, header *h) {
    if (!h->has_init && !read_entry(b, h)) {
        return false;
    }
    h->lo = h->has_init ? ctune_affine_bound(b, h->init, 1) : h->lo;
    if (h->lo.n == 0 || h->lo.value[0].poly == NULL) {
        return false;
    }
    if (h->lo.n > 1 && h->by != 1) {
        return ctune_build_refuse(b, CTUNE_REFUSE_BOUND_NOT_AFFINE, h->init,
                                  "'%s' starts a loop whose step is not 1",
                                  ctune_build_text(b, h->init));
    }
    if (h->lo.n == 1 && h->by > 0) {
        ctune_param_prefer(b, h->lo.value[0].poly, 1);
    }
    for (int i = 0; i < h->lo.n; i++) {
        ctune_int lo = ctune_affine_cast(b, h->lo.value[i], h->type, h->init);
        lo = ctune_affine_settle(b, lo, h->init);
        h->lo_aff[i] = lo.poly == NULL
                           ? NULL
                           : ctune_affine_form(b, lo.poly, CTUNE_REFUSE_BOUND_NOT_AFFINE, h->init);
        if (h->lo_aff[i] != NULL && h->countdown_end != NULL) {
            h->lo_aff[i] = ctune_aff_add_const(b->arena, h->lo_aff[i], -1);
        }
        if (h->lo_aff[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool make_axis(ctune_build *b, header *h) {
    const char *name = ctune_build_name(b, h->var->name);
    ctune_axis *axis = CTUNE_PUSH(b, b->axes);
    if (axis == NULL || name == NULL) {
        return false;
    }
    *axis = (ctune_axis){.name = name, .type = h->type, .c_name = h->var->name, .step = h->by};
    h->axis = b->axes.n - 1;
    h->value = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, h->axis, h->by == 1 ? 1 : h->by);
    if (h->by != 1) {
        h->value = ctune_aff_add(b->arena, h->value, h->lo_aff[0]);
    }
    h->value_poly = ctune_poly_from_aff(b->arena, h->value);
    return h->value_poly != NULL;
}

/* The axis' first value, for alternative k of the start. */
static const ctune_aff *first(ctune_build *b, const header *h, int k) {
    return h->by == 1 ? h->lo_aff[k] : ctune_aff_const(b->arena, 0);
}

/* ---- the condition --------------------------------------------------------------------------- */

static bool add_cond(ctune_build *b, header *h, const ctune_poly *poly, CXCursor at) {
    const ctune_aff *aff = ctune_affine_form(b, poly, CTUNE_REFUSE_BOUND_NOT_AFFINE, at);
    if (aff == NULL) {
        return false;
    }
    if (h->conds.n == 16) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, at, "too many conditions");
    }
    h->conds.at[h->conds.n++] = aff;
    return true;
}

static bool uses_axis(const ctune_poly *poly, int axis) {
    for (int i = 0; i < poly->n; i++) {
        for (int d = 0; d < poly->mono[i].degree; d++) {
            if (poly->mono[i].atom[d].kind == CTUNE_TERM_AXIS && poly->mono[i].atom[d].id == axis) {
                return true;
            }
        }
    }
    return false;
}

/* Ranges of sides with the counter are shown later, of the others now. */
static bool take_sides(ctune_build *b, header *h, ctune_bound *bound, CXCursor at) {
    for (int i = 0; i < bound->n; i++) {
        if (bound->value[i].is_exact) {
            continue;
        }
        if (!uses_axis(bound->value[i].poly, h->axis)) {
            bound->value[i] = ctune_affine_settle(b, bound->value[i], at);
            if (bound->value[i].poly == NULL) {
                return false;
            }
        } else if (h->n_sides < 16) {
            h->side_at[h->n_sides] = at;
            h->side[h->n_sides++] = bound->value[i];
        } else {
            return ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, at, "too many conditions");
        }
    }
    return bound->n > 0;
}

static bool add_ne(ctune_build *b, header *h, ctune_bound *x, ctune_bound *y, CXCursor at) {
    const ctune_poly *diff = ctune_poly_sub(b->arena, x->value[0].poly, y->value[0].poly);
    const ctune_aff *distance = ctune_affine_form(b, diff, CTUNE_REFUSE_BOUND_NOT_AFFINE, at);
    int64_t coef = distance == NULL ? 0 : ctune_aff_coef(distance, CTUNE_TERM_AXIS, h->axis);
    if (coef > 0) {
        distance = ctune_aff_scale(b->arena, distance, -1);
    }
    if (distance == NULL || coef < -1 || coef > 1 || coef == 0 || h->is_ne || h->lo.n > 1) {
        return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, at, "'%s' may be stepped over",
                                  ctune_build_text(b, at));
    }
    h->is_ne = true;
    h->ne_distance = distance;
    return add_cond(b, h,
                    ctune_poly_from_aff(b->arena, ctune_aff_add_const(b->arena, distance, -1)), at);
}

static bool read_relation(ctune_build *b, header *h, CXCursor at, enum CXBinaryOperatorKind op,
                          CXCursor left, CXCursor right) {
    bool is_less = op == CXBinaryOperator_LT || op == CXBinaryOperator_LE;
    bool is_more = op == CXBinaryOperator_GT || op == CXBinaryOperator_GE;
    ctune_bound x = ctune_affine_bound(b, left, is_less ? 1 : is_more ? -1 : 0);
    if (!take_sides(b, h, &x, left)) {
        return false;
    }
    ctune_bound y = ctune_affine_bound(b, right, is_less ? -1 : is_more ? 1 : 0);
    if (!take_sides(b, h, &y, right)) {
        return false;
    }
    if (is_less && y.n == 1) {
        ctune_param_end_high(b, y.value[0].poly);
    }
    if (op == CXBinaryOperator_NE) {
        return add_ne(b, h, &x, &y, at);
    }
    if (op == CXBinaryOperator_EQ) {
        return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, at,
                                  "'%s' compares with ==", ctune_build_text(b, at));
    }
    int64_t gap = op == CXBinaryOperator_LT || op == CXBinaryOperator_GT;
    const ctune_bound *small = is_less ? &x : &y, *large = is_less ? &y : &x;
    for (int i = 0; i < small->n; i++) {
        for (int j = 0; j < large->n; j++) {
            const ctune_poly *diff =
                ctune_poly_sub(b->arena, large->value[j].poly, small->value[i].poly);
            diff = ctune_poly_add(b->arena, diff, ctune_poly_const(b->arena, -gap));
            if (!add_cond(b, h, diff, at)) {
                return false;
            }
        }
    }
    return true;
}

static bool read_condition(ctune_build *b, header *h, CXCursor at) {
    at = ctune_cx_strip(b->arena, at);
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    if (clang_getCursorBinaryOperatorKind(at) == CXBinaryOperator_LAnd && kids.n == 2) {
        return read_condition(b, h, kids.at[0]) && read_condition(b, h, kids.at[1]);
    }
    enum CXBinaryOperatorKind op;
    CXCursor left, right;
    if (ctune_affine_relation(b, at, &op, &left, &right)) {
        return read_relation(b, h, at, op, left, right);
    }
    if (ctune_cx_type(clang_getCursorType(at)) < CTUNE_F16 &&
        is_counter(b, h, at)) { /* i: i != 0 */
        ctune_bound x = ctune_affine_bound(b, at, 0), zero = x;
        zero.value[0].poly = ctune_poly_const(b->arena, 0);
        return take_sides(b, h, &x, at) && add_ne(b, h, &x, &zero, at);
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, at,
                              "'%s' does not compare the counter with a bound",
                              ctune_build_text(b, at));
}

static bool div_uses_axis(ctune_build *b, const ctune_aff *aff, int axis) {
    for (int i = 0; i < aff->n_terms; i++) {
        if (aff->terms[i].kind == CTUNE_TERM_DIV) {
            const ctune_aff *const *forms;
            int n = ctune_div_forms(&b->divs.at[aff->terms[i].id], &forms);
            for (int k = 0; k < n; k++) {
                if (ctune_aff_coef(forms[k], CTUNE_TERM_AXIS, axis) != 0 ||
                    div_uses_axis(b, forms[k], axis)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool check_direction(ctune_build *b, header *h) {
    bool ends = false;
    for (int i = 0; i < h->conds.n; i++) {
        int64_t coef = ctune_aff_coef(h->conds.at[i], CTUNE_TERM_AXIS, h->axis);
        if (div_uses_axis(b, h->conds.at[i], h->axis) && ctune_load_in(b, h->conds.at[i])) {
            return ctune_build_refuse(b, CTUNE_REFUSE_BOUND_READS_ARRAY, h->cond,
                                      "'%s' reads an array at the counter",
                                      ctune_build_text(b, h->cond));
        }
        if (div_uses_axis(b, h->conds.at[i], h->axis)) {
            return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, h->cond,
                                      "'%s' divides the counter", ctune_build_text(b, h->cond));
        }
        if (coef > 0) {
            return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_DIRECTION, h->cond,
                                      "'%s' with step %lld: the loop does not end there",
                                      ctune_build_text(b, h->cond), (long long)h->by);
        }
        ends |= coef < 0;
    }
    return ends ||
           ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, h->cond,
                              "'%s' does not depend on the counter", ctune_build_text(b, h->cond));
}

/* ---- ranges by induction --------------------------------------------------------------------- */

static const ctune_aff *next(ctune_build *b, const header *h, const ctune_aff *aff) {
    const ctune_aff *one =
        ctune_aff_add_const(b->arena, ctune_aff_term(b->arena, CTUNE_TERM_AXIS, h->axis, 1), 1);
    return ctune_aff_subst(b->arena, aff, CTUNE_TERM_AXIS, h->axis, one);
}

/* n_outer: conditions around the loop; the domain holds those of the loop, too. */
static bool check_side(ctune_build *b, header *h, int i, int n_outer) {
    const ctune_aff *aff = ctune_poly_to_aff(b->arena, h->side[i].poly);
    ctune_type type = h->side[i].type;
    bool ok = aff != NULL && ctune_affine_fits(b, b->domain.n, b->domain.at, next(b, h, aff), type);
    for (int k = 0; k < h->lo.n && ok; k++) {
        const ctune_aff *start =
            ctune_aff_subst(b->arena, aff, CTUNE_TERM_AXIS, h->axis, first(b, h, k));
        ok = ctune_affine_fits(b, n_outer, b->domain.at, start, type);
    }
    return ok ||
           ctune_build_refuse(b, CTUNE_REFUSE_RANGE, h->side_at[i],
                              "'%s' may leave the range of '%s' in the comparison",
                              ctune_build_text(b, h->side_at[i]), ctune_type_get(type)->c_name);
}

static bool check_ranges(ctune_build *b, header *h, int n_outer) {
    bool is_signed = (ctune_type_get(h->type)->flags & CTUNE_TF_SIGNED) != 0;
    bool may_wrap = !is_signed || h->type < CTUNE_I32 || b->wrapv;
    if (may_wrap &&
        !ctune_affine_fits(b, b->domain.n, b->domain.at, next(b, h, h->value), h->type)) {
        ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_WRAPS, h->cursor,
                           "the counter '%s' may leave the range of '%s'", h->var->name,
                           ctune_type_get(h->type)->c_name);
        return h->type >= CTUNE_I32 &&
               ctune_affine_cure(b, b->domain.n, b->domain.at, next(b, h, h->value), h->type);
    }
    for (int i = 0; i < h->n_sides; i++) {
        if (!check_side(b, h, i, n_outer)) {
            return false;
        }
    }
    if (h->is_ne) {
        const ctune_aff *start =
            ctune_aff_subst(b->arena, h->ne_distance, CTUNE_TERM_AXIS, h->axis, first(b, h, 0));
        if (!ctune_facts_require(b, n_outer, b->domain.at, start)) {
            return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, h->cond,
                                      "'%s' may start behind its end",
                                      ctune_build_text(b, h->cond));
        }
    }
    return true;
}

/* ---- the whole loop -------------------------------------------------------------------------- */

static bool push_bounds(ctune_build *b, header *h, ctune_mnode *node) {
    int n_lower = h->by == 1 ? h->lo.n : 1;
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, n_lower + h->conds.n);
    const ctune_aff *axis = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, h->axis, 1);
    if (cons == NULL) {
        return false;
    }
    for (int i = 0; i < n_lower; i++) {
        cons[i] = h->by == 1 ? ctune_aff_sub(b->arena, axis, h->lo_aff[i]) : axis;
    }
    memcpy(cons + n_lower, h->conds.at, (size_t)h->conds.n * sizeof *cons);
    node->cons = cons;
    node->n_cons = n_lower + h->conds.n;
    for (int i = 0; i < node->n_cons && ctune_hoist_is_conditional(b); i++) {
        if (ctune_load_in(b, cons[i])) { /* the condition may be what makes them readable */
            return ctune_build_refuse(b, CTUNE_REFUSE_BOUND_READS_ARRAY, h->cursor,
                                      "the bounds of '%s' are read from an array on a condition",
                                      h->var->name);
        }
    }
    return ctune_domain_push(b, node->n_cons, cons);
}

static bool note_final(ctune_build *b, header *h, ctune_mnode *node) {
    if (h->var->is_inside || !h->var->is_live_after ||
        ctune_openmp_owns_counter(b, ctune_cx_begin(h->cursor))) {
        return true;
    }
    bool has_load = false;
    for (int i = 0; i < node->n_cons; i++) {
        has_load |= ctune_load_in(b, node->cons[i]);
    }
    if (has_load) {
        return ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_LIVE, h->cursor,
                                  "'%s' may be read after the loop, whose bounds are in memory",
                                  h->var->name);
    }
    ctune_final *final = CTUNE_PUSH(b, b->finals);
    if (final == NULL) {
        return false;
    }
    *final = (ctune_final){h->var, h->axis, h->lo.n == 1 ? h->lo_aff[0] : NULL, node};
    return true;
}

/* The last value of the axis, when one bound says it. */
static const ctune_aff *last(ctune_build *b, const header *h) {
    const ctune_aff *found = NULL;
    for (int i = 0; i < h->conds.n; i++) {
        int64_t coef = ctune_aff_coef(h->conds.at[i], CTUNE_TERM_AXIS, h->axis);
        if (coef != -1 || found != NULL) {
            return NULL;
        }
        found = ctune_aff_add(b->arena, h->conds.at[i],
                              ctune_aff_term(b->arena, CTUNE_TERM_AXIS, h->axis, 1));
    }
    return found;
}

/* Behind the loop the counter stands one step behind its last value. */
static void leave_counter(ctune_build *b, const header *h, const ctune_index_loop *loop) {
    ctune_arena *a = b->arena;
    h->var->value = NULL;
    h->var->is_counter = false;
    h->var->was_counter = true;
    h->var->after = NULL;
    h->var->is_written = true;
    if (loop->first == NULL || loop->last == NULL) {
        return;
    }
    const ctune_aff *end = ctune_aff_add_const(a, loop->last, 1);
    h->var->after =
        ctune_poly_subst(a, h->value_poly, CTUNE_TERM_AXIS, h->axis, ctune_poly_from_aff(a, end));
    h->var->after_need = ctune_aff_sub(a, end, loop->first);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Is the first of three parts the one that sets the counter? */
static bool is_init(ctune_build *b, CXCursor cursor) {
    CXCursor at = ctune_cx_strip(b->arena, cursor);
    return ctune_cx_kind(cursor) == CXCursor_DeclStmt ||
           clang_getCursorBinaryOperatorKind(at) == CXBinaryOperator_Assign;
}

/* The variable that a statement steps: i++, i -= 2, i = i + 1; NULL: it is no step. */
static ctune_var *stepped(ctune_build *b, CXCursor at) {
    at = ctune_cx_strip(b->arena, at);
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    enum CXUnaryOperatorKind unary = clang_getCursorUnaryOperatorKind(at);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(at);
    bool is_step = (unary >= CXUnaryOperator_PostInc && unary <= CXUnaryOperator_PreDec) ||
                   op == CXBinaryOperator_Assign || op == CXBinaryOperator_AddAssign ||
                   op == CXBinaryOperator_SubAssign;
    CXCursor left = is_step && kids.n > 0 ? ctune_cx_strip(b->arena, kids.at[0]) : at;
    bool is_name = is_step && ctune_cx_kind(left) == CXCursor_DeclRefExpr;
    return is_name ? ctune_vars_find(b, ctune_cx_decl(left)) : NULL;
}

/* continue would leave out a step that stands in the body. */
static bool continues(ctune_build *b, CXCursor at) {
    enum CXCursorKind kind = ctune_cx_kind(at);
    bool is_loop =
        kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt;
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    bool found = kind == CXCursor_ContinueStmt;
    for (int i = 0; i < kids.n && !found && !is_loop; i++) {
        found = continues(b, kids.at[i]);
    }
    return found;
}

static bool find_step(ctune_build *b, header *h) {
    ctune_kids list = ctune_cx_statements(b->arena, h->body);
    ctune_var *var = list.n > 0 ? stepped(b, list.at[list.n - 1]) : NULL;
    for (int i = 0; i < list.n && var != NULL; i++) {
        var = continues(b, list.at[i]) ? NULL : var;
    }
    if (var == NULL || (h->has_init && var != h->var)) {
        bool is_for = ctune_cx_kind(h->cursor) == CXCursor_ForStmt;
        return ctune_build_refuse(b, is_for ? CTUNE_REFUSE_LOOP_FORM : CTUNE_REFUSE_WHILE,
                                  h->cursor, "the loop does not end with a step of its counter");
    }
    h->var = var;
    h->step = list.at[list.n - 1];
    h->n_drop = 1;
    return true;
}

/* The statement's children, which libclang does not name. */
static bool read_parts(ctune_build *b, CXCursor cursor, header *h) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    h->cursor = cursor;
    if (kind != CXCursor_ForStmt) {
        h->is_do = kind == CXCursor_DoStmt;
        h->cond = kids.n == 2 ? kids.at[h->is_do] : cursor;
        h->body = kids.n == 2 ? kids.at[!h->is_do] : cursor;
        return kids.n == 2 ||
               ctune_build_refuse(b, CTUNE_REFUSE_LOOP_FORM, cursor, "an unusual loop");
    }
    h->has_init = kids.n == 4 || (kids.n == 3 && is_init(b, kids.at[0]));
    h->has_step = kids.n == 4 || (kids.n == 3 && !h->has_init);
    if (kids.n < 2 || (kids.n == 2 && is_init(b, kids.at[0]))) {
        return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_FORM, cursor, "the loop has no condition");
    }
    h->cond = kids.at[h->has_init];
    h->body = kids.at[kids.n - 1];
    h->step = h->has_step ? kids.at[kids.n - 2] : cursor;
    return !h->has_init || read_init(b, h, kids.at[0]);
}

/* while (k-- > 0): the variable of the test. */
static ctune_var *counted_down(ctune_build *b, CXCursor cond) {
    CXCursor at = ctune_cx_strip(b->arena, cond), right;
    enum CXBinaryOperatorKind op;
    ctune_affine_relation(b, at, &op, &at, &right);
    for (int i = 0; i < 4 && ctune_cx_kind(at) == CXCursor_UnexposedExpr; i++) {
        ctune_kids kids = ctune_cx_exprs(b->arena, at);
        at = kids.n == 1 ? kids.at[0] : at;
    }
    return clang_getCursorUnaryOperatorKind(at) == CXUnaryOperator_PostDec ? stepped(b, at) : NULL;
}

/* Counter and step. */
static bool read_counter(ctune_build *b, header *h) {
    if (h->has_step && !h->has_init) {
        h->var = stepped(b, h->step);
    }
    if (!h->has_init && !h->has_step && !h->is_do) {
        h->var = counted_down(b, h->cond);
    }
    if (h->var != NULL && !h->has_step && read_countdown(b, h)) {
        return check_counter(b, h);
    }
    if ((!h->has_step && !find_step(b, h)) || h->var == NULL) {
        return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_FORM, h->cursor,
                                  "'%s' does not step a counter", ctune_build_text(b, h->step));
    }
    return check_counter(b, h) && read_step(b, h, h->step);
}

/* The first iteration is not asked: its condition must hold. */
static bool check_first(ctune_build *b, const header *h, int n_outer) {
    for (int i = 0; i < h->conds.n && h->is_do; i++) {
        const ctune_aff *start =
            ctune_aff_subst(b->arena, h->conds.at[i], CTUNE_TERM_AXIS, h->axis, first(b, h, 0));
        if (!ctune_facts_require(b, n_outer, b->domain.at, start)) {
            return ctune_build_refuse(b, CTUNE_REFUSE_LOOP_CONDITION, h->cond,
                                      "'%s' may not hold before the loop",
                                      ctune_build_text(b, h->cond));
        }
    }
    return true;
}

bool ctune_loop_build(ctune_build *b, CXCursor cursor) {
    header h = {.axis = -1};
    if (b->n_open == CTUNE_MAX_DEPTH) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_DEEP, cursor, "more than %d nested loops",
                                  CTUNE_MAX_DEPTH);
    }
    if (!read_parts(b, cursor, &h) || !read_counter(b, &h) || !read_start(b, &h) ||
        !make_axis(b, &h)) {
        return false;
    }
    int n_outer = b->domain.n;
    ctune_index_loop loop = {.axis = -1};
    h.var->n_choices = 0;
    h.var->after = NULL;
    h.var->value = h.value_poly;
    h.var->is_counter = true;
    h.var->was_counter = false;
    ctune_mnode *node = ctune_mnode_new(b, CTUNE_M_LOOP);
    const ctune_var *before = ctune_index_save(b);
    if (node == NULL || before == NULL) {
        return false;
    }
    ctune_index_forget(b, h.body); /* the condition is read again in each iteration */
    bool is_countdown = h.countdown_end != NULL;
    bool ok = is_countdown ? bound_countdown(b, &h, n_outer) : read_condition(b, &h, h.cond);
    ctune_index_rewind(b, before);
    ok = ok && check_direction(b, &h) && push_bounds(b, &h, node) &&
         (is_countdown || check_ranges(b, &h, n_outer)) && check_first(b, &h, n_outer) &&
         note_final(b, &h, node);
    if (ok) {
        node->axis = h.axis;
        loop = (ctune_index_loop){.cursor = cursor,
                                  .body = h.body,
                                  .n_drop = h.n_drop,
                                  .counter = h.var,
                                  .axis = h.axis,
                                  .first = h.lo.n == 1 ? first(b, &h, 0) : NULL,
                                  .last = last(b, &h)};
        ok = ctune_mnode_add(b, b->at, node) && ctune_index_body(b, &loop, node);
    }
    b->domain.n = n_outer;
    leave_counter(b, &h, &loop);
    return ok;
}

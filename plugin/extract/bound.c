/*
 * Bounds and conditions: minima and maxima as alternatives, comparisons as affine inequalities.
 *
 * In: cursors. Out: alternatives (i < min(n, m) is two inequalities), or inequalities. What is no
 * affine form but does not change in the region (k*k, n%m of constants, max(n, m)) becomes a
 * parameter, printed from the tree so that macros do not matter.
 */
#include "plugin/extract/build.h"

#include <stdlib.h>

/* ---- expressions that do not change in the region -------------------------------------------- */

typedef struct invariant {
    const char *text; /* NULL: not invariant */
    int64_t size;     /* value at the representative sizes */
    bool is_memory;
} invariant;

static invariant print_invariant(ctune_build *b, CXCursor cursor);

static invariant invariant_leaf(ctune_build *b, CXCursor cursor) {
    ctune_why kept = b->why;
    ctune_int v = ctune_affine_get(b, cursor);
    b->why = kept;
    invariant out = {0};
    int64_t value;
    if (v.poly != NULL && ctune_poly_is_const(v.poly, &value) && value >= 0) {
        out.size = value;
        out.text = ctune_arena_printf(b->arena, "%lld%s", (long long)value,
                                      v.type == CTUNE_U32   ? "u"
                                      : v.type == CTUNE_I64 ? "L"
                                      : v.type == CTUNE_U64 ? "UL"
                                                            : "");
    } else if (v.poly != NULL && v.poly->n == 1 && v.poly->mono[0].degree == 1 &&
               v.poly->mono[0].coef == 1 && ctune_mono_is_params(&v.poly->mono[0])) {
        int param = v.poly->mono[0].atom[0].id;
        out.text = b->params.at[param].c_text;
        out.size = ctune_build_size(b, param);
        out.is_memory = b->param_infos.at[param].is_memory;
    }
    return out;
}

static bool fold(enum CXBinaryOperatorKind op, int64_t x, int64_t y, int64_t *out) {
    switch (op) {
    case CXBinaryOperator_Mul:
        return !__builtin_mul_overflow(x, y, out);
    case CXBinaryOperator_Add:
        return !__builtin_add_overflow(x, y, out);
    case CXBinaryOperator_Sub:
        return !__builtin_sub_overflow(x, y, out);
    case CXBinaryOperator_Div:
        *out = y == 0 ? 0 : x / y;
        return y > 0;
    case CXBinaryOperator_Rem:
        *out = y == 0 ? 0 : x % y;
        return y > 0;
    case CXBinaryOperator_And:
        *out = x & y;
        return true;
    case CXBinaryOperator_Shr:
        *out = x >> (y & 63);
        return y >= 0 && y < 31;
    case CXBinaryOperator_LT:
        *out = x < y;
        return true;
    case CXBinaryOperator_GT:
        *out = x > y;
        return true;
    case CXBinaryOperator_LE:
        *out = x <= y;
        return true;
    case CXBinaryOperator_GE:
        *out = x >= y;
        return true;
    case CXBinaryOperator_EQ:
        *out = x == y;
        return true;
    case CXBinaryOperator_NE:
        *out = x != y;
        return true;
    default:
        return false;
    }
}

/* Evaluated before the region, where the source may not evaluate it at all: nothing that can trap.
 */
static invariant invariant_binary(ctune_build *b, CXCursor cursor, ctune_kids kids) {
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    invariant x = print_invariant(b, kids.at[0]), y = print_invariant(b, kids.at[1]), out = {0};
    bool is_division =
        op == CXBinaryOperator_Div || op == CXBinaryOperator_Rem || op == CXBinaryOperator_Shr;
    int64_t divisor;
    CXCursor right = ctune_cx_strip(b->arena, kids.at[1]);
    if (x.text == NULL || y.text == NULL || !fold(op, x.size, y.size, &out.size) ||
        (is_division && (!ctune_cx_int(right, &divisor) || divisor <= 0))) {
        return out;
    }
    CXString spelling = clang_getBinaryOperatorKindSpelling(op);
    bool widens = op <= CXBinaryOperator_Sub && op != CXBinaryOperator_Div &&
                  op != CXBinaryOperator_Rem &&
                  ctune_cx_type(clang_getCursorType(cursor)) == CTUNE_I32;
    /* int sums that the source might not reach must not overflow: computed in long */
    out.text = ctune_arena_printf(b->arena, widens ? "((long)%s %s %s)" : "(%s %s %s)", x.text,
                                  clang_getCString(spelling), y.text);
    clang_disposeString(spelling);
    out.is_memory = x.is_memory || y.is_memory;
    return out;
}

static invariant print_invariant(ctune_build *b, CXCursor cursor) {
    cursor = ctune_cx_strip(b->arena, cursor);
    invariant out = {0};
    ctune_type type = ctune_cx_type(clang_getCursorType(cursor));
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (type >= CTUNE_F16) {
        return out;
    }
    switch (ctune_cx_kind(cursor)) {
    case CXCursor_BinaryOperator:
        return kids.n == 2 ? invariant_binary(b, cursor, kids) : out;
    case CXCursor_ConditionalOperator: {
        if (kids.n != 3) {
            return out;
        }
        invariant c = print_invariant(b, kids.at[0]), x = print_invariant(b, kids.at[1]),
                  y = print_invariant(b, kids.at[2]);
        if (c.text != NULL && x.text != NULL && y.text != NULL) {
            out.text = ctune_arena_printf(b->arena, "(%s ? %s : %s)", c.text, x.text, y.text);
            out.size = c.size != 0 ? x.size : y.size;
            out.is_memory = c.is_memory || x.is_memory || y.is_memory;
        }
        return out;
    }
    case CXCursor_UnexposedExpr:
    case CXCursor_CStyleCastExpr:
        if (kids.n == 1 && ctune_cx_type(clang_getCursorType(kids.at[0])) < CTUNE_F16) {
            out = print_invariant(b, kids.at[0]);
            out.text = out.text == NULL
                           ? NULL
                           : ctune_arena_printf(b->arena, "(%s)%s", ctune_type_get(type)->c_name,
                                                out.text);
        }
        return out;
    default:
        return invariant_leaf(b, cursor);
    }
}

/* The cursor as a parameter of its own, or none. */
static ctune_int get_invariant(ctune_build *b, CXCursor cursor) {
    ctune_type type = ctune_cx_type(clang_getCursorType(cursor));
    ctune_int none = {NULL, CTUNE_I32, false};
    invariant text = type < CTUNE_F16 ? print_invariant(b, cursor) : (invariant){0};
    if (text.text == NULL) {
        return none;
    }
    ctune_type wide = type == CTUNE_I32 ? CTUNE_I64 : type; /* printed in long */
    int param = ctune_param_of_text(b, text.text, wide, text.size, text.is_memory);
    return param < 0 ? none
                     : (ctune_int){ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, param), type, true};
}

/* ---- minima and maxima ----------------------------------------------------------------------- */

static ctune_bound single(ctune_int value) {
    ctune_bound out = {.n = value.poly != NULL, .type = value.type, .is_exact = value.is_exact};
    out.value[0] = value;
    return out;
}

/* -1: (x < y ? x : y), +1: (x > y ? x : y), 0: another conditional. */
static int extremum_of(ctune_build *b, ctune_kids kids) {
    CXCursor cond = ctune_cx_strip(b->arena, kids.at[0]), left, right;
    enum CXBinaryOperatorKind op;
    if (!ctune_affine_relation(b, cond, &op, &left, &right) || op >= CXBinaryOperator_EQ) {
        return 0;
    }
    int sign = op == CXBinaryOperator_LT || op == CXBinaryOperator_LE ? -1 : 1;
    if (ctune_cx_is_same_expr(b->arena, left, kids.at[1]) &&
        ctune_cx_is_same_expr(b->arena, right, kids.at[2])) {
        return sign;
    }
    bool is_swapped = ctune_cx_is_same_expr(b->arena, left, kids.at[2]) &&
                      ctune_cx_is_same_expr(b->arena, right, kids.at[1]);
    return is_swapped ? -sign : 0;
}

static ctune_bound try_bound(ctune_build *b, CXCursor cursor, int wanted);

static ctune_bound bound_conditional(ctune_build *b, CXCursor cursor, int wanted) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    ctune_bound none = {0};
    int extremum = kids.n == 3 ? extremum_of(b, kids) : 0;
    if (extremum == 0 || extremum != wanted) {
        return none;
    }
    ctune_bound x = try_bound(b, kids.at[1], wanted), y = try_bound(b, kids.at[2], wanted);
    if (x.n == 0 || y.n == 0 || x.n + y.n > CTUNE_MAX_ALTERNATIVES) {
        return none;
    }
    /* the comparison inside the minimum must see the values themselves */
    for (int i = 0; i < y.n; i++) {
        x.value[x.n++] = y.value[i];
    }
    for (int i = 0; i < x.n; i++) {
        x.value[i] = ctune_affine_settle(b, x.value[i], cursor);
        if (x.value[i].poly == NULL) {
            return none;
        }
    }
    x.extremum = extremum;
    x.is_exact = true;
    return x;
}

/* min(n, m) + c, c + min(n, m), min(n, m) - c */
static ctune_bound bound_sum(ctune_build *b, CXCursor cursor, int wanted) {
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    ctune_bound none = {0};
    if (kids.n != 2 || (op != CXBinaryOperator_Add && op != CXBinaryOperator_Sub)) {
        return none;
    }
    ctune_bound x = try_bound(b, kids.at[0], wanted);
    ctune_bound y = try_bound(b, kids.at[1], op == CXBinaryOperator_Add ? wanted : 0);
    if (x.n == 0 || y.n == 0 || (x.n > 1 && y.n > 1)) {
        return none;
    }
    ctune_bound out = {.n = x.n > y.n ? x.n : y.n, .extremum = wanted, .is_exact = true};
    out.type = ctune_cx_type(clang_getCursorType(cursor));
    for (int i = 0; i < out.n; i++) {
        ctune_int u = x.value[x.n > 1 ? i : 0], v = y.value[y.n > 1 ? i : 0];
        const ctune_poly *sum = op == CXBinaryOperator_Add
                                    ? ctune_poly_add(b->arena, u.poly, v.poly)
                                    : ctune_poly_sub(b->arena, u.poly, v.poly);
        if (sum == NULL) {
            return none;
        }
        bool is_signed = (ctune_type_get(out.type)->flags & CTUNE_TF_SIGNED) != 0;
        out.value[i] = (ctune_int){sum, out.type, is_signed && !b->wrapv};
        out.is_exact &= out.value[i].is_exact;
    }
    return out;
}

static ctune_bound try_bound(ctune_build *b, CXCursor cursor, int wanted) {
    ctune_why kept = b->why;
    const ctune_aff *kept_split = b->split;
    ctune_bound plain = single(ctune_affine_get(b, cursor));
    if (plain.n > 0) {
        return plain;
    }
    ctune_why reason = b->why;
    const ctune_aff *split = b->split;
    b->why = kept;
    b->split = kept_split;
    CXCursor inner = ctune_cx_strip(b->arena, cursor);
    enum CXCursorKind kind = ctune_cx_kind(inner);
    ctune_bound out = {0};
    ctune_kids kids = ctune_cx_exprs(b->arena, inner);
    if (kind == CXCursor_ConditionalOperator) {
        out = bound_conditional(b, inner, wanted);
    } else if (kind == CXCursor_BinaryOperator) {
        out = bound_sum(b, inner, wanted);
    } else if (kids.n == 1 && (kind == CXCursor_UnexposedExpr || kind == CXCursor_CStyleCastExpr)) {
        ctune_type to = ctune_cx_type(clang_getCursorType(inner));
        out = try_bound(b, kids.at[0], wanted);
        out.is_exact = true;
        for (int i = 0; i < out.n; i++) {
            out.value[i] = ctune_affine_cast(b, out.value[i], to, inner);
            out.is_exact &= out.value[i].is_exact;
            if (out.value[i].poly == NULL) {
                out.n = 0;
            }
        }
        out.type = to;
    }
    if (out.n == 0) {
        b->why = kept;
        out = single(get_invariant(b, inner));
    }
    if (out.n == 0) {
        b->why = reason;
        b->split = split;
    }
    return out;
}

ctune_bound ctune_affine_bound(ctune_build *b, CXCursor cursor, int wanted) {
    return try_bound(b, cursor, wanted);
}

/* ---- conditions ------------------------------------------------------------------------------ */

bool ctune_affine_relation(ctune_build *b, CXCursor cursor, enum CXBinaryOperatorKind *op,
                           CXCursor *left, CXCursor *right) {
    cursor = ctune_cx_strip(b->arena, cursor);
    *op = clang_getCursorBinaryOperatorKind(cursor);
    if (*op < CXBinaryOperator_LT || *op > CXBinaryOperator_NE) {
        return false;
    }
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 2 || ctune_cx_type(clang_getCursorType(kids.at[0])) >= CTUNE_F16 ||
        ctune_cx_type(clang_getCursorType(kids.at[1])) >= CTUNE_F16) {
        return false;
    }
    *left = kids.at[0];
    *right = kids.at[1];
    return true;
}

static enum CXBinaryOperatorKind negated(enum CXBinaryOperatorKind op) {
    switch (op) {
    case CXBinaryOperator_LT:
        return CXBinaryOperator_GE;
    case CXBinaryOperator_GE:
        return CXBinaryOperator_LT;
    case CXBinaryOperator_GT:
        return CXBinaryOperator_LE;
    case CXBinaryOperator_LE:
        return CXBinaryOperator_GT;
    case CXBinaryOperator_EQ:
        return CXBinaryOperator_NE;
    default:
        return CXBinaryOperator_EQ;
    }
}

static bool push_cond(ctune_build *b, ctune_conds *out, const ctune_poly *poly, CXCursor at) {
    const ctune_aff *aff = ctune_affine_form(b, poly, CTUNE_REFUSE_BOUND_NOT_AFFINE, at);
    if (aff != NULL && ctune_load_in(b, aff)) { /* by way of a variable */
        return ctune_build_refuse(b, CTUNE_REFUSE_BOUND_READS_ARRAY, at,
                                  "'%s' is read from an array", ctune_build_text(b, at));
    }
    if (aff == NULL || out->n == 16) {
        return aff == NULL
                   ? false
                   : ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, at, "too many conditions");
    }
    out->at[out->n++] = aff;
    return true;
}

/* small <= large - gap for all alternatives of a maximum and a minimum. */
static bool push_order(ctune_build *b, ctune_conds *out, const ctune_bound *small,
                       const ctune_bound *large, int64_t gap, CXCursor at) {
    for (int i = 0; i < small->n; i++) {
        for (int j = 0; j < large->n; j++) {
            const ctune_poly *diff =
                ctune_poly_sub(b->arena, large->value[j].poly, small->value[i].poly);
            diff = ctune_poly_add(b->arena, diff, ctune_poly_const(b->arena, -gap));
            if (!push_cond(b, out, diff, at)) {
                return false;
            }
        }
    }
    return true;
}

static ctune_bound settled(ctune_build *b, CXCursor cursor, int wanted) {
    ctune_bound bound = ctune_affine_bound(b, cursor, wanted);
    for (int i = 0; i < bound.n; i++) {
        bound.value[i] = ctune_affine_settle(b, bound.value[i], cursor);
        if (bound.value[i].poly == NULL) {
            bound.n = 0;
        }
    }
    return bound;
}

static bool relation(ctune_build *b, CXCursor cursor, enum CXBinaryOperatorKind op, CXCursor left,
                     CXCursor right, ctune_conds *out) {
    bool is_less = op == CXBinaryOperator_LT || op == CXBinaryOperator_LE;
    bool is_more = op == CXBinaryOperator_GT || op == CXBinaryOperator_GE;
    int64_t gap = op == CXBinaryOperator_LT || op == CXBinaryOperator_GT;
    ctune_bound x = settled(b, left, is_less ? 1 : is_more ? -1 : 0);
    ctune_bound y = x.n > 0 ? settled(b, right, is_less ? -1 : is_more ? 1 : 0) : x;
    if (x.n == 0 || y.n == 0) {
        return false;
    }
    if (is_less) {
        return push_order(b, out, &x, &y, gap, cursor);
    }
    if (is_more) {
        return push_order(b, out, &y, &x, gap, cursor);
    }
    if (op == CXBinaryOperator_EQ) {
        return push_order(b, out, &x, &y, 0, cursor) && push_order(b, out, &y, &x, 0, cursor);
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_BOUND_NOT_AFFINE, cursor, "'%s' is no conjunction",
                              ctune_build_text(b, cursor));
}

static bool read_condition(ctune_build *b, CXCursor cursor, bool negate, ctune_conds *out);

bool ctune_affine_condition(ctune_build *b, CXCursor cursor, bool negate, ctune_conds *out) {
    bool kept = b->is_condition;
    b->is_condition = true;
    bool ok = read_condition(b, cursor, negate, out);
    b->is_condition = kept;
    return ok;
}

static bool read_condition(ctune_build *b, CXCursor cursor, bool negate, ctune_conds *out) {
    cursor = ctune_cx_strip(b->arena, cursor);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_LNot && kids.n == 1) {
        return ctune_affine_condition(b, kids.at[0], !negate, out);
    }
    bool is_and = op == (negate ? CXBinaryOperator_LOr : CXBinaryOperator_LAnd) ||
                  (op == (negate ? CXBinaryOperator_Or : CXBinaryOperator_And) &&
                   ctune_split_is_truth(b, cursor));
    if (is_and && kids.n == 2) {
        return ctune_affine_condition(b, kids.at[0], negate, out) &&
               ctune_affine_condition(b, kids.at[1], negate, out);
    }
    CXCursor left, right;
    if (ctune_affine_relation(b, cursor, &op, &left, &right)) {
        return relation(b, cursor, negate ? negated(op) : op, left, right, out);
    }
    ctune_int value = {NULL, CTUNE_I32, false};
    if (negate && ctune_cx_type(clang_getCursorType(cursor)) < CTUNE_F16) {
        value = ctune_affine_settle(b, ctune_affine_get(b, cursor), cursor); /* !x: x == 0 */
    }
    return value.poly != NULL
               ? push_cond(b, out, value.poly, cursor) &&
                     push_cond(b, out, ctune_poly_scale(b->arena, value.poly, -1), cursor)
               : ctune_build_refuse(b, CTUNE_REFUSE_BOUND_NOT_AFFINE, cursor,
                                    "'%s' is no comparison of affine forms",
                                    ctune_build_text(b, cursor));
}

bool ctune_affine_try(ctune_build *b, CXCursor cond, ctune_conds *out) {
    ctune_why kept = b->why;
    bool kept_assume = b->no_assume;
    const ctune_aff *kept_split = b->split;
    b->no_assume = true;
    b->split = NULL;
    out->n = 0;
    bool ok = ctune_affine_condition(b, cond, false, out);
    b->no_assume = kept_assume;
    b->why = kept;
    b->split = kept_split;
    out->n = ok ? out->n : 0;
    return ok;
}

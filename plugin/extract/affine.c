/*
 * Integer expressions as mathematics: bounds, subscripts and conditions.
 *
 * In: cursors. Out: polynomials that equal the C value, or refusals. C's integers wrap, mathematics
 * does not: sums and products of unsigned values are kept as "equal modulo 2^bits" until a place
 * that depends on the whole value (a widening, a comparison, a division, a subscript), where the
 * range is proved or becomes a run-time fact. Signed overflow is undefined in the source, unless
 * -fwrapv makes it wrap.
 */
#include "plugin/extract/build.h"

static const ctune_int NONE = {NULL, CTUNE_I32, false};

static ctune_refusal role(const ctune_build *b) {
    return b->in_subscript ? CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE : CTUNE_REFUSE_BOUND_NOT_AFFINE;
}

static bool is_signed(ctune_type t) {
    return (ctune_type_get(t)->flags & CTUNE_TF_SIGNED) != 0;
}
static int bits_of(ctune_type t) {
    return t == CTUNE_BOOL ? 1 : 8 * ctune_type_get(t)->bytes;
}

/* Bounds that affine forms can be checked against; values of 64 bits are never near the ends. */
static void range_of(ctune_type t, int64_t *lo, int64_t *hi) {
    int bits = bits_of(t) < 63 ? bits_of(t) : 63;
    *lo = is_signed(t) ? -((int64_t)1 << (bits - 1)) : 0;
    *hi = is_signed(t) ? ((int64_t)1 << (bits - 1)) - 1
          : bits == 63 ? INT64_MAX / 2
                       : ((int64_t)1 << bits) - 1;
}

static bool is_const_in(const ctune_poly *poly, ctune_type t) {
    int64_t value, lo, hi;
    range_of(t, &lo, &hi);
    return ctune_poly_is_const(poly, &value) && value >= lo && value <= hi;
}

static ctune_int not_affine(ctune_build *b, CXCursor at) {
    ctune_build_refuse(b, role(b), at, "'%s' is not affine in the counters and parameters",
                       ctune_build_text(b, at));
    return NONE;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

bool ctune_affine_cure(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                       const ctune_aff *aff, ctune_type t) {
    int64_t lo, hi;
    range_of(t, &lo, &hi);
    const ctune_aff *above = ctune_aff_add_const(b->arena, aff, -lo);
    bool is_low = !ctune_facts_has(b, n_cons, cons, above);
    const ctune_aff *below = ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, aff, -1), hi);
    return ctune_build_cure_needs(b, n_cons, cons, is_low ? above : below);
}

bool ctune_affine_fits(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                       const ctune_aff *aff, ctune_type t) {
    int64_t lo, hi;
    range_of(t, &lo, &hi);
    const ctune_aff *above = ctune_aff_add_const(b->arena, aff, -lo);
    const ctune_aff *below = ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, aff, -1), hi);
    bool is_wide = bits_of(t) >= 63;
    return ((is_wide && is_signed(t)) || ctune_facts_require(b, n_cons, cons, above)) &&
           (is_wide || ctune_facts_require(b, n_cons, cons, below));
}

/* Largest power of two B with sum of coef * B^degree <= hi. 0: a coefficient is negative, or none.
 */
static int64_t atom_limit(const ctune_poly *poly, int64_t hi) {
    for (int shift = 31; shift > 0; shift--) {
        __int128 sum = 0;
        for (int i = 0; i < poly->n; i++) {
            if (poly->mono[i].coef < 0 && poly->mono[i].degree > 0) {
                return 0;
            }
            int up = shift * poly->mono[i].degree;
            if (up > 62) {
                sum = (__int128)hi + 1;
                break;
            }
            sum += (__int128)poly->mono[i].coef << up;
        }
        if (sum <= hi) {
            return (int64_t)1 << shift;
        }
    }
    return 0;
}

/* Every atom between 0 and a limit that keeps the whole polynomial in the range of t. */
static bool require_atoms(ctune_build *b, const ctune_poly *poly, ctune_type t) {
    int64_t lo, hi;
    range_of(t, &lo, &hi);
    int64_t limit = atom_limit(poly, hi);
    bool ok = limit > 0;
    for (int i = 0; i < poly->n && ok; i++) {
        for (int d = 0; d < poly->mono[i].degree && ok; d++) {
            const ctune_atom *atom = &poly->mono[i].atom[d];
            const ctune_aff *aff = ctune_aff_term(b->arena, atom->kind, atom->id, 1);
            const ctune_aff *rest = ctune_aff_scale(b->arena, aff, -1);
            ok = ctune_facts_require_here(b, aff) &&
                 ctune_facts_require_here(b, ctune_aff_add_const(b->arena, rest, limit));
        }
    }
    return ok;
}

static bool require_type(ctune_build *b, const ctune_poly *poly, ctune_type t, CXCursor at) {
    if (is_const_in(poly, t)) {
        return true;
    }
    const ctune_aff *aff = ctune_poly_to_aff(b->arena, poly);
    if (aff != NULL ? ctune_affine_fits(b, b->domain.n, b->domain.at, aff, t)
                    : require_atoms(b, poly, t)) {
        return true;
    }
    ctune_build_refuse(b, CTUNE_REFUSE_RANGE, at, "'%s' may leave the range of '%s'",
                       ctune_build_text(b, at), ctune_type_get(t)->c_name);
    return aff != NULL && b->why.cure[0] == '\0' && !b->no_assume && !b->is_trial &&
           ctune_affine_cure(b, b->domain.n, b->domain.at, aff, t);
}

ctune_int ctune_affine_settle(ctune_build *b, ctune_int value, CXCursor at) {
    if (value.poly == NULL || value.is_exact) {
        return value;
    }
    if (!require_type(b, value.poly, value.type, at)) {
        return NONE;
    }
    value.is_exact = true;
    return value;
}

ctune_int ctune_affine_cast(ctune_build *b, ctune_int v, ctune_type to, CXCursor at) {
    if (v.poly == NULL || to == v.type) {
        return v;
    }
    if (to >= CTUNE_F16 || (to == CTUNE_BOOL && !is_const_in(v.poly, CTUNE_BOOL))) {
        return not_affine(b, at);
    }
    int from_bits = bits_of(v.type), to_bits = bits_of(to);
    bool from_signed = is_signed(v.type), to_signed = is_signed(to);
    if (!to_signed && to_bits <= from_bits) {
        return (ctune_int){v.poly, to,
                           is_const_in(v.poly, to) ||
                               (!from_signed && from_bits == to_bits && v.is_exact)};
    }
    v = ctune_affine_settle(b, v, at);
    if (v.poly == NULL) {
        return v;
    }
    if (from_signed && to_bits >= from_bits) { /* sign extension */
        return (ctune_int){v.poly, to, to_signed || is_const_in(v.poly, to)};
    }
    if (to_signed && to_bits <= from_bits && !require_type(b, v.poly, to, at)) {
        return NONE;
    }
    return (ctune_int){v.poly, to, true};
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static ctune_int of_const(ctune_build *b, int64_t value, ctune_type type) {
    return (ctune_int){ctune_poly_const(b->arena, value), type, true};
}

static ctune_int get_variable(ctune_build *b, CXCursor cursor) {
    CXCursor decl = clang_getCursorReferenced(cursor);
    int64_t value;
    if (ctune_cx_kind(decl) == CXCursor_EnumConstantDecl) {
        value = clang_getEnumConstantDeclValue(decl);
        return of_const(b, value, ctune_cx_type(clang_getCursorType(cursor)));
    }
    if (ctune_inline_is_bound(b, decl)) {
        ctune_int bound = ctune_inline_affine(b, decl);
        return bound.poly != NULL ? bound : not_affine(b, cursor);
    }
    ctune_var *var = ctune_vars_find(b, decl);
    ctune_type type = var != NULL ? ctune_cx_type(var->type) : CTUNE_N_TYPES;
    if (var == NULL || type >= CTUNE_F16 || !ctune_inline_sees(b, var, cursor)) {
        return not_affine(b, cursor);
    }
    if (ctune_hoist_constant(b, var, &value)) {
        return of_const(b, value, type);
    }
    const ctune_aff *kept = b->split;
    b->split = NULL;
    ctune_int known = ctune_index_get(b, var, cursor);
    if (known.poly != NULL || b->split != NULL) {
        b->split = b->split != NULL ? b->split : kept;
        return known;
    }
    b->split = kept;
    if (var->was_counter) {
        ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_READ_AFTER, cursor,
                           "'%s' is read in the region after its loop", var->name);
        return NONE;
    }
    if (var->is_inside && var->n_writes == 0) {
        ctune_build_refuse(
            b, b->in_subscript ? CTUNE_REFUSE_SUBSCRIPT_INDIRECT : CTUNE_REFUSE_BOUND_NOT_AFFINE,
            cursor, "'%s' is not an affine value", var->name);
        return NONE;
    }
    int param = ctune_param_of_var(b, var, cursor);
    return param < 0 ? NONE
                     : (ctune_int){ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, param), type, true};
}

static ctune_int get_member(ctune_build *b, CXCursor cursor) {
    ctune_lval lval;
    if (!ctune_lval_get(b, cursor, &lval)) {
        return NONE;
    }
    ctune_type type = ctune_cx_type(lval.type);
    if (lval.n_dims > 0 && type < CTUNE_F16 && ctune_type_check(b, lval.type, cursor)) {
        int load = ctune_hoist_load(b, &lval, type);
        if (load >= 0) {
            return (ctune_int){ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, load), type, true};
        }
        int div = b->is_condition ? -1 : ctune_load_div(b, &lval, cursor);
        if (div >= 0) {
            return (ctune_int){ctune_poly_atom(b->arena, CTUNE_TERM_DIV, div), type, true};
        }
    }
    if (lval.n_dims > 0 || type >= CTUNE_F16 || !ctune_type_check(b, lval.type, cursor)) {
        ctune_build_refuse(
            b, b->in_subscript ? CTUNE_REFUSE_SUBSCRIPT_INDIRECT : CTUNE_REFUSE_BOUND_READS_ARRAY,
            cursor, "'%s' is read from an array%s", ctune_build_text(b, cursor),
            lval.root->is_stored_through ? " that the region writes" : "");
        return NONE;
    }
    if (lval.root->is_inside || lval.root->n_writes > 0) {
        ctune_build_refuse(
            b, b->in_subscript ? CTUNE_REFUSE_SUBSCRIPT_ASSIGNED : CTUNE_REFUSE_BOUND_CHANGES,
            cursor, "'%s' is assigned in the region", ctune_build_text(b, cursor));
        return NONE;
    }
    bool is_memory = lval.is_indirect || !lval.root->is_automatic || lval.root->is_address_taken;
    int param = ctune_param_of_text(b, ctune_lval_text(b, &lval, true), type, 0, is_memory);
    return param < 0 ? NONE
                     : (ctune_int){ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, param), type, true};
}

/* ---- operators ------------------------------------------------------------------------------- */

/* What den divides comes out of the division: (2*i + 5) / 2 is i + 5 / 2. */
static bool divide_out(ctune_build *b, const ctune_poly *num, int64_t den, const ctune_poly **whole,
                       const ctune_poly **rest) {
    *whole = *rest = ctune_poly_const(b->arena, 0);
    for (int i = 0; i < num->n; i++) {
        ctune_mono m = num->mono[i], left = num->mono[i];
        int64_t q = m.coef / den - (m.coef % den < 0); /* floor */
        bool is_out = m.degree == 0 || m.coef % den == 0;
        left.coef = m.coef - q * den;
        m.coef = q;
        if (is_out) {
            *whole = ctune_poly_add(b->arena, *whole, ctune_poly_collect(b->arena, &m, 1));
        }
        *rest = ctune_poly_add(b->arena, *rest,
                               ctune_poly_collect(b->arena, is_out ? &left : &num->mono[i], 1));
    }
    return *whole != NULL && *rest != NULL;
}

/* floor(num / den), with an atom for what is no whole number. */
static const ctune_poly *floor_div(ctune_build *b, const ctune_poly *num, int64_t den) {
    const ctune_poly *whole, *rest;
    if (!divide_out(b, num, den, &whole, &rest)) {
        return NULL;
    }
    int64_t value;
    if (ctune_poly_is_const(rest, &value)) { /* 0 <= value < den */
        return whole;
    }
    const ctune_aff *aff = ctune_poly_to_aff(b->arena, rest);
    if (aff == NULL) {
        return NULL;
    }
    for (int i = 0; i < b->divs.n; i++) {
        if (b->divs.at[i].load == NULL && b->divs.at[i].den == den &&
            ctune_aff_is_equal(b->divs.at[i].num, aff)) {
            return ctune_poly_add(b->arena, whole, ctune_poly_atom(b->arena, CTUNE_TERM_DIV, i));
        }
    }
    ctune_div *div = CTUNE_PUSH(b, b->divs);
    if (div == NULL) {
        return NULL;
    }
    *div = (ctune_div){.num = aff, .den = den};
    return ctune_poly_add(b->arena, whole,
                          ctune_poly_atom(b->arena, CTUNE_TERM_DIV, b->divs.n - 1));
}

/* C's x / den and x % den. needs_sign: x must be >= 0 for floor to be C's truncation. */
static ctune_int get_quotient(ctune_build *b, ctune_int x, int64_t den, bool is_mod,
                              bool needs_sign, CXCursor at) {
    x = ctune_affine_settle(b, x, at);
    int64_t value;
    if (x.poly == NULL || den <= 0) {
        return x.poly == NULL ? NONE : not_affine(b, at);
    }
    if (ctune_poly_is_const(x.poly, &value)) {
        return of_const(b, is_mod ? value % den : value / den, x.type);
    }
    const ctune_aff *aff = ctune_poly_to_aff(b->arena, x.poly);
    if (aff == NULL) {
        return not_affine(b, at);
    }
    if (needs_sign && !ctune_facts_require_here(b, aff)) {
        ctune_build_refuse(b, role(b), at,
                           "the left side of '%s' may be negative: C rounds to zero",
                           ctune_build_text(b, at));
        return NONE;
    }
    const ctune_poly *floor = floor_div(b, x.poly, den);
    if (is_mod) {
        floor = ctune_poly_sub(b->arena, x.poly, ctune_poly_scale(b->arena, floor, den));
    }
    return floor == NULL ? not_affine(b, at) : (ctune_int){floor, x.type, true};
}

/* x % n at a border that wraps around: x where 0 <= x < n, x - n where n <= x < 2n. */
static ctune_int get_wrap(ctune_build *b, ctune_int x, ctune_int y, CXCursor at) {
    ctune_arena *a = b->arena;
    x = ctune_affine_settle(b, x, at);
    y = ctune_affine_settle(b, y, at);
    const ctune_aff *value = ctune_poly_to_aff(a, x.poly), *n = ctune_poly_to_aff(a, y.poly);
    const ctune_aff *below = ctune_aff_add_const(a, ctune_aff_sub(a, n, value), -1);
    const ctune_aff *twice = ctune_aff_add(a, n, below);
    if (value == NULL || twice == NULL || !ctune_facts_has(b, b->domain.n, b->domain.at, value) ||
        !ctune_facts_has(b, b->domain.n, b->domain.at, twice)) {
        return not_affine(b, at);
    }
    ctune_answer answer = ctune_split_answer(b, below);
    return answer == CTUNE_YES  ? x
           : answer == CTUNE_NO ? (ctune_int){ctune_poly_sub(a, x.poly, y.poly), x.type, true}
                                : not_affine(b, at);
}

static ctune_int get_sum(ctune_build *b, enum CXBinaryOperatorKind op, ctune_int x, ctune_int y,
                         ctune_type type, CXCursor at) {
    ctune_arena *a = b->arena;
    const ctune_poly *poly = op == CXBinaryOperator_Add   ? ctune_poly_add(a, x.poly, y.poly)
                             : op == CXBinaryOperator_Sub ? ctune_poly_sub(a, x.poly, y.poly)
                                                          : ctune_poly_mul(a, x.poly, y.poly);
    if (poly == NULL) {
        return not_affine(b, at);
    }
    bool is_exact = is_signed(type) && !b->wrapv && x.is_exact && y.is_exact;
    return (ctune_int){poly, type, is_exact || is_const_in(poly, type)};
}

static ctune_int get_binary(ctune_build *b, CXCursor cursor) {
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    ctune_type type = ctune_cx_type(clang_getCursorType(cursor));
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 2 || type >= CTUNE_F16 || op < CXBinaryOperator_Mul ||
        op > CXBinaryOperator_And || (op > CXBinaryOperator_Shr && op < CXBinaryOperator_And)) {
        return not_affine(b, cursor);
    }
    ctune_int x = ctune_affine_get(b, kids.at[0]);
    ctune_int y = x.poly != NULL ? ctune_affine_get(b, kids.at[1]) : NONE;
    if (x.poly == NULL || y.poly == NULL) {
        return NONE;
    }
    if (op == CXBinaryOperator_Add || op == CXBinaryOperator_Sub || op == CXBinaryOperator_Mul) {
        return get_sum(b, op, x, y, type, cursor);
    }
    int64_t c;
    if (op == CXBinaryOperator_Rem && !ctune_poly_is_const(y.poly, &c)) {
        return get_wrap(b, x, y, cursor);
    }
    if (!ctune_poly_is_const(y.poly, &c) || c < 0) {
        return not_affine(b, cursor);
    }
    bool is_shift = op == CXBinaryOperator_Shl || op == CXBinaryOperator_Shr;
    if (is_shift && c > 30) {
        return not_affine(b, cursor);
    }
    switch (op) {
    case CXBinaryOperator_Div:
        return get_quotient(b, x, c, false, true, cursor);
    case CXBinaryOperator_Rem:
        return get_quotient(b, x, c, true, true, cursor);
    case CXBinaryOperator_Shr:
        return get_quotient(b, x, (int64_t)1 << c, false, false, cursor);
    case CXBinaryOperator_Shl:
        return get_sum(b, CXBinaryOperator_Mul, x, of_const(b, (int64_t)1 << c, type), type,
                       cursor);
    default: /* x & (2^k - 1): two's complement makes it the floor remainder for every x */
        return (c & (c + 1)) == 0 ? get_quotient(b, x, c + 1, true, false, cursor)
                                  : not_affine(b, cursor);
    }
}

/* a[k++]: the value now; the step is a statement of its own behind this one. */
static ctune_int get_step(ctune_build *b, CXCursor cursor, enum CXUnaryOperatorKind op) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    CXCursor operand = kids.n == 1 ? ctune_cx_strip(b->arena, kids.at[0]) : cursor;
    ctune_var *var = ctune_cx_kind(operand) == CXCursor_DeclRefExpr
                         ? ctune_vars_find(b, ctune_cx_decl(operand))
                         : NULL;
    ctune_int x = NONE;
    if (var != NULL && ctune_index_is(var) && !var->is_counter) {
        x = ctune_index_get(b, var, cursor);
    }
    bool is_noted = false;
    for (int i = 0; i < b->steps.n; i++) {
        is_noted |= clang_equalCursors(b->steps.at[i], cursor) != 0;
    }
    CXCursor *slot = x.poly == NULL ? NULL : is_noted ? b->steps.at : CTUNE_PUSH(b, b->steps);
    if (slot == NULL) {
        ctune_build_refuse(b, CTUNE_REFUSE_SIDE_EFFECT, cursor, "'%s' changes a variable",
                           ctune_build_text(b, cursor));
        return NONE;
    }
    if (!is_noted) {
        *slot = cursor;
    }
    if (op == CXUnaryOperator_PreInc || op == CXUnaryOperator_PreDec) {
        const ctune_poly *step = ctune_poly_const(b->arena, op == CXUnaryOperator_PreInc ? 1 : -1);
        x.poly = ctune_poly_add(b->arena, x.poly, step);
    }
    return x;
}

static ctune_int get_unary(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    ctune_type type = ctune_cx_type(clang_getCursorType(cursor));
    enum CXUnaryOperatorKind op = clang_getCursorUnaryOperatorKind(cursor);
    if (op == CXUnaryOperator_Deref) {
        return get_member(b, cursor);
    }
    if (op >= CXUnaryOperator_PostInc && op <= CXUnaryOperator_PreDec && b->in_subscript) {
        return get_step(b, cursor, op);
    }
    if (op >= CXUnaryOperator_PostInc && op <= CXUnaryOperator_PreDec) {
        ctune_build_refuse(b, CTUNE_REFUSE_SIDE_EFFECT, cursor, "'%s' changes a variable",
                           ctune_build_text(b, cursor));
        return NONE;
    }
    if (kids.n != 1 || type >= CTUNE_F16) {
        return not_affine(b, cursor);
    }
    if (op == CXUnaryOperator_Plus || op == CXUnaryOperator_Extension) {
        return ctune_affine_get(b, kids.at[0]);
    }
    if (op != CXUnaryOperator_Minus) {
        return not_affine(b, cursor);
    }
    ctune_int x = ctune_affine_get(b, kids.at[0]);
    return x.poly == NULL ? NONE
                          : get_sum(b, CXBinaryOperator_Sub, of_const(b, 0, type), x, type, cursor);
}

/* Casts, implicit conversions and parentheses: one child. */
static ctune_int get_wrapped(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    ctune_type to = ctune_cx_type(clang_getCursorType(cursor));
    if (kids.n != 1 || to >= CTUNE_F16) {
        return not_affine(b, cursor);
    }
    ctune_type from = ctune_cx_type(clang_getCursorType(kids.at[0]));
    return from >= CTUNE_F16 ? not_affine(b, cursor)
                             : ctune_affine_cast(b, ctune_affine_get(b, kids.at[0]), to, cursor);
}

/* c ? x : y where the domain decides c; otherwise the domain has to be split. */
static ctune_int get_conditional(ctune_build *b, CXCursor cursor) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    ctune_type type = ctune_cx_type(clang_getCursorType(cursor));
    if (kids.n != 3 || type >= CTUNE_F16) {
        return not_affine(b, cursor);
    }
    ctune_answer answer = ctune_split_decide(b, kids.at[0]);
    if (answer == CTUNE_OPEN || answer == CTUNE_OPAQUE) {
        return not_affine(b, cursor);
    }
    return ctune_affine_cast(b, ctune_affine_get(b, kids.at[answer == CTUNE_YES ? 1 : 2]), type,
                             cursor);
}

ctune_int ctune_affine_get(ctune_build *b, CXCursor cursor) {
    int64_t value;
    ctune_type type = ctune_cx_type(clang_getCursorType(cursor));
    switch (ctune_cx_kind(cursor)) {
    case CXCursor_IntegerLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
    case CXCursor_UnaryExpr:
        if (type < CTUNE_F16 && ctune_cx_int(cursor, &value) && (value >= 0 || type != CTUNE_U64)) {
            return of_const(b, value, type);
        }
        return not_affine(b, cursor);
    case CXCursor_DeclRefExpr:
        return get_variable(b, cursor);
    case CXCursor_MemberRefExpr:
    case CXCursor_ArraySubscriptExpr:
        return get_member(b, cursor);
    case CXCursor_BinaryOperator:
        return get_binary(b, cursor);
    case CXCursor_UnaryOperator:
        return get_unary(b, cursor);
    case CXCursor_ConditionalOperator:
        return get_conditional(b, cursor);
    case CXCursor_ParenExpr:
    case CXCursor_UnexposedExpr:
    case CXCursor_CStyleCastExpr:
        return get_wrapped(b, cursor);
    case CXCursor_CallExpr: {
        CXCursor definition = ctune_inline_definition(cursor);
        if (!clang_Cursor_isNull(definition)) {
            ctune_int result = ctune_inline_call_affine(b, cursor, definition);
            return result.poly != NULL ? result : not_affine(b, cursor);
        }
        ctune_build_refuse(b, CTUNE_REFUSE_CALL, cursor, "'%s' is called in a bound or subscript",
                           ctune_cx_name(b->arena, cursor));
        return NONE;
    }
    default:
        return not_affine(b, cursor);
    }
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* A product of parameters as a parameter of its own: "(long)n * m". */
static int product_param(ctune_build *b, const ctune_mono *m) {
    const char *text = "";
    int64_t size = 1;
    bool is_memory = false;
    for (int i = 0; i < m->degree; i++) {
        const ctune_param *p = &b->params.at[m->atom[i].id];
        text = ctune_arena_printf(b->arena, "%s%s%s", i == 0 ? "(long)" : text, i == 0 ? "" : " * ",
                                  p->c_text);
        if (text == NULL ||
            __builtin_mul_overflow(size, ctune_build_size(b, m->atom[i].id), &size)) {
            return -1;
        }
        is_memory |= b->param_infos.at[m->atom[i].id].is_memory;
        b->param_infos.at[m->atom[i].id].is_factor = true;
    }
    int n = b->params.n;
    int param = ctune_param_of_text(b, ctune_arena_printf(b->arena, "(%s)", text), CTUNE_I64, size,
                                    is_memory);
    bool is_made = strchr(text, '?') != NULL; /* of an expression: its own name is shorter */
    const char *name = param == n && is_made ? b->params.at[m->atom[0].id].name : NULL;
    for (int i = 1; i < m->degree && name != NULL; i++) {
        name = ctune_arena_printf(b->arena, "%s_%s", name, b->params.at[m->atom[i].id].name);
    }
    if (name != NULL) {
        b->params.at[param].name = ctune_build_name(b, name);
    }
    return param;
}

const ctune_aff *ctune_affine_form(ctune_build *b, const ctune_poly *poly, ctune_refusal refusal,
                                   CXCursor at) {
    const ctune_aff *sum = poly != NULL ? ctune_aff_const(b->arena, 0) : NULL;
    for (int i = 0; poly != NULL && i < poly->n; i++) {
        const ctune_mono *m = &poly->mono[i];
        const ctune_aff *term = NULL;
        if (m->degree == 0) {
            term = ctune_aff_const(b->arena, m->coef);
        } else if (m->degree == 1) {
            term = ctune_aff_term(b->arena, m->atom[0].kind, m->atom[0].id, m->coef);
        } else if (ctune_mono_is_params(m)) {
            int param = product_param(b, m);
            term = param < 0 ? NULL : ctune_aff_term(b->arena, CTUNE_TERM_PARAM, param, m->coef);
        }
        sum = ctune_aff_add(b->arena, sum, term);
    }
    if (sum == NULL) {
        ctune_build_refuse(b, refusal, at, "'%s' is not affine in the counters and parameters",
                           ctune_build_text(b, at));
    }
    return sum;
}

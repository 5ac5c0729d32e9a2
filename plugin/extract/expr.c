/*
 * Values: C expressions as trees of ctune_expr, with the source's own structure.
 *
 * libclang shows implicit conversions as unnamed expressions with one child and another type: they
 * become CASTs, so that every operator meets the operand types that C gives it. Nothing is folded
 * or re-associated.
 */
#include "plugin/extract/build.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

ctune_expr *ctune_expr_new(ctune_build *b, ctune_op op, ctune_type type, int n_kids, ...) {
    ctune_expr *e = CTUNE_NEW(b->arena, ctune_expr);
    const ctune_expr **kids =
        n_kids > 0 ? CTUNE_NEW_ARRAY(b->arena, const ctune_expr *, n_kids) : NULL;
    if (e == NULL || (n_kids > 0 && kids == NULL)) {
        return NULL;
    }
    va_list args;
    va_start(args, n_kids);
    bool ok = true;
    for (int i = 0; i < n_kids; i++) {
        kids[i] = va_arg(args, const ctune_expr *);
        ok = ok && kids[i] != NULL;
    }
    va_end(args);
    e->op = op;
    e->type = type;
    e->n_kids = n_kids;
    e->kids = kids;
    return ok ? e : NULL;
}

ctune_expr *ctune_expr_int(ctune_build *b, ctune_type type, int64_t value) {
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_CONST, type, 0);
    if (e == NULL) {
        return NULL;
    }
    const char *suffix = type == CTUNE_U32   ? "u"
                         : type == CTUNE_I64 ? "L"
                         : type == CTUNE_U64 ? "UL"
                                             : "";
    e->i_value = value;
    e->f_value = (double)value;
    if (ctune_type_is_float(type)) {
        e->text = ctune_arena_printf(b->arena, "%lld.0%s", (long long)value,
                                     type == CTUNE_F32   ? "f"
                                     : type == CTUNE_F80 ? "L"
                                                         : "");
    } else if (type == CTUNE_U64) {
        e->text = ctune_arena_printf(b->arena, "%lluUL", (unsigned long long)value);
    } else {
        e->text = ctune_arena_printf(b->arena, "%lld%s", (long long)value, suffix);
    }
    return e->text != NULL ? e : NULL;
}

ctune_expr *ctune_expr_cast(ctune_build *b, ctune_expr *value, ctune_type to) {
    if (value == NULL || value->type == to) {
        return value;
    }
    return ctune_expr_new(b, CTUNE_OP_CAST, to, 1, value);
}

bool ctune_expr_reads(const ctune_expr *expr, int tensor) {
    if (expr->op == CTUNE_OP_READ && expr->access.tensor == tensor) {
        return true;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        if (ctune_expr_reads(expr->kids[i], tensor)) {
            return true;
        }
    }
    return false;
}

static ctune_expr *no(ctune_build *b, ctune_refusal refusal, CXCursor at, const char *what) {
    ctune_build_refuse(b, refusal, at, "'%s': %s", ctune_build_text(b, at), what);
    return NULL;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* The literal as written at the cursor; NULL when it comes from a macro. */
static const char *literal_text(ctune_build *b, CXCursor cursor) {
    size_t at = ctune_cx_begin(cursor), n = b->source->n_clean;
    if (!ctune_cx_is_same_file(cursor, b->function)) {
        return NULL; /* of a function in a header */
    }
    const char *t = b->source->clean;
    if (at >= n || !((t[at] >= '0' && t[at] <= '9') || t[at] == '.')) {
        return NULL;
    }
    size_t end = at;
    while (end < n) {
        char c = t[end];
        bool is_sign = (c == '+' || c == '-') && end > at && strchr("eEpP", t[end - 1]) != NULL &&
                       !(strchr("eE", t[end - 1]) != NULL && at + 1 < n &&
                         (t[at + 1] == 'x' || t[at + 1] == 'X'));
        if (!is_sign && c != '.' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
            !(c >= 'A' && c <= 'Z')) {
            break;
        }
        end++;
    }
    return ctune_arena_strndup(b->arena, t + at, end - at);
}

static const char *float_text(ctune_build *b, ctune_type type, double value) {
    const char *text = ctune_arena_printf(b->arena, type == CTUNE_F32 ? "%.9g" : "%.17g", value);
    const char *suffix = type == CTUNE_F32 ? "f" : type == CTUNE_F16 ? "f16" : "";
    if (text == NULL) {
        return NULL;
    }
    bool is_plain = strpbrk(text, ".e") == NULL;
    return ctune_arena_printf(b->arena, "%s%s%s", text, is_plain ? ".0" : "", suffix);
}

static ctune_expr *get_float(ctune_build *b, CXCursor cursor, ctune_type type) {
    double value;
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_CONST, type, 0);
    if (e == NULL || !ctune_cx_float(cursor, &value)) {
        return no(b, CTUNE_REFUSE_LITERAL, cursor, "the constant cannot be evaluated");
    }
    e->f_value = value;
    e->text = literal_text(b, cursor);
    if (e->text == NULL && type == CTUNE_F80) {
        return no(b, CTUNE_REFUSE_LITERAL, cursor, "a long double constant from a macro");
    }
    if (e->text == NULL) {
        e->text = float_text(b, type, value);
    }
    return e->text != NULL ? e : NULL;
}

/* INFINITY and HUGE_VAL are calls of builtins. */
static ctune_expr *get_infinity(ctune_build *b, const char *name, ctune_type type) {
    static const char *const names[] = {"__builtin_inf",       "__builtin_inff",
                                        "__builtin_infl",      "__builtin_huge_val",
                                        "__builtin_huge_valf", "__builtin_huge_vall"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            ctune_expr *e = ctune_expr_new(b, CTUNE_OP_CONST, type, 0);
            if (e != NULL) {
                e->f_value = (double)INFINITY;
                e->text = ctune_arena_printf(b->arena, "%s()", name);
            }
            return e;
        }
    }
    return NULL;
}

/* ---- reads ----------------------------------------------------------------------------------- */

static ctune_expr *get_affine_value(ctune_build *b, const ctune_poly *poly, ctune_type type) {
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_AFF, type, 0);
    if (e != NULL) {
        e->aff = ctune_poly_to_aff(b->arena, poly);
    }
    return e != NULL && e->aff != NULL ? e : NULL;
}

static ctune_expr *get_memory(ctune_build *b, CXCursor cursor) {
    ctune_lval lval;
    if (!ctune_lval_get(b, cursor, &lval)) {
        return NULL;
    }
    if (ctune_cx_is_pointer(lval.type)) {
        return no(b, CTUNE_REFUSE_POINTER_EXPRESSION, cursor, "a pointer used as a value");
    }
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_READ, ctune_cx_type(lval.type), 0);
    if (e == NULL) {
        return NULL;
    }
    e->read_id = ctune_access_add(b, &lval, cursor, &e->access);
    return e->read_id < 0 ? NULL : e;
}

static ctune_expr *get_variable(ctune_build *b, CXCursor cursor) {
    CXCursor decl = clang_getCursorReferenced(cursor);
    if (ctune_cx_kind(decl) == CXCursor_EnumConstantDecl) {
        return ctune_expr_int(b, ctune_cx_type(clang_getCursorType(cursor)),
                              clang_getEnumConstantDeclValue(decl));
    }
    if (ctune_inline_is_bound(b, decl)) {
        return ctune_inline_value(b, decl);
    }
    ctune_var *var = ctune_vars_find(b, decl);
    if (var == NULL) {
        return no(b, CTUNE_REFUSE_EXPRESSION, cursor, "not a variable");
    }
    if (!ctune_inline_sees(b, var, cursor)) {
        return NULL;
    }
    ctune_type type = ctune_cx_type(var->type);
    if (var->is_counter && var->value != NULL) {
        ctune_expr *e = get_affine_value(b, var->value, type);
        return e != NULL ? e : no(b, CTUNE_REFUSE_EXPRESSION, cursor, "not affine");
    }
    if (var->value != NULL && var->n_writes == 0) { /* never changes: its initialiser again */
        return ctune_expr_cast(b, ctune_expr_get(b, var->init), type);
    }
    if (ctune_index_is(var) && (var->n_writes > 0 || var->was_counter)) {
        const ctune_aff *kept = b->split;
        ctune_why why = b->why;
        ctune_int known = ctune_index_get(b, var, cursor);
        b->split = kept;
        b->why = why;
        if (known.poly != NULL) {
            return ctune_index_expr(b, known.poly, type);
        }
    }
    if (var->was_counter) {
        ctune_build_refuse(b, CTUNE_REFUSE_COUNTER_READ_AFTER, cursor,
                           "'%s' is read in the region after its loop", var->name);
        return NULL;
    }
    int64_t constant;
    if (ctune_hoist_constant(b, var, &constant)) {
        return ctune_expr_int(b, type, constant);
    }
    bool is_param = type < CTUNE_F16 && var->n_writes == 0 && !var->is_inside &&
                    (var->is_used_affinely || var->param >= 0);
    if (is_param) {
        int param = ctune_param_of_var(b, var, cursor);
        return param < 0
                   ? NULL
                   : get_affine_value(b, ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, param), type);
    }
    return get_memory(b, cursor);
}

/* ---- operators ------------------------------------------------------------------------------- */

static ctune_expr *get_binary(ctune_build *b, CXCursor cursor, ctune_type type) {
    static const struct {
        enum CXBinaryOperatorKind kind;
        ctune_op op;
    } table[] = {{CXBinaryOperator_Mul, CTUNE_OP_MUL},   {CXBinaryOperator_Div, CTUNE_OP_DIV},
                 {CXBinaryOperator_Rem, CTUNE_OP_MOD},   {CXBinaryOperator_Add, CTUNE_OP_ADD},
                 {CXBinaryOperator_Sub, CTUNE_OP_SUB},   {CXBinaryOperator_Shl, CTUNE_OP_SHL},
                 {CXBinaryOperator_Shr, CTUNE_OP_SHR},   {CXBinaryOperator_LT, CTUNE_OP_LT},
                 {CXBinaryOperator_GT, CTUNE_OP_GT},     {CXBinaryOperator_LE, CTUNE_OP_LE},
                 {CXBinaryOperator_GE, CTUNE_OP_GE},     {CXBinaryOperator_EQ, CTUNE_OP_EQ},
                 {CXBinaryOperator_NE, CTUNE_OP_NE},     {CXBinaryOperator_And, CTUNE_OP_BAND},
                 {CXBinaryOperator_Xor, CTUNE_OP_BXOR},  {CXBinaryOperator_Or, CTUNE_OP_BOR},
                 {CXBinaryOperator_LAnd, CTUNE_OP_LAND}, {CXBinaryOperator_LOr, CTUNE_OP_LOR}};
    enum CXBinaryOperatorKind kind = clang_getCursorBinaryOperatorKind(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kind >= CXBinaryOperator_Assign && kind < CXBinaryOperator_Comma) {
        return no(b, CTUNE_REFUSE_NESTED_ASSIGNMENT, cursor, "an assignment inside an expression");
    }
    if (kind == CXBinaryOperator_Comma) {
        return no(b, CTUNE_REFUSE_SIDE_EFFECT, cursor, "a comma inside an expression");
    }
    for (size_t i = 0; i < sizeof table / sizeof *table && kids.n == 2; i++) {
        if (table[i].kind == kind) {
            bool is_logic = kind == CXBinaryOperator_LAnd || kind == CXBinaryOperator_LOr;
            ctune_expr *x =
                is_logic ? ctune_expr_condition(b, kids.at[0]) : ctune_expr_get(b, kids.at[0]);
            int n_domain = b->domain.n;
            ctune_conds conds = {0};
            bool is_domain =
                kind == CXBinaryOperator_LAnd && ctune_affine_try(b, kids.at[0], &conds);
            if (is_domain && !ctune_domain_push(b, conds.n, conds.at)) {
                return NULL;
            }
            b->n_maybe += is_logic && !is_domain;
            b->n_lazy += is_logic;
            ctune_expr *y = x == NULL  ? NULL
                            : is_logic ? ctune_expr_condition(b, kids.at[1])
                                       : ctune_expr_get(b, kids.at[1]);
            b->n_maybe -= is_logic && !is_domain;
            b->n_lazy -= is_logic;
            b->domain.n = n_domain;
            return y == NULL ? NULL : ctune_expr_new(b, table[i].op, type, 2, x, y);
        }
    }
    return no(b, CTUNE_REFUSE_EXPRESSION, cursor, "an operator that ctune does not know");
}

static ctune_expr *get_unary(ctune_build *b, CXCursor cursor, ctune_type type) {
    enum CXUnaryOperatorKind kind = clang_getCursorUnaryOperatorKind(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 1) {
        return no(b, CTUNE_REFUSE_EXPRESSION, cursor, "an operator that ctune does not know");
    }
    switch (kind) {
    case CXUnaryOperator_Deref:
        return get_memory(b, cursor);
    case CXUnaryOperator_Plus:
    case CXUnaryOperator_Extension:
        return ctune_expr_get(b, kids.at[0]);
    case CXUnaryOperator_Minus:
        return ctune_expr_new(b, CTUNE_OP_NEG, type, 1, ctune_expr_get(b, kids.at[0]));
    case CXUnaryOperator_Not:
        return ctune_expr_new(b, CTUNE_OP_BNOT, type, 1, ctune_expr_get(b, kids.at[0]));
    case CXUnaryOperator_LNot:
        return ctune_expr_new(b, CTUNE_OP_LNOT, CTUNE_I32, 1, ctune_expr_condition(b, kids.at[0]));
    case CXUnaryOperator_PostInc:
    case CXUnaryOperator_PostDec:
    case CXUnaryOperator_PreInc:
    case CXUnaryOperator_PreDec:
        return no(b, CTUNE_REFUSE_SIDE_EFFECT, cursor, "++ or -- inside an expression");
    case CXUnaryOperator_Real:
    case CXUnaryOperator_Imag:
        return no(b, CTUNE_REFUSE_COMPLEX, cursor, "part of a complex number");
    default:
        return no(b, CTUNE_REFUSE_EXPRESSION, cursor, "an operator that ctune does not know");
    }
}

static ctune_expr *get_call(ctune_build *b, CXCursor cursor, ctune_type type) {
    CXCursor callee = clang_getCursorReferenced(cursor);
    const char *name = ctune_cx_name(b->arena, cursor);
    ctune_expr *infinity = get_infinity(b, name, type);
    if (infinity != NULL) {
        return infinity;
    }
    CXCursor definition = ctune_inline_definition(cursor);
    if (!clang_Cursor_isNull(definition)) {
        return ctune_inline_call(b, cursor, definition);
    }
    const char *plain = strncmp(name, "__builtin_", 10) == 0 ? name + 10 : name;
    ctune_type of;
    int n = ctune_math_find(plain, &of);
    bool is_users =
        !clang_Cursor_isNull(callee) && !clang_Cursor_isNull(clang_getCursorDefinition(callee));
    if (n == 0 || is_users || clang_Cursor_getNumArguments(cursor) != n || of != type) {
        ctune_build_refuse(b, CTUNE_REFUSE_CALL, cursor, "call of '%s'",
                           name[0] != '\0' ? name : "a function pointer");
        return NULL;
    }
    ctune_expr *args[3] = {NULL, NULL, NULL};
    for (int i = 0; i < n; i++) {
        args[i] = ctune_expr_get(b, clang_Cursor_getArgument(cursor, (unsigned)i));
        args[i] = ctune_expr_cast(b, args[i], of);
        if (args[i] == NULL) {
            return NULL;
        }
    }
    ctune_expr *e = ctune_expr_new(b, CTUNE_OP_CALL, type, n, args[0], args[1], args[2]);
    if (e != NULL) {
        e->text = plain;
    }
    return e;
}

/* The value where further conditions hold. */
static ctune_expr *get_under(ctune_build *b, int n, const ctune_aff *const *cons, CXCursor cursor,
                             ctune_type type) {
    int n_domain = b->domain.n;
    b->n_maybe += n == 0;
    b->n_lazy++;
    ctune_expr *e = ctune_domain_push(b, n, cons) ? ctune_expr_get(b, cursor) : NULL;
    b->n_maybe -= n == 0;
    b->n_lazy--;
    b->domain.n = n_domain;
    return ctune_expr_cast(b, e, type);
}

static ctune_expr *get_select(ctune_build *b, CXCursor cursor, ctune_type type) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 3) {
        return no(b, CTUNE_REFUSE_EXPRESSION, cursor, "an incomplete conditional");
    }
    const ctune_aff *kept = b->split;
    ctune_answer answer = ctune_split_decide(b, kids.at[0]);
    b->split = kept;
    if (answer == CTUNE_YES || answer == CTUNE_NO) {
        CXCursor arm = kids.at[answer == CTUNE_YES ? 1 : 2];
        return ctune_expr_cast(b, ctune_expr_get(b, arm), type);
    }
    ctune_conds conds = {0};
    const ctune_aff *negated = NULL;
    if (answer == CTUNE_OPEN && ctune_affine_try(b, kids.at[0], &conds)) {
        ctune_split_simplify(b, &conds);
        negated =
            conds.n != 1
                ? NULL
                : ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, conds.at[0], -1), -1);
    }
    ctune_expr *c = ctune_expr_condition(b, kids.at[0]);
    ctune_expr *x = c != NULL ? get_under(b, conds.n, conds.at, kids.at[1], type) : NULL;
    ctune_expr *y = x != NULL ? get_under(b, negated != NULL, &negated, kids.at[2], type) : NULL;
    return y != NULL ? ctune_expr_new(b, CTUNE_OP_SELECT, type, 3, c, x, y) : NULL;
}

/* Parentheses, implicit and explicit conversions: one child. */
static ctune_expr *get_wrapped(ctune_build *b, CXCursor cursor, ctune_type type) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 1) {
        return no(b, CTUNE_REFUSE_EXPRESSION, cursor, "an expression that ctune does not know");
    }
    return ctune_expr_cast(b, ctune_expr_get(b, kids.at[0]), type);
}

ctune_expr *ctune_expr_get(ctune_build *b, CXCursor cursor) {
    int64_t value;
    CXType c_type = clang_getCursorType(cursor);
    if (!ctune_type_check(b, ctune_cx_is_pointer(c_type) ? ctune_cx_pointee(c_type) : c_type,
                          cursor)) {
        return NULL;
    }
    ctune_type type = ctune_cx_type(c_type);
    if (type == CTUNE_N_TYPES) {
        return no(b, CTUNE_REFUSE_POINTER_EXPRESSION, cursor, "a pointer used as a value");
    }
    switch (ctune_cx_kind(cursor)) {
    case CXCursor_IntegerLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
    case CXCursor_UnaryExpr:
        return ctune_cx_int(cursor, &value)
                   ? ctune_expr_int(b, type, value)
                   : no(b, CTUNE_REFUSE_EXPRESSION, cursor, "not a constant");
    case CXCursor_FloatingLiteral:
        return get_float(b, cursor, type);
    case CXCursor_DeclRefExpr:
        return get_variable(b, cursor);
    case CXCursor_MemberRefExpr:
    case CXCursor_ArraySubscriptExpr:
        return get_memory(b, cursor);
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator:
        return get_binary(b, cursor, type);
    case CXCursor_UnaryOperator:
        return get_unary(b, cursor, type);
    case CXCursor_ConditionalOperator:
        return get_select(b, cursor, type);
    case CXCursor_CallExpr:
        return get_call(b, cursor, type);
    case CXCursor_ParenExpr:
    case CXCursor_UnexposedExpr:
    case CXCursor_CStyleCastExpr:
        return get_wrapped(b, cursor, type);
    case CXCursor_StmtExpr:
        return no(b, CTUNE_REFUSE_STATEMENT_EXPRESSION, cursor, "a statement expression");
    case CXCursor_GenericSelectionExpr:
        return no(b, CTUNE_REFUSE_GENERIC, cursor, "_Generic in the region");
    case CXCursor_ImaginaryLiteral:
        return no(b, CTUNE_REFUSE_COMPLEX, cursor, "an imaginary constant");
    default:
        return no(b, CTUNE_REFUSE_EXPRESSION, cursor, "an expression that ctune does not know");
    }
}

ctune_expr *ctune_expr_condition(ctune_build *b, CXCursor cursor) {
    bool is_negated;
    int pointer = ctune_hoist_null(b, cursor, &is_negated);
    if (pointer >= 0) {
        ctune_expr *is_set =
            get_affine_value(b, ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, pointer), CTUNE_I32);
        return ctune_expr_new(b, is_negated ? CTUNE_OP_EQ : CTUNE_OP_NE, CTUNE_I32, 2, is_set,
                              ctune_expr_int(b, CTUNE_I32, 0));
    }
    ctune_expr *e = ctune_expr_get(b, cursor);
    if (e == NULL || (e->op >= CTUNE_OP_LT && e->op <= CTUNE_OP_LNOT)) {
        return e;
    }
    if (e->type < CTUNE_I32) {
        e = ctune_expr_cast(b, e, CTUNE_I32);
    }
    return e == NULL
               ? NULL
               : ctune_expr_new(b, CTUNE_OP_NE, CTUNE_I32, 2, e, ctune_expr_int(b, e->type, 0));
}

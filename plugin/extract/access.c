/*
 * Lvalues: which memory does an expression name, and with which index?
 *
 * In: cursors. Out: ctune_lval (root variable, steps, dimensions), tensors, uses. A pointer carries
 * a pending offset until a subscript or * consumes it: (A + i*n)[j] is A[i*n + j]. Local pointers
 * that never move are looked through.
 */
#include "plugin/extract/build.h"

#include "runtime/text.h"

/* ---- types ----------------------------------------------------------------------------------- */

bool ctune_type_check(ctune_build *b, CXType type, CXCursor at) {
    CXType t = clang_getCanonicalType(type);
    if (clang_isVolatileQualifiedType(t)) {
        return ctune_build_refuse(b, CTUNE_REFUSE_VOLATILE, at, "'%s' is volatile",
                                  ctune_build_text(b, at));
    }
    if (t.kind == CXType_Atomic) {
        return ctune_build_refuse(b, CTUNE_REFUSE_ATOMIC, at, "'%s' is atomic",
                                  ctune_build_text(b, at));
    }
    if (t.kind == CXType_Complex) {
        return ctune_build_refuse(b, CTUNE_REFUSE_COMPLEX, at, "'%s' is complex",
                                  ctune_build_text(b, at));
    }
    if (t.kind == CXType_Record) {
        return ctune_build_refuse(b, CTUNE_REFUSE_AGGREGATE, at, "'%s' is a whole struct or union",
                                  ctune_build_text(b, at));
    }
    if (ctune_cx_type(t) == CTUNE_N_TYPES) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TYPE, at, "'%s' has type '%s'",
                                  ctune_build_text(b, at), ctune_cx_type_name(b->arena, type));
    }
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool add_step(ctune_build *b, ctune_lval *lval, const char *text, int dim, CXCursor at) {
    if (lval->n_steps == CTUNE_MAX_STEPS) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, at, "'%s' is too deep",
                                  ctune_build_text(b, at));
    }
    lval->steps[lval->n_steps++] = (ctune_step){text, dim};
    return true;
}

const char *ctune_lval_text(ctune_build *b, const ctune_lval *lval, bool is_zero) {
    const char *text = lval->root->name;
    for (int i = 0; i < lval->n_steps && text != NULL; i++) {
        const ctune_step *step = &lval->steps[i];
        text = step->text != NULL ? ctune_arena_printf(b->arena, "%s%s", text, step->text)
               : is_zero          ? ctune_arena_printf(b->arena, "%s[0]", text)
                                  : ctune_arena_printf(b->arena, "%s[$%d]", text, step->dim);
    }
    return text;
}

/* The k-th array dimension, outermost first, of a declaration: libclang lists size expressions
 * innermost first. */
static bool extent_cursor(ctune_build *b, ctune_var *var, int k, CXCursor *out) {
    ctune_kids kids = ctune_cx_exprs(b->arena, var->decl);
    int n_layers = 0, n_sizes = 0;
    for (CXType t = var->type; ctune_cx_is_pointer(t);
         t = clang_getCanonicalType(ctune_cx_pointee(t))) {
        n_layers += ctune_cx_is_array(t);
    }
    while (n_sizes < kids.n && n_sizes < n_layers &&
           ctune_cx_type(clang_getCursorType(kids.at[n_sizes])) < CTUNE_F16) {
        n_sizes++;
    }
    /* `float A[]` as a parameter has no size for its outermost dimension */
    int at = n_layers - 1 - k;
    if (at < 0 || at >= n_sizes || n_sizes < n_layers - 1) {
        return false;
    }
    *out = kids.at[at];
    return true;
}

/* Variables in a VLA's size must not have changed since its declaration. */
static bool check_unchanged(ctune_build *b, CXCursor cursor) {
    if (ctune_cx_kind(cursor) == CXCursor_DeclRefExpr) {
        ctune_var *var = ctune_vars_find(b, clang_getCursorReferenced(cursor));
        if (var != NULL && (var->is_changed || !var->is_automatic || var->is_address_taken)) {
            return ctune_build_refuse(b, CTUNE_REFUSE_VLA_EXTENT, cursor,
                                      "'%s' sizes an array and may have changed since", var->name);
        }
    }
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        if (!check_unchanged(b, kids.at[i])) {
            return false;
        }
    }
    return true;
}

/* Extent of an array type met at lval->layer. NULL with b->why set: refused; NULL without: unknown.
 */
static const ctune_aff *extent_of(ctune_build *b, ctune_lval *lval, CXType array) {
    CXType t = clang_getCanonicalType(array);
    CXCursor size;
    if (t.kind == CXType_ConstantArray) {
        return ctune_aff_const(b->arena, clang_getArraySize(t));
    }
    if (t.kind != CXType_VariableArray || lval->layer < 0 ||
        !extent_cursor(b, lval->root, lval->layer, &size)) {
        return NULL;
    }
    bool kept_subscript = b->in_subscript;
    b->in_subscript = true;
    const ctune_aff *aff = NULL;
    if (check_unchanged(b, size)) {
        ctune_int value = ctune_affine_settle(b, ctune_affine_get(b, size), size);
        if (value.poly != NULL) {
            aff = ctune_affine_form(b, value.poly, CTUNE_REFUSE_VLA_EXTENT, size);
        }
    }
    b->in_subscript = kept_subscript;
    if (aff != NULL && ctune_aff_has_kind(aff, CTUNE_TERM_AXIS)) {
        ctune_build_refuse(b, CTUNE_REFUSE_VLA_EXTENT, size, "'%s' changes in the region",
                           ctune_build_text(b, size));
        return NULL;
    }
    return aff;
}

/* The array lvalue becomes a pointer to its first element. */
static bool decay(ctune_build *b, ctune_lval *lval) {
    bool is_parameter = lval->n_steps == 0 && lval->root->is_parameter;
    lval->pending_extent = extent_of(b, lval, lval->type);
    if (b->why.refusal != CTUNE_REFUSE_NONE) {
        return false;
    }
    lval->pending_is_pointer = is_parameter;
    lval->is_const |= clang_isConstQualifiedType(clang_getCanonicalType(lval->type)) != 0;
    lval->is_indirect |= is_parameter;
    lval->type = clang_getArrayElementType(clang_getCanonicalType(lval->type));
    lval->layer += lval->layer >= 0;
    lval->is_pending = true;
    lval->is_address = false;
    lval->pending = ctune_poly_const(b->arena, 0);
    return lval->pending != NULL;
}

/* Dimensions before a pointer that is itself read from memory must stay: they become text. */
static bool freeze_dims(ctune_build *b, ctune_lval *lval, CXCursor at) {
    if (lval->n_dims > 0 && ctune_hoist_text(b, lval) == NULL) {
        return ctune_build_refuse(b, CTUNE_REFUSE_POINTER_TO_POINTER, at,
                                  "the pointer '%s' is read from an array",
                                  ctune_build_text(b, at));
    }
    for (int i = 0; i < lval->n_steps; i++) {
        ctune_lval one = *lval;
        if (lval->steps[i].text == NULL) { /* one step's text is what it adds to the root's name */
            one.steps[0] = lval->steps[i];
            one.n_steps = 1;
            const char *text = ctune_hoist_text(b, &one);
            lval->steps[i].text = text == NULL ? "" : text + strlen(lval->root->name);
        }
    }
    lval->n_dims = 0;
    return true;
}

/* The pointer lvalue is read: what it points to, offset 0. */
static bool load_pointer(ctune_build *b, ctune_lval *lval, CXCursor at) {
    if (lval->n_steps == 0 && lval->root->pointer != NULL) {
        *lval = *lval->root->pointer;
        return true;
    }
    if (lval->root->n_writes > 0 && lval->n_steps == 0) {
        return ctune_build_refuse(b, CTUNE_REFUSE_MOVING_POINTER, at,
                                  "the pointer '%s' changes in the region", lval->root->name);
    }
    if (lval->root->is_inside) {
        return ctune_build_refuse(b, CTUNE_REFUSE_POINTER_EXPRESSION, at,
                                  "the pointer '%s' is declared in the region", lval->root->name);
    }
    if (clang_isVolatileQualifiedType(lval->type)) {
        return ctune_type_check(b, lval->type, at);
    }
    CXType pointer = clang_getCanonicalType(lval->type);
    bool is_row = lval->n_dims > 0 && ctune_hoist_text(b, lval) == NULL &&
                  ctune_rows_enter(b, lval, clang_getPointeeType(pointer));
    if (!is_row && !freeze_dims(b, lval, at)) {
        return false;
    }
    lval->is_const = false;
    lval->is_restrict = clang_isRestrictQualifiedType(pointer) != 0 && !is_row;
    lval->is_indirect = true;
    lval->type = clang_getPointeeType(pointer);
    lval->is_pending = true;
    lval->is_address = false;
    lval->pending = is_row ? lval->pending : ctune_poly_const(b->arena, 0);
    lval->pending_extent = NULL;
    lval->pending_is_pointer = true;
    if (lval->n_steps > 0) {
        lval->layer = -1;
    }
    return lval->pending != NULL;
}

/* [] or *: the pending offset becomes a dimension. */
bool ctune_lval_consume(ctune_build *b, ctune_lval *lval, CXCursor at) {
    int64_t zero;
    if (lval->is_address) {
        if (!ctune_poly_is_const(lval->pending, &zero) || zero != 0) {
            return ctune_build_refuse(b, CTUNE_REFUSE_POINTER_EXPRESSION, at,
                                      "'%s' leaves the object", ctune_build_text(b, at));
        }
        lval->is_pending = lval->is_address = false;
        return true;
    }
    if (lval->n_dims == CTUNE_MAX_RANK) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_DEEP, at, "'%s' has more than %d dimensions",
                                  ctune_build_text(b, at), CTUNE_MAX_RANK);
    }
    int d = lval->n_dims++;
    lval->idx[d] = lval->pending;
    lval->extent[d] = lval->pending_extent;
    lval->is_pointer_dim[d] = lval->pending_is_pointer;
    lval->is_pending = false;
    lval->elem_stride_bytes = clang_Type_getSizeOf(lval->type);
    return add_step(b, lval, NULL, d, at);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static bool add_offset(ctune_build *b, ctune_lval *lval, CXCursor index, int sign) {
    bool kept = b->in_subscript;
    b->in_subscript = true;
    ctune_int value = ctune_affine_get(b, index);
    /* 64-bit offsets wrap with the address; narrower unsigned ones must not wrap before they are
     * widened */
    if (value.poly != NULL && ctune_type_get(value.type)->bytes < 8) {
        value = ctune_affine_settle(b, value, index);
    }
    b->in_subscript = kept;
    if (value.poly == NULL) {
        return false;
    }
    const ctune_poly *scaled = ctune_poly_scale(b->arena, value.poly, sign);
    lval->pending = ctune_poly_add(b->arena, lval->pending, scaled);
    return lval->pending != NULL ||
           ctune_build_refuse(b, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, index, "'%s' is too complex",
                              ctune_build_text(b, index));
}

static bool pointer_binary(ctune_build *b, CXCursor cursor, ctune_lval *out) {
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 2 || (op != CXBinaryOperator_Add && op != CXBinaryOperator_Sub)) {
        bool moves = op >= CXBinaryOperator_Assign && op < CXBinaryOperator_Comma;
        return ctune_build_refuse(
            b, moves ? CTUNE_REFUSE_MOVING_POINTER : CTUNE_REFUSE_POINTER_EXPRESSION, cursor,
            "'%s' is no fixed pointer", ctune_build_text(b, cursor));
    }
    int p = ctune_cx_is_pointer(clang_getCursorType(kids.at[0])) ? 0 : 1;
    return ctune_lval_pointer(b, kids.at[p], out) &&
           add_offset(b, out, kids.at[1 - p], op == CXBinaryOperator_Sub ? -1 : 1);
}

static bool pointer_address(ctune_build *b, CXCursor operand, ctune_lval *out, CXCursor at) {
    if (!ctune_lval_get(b, operand, out)) {
        return false;
    }
    bool is_element = out->n_steps > 0 && out->steps[out->n_steps - 1].text == NULL;
    out->is_pending = true;
    if (!is_element) {
        out->is_address = true;
        out->pending = ctune_poly_const(b->arena, 0);
        return out->pending != NULL;
    }
    int d = --out->n_dims;
    out->n_steps--;
    out->pending = out->idx[d];
    out->pending_extent = out->extent[d];
    out->pending_is_pointer = out->is_pointer_dim[d];
    (void)at;
    return true;
}

/* Converted pointers must point to the same element type: only qualifiers may change. */
static bool pointer_converted(ctune_build *b, CXCursor cursor, CXCursor inner, ctune_lval *out) {
    CXType to = ctune_cx_pointee(clang_getCursorType(cursor));
    CXType from = ctune_cx_pointee(clang_getCursorType(inner));
    bool is_vla = clang_getCanonicalType(to).kind == CXType_VariableArray ||
                  clang_getCanonicalType(from).kind == CXType_VariableArray;
    bool is_same = ctune_cx_is_same_type(to, from) && !is_vla;
    bool is_untouched = clang_equalTypes(clang_getCanonicalType(clang_getCursorType(cursor)),
                                         clang_getCanonicalType(clang_getCursorType(inner))) != 0;
    if (!is_same && !is_untouched) {
        return ctune_build_refuse(b, CTUNE_REFUSE_POINTER_CAST, cursor,
                                  "'%s' converts a pointer to '%s'", ctune_build_text(b, cursor),
                                  ctune_cx_type_name(b->arena, clang_getCursorType(cursor)));
    }
    return ctune_lval_pointer(b, inner, out);
}

static bool pointer_unexposed(ctune_build *b, CXCursor cursor, ctune_lval *out) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 1) {
        return ctune_build_refuse(b, CTUNE_REFUSE_POINTER_EXPRESSION, cursor,
                                  "'%s' is no fixed pointer", ctune_build_text(b, cursor));
    }
    CXCursor inner = kids.at[0];
    CXCursor core = ctune_cx_strip(b->arena, inner);
    enum CXCursorKind kind = ctune_cx_kind(core);
    bool is_deref = kind == CXCursor_UnaryOperator &&
                    clang_getCursorUnaryOperatorKind(core) == CXUnaryOperator_Deref;
    bool is_lvalue = kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr ||
                     kind == CXCursor_ArraySubscriptExpr || is_deref;
    if (!is_lvalue) {
        return ctune_cx_is_pointer(clang_getCursorType(inner))
                   ? pointer_converted(b, cursor, inner, out)
                   : ctune_build_refuse(b, CTUNE_REFUSE_POINTER_CAST, cursor,
                                        "'%s' is made from a number", ctune_build_text(b, cursor));
    }
    return ctune_lval_pointer(b, core, out);
}

bool ctune_lval_pointer(ctune_build *b, CXCursor cursor, ctune_lval *out) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    switch (ctune_cx_kind(cursor)) {
    case CXCursor_ParenExpr:
        if (kids.n == 1) {
            return ctune_lval_pointer(b, kids.at[0], out);
        }
        break;
    case CXCursor_UnexposedExpr:
        return pointer_unexposed(b, cursor, out);
    case CXCursor_CStyleCastExpr:
        if (kids.n == 1 && ctune_cx_is_pointer(clang_getCursorType(kids.at[0]))) {
            return pointer_converted(b, cursor, kids.at[0], out);
        }
        break;
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator:
        return pointer_binary(b, cursor, out);
    case CXCursor_UnaryOperator: {
        enum CXUnaryOperatorKind op = clang_getCursorUnaryOperatorKind(cursor);
        if (op == CXUnaryOperator_AddrOf && kids.n == 1) {
            return pointer_address(b, kids.at[0], out, cursor);
        }
        if (op >= CXUnaryOperator_PostInc && op <= CXUnaryOperator_PreDec) {
            return ctune_build_refuse(b, CTUNE_REFUSE_MOVING_POINTER, cursor,
                                      "'%s' moves a pointer", ctune_build_text(b, cursor));
        }
        if (op == CXUnaryOperator_Extension && kids.n == 1) {
            return ctune_lval_pointer(b, kids.at[0], out);
        }
        if (op != CXUnaryOperator_Deref) {
            break;
        }
    } /* fall through */
    case CXCursor_DeclRefExpr:
        if (ctune_inline_is_bound(b, clang_getCursorReferenced(cursor))) {
            return ctune_inline_pointer(b, clang_getCursorReferenced(cursor), out) ||
                   ctune_build_refuse(b, CTUNE_REFUSE_POINTER_EXPRESSION, cursor,
                                      "'%s' is no fixed pointer", ctune_build_text(b, cursor));
        } /* fall through */
    case CXCursor_MemberRefExpr:
    case CXCursor_ArraySubscriptExpr:
        if (!ctune_lval_get(b, cursor, out)) {
            return false;
        }
        return ctune_cx_is_array(out->type) ? decay(b, out) : load_pointer(b, out, cursor);
    case CXCursor_CallExpr: {
        CXCursor definition = ctune_inline_definition(cursor);
        if (!clang_Cursor_isNull(definition)) {
            return ctune_inline_call_pointer(b, cursor, definition, out);
        }
        return ctune_build_refuse(b, CTUNE_REFUSE_CALL, cursor, "'%s' returns a pointer",
                                  ctune_cx_name(b->arena, cursor));
    }
    case CXCursor_StmtExpr:
        return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT_EXPRESSION, cursor,
                                  "statement expression");
    case CXCursor_GenericSelectionExpr:
        return ctune_build_refuse(b, CTUNE_REFUSE_GENERIC, cursor, "_Generic in the region");
    default:
        break;
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_POINTER_EXPRESSION, cursor,
                              "'%s' is no fixed pointer", ctune_build_text(b, cursor));
}

/* ---- lvalues --------------------------------------------------------------------------------- */

static bool lval_variable(ctune_build *b, CXCursor cursor, ctune_lval *out) {
    ctune_var *var = ctune_vars_find(b, clang_getCursorReferenced(cursor));
    if (var == NULL) {
        return ctune_build_refuse(b, CTUNE_REFUSE_EXPRESSION, cursor, "'%s' is no variable",
                                  ctune_build_text(b, cursor));
    }
    if (!ctune_inline_sees(b, var, cursor)) {
        return false;
    }
    memset(out, 0, sizeof *out);
    out->root = var;
    out->type = var->type;
    return true;
}

static bool lval_member(ctune_build *b, CXCursor cursor, ctune_lval *out) {
    CXCursor field = clang_getCursorReferenced(cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    const char *name = ctune_cx_name(b->arena, cursor);
    if (kids.n != 1) {
        return ctune_build_refuse(b, CTUNE_REFUSE_EXPRESSION, cursor, "'%s' is no member",
                                  ctune_build_text(b, cursor));
    }
    if (clang_Cursor_isBitField(field)) {
        return ctune_build_refuse(b, CTUNE_REFUSE_BIT_FIELD, cursor, "'%s' is a bit-field", name);
    }
    if (ctune_cx_kind(clang_getCursorSemanticParent(field)) == CXCursor_UnionDecl) {
        return ctune_build_refuse(b, CTUNE_REFUSE_UNION, cursor, "'%s' is a member of a union",
                                  name);
    }
    bool is_arrow = ctune_cx_is_pointer(clang_getCursorType(kids.at[0]));
    const char *sign = ".";
    if (is_arrow) {
        int64_t zero;
        if (!ctune_lval_pointer(b, kids.at[0], out)) {
            return false;
        }
        bool is_plain = ctune_poly_is_const(out->pending, &zero) && zero == 0 &&
                        out->pending_is_pointer && !out->is_address;
        if (is_plain) {
            out->is_pending = false;
            sign = "->";
        } else if (!ctune_lval_consume(b, out, cursor)) {
            return false;
        }
    } else if (!ctune_lval_get(b, kids.at[0], out)) {
        return false;
    }
    if (clang_isVolatileQualifiedType(out->type)) {
        return ctune_build_refuse(b, CTUNE_REFUSE_VOLATILE, cursor, "'%s' is volatile",
                                  ctune_build_text(b, cursor));
    }
    out->is_const |= clang_isConstQualifiedType(clang_getCanonicalType(out->type)) != 0;
    out->type = clang_getCanonicalType(clang_getCursorType(field));
    out->layer = -1;
    /* an anonymous member has no name: its own members are written directly */
    return name[0] == '\0' ||
           add_step(b, out, ctune_arena_printf(b->arena, "%s%s", sign, name), -1, cursor);
}

static bool lval_subscript(ctune_build *b, CXCursor cursor, ctune_lval *out) {
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    if (kids.n != 2) {
        return ctune_build_refuse(b, CTUNE_REFUSE_EXPRESSION, cursor, "'%s' is no subscript",
                                  ctune_build_text(b, cursor));
    }
    int p = ctune_cx_is_pointer(clang_getCursorType(kids.at[0])) ? 0 : 1;
    return ctune_lval_pointer(b, kids.at[p], out) && add_offset(b, out, kids.at[1 - p], 1) &&
           ctune_lval_consume(b, out, cursor);
}

bool ctune_lval_get(ctune_build *b, CXCursor cursor, ctune_lval *out) {
    cursor = ctune_cx_strip(b->arena, cursor);
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    switch (ctune_cx_kind(cursor)) {
    case CXCursor_DeclRefExpr:
        return lval_variable(b, cursor, out);
    case CXCursor_MemberRefExpr:
        return lval_member(b, cursor, out);
    case CXCursor_ArraySubscriptExpr:
        return lval_subscript(b, cursor, out);
    case CXCursor_UnaryOperator:
        if (clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_Deref && kids.n == 1) {
            return ctune_lval_pointer(b, kids.at[0], out) && ctune_lval_consume(b, out, cursor);
        }
        if (clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_Real ||
            clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_Imag) {
            return ctune_build_refuse(b, CTUNE_REFUSE_COMPLEX, cursor, "'%s' is part of a complex",
                                      ctune_build_text(b, cursor));
        }
        break;
    case CXCursor_StmtExpr:
        return ctune_build_refuse(b, CTUNE_REFUSE_STATEMENT_EXPRESSION, cursor,
                                  "statement expression");
    default:
        break;
    }
    return ctune_build_refuse(b, CTUNE_REFUSE_EXPRESSION, cursor, "'%s' cannot be read or written",
                              ctune_build_text(b, cursor));
}

/*
 * Calls whose bodies are statements: loops, several stores, early returns.
 *
 * In: a call of a function of this file. Out: its body's nodes in the place of the call, and what
 * it returns as a read of a temporary. Arguments that cannot change while the body runs stand for
 * their parameters; the others are stored first, as C does. Pointers are looked through. A return
 * is what the rest of the body is not built behind (branch.c).
 */
#include "plugin/extract/inline.h"

#include "plugin/extract/assign.h"

/* ---- what may stand for a parameter ---------------------------------------------------------- */

static bool is_own(const ctune_var *var) {
    return var->is_automatic && !var->is_address_taken;
}

/* Numbers and local variables: nothing that a store could change. */
static bool is_plain(ctune_build *b, CXCursor arg, bool is_float) {
    ctune_kids kids = ctune_cx_exprs(b->arena, arg);
    switch (ctune_cx_kind(arg)) {
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_CharacterLiteral:
        return true;
    case CXCursor_DeclRefExpr: {
        CXCursor decl = clang_getCursorReferenced(arg);
        if (ctune_inline_is_bound(b, decl)) {
            return b->frame->n_open >= 0;
        }
        ctune_var *var = ctune_vars_find(b, decl);
        return ctune_cx_kind(decl) == CXCursor_EnumConstantDecl || (var != NULL && is_own(var));
    }
    case CXCursor_ParenExpr:
    case CXCursor_UnexposedExpr:
    case CXCursor_CStyleCastExpr:
        return kids.n == 1 && is_plain(b, kids.at[0], is_float);
    case CXCursor_UnaryOperator:
    case CXCursor_BinaryOperator:
        if (is_float || ctune_cx_has_effect(b->arena, arg)) {
            return false;
        }
        for (int i = 0; i < kids.n; i++) {
            if (!is_plain(b, kids.at[i], false)) {
                return false;
            }
        }
        return kids.n > 0;
    default:
        return false;
    }
}

static bool calls_ours(ctune_build *b, CXCursor at) {
    if (ctune_cx_kind(at) == CXCursor_CallExpr &&
        !clang_Cursor_isNull(ctune_inline_definition(at))) {
        return true;
    }
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    for (int i = 0; i < kids.n; i++) {
        if (calls_ours(b, kids.at[i])) {
            return true;
        }
    }
    return false;
}

/* ---- does it store to memory that others see? ------------------------------------------------ */

static bool is_local(ctune_build *b, CXCursor lvalue, CXCursor function) {
    for (int i = 0; i < 64; i++) {
        lvalue = ctune_cx_strip(b->arena, lvalue);
        ctune_kids kids = ctune_cx_exprs(b->arena, lvalue);
        if (ctune_cx_kind(lvalue) == CXCursor_DeclRefExpr) {
            CXCursor decl = clang_getCursorReferenced(lvalue);
            bool is_pointer = i > 0 && !ctune_cx_is_array(clang_getCursorType(decl));
            bool is_parameter = i > 0 && ctune_cx_kind(decl) == CXCursor_ParmDecl;
            return !is_pointer && !is_parameter &&
                   clang_equalCursors(clang_getCursorSemanticParent(decl), function) != 0 &&
                   clang_Cursor_getStorageClass(decl) != CX_SC_Static;
        }
        if (ctune_cx_kind(lvalue) == CXCursor_ArraySubscriptExpr && kids.n == 2) {
            lvalue = kids.at[0];
        } else if (ctune_cx_kind(lvalue) == CXCursor_UnexposedExpr && kids.n == 1) {
            lvalue = kids.at[0]; /* the array's decay */
        } else {
            return false;
        }
    }
    return false;
}

static bool stores(ctune_build *b, CXCursor at, CXCursor function, int depth) {
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(at);
    enum CXUnaryOperatorKind unary = clang_getCursorUnaryOperatorKind(at);
    bool is_write = (op >= CXBinaryOperator_Assign && op < CXBinaryOperator_Comma) ||
                    (unary >= CXUnaryOperator_PostInc && unary <= CXUnaryOperator_PreDec);
    ctune_kids kids = ctune_cx_kids(b->arena, at);
    if (is_write) {
        ctune_kids exprs = ctune_cx_exprs(b->arena, at);
        if (exprs.n == 0 || !is_local(b, exprs.at[0], function)) {
            return true;
        }
    }
    if (ctune_cx_kind(at) == CXCursor_CallExpr) {
        CXCursor definition = ctune_inline_definition(at);
        if (!clang_Cursor_isNull(definition) &&
            (depth > CTUNE_MAX_CALLS || stores(b, definition, definition, depth + 1))) {
            return true;
        }
    }
    for (int i = 0; i < kids.n; i++) {
        if (stores(b, kids.at[i], function, depth)) {
            return true;
        }
    }
    return false;
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* is_single: at most one store, behind which no argument is read. */
static bool open_frame(ctune_build *b, CXCursor call, CXCursor definition, bool is_single,
                       ctune_frame **out) {
    if (!ctune_inline_open(b, call, definition, out)) {
        return false;
    }
    ctune_frame *f = *out;
    const char *name = ctune_cx_name(b->arena, call);
    for (int i = 0; i < f->n && !is_single; i++) {
        CXCursor parameter = clang_Cursor_getArgument(definition, (unsigned)i);
        CXCursor arg = f->at[i].value;
        CXType type = clang_getCursorType(parameter);
        ctune_var *var = ctune_vars_find(b, parameter);
        if (calls_ours(b, arg)) {
            return ctune_inline_refuse(b, call, name, "an argument is a call, too");
        }
        if (ctune_cx_is_pointer(type)) {
            if (var != NULL && var->n_writes > 0) {
                return ctune_inline_refuse(b, call, name, "it moves its pointers");
            }
            continue;
        }
        bool is_float = ctune_cx_type(type) >= CTUNE_F16;
        if (var == NULL || (var->n_writes == 0 && is_plain(b, arg, is_float))) {
            continue;
        }
        f->at[i].decl = clang_getNullCursor();
        ctune_variable_declare(b, var);
        if (!ctune_type_check(b, type, parameter) ||
            !ctune_assign_initialiser(b, parameter, var, arg)) {
            return false;
        }
    }
    f->n_open = b->n_open;
    return true;
}

static bool build_body(ctune_build *b, ctune_frame *frame, ctune_kids body) {
    ctune_frame *kept = b->frame;
    bool was_tail = b->in_tail, may_store = b->may_store;
    int n_lazy = b->n_lazy;
    b->frame = frame;
    b->may_store = false;
    bool ok = ctune_branch_list(b, body, true);
    b->frame = kept;
    b->in_tail = was_tail;
    b->may_store = may_store;
    b->n_lazy = n_lazy;
    return ok;
}

/* ---- calls as statements --------------------------------------------------------------------- */

/* One store at most on each way through: the arguments are read before it. */
static bool is_single(ctune_build *b, ctune_kids list) {
    int n = 0;
    for (int i = 0; i < list.n; i++) {
        enum CXCursorKind kind = ctune_cx_kind(list.at[i]);
        bool is_if = kind == CXCursor_IfStmt;
        ctune_kids kids = ctune_cx_exprs(b->arena, list.at[i]);
        if (is_if) {
            for (int k = 1; k < kids.n; k++) {
                if (!is_single(b, ctune_cx_statements(b->arena, kids.at[k]))) {
                    return false;
                }
            }
        } else if (kind != CXCursor_NullStmt && !ctune_cx_is_expr(list.at[i])) {
            return false;
        }
        n += kind != CXCursor_NullStmt;
    }
    return n <= 1;
}

bool ctune_inline_statement(ctune_build *b, CXCursor call, CXCursor definition) {
    ctune_frame *frame = NULL;
    CXCursor kept_call = b->call;
    ctune_kids body = ctune_inline_body(b, definition);
    b->call = b->frame == NULL ? call : kept_call; /* messages speak of the call in the region */
    bool ok =
        open_frame(b, call, definition, is_single(b, body), &frame) && build_body(b, frame, body);
    b->call = kept_call;
    return ok;
}

/* ---- calls as values ------------------------------------------------------------------------- */

static bool always_returns(ctune_build *b, ctune_kids list) {
    if (list.n == 0) {
        return false;
    }
    CXCursor last = list.at[list.n - 1];
    ctune_kids kids = ctune_cx_exprs(b->arena, last);
    switch (ctune_cx_kind(last)) {
    case CXCursor_ReturnStmt:
        return kids.n == 1;
    case CXCursor_CompoundStmt:
        return always_returns(b, ctune_cx_statements(b->arena, last));
    case CXCursor_IfStmt:
        return kids.n == 3 && always_returns(b, ctune_cx_statements(b->arena, kids.at[1])) &&
               always_returns(b, ctune_cx_statements(b->arena, kids.at[2]));
    default:
        return false;
    }
}

bool ctune_callee_can(ctune_build *b, CXCursor definition) {
    return b->n_lazy == 0 && !b->in_subscript &&
           always_returns(b, ctune_inline_body(b, definition));
}

bool ctune_callee_is_value(ctune_build *b, CXCursor cursor) {
    for (int i = 0; i < 8; i++) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        enum CXCursorKind kind = ctune_cx_kind(cursor);
        bool is_wrapper = kind == CXCursor_UnexposedExpr || kind == CXCursor_ParenExpr ||
                          kind == CXCursor_CStyleCastExpr;
        if (!is_wrapper || kids.n != 1) {
            return kind == CXCursor_CallExpr;
        }
        cursor = kids.at[0];
    }
    return false;
}

ctune_expr *ctune_callee_value(ctune_build *b, CXCursor call, CXCursor definition, bool may_store) {
    ctune_frame *frame = NULL;
    CXCursor kept_call = b->call;
    const char *name = ctune_cx_name(b->arena, call);
    ctune_type type = ctune_cx_type(clang_getCursorResultType(definition));
    if (!may_store && stores(b, definition, definition, 0)) {
        ctune_inline_refuse(b, call, name, "it stores, and is only a part of the expression");
        return NULL;
    }
    b->call = b->frame == NULL ? call : kept_call;
    ctune_expr *read = NULL;
    if (open_frame(b, call, definition, false, &frame)) {
        frame->result = ctune_temporary_new(b, name, type, call);
        read = frame->result >= 0 && build_body(b, frame, ctune_inline_body(b, definition))
                   ? ctune_expr_new(b, CTUNE_OP_READ, type, 0)
                   : NULL;
    }
    if (read != NULL) {
        read->read_id = ctune_temporary_use(b, frame->result, &read->access, call);
    }
    b->call = kept_call;
    return read != NULL && read->read_id >= 0 ? read : NULL;
}

bool ctune_callee_returns(const ctune_build *b) {
    return b->frame != NULL && b->frame->n_open == b->n_open;
}

bool ctune_callee_return(ctune_build *b, CXCursor statement) {
    ctune_kids kids = ctune_cx_exprs(b->arena, statement);
    if (b->frame->result < 0) {
        return kids.n == 0 || !ctune_cx_has_effect(b->arena, kids.at[0]) ||
               ctune_inline_refuse(b, b->call, ctune_cx_name(b->arena, b->call),
                                   "what it returns has effects");
    }
    ctune_type type = b->tensors.at[b->frame->result].t.type;
    ctune_access *target = CTUNE_NEW(b->arena, ctune_access);
    ctune_expr *value = kids.n == 1 ? ctune_expr_get(b, kids.at[0]) : NULL;
    int acc = target == NULL || value == NULL
                  ? -1
                  : ctune_temporary_use(b, b->frame->result, target, statement);
    ctune_expr *rhs = acc < 0 ? NULL : ctune_expr_cast(b, value, type);
    ctune_mnode *stage = ctune_stage_new(b, statement, target, acc, CTUNE_UPDATE_SET, type, rhs);
    return stage != NULL && ctune_mnode_add(b, b->at, stage);
}

/* libclang helpers: see cx.h. */
#include "plugin/extract/cx.h"

#include <string.h>

typedef struct kid_list {
    ctune_arena *arena;
    CXCursor *at;
    int n, size;
} kid_list;

static enum CXChildVisitResult collect_kid(CXCursor cursor, CXCursor parent, CXClientData data) {
    (void)parent;
    kid_list *list = data;
    if (list->n == list->size) {
        int size = list->size == 0 ? 4 : 2 * list->size;
        CXCursor *at = CTUNE_NEW_ARRAY(list->arena, CXCursor, size);
        if (at == NULL) {
            return CXChildVisit_Break;
        }
        if (list->n > 0) {
            memcpy(at, list->at, (size_t)list->n * sizeof *at);
        }
        list->at = at;
        list->size = size;
    }
    list->at[list->n++] = cursor;
    return CXChildVisit_Continue;
}

ctune_kids ctune_cx_kids(ctune_arena *arena, CXCursor cursor) {
    kid_list list = {.arena = arena};
    clang_visitChildren(cursor, collect_kid, &list);
    if (ctune_arena_has_failed(arena)) {
        return (ctune_kids){0, NULL};
    }
    return (ctune_kids){list.n, list.at};
}

bool ctune_cx_is_expr(CXCursor cursor) {
    return clang_isExpression(clang_getCursorKind(cursor)) != 0;
}

ctune_kids ctune_cx_exprs(ctune_arena *arena, CXCursor cursor) {
    ctune_kids kids = ctune_cx_kids(arena, cursor);
    CXCursor *kept = CTUNE_NEW_ARRAY(arena, CXCursor, kids.n);
    int n = 0;
    for (int i = 0; i < kids.n && kept != NULL; i++) {
        enum CXCursorKind kind = clang_getCursorKind(kids.at[i]);
        if (clang_isExpression(kind) || clang_isStatement(kind)) {
            kept[n++] = kids.at[i];
        }
    }
    return (ctune_kids){n, kept};
}

static const char *take(ctune_arena *arena, CXString text) {
    const char *s = clang_getCString(text);
    const char *copy = ctune_arena_strdup(arena, s != NULL ? s : "");
    clang_disposeString(text);
    return copy != NULL ? copy : "";
}

const char *ctune_cx_name(ctune_arena *arena, CXCursor cursor) {
    return take(arena, clang_getCursorSpelling(cursor));
}

const char *ctune_cx_type_name(ctune_arena *arena, CXType type) {
    return take(arena, clang_getTypeSpelling(type));
}

unsigned ctune_cx_begin(CXCursor cursor) {
    unsigned offset = 0;
    clang_getExpansionLocation(clang_getRangeStart(clang_getCursorExtent(cursor)), NULL, NULL, NULL,
                               &offset);
    return offset;
}

unsigned ctune_cx_end(CXCursor cursor) {
    unsigned offset = 0;
    clang_getExpansionLocation(clang_getRangeEnd(clang_getCursorExtent(cursor)), NULL, NULL, NULL,
                               &offset);
    return offset;
}

bool ctune_cx_is_same_file(CXCursor a, CXCursor b) {
    CXFile of_a = NULL, of_b = NULL;
    clang_getExpansionLocation(clang_getCursorLocation(a), &of_a, NULL, NULL, NULL);
    clang_getExpansionLocation(clang_getCursorLocation(b), &of_b, NULL, NULL, NULL);
    return of_a != NULL && of_b != NULL && clang_File_isEqual(of_a, of_b) != 0;
}

ctune_type ctune_cx_type(CXType type) {
    CXType t = clang_getCanonicalType(type);
    switch (t.kind) {
    case CXType_Bool:
        return CTUNE_BOOL;
    case CXType_Char_S:
    case CXType_SChar:
        return CTUNE_I8;
    case CXType_Char_U:
    case CXType_UChar:
        return CTUNE_U8;
    case CXType_Short:
        return CTUNE_I16;
    case CXType_UShort:
        return CTUNE_U16;
    case CXType_Int:
    case CXType_WChar:
        return CTUNE_I32;
    case CXType_UInt:
        return CTUNE_U32;
    case CXType_Long:
    case CXType_LongLong:
        return CTUNE_I64;
    case CXType_ULong:
    case CXType_ULongLong:
        return CTUNE_U64;
    case CXType_Float16:
        return CTUNE_F16;
    case CXType_Float:
        return CTUNE_F32;
    case CXType_Double:
        return CTUNE_F64;
    case CXType_LongDouble:
        return CTUNE_F80;
    case CXType_Enum:
        return ctune_cx_type(clang_getEnumDeclIntegerType(clang_getTypeDeclaration(t)));
    default:
        return CTUNE_N_TYPES;
    }
}

bool ctune_cx_is_array(CXType type) {
    switch (clang_getCanonicalType(type).kind) {
    case CXType_ConstantArray:
    case CXType_IncompleteArray:
    case CXType_VariableArray:
    case CXType_DependentSizedArray:
        return true;
    default:
        return false;
    }
}

bool ctune_cx_is_pointer(CXType type) {
    return clang_getCanonicalType(type).kind == CXType_Pointer || ctune_cx_is_array(type);
}

CXType ctune_cx_pointee(CXType type) {
    CXType t = clang_getCanonicalType(type);
    return t.kind == CXType_Pointer ? clang_getPointeeType(t) : clang_getArrayElementType(t);
}

bool ctune_cx_is_same_type(CXType a, CXType b) {
    a = clang_getUnqualifiedType(clang_getCanonicalType(a));
    b = clang_getUnqualifiedType(clang_getCanonicalType(b));
    return clang_equalTypes(a, b) != 0;
}

bool ctune_cx_int(CXCursor cursor, int64_t *out) {
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    bool ok = result != NULL && clang_EvalResult_getKind(result) == CXEval_Int;
    if (ok && clang_EvalResult_isUnsignedInt(result)) {
        unsigned long long value = clang_EvalResult_getAsUnsigned(result);
        *out = (int64_t)value;
    } else if (ok) {
        *out = clang_EvalResult_getAsLongLong(result);
    }
    if (result != NULL) {
        clang_EvalResult_dispose(result);
    }
    return ok;
}

bool ctune_cx_float(CXCursor cursor, double *out) {
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    bool ok = result != NULL && clang_EvalResult_getKind(result) == CXEval_Float;
    if (ok) {
        *out = clang_EvalResult_getAsDouble(result);
    }
    if (result != NULL) {
        clang_EvalResult_dispose(result);
    }
    return ok;
}

CXCursor ctune_cx_strip(ctune_arena *arena, CXCursor cursor) {
    for (;;) {
        enum CXCursorKind kind = clang_getCursorKind(cursor);
        bool is_wrapper = kind == CXCursor_ParenExpr || kind == CXCursor_UnexposedExpr ||
                          (kind == CXCursor_UnaryOperator &&
                           clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_Extension);
        if (!is_wrapper) {
            return cursor;
        }
        ctune_kids kids = ctune_cx_exprs(arena, cursor);
        if (kids.n != 1 ||
            !ctune_cx_is_same_type(clang_getCursorType(cursor), clang_getCursorType(kids.at[0]))) {
            return cursor;
        }
        cursor = kids.at[0];
    }
}

CXCursor ctune_cx_decl(CXCursor cursor) {
    return clang_getCanonicalCursor(clang_getCursorReferenced(cursor));
}

static bool has_side_effect(CXCursor cursor) {
    enum CXUnaryOperatorKind kind = clang_getCursorUnaryOperatorKind(cursor);
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    return (kind >= CXUnaryOperator_PostInc && kind <= CXUnaryOperator_PreDec) ||
           (op >= CXBinaryOperator_Assign && op < CXBinaryOperator_Comma) ||
           clang_getCursorKind(cursor) == CXCursor_CallExpr ||
           clang_getCursorKind(cursor) == CXCursor_StmtExpr;
}

bool ctune_cx_has_effect(ctune_arena *arena, CXCursor cursor) {
    ctune_kids kids = ctune_cx_kids(arena, cursor);
    bool found = has_side_effect(cursor);
    for (int i = 0; i < kids.n && !found; i++) {
        found = ctune_cx_has_effect(arena, kids.at[i]);
    }
    return found;
}

bool ctune_cx_is_same_expr(ctune_arena *arena, CXCursor a, CXCursor b) {
    a = ctune_cx_strip(arena, a);
    b = ctune_cx_strip(arena, b);
    enum CXCursorKind kind = clang_getCursorKind(a);
    if (kind != clang_getCursorKind(b) || has_side_effect(a) ||
        !ctune_cx_is_same_type(clang_getCursorType(a), clang_getCursorType(b)) ||
        clang_getCursorBinaryOperatorKind(a) != clang_getCursorBinaryOperatorKind(b) ||
        clang_getCursorUnaryOperatorKind(a) != clang_getCursorUnaryOperatorKind(b)) {
        return false;
    }
    if (kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr) {
        if (!clang_equalCursors(ctune_cx_decl(a), ctune_cx_decl(b))) {
            return false;
        }
    } else if (kind == CXCursor_IntegerLiteral || kind == CXCursor_CharacterLiteral) {
        int64_t x, y;
        return ctune_cx_int(a, &x) && ctune_cx_int(b, &y) && x == y;
    } else if (kind == CXCursor_FloatingLiteral) {
        double x, y;
        return ctune_cx_float(a, &x) && ctune_cx_float(b, &y) && x == y;
    }
    ctune_kids ka = ctune_cx_exprs(arena, a), kb = ctune_cx_exprs(arena, b);
    bool same = ka.n == kb.n && (ka.n > 0 || kind == CXCursor_DeclRefExpr);
    for (int i = 0; i < ka.n && same; i++) {
        same = ctune_cx_is_same_expr(arena, ka.at[i], kb.at[i]);
    }
    return same;
}

ctune_kids ctune_cx_statements(ctune_arena *arena, CXCursor statement) {
    if (ctune_cx_kind(statement) == CXCursor_CompoundStmt) {
        return ctune_cx_kids(arena, statement);
    }
    CXCursor *one = CTUNE_NEW_ARRAY(arena, CXCursor, 1);
    if (one == NULL) {
        return (ctune_kids){0, NULL};
    }
    *one = statement;
    return (ctune_kids){1, one};
}

/*
 * Thin helpers over libclang's C API: children as arrays, types as ours, places as bytes of the
 * parsed text.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_CX_H
#define CTUNE_PLUGIN_EXTRACT_CX_H

#include "runtime/arena.h"
#include "search/te/te.h"

#include <clang-c/Index.h>

typedef struct ctune_kids {
    int n;
    const CXCursor *at;
} ctune_kids;

/* Children in libclang's order; n = 0 when there are none or memory is out (the arena remembers).
 */
ctune_kids ctune_cx_kids(ctune_arena *arena, CXCursor cursor);
/* The statements of a block, or the one that stands without braces; none when memory is out. */
ctune_kids ctune_cx_statements(ctune_arena *arena, CXCursor statement);
/* The same without type references and attributes: sub-expressions and sub-statements. */
ctune_kids ctune_cx_exprs(ctune_arena *arena, CXCursor cursor);

const char *ctune_cx_name(ctune_arena *arena, CXCursor cursor);
const char *ctune_cx_type_name(ctune_arena *arena, CXType type);

/* Byte offsets in the file to which macros are expanded. */
unsigned ctune_cx_begin(CXCursor cursor);
unsigned ctune_cx_end(CXCursor cursor);

bool ctune_cx_is_same_file(CXCursor a, CXCursor b);

/* Our type of an arithmetic C type; CTUNE_N_TYPES when it is none of ours. Enumerations are their
 * integer type. */
ctune_type ctune_cx_type(CXType type);
bool ctune_cx_is_pointer(CXType type); /* pointer, array, or function */
bool ctune_cx_is_array(CXType type);
/* Type of what a pointer or array points to. */
CXType ctune_cx_pointee(CXType type);
/* The same type when qualifiers are dropped? */
bool ctune_cx_is_same_type(CXType a, CXType b);

bool ctune_cx_is_expr(CXCursor cursor);
/* Value of an integer constant expression. */
bool ctune_cx_int(CXCursor cursor, int64_t *out);
bool ctune_cx_float(CXCursor cursor, double *out);
/* Without parentheses, __extension__ and wrappers that keep the type. */
CXCursor ctune_cx_strip(ctune_arena *arena, CXCursor cursor);
/* The declaration that a DeclRefExpr or MemberRefExpr names. */
CXCursor ctune_cx_decl(CXCursor cursor);
/* Does it assign, count or call, anywhere below? */
bool ctune_cx_has_effect(ctune_arena *arena, CXCursor cursor);
/* Same expression, as written? Side effects never compare equal. */
bool ctune_cx_is_same_expr(ctune_arena *arena, CXCursor a, CXCursor b);

static inline enum CXCursorKind ctune_cx_kind(CXCursor c) {
    return clang_getCursorKind(c);
}

#endif

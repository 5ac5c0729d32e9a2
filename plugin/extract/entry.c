/*
 * Entry values: which constant does a variable hold when the region begins?
 *
 * In: the function's tree and the region's place. Out: the constant of the last assignment or
 * initialiser before the region, when it always runs and nothing comes between. Conservative: loops
 * around the region that do not set it again, jumps, and any other write make it unknown.
 */
#include "plugin/extract/build.h"

typedef enum found { NOTHING, CONSTANT, UNKNOWN } found;

static bool contains_region(const ctune_build *b, CXCursor cursor) {
    return ctune_cx_begin(cursor) <= b->begin && ctune_cx_end(cursor) + 1 >= b->end &&
           ctune_cx_is_same_file(cursor, b->function);
}

/* A statement before the region. */
static found last_value(ctune_build *b, CXCursor statement, const ctune_var *var, int64_t *value) {
    CXCursor at = ctune_cx_strip(b->arena, statement);
    ctune_kids kids = ctune_cx_exprs(b->arena, at);
    if (ctune_cx_kind(statement) == CXCursor_DeclStmt) {
        ctune_kids decls = ctune_cx_kids(b->arena, statement);
        for (int i = 0; i < decls.n; i++) {
            ctune_kids exprs = ctune_cx_exprs(b->arena, decls.at[i]);
            if (clang_equalCursors(clang_getCanonicalCursor(decls.at[i]), var->decl)) {
                return exprs.n > 0 && ctune_cx_int(exprs.at[exprs.n - 1], value) ? CONSTANT
                                                                                 : UNKNOWN;
            }
        }
    }
    if (clang_getCursorBinaryOperatorKind(at) == CXBinaryOperator_Assign && kids.n == 2) {
        CXCursor left = ctune_cx_strip(b->arena, kids.at[0]);
        bool is_ours = ctune_cx_kind(left) == CXCursor_DeclRefExpr &&
                       clang_equalCursors(ctune_cx_decl(left), var->decl);
        if (is_ours) {
            return ctune_cx_int(kids.at[1], value) ? CONSTANT : UNKNOWN;
        }
    }
    return ctune_vars_count_writes(b, statement, var) > 0 ? UNKNOWN : NOTHING;
}

static bool has_jump(ctune_build *b, CXCursor cursor) {
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    if (kind == CXCursor_LabelStmt || kind == CXCursor_GotoStmt || kind == CXCursor_SwitchStmt ||
        kind == CXCursor_IndirectGotoStmt) {
        return true;
    }
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        if (has_jump(b, kids.at[i])) {
            return true;
        }
    }
    return false;
}

static found walk(ctune_build *b, CXCursor cursor, const ctune_var *var, int64_t *value,
                  int depth) {
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    bool is_loop =
        kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt;
    int at = 0;
    while (at < kids.n && !contains_region(b, kids.at[at])) {
        at++;
    }
    if (at == kids.n || depth > 200) {
        return NOTHING;
    }
    bool is_region = ctune_cx_begin(kids.at[at]) == b->begin;
    found inner = is_region ? NOTHING : walk(b, kids.at[at], var, value, depth + 1);
    if (inner != NOTHING || kind != CXCursor_CompoundStmt) {
        return inner == NOTHING && is_loop ? UNKNOWN : inner;
    }
    for (int i = at - 1; i >= 0 && inner == NOTHING; i--) {
        inner = last_value(b, kids.at[i], var, value);
    }
    return inner;
}

bool ctune_entry_constant(ctune_build *b, const ctune_var *var, int64_t *value) {
    return var->is_automatic && !var->is_address_taken && !has_jump(b, b->function) &&
           walk(b, b->function, var, value, 0) == CONSTANT;
}

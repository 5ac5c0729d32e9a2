/*
 * Variables: who is mentioned in the region, written where, alive afterwards?
 *
 * In: the enclosing function and the annotated statement. Out: b->vars. One walk over the function.
 * Liveness is conservative: a variable is dead after the region only when nothing can read it
 * before it is written again.
 */
#include "plugin/extract/build.h"

#include <stdio.h>

typedef struct scan {
    ctune_build *b;
    bool in_region;
    bool is_affine;   /* below a bound, subscript or condition */
    bool is_straight; /* runs whenever the code before it in the region's own block did */
    bool counts_only; /* second pass: only count for `only` */
    const ctune_var *only;
    int n_writes;
    int n_calls; /* functions entered */
} scan;

/* What the function does after the region, per variable. Parallel to b->vars. */
typedef struct after {
    size_t first_read, first_write; /* offset, SIZE_MAX = none; writes only where unconditional */
    bool is_outside; /* mentioned outside the region (not counting its declaration) */
} after;

typedef struct function_facts {
    CTUNE_LIST(after) after;
    bool has_jump; /* goto, labels, break, continue, return somewhere outside the region */
    CTUNE_LIST(CXCursor) loops; /* around the region */
} function_facts;

ctune_var *ctune_vars_find(ctune_build *b, CXCursor decl) {
    CXCursor canonical = clang_getCanonicalCursor(decl);
    for (int i = 0; i < b->vars.n; i++) {
        if (clang_equalCursors(b->vars.at[i].decl, canonical)) {
            return &b->vars.at[i];
        }
    }
    return NULL;
}

static bool is_variable(CXCursor decl) {
    enum CXCursorKind kind = clang_getCursorKind(decl);
    return kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl;
}

static bool contains(CXCursor outer, size_t begin, size_t end) {
    return ctune_cx_begin(outer) <= begin && ctune_cx_end(outer) >= end;
}

/* The region's function's, or the file's; not of a function that is called. */
static bool belongs(const ctune_build *b, CXCursor decl) {
    CXCursor parent = clang_getCursorSemanticParent(decl);
    return ctune_cx_kind(parent) != CXCursor_FunctionDecl ||
           clang_equalCursors(clang_getCanonicalCursor(parent),
                              clang_getCanonicalCursor(b->function));
}

static ctune_var *add_var(ctune_build *b, CXCursor decl) {
    ctune_var *var = ctune_vars_find(b, decl);
    if (var != NULL) {
        return var;
    }
    var = CTUNE_PUSH(b, b->vars);
    if (var == NULL) {
        return NULL;
    }
    var->decl = clang_getCanonicalCursor(decl);
    var->name = ctune_cx_name(b->arena, decl);
    var->type = clang_getCanonicalType(clang_getCursorType(decl));
    var->is_parameter = clang_getCursorKind(decl) == CXCursor_ParmDecl;
    bool is_linked = clang_getCursorLinkage(decl) == CXLinkage_External ||
                     clang_getCursorLinkage(decl) == CXLinkage_Internal;
    enum CX_StorageClass storage = clang_Cursor_getStorageClass(decl);
    var->is_automatic = !is_linked && storage != CX_SC_Static && storage != CX_SC_Extern;
    var->is_callee = !belongs(b, decl);
    var->is_inside =
        var->is_callee ||
        (clang_equalCursors(clang_getCursorSemanticParent(decl), b->function) &&
         !var->is_parameter && ctune_cx_begin(decl) >= b->begin && ctune_cx_end(decl) <= b->end);
    var->param = var->tensor = -1;
    return var;
}

/* Below expression wrappers and member accesses: the variable whose own storage the lvalue names,
 * else NULL. */
static CXCursor own_variable(ctune_build *b, CXCursor lvalue) {
    for (;;) {
        lvalue = ctune_cx_strip(b->arena, lvalue);
        enum CXCursorKind kind = ctune_cx_kind(lvalue);
        if (kind == CXCursor_DeclRefExpr) {
            CXCursor decl = clang_getCursorReferenced(lvalue);
            return is_variable(decl) ? clang_getCanonicalCursor(decl) : clang_getNullCursor();
        }
        ctune_kids kids = ctune_cx_exprs(b->arena, lvalue);
        bool is_dot = kind == CXCursor_MemberRefExpr && kids.n > 0 &&
                      !ctune_cx_is_pointer(clang_getCursorType(kids.at[0]));
        if (!is_dot) {
            return clang_getNullCursor();
        }
        lvalue = kids.at[0];
    }
}

/* The variable at which a stored element's path begins: a of a[i], s of s->p[i].x. */
static CXCursor stored_root(ctune_build *b, CXCursor lvalue) {
    for (int i = 0; i < 100; i++) {
        lvalue = ctune_cx_strip(b->arena, lvalue);
        if (ctune_cx_kind(lvalue) == CXCursor_DeclRefExpr) {
            CXCursor decl = clang_getCursorReferenced(lvalue);
            return is_variable(decl) ? clang_getCanonicalCursor(decl) : clang_getNullCursor();
        }
        ctune_kids kids = ctune_cx_exprs(b->arena, lvalue);
        int p = kids.n == 2 && !ctune_cx_is_pointer(clang_getCursorType(kids.at[0])) ? 1 : 0;
        if (kids.n == 0) {
            return clang_getNullCursor();
        }
        lvalue = kids.at[p];
    }
    return clang_getNullCursor();
}

static bool is_write(CXCursor cursor) {
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(cursor);
    enum CXUnaryOperatorKind unary = clang_getCursorUnaryOperatorKind(cursor);
    return (op >= CXBinaryOperator_Assign && op < CXBinaryOperator_Comma) ||
           (unary >= CXUnaryOperator_PostInc && unary <= CXUnaryOperator_PreDec);
}

static bool mentions(ctune_build *b, CXCursor cursor, CXCursor decl) {
    if (ctune_cx_kind(cursor) == CXCursor_DeclRefExpr) {
        return clang_equalCursors(ctune_cx_decl(cursor), decl) != 0;
    }
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        if (mentions(b, kids.at[i], decl)) {
            return true;
        }
    }
    return false;
}

/* ---- in the region --------------------------------------------------------------------------- */

static bool is_affine_kid(CXCursor parent, ctune_kids kids, int i) {
    switch (ctune_cx_kind(parent)) {
    case CXCursor_ForStmt:
        return i + 1 < kids.n;
    case CXCursor_IfStmt:
    case CXCursor_WhileStmt:
    case CXCursor_SwitchStmt:
        return i == 0;
    case CXCursor_DoStmt:
        return i + 1 == kids.n;
    case CXCursor_CallExpr:
        return i > 0 && !clang_Cursor_isNull(ctune_inline_definition(parent)) &&
               ctune_cx_type(clang_getCursorType(kids.at[i])) < CTUNE_F16;
    case CXCursor_ArraySubscriptExpr:
        return !ctune_cx_is_pointer(clang_getCursorType(kids.at[i]));
    case CXCursor_BinaryOperator:
        return ctune_cx_is_pointer(clang_getCursorType(parent)) &&
               !ctune_cx_is_pointer(clang_getCursorType(kids.at[i]));
    case CXCursor_VarDecl: {
        CXType type = clang_getCursorType(parent);
        ctune_type t = ctune_cx_type(type);
        return ctune_cx_is_pointer(type) || (t < CTUNE_F16 && t != CTUNE_N_TYPES);
    }
    default:
        return false;
    }
}

static bool scan_region(scan *s, CXCursor cursor, bool is_affine, int depth);

static bool scan_kids(scan *s, CXCursor cursor, bool is_affine, int depth) {
    ctune_kids kids = ctune_cx_kids(s->b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        if (!scan_region(s, kids.at[i], is_affine || is_affine_kid(cursor, kids, i), depth)) {
            return false;
        }
    }
    return !ctune_arena_has_failed(s->b->arena);
}

/* Sizes of variable arrays are read with the array. */
static bool scan_declaration(scan *s, ctune_var *var) {
    if (var == NULL || (!var->is_inside && !ctune_cx_is_pointer(var->type))) {
        return var != NULL;
    }
    if (var->is_inside) {
        return true; /* its declaration is below the statement */
    }
    ctune_kids kids = ctune_cx_exprs(s->b->arena, var->decl);
    for (int i = 0; i < kids.n; i++) {
        ctune_type t = ctune_cx_type(clang_getCursorType(kids.at[i]));
        if (t < CTUNE_F16 && !scan_region(s, kids.at[i], true, 100)) {
            return false;
        }
    }
    return true;
}

/* A function whose body will stand for its call: its own variables, and the file's that it uses. */
static bool scan_callee(scan *s, CXCursor call, int depth) {
    CXCursor definition = ctune_inline_definition(call);
    if (clang_Cursor_isNull(definition) || s->n_calls >= 16) {
        return true;
    }
    s->n_calls++;
    bool ok = scan_kids(s, definition, false, depth + 1);
    s->n_calls--;
    return ok;
}

static bool scan_region(scan *s, CXCursor cursor, bool is_affine, int depth) {
    ctune_build *b = s->b;
    if (depth > 400) {
        return ctune_build_refuse(b, CTUNE_REFUSE_TOO_COMPLEX, cursor,
                                  "the code is nested too deeply");
    }
    if (is_write(cursor)) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        CXCursor decl = kids.n > 0 ? own_variable(b, kids.at[0]) : clang_getNullCursor();
        if (!clang_Cursor_isNull(decl)) {
            ctune_var *var = add_var(b, decl);
            if (var == NULL) {
                return false;
            }
            var->is_changed |= var->is_callee;
            var->n_writes++;
        }
        CXCursor root = kids.n > 0 ? stored_root(b, kids.at[0]) : clang_getNullCursor();
        if (clang_Cursor_isNull(decl) && !clang_Cursor_isNull(root)) {
            ctune_var *var = add_var(b, root);
            if (var == NULL) {
                return false;
            }
            var->is_stored_through = true;
        }
    }
    CXCursor decl =
        ctune_cx_kind(cursor) == CXCursor_DeclRefExpr ? clang_getCursorReferenced(cursor) : cursor;
    if (s->n_calls > 0 && clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_AddrOf) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        CXCursor own = kids.n > 0 ? own_variable(b, kids.at[0]) : clang_getNullCursor();
        ctune_var *var = clang_Cursor_isNull(own) ? NULL : add_var(b, own);
        if (var != NULL) {
            var->is_address_taken = true;
        }
    }
    if (ctune_cx_kind(cursor) == CXCursor_CallExpr && !scan_callee(s, cursor, depth)) {
        return false;
    }
    if (is_variable(decl)) {
        ctune_var *var = add_var(b, decl);
        bool is_new = var != NULL && !var->is_scanned;
        if (var != NULL) {
            var->is_scanned = true;
        }
        if (var == NULL || (is_new && !scan_declaration(s, var))) {
            return false;
        }
        var = ctune_vars_find(b, decl); /* the list may have moved */
        var->is_used_affinely |= is_affine && ctune_cx_kind(cursor) == CXCursor_DeclRefExpr;
    }
    return scan_kids(s, cursor, is_affine, depth + 1);
}

int ctune_vars_count_writes(ctune_build *b, CXCursor cursor, const ctune_var *var) {
    int n = 0;
    if (is_write(cursor)) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        n += kids.n > 0 && clang_equalCursors(own_variable(b, kids.at[0]), var->decl);
    }
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        n += ctune_vars_count_writes(b, kids.at[i], var);
    }
    return n;
}

/* ---- in the function ------------------------------------------------------------------------- */

static int var_index(ctune_build *b, CXCursor decl) {
    ctune_var *var = ctune_vars_find(b, decl);
    return var != NULL ? (int)(var - b->vars.at) : -1;
}

/* `x = e` with x one of ours and e not reading it. */
static int plain_write(ctune_build *b, CXCursor cursor) {
    if (clang_getCursorBinaryOperatorKind(cursor) != CXBinaryOperator_Assign) {
        return -1;
    }
    ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
    CXCursor left = kids.n == 2 ? ctune_cx_strip(b->arena, kids.at[0]) : cursor;
    if (ctune_cx_kind(left) != CXCursor_DeclRefExpr ||
        mentions(b, kids.at[1], ctune_cx_decl(left))) {
        return -1;
    }
    return var_index(b, ctune_cx_decl(left));
}

static bool is_loop(enum CXCursorKind kind) {
    return kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt;
}

static void scan_function(ctune_build *b, function_facts *f, CXCursor cursor, bool is_straight,
                          int depth) {
    size_t begin = ctune_cx_begin(cursor), end = ctune_cx_end(cursor);
    bool is_region = begin >= b->begin && end <= b->end && clang_isStatement(ctune_cx_kind(cursor));
    bool is_around = contains(cursor, b->begin, b->end);
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    bool is_outside = !is_around && (end <= b->begin || begin >= b->end);
    if (depth > 400) {
        f->has_jump = true;
        return;
    }
    if (is_around && !is_region && is_loop(kind)) {
        CXCursor *loop = CTUNE_PUSH(b, f->loops);
        if (loop != NULL) {
            *loop = cursor;
        }
    }
    f->has_jump |= is_outside && (kind == CXCursor_GotoStmt || kind == CXCursor_LabelStmt ||
                                  kind == CXCursor_BreakStmt || kind == CXCursor_ContinueStmt ||
                                  kind == CXCursor_SwitchStmt || kind == CXCursor_IndirectGotoStmt);
    f->has_jump |= is_around && (kind == CXCursor_LabelStmt || kind == CXCursor_SwitchStmt);
    if (clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_AddrOf) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        int i = kids.n > 0 ? var_index(b, own_variable(b, kids.at[0])) : -1;
        if (i >= 0) {
            b->vars.at[i].is_address_taken = true;
        }
    }
    if (is_write(cursor)) {
        ctune_kids kids = ctune_cx_exprs(b->arena, cursor);
        int i = kids.n > 0 ? var_index(b, own_variable(b, kids.at[0])) : -1;
        if (i >= 0) {
            b->vars.at[i].is_changed = true;
        }
    }
    int written = is_outside ? plain_write(b, cursor) : -1;
    if (written >= 0 && begin >= b->end && is_straight) {
        after *a = &f->after.at[written];
        a->first_write = begin < a->first_write ? begin : a->first_write;
    }
    if (kind == CXCursor_DeclRefExpr && is_outside) {
        int i = var_index(b, clang_getCursorReferenced(cursor));
        if (i >= 0) {
            after *a = &f->after.at[i];
            a->is_outside = true;
            if (begin >= b->end && begin < a->first_read) {
                a->first_read = begin;
            }
        }
    }
    ctune_kids kids = ctune_cx_kids(b->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        if (written >= 0 && i == 0) {
            continue; /* the target of a plain write is not read */
        }
        bool keeps = is_around || kind == CXCursor_CompoundStmt || kind == CXCursor_DeclStmt ||
                     (kind == CXCursor_ForStmt && i == 0) || written >= 0;
        scan_function(b, f, kids.at[i], is_straight && keeps, depth + 1);
    }
}

/* Counters of the loops around the region. */
static void mark_outer(ctune_build *b, const function_facts *f) {
    for (int i = 0; i < f->loops.n; i++) {
        ctune_kids kids = ctune_cx_kids(b->arena, f->loops.at[i]);
        CXCursor init = kids.n > 0 ? kids.at[0] : clang_getNullCursor();
        ctune_kids parts = kids.n > 0 ? ctune_cx_kids(b->arena, init) : kids;
        for (int v = 0; v < b->vars.n && parts.n > 0; v++) {
            bool declares =
                clang_equalCursors(clang_getCanonicalCursor(parts.at[0]), b->vars.at[v].decl) != 0;
            bool assigns = is_write(init) &&
                           clang_equalCursors(own_variable(b, parts.at[0]), b->vars.at[v].decl);
            b->vars.at[v].is_outer_counter |= declares || assigns;
        }
    }
}

static void set_liveness(ctune_build *b, const function_facts *f) {
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        const after *a = &f->after.at[i];
        bool is_looped = f->has_jump;
        for (int j = 0; j < f->loops.n; j++) { /* a variable declared in the body starts afresh */
            ctune_kids kids = ctune_cx_exprs(b->arena, f->loops.at[j]);
            bool is_do = ctune_cx_kind(f->loops.at[j]) == CXCursor_DoStmt;
            is_looped |=
                kids.n == 0 || !contains(kids.at[is_do ? 0 : kids.n - 1], ctune_cx_begin(var->decl),
                                         ctune_cx_end(var->decl));
        }
        bool is_overwritten = !f->has_jump && a->first_write < a->first_read;
        bool is_dead = is_overwritten || (is_looped ? !a->is_outside : a->first_read == SIZE_MAX);
        var->is_live_after =
            !var->is_inside && (!is_dead || !var->is_automatic || var->is_address_taken);
    }
}

/* Integers from which others that are used affinely are made: k = j + 1. true: some are new. */
static bool spread_affine(ctune_build *b, CXCursor at, bool is_affine) {
    bool any = false;
    if (ctune_cx_kind(at) == CXCursor_DeclRefExpr) {
        ctune_var *var = ctune_vars_find(b, clang_getCursorReferenced(at));
        any = is_affine && var != NULL && !var->is_used_affinely;
        if (any) {
            var->is_used_affinely = true;
        }
        return any;
    }
    enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(at);
    ctune_kids kids = ctune_cx_kids(b->arena, at);
    bool is_sum = op == CXBinaryOperator_Assign || op == CXBinaryOperator_AddAssign ||
                  op == CXBinaryOperator_SubAssign;
    if (is_sum && kids.n == 2) {
        CXCursor left = ctune_cx_strip(b->arena, kids.at[0]);
        ctune_var *var = ctune_cx_kind(left) == CXCursor_DeclRefExpr
                             ? ctune_vars_find(b, clang_getCursorReferenced(left))
                             : NULL;
        bool is_index = var != NULL && var->is_used_affinely && var->is_automatic &&
                        ctune_cx_type(var->type) < CTUNE_F16;
        return spread_affine(b, kids.at[1], is_index || is_affine);
    }
    bool is_arithmetic = ctune_cx_kind(at) == CXCursor_BinaryOperator ||
                         ctune_cx_kind(at) == CXCursor_UnaryOperator ||
                         ctune_cx_kind(at) == CXCursor_ParenExpr ||
                         ctune_cx_kind(at) == CXCursor_UnexposedExpr;
    for (int i = 0; i < kids.n; i++) {
        any |= spread_affine(b, kids.at[i], is_affine && is_arithmetic);
    }
    return any;
}

bool ctune_vars_scan(ctune_build *b) {
    scan s = {.b = b};
    if (!scan_region(&s, b->statement, false, 0)) {
        return false;
    }
    bool is_more = true;
    for (int i = 0; i < 8 && is_more; i++) {
        is_more = spread_affine(b, b->statement, false);
    }
    function_facts f = {0};
    for (int i = 0; i < b->vars.n; i++) {
        after *a = CTUNE_PUSH(b, f.after);
        if (a == NULL) {
            return false;
        }
        a->first_read = a->first_write = SIZE_MAX;
    }
    scan_function(b, &f, b->function, true, 0);
    set_liveness(b, &f);
    mark_outer(b, &f);
    return !ctune_arena_has_failed(b->arena);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_taken(ctune_build *b, const char *name) {
    for (int i = 0; i < b->params.n; i++) {
        if (strcmp(b->params.at[i].name, name) == 0) {
            return true;
        }
    }
    for (int i = 0; i < b->tensors.n; i++) {
        if (strcmp(b->tensors.at[i].t.name, name) == 0) {
            return true;
        }
    }
    for (int i = 0; i < b->axes.n; i++) {
        if (strcmp(b->axes.at[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *ctune_build_name(ctune_build *b, const char *wish) {
    char clean[80];
    size_t n = 0;
    for (const char *p = wish; *p != '\0' && n < 48; p++) {
        bool is_letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
                         (*p >= '0' && *p <= '9' && n > 0);
        if (is_letter) {
            clean[n++] = *p;
        } else if (n > 0 && clean[n - 1] != '_') {
            clean[n++] = '_';
        }
    }
    while (n > 0 && clean[n - 1] == '_' && wish[0] != '_') {
        n--;
    }
    if (n == 0) {
        clean[n++] = 'v';
    }
    clean[n] = '\0';
    char candidate[100];
    snprintf(candidate, sizeof candidate, "%s", clean);
    for (int i = 2; is_taken(b, candidate); i++) {
        snprintf(candidate, sizeof candidate, "%s_%d", clean, i);
    }
    return ctune_arena_strdup(b->arena, candidate);
}

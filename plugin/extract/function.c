/*
 * The function around a region, as a caller sees it: arguments, locals, and whether it may be
 * called just to see what its loop does.
 *
 * It may not when it is main, takes variable arguments, or calls something whose effects are not
 * known: a function that opens files must not run because somebody verifies a loop. Known are the
 * C library's functions of mathematics and memory, printing (which goes nowhere in the runner), and
 * functions defined in the file that call only such.
 */
#include "plugin/extract/function.h"

#include <string.h>

enum { MAX_DEPTH = 6 };

typedef struct walk {
    ctune_arena *arena;
    int n_locals, size;
    const char **locals;
    int depth; /* of calls */
    const char *obstacle;
} walk;

static bool is_harmless(const char *name) {
    static const char *const names[] = {
        "malloc",  "calloc", "realloc", "free",   "aligned_alloc", "posix_memalign",
        "memset",  "memcpy", "memmove", "printf", "puts",          "putchar",
        "fprintf", "abs",    "labs",    "abort",  "__assert_fail"};
    ctune_type type;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return strncmp(name, "__builtin_", 10) == 0 || ctune_math_find(name, &type) > 0;
}

static void put_local(walk *w, CXCursor cursor) {
    if (w->n_locals == w->size) {
        int size = w->size > 0 ? 2 * w->size : 16;
        const char **grown = CTUNE_NEW_ARRAY(w->arena, const char *, size);
        if (grown == NULL) {
            return;
        }
        for (int i = 0; i < w->n_locals; i++) {
            grown[i] = w->locals[i];
        }
        w->locals = grown;
        w->size = size;
    }
    w->locals[w->n_locals++] = ctune_cx_name(w->arena, cursor);
}

static void look_at_call(walk *w, CXCursor call);

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data) {
    walk *w = data;
    (void)parent;
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    if (kind == CXCursor_VarDecl && w->depth == 0) {
        put_local(w, cursor);
    } else if (w->obstacle != NULL) {
        return CXChildVisit_Recurse; /* for the rest of the locals */
    } else if (kind == CXCursor_CallExpr) {
        look_at_call(w, cursor);
    } else if (kind == CXCursor_GCCAsmStmt || kind == CXCursor_MSAsmStmt) {
        w->obstacle = "it has assembly in it";
    }
    return w->obstacle != NULL && w->depth > 0 ? CXChildVisit_Break : CXChildVisit_Recurse;
}

static void look_at_call(walk *w, CXCursor call) {
    CXCursor callee = clang_getCursorReferenced(call);
    const char *name = clang_Cursor_isNull(callee) ? NULL : ctune_cx_name(w->arena, callee);
    if (name == NULL || ctune_cx_kind(callee) != CXCursor_FunctionDecl) {
        w->obstacle = "it calls through a pointer";
        return;
    }
    if (is_harmless(name)) {
        return;
    }
    CXCursor definition = clang_getCursorDefinition(callee);
    if (clang_Cursor_isNull(definition) || w->depth == MAX_DEPTH) {
        w->obstacle = ctune_arena_printf(w->arena, "it calls %s()", name);
        return;
    }
    w->depth++;
    clang_visitChildren(definition, visit, w);
    w->depth--;
}

void ctune_function_describe(ctune_arena *arena, CXCursor function, ctune_unit_function *out) {
    memset(out, 0, sizeof *out);
    int n = clang_Cursor_getNumArguments(function);
    ctune_unit_arg *args = CTUNE_NEW_ARRAY(arena, ctune_unit_arg, n > 0 ? n : 1);
    for (int i = 0; args != NULL && i < n; i++) {
        CXCursor arg = clang_Cursor_getArgument(function, (unsigned)i);
        CXType type = clang_getCursorType(arg);
        args[i] = (ctune_unit_arg){ctune_cx_name(arena, arg), ctune_cx_type(type),
                                   ctune_cx_is_pointer(type)};
    }
    out->n_args = args != NULL && n > 0 ? n : 0;
    out->args = args;
    out->returns = ctune_cx_type(clang_getCursorResultType(function));
    walk w = {.arena = arena};
    clang_visitChildren(function, visit, &w);
    out->n_locals = w.n_locals;
    out->locals = w.locals;
    const char *name = ctune_cx_name(arena, function);
    if (name != NULL && strcmp(name, "main") == 0) {
        out->obstacle = "it is the whole program";
    } else if (clang_isFunctionTypeVariadic(clang_getCursorType(function)) != 0 && n > 0) {
        out->obstacle = "it takes variable arguments";
    } else {
        out->obstacle = w.obstacle;
    }
}

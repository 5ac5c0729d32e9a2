/*
 * Types and constants that another compile of the file may define otherwise.
 *
 * In: the region's tensors, typedefs and enumerators. Out: facts about those that lie under #if, in
 * a header of the user's, or whose text has macros that can differ: `CTUNE_IS_REAL(A[0][0], 8)`,
 * `M == 32`. The compiler folds them; with -DREAL=float the original loop runs.
 *
 * An element is checked by itself, not by its declaration, so whatever its type depends on is seen.
 */
#include "plugin/extract/unit.h"

#include <limits.h>

/* Do with each word of a declaration, from and to an offset in its file, until one is taken. What
 * is before the name (from 0) ends with the specifiers: `double x[N], y[N]` declares y, too. */
static bool any_word(ctune_parsed *p, CXCursor decl, unsigned from, unsigned to,
                     bool (*take)(ctune_parsed *p, ctune_build *b, const char *word),
                     ctune_build *b) {
    CXToken *tokens = NULL;
    unsigned n = 0;
    bool is_taken = false;
    clang_tokenize(p->unit, clang_getCursorExtent(decl), &tokens, &n);
    for (unsigned i = 0; i < n && !is_taken; i++) {
        unsigned at = 0;
        clang_getFileLocation(clang_getTokenLocation(p->unit, tokens[i]), NULL, NULL, NULL, &at);
        CXString text = clang_getTokenSpelling(p->unit, tokens[i]);
        const char *word = clang_getCString(text);
        if (clang_getTokenKind(tokens[i]) != CXToken_Punctuation) {
            is_taken = at >= from && at < to && take(p, b, word);
        } else if (from == 0 && to < UINT_MAX && strcmp(word, "*") != 0) {
            i = n; /* behind the specifiers: another declarator */
        }
        clang_disposeString(text);
    }
    if (tokens != NULL) {
        clang_disposeTokens(p->unit, tokens, n);
    }
    return is_taken;
}

static bool is_open_macro(ctune_parsed *p, ctune_build *b, const char *word) {
    (void)b;
    return ctune_macro_can_differ(p, word);
}

static bool fails_guard(ctune_parsed *p, ctune_build *b, const char *word) {
    return !ctune_macro_guard(p, b, ctune_arena_strdup(b->arena, word));
}

/* Its words up to the offset `end`. */
static bool decl_can_differ(ctune_parsed *p, CXCursor decl, unsigned end) {
    CXSourceLocation at = clang_getCursorLocation(decl);
    CXFile file = NULL;
    unsigned offset = 0;
    clang_getFileLocation(at, &file, NULL, NULL, &offset);
    if (clang_Location_isInSystemHeader(at)) {
        return false;
    }
    bool is_here = file != NULL && clang_File_isEqual(file, p->file);
    return !is_here || ctune_place_is_conditional(p, offset) ||
           any_word(p, decl, 0, end, is_open_macro, NULL);
}

/* A typedef on the way from the type to what it stands for can differ. */
static bool type_can_differ(ctune_parsed *p, CXType type) {
    enum { MOST_TYPEDEFS = 32 };
    for (int i = 0; i < MOST_TYPEDEFS; i++) {
        if (type.kind == CXType_Elaborated) {
            type = clang_Type_getNamedType(type);
        }
        if (type.kind != CXType_Typedef) {
            return false;
        }
        CXCursor decl = clang_getTypeDeclaration(type);
        if (decl_can_differ(p, decl, UINT_MAX)) {
            return true;
        }
        type = clang_getTypedefDeclUnderlyingType(decl);
    }
    return true;
}

/* The variable or member whose element an access names: A of A[i][j], x of s->x[3]. */
static CXCursor accessed_decl(ctune_build *b, CXCursor access) {
    while (ctune_cx_kind(access) != CXCursor_DeclRefExpr &&
           ctune_cx_kind(access) != CXCursor_MemberRefExpr) {
        ctune_kids kids = ctune_cx_exprs(b->arena, access);
        if (kids.n == 0) {
            return clang_getNullCursor();
        }
        access = kids.at[0];
    }
    return ctune_cx_decl(access);
}

static const char *element_check(ctune_build *b, const ctune_tensor *t) {
    const ctune_type_info *type = ctune_type_get(t->type);
    bool is_real = (type->flags & CTUNE_TF_FLOAT) != 0;
    bool is_signed = (type->flags & CTUNE_TF_SIGNED) != 0;
    const char *kind = is_real ? "REAL" : is_signed ? "INT" : "UINT";
    const char *what =
        t->base[0] == '&' ? t->base + 1 : ctune_arena_printf(b->arena, "*(%s)", t->base);
    return ctune_arena_printf(b->arena, "CTUNE_IS_%s(%s, %d)", kind, what != NULL ? what : "",
                              type->bytes);
}

static bool guard_tensor(ctune_parsed *p, ctune_build *b, const ctune_mtensor *m) {
    if (m->root == NULL || m->root->is_inside || m->t.base == NULL ||
        clang_Cursor_isNull(m->access)) {
        return true;
    }
    CXCursor decl = accessed_decl(b, m->access);
    unsigned name = 0;
    clang_getFileLocation(clang_getCursorLocation(decl), NULL, NULL, NULL, &name);
    bool can_differ = clang_Cursor_isNull(decl) ||
                      type_can_differ(p, clang_getCursorType(m->access)) ||
                      decl_can_differ(p, decl, name);
    /* what is behind the name are extents */
    return (!can_differ || ctune_guard_add(b, element_check(b, &m->t))) &&
           (clang_Cursor_isNull(decl) || !any_word(p, decl, name, UINT_MAX, fails_guard, b));
}

/* ---- names in the statement -------------------------------------------------------------------
 */
typedef struct walk {
    ctune_parsed *p;
    ctune_build *b;
    bool ok;
} walk;

static bool guard_enumerator(const walk *w, CXCursor decl) {
    return !decl_can_differ(w->p, clang_getCursorSemanticParent(decl), UINT_MAX) ||
           ctune_guard_add(w->b, ctune_arena_printf(w->b->arena, "%s == %lld",
                                                    ctune_cx_name(w->b->arena, decl),
                                                    clang_getEnumConstantDeclValue(decl)));
}

/* A type by name: in a cast, or of a local variable. */
static bool guard_typedef(const walk *w, CXCursor decl) {
    CXType type = clang_getCursorType(decl);
    ctune_type ours = ctune_cx_type(clang_getCanonicalType(type));
    bool is_outside =
        ctune_cx_begin(decl) < w->b->begin || !ctune_cx_is_same_file(decl, w->b->function);
    if (ours == CTUNE_N_TYPES || !is_outside || !type_can_differ(w->p, type)) {
        return true;
    }
    CXString canonical = clang_getTypeSpelling(clang_getCanonicalType(type));
    bool ok = ctune_guard_add(
        w->b, ctune_arena_printf(w->b->arena, "__builtin_types_compatible_p(%s, %s)",
                                 ctune_cx_name(w->b->arena, decl), clang_getCString(canonical)));
    clang_disposeString(canonical);
    return ok;
}

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data) {
    walk *w = data;
    (void)parent;
    enum CXCursorKind kind = ctune_cx_kind(cursor);
    if (kind == CXCursor_DeclRefExpr || kind == CXCursor_TypeRef) {
        CXCursor decl = clang_getCursorReferenced(cursor);
        if (ctune_cx_kind(decl) == CXCursor_EnumConstantDecl) {
            w->ok = guard_enumerator(w, decl);
        } else if (ctune_cx_kind(decl) == CXCursor_TypedefDecl) {
            w->ok = guard_typedef(w, decl);
        }
    }
    return w->ok ? CXChildVisit_Recurse : CXChildVisit_Break;
}

/* Tuned code counts in `long`, which must hold any distance in memory. */
static bool check_addresses(ctune_parsed *p, ctune_build *b) {
    CXTargetInfo target = clang_getTranslationUnitTargetInfo(p->unit);
    int width = clang_TargetInfo_getPointerWidth(target);
    clang_TargetInfo_dispose(target);
    return width == 64 || ctune_build_refuse_at(b, CTUNE_REFUSE_ADDRESSES, b->begin,
                                                "addresses of this target have %d bits", width);
}

bool ctune_types_guard(ctune_parsed *p, ctune_build *b, CXCursor statement) {
    if (!check_addresses(p, b)) {
        return false;
    }
    walk w = {p, b, true};
    for (int i = 0; i < b->tensors.n && w.ok; i++) {
        w.ok = guard_tensor(p, b, &b->tensors.at[i]);
    }
    if (w.ok) {
        clang_visitChildren(statement, visit, &w);
    }
    return w.ok;
}

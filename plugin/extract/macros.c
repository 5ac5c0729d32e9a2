/*
 * Macros: the tuned code holds the values that macros had when it was made.
 *
 * In: macros used in the region. Out: facts like `(N) == (1024)`, for those whose definition can
 * differ from one compile to the next: on the command line, in a header, under #if. The compiler
 * folds them; another -DN=... then runs the original loop.
 *
 * A region where a word of the language itself is a macro is refused: tuned code is made of these
 * words, and would compile to something else without a message.
 */
#include "plugin/extract/unit.h"

enum { MAX_NESTING = 8 };

/* Between #if and #endif? */
static bool is_conditional(const ctune_source *s, size_t at) {
    int depth = 0;
    for (int i = 0; i < s->n_directives && s->directives[i].begin < at; i++) {
        const char *name = s->directives[i].name;
        depth += strncmp(name, "if", 2) == 0;
        depth -= strcmp(name, "endif") == 0;
    }
    return depth > 0;
}

static bool can_differ(ctune_parsed *p, CXCursor definition) {
    CXSourceLocation at = clang_getCursorLocation(definition);
    CXFile file = NULL;
    unsigned offset = 0;
    clang_getFileLocation(at, &file, NULL, NULL, &offset);
    if (file != NULL && clang_File_isEqual(file, p->file)) {
        return is_conditional(p->source, offset);
    }
    return file == NULL || !clang_Location_isInSystemHeader(at);
}

static const char *token_text(ctune_parsed *p, CXToken token) {
    CXString s = clang_getTokenSpelling(p->unit, token);
    const char *text = ctune_arena_strdup(p->arena, clang_getCString(s));
    clang_disposeString(s);
    return text != NULL ? text : "";
}

static bool is_arithmetic(const char *text) {
    static const char *const tokens[] = {"+", "-", "*", "/", "%", "(", ")", "<<", ">>"};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        if (strcmp(text, tokens[i]) == 0) {
            return true;
        }
    }
    return text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
}

static const ctune_expansion *find_definition(const ctune_parsed *p, const char *name) {
    for (int i = p->definitions.n - 1; i >= 0; i--) {
        if (strcmp(p->definitions.at[i].name, name) == 0) {
            return &p->definitions.at[i];
        }
    }
    return NULL;
}

static bool guard_name(ctune_parsed *p, ctune_build *b, const char *name, int depth);

/* The macro's body when it is arithmetic on numbers and other such macros; these are guarded, too.
 * NULL otherwise. */
static const char *constant_body(ctune_parsed *p, ctune_build *b, CXCursor definition, int depth,
                                 bool *ok) {
    CXToken *tokens = NULL;
    unsigned n = 0;
    clang_tokenize(p->unit, clang_getCursorExtent(definition), &tokens, &n);
    const char *body = n > 1 ? "" : NULL;
    for (unsigned i = 1; i < n && body != NULL && *ok; i++) {
        const char *text = token_text(p, tokens[i]);
        bool is_name =
            clang_getTokenKind(tokens[i]) == CXToken_Identifier && find_definition(p, text) != NULL;
        if (clang_getTokenKind(tokens[i]) == CXToken_Comment) {
            continue;
        }
        if (is_name) {
            *ok = guard_name(p, b, text, depth + 1);
        }
        body = is_name || is_arithmetic(text)
                   ? ctune_arena_printf(p->arena, "%s%s%s", body, i > 1 ? " " : "", text)
                   : NULL;
    }
    if (tokens != NULL) {
        clang_disposeTokens(p->unit, tokens, n);
    }
    return body;
}

static bool add_guard(ctune_build *b, const char *name, const char *body) {
    const char *text = ctune_arena_printf(b->arena, "%s == %s", name, body);
    for (int i = 0; i < b->assumes.n && text != NULL; i++) {
        if (b->assumes.at[i].c_text != NULL && strcmp(b->assumes.at[i].c_text, text) == 0) {
            return true;
        }
    }
    ctune_assume *assume = text != NULL ? CTUNE_PUSH(b, b->assumes) : NULL;
    if (assume == NULL) {
        return false;
    }
    *assume = (ctune_assume){ctune_aff_const(b->arena, 0), text};
    return assume->aff != NULL;
}

static bool guard_name(ctune_parsed *p, ctune_build *b, const char *name, int depth) {
    const ctune_expansion *found = find_definition(p, name);
    if (found == NULL || depth > MAX_NESTING ||
        clang_Cursor_isMacroFunctionLike(found->definition) ||
        clang_Cursor_isMacroBuiltin(found->definition)) {
        return true;
    }
    bool ok = true;
    const char *body = constant_body(p, b, found->definition, depth, &ok);
    return ok && (body == NULL || !can_differ(p, found->definition) || add_guard(b, name, body));
}

/* ---- words of the language ------------------------------------------------------------------- */

/* Those that tuned code uses. Qualifiers and storage classes are not among them: code without them,
 * or with others, does not compile or does the same. */
static bool is_language(const char *name) {
    static const char *const words[] = {
        "if",       "else",          "for",     "while",  "do",       "return",
        "break",    "char",          "short",   "int",    "long",     "signed",
        "unsigned", "float",         "double",  "sizeof", "_Float16", "__attribute__",
        "_Pragma",  "__extension__", "__asm__", "struct", "void",     "typedef",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(name, words[i]) == 0) {
            return true;
        }
    }
    return strncmp(name, "__builtin_", 10) == 0;
}

/* Is a macro of the main file, defined at `at`, no longer one at `end`, or not yet? */
static bool is_gone(const ctune_source *s, const char *name, size_t at, size_t end) {
    size_t n = strlen(name);
    bool is_gone = at >= end;
    for (int i = 0; i < s->n_directives && s->directives[i].begin < end; i++) {
        const ctune_directive *d = &s->directives[i];
        const char *rest = d->rest + strspn(d->rest, " \t");
        is_gone |= d->begin > at && strcmp(d->name, "undef") == 0 && strncmp(rest, name, n) == 0 &&
                   strchr(" \t\r\n", rest[n]) != NULL;
    }
    return is_gone;
}

/* Does the user's text, a header of his or the command line make a macro of a word that tuned code
 * is written in? Refused then. */
static bool check_language(ctune_parsed *p, ctune_build *b) {
    for (int i = 0; i < p->definitions.n; i++) {
        const ctune_expansion *d = &p->definitions.at[i];
        if (!is_language(d->name) || clang_Cursor_isMacroBuiltin(d->definition)) {
            continue;
        }
        CXSourceLocation at = clang_getCursorLocation(d->definition);
        CXFile file = NULL;
        unsigned offset = 0;
        clang_getFileLocation(at, &file, NULL, NULL, &offset);
        bool is_here = file != NULL && clang_File_isEqual(file, p->file);
        if (clang_Location_isInSystemHeader(at) ||
            (is_here && is_gone(p->source, d->name, offset, b->begin))) {
            continue;
        }
        return ctune_build_refuse_at(b, CTUNE_REFUSE_LANGUAGE_MACRO, b->begin,
                                     "'%s' is a macro, and a word of the tuned code", d->name);
    }
    return true;
}

/* Words of the region that are macros: uses inside other macros' arguments are found as well. */
bool ctune_macros_guard(ctune_parsed *p, ctune_build *b) {
    if (!check_language(p, b)) {
        return false;
    }
    for (int i = 0; i < p->expansions.n; i++) {
        const ctune_expansion *e = &p->expansions.at[i];
        if (e->begin >= b->begin && e->begin < b->end && !guard_name(p, b, e->name, 0)) {
            return false;
        }
    }
    return true;
}

/*
 * Macros: the tuned code holds the values that macros had when it was made.
 *
 * In: macros used in the region, and in the macros that it uses. Out: facts like `N == 1024` and
 * `CTUNE_SAME(OP, "+")`, for those whose definition can differ from one compile to the next: on the
 * command line, in a header, under #if. The compiler folds them; another -DN=... then runs the
 * original loop. Types and constants that depend on macros elsewhere are the subject of types.c.
 *
 * A region where a word of the language itself is a macro is refused: tuned code is made of these
 * words, and would compile to something else without a message.
 */
#include "plugin/extract/unit.h"

enum { MAX_NESTING = 8 };

bool ctune_place_is_conditional(const ctune_parsed *p, size_t at) {
    const ctune_source *s = p->source;
    int depth = 0;
    for (int i = 0; i < s->n_directives && s->directives[i].begin < at; i++) {
        const char *name = s->directives[i].name;
        depth += strncmp(name, "if", 2) == 0;
        depth -= strcmp(name, "endif") == 0;
    }
    return depth > 0;
}

/* Headers are full of macros with parameters, which are the same in each compile or depend on
 * others that are guarded: those are taken as they are. */
static bool can_differ(ctune_parsed *p, CXCursor definition, bool is_function) {
    CXSourceLocation at = clang_getCursorLocation(definition);
    CXFile file = NULL;
    unsigned offset = 0;
    clang_getFileLocation(at, &file, NULL, NULL, &offset);
    if (file != NULL && clang_File_isEqual(file, p->file)) {
        return ctune_place_is_conditional(p, offset);
    }
    return file == NULL || (!is_function && !clang_Location_isInSystemHeader(at));
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

const ctune_expansion *ctune_macro_find(const ctune_parsed *p, const char *name) {
    for (int i = p->definitions.n - 1; i >= 0; i--) {
        if (strcmp(p->definitions.at[i].name, name) == 0) {
            return &p->definitions.at[i];
        }
    }
    return NULL;
}

static bool guard_name(ctune_parsed *p, ctune_build *b, const char *name, int depth);

/* The macro's body when it is arithmetic on numbers and other such macros, NULL otherwise. */
static const char *constant_body(ctune_parsed *p, const CXToken *tokens, unsigned n) {
    const char *body = "";
    bool is_value = false; /* an operator alone is none */
    for (unsigned i = 1; i < n && body != NULL; i++) {
        const char *text = token_text(p, tokens[i]);
        if (clang_getTokenKind(tokens[i]) == CXToken_Comment) {
            continue;
        }
        bool is_name = clang_getTokenKind(tokens[i]) == CXToken_Identifier &&
                       ctune_macro_find(p, text) != NULL;
        is_value |= is_name || clang_getTokenKind(tokens[i]) == CXToken_Literal;
        body = is_name || is_arithmetic(text)
                   ? ctune_arena_printf(p->arena, "%s%s%s", body, *body != '\0' ? " " : "", text)
                   : NULL;
    }
    return is_value ? body : NULL;
}

static bool has_text(const ctune_build *b, const char *text) {
    for (int i = 0; i < b->assumes.n; i++) {
        if (b->assumes.at[i].c_text != NULL && strcmp(b->assumes.at[i].c_text, text) == 0) {
            return true;
        }
    }
    return false;
}

bool ctune_guard_add(ctune_build *b, const char *text) {
    if (text == NULL || has_text(b, text)) {
        return text != NULL;
    }
    ctune_assume *assume = CTUNE_PUSH(b, b->assumes);
    if (assume == NULL) {
        return false;
    }
    *assume = (ctune_assume){ctune_aff_const(b->arena, 0), text};
    return assume->aff != NULL;
}

/* The other macros of a body. */
static bool guard_inner(ctune_parsed *p, ctune_build *b, const CXToken *tokens, unsigned n,
                        int depth) {
    bool ok = true;
    for (unsigned i = 1; i < n && ok; i++) {
        if (clang_getTokenKind(tokens[i]) == CXToken_Identifier) {
            ok = guard_name(p, b, token_text(p, tokens[i]), depth + 1);
        }
    }
    return ok;
}

/* Number of the macro's parameter of this name, from 1; 0: none. The parameters are the names
 * between the first parentheses. */
static int parameter_find(ctune_parsed *p, const CXToken *tokens, unsigned n_head,
                          const char *name) {
    int number = 0;
    for (unsigned i = 2; i < n_head; i++) {
        bool is_name = clang_getTokenKind(tokens[i]) != CXToken_Punctuation;
        number += is_name;
        if (is_name && strcmp(token_text(p, tokens[i]), name) == 0) {
            return number;
        }
    }
    return 0;
}

/* The text of the body, with one blank where there are some, as `#` makes it of a use of the macro;
 * parameters are ctune_1, ctune_2. NULL: other macros would be expanded in it (they are guarded by
 * themselves), or its text cannot stand in a string or an argument. */
static const char *body_text(ctune_parsed *p, const CXToken *tokens, unsigned n_head, unsigned n) {
    const char *body = "";
    unsigned end = 0;
    for (unsigned i = n_head; i < n && body != NULL; i++) {
        const char *text = token_text(p, tokens[i]);
        CXSourceRange extent = clang_getTokenExtent(p->unit, tokens[i]);
        unsigned begin;
        clang_getFileLocation(clang_getRangeStart(extent), NULL, NULL, NULL, &begin);
        bool is_plain = clang_getTokenKind(tokens[i]) != CXToken_Comment &&
                        strpbrk(text, "\"\\,#") == NULL && ctune_macro_find(p, text) == NULL;
        int parameter = parameter_find(p, tokens, n_head, text);
        if (parameter > 0) {
            text = ctune_arena_printf(p->arena, "ctune_%d", parameter);
        }
        body = is_plain ? ctune_arena_printf(p->arena, "%s%s%s", body,
                                             *body != '\0' && begin > end ? " " : "", text)
                        : NULL;
        clang_getFileLocation(clang_getRangeEnd(extent), NULL, NULL, NULL, &end);
    }
    return body;
}

/* Tokens of the macro's name and parameters; *use: it with the arguments ctune_1, ctune_2. */
static unsigned read_head(ctune_parsed *p, const ctune_expansion *macro, const CXToken *tokens,
                          unsigned n, const char **use) {
    *use = macro->name;
    if (!clang_Cursor_isMacroFunctionLike(macro->definition)) {
        return 1;
    }
    unsigned i = 2;
    int number = 0;
    const char *arguments = "";
    for (; i < n && strcmp(token_text(p, tokens[i]), ")") != 0; i++) {
        if (clang_getTokenKind(tokens[i]) != CXToken_Punctuation) {
            arguments = ctune_arena_printf(p->arena, "%s%sctune_%d", arguments,
                                           number > 0 ? ", " : "", number + 1);
            number++;
        }
    }
    *use = ctune_arena_printf(p->arena, "%s(%s)", macro->name, arguments);
    return i + 1;
}

/* A macro that is no number (a type, an operator, an expression with variables) is compared as
 * text. */
static bool guard_words(ctune_parsed *p, ctune_build *b, const ctune_expansion *macro,
                        const CXToken *tokens, unsigned n) {
    enum { MOST = 200 };
    const char *use;
    unsigned n_head = read_head(p, macro, tokens, n, &use);
    const char *body = body_text(p, tokens, n_head, n);
    return body == NULL || strlen(body) > MOST ||
           ctune_guard_add(b, ctune_arena_printf(b->arena, "CTUNE_SAME(%s, \"%s\")", use, body));
}

/* Defined by the compiler itself: clang's is not that of another. */
static bool is_predefined(CXCursor definition) {
    CXString name;
    clang_getPresumedLocation(clang_getCursorLocation(definition), &name, NULL, NULL);
    const char *text = clang_getCString(name);
    bool found = text != NULL && strcmp(text, "<built-in>") == 0;
    clang_disposeString(name);
    return found;
}

bool ctune_macro_text(ctune_parsed *p, const char *name, const char **text) {
    const ctune_expansion *found = ctune_macro_find(p, name);
    CXToken *tokens = NULL;
    unsigned n = 0;
    *text = NULL;
    if (found != NULL && !clang_Cursor_isMacroFunctionLike(found->definition) &&
        !clang_Cursor_isMacroBuiltin(found->definition) && !is_predefined(found->definition)) {
        clang_tokenize(p->unit, clang_getCursorExtent(found->definition), &tokens, &n);
        *text = body_text(p, tokens, 1, n);
    }
    if (tokens != NULL) {
        clang_disposeTokens(p->unit, tokens, n);
    }
    return *text != NULL;
}

bool ctune_macro_can_differ(ctune_parsed *p, const char *name) {
    const ctune_expansion *found = ctune_macro_find(p, name);
    return found != NULL && !clang_Cursor_isMacroBuiltin(found->definition) &&
           can_differ(p, found->definition,
                      clang_Cursor_isMacroFunctionLike(found->definition) != 0);
}

static bool guard_definition(ctune_parsed *p, ctune_build *b, const ctune_expansion *found,
                             int depth) {
    CXToken *tokens = NULL;
    unsigned n = 0;
    clang_tokenize(p->unit, clang_getCursorExtent(found->definition), &tokens, &n);
    bool ok = guard_inner(p, b, tokens, n, depth);
    bool is_function = clang_Cursor_isMacroFunctionLike(found->definition) != 0;
    if (ok && can_differ(p, found->definition, is_function)) {
        bool is_text = is_function || b->has_conditions; /* else the name may mean nothing */
        const char *body = is_text ? NULL : constant_body(p, tokens, n);
        ok = body != NULL
                 ? ctune_guard_add(b, ctune_arena_printf(b->arena, "%s == %s", found->name, body))
                 : guard_words(p, b, found, tokens, n);
    }
    if (tokens != NULL) {
        clang_disposeTokens(p->unit, tokens, n);
    }
    return ok;
}

static bool guard_name(ctune_parsed *p, ctune_build *b, const char *name, int depth) {
    const ctune_expansion *found = ctune_macro_find(p, name);
    return found == NULL || depth > MAX_NESTING || clang_Cursor_isMacroBuiltin(found->definition) ||
           clang_Location_isInSystemHeader(clang_getCursorLocation(found->definition)) ||
           guard_definition(p, b, found, depth);
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

bool ctune_macro_guard(ctune_parsed *p, ctune_build *b, const char *name) {
    const ctune_expansion *found = ctune_macro_find(p, name);
    if (found == NULL) {
        return true;
    }
    CXFile file = NULL;
    unsigned at = 0;
    clang_getFileLocation(clang_getCursorLocation(found->definition), &file, NULL, NULL, &at);
    bool is_here = file != NULL && clang_File_isEqual(file, p->file);
    return is_gone(p->source, name, is_here ? at : 0, b->begin) || guard_name(p, b, name, 0);
}

static bool in_directive(const ctune_source *s, size_t at) {
    for (int i = 0; i < s->n_directives; i++) {
        if (at >= s->directives[i].begin && at < s->directives[i].end) {
            return true;
        }
    }
    return false;
}

/* Words of the region that are macros: uses inside other macros' arguments are found as well. */
bool ctune_macros_guard(ctune_parsed *p, ctune_build *b) {
    if (!check_language(p, b)) {
        return false;
    }
    for (int i = 0; i < p->expansions.n; i++) {
        const ctune_expansion *e = &p->expansions.at[i];
        if (e->begin >= b->begin && e->begin < b->end && !in_directive(p->source, e->begin) &&
            !guard_name(p, b, e->name, 0)) {
            return false;
        }
    }
    return true;
}

/*
 * Matching: from a pragma's place to the statement that follows it.
 *
 * libclang has no cursor for a foreign pragma, so the statement is the first one that begins after
 * it inside the innermost construct that contains it. What stands around in the text (other
 * pragmas, #if, macros) decides whether replacing the statement's text would be right.
 */
#include "plugin/extract/unit.h"

#include <stdarg.h>
#include <stdio.h>

static bool refuse(ctune_match *m, ctune_refusal refusal, size_t at, const char *format, ...)
    CTUNE_PRINTF(4, 5);
static bool refuse(ctune_match *m, ctune_refusal refusal, size_t at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (m->refusal == CTUNE_REFUSE_NONE) {
        m->refusal = refusal;
        m->refusal_at = at;
        vsnprintf(m->words, sizeof m->words, format, args);
    }
    va_end(args);
    return false;
}

/* ---- the statement --------------------------------------------------------------------------- */

static bool is_main(ctune_parsed *p, CXCursor cursor) {
    CXFile file = NULL;
    clang_getExpansionLocation(clang_getCursorLocation(cursor), &file, NULL, NULL, NULL);
    return file != NULL && clang_File_isEqual(file, p->file);
}

static CXCursor find_function(ctune_parsed *p, size_t at) {
    ctune_kids kids = ctune_cx_kids(p->arena, clang_getTranslationUnitCursor(p->unit));
    for (int i = 0; i < kids.n; i++) {
        if (ctune_cx_kind(kids.at[i]) == CXCursor_FunctionDecl && is_main(p, kids.at[i]) &&
            clang_isCursorDefinition(kids.at[i]) && ctune_cx_begin(kids.at[i]) < at &&
            ctune_cx_end(kids.at[i]) > at) {
            return kids.at[i];
        }
    }
    return clang_getNullCursor();
}

/* First statement or declaration that begins at or after `at`, innermost first. */
static CXCursor find_statement(ctune_parsed *p, CXCursor cursor, size_t at) {
    ctune_kids kids = ctune_cx_kids(p->arena, cursor);
    for (int i = 0; i < kids.n; i++) {
        size_t begin = ctune_cx_begin(kids.at[i]), end = ctune_cx_end(kids.at[i]);
        if (begin < at && end > at) {
            return find_statement(p, kids.at[i], at);
        }
        if (begin >= at &&
            (clang_isStatement(ctune_cx_kind(kids.at[i])) || ctune_cx_is_expr(kids.at[i]))) {
            return kids.at[i];
        }
    }
    return clang_getNullCursor();
}

CXCursor ctune_match_statement(ctune_parsed *p, CXCursor function, size_t at) {
    return find_statement(p, function, at);
}

/* The ; of a last expression statement is not part of its cursor. */
static size_t statement_end(ctune_parsed *p, CXCursor cursor) {
    for (int depth = 0; depth < 200; depth++) {
        enum CXCursorKind kind = ctune_cx_kind(cursor);
        size_t end = ctune_cx_end(cursor);
        if (kind == CXCursor_CompoundStmt || kind == CXCursor_NullStmt) {
            return end;
        }
        ctune_kids kids = ctune_cx_exprs(p->arena, cursor);
        bool has_body = kind == CXCursor_ForStmt || kind == CXCursor_IfStmt ||
                        kind == CXCursor_WhileStmt || kind == CXCursor_LabelStmt ||
                        kind == CXCursor_UnexposedStmt || kind == CXCursor_SwitchStmt;
        if (has_body && kids.n > 0) {
            cursor = kids.at[kids.n - 1];
            continue;
        }
        size_t semicolon = ctune_source_skip_space(p->source->clean, p->source->n_clean, end);
        bool is_there = semicolon < p->source->n_clean && p->source->clean[semicolon] == ';';
        return kind != CXCursor_DeclStmt && is_there ? semicolon + 1 : end;
    }
    return ctune_cx_end(cursor);
}

/* ---- directives ------------------------------------------------------------------------------ */

/* What nobody here knows is a hint to some compiler: it stays on the original. */
typedef enum pragma_class { HARMLESS, HINT, OPENMP, FLOATING } pragma_class;

/* First words of other pragmas. Longest match first. */
static const struct {
    const char *words;
    pragma_class is;
} pragmas[] = {
    {"omp", OPENMP},
    {"STDC", FLOATING},
    {"clang fp", FLOATING},
    {"float_control", FLOATING},
    {"fenv_access", FLOATING},
    {"GCC optimize", FLOATING},
    {"GCC diagnostic", HARMLESS},
    {"clang diagnostic", HARMLESS},
    {"region", HARMLESS},
    {"endregion", HARMLESS},
    {"mark", HARMLESS},
    {"message", HARMLESS},
    {"GCC poison", HARMLESS},
    {"once", HARMLESS},
};

static pragma_class classify(const char *rest) {
    for (size_t i = 0; i < sizeof pragmas / sizeof *pragmas; i++) {
        const char *w = pragmas[i].words, *r = rest;
        while (*w != '\0' && (*w == *r || (*w == ' ' && (*r == ' ' || *r == '\t')))) {
            if (*w == ' ') {
                while (*r == ' ' || *r == '\t') {
                    r++;
                }
            } else {
                r++;
            }
            w++;
        }
        bool is_end = !((*r >= 'a' && *r <= 'z') || (*r >= 'A' && *r <= 'Z') || *r == '_');
        if (*w == '\0' && is_end) {
            return pragmas[i].is;
        }
    }
    return HINT;
}

/* Offset after white space, comments and directives. */
static size_t skip_directives(const ctune_source *s, size_t at) {
    for (;;) {
        size_t next = ctune_source_skip_space(s->clean, s->n_clean, at);
        for (int i = 0; i < s->n_directives; i++) {
            if (s->directives[i].begin == next) {
                next = s->directives[i].end;
                break;
            }
        }
        for (int i = 0; i < s->n_sites; i++) {
            if (s->sites[i].begin == next && s->sites[i].macro == NULL) {
                next = s->sites[i].end;
                break;
            }
        }
        if (next == at) {
            return at;
        }
        at = next;
    }
}

/* Standalone directives govern nothing. */
static bool is_standalone(const char *rest) {
    static const char *const words[] = {"omp barrier", "omp taskwait", "omp flush",
                                        "omp threadprivate", "omp declare"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(rest, words[i], strlen(words[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Pragmas directly above ours speak of the loop, too: they become part of the statement. */
static void check_above(const ctune_source *s, size_t pragma_begin, size_t pragma_end,
                        ctune_match *m) {
    for (int i = 0; i < s->n_directives; i++) {
        const ctune_directive *d = &s->directives[i];
        if (strcmp(d->name, "pragma") != 0 || d->begin > pragma_begin ||
            skip_directives(s, d->end) < pragma_end || is_standalone(d->rest)) {
            continue;
        }
        pragma_class is = classify(d->rest);
        if (is == HINT || is == OPENMP) {
            m->begin = d->begin < m->begin ? d->begin : m->begin;
        }
    }
}

/* Between the pragma and the statement. */
static void check_below(const ctune_source *s, size_t pragma_end, ctune_match *m) {
    size_t begin = m->begin;
    for (int i = 0; i < s->n_directives; i++) {
        const ctune_directive *d = &s->directives[i];
        if (d->begin < pragma_end || d->end > begin) {
            continue;
        }
        if (strcmp(d->name, "pragma") != 0) {
            refuse(m, CTUNE_REFUSE_CONDITIONAL_TEXT, d->begin,
                   "#%s between the pragma and the loop", d->name);
            continue;
        }
        pragma_class is = classify(d->rest);
        if (is == FLOATING) {
            refuse(m, CTUNE_REFUSE_FP_PRAGMA, d->begin, "'#pragma %.60s' applies to the loop",
                   d->rest);
        } else if (is == HINT || (is == OPENMP && !is_standalone(d->rest))) {
            m->begin = d->begin < m->begin ? d->begin : m->begin;
        }
    }
}

static void check_inside(const ctune_source *s, size_t begin, ctune_match *m) {
    size_t where;
    if (!ctune_conditions_are_whole(s, begin, m->end, &where)) {
        refuse(m, CTUNE_REFUSE_CONDITIONAL_TEXT, where, "a part of an #if in the region");
    }
    for (int i = 0; i < s->n_directives; i++) {
        const ctune_directive *d = &s->directives[i];
        if (d->begin < begin || d->end > m->end) {
            continue;
        }
        if (strcmp(d->name, "pragma") == 0) {
            if (classify(d->rest) == FLOATING) {
                refuse(m, CTUNE_REFUSE_FP_PRAGMA, d->begin, "'#pragma %.60s' stands in the region",
                       d->rest);
            }
        } else if (strcmp(d->name, "define") != 0 && strcmp(d->name, "undef") != 0 &&
                   strcmp(d->name, "line") != 0 && d->name[0] != '\0' &&
                   !ctune_condition_is(d->name)) {
            refuse(m, CTUNE_REFUSE_CONDITIONAL_TEXT, d->begin, "#%s in the region", d->name);
        }
    }
    for (int i = 0; i < s->n_sites; i++) {
        if (s->sites[i].macro == NULL && s->sites[i].begin > begin && s->sites[i].end < m->end) {
            refuse(m, CTUNE_REFUSE_OTHER_PRAGMA, s->sites[i].begin,
                   "another tune pragma stands in the region");
        }
    }
}

static void check_macros(ctune_parsed *p, size_t begin, ctune_match *m) {
    for (int i = 0; i < p->expansions.n; i++) {
        const ctune_expansion *e = &p->expansions.at[i];
        bool is_whole = e->begin == begin && e->end >= m->end - 1;
        bool is_around = e->begin < begin && e->end > begin;
        if (is_whole || is_around) {
            refuse(m, CTUNE_REFUSE_LOOP_FROM_MACRO, e->begin, "the loop is made by the macro '%s'",
                   e->name);
        }
    }
    char last = m->end > 0 && m->end <= p->source->n_clean ? p->source->clean[m->end - 1] : '\0';
    if (last != '}' && last != ';') {
        refuse(m, CTUNE_REFUSE_LOOP_FROM_MACRO, begin, "the end of the loop is made by a macro");
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void check_kind(ctune_match *m, size_t at) {
    enum CXCursorKind kind = ctune_cx_kind(m->statement);
    if (kind != CXCursor_ForStmt && kind != CXCursor_CompoundStmt && kind != CXCursor_WhileStmt &&
        kind != CXCursor_DoStmt) {
        refuse(m, CTUNE_REFUSE_NOT_A_LOOP, at, "no loop or block follows the pragma");
    }
}

bool ctune_match_find(ctune_parsed *p, size_t pragma_begin, size_t pragma_end, ctune_match *m) {
    *m = (ctune_match){.function_name = "", .begin = pragma_end, .end = pragma_end};
    m->statement = clang_getNullCursor();
    m->function = find_function(p, pragma_begin);
    if (clang_Cursor_isNull(m->function)) {
        return refuse(m, CTUNE_REFUSE_NO_FUNCTION, pragma_begin, "the pragma is not in a function");
    }
    m->function_name = ctune_cx_name(p->arena, m->function);
    CXCursor found = find_statement(p, m->function, pragma_end);
    while (ctune_cx_kind(found) == CXCursor_UnexposedStmt) { /* loop hints and attributes */
        ctune_kids kids = ctune_cx_exprs(p->arena, found);
        if (kids.n != 1) {
            break;
        }
        found = kids.at[0];
    }
    m->statement = found;
    if (clang_Cursor_isNull(found)) {
        return refuse(m, CTUNE_REFUSE_NOT_A_LOOP, pragma_begin, "no statement follows the pragma");
    }
    m->begin = ctune_cx_begin(found);
    m->end = statement_end(p, found);
    size_t begin = m->begin;
    check_kind(m, begin);
    check_below(p->source, pragma_end, m);
    if (m->refusal == CTUNE_REFUSE_NONE &&
        skip_directives(p->source, pragma_end) != begin) { /* [[attributes]], labels, stray text */
        refuse(m, CTUNE_REFUSE_NOT_A_LOOP, pragma_begin,
               "the loop does not directly follow the pragma");
    }
    check_above(p->source, pragma_begin, pragma_end, m);
    check_inside(p->source, begin, m);
    check_macros(p, begin, m);
    if (m->refusal == CTUNE_REFUSE_NONE && !ctune_openmp_read(p, pragma_begin, pragma_end, m) &&
        m->refusal == CTUNE_REFUSE_NONE) {
        refuse(m, CTUNE_REFUSE_TOO_COMPLEX, begin, "out of memory");
    }
    return m->refusal == CTUNE_REFUSE_NONE;
}

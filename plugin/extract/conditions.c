/*
 * Preprocessor conditions in the region: the tuned code is that of the lines that are compiled.
 *
 * In: the directives of the statement's text. Out: a refusal where they are not whole, or where
 * clang and the user's compiler may see different values; facts about each macro that they ask for
 * (`CTUNE_SAME(OUTPUT, "OUTPUT")`: it is not defined). With other macros the original loop runs,
 * which keeps its #if.
 */
#include "plugin/extract/unit.h"

#include <ctype.h>

/* ---- whole conditions ------------------------------------------------------------------------ */

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names != NULL; names++) {
        if (strcmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

bool ctune_condition_is(const char *directive) {
    static const char *const names[] = {"if",       "ifdef", "ifndef", "elif", "elifdef",
                                        "elifndef", "else",  "endif",  NULL};
    return is_one_of(directive, names);
}

bool ctune_conditions_are_whole(const ctune_source *s, size_t begin, size_t end, size_t *where) {
    int depth = 0;
    *where = begin;
    for (int i = 0; i < s->n_directives; i++) {
        const ctune_directive *d = &s->directives[i];
        if (d->begin < begin || d->end > end) {
            continue;
        }
        bool opens = strncmp(d->name, "if", 2) == 0;
        bool closes = strcmp(d->name, "endif") == 0;
        *where = depth == 0 ? d->begin : *where;
        depth += opens;
        depth -= closes;
        if (depth < 0 || (depth == 0 && !opens && !closes && ctune_condition_is(d->name))) {
            return false;
        }
    }
    return depth == 0;
}

/* ---- what they ask for ----------------------------------------------------------------------- */

typedef struct reader {
    ctune_parsed *p;
    ctune_build *b;
    size_t at; /* of the directive */
} reader;

static bool refuse(const reader *r, const char *name, const char *why) {
    return ctune_build_refuse_at(r->b, CTUNE_REFUSE_CONDITIONAL_TEXT, r->at,
                                 "a condition in the region asks for '%s', %s", name, why);
}

static bool guard_defined(const reader *r, const char *name) {
    bool is_defined = ctune_macro_find(r->p, name) != NULL;
    if (strncmp(name, "__clang", 7) == 0 || strncmp(name, "__llvm", 6) == 0) {
        return refuse(r, name, "which only some compilers define");
    }
    return ctune_guard_add(r->b, ctune_arena_printf(r->b->arena, "%sCTUNE_SAME(%s, \"%s\")",
                                                    is_defined ? "!" : "", name, name));
}

static bool guard_value(const reader *r, const char *name) {
    const char *text;
    if (ctune_macro_find(r->p, name) == NULL) {
        return guard_defined(r, name);
    }
    if (!ctune_macro_text(r->p, name, &text)) {
        return refuse(r, name, "which is made of others, or by the compiler");
    }
    return ctune_guard_add(r->b,
                           ctune_arena_printf(r->b->arena, "CTUNE_SAME(%s, \"%s\")", name, text));
}

/* Words of an #if: `defined(X)`, `X`. Calls of macros are beyond it. */
static bool guard_words(const reader *r, const char *text) {
    bool is_asked = false; /* behind `defined` */
    for (const char *c = text; *c != '\0';) {
        if (isdigit((unsigned char)*c)) {
            c += strspn(c, "0123456789abcdefABCDEFxXuUlL'");
            continue;
        }
        if (!isalpha((unsigned char)*c) && *c != '_') {
            c++;
            continue;
        }
        const char *end = c;
        while (isalnum((unsigned char)*end) || *end == '_') {
            end++;
        }
        const char *name = ctune_arena_strndup(r->b->arena, c, (size_t)(end - c));
        c = end + strspn(end, " \t");
        if (name == NULL) {
            return false;
        }
        if (strcmp(name, "defined") == 0) {
            is_asked = true;
            continue;
        }
        if (!is_asked && *c == '(') {
            return refuse(r, name, "a macro with arguments");
        }
        if (!(is_asked ? guard_defined(r, name) : guard_value(r, name))) {
            return false;
        }
        is_asked = false;
    }
    return true;
}

/* The tuned code stays in the text when its lines are not compiled: what it names must be there. */
static bool check_names(ctune_parsed *p, ctune_build *b) {
    for (int i = 0; i < b->vars.n; i++) {
        size_t at = ctune_cx_begin(b->vars.at[i].decl);
        bool is_here = ctune_cx_is_same_file(b->vars.at[i].decl, b->function);
        if (is_here && (at < b->begin || at >= b->end) && ctune_place_is_conditional(p, at)) {
            return ctune_build_refuse_at(b, CTUNE_REFUSE_CONDITIONAL_TEXT, b->begin,
                                         "#if is in the region, and '%s' is declared under #if",
                                         b->vars.at[i].name);
        }
    }
    return true;
}

bool ctune_conditions_guard(ctune_parsed *p, ctune_build *b) {
    static const char *const asks[] = {"ifdef", "ifndef", "elifdef", "elifndef", NULL};
    static const char *const tests[] = {"if", "elif", NULL};
    for (int i = 0; i < p->source->n_directives; i++) {
        const ctune_directive *d = &p->source->directives[i];
        if (d->begin < b->begin || d->end > b->end || !ctune_condition_is(d->name)) {
            continue;
        }
        reader r = {p, b, d->begin};
        b->has_conditions = true;
        if (is_one_of(d->name, asks)) {
            const char *name = d->rest + strspn(d->rest, " \t");
            name = ctune_arena_strndup(b->arena, name, strcspn(name, " \t\r\n"));
            if (name == NULL || !guard_defined(&r, name)) {
                return false;
            }
        } else if (is_one_of(d->name, tests) && !guard_words(&r, d->rest)) {
            return false;
        }
    }
    return !b->has_conditions || check_names(p, b);
}

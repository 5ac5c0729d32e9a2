/*
 * OpenMP: what the directives around, on and in the region mean for it.
 *
 * In: the text's directives and, where the compile has -fopenmp, the statements that they govern.
 * Out: is the region one thread's work, which scalars are private, which sums may run in any order,
 * which loops leave their counter alone. libclang parses without -fopenmp, so that no construct
 * stands in the tree: one thread's run of the serial code is a run of the program, as long as the
 * construct that makes the team is inside of the region, too. The original keeps its directives.
 */
#include "plugin/extract/unit.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The words of directives; a directive is a set of them. */
enum {
    W_PARALLEL = 1,
    W_FOR = 2,
    W_SIMD = 4,
    W_TEAM = 8,       /* meets or excludes the other threads of a team */
    W_DECLARES = 16,  /* says something about variables or functions */
    W_UNKNOWN = 32,   /* tasks, sections, devices */
    W_STANDALONE = 64 /* governs no statement */
};
static const struct {
    const char *word;
    unsigned is;
} words[] = {
    {"parallel", W_PARALLEL},
    {"for", W_FOR},
    {"simd", W_SIMD},
    {"master", W_TEAM},
    {"masked", W_TEAM},
    {"single", W_TEAM},
    {"critical", W_TEAM},
    {"atomic", W_TEAM},
    {"ordered", W_TEAM},
    {"barrier", W_TEAM | W_STANDALONE},
    {"flush", W_TEAM | W_STANDALONE},
    {"taskwait", W_TEAM | W_STANDALONE},
    {"threadprivate", W_DECLARES | W_STANDALONE},
    {"declare", W_DECLARES | W_STANDALONE},
};

typedef struct reader {
    ctune_parsed *p;
    ctune_match *m;
    size_t pragma_begin, pragma_end;
    size_t begin, end;    /* the region with the directives on it */
    size_t team_begin[8]; /* statements in the region that a parallel directive governs */
    size_t team_end[8];
    int n_teams;
} reader;

typedef struct directive {
    size_t at, after; /* where it stands, and what it governs begins behind */
    const char *text; /* after "omp" */
    const char *clauses;
    unsigned is;
} directive;

static bool refuse(reader *r, size_t at, const char *format, ...) CTUNE_PRINTF(3, 4);
static bool refuse(reader *r, size_t at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (r->m->refusal == CTUNE_REFUSE_NONE) {
        r->m->refusal = CTUNE_REFUSE_OPENMP_LOOP;
        r->m->refusal_at = at;
        vsnprintf(r->m->words, sizeof r->m->words, format, args);
    }
    va_end(args);
    return false;
}

/* ---- one directive --------------------------------------------------------------------------- */

static const char *skip_blank(const char *s) {
    while (isspace((unsigned char)*s) || *s == ',' || *s == '\\') {
        s++;
    }
    return s;
}

static size_t word_length(const char *s) {
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_') {
        n++;
    }
    return n;
}

static const char *skip_parens(const char *s) {
    int depth = 0;
    do {
        depth += *s == '(';
        depth -= *s == ')';
        s += *s != '\0';
    } while (*s != '\0' && depth > 0);
    return s;
}

/* The directive's own words; what no row knows ends them, or is unknown when it comes first. */
static void classify(directive *d) {
    const char *s = skip_blank(d->text);
    for (bool is_first = true;; is_first = false) {
        size_t n = word_length(s);
        unsigned is = 0;
        for (size_t i = 0; i < sizeof words / sizeof *words && n > 0; i++) {
            if (strlen(words[i].word) == n && strncmp(words[i].word, s, n) == 0) {
                is = words[i].is;
            }
        }
        if (is == 0 || (d->is & (W_TEAM | W_DECLARES)) != 0) {
            d->is |= is_first ? W_UNKNOWN : 0;
            d->clauses = s;
            return;
        }
        d->is |= is;
        s = skip_blank(s + n);
    }
}

typedef bool clause_fn(reader *r, const directive *d, const char *name, size_t n_name,
                       const char *args, size_t n_args, void *user);

static bool each_clause(reader *r, const directive *d, clause_fn *fn, void *user) {
    for (const char *s = skip_blank(d->clauses); *s != '\0';) {
        size_t n = word_length(s);
        const char *open = s + n;
        while (*open == ' ' || *open == '\t') {
            open++;
        }
        if (n == 0) {
            s = skip_blank(*s == '(' ? skip_parens(s) : s + 1);
            continue;
        }
        const char *end = *open == '(' ? skip_parens(open) : s + n;
        size_t n_args = *open == '(' && end > open + 1 ? (size_t)(end - open) - 2 : 0;
        if (!fn(r, d, s, n, *open == '(' ? open + 1 : "", n_args, user)) {
            return false;
        }
        s = skip_blank(end);
    }
    return true;
}

/* ---- clauses --------------------------------------------------------------------------------- */

static bool is_word(const char *s, size_t n, const char *word) {
    return strlen(word) == n && strncmp(s, word, n) == 0;
}

/* Variables of a list: x, a[0:n]. */
static bool add_names(reader *r, ctune_omp_kind kind, const char *list, size_t n,
                      CXCursor statement) {
    const char *end = list + n;
    for (const char *s = list; s < end;) {
        s = skip_blank(s);
        size_t len = word_length(s);
        if (len == 0 || s >= end) {
            s++;
            continue;
        }
        ctune_omp_name *name = CTUNE_PUSH(r->p, r->m->omp.names);
        if (name == NULL) {
            return false;
        }
        *name = (ctune_omp_name){kind, ctune_arena_strndup(r->p->arena, s, len),
                                 ctune_cx_begin(statement), ctune_cx_end(statement)};
        for (s += len; s < end && *s != ','; s++) {
        }
    }
    return true;
}

static bool take_clause(reader *r, const directive *d, const char *name, size_t n, const char *args,
                        size_t n_args, void *user) {
    const CXCursor *statement = user;
    if (is_word(name, n, "reduction")) {
        const char *colon = memchr(args, ':', n_args);
        if (colon == NULL || memmem(args, (size_t)(colon - args), "inscan", 6) != NULL) {
            return refuse(r, d->at, "'#pragma omp %.60s' reduces in a way of its own", d->text);
        }
        colon++;
        return add_names(r, CTUNE_OMP_REDUCTION, colon, n_args - (size_t)(colon - args),
                         *statement);
    }
    if (!r->p->has_openmp) {
        return true; /* the compiler reads no directive: these speak of nothing */
    }
    if (is_word(name, n, "private")) {
        return add_names(r, CTUNE_OMP_PRIVATE, args, n_args, *statement);
    }
    return !is_word(name, n, "firstprivate") ||
           add_names(r, CTUNE_OMP_FIRSTPRIVATE, args, n_args, *statement);
}

static bool take_collapse(reader *r, const directive *d, const char *name, size_t n,
                          const char *args, size_t n_args, void *user) {
    (void)r;
    (void)d;
    (void)n_args;
    if (is_word(name, n, "collapse") || is_word(name, n, "ordered")) {
        int value = atoi(args);
        *(int *)user = value > 1 && value < CTUNE_MAX_DEPTH ? value : *(int *)user;
    }
    return true;
}

/* The counters of the loops that a work-sharing directive takes are private to it. */
static bool note_loops(reader *r, const directive *d, CXCursor loop) {
    int n = 1;
    if (!each_clause(r, d, take_collapse, &n)) {
        return false;
    }
    for (; n > 0 && ctune_cx_kind(loop) == CXCursor_ForStmt; n--) {
        size_t *slot = CTUNE_PUSH(r->p, r->m->omp.loops);
        if (slot == NULL) {
            return false;
        }
        *slot = ctune_cx_begin(loop);
        ctune_kids kids = ctune_cx_exprs(r->p->arena, loop);
        CXCursor body = kids.n > 0 ? kids.at[kids.n - 1] : clang_getNullCursor();
        while (ctune_cx_kind(body) == CXCursor_CompoundStmt) {
            kids = ctune_cx_exprs(r->p->arena, body);
            body = kids.n > 0 ? kids.at[0] : clang_getNullCursor();
        }
        loop = body;
    }
    return true;
}

/* ---- where it stands ------------------------------------------------------------------------- */

static bool in_team(const reader *r, size_t at) {
    for (int i = 0; i < r->n_teams; i++) {
        if (at >= r->team_begin[i] && at <= r->team_end[i]) {
            return true;
        }
    }
    return false;
}

/* On the region or in it. */
static bool take_inner(reader *r, const directive *d, CXCursor statement) {
    bool is_live = r->p->has_openmp;
    bool has_team = in_team(r, d->at) || (d->is & W_PARALLEL) != 0;
    if ((d->is & W_UNKNOWN) != 0) {
        return !is_live || refuse(r, d->at,
                                  "'#pragma omp %.60s' makes tasks, sections or work for "
                                  "a device",
                                  d->text);
    }
    if (is_live && (d->is & (W_FOR | W_TEAM)) != 0 && (!has_team || r->m->omp.is_serial)) {
        if ((d->is & W_PARALLEL) == 0) {
            return refuse(r, d->at, "'#pragma omp %.60s' shares the work of a team from outside",
                          d->text);
        }
    }
    if ((d->is & W_PARALLEL) != 0 && r->n_teams < 8) {
        r->team_begin[r->n_teams] = d->at;
        r->team_end[r->n_teams++] = ctune_cx_end(statement);
    }
    if ((d->is & (W_PARALLEL | W_FOR | W_SIMD)) == 0) {
        return true;
    }
    if (is_live && (d->is & W_FOR) != 0 && !note_loops(r, d, statement)) {
        return false;
    }
    return each_clause(r, d, take_clause, &statement);
}

static bool take(reader *r, directive d) {
    classify(&d);
    if (r->p->has_openmp && strncmp(d.text + strspn(d.text, " \t"), "threadprivate", 13) == 0) {
        r->m->omp.is_serial = true; /* other threads would see other variables */
    }
    if ((d.is & W_DECLARES) != 0) {
        return true;
    }
    if (d.at < ctune_cx_begin(r->m->function)) {
        return true;
    }
    bool is_inside = d.at >= r->begin && d.at < r->end;
    CXCursor statement = clang_getNullCursor();
    if ((d.is & W_STANDALONE) == 0) {
        statement = ctune_match_statement(r->p, r->m->function, d.after);
    }
    if (is_inside) {
        return take_inner(r, &d, statement);
    }
    bool is_around = !clang_Cursor_isNull(statement) && d.at < r->begin &&
                     ctune_cx_begin(statement) < r->begin && ctune_cx_end(statement) >= r->end;
    if (!is_around || !r->p->has_openmp) {
        return true;
    }
    if (strstr(d.text, "target") != NULL) {
        return refuse(r, d.at, "'#pragma omp %.60s' runs the loop on a device", d.text);
    }
    r->m->omp.is_serial = true;
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const char *omp_text(const char *rest) {
    rest += strspn(rest, " \t");
    return strncmp(rest, "omp", 3) == 0 && word_length(rest) == 3 ? rest + 3 : NULL;
}

static bool take_directives(reader *r) {
    const ctune_source *s = r->p->source;
    for (int i = 0; i < s->n_directives; i++) {
        const ctune_directive *d = &s->directives[i];
        const char *text = strcmp(d->name, "pragma") == 0 ? omp_text(d->rest) : NULL;
        if (text != NULL && !take(r, (directive){.at = d->begin, .after = d->end, .text = text})) {
            return false;
        }
    }
    return true;
}

/* _Pragma("omp ...") in a stretch of text. */
static bool take_operators(reader *r, const char *text, size_t n, size_t at, size_t after) {
    for (const char *p = text; (p = memmem(p, n - (size_t)(p - text), "_Pragma", 7)) != NULL; p++) {
        const char *quote = memchr(p, '"', n - (size_t)(p - text));
        const char *end =
            quote != NULL ? memchr(quote + 1, '"', n - (size_t)(quote + 1 - text)) : NULL;
        const char *body =
            end == NULL ? NULL
                        : ctune_arena_strndup(r->p->arena, quote + 1, (size_t)(end - quote) - 1);
        const char *omp = body != NULL ? omp_text(body) : NULL;
        size_t here = at != SIZE_MAX ? at : (size_t)(p - r->p->source->clean);
        size_t behind = at != SIZE_MAX ? after : (size_t)(end - r->p->source->clean) + 2;
        if (omp != NULL && !take(r, (directive){.at = here, .after = behind, .text = omp})) {
            return false;
        }
    }
    return true;
}

/* Macros whose definition holds the operator. */
static bool take_macros(reader *r) {
    for (int i = 0; i < r->p->expansions.n; i++) {
        const ctune_expansion *e = &r->p->expansions.at[i];
        const ctune_expansion *found = NULL;
        for (int k = 0; k < r->p->definitions.n; k++) {
            if (strcmp(r->p->definitions.at[k].name, e->name) == 0) {
                found = &r->p->definitions.at[k];
            }
        }
        if (found == NULL || e->begin < r->begin || e->begin >= r->end) {
            continue;
        }
        CXSourceRange range = clang_getCursorExtent(found->definition);
        CXFile file = NULL;
        unsigned from = 0, to = 0;
        size_t n = 0;
        clang_getFileLocation(clang_getRangeStart(range), &file, NULL, NULL, &from);
        clang_getFileLocation(clang_getRangeEnd(range), NULL, NULL, NULL, &to);
        const char *text = file != NULL ? clang_getFileContents(r->p->unit, file, &n) : NULL;
        if (text != NULL && to <= n && from < to &&
            !take_operators(r, text + from, to - from, e->begin, e->end)) {
            return false;
        }
    }
    return true;
}

bool ctune_openmp_read(ctune_parsed *p, size_t pragma_begin, size_t pragma_end, ctune_match *m) {
    reader r = {.p = p, .m = m, .pragma_begin = pragma_begin, .pragma_end = pragma_end};
    r.begin = m->begin;
    r.end = m->end;
    bool in_text = m->end <= p->source->n_clean && m->begin < m->end;
    return take_directives(&r) && take_macros(&r) &&
           (!in_text ||
            take_operators(&r, p->source->clean + m->begin, m->end - m->begin, SIZE_MAX, SIZE_MAX));
}

/* ---- what it means for variables ------------------------------------------------------------- */

bool ctune_openmp_apply(ctune_build *b) {
    for (int i = 0; i < b->omp->names.n; i++) {
        const ctune_omp_name *name = &b->omp->names.at[i];
        for (int v = 0; v < b->vars.n; v++) {
            ctune_var *var = &b->vars.at[v];
            if (var->is_inside || name->name == NULL || strcmp(var->name, name->name) != 0) {
                continue;
            }
            if (name->kind == CTUNE_OMP_PRIVATE) {
                var->is_private = true;
                var->is_live_after = false;
            } else if (name->kind == CTUNE_OMP_FIRSTPRIVATE && var->n_writes > 0) {
                return ctune_build_refuse_at(b, CTUNE_REFUSE_OPENMP_LOOP, name->begin,
                                             "'%s' is firstprivate and assigned in the region",
                                             var->name);
            }
        }
    }
    return true;
}

bool ctune_openmp_is_reduction(const ctune_build *b, const char *name, size_t offset) {
    for (int i = 0; i < b->omp->names.n; i++) {
        const ctune_omp_name *n = &b->omp->names.at[i];
        if (n->kind == CTUNE_OMP_REDUCTION && n->name != NULL && strcmp(n->name, name) == 0 &&
            offset >= n->begin && offset < n->end) {
            return true;
        }
    }
    return false;
}

bool ctune_openmp_owns_counter(const ctune_build *b, size_t loop) {
    for (int i = 0; i < b->omp->loops.n; i++) {
        if (b->omp->loops.at[i] == loop) {
            return true;
        }
    }
    return false;
}

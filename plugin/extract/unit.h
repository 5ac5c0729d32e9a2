/*
 * A file under extraction: what unit.c, parse.c and match.c share.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_UNIT_H
#define CTUNE_PLUGIN_EXTRACT_UNIT_H

#include "plugin/extract/build.h"

/* Place where a macro is used in the main file. */
typedef struct ctune_expansion {
    const char *name;
    size_t begin, end;
    CXCursor definition; /* of definitions only */
} ctune_expansion;

typedef struct ctune_parsed {
    ctune_ctx *ctx;
    ctune_arena *arena;
    const ctune_source *source;
    CXIndex index;
    CXTranslationUnit unit;
    CXFile file;
    CTUNE_LIST(ctune_expansion) expansions;
    CTUNE_LIST(ctune_expansion) definitions; /* of all files, in order; begin and end unused */
    CTUNE_LIST(ctune_expansion) inactive;    /* stretches that the preprocessor skips */
    bool wrapv, has_fast_math;
    bool is_replaceable;  /* -fPIC: functions that are not static may be others at run time */
    bool has_openmp;      /* the compiler reads OpenMP directives */
    bool includes_itself; /* set by check_headers */
} ctune_parsed;

/* Parse source->clean as `file` with the user's flags. Fails EENV, EUSAGE (not C), ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_parsed_init(ctune_ctx *ctx, ctune_arena *arena,
                                              const ctune_source *source, int n_flags,
                                              const char *const *flags, ctune_parsed *out);
void ctune_parsed_clear(ctune_parsed *parsed);
/* Send the compiler's errors as diagnostics. true: there are some. */
bool ctune_parsed_report(ctune_parsed *parsed);
/* Pragmas in the user's headers are not looked at: say so. */
void ctune_parsed_check_headers(ctune_parsed *parsed);

/* What a pragma applies to. */
typedef struct ctune_match {
    CXCursor function, statement; /* null cursor: none */
    const char *function_name;
    size_t begin, end;     /* the statement with its ; and the loop hints above it */
    ctune_refusal refusal; /* NONE: extract it */
    size_t refusal_at;
    char words[240];
    ctune_omp omp;
} ctune_match;
bool ctune_match_find(ctune_parsed *parsed, size_t pragma_begin, size_t pragma_end,
                      ctune_match *out);

/* Identifiers that code in this file must not declare (te.h, ctune_region.reserved), in the arena.
 * false: no memory. */
bool ctune_reserved_collect(const ctune_parsed *parsed, int n_flags, const char *const *flags,
                            const char *const **out, int *n_out);

/* First statement that begins at or after `at`, innermost first. */
CXCursor ctune_match_statement(ctune_parsed *parsed, CXCursor function, size_t at);
/* Fill match->omp; may refuse there. */
bool ctune_openmp_read(ctune_parsed *parsed, size_t pragma_begin, size_t pragma_end,
                       ctune_match *match);

/* Facts about the macros used in the region; refused where words of the language are macros. */
bool ctune_macros_guard(ctune_parsed *parsed, ctune_build *b);
/* #if and what belongs to it: are all between the two places whole? Else *where one is not. */
bool ctune_condition_is(const char *directive);
bool ctune_conditions_are_whole(const ctune_source *source, size_t begin, size_t end,
                                size_t *where);
/* Facts about the macros that conditions in the region ask for. */
bool ctune_conditions_guard(ctune_parsed *parsed, ctune_build *b);
/* The text of a macro of the user's, when it has no arguments and no other macros are in it. */
bool ctune_macro_text(ctune_parsed *parsed, const char *name, const char **text);
/* The macro's last definition; NULL: none. */
const ctune_expansion *ctune_macro_find(const ctune_parsed *parsed, const char *name);
/* Facts about types and constants that another compile may define otherwise. */
bool ctune_types_guard(ctune_parsed *parsed, ctune_build *b, CXCursor statement);
/* The same about one macro that stands outside of the region, when it is still one there. */
bool ctune_macro_guard(ctune_parsed *parsed, ctune_build *b, const char *name);
/* Does another compile perhaps define the macro otherwise? macros.c; false for what is none. */
bool ctune_macro_can_differ(ctune_parsed *parsed, const char *name);
/* Is a place of the main file between #if and #endif? */
bool ctune_place_is_conditional(const ctune_parsed *parsed, size_t at);
/* One more condition of the guard, in C, unless it is there; false: no memory. */
bool ctune_guard_add(ctune_build *b, const char *text);

#endif

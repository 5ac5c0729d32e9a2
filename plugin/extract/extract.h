/*
 * Extraction: annotated C -> TE regions, through libclang's C API.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_EXTRACT_H
#define CTUNE_PLUGIN_EXTRACT_EXTRACT_H

#include "plugin/pragma/pragma.h"
#include "search/te/te.h"

/* Regions with more are refused: as many as dependences are found for. */
enum { CTUNE_UNIT_MAX_STAGES = 48, CTUNE_UNIT_MAX_AXES = 96 };

/* An argument of a function with a region in it. */
typedef struct ctune_unit_arg {
    const char *name;
    ctune_type type; /* of an arithmetic one; CTUNE_N_TYPES: something else */
    bool is_pointer; /* pointer or array */
} ctune_unit_arg;

/* What a caller needs to know about the function around a region. */
typedef struct ctune_unit_function {
    int n_args;
    const ctune_unit_arg *args;
    int n_locals;
    const char *const *locals; /* names that are declared in its body */
    ctune_type returns;        /* CTUNE_N_TYPES: nothing, or nothing arithmetic */
    const char *obstacle;      /* why it cannot be called by itself, words; NULL: it can be */
} ctune_unit_function;

/* One annotated statement. Offsets are bytes in the file's text. */
typedef struct ctune_unit_region {
    ctune_pragma pragma;
    ctune_region *region;            /* NULL when refused (diagnostic sent) or off */
    const char *name;                /* as region->name would be */
    const char *function;            /* enclosing function's name */
    ctune_unit_function caller;      /* valid when region is there */
    size_t pragma_begin, pragma_end; /* the whole pragma line(s), without the final newline */
    size_t statement_begin,
        statement_end;  /* the annotated statement, end exclusive (its ; or } included) */
    int statement_line; /* 1-based */
    bool is_rewritten;  /* the statement is the output of an earlier `ctune apply`: then statement_*
                           is the whole  rewritten block and `original_*` the statement kept in its
                           else branch, which is what  `region` was extracted from */
    size_t original_begin, original_end;
} ctune_unit_region;

typedef struct ctune_unit {
    ctune_arena *arena; /* owner of everything but the regions, which own their arenas */
    const char *file;   /* as the user named it */
    const char *text;   /* the file's bytes */
    size_t n_text;
    int n_regions; /* annotated statements, in file order, handled or not */
    ctune_unit_region *regions;
    bool has_parse_errors; /* the compiler would fail on the file: nothing is extracted */
    bool includes_itself;  /* a region may be compiled several times, with other macros each time */
} ctune_unit;

/*
 * Parse `file` with the user's flags and build a region for each `#pragma tune` of the main file.
 * overlay (may be NULL): text to use instead of the file's contents. Refusals are remarks with a
 * code from extract_refusals.def, hints included; malformed pragmas are errors. Fails EENV (cannot
 * read, libclang fails), EUSAGE (a pragma is malformed: all are still reported). Owner of *out:
 * caller.
 */
CTUNE_MUST_USE ctune_status ctune_extract(ctune_ctx *ctx, const char *file, const char *overlay,
                                          int n_flags, const char *const *flags, ctune_unit **out);
void ctune_unit_destroy(ctune_unit *unit);

/* The page of a refusal. */
typedef struct ctune_refusal_page {
    const char *code, *hint;    /* as diagnostics have them */
    const char *why;            /* sentences */
    const char *before, *after; /* C: refused, and as it is handled */
} ctune_refusal_page;

/* Page i, from 0, in the table's order; false: there are no more. */
bool ctune_refusal_page_get(int i, ctune_refusal_page *out);

#endif

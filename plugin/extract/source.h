/*
 * The user's text before any compiler sees it: earlier rewritings undone, pragmas and directives
 * found.
 *
 * libclang shows no cursor for a foreign pragma, and a rewritten loop must be extracted from its
 * original, so the text is scanned here: `text` is what the user has, `clean` is the same with
 * every block between ctune:begin and ctune:end replaced by the original statement that it keeps.
 * All offsets are in `clean` unless said otherwise.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_SOURCE_H
#define CTUNE_PLUGIN_EXTRACT_SOURCE_H

#include "plugin/pragma/pragma.h"

/* A stretch of clean that is also one of text. */
typedef struct ctune_piece {
    size_t clean, text, n;
} ctune_piece;

/* An earlier rewriting. */
typedef struct ctune_block {
    size_t begin, end;                   /* in text */
    size_t original_begin, original_end; /* in text: between the original's markers */
    size_t clean_begin, clean_end;       /* the original in clean */
    bool is_damaged;                     /* a marker is missing: left as it is */
} ctune_block;

typedef struct ctune_site {
    size_t begin, end;   /* the pragma: '#' to the end of its line, or _Pragma(...) */
    size_t word;         /* where `tune` stands */
    const char *clauses; /* text after `tune`, comments and line splices blanked */
    const char *macro;   /* the macro whose definition holds a _Pragma, else NULL */
    bool is_unknown;     /* macro: the operand of _Pragma is no string, it may be ours */
} ctune_site;

typedef struct ctune_directive {
    size_t begin, end; /* '#' to the end of its line */
    const char *name;  /* "pragma", "if", "include" */
    const char *rest;  /* what follows, comments blanked */
} ctune_directive;

typedef struct ctune_source {
    ctune_arena *arena;
    const char *file;
    const char *text;
    size_t n_text;
    const char *clean;
    size_t n_clean;
    int n_pieces;
    ctune_piece *pieces;
    int n_blocks;
    ctune_block *blocks;
    int n_sites;
    ctune_site *sites;
    int n_directives;
    ctune_directive *directives; /* all but `pragma tune` */
} ctune_source;

/* text is borrowed. false when memory is out. */
bool ctune_source_init(ctune_arena *arena, const char *file, const char *text, size_t n_text,
                       ctune_source *out);
size_t ctune_source_to_text(const ctune_source *source, size_t clean);
/* 1-based line and column in text of an offset in clean. */
void ctune_source_place(const ctune_source *source, size_t clean, int *line, int *col);
/* Offset after spaces and comments. */
size_t ctune_source_skip_space(const char *text, size_t n, size_t at);
/* A stretch of clean on one line, comments dropped, white space collapsed. NULL when memory is out.
 */
const char *ctune_source_line(const ctune_source *source, ctune_arena *arena, size_t begin,
                              size_t end);

#endif

/*
 * The grammar of `#pragma tune`, over a token stream, independent of any compiler. docs/pragma.md.
 */
#ifndef CTUNE_PLUGIN_PRAGMA_PRAGMA_H
#define CTUNE_PLUGIN_PRAGMA_PRAGMA_H

#include "runtime/arena.h"
#include "runtime/base.h"

typedef struct ctune_token {
    const char *text; /* borrowed, NUL-terminated spelling */
    int line, col;
} ctune_token;

typedef struct ctune_pragma_size {
    const char *name;
    int n_values;
    int64_t values[8];
} ctune_pragma_size;

typedef enum ctune_pragma_target {
    CTUNE_PRAGMA_CPU,
    CTUNE_PRAGMA_CUDA,
    CTUNE_PRAGMA_OPENCL
} ctune_pragma_target;

/* The clauses of one pragma. Text in the given arena. One row a clause in pragma.c's table. */
typedef struct ctune_pragma {
    int line, col;    /* of the word `tune` */
    const char *name; /* name(id) or NULL */
    ctune_pragma_target target;
    int n_sizes;
    const ctune_pragma_size *sizes;
    bool reassoc, strict; /* both: error */
    bool serial;
    int n_threads; /* parallel(n); parallel without argument = -1; 0 = not given */
    bool noalias;
    int n_assumes;
    const char *const *assumes; /* text of each condition; the extractor parses it */
    const char *schedule;       /* schedule("...") unescaped, or NULL */
    double weight;              /* weight(x), default 1 */
    bool off;
} ctune_pragma;

/* tokens: those after `tune`, up to the end of the pragma line. Errors are sent as diagnostics at
 * their token (code "unknown-clause", "bad-clause", "duplicate-clause", ...) and the status is
 * EUSAGE. */
CTUNE_MUST_USE ctune_status ctune_pragma_parse(ctune_ctx *ctx, ctune_arena *arena, const char *file,
                                               int line, int col, const ctune_token *tokens,
                                               int n_tokens, ctune_pragma *out);
/* Rows of the clause table, 0, 1, ...: the help text, and the form ("sizes(n=1024)") when asked
 * for. NULL past the last. */
const char *ctune_pragma_clause_help(int clause_id, const char **form);
/* Clauses as text (canonical order), for tests and fuzzing: parse(print(p)) prints the same. */
const char *ctune_pragma_print(ctune_arena *arena, const ctune_pragma *pragma);
/* Tokenise one pragma line's text (what libclang or GCC would give): for tests, fuzzing and front
 * ends without tokens. line, col: place of text's first byte. Returns the number of tokens, -1 when
 * memory is out. */
int ctune_pragma_tokenise(ctune_arena *arena, const char *text, int line, int col,
                          const ctune_token **out);

#endif

/*
 * The user's compile of one file, sorted by use.
 */
#ifndef CTUNE_PLUGIN_SOURCE_FLAGS_H
#define CTUNE_PLUGIN_SOURCE_FLAGS_H

#include "runtime/arena.h"
#include "runtime/base.h"

/* Owner: the struct, ctune_flags_clear. */
typedef struct ctune_flags {
    ctune_arena *arena;
    const char *compiler; /* "clang-19" */
    int n_extract;        /* for libclang: what the front end needs */
    const char **extract;
    int n_run; /* for candidates and the target: what changes code */
    const char **run;
    int n_unit; /* for the user's whole file: what its code depends on, includes and defines too */
    const char **unit;
    int n_words; /* all of them, as sorted: borrowed, like directory */
    const char *const *words;
    const char *directory;
    const char *note; /* what was assumed, for the user; NULL = nothing */
} ctune_flags;

/*
 * Fill extract, run and unit from the words that follow the compiler's name.
 *
 * words      borrowed, must outlive out
 * directory  relative paths start there; NULL: the current folder
 * out        its arena is made when it is NULL; compiler and note are not touched
 */
CTUNE_MUST_USE ctune_status ctune_flags_sort(ctune_ctx *ctx, int n, const char *const *words,
                                             const char *directory, bool is_clang,
                                             ctune_flags *out);
void ctune_flags_clear(ctune_flags *flags);

/* Words in front of the compiler, of a command's n words: ccache, distcc, env A=B, ... */
int ctune_flags_skip_launchers(int n, const char *const *words);
bool ctune_flags_is_compiler(const char *word);  /* does the word name a C compiler? */
bool ctune_flags_is_clang(const char *compiler); /* by its name */

#endif

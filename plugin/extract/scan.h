/*
 * Loops of a file and what a pragma above each would give.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_SCAN_H
#define CTUNE_PLUGIN_EXTRACT_SCAN_H

#include "plugin/extract/extract.h"

typedef struct ctune_scan_loop {
    int line, end_line;   /* 1-based */
    size_t begin, end;    /* bytes in the file */
    int parent;           /* the loop around it, -1: none */
    int depth;            /* of the nest that begins here: 1 for a loop without others in it */
    const char *function; /* its name */
    double cost;          /* guess of the operations of one run */
    const char *outcome;  /* "handled", a refusal's code; NULL: a loop around it is handled, or the
                             file has a pragma there */
    const char *why;      /* refused: words */
    int why_line;
    bool is_handled;
} ctune_scan_loop;

/*
 * arena   owner of what comes out
 * loops   in the order of their text
 * Fails   EENV (cannot read, does not compile), ENOMEM
 */
CTUNE_MUST_USE ctune_status ctune_scan_file(ctune_ctx *ctx, ctune_arena *arena, const char *file,
                                            int n_flags, const char *const *flags, int *n_loops,
                                            ctune_scan_loop **loops);

#endif

/*
 * Context of a statement's loops: AutoTVM's table of loops x accesses, raw.
 *
 * For each loop around the statement, outermost first: its length, level, products of lengths, and
 * for each textual access how far one iteration moves it (stride), how many distinct elements the
 * loop with everything inside touches (count) and how often each of them (reuse). Lengths are mean
 * trip counts. A row of features pools this table (ctune_feature_get); tests and dumps look at it.
 */
#ifndef CTUNE_SEARCH_FEATURE_CONTEXT_H
#define CTUNE_SEARCH_FEATURE_CONTEXT_H

#include "search/schedule/nest.h"

enum { CTUNE_CONTEXT_LOOPS = 48, CTUNE_CONTEXT_ACCESSES = 32 };

typedef struct ctune_context_touch {
    double stride; /* elements of the flattened index; 0 = does not move */
    double count;  /* distinct elements */
    double reuse;  /* touches of each */
} ctune_context_touch;

typedef struct ctune_context_loop {
    int node;        /* of the nest */
    int level;       /* 1 = outermost */
    double length;   /* iterations */
    double topdown;  /* product of the lengths of this and all loops around */
    double bottomup; /* max over accesses of count * reuse */
    ctune_ann ann;
    double n_add, n_mul, n_div; /* float operations whose innermost loop is this one */
    ctune_context_touch touch[CTUNE_CONTEXT_ACCESSES];
} ctune_context_loop;

typedef struct ctune_context {
    int n_loops;
    ctune_context_loop loop[CTUNE_CONTEXT_LOOPS];
    int n_accesses; /* the store, the load of an update, then the reads; more are left out */
    const ctune_access *access[CTUNE_CONTEXT_ACCESSES]; /* borrowed from the region */
    bool is_store[CTUNE_CONTEXT_ACCESSES];
} ctune_context;

/* stmt: statement of the form's tree. False when the nest does not have it (out: no loops). */
bool ctune_feature_context(const ctune_nest *nest, int stmt, ctune_context *out);

#endif

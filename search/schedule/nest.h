/*
 * Nest: a region with a schedule applied, structurally. The cheap of the two representations (the
 * other: lower/loops.h).
 *
 * A few kilobytes, no pointers it owns, no isl, copied with memcpy. The search and the features
 * live on it. Each loop is a level of a dim of the tree: splitting a dim gives an outer loop that
 * advances by the tile size and an inner loop inside that tile; the innermost level of each dim has
 * step 1. Exact bounds exist only after lowering.
 */
#ifndef CTUNE_SEARCH_SCHEDULE_NEST_H
#define CTUNE_SEARCH_SCHEDULE_NEST_H

#include "search/deps/deps.h"

enum { CTUNE_NEST_NODES = 96, CTUNE_NEST_CACHES = 16, CTUNE_NAME_BYTES = 24 };

/* A PARALLEL loop directly inside a PARALLEL loop is collapsed into it. */
typedef enum ctune_ann {
    CTUNE_ANN_SERIAL,
    CTUNE_ANN_UNROLL,
    CTUNE_ANN_VECTOR,
    CTUNE_ANN_PARALLEL
} ctune_ann;

typedef enum ctune_nnode_kind { CTUNE_NN_SEQ, CTUNE_NN_LOOP, CTUNE_NN_STMT } ctune_nnode_kind;

/* Node 0 is the root SEQ. Links are node indices, -1 = none. */
typedef struct ctune_nnode {
    ctune_nnode_kind kind;
    int16_t parent, first, next; /* first child, next sibling */
    int16_t dim;                 /* LOOP: dim of the tree; STMT: -1 */
    int16_t stmt;                /* STMT: statement of the tree */
    int16_t outer; /* LOOP: node of the enclosing level of the same dim, -1 = outermost level */
    ctune_ann ann; /* LOOP */
    int64_t step; /* LOOP: 1 for the innermost level, else the tile size in iterations of the dim */
    char name[CTUNE_NAME_BYTES]; /* LOOP: unique */
} ctune_nnode;

typedef enum ctune_cache_kind { CTUNE_CACHE_PACK, CTUNE_CACHE_REGISTER } ctune_cache_kind;

/* PACK: a copy of what one read of one statement touches under loop `at` (one iteration of it; at =
 * 0: the whole nest), in the order in which the inner kernel reads it, padded to full register
 * tiles. The lowering widens the read to the largest subexpression over the same dims. REGISTER:
 * the statement's target tile held in local vector variables during one iteration of `at` (its
 * reduction loops run inside). */
typedef struct ctune_cache {
    ctune_cache_kind kind;
    int16_t stmt;
    int16_t read; /* PACK: read_id of the stage; REGISTER: -1 */
    int16_t at;   /* loop node, or 0 */
} ctune_cache;

typedef struct ctune_nest {
    const ctune_region *region; /* borrowed */
    const struct ctune_form
        *form; /* the structure: tree and direction vectors; borrowed (program.h) */
    int n_nodes;
    int n_caches;
    ctune_nnode node[CTUNE_NEST_NODES];
    ctune_cache cache[CTUNE_NEST_CACHES];
} ctune_nest;

/* Nest of a form without any loop primitive: one loop per dim, all serial. */
void ctune_nest_init(ctune_nest *nest, const ctune_region *region, const struct ctune_form *form);
int ctune_nest_find(const ctune_nest *nest, const char *name); /* loop node or -1 */
int ctune_nest_find_stmt(const ctune_nest *nest, int stmt);    /* node */
/* Estimated mean trip count of a loop: tile extents and dim extents, >= 1. */
double ctune_nest_extent(const ctune_nest *nest, int node);
/* Is the order of the loops legal under the form's direction vectors (tiling included)? Also checks
 * VECTOR (no dependence carried at that loop), UNROLL and PARALLEL annotations. why (may be NULL)
 * receives words. */
bool ctune_nest_check(const ctune_nest *nest, char *why, size_t why_size);
/* Indented loops, one a line, with caches and statements. */
void ctune_nest_print(const ctune_nest *nest, ctune_text *out);
CTUNE_MUST_USE ctune_status ctune_nest_verify(ctune_ctx *ctx, const ctune_nest *nest);

#endif

/*
 * Nest: a region with a schedule applied, structurally. The cheap of the two representations (the
 * other: lower/loops.h).
 *
 * A few kilobytes, no pointers it owns, no isl, copied with memcpy. The search and the features
 * live on it. Each loop is a level of a dim of the tree: splitting a dim gives an outer loop that
 * advances by the tile size and an inner loop inside that tile; the innermost level of each dim has
 * step 1. Exact bounds exist only after lowering.
 *
 * Besides these there are loops over a *sum*, which scan no dim but cut the iterations of the loops
 * around and inside them: tiles of an affine combination of dims (skewed tiles), and waves over a
 * combination of other loops (wavefronts of tiles or of points). A statement may be *placed* at a
 * loop of another nest: its own loops run there once more for each iteration, over what the
 * statements inside read.
 */
#ifndef CTUNE_SEARCH_SCHEDULE_NEST_H
#define CTUNE_SEARCH_SCHEDULE_NEST_H

#include "search/deps/deps.h"

enum {
    CTUNE_NEST_NODES = 160,
    CTUNE_NEST_CACHES = 24,
    CTUNE_NEST_SUMS = 8,
    CTUNE_NEST_SKEWS = 4,
    CTUNE_SUM_TERMS = 8,
    CTUNE_NAME_BYTES = 24
};

/* id, name. A PARALLEL loop directly inside a PARALLEL loop is collapsed into it. BLOCK and THREAD:
 * the loop is bound to the GPU's (check_gpu.c says what runs there). */
#define CTUNE_ANN_TABLE(X)                                                                         \
    X(SERIAL, "")                                                                                  \
    X(UNROLL, "unroll")                                                                            \
    X(VECTOR, "vector")                                                                            \
    X(PARALLEL, "parallel")                                                                        \
    X(SLIDE, "slide") /* all of a loop's iterations in vectors, neighbours kept between them */    \
    X(BLOCK_X, "block.x")                                                                          \
    X(BLOCK_Y, "block.y")                                                                          \
    X(BLOCK_Z, "block.z")                                                                          \
    X(THREAD_X, "thread.x")                                                                        \
    X(THREAD_Y, "thread.y")                                                                        \
    X(THREAD_Z, "thread.z")

typedef enum ctune_ann {
#define X(id, name) CTUNE_ANN_##id,
    CTUNE_ANN_TABLE(X)
#undef X
} ctune_ann;

const char *ctune_ann_name(ctune_ann ann);
static inline bool ctune_ann_is_block(ctune_ann ann) {
    return ann >= CTUNE_ANN_BLOCK_X && ann <= CTUNE_ANN_BLOCK_Z;
}
static inline bool ctune_ann_is_thread(ctune_ann ann) {
    return ann >= CTUNE_ANN_THREAD_X;
}
static inline bool ctune_ann_is_bound(ctune_ann ann) {
    return ann >= CTUNE_ANN_BLOCK_X;
}

/* Do iterations run at the same time, in lanes, threads or blocks? */
static inline bool ctune_ann_is_spread(ctune_ann ann) {
    return ann == CTUNE_ANN_VECTOR || ann == CTUNE_ANN_PARALLEL || ann == CTUNE_ANN_SLIDE ||
           ctune_ann_is_bound(ann);
}

typedef enum ctune_nnode_kind { CTUNE_NN_SEQ, CTUNE_NN_LOOP, CTUNE_NN_STMT } ctune_nnode_kind;

/* Node 0 is the root SEQ. Links are node indices, -1 = none. */
typedef struct ctune_nnode {
    ctune_nnode_kind kind;
    int16_t parent, first, next; /* first child, next sibling */
    int16_t dim;                 /* LOOP: dim of the tree; STMT: -1 */
    int16_t stmt;                /* STMT: statement of the tree */
    int16_t sum; /* LOOP: index into nest->sum, -1: a level of dim. Else the loop scans no dim, and
                    dim is the longest of the sum (a wave: its first loop's), for estimates */
    int16_t placed;   /* STMT: the loop at which it is placed, -1 = in its own nest */
    int16_t outer;    /* LOOP: node of the enclosing level of the same dim, -1 = outermost level */
    bool is_streamed; /* STMT: its stores go past the caches */
    ctune_ann ann;    /* LOOP */
    int64_t step; /* LOOP: 1 for the innermost level, else the tile size in iterations of the dim */
    char name[CTUNE_NAME_BYTES]; /* LOOP: unique */
} ctune_nnode;

/* What a loop over a sum adds up. DIM: the iteration of that dim, 0 for statements outside it;
 * STMT: 1 for that statement, 0 for others (a shift of its own). A sum of these has tiles: x <= sum
 * <= x + step - 1. LOOP: the number of the iteration of that loop, its value / its step, with tiles
 * on the multiples of its step; a sum has only LOOP terms (a wave, step 1), or none. */
typedef enum ctune_sum_kind { CTUNE_SUM_DIM, CTUNE_SUM_STMT, CTUNE_SUM_LOOP } ctune_sum_kind;

typedef struct ctune_sum_term {
    int8_t kind;  /* ctune_sum_kind */
    int16_t of;   /* dim, statement or loop node */
    int32_t coef; /* not 0 */
} ctune_sum_term;

typedef struct ctune_sum {
    int16_t n;
    ctune_sum_term term[CTUNE_SUM_TERMS];
} ctune_sum;

typedef enum ctune_cache_kind {
    CTUNE_CACHE_PACK,
    CTUNE_CACHE_REGISTER,
    CTUNE_CACHE_SHARED
} ctune_cache_kind;

/* PACK: a copy of what one read of one statement touches under loop `at` (one iteration of it; at =
 * 0: the whole nest), in the order in which the inner kernel reads it, padded to full register
 * tiles. The lowering widens the read to the largest subexpression over the same dims. REGISTER:
 * the statement's target tile held in local vector variables during one iteration of `at` (its
 * reduction loops run inside). SHARED: what the threads of a block touch by one read in one
 * iteration of `at`, copied by all of them into memory that they share. */
typedef struct ctune_cache {
    ctune_cache_kind kind;
    int16_t stmt;
    int16_t read; /* PACK, SHARED: read_id of the stage; REGISTER: -1 */
    int16_t at;   /* loop node, or 0 */
} ctune_cache;

/* For the time of the region element [i][j] of the array lies at [by * i + j][i] of a copy. */
typedef struct ctune_skew {
    int16_t tensor, by;
} ctune_skew;

typedef struct ctune_nest {
    const ctune_region *region; /* borrowed */
    const struct ctune_form
        *form; /* the structure: tree and direction vectors; borrowed (program.h) */
    int n_nodes;
    int n_caches;
    int n_sums;
    int n_skews;
    ctune_nnode node[CTUNE_NEST_NODES];
    ctune_cache cache[CTUNE_NEST_CACHES];
    ctune_sum sum[CTUNE_NEST_SUMS];
    ctune_skew skew[CTUNE_NEST_SKEWS];
} ctune_nest;

/* Nest of a form without any loop primitive: one loop per dim, all serial. */
void ctune_nest_init(ctune_nest *nest, const ctune_region *region, const struct ctune_form *form);
int ctune_nest_find(const ctune_nest *nest, const char *name); /* loop node or -1 */
int ctune_nest_find_stmt(const ctune_nest *nest, int stmt);    /* node */
/* By how much the array is skewed, -1 = it is not. */
int ctune_nest_skew_of(const ctune_nest *nest, int tensor);
/* Estimated mean trip count of a loop: tile extents and dim extents, >= 1. */
double ctune_nest_extent(const ctune_nest *nest, int node);
/* Is the order of the loops legal under the form's direction vectors (tiling included)? Also checks
 * VECTOR and SLIDE (no dependence carried at that loop), UNROLL and PARALLEL annotations. why (may
 * be NULL) receives words. Loops over sums are judged by the vectors' distances, which say no where
 * only ctune_nest_check_exact knows. */
bool ctune_nest_check(const ctune_nest *nest, char *why, size_t why_size);
/* The same with the order of the loops decided on the dependences themselves, by isl (under its
 * operation budget; spent: not legal, with words). *legal false with words in ctx->error. */
struct ctune_deps;
CTUNE_MUST_USE ctune_status ctune_nest_check_exact(ctune_ctx *ctx, struct ctune_deps *deps,
                                                   const ctune_nest *nest, bool *legal);
/* Is some loop bound to a GPU? */
bool ctune_nest_is_gpu(const ctune_nest *nest);
/* Indented loops, one a line, with caches and statements. */
void ctune_nest_print(const ctune_nest *nest, ctune_text *out);
CTUNE_MUST_USE ctune_status ctune_nest_verify(ctune_ctx *ctx, const ctune_nest *nest);

#endif

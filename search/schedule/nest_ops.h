/*
 * Loop and memory primitives on node indices: what ctune_nest_apply does after looking names up.
 * Private to search/schedule, search/lower (which reads sums) and search/space, which knows its
 * nodes and must not pay for names.
 *
 * Each returns NULL when done, else the rule that was broken (static text; the nest is unchanged).
 */
#ifndef CTUNE_SEARCH_SCHEDULE_NEST_OPS_H
#define CTUNE_SEARCH_SCHEDULE_NEST_OPS_H

#include "search/schedule/nest.h"

enum {
    CTUNE_MAX_FACTOR = 1 << 30,
    CTUNE_MAX_UNROLL = 64,
    CTUNE_NEST_LANES = 1024,
    CTUNE_MAX_BLOCK_THREADS = 1024, /* of a GPU */
    CTUNE_MAX_SHARED_BYTES = 48 << 10
};

/* node keeps the outer level (step * factor); *inner is the new loop, its only child. Names must be
 * free already. */
const char *ctune_nest_split(ctune_nest *nest, int node, int64_t factor, const char *outer_name,
                             const char *inner_name, int *inner);
/* nodes: n loops of one chain of single-child loops, wanted order outermost first. */
const char *ctune_nest_reorder(ctune_nest *nest, const int *nodes, int n);
const char *ctune_nest_annotate(ctune_nest *nest, int node, ctune_ann ann);
const char *ctune_nest_collapse(ctune_nest *nest, int outer, int inner);
const char *ctune_nest_cache(ctune_nest *nest, ctune_cache_kind kind, int stmt, int read, int at);

/* A tile loop over sum (DIM and STMT terms) of step iterations, directly outside loop `at`. */
const char *ctune_nest_tile(ctune_nest *nest, const ctune_sum *sum, int64_t step, int at,
                            const char *name);
/* A loop over sum (LOOP terms), directly outside the outermost of its loops. */
const char *ctune_nest_wave(ctune_nest *nest, const ctune_sum *sum, const char *name);
/* Move stmt with its loops to the head of the body of loop `at`. */
const char *ctune_nest_compute(ctune_nest *nest, int stmt, int at);

/* A loop of its own around each part of the loop's body (fission.c); further ones are named i_2,
 * ... */
const char *ctune_nest_fission(ctune_nest *nest, int node);
/* Do the parts of the nest that hold the nodes, which are not inside each other, run in this order?
 * (Equal nodes: no.) */
bool ctune_nest_is_before(const ctune_nest *nest, int first, int second);
/* Does some dim have its innermost level more than once? */
bool ctune_nest_is_fissioned(const ctune_nest *nest);

/* The stores of stmt go past the caches, where they are whole vectors. */
const char *ctune_nest_stream(ctune_nest *nest, int stmt);

/* Keep the array along its diagonals (skew.c). */
const char *ctune_nest_skew(ctune_nest *nest, int tensor, int64_t by);

/* The sum of a loop, NULL when it is a level of its dim. */
static inline const ctune_sum *ctune_nest_sum(const ctune_nest *nest, int node) {
    return nest->node[node].sum < 0 ? NULL : &nest->sum[nest->node[node].sum];
}
static inline bool ctune_sum_is_wave(const ctune_sum *sum) {
    return sum != NULL && sum->term[0].kind == CTUNE_SUM_LOOP;
}
/* Must the tiles of this loop lie on the multiples of its step? Those in a wave. */
bool ctune_nest_is_aligned(const ctune_nest *nest, int node);
/* What is wrong with a loop over a sum, or a placed statement; NULL: nothing. */
const char *ctune_nest_verify_sum(const ctune_nest *nest, int node);
const char *ctune_nest_verify_placed(const ctune_nest *nest, int node);
/* Is each placed statement's value the same where it now runs? */
bool ctune_nest_check_placed(const ctune_nest *nest, char *why, size_t why_size);

bool ctune_nest_is_ancestor(const ctune_nest *nest, int ancestor, int node); /* also when equal */
/* Constant number of iterations of a loop whose tile or bounds are constant; 0 when not known. */
int64_t ctune_nest_trip(const ctune_nest *nest, int node);
/* Constant trip count of a dim whose bounds are constants in every statement around it; 0 when they
 * are not. */
int64_t ctune_tree_const_extent(const ctune_tree *tree, int dim);
/* Constant bounds of a dim in one statement; false when it has none. */
bool ctune_stmt_const_range(const ctune_stmt *stmt, int dim, int64_t *lo, int64_t *hi);

/* Do the loops whose bounds are loads stand inside of those over the loads' axes (check_load.c)? */
bool ctune_nest_check_loads(const ctune_nest *nest, char *why, size_t why_size);
/* Does nothing write what a read of the statement touches while, in one iteration of loop `at` (0:
 * the whole nest), the part of its body that holds the statement runs? */
bool ctune_nest_is_stable(const ctune_nest *nest, int stmt, int read, int at);
/* Legality of the caches (check.c calls it). */
bool ctune_nest_check_caches(const ctune_nest *nest, char *why, size_t why_size);

/* ---- check_gpu.c: nests with bound loops. What is bound runs in *launches*: the outermost nodes
 * that are bound or have no bound loop inside; the loops around them stay on the host. */
/* A loop of the host: serial, with bound loops inside and none around. The root is one. */
bool ctune_nest_is_host(const ctune_nest *nest, int node);
/* The launch that node is or is in; -1: node is on the host. */
int ctune_nest_launch(const ctune_nest *nest, int node);
/* Legality of what is bound, true when nothing is. */
bool ctune_nest_check_gpu(const ctune_nest *nest, char *why, size_t why_size);
/* What of the statement's dim one copy of cache c (SHARED) spans: `count` values from that of loop
 * *node on, or from *low on when no loop of the dim is open there (*node -1). 0: no constant. */
int64_t ctune_nest_shared_range(const ctune_nest *nest, int c, int dim, int *node, int64_t *low);
/* Elements along index d of that copy; 0 when it is no constant. */
int64_t ctune_nest_shared_extent(const ctune_nest *nest, int c, int d);

/* Does the dependence certainly cross iterations of the loops from the root down to `stop`
 * (inclusive)? Then nothing inside one iteration of stop depends on it. */
bool ctune_nest_is_carried(const ctune_nest *nest, const ctune_depvec *vec, int stop);

/* Why a check refuses: the words into why [why_size], which may be NULL. false, for its caller. */
bool ctune_nest_refuse(char *why, size_t why_size, const char *format, ...) CTUNE_PRINTF(3, 4);

#endif

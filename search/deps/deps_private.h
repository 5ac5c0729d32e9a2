/*
 * What the files that compute with isl share. Private to search/deps.
 *
 * Spaces: every set and map has all of the region's parameters in their order; stage s has the
 * tuple "S<s>" with one dimension per axis of the stage (by position), a statement's loops the
 * tuple "D<stmt>".
 */
#ifndef CTUNE_SEARCH_DEPS_DEPS_PRIVATE_H
#define CTUNE_SEARCH_DEPS_DEPS_PRIVATE_H

#include "search/deps/deps.h"
#include "search/deps/tree_build.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>

enum { CTUNE_DEP_FLOW = 1, CTUNE_DEP_ANTI = 2, CTUNE_DEP_OUTPUT = 4 };

/* All instance pairs of two stages that one pair of accesses orders. */
typedef struct ctune_dep {
    int src, dst; /* stages */
    int tensor;
    int kinds;     /* CTUNE_DEP_*: several when a read and a write have the same indices */
    bool can_drop; /* reduction: need not be kept */
    int n_pieces;
    isl_basic_map **pieces; /* [n_pieces], one per source level that carries some of them; owned */
} ctune_dep;

struct ctune_deps {
    isl_ctx *isl;
    const ctune_region *region; /* borrowed */
    ctune_arena *arena;
    ctune_tree *source;      /* the source order */
    isl_basic_set **domains; /* [n_stages], assumptions included */
    int n_deps, size_deps;
    ctune_dep *deps;  /* malloc'd */
    bool is_deferred; /* ctune_deps_defer */
};

/* Operation budgets of one call: exact numbers, never a clock. An operation takes 1 to 5 us; of the
 * kernels in tests/kernels the greediest (deriche, 34 statements) stays below a million for a
 * schedule, 0.1 for the rest. */
enum {
    CTUNE_BUDGET_CREATE = 4 * 1000 * 1000,
    CTUNE_BUDGET_CHECK = 2 * 1000 * 1000,
    CTUNE_BUDGET_DISTANCE = 500 * 1000,
    CTUNE_BUDGET_SCHEDULE = 2 * 1000 * 1000
};

/* Start counting isl operations anew. */
void ctune_isl_begin(isl_ctx *isl, unsigned long budget);
/* Did isl fail since begin? EREFUSED with words when the budget is spent, ENOMEM, EBUG; OK when all
 * is well. */
CTUNE_MUST_USE ctune_status ctune_isl_end(ctune_ctx *ctx, isl_ctx *isl, const char *what);

/* Builders: NULL in, NULL out. */
isl_basic_set *ctune_isl_stage_domain(const ctune_deps *deps, int stage);
/* Loops of a statement -> axes of its stage. */
isl_multi_aff *ctune_isl_stmt_map(const ctune_deps *deps, const ctune_tree *tree, int stmt);
/* The statement's domain over its loops. */
isl_basic_set *ctune_isl_stmt_domain(const ctune_deps *deps, const ctune_tree *tree, int stmt);
/* The set of these constraints (and the assumptions) over the statement's loops. */
isl_basic_set *ctune_isl_stmt_set(const ctune_deps *deps, const ctune_tree *tree, int stmt,
                                  int n_cons, const ctune_aff *const *cons);
/* Stage instance -> element of the tensor. */
isl_basic_map *ctune_isl_access(const ctune_deps *deps, int stage, const ctune_access *access);
/* Those pairs whose difference (dimension `out` of the range minus `in` of the domain) has the
 * CTUNE_SIGN_*. */
isl_basic_map *ctune_isl_compare(isl_basic_map *pairs, int in, int out, int sign);
/* Number in a tuple name made by the above, -1 when it is none. */
int ctune_isl_tuple_number(const char *name);

/* The pairs behind a vector, kept while distances are wanted. */
typedef struct ctune_leaf {
    int vec;                                          /* index into the list */
    isl_basic_map *pairs;                             /* owned */
    int8_t in[CTUNE_MAX_DEPTH], out[CTUNE_MAX_DEPTH]; /* dimensions that are common loop c */
} ctune_leaf;

/* Direction vectors that grow while they are found; init with {0}, clear with ctune_veclist_clear
 * before the isl_ctx goes. */
typedef struct ctune_veclist {
    int n, size;
    ctune_depvec *vec;
    bool wants_distances; /* set by the caller: min[] and max[] of the vectors are filled in */
    int n_leaves, size_leaves;
    ctune_leaf *leaf;
    bool failed; /* memory ran out */
} ctune_veclist;
void ctune_veclist_clear(ctune_veclist *list);
/* pairs are copied. */
void ctune_leaf_append(ctune_veclist *list, int vec, const isl_basic_map *pairs, const int *in,
                       const int *out);
/* Distances of all vectors from their leaves, under a budget of their own. */
void ctune_deps_measure(const ctune_deps *deps, ctune_veclist *list);

/* line[n_dims]: the line of each dim, -1 = none. false: out of memory. */
bool ctune_tree_lines(const ctune_region *region, const ctune_tree *tree, ctune_arena *scratch,
                      int8_t *line);
/* Distances along lines of all vectors, under a budget of their own. */
void ctune_deps_measure_lines(const ctune_deps *deps, const ctune_tree *tree, const int8_t *line,
                              ctune_veclist *list);

/* Legality of tree; when legal and list is not NULL, all direction vectors. Errors as
 * ctune_deps_check. */
CTUNE_MUST_USE ctune_status ctune_deps_walk(ctune_ctx *ctx, const ctune_deps *deps,
                                            const ctune_tree *tree, bool *legal,
                                            ctune_veclist *list);
/* Move statements that run at one value of a loop out of it where that is legal; *tree is replaced,
 * and stays the caller's on failure. */
CTUNE_MUST_USE ctune_status ctune_tree_unpin(ctune_ctx *ctx, const ctune_deps *deps,
                                             ctune_tree **tree);
/* Take the tree when it is legal, else destroy it: EREFUSED with words. */
CTUNE_MUST_USE ctune_status ctune_tree_accept(ctune_ctx *ctx, const ctune_deps *deps,
                                              ctune_tree *tree, ctune_tree **out);
/* The same for the result of a structural primitive: not asked while checks are deferred. */
CTUNE_MUST_USE ctune_status ctune_tree_hand_over(ctune_ctx *ctx, const ctune_deps *deps,
                                                 ctune_tree *tree, ctune_tree **out);

/* moves.c: begin with a copy of tree; kids receives the list for the root. Clear b after OK. */
CTUNE_MUST_USE ctune_status ctune_tree_copy_begin(ctune_ctx *ctx, const ctune_deps *deps,
                                                  const ctune_tree *tree, ctune_tree_builder *b,
                                                  ctune_tnodes **kids);

#endif

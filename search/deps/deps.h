/*
 * Dependences and structural legality, exact, through isl.
 *
 * Made once per region: all pairs of instances that touch the same element, one of them writing, in
 * source order (memory-based: flow, anti, output). isl work runs under an operation budget
 * (isl_ctx_set_max_operations), so that results never depend on the clock; when it is spent the
 * region is refused [too-complex].
 *
 * What may be reordered: in strict mode nothing that a dependence orders. A self-dependence of an
 * update stage (x op= e with op associative, e not reading x) is `reduction`: droppable for
 * integers always (exact: the emitter computes in unsigned), for floats only when the region or
 * the stage says reassoc.
 * Integer min= and max=, too. Updates of one element by different statements likewise, when they
 * are of one class: sums and differences, or all minima, ...
 */
#ifndef CTUNE_SEARCH_DEPS_DEPS_H
#define CTUNE_SEARCH_DEPS_DEPS_H

#include "search/deps/tree.h"

typedef struct ctune_deps ctune_deps; /* owns an isl_ctx; one thread */

/* region is borrowed and must outlive deps. Owner of *out: caller. Fails EREFUSED (diagnostic
 * sent), ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_deps_create(ctune_ctx *ctx, const ctune_region *region,
                                              ctune_deps **out);
void ctune_deps_destroy(ctune_deps *deps);
/* One line for each dependence and source level that carries it, "reduction" where droppable:
 *     flow,anti,output C S0 -> S1 (0, +)
 * In brackets the difference (dst - src) of each common loop: its value when it has only one, else
 * + 0 - and their unions (0+ is >= 0, * is any). */
void ctune_deps_print(const ctune_deps *deps, ctune_text *out);

enum { CTUNE_SIGN_POS = 1, CTUNE_SIGN_ZERO = 2, CTUNE_SIGN_NEG = 4 };

/* Distances that have no bound. */
#define CTUNE_DIST_MIN INT64_MIN
#define CTUNE_DIST_MAX INT64_MAX

/* A line is a set of dims of different statements that walk the same dimension of the data
 * (lines.c).
 */
enum { CTUNE_MAX_LINES = 6 };

/* One direction vector between two statements of a tree over their common dims, outermost first.
 * Each sign[] is exactly one CTUNE_SIGN_* bit: the sign of (dst - src). All vectors of all
 * non-droppable dependences are listed. The distances of one vector are independent of each other:
 * a box around its differences. */
typedef struct ctune_depvec {
    int src, dst;                      /* statements */
    int n_common;                      /* leading loops shared in the tree */
    uint8_t sign[CTUNE_MAX_DEPTH];     /* [n_common] */
    bool has_distance;                 /* min and max are known; else the signs alone */
    int64_t min[CTUNE_MAX_DEPTH];      /* [n_common]: least and greatest (dst - src) over all */
    int64_t max[CTUNE_MAX_DEPTH];      /* instances and parameter values; CTUNE_DIST_* */
    bool has_lines;                    /* line_min and line_max are known */
    int64_t line_min[CTUNE_MAX_LINES]; /* [line]: the same along a line, where the two statements */
    int64_t line_max[CTUNE_MAX_LINES]; /* do not share its loop; one outside it stands at 0 */
} ctune_depvec;

/* Least and greatest difference at one common loop, from the sign and, where known, the distances.
 */
void ctune_depvec_range(const ctune_depvec *vec, int level, int64_t *min, int64_t *max);

typedef struct ctune_depvecs {
    int n;
    const ctune_depvec *vec; /* in the tree's arena; duplicates removed */
    const int8_t *line;      /* [n_dims of the tree]: its line, -1 = none; NULL: no lines */
} ctune_depvecs;

/* Is the order of `tree` legal? *legal false with words in ctx->error (first violated dependence).
 * On legal, *out (may be NULL) receives the direction vectors. Budget exhaustion counts as illegal,
 * with words. Fails ENOMEM, EBUG. */
CTUNE_MUST_USE ctune_status ctune_deps_check(ctune_ctx *ctx, ctune_deps *deps, ctune_tree *tree,
                                             bool *legal, ctune_depvecs *out);
/* The same, the vectors with their signs alone: half of the work. */
CTUNE_MUST_USE ctune_status ctune_deps_check_signs(ctune_ctx *ctx, ctune_deps *deps,
                                                   ctune_tree *tree, bool *legal,
                                                   ctune_depvecs *out);
/* While checks are deferred the structural primitives below do not ask whether the order that they
 * make is legal: whoever takes several at once asks once, of the last. Returns what was set. */
bool ctune_deps_defer(ctune_deps *deps, bool is_deferred);

/* The least number of loops around the statement, outermost first, such that while these stand
 * still and the part of the body that holds the statement runs, nothing writes an element that the
 * access touches. More than the statement has: not known. */
int ctune_deps_stable(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree, int stmt,
                      const ctune_access *access);

/* Part of what a loop adds up: coef * (the form's value, or the number of its tile of `step`
 * values). */
typedef struct ctune_deps_level_term {
    int64_t coef, step;
    bool is_aligned; /* tiles lie on the multiples of step; else anywhere, in order */
    int64_t form[2][CTUNE_MAX_DEPTH]; /* over the loops of the source, of the destination */
    int64_t shift[2];
} ctune_deps_level_term;

/* A loop around two statements as ctune_deps_check_levels sees it. Several terms: all aligned. */
enum { CTUNE_LEVEL_TERMS = 8, CTUNE_MAX_LEVELS = 48 };
typedef struct ctune_deps_level {
    const char *name;
    bool is_spread; /* its iterations run in no order: none may wait for another */
    int n_terms;
    ctune_deps_level_term term[CTUNE_LEVEL_TERMS];
} ctune_deps_level;

/* The loops around both statements, outermost first, written to out[size]; returns their number, -1
 * to leave the pair out. */
typedef int (*ctune_deps_lister)(const void *data, int src, int dst, ctune_deps_level *out,
                                 int size);

/* Is the order of these loops (the tree's order where they stand still) legal? Exact but for tiles
 * that are not aligned, where no dependence may point to an earlier value. *legal false with words
 * in ctx->error; a spent budget counts as illegal. */
CTUNE_MUST_USE ctune_status ctune_deps_check_levels(ctune_ctx *ctx, ctune_deps *deps,
                                                    const ctune_tree *tree,
                                                    ctune_deps_lister lister, const void *data,
                                                    bool *legal);

/* Loop `dim` twice: first the iterations for which cond >= 0 (over the loops around and inside it
 * and parameters), then the others. The second loop and its inner ones get names of their own. */
CTUNE_MUST_USE ctune_status ctune_tree_split_domain(ctune_ctx *ctx, ctune_deps *deps,
                                                    const ctune_tree *tree, int dim,
                                                    const ctune_aff *cond, ctune_tree **out);

/* A loop over the tiles of a sum of loops, outside loop `at`: its value x is the tile's number,
 * factor * x <= sum < factor * (x + 1). Statements in no loop of the sum count with `at`. */
typedef struct ctune_block {
    const char *name; /* not taken */
    int at;           /* dim */
    int64_t factor;   /* >= 2 */
    int n;
    int dim[CTUNE_MAX_DEPTH];
    int64_t coef[CTUNE_MAX_DEPTH];
} ctune_block;
CTUNE_MUST_USE ctune_status ctune_tree_block(ctune_ctx *ctx, ctune_deps *deps,
                                             const ctune_tree *tree, const ctune_block *block,
                                             ctune_tree **out);
/* Loop `dim` innermost around each of its statements, under a name of its own around the second
 * and further ones. */
CTUNE_MUST_USE ctune_status ctune_tree_sink(ctune_ctx *ctx, ctune_deps *deps,
                                            const ctune_tree *tree, int dim, ctune_tree **out);

/* ---- structural primitives: tree -> new tree (owner: caller). EREFUSED with words when not legal
 * or not applicable. - */

/* Split every loop over several statements into one loop per strongly connected component of
 * dependences, recursively, in a legal order; loops that carry no cycle become perfect nests. */
CTUNE_MUST_USE ctune_status ctune_tree_distribute(ctune_ctx *ctx, ctune_deps *deps,
                                                  const ctune_tree *tree, ctune_tree **out);
/* Merge the outermost `depth` loops of two adjacent sibling nests (statements s0, s1 lie in them).
 */
CTUNE_MUST_USE ctune_status ctune_tree_fuse(ctune_ctx *ctx, ctune_deps *deps,
                                            const ctune_tree *tree, int s0, int s1, int depth,
                                            ctune_tree **out);
/* isl's scheduler (min over proximity = validity, coincidence); each band becomes dims. Schedules
 * that are not unimodular per statement are refused. */
/* MAX: fuse as far as it goes and keep whole bands, with statements pinned inside them (tilable).
 * MIN: one nest for each strongly connected component. SMART: isl's clustering with parallel outer
 * loops. MIN and SMART move pinned statements out of loops where that is legal. */
typedef enum ctune_poly_mode { CTUNE_POLY_MAX, CTUNE_POLY_MIN, CTUNE_POLY_SMART } ctune_poly_mode;
CTUNE_MUST_USE ctune_status ctune_tree_polyhedral(ctune_ctx *ctx, ctune_deps *deps,
                                                  ctune_poly_mode mode, ctune_tree **out);
/* Interchange within the tree: statement-wise loop permutation of an imperfect nest is
 * `polyhedral`; this one permutes the loops around one perfect nest: order[] lists the nest's dims
 * outermost first. */
CTUNE_MUST_USE ctune_status ctune_tree_permute(ctune_ctx *ctx, ctune_deps *deps,
                                               const ctune_tree *tree, int n, const int *order,
                                               ctune_tree **out);

#endif

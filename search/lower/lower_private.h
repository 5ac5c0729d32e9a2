/* State shared by the files of the lowering: lower.c (walk), register.c (register tiles), pack.c,
 * temps.c. */
#ifndef CTUNE_SEARCH_LOWER_PRIVATE_H
#define CTUNE_SEARCH_LOWER_PRIVATE_H

#include "search/lower/loops.h"
#include "search/schedule/program.h"

/* An open loop or helper variable, outermost first. dim -1: a helper variable of `extra`
 * constraints. */
typedef struct lower_open {
    int var;
    int dim;
    int64_t step;
    int node;      /* nest node, -1 for synthetic loops */
    int start_var; /* variable from whose value the loop starts, exactly; -1 */
} lower_open;

typedef struct lower_extra {
    int dim, var;
    int64_t c;
    bool is_lower;
} lower_extra;

typedef struct lowerer {
    ctune_ctx *ctx;
    ctune_loops *loops;
    const ctune_nest *nest;
    const ctune_region *region;
    const ctune_tree *tree;
    ctune_arena *arena;
    ctune_lower_options options;
    int n_open;
    lower_open open[CTUNE_MAX_OPEN];
    int n_extra;
    lower_extra extra[8];
    int node_var[CTUNE_NEST_NODES];        /* variable of an open nest loop, -1 */
    ctune_limit node_lo[CTUNE_NEST_NODES]; /* all that its lower limit implies; n = 0 when it starts
                                              lower */
    bool pending[CTUNE_MAX_STMTS][64];     /* to be checked by an IF before the statement */
    bool no_register;                      /* lower register tiles as plain loops (prologues) */
    int n_parallel;                        /* open PARALLEL loops */
} lowerer;

/* Builders: NULL when memory is out (arena remembers). */
ctune_lnode *lower_lnode(lowerer *w, ctune_lnode_kind kind);
void lower_append(lowerer *w, ctune_lnode *parent, ctune_lnode *kid);
int lower_var(lowerer *w, const char *name); /* unique name made from it */
ctune_limit lower_limit_var(lowerer *w, int var, int64_t add);
bool lower_limit_is_var(const ctune_limit *limit, int var);
void lower_push(lowerer *w, int var, int dim, int64_t step, int node);
void lower_pop(lowerer *w);

int lower_pos(const ctune_stmt *stmt, int dim);
int lower_stmts_under(const lowerer *w, int node, int *out); /* out [CTUNE_MAX_STMTS] */

/* Bounds for dim of stmt under the open loops, pruned of dominated rows. */
/* Both drop rows that the open levels of the same dim imply. */
ctune_status lower_bounds(lowerer *w, int stmt, int dim, ctune_limit *lo, ctune_limit *hi);
/* Hull over several statements: classes of parallel rows that all share, loosest constant. */
ctune_status lower_bounds_hull(lowerer *w, const int *stmts, int n, int dim, ctune_limit *lo,
                               ctune_limit *hi);
/* IF over what the parameters alone must satisfy for stmt to run at all; `into` itself when there
 * is nothing. */
ctune_lnode *lower_param_guard(lowerer *w, int stmt, int dim, ctune_lnode *into);
void lower_env(lowerer *w, int stmt, ctune_env *env); /* values of the open point loops */

ctune_status lower_node(lowerer *w, int node, ctune_lnode *into);
ctune_status lower_children(lowerer *w, int node, ctune_lnode *into);
ctune_status lower_register(lowerer *w, int node, int stmt, ctune_lnode *into);
ctune_status lower_packs_at(lowerer *w, int node, ctune_lnode *into);
ctune_status lower_temps(lowerer *w);
/* DECLs of temporaries whose scope is the body of node. */
void lower_decls_at(lowerer *w, int node, ctune_lnode *into);

/* The register tile of stmt: nodes below loop `at`. Returns false with words in ctx->error. */
typedef struct lower_tile {
    int at;
    int n_tile, tile_node[CTUNE_MAX_TILE]; /* unrolled and vector loops, vector last */
    int n_inner, inner_node[CTUNE_MAX_DEPTH];
} lower_tile;
bool lower_tile_find(lowerer *w, int stmt, int at, lower_tile *out);
bool lower_tile_has(const lowerer *w, int stmt,
                    lower_tile *out); /* the register cache of stmt, if it has one */

#endif

/*
 * Tree: the loop structure of a region after structural transformations, before any tiling.
 *
 * It comes in from the source order (ctune_tree_from_source) or from a structural primitive
 * (distribute, fuse, polyhedral, ...). Loops are *dims*; each statement maps its stage's axes to
 * affine forms over the dims around it. Bounds are not stored: the lowering derives them from each
 * statement's domain, so that any affine, unimodular map (interchange, shift, skew) is just another
 * map. No isl type here.
 */
#ifndef CTUNE_SEARCH_DEPS_TREE_H
#define CTUNE_SEARCH_DEPS_TREE_H

#include "search/te/te.h"

enum { CTUNE_MAX_DIMS = 96, CTUNE_MAX_STMTS = 48 };

typedef struct ctune_dim {
    char name[24]; /* unique in the tree; the axis name where possible, else "i_2", "t0" */
    double extent; /* mean trip count at the representative sizes, >= 0 */
} ctune_dim;

/* One instance of a stage in the tree. In affs below TERM_AXIS ids are dims of the tree; TERM_DIV
 * ids are the region's divs, whose nums stand over the stage's axes: their value is that at the
 * axis values which iter gives. A dim around a statement that none of its axes needs is pinned to
 * one value by two inequalities in cons. */
typedef struct ctune_stmt {
    int stage;
    const char *name; /* NULL: the stage's name */
    bool is_piece;    /* cons hold a part of the stage's domain; other statements have the rest */
    int n_dims;       /* enclosing loops, outermost first */
    int dims[CTUNE_MAX_DEPTH];
    const ctune_aff *iter[CTUNE_MAX_DEPTH]; /* [stage->n_axes]: value of the stage's d-th axis */
    int n_cons; /* domain over dims and params, each >= 0; integer-exact */
    const ctune_aff *const *cons;
} ctune_stmt;

typedef enum ctune_tnode_kind {
    CTUNE_TNODE_SEQ,
    CTUNE_TNODE_LOOP,
    CTUNE_TNODE_STMT
} ctune_tnode_kind;

typedef struct ctune_tnode {
    ctune_tnode_kind kind;
    int dim;  /* LOOP */
    int stmt; /* STMT */
    int n_kids;
    const struct ctune_tnode *const *kids; /* SEQ, LOOP: executed in this order */
} ctune_tnode;
/* Does the statement stand at or below node? */
bool ctune_tnode_has_stmt(const ctune_tnode *node, int stmt);

typedef struct ctune_tree {
    ctune_arena *arena; /* owner */
    int n_dims;
    const ctune_dim *dims;
    int n_stmts;
    const ctune_stmt *stmts;
    const ctune_tnode *root; /* SEQ */
} ctune_tree;

/* Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_tree_from_source(ctune_ctx *ctx, const ctune_region *region,
                                                   ctune_tree **out);
void ctune_tree_destroy(ctune_tree *tree);
/* Indented text, one node a line, for dumps and tests. */
void ctune_tree_print(const ctune_region *region, const ctune_tree *tree, ctune_text *out);
/* How a schedule calls a statement: its stage's name, which the first statement of a stage has; the
 * further pieces of a split domain are S_2, S_3, ... Borrowed from the tree or the region. */
const char *ctune_stmt_name(const ctune_region *region, const ctune_tree *tree, int stmt);
int ctune_stmt_find(const ctune_region *region, const ctune_tree *tree,
                    const char *name); /* or -1 */
/* Number of leading loops that both statements stand in. */
int ctune_stmt_common(const ctune_stmt *a, const ctune_stmt *b);
/* ---- a stage's axes in terms of the dims around a statement (stmt.c) ---- */
/* Value of a region's axis; NULL: not one of the statement's stage. */
const ctune_aff *ctune_stmt_axis(const ctune_region *region, const ctune_stmt *stmt, int axis);
/* The dim that is the stage's d-th axis itself; -1: none is. */
int ctune_stmt_dim(const ctune_stmt *stmt, int d);
/* A form over the axes, over dims; divs stay, see ctune_stmt. NULL: an axis of another stage, or no
 * memory. */
const ctune_aff *ctune_stmt_over_dims(ctune_arena *arena, const ctune_region *region,
                                      const ctune_stmt *stmt, const ctune_aff *aff);
/* Coefficient of a dim in a form over the axes; divs do not count. */
int64_t ctune_stmt_coef(const ctune_region *region, const ctune_stmt *stmt, const ctune_aff *aff,
                        int dim);
/* Does an axis that stands in the form move with the dim? True also where axes cancel out. */
bool ctune_stmt_moves(const ctune_region *region, const ctune_stmt *stmt, const ctune_aff *aff,
                      int dim);
/* The same for axes given as bits: d is the stage's d-th. */
bool ctune_stmt_axes_move(const ctune_region *region, const ctune_stmt *stmt, uint32_t axes,
                          int dim);

/* Is the dim the number of a block (ctune_tree_block)? No axis needs it, and it is no dim that is
 * pinned. */
bool ctune_stmt_is_block(const ctune_region *region, const ctune_stmt *stmt, int dim);

/* Same loops, dims, maps? (used to drop duplicate structures) */
bool ctune_tree_is_equal(const ctune_tree *a, const ctune_tree *b);
/* Sizes at which dims[].extent is estimated: [n_params]. Builders call it with the representative
 * sizes. */
void ctune_tree_estimate(const ctune_region *region, ctune_tree *tree, const int64_t *params);

#endif

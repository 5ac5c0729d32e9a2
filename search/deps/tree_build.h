/*
 * What the files that make trees share: a tree under construction, names of dims, affine maps.
 *
 * Private to search/deps. A builder owns its arena until ctune_tree_builder_finish hands it to the
 * tree.
 */
#ifndef CTUNE_SEARCH_DEPS_TREE_BUILD_H
#define CTUNE_SEARCH_DEPS_TREE_BUILD_H

#include "search/deps/tree.h"

/* A list of nodes that grows in the arena; at most as many entries as a tree has dims and
 * statements. */
enum { CTUNE_MAX_NODES = CTUNE_MAX_DIMS + CTUNE_MAX_STMTS };
typedef struct ctune_tnodes {
    int n;
    const ctune_tnode *node[CTUNE_MAX_NODES];
} ctune_tnodes;

typedef struct ctune_tree_builder {
    const ctune_region *region; /* borrowed */
    const ctune_tree *reserved; /* names of its dims are not given to new dims; NULL = none */
    ctune_arena *arena;
    int n_dims;
    ctune_dim *dims; /* [CTUNE_MAX_DIMS] */
    int n_stmts;
    ctune_stmt *stmts; /* [CTUNE_MAX_STMTS] */
    bool too_large;    /* a limit of tree.h was hit */
} ctune_tree_builder;

/* ENOMEM. Always followed by ctune_tree_builder_finish or ctune_tree_builder_clear. */
CTUNE_MUST_USE ctune_status ctune_tree_builder_init(ctune_ctx *ctx, ctune_tree_builder *b,
                                                    const ctune_region *region);
/* The same, starting with the dims and statements of `from` (whose arena the affs go on living in:
 * they are copied). */
CTUNE_MUST_USE ctune_status ctune_tree_builder_init_from(ctune_ctx *ctx, ctune_tree_builder *b,
                                                         const ctune_region *region,
                                                         const ctune_tree *from);
void ctune_tree_builder_clear(ctune_tree_builder *b);
/* Restate each statement's affs of `from` over the dims that are now around it (same positions). */
void ctune_tree_builder_rename(ctune_tree_builder *b, const ctune_tree *from);
/* Renumber the dims: those around no statement go. */
void ctune_tree_builder_drop_dims(ctune_tree_builder *b, ctune_tnodes *kids);
/* Root over `kids`, extents estimated, *out takes the arena. On failure the builder is cleared.
 * ENOMEM, EREFUSED. */
CTUNE_MUST_USE ctune_status ctune_tree_builder_finish(ctune_ctx *ctx, ctune_tree_builder *b,
                                                      const ctune_tnodes *kids, ctune_tree **out);

/* A new dim called `name`, or its stem with _2, _3, ... when that is taken. -1 (too_large) when
 * there is no room. */
int ctune_tree_builder_dim(ctune_tree_builder *b, const char *name);
/* Nodes in the arena; NULL when memory is out. */
const ctune_tnode *ctune_tree_builder_loop(ctune_tree_builder *b, int dim,
                                           const ctune_tnodes *kids);
const ctune_tnode *ctune_tree_builder_stmt(ctune_tree_builder *b, int stmt);
/* A node of another tree with all below it. */
const ctune_tnode *ctune_tree_builder_copy(ctune_tree_builder *b, const ctune_tnode *node);
/* Append; NULL nodes are dropped (the arena remembers the failure). */
void ctune_tnodes_append(ctune_tnodes *list, const ctune_tnode *node);

/* aff with each TERM_AXIS id replaced by map[id], all at once. */
const ctune_aff *ctune_aff_map(ctune_arena *a, const ctune_aff *aff, const ctune_aff *const *map);
/* Deep copy into the arena. */
const ctune_aff *ctune_aff_copy(ctune_arena *a, const ctune_aff *aff);
/* Array of n affs mapped by ctune_aff_map. */
const ctune_aff *const *ctune_affs_map(ctune_arena *a, int n, const ctune_aff *const *affs,
                                       const ctune_aff *const *map);

/* Statements below node, bit i = statement i. */
uint64_t ctune_tnode_stmts(const ctune_tnode *node);
/* Position of each statement in execution order within one iteration of everything: [n_stmts]. */
void ctune_tree_positions(const ctune_tree *tree, int *position);

#endif

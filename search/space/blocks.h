/* A blocked structure in the making: what blocks.c and cuts.c share. Private to search/space. */
#ifndef CTUNE_SEARCH_SPACE_BLOCKS_H
#define CTUNE_SEARCH_SPACE_BLOCKS_H

#include "search/space/space_private.h"

typedef char loop_name[CTUNE_NAME_BYTES];

/* A structure in the making. */
typedef struct draft {
    ctune_ctx *ctx;
    ctune_program *program;
    ctune_tree *tree; /* owned */
    ctune_text *text; /* its primitives, with @ for the block size */
    int n_blocks;
    loop_name block[2];
    int index[2];        /* of the target: what the block is over */
    const char *size[2]; /* "@", or a number */
    loop_name step;      /* the loop inside the outermost block */
    bool is_cut_twice;   /* a reduction is split for both blocks */
    ctune_status status; /* memory */
} draft;

/* The tree after a primitive (@ in it: the size for trials); NULL: it is not legal there. */
ctune_tree *draft_try(draft *d, const ctune_tree *tree, const char *line);
/* Direction vectors of a tree; false: none, d->status says whether memory ran out. */
bool draft_vecs(draft *d, ctune_tree *tree, ctune_depvecs *vecs);
/* Does the target of the statement stand still along the dim, which is no block? */
bool draft_is_reduce_dim(const ctune_region *region, const ctune_stmt *stmt, int dim);
/* Below the innermost block loop around it, is the statement alone, with a reduction and loops that
 * may change places? */
bool draft_is_isolated(const ctune_region *region, const ctune_tree *tree,
                       const ctune_depvecs *vecs, int s);
/* cuts.c: cut the innermost reductions, each for one block, or (may_cut_twice) for both. */
void cuts_split(draft *d, bool may_cut_twice);

#endif

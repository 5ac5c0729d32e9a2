/*
 * Which elements an access touches: exact ranges of its indices, over parameters. What is copied to
 * a GPU and within it must be neither less nor memory that the source does not touch.
 */
#ifndef CTUNE_SEARCH_LOWER_TOUCHED_H
#define CTUNE_SEARCH_LOWER_TOUCHED_H

#include "search/loops/loops.h"
#include "search/lower/bounds.h"

typedef struct ctune_touched {
    const ctune_aff *lo, *hi; /* inclusive, indices of the program; NULL: not known */
    int n_rows;               /* each >= 0, or the stage has no instance */
    const ctune_aff **rows;
} ctune_touched;

/* Index d of an access of the stage. read: the expression it is, NULL for the target and for loads
 * in bounds. An access that not each instance makes stays within what its tensor declares. */
void ctune_touched_find(ctune_loops *loops, const ctune_stage *stage, const ctune_access *access,
                        const ctune_expr *read, int d, ctune_touched *out);

/* Smallest or largest value of a bound list: max of lowers, min of uppers. NULL: there is none. */
const ctune_aff *ctune_bounds_limit(ctune_loops *loops, const ctune_bounds *bounds, bool upper);

#endif

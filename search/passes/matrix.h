/* Squares of values in registers. Private to search/passes. */
#ifndef CTUNE_SEARCH_PASSES_MATRIX_H
#define CTUNE_SEARCH_PASSES_MATRIX_H

#include "search/passes/passes_private.h"

enum { CTUNE_MATRIX_LANES = 16 };

/* Can n vectors of n lanes be transposed? */
bool ctune_matrix_fits(ctune_type type, int n);
/* vars[n]: variables of n lanes, the rows; afterwards the columns. Definitions are appended to
 * into. */
void ctune_matrix_transpose(ctune_loops *l, ctune_type type, int n, int *vars, ctune_lnode *into);

#endif

/*
 * Rows: what the passes slide and carry share. Loads of one loop that lie in one row of memory, at
 * constant distances, are covered by vectors side by side: the row's grid.
 */
#ifndef CTUNE_SEARCH_PASSES_SLIDE_H
#define CTUNE_SEARCH_PASSES_SLIDE_H

#include "search/passes/lanes.h"

enum { CTUNE_SLIDE_ROWS = 24, CTUNE_SLIDE_SPAN = 3 };

typedef struct ctune_slide_row {
    ctune_place base;    /* of one of the loads: the grid starts there */
    ctune_type type;     /* of the elements */
    int64_t least, most; /* of the loads, in elements from the base */
    int64_t first, last; /* vectors of the grid that cover them, the base's is 0 */
} ctune_slide_row;

typedef struct ctune_slide_rows {
    int n;
    ctune_slide_row row[CTUNE_SLIDE_ROWS];
} ctune_slide_rows;

/* The rows of the loads of `lanes` elements (1: not vectors yet) that each iteration of the loop
 * makes in tensors and buffers that it does not write. A row stands for vectors of `width`
 * elements, 2 to CTUNE_SLIDE_SPAN + 1 of them; others are left out. */
void ctune_slide_find_rows(ctune_loops *l, ctune_lnode *loop, int lanes, int width,
                           ctune_slide_rows *out);
/* The row that a load is in, -1 = none; *offset: its place there, in elements from the base. */
int ctune_slide_row_of(ctune_loops *l, const ctune_slide_rows *rows, const ctune_place *place,
                       int64_t *offset);
/* Elements that the grid covers in front of the first load and behind the last one. */
int64_t ctune_slide_before(const ctune_slide_row *row, int width);
int64_t ctune_slide_behind(const ctune_slide_row *row, int width);

#endif

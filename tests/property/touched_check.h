/* Are the ranges that a GPU's copies rely on those of the region's accesses? */
#ifndef CTUNE_TESTS_PROPERTY_TOUCHED_CHECK_H
#define CTUNE_TESTS_PROPERTY_TOUCHED_CHECK_H

#include "search/te/te.h"

/* All instances of all stages at these parameters, by counting. NULL: all is well; else what is
 * wrong (static). Stages that are too large or not plain are left out; *n_checked counts the
 * others' indices. */
const char *touched_check(ctune_ctx *ctx, const ctune_region *region, const int64_t *params,
                          long *n_checked);

#endif

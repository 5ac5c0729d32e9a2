/*
 * Random TE regions for the property tests: small programs of one to four stages that exercise what
 * the front end can make (rectangular, triangular, shifted and strided loops, imperfect nests,
 * stencils in a time loop, reductions, temporaries, affine and data-dependent conditions, several
 * element types), built with the builders of te.h.
 *
 * Every access stays inside its tensor for all parameter values >= 0; values are small integers at
 * the start.
 */
#ifndef CTUNE_TESTS_PROPERTY_RANDOM_REGION_H
#define CTUNE_TESTS_PROPERTY_RANDOM_REGION_H

#include "runtime/rng.h"
#include "search/te/te.h"

enum { RANDOM_SETS = 3 }; /* sets of parameter values that a region is run with */

/* A finished and verified region; the same rng state gives the same region. Owner of *out: caller.
 */
CTUNE_MUST_USE ctune_status random_region_make(ctune_ctx *ctx, ctune_rng *rng, ctune_region **out);

/* The same, of factorisations and solves alone; random_region_make makes some. */
CTUNE_MUST_USE ctune_status random_factor_make(ctune_ctx *ctx, ctune_rng *rng, ctune_region **out);

/* Parameter values of set `which` for running: 0 = the representative values when they are small,
 * else medium; 1 = any small ones; 2 = the smallest (0 to 3). out [n_params]. */
void random_region_sizes(const ctune_region *region, ctune_rng *rng, int which, int64_t *out);

/* Integer-valued contents for n elements of the type. */
void random_fill(ctune_rng *rng, ctune_type type, size_t n, void *out);
/* The contents of one of the region's tensors at these sizes: both, and elements that are
 * subscripts or bounds stay in range. */
void random_fill_tensor(ctune_rng *rng, const ctune_region *region, int tensor,
                        const int64_t *params, size_t n, void *out);
/* For regions whose sums keep their order: floats get fractions, so that a product rounded at the
 * wrong place shows. */
void random_add_fractions(ctune_rng *rng, ctune_type type, size_t n, void *data);

#endif

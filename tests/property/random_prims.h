/*
 * Random uses of primitives: those that the spaces do not propose yet (tiles of sums, waves, placed
 * stages, pieces of domains), and the others where no space puts them.
 */
#ifndef CTUNE_TESTS_PROPERTY_RANDOM_PRIMS_H
#define CTUNE_TESTS_PROPERTY_RANDOM_PRIMS_H

#include "runtime/rng.h"
#include "search/schedule/program.h"

/* A nest of a form with blocks, split domains, sunk and distributed loops; false: none of those
 * tried is legal. Its primitives are appended to out. */
bool random_prims_split(ctune_ctx *ctx, ctune_rng *rng, ctune_program *program, ctune_nest *nest,
                        ctune_text *out);
/* Apply up to n primitives that fit the nest and keep it legal; they are appended to out. Returns
 * how many. */
int random_prims_apply(ctune_ctx *ctx, ctune_rng *rng, ctune_program *program, ctune_nest *nest,
                       int n, ctune_text *out);

#endif

/*
 * Space: all schedules of a region that the search considers, generated from the region.
 *
 * A point is a vector of decisions (small integers, each an index into a list of choices): first
 * the structure (form), then per perfect nest of that form tile sizes per dim and level, order of
 * tile loops, vector dim, unroll, packs, register tile, parallel loop. A decision that does not
 * apply to the chosen form is ignored (and kept 0 by ctune_space_normalise).
 */
#ifndef CTUNE_SEARCH_SPACE_SPACE_H
#define CTUNE_SEARCH_SPACE_SPACE_H

#include "runtime/rng.h"
#include "search/schedule/program.h"
#include "search/target/target.h"

enum { CTUNE_SPACE_DECISIONS = 160 };

typedef struct ctune_point {
    int n; /* decisions */
    int16_t decision[CTUNE_SPACE_DECISIONS];
} ctune_point;

typedef struct ctune_space ctune_space;

/* program and target borrowed. Owner of *out: caller. Always holds at least the identity (decision
 * vector of zeros = the source order). */
CTUNE_MUST_USE ctune_status ctune_space_create(ctune_ctx *ctx, ctune_program *program,
                                               const ctune_target *target, ctune_space **out);
void ctune_space_destroy(ctune_space *space);
double ctune_space_size(const ctune_space *space); /* number of points, may be inf */
int ctune_space_n_decisions(const ctune_space *space);
int ctune_space_n_choices(const ctune_space *space, int decision);
const char *ctune_space_name(const ctune_space *space,
                             int decision); /* "form", "S0.tile.i.1", ... */
void ctune_space_print(const ctune_space *space, ctune_text *out);

void ctune_space_sample(const ctune_space *space, ctune_rng *rng, ctune_point *out); /* uniform */
void ctune_space_mutate(const ctune_space *space, ctune_rng *rng, const ctune_point *in,
                        ctune_point *out);
void ctune_space_normalise(const ctune_space *space, ctune_point *point);
/* Analytic starting points, at most max, distinct, most promising first: for each form its plain
 * order, cache-blocked register tiles sized from the caches, and plain vector loops. Returns how
 * many. They may turn out not to be legal. */
int ctune_space_seeds(const ctune_space *space, ctune_point *out, int max);
uint64_t ctune_point_hash(const ctune_point *point);

/* The nest of a point: false when it is not legal (then out is undefined). No isl work: ~2-8
 * microseconds. */
bool ctune_space_nest(const ctune_space *space, const ctune_point *point, ctune_nest *out);
/* The same as a schedule (appended to out); applying it gives the same nest. */
CTUNE_MUST_USE ctune_status ctune_space_schedule(ctune_ctx *ctx, const ctune_space *space,
                                                 const ctune_point *point, ctune_schedule *out);
/* Do all its schedules round their products? */
bool ctune_space_rounds(const ctune_space *space);
/* Its text as records and locks keep it, round_products included when the program has it. Appended
 * to out. */
CTUNE_MUST_USE ctune_status ctune_space_schedule_print(ctune_ctx *ctx, const ctune_space *space,
                                                       const ctune_point *point, ctune_text *out);

#endif

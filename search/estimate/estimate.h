/*
 * Analytic estimate of a nest: time in nanoseconds on a described core, without lowering or isl.
 *
 * max over resources: arithmetic (operations per vector port, with what the chosen register tile
 * and vector dim allow, latency chains of reductions included) and bytes moved per cache level
 * (footprint of each access under each loop against the level's size; strided and partial lines
 * counted as whole lines) plus loop, packing and tail overheads. Design number: >= 100,000 nests a
 * second and core.
 */
#ifndef CTUNE_SEARCH_ESTIMATE_ESTIMATE_H
#define CTUNE_SEARCH_ESTIMATE_ESTIMATE_H

#include "search/schedule/nest.h"
#include "search/target/target.h"

/* Estimated nanoseconds of one execution of the nest, > 0. Of the target's rates only the clock
 * counts: the others are the defaults, which were fitted together, and measured ones in their
 * place do not rank better (docs/ctune.md, doctor). */
double ctune_estimate(const ctune_nest *nest, const ctune_target *target);

#endif

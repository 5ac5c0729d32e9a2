/* Random legal schedules for a GPU: generated ones, and primitives by chance that nobody proposes.
 */
#ifndef CTUNE_TESTS_PROPERTY_RANDOM_GPU_H
#define CTUNE_TESTS_PROPERTY_RANDOM_GPU_H

#include "runtime/rng.h"
#include "search/schedule/program.h"

/* false: nothing that is legal was found. text: the schedule. */
bool random_gpu_make(ctune_ctx *ctx, ctune_rng *rng, ctune_program *program, ctune_nest *out,
                     ctune_text *text);

#endif

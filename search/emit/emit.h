/*
 * C emission: nest -> C text.
 *
 * Two ways to address tensors: SOURCE uses the source's own expressions (tensor->pattern), for
 * rewriting; STANDALONE declares parameters and tensors from a ctune_args (runtime/args.h), for
 * candidates that the runner measures.
 */
#ifndef CTUNE_SEARCH_EMIT_EMIT_H
#define CTUNE_SEARCH_EMIT_EMIT_H

#include "search/schedule/program.h"

typedef struct ctune_emit_options {
    int vector_bytes; /* 16, 32, 64: widest vector to use */
    bool openmp;      /* the compile has -fopenmp */
    bool comments;    /* schedule and stage comments */
    /* Round each product before it is added, as `round_products` in a schedule does. GCC contracts
     * a*b+c or not by its own cost rules, so that the original's scalar loop may round twice where
     * the tuned vectors would fuse. */
    bool round_products;
    bool fma; /* this compile may fuse products with sums: the ISA can, -ffp-contract=off is not
               * given
               */
    bool is_source; /* prelude of a rewritten source: without ctune_args, which only candidates need
                     */
} ctune_emit_options;

/* Text that one translation unit needs once, before the first tuned region or candidate: typedefs
 * of vector types, helper macros; only what starts with ctune_/CTUNE_; guarded against double
 * inclusion. */
void ctune_emit_prelude(const ctune_emit_options *options, ctune_text *out);

/* Body for the rewritten source: a brace block that runs the region with the nest's schedule,
 * SOURCE addressing. When the code needs memory it must work without: sets `ctune_ok = 0`-style
 * flow internally and leaves tensors untouched. original: source text of the annotated statement,
 * put into the else branch of the guard; n_guards conditions come from the region (assumes, overlap
 * of pointers), specialize and allocation. Finals (region->epilogue) follow the tuned code. Fails
 * EREFUSED (cannot lower; words), ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_emit_region(ctune_ctx *ctx, const ctune_nest *nest,
                                              const ctune_emit_options *options,
                                              const char *original, ctune_text *out);

/* `static int NAME(const ctune_args *ctune_a)`: returns 0 after running, 1 when a guard or
 * allocation failed (then nothing was written). STANDALONE addressing, no overlap guard. */
CTUNE_MUST_USE ctune_status ctune_emit_candidate(ctune_ctx *ctx, const ctune_nest *nest,
                                                 const ctune_emit_options *options,
                                                 const char *name, ctune_text *out);
/* The same signature for the original: the region's source order printed plainly (one loop per
 * axis, one C statement per stage, IFs as ifs, temps as the scalars they were), as the compiler
 * would have seen it. */
CTUNE_MUST_USE ctune_status ctune_emit_original(ctune_ctx *ctx, const ctune_region *region,
                                                const char *name, ctune_text *out);

#endif

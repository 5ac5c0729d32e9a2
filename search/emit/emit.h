/*
 * C emission: a finished program (search/loops/loops.h) -> C text. Nothing is decided here.
 *
 * Two forms of the same text, which differ in how a tensor and a parameter are spelled: SOURCE
 * uses the source's own expressions (tensor->pattern, param->c_text), for rewriting; STANDALONE
 * declares parameters and tensors from a ctune_args (runtime/args.h), for candidates that the
 * runner measures.
 *
 * The text needs ctune_emit_prelude before it. It may be joined into one line: pragmas in it are
 * _Pragma. It compiles in both GCC and Clang, in any standard from C90 on, for any target;
 * what it computes does not depend on how the compiler contracts products.
 */
#ifndef CTUNE_SEARCH_EMIT_EMIT_H
#define CTUNE_SEARCH_EMIT_EMIT_H

#include "search/lower/lower.h"

#define CTUNE_EMIT_LINE "/* ctune:line %d */"

/* What a file with launches needs once, before the first region that has them, besides
 * ctune_emit_prelude. */
void ctune_emit_gpu_prelude(ctune_text *out);

typedef struct ctune_emit_options {
    const ctune_target *target; /* products that are added are fused where it fuses them */
    bool comments;              /* schedule and stage comments */
    bool lines;                 /* a line with CTUNE_EMIT_LINE and the statement's line, 0 = none,
                                   before code of another statement */
    bool round_products;        /* round each product before it is added, as `round_products` in a
                                   schedule does */
    bool is_source;             /* prelude of a rewritten source: without ctune_args, which only
                                   candidates need */
    unsigned gpu; /* languages of kernels: CTUNE_GPU_CUDA, CTUNE_GPU_OPENCL; 0: what the region's
                     target says, both when it says nothing */
    bool is_original;     /* calls stay as the source has them, errno and all */
    const int64_t *sizes; /* a candidate that is only timed at these values of the parameters
                             [n_params] and declines others; NULL: for all */
} ctune_emit_options;

/* Text that one translation unit needs once, before the first tuned region or candidate: helper
 * macros and functions; only what starts with ctune_/CTUNE_; guarded against double inclusion. */
void ctune_emit_prelude(const ctune_emit_options *options, ctune_text *out);

/* Body for the rewritten source: a brace block that runs the region with the nest's schedule,
 * SOURCE form. original: source text of the annotated statement, put into the else branch of the
 * guard: conditions of the region (assumes, overlap of pointers), specialize and allocation; then
 * tensors are untouched. Finals (region->epilogue) follow the tuned code. Fails EREFUSED (cannot
 * lower; words), ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_emit_region(ctune_ctx *ctx, const ctune_nest *nest,
                                              const ctune_emit_options *options,
                                              const char *original, ctune_text *out);

/* `static int NAME(const ctune_args *ctune_a)`: returns 0 after running, 1 when a guard or
 * allocation failed (then nothing was written). STANDALONE form, no overlap guard. */
CTUNE_MUST_USE ctune_status ctune_emit_candidate(ctune_ctx *ctx, const ctune_nest *nest,
                                                 const ctune_emit_options *options,
                                                 const char *name, ctune_text *out);
/* The same signature for the original: the region's source order, lowered without a primitive. */
CTUNE_MUST_USE ctune_status ctune_emit_original(ctune_ctx *ctx, const ctune_region *region,
                                                const ctune_emit_options *options, const char *name,
                                                ctune_text *out);

/* The program that ctune_emit_candidate prints. Owner of *out: caller; borrows nest->region. */
CTUNE_MUST_USE ctune_status ctune_emit_lower(ctune_ctx *ctx, const ctune_nest *nest,
                                             const ctune_emit_options *options, ctune_loops **out);

/* A program that is named already: as a candidate called `name`, or, when name is NULL, as a region
 * with `original`. form (may be NULL) adds the guard of `specialize`. Adds atoms to the program.
 * Fails ENOMEM, EBUG (a variable without a name). */
CTUNE_MUST_USE ctune_status ctune_emit_program(ctune_ctx *ctx, ctune_loops *loops,
                                               const ctune_form *form,
                                               const ctune_emit_options *options, const char *name,
                                               const char *original, ctune_text *out);

#endif

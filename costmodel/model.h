/*
 * A cost model: numbers in, scores out. What the engine sees of a learned model; it knows no IR.
 *
 * Scores are log2 of (best time / time) up to a constant per task: higher is faster, a difference
 * of 1 is a factor of two. Models trained on ranks are calibrated to that scale when they are
 * fitted.
 */
#ifndef CTUNE_COSTMODEL_MODEL_H
#define CTUNE_COSTMODEL_MODEL_H

#include "runtime/base.h"

typedef struct ctune_model {
    const char *name;
    int n_features;
    void *self;
    /* features [n_rows][n_features] row-major, borrowed; scores [n_rows], higher is faster. */
    ctune_status (*predict)(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                            float *scores);
    /* All rows of the task so far. labels [n_rows]: best time of the task / time, in 0..1, failures
     * 0. NULL: the model does not learn. */
    ctune_status (*fit)(ctune_ctx *ctx, void *self, const float *features, const float *labels,
                        size_t n_rows);
    void (*destroy)(void *self); /* may be NULL: the model borrows what it uses */
} ctune_model;

#endif

/*
 * A cost model: numbers in, scores out. The socket for the learned models; it knows no IR.
 */
#ifndef CTUNE_COSTMODEL_MODEL_H
#define CTUNE_COSTMODEL_MODEL_H

#include "runtime/base.h"

typedef struct ctune_model {
    const char *name;
    int n_features;
    void *self;
    /* features [n_rows][n_features] row-major, borrowed; scores [n_rows], higher is faster. */
    ctune_status (*predict)(ctune_ctx *ctx, void *self, const float *features, size_t n_rows, float *scores);
    /* labels [n_rows]: best time of the task / time, failures 0. NULL: the model does not learn. */
    ctune_status (*fit)(ctune_ctx *ctx, void *self, const float *features, const float *labels, size_t n_rows);
    void (*destroy)(void *self);
} ctune_model;

#endif

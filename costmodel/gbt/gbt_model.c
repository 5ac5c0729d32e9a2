/*
 * The model of one search: f = discount * f_global + f_local.
 *
 * The local forest is trained anew at each fit, on all rows of the search, and starts from what the
 * global one says about them: it learns only what is missing. Margins and rows are made here
 * together and in one order.
 *
 * Tried in place of the fixed discount, on replayed searches of 37 tasks (2 runs each, held-out
 * kernels): none; a weight fitted to the rows; f_global as one more feature. Trials to 99 % of the
 * best were the same within their noise (29 to 30; 31 without f_global, 62 at random).
 */
#include "costmodel/gbt/gbt_private.h"

#include "costmodel/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_ROWS = 8 /* fewer say less than the global model */, CHUNK_ROWS = 128 };

typedef struct gbt_model {
    const ctune_forest *global; /* borrowed, NULL: none */
    ctune_forest *local;        /* owned, NULL: not fitted */
    int n_features;
    float discount; /* of global beside local */
    ctune_gbt_options options;
} gbt_model;

static float discount_of(size_t n_rows) {
    float discount = exp2f(-(float)n_rows / 64);
    return discount < 0.05f ? 0 : discount;
}

static void chunk_predict(const gbt_model *model, const float *features, size_t n_rows,
                          float *scores) {
    float part[CHUNK_ROWS];
    bool has_global = model->global != NULL && (model->local == NULL || model->discount > 0);
    for (size_t i = 0; i < n_rows; i++) {
        scores[i] = 0;
    }
    if (has_global) {
        float factor = model->local == NULL ? 1 : model->discount;
        ctune_forest_predict(model->global, features, n_rows, part);
        for (size_t i = 0; i < n_rows; i++) {
            scores[i] = factor * part[i];
        }
    }
    if (model->local != NULL) {
        ctune_forest_predict(model->local, features, n_rows, part);
        for (size_t i = 0; i < n_rows; i++) {
            scores[i] += part[i];
        }
    }
}

static ctune_status model_predict(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                                  float *scores) {
    (void)ctx;
    const gbt_model *model = self;
    for (size_t i = 0; i < n_rows; i += CHUNK_ROWS) {
        size_t n = n_rows - i < CHUNK_ROWS ? n_rows - i : CHUNK_ROWS;
        chunk_predict(model, features + i * (size_t)model->n_features, n, scores + i);
    }
    return CTUNE_OK;
}

/* Is there an order to learn? */
static bool has_order(const float *labels, size_t n_rows) {
    for (size_t i = 1; i < n_rows; i++) {
        if (labels[i] != labels[0]) {
            return true;
        }
    }
    return false;
}

/* margins [n_rows]: discount * global. NULL: the local model stands alone. */
static ctune_status local_train(ctune_ctx *ctx, const gbt_model *model, const float *features,
                                const float *labels, const float *margins, size_t n_rows,
                                ctune_forest **out) {
    ctune_gbt_rows rows;
    ctune_gbt_task task = {.features = features, .margins = margins, .n_rows = n_rows, .weight = 1};
    ctune_status status = ctune_gbt_rows_init(ctx, &rows, &task, 1, model->n_features);
    if (status == CTUNE_OK) {
        memcpy(rows.label, labels, n_rows * sizeof *labels);
        status = ctune_gbt_rows_train(ctx, &rows, model->n_features, margins != NULL,
                                      &model->options, out);
    }
    ctune_gbt_rows_clear(&rows);
    return status;
}

static ctune_status model_fit(ctune_ctx *ctx, void *self, const float *features,
                              const float *labels, size_t n_rows) {
    gbt_model *model = self;
    ctune_forest *local = NULL;
    float *margins = NULL;
    float discount = discount_of(n_rows);
    bool is_learning = n_rows >= MIN_ROWS && has_order(labels, n_rows);
    ctune_status status = CTUNE_OK;
    if (is_learning && model->global != NULL && discount > 0) {
        margins = ctune_memory_grow(ctx, NULL, n_rows, sizeof *margins);
        if (margins == NULL) {
            status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %zu margins", n_rows);
        } else {
            ctune_forest_predict(model->global, features, n_rows, margins);
            for (size_t i = 0; i < n_rows; i++) {
                margins[i] *= discount;
            }
        }
    }
    if (status == CTUNE_OK && is_learning) {
        status = local_train(ctx, model, features, labels, margins, n_rows, &local);
    }
    if (status == CTUNE_OK) {
        ctune_forest_destroy(model->local);
        model->local = local;
        model->discount = discount;
    }
    free(margins);
    return status;
}

static void model_destroy(void *self) {
    gbt_model *model = self;
    if (model != NULL) {
        ctune_forest_destroy(model->local);
        free(model);
    }
}

ctune_status ctune_gbt_model_create(ctune_ctx *ctx, const ctune_forest *global, int n_features,
                                    const ctune_gbt_options *options, ctune_model *out) {
    if (n_features < 0 || (global != NULL && global->n_features != n_features)) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "the global model was trained on rows of %d features; these have %d",
                          global == NULL ? 0 : global->n_features, n_features);
    }
    gbt_model *model = ctune_memory_grow(ctx, NULL, 1, sizeof *model);
    if (model == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a model");
    }
    *model = (gbt_model){.global = global, .n_features = n_features, .options = *options};
    *out = (ctune_model){.name = "gbt",
                         .n_features = n_features,
                         .self = model,
                         .predict = model_predict,
                         .fit = model_fit,
                         .destroy = model_destroy};
    return CTUNE_OK;
}

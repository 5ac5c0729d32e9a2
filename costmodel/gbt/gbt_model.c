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
    ctune_model global;  /* predict NULL: none */
    ctune_forest *local; /* owned, NULL: not fitted */
    int n_features;
    int n_own;      /* first numbers of a row that are the global model's alone; 0: both see all */
    float discount; /* of global beside local */
    ctune_gbt_options options;
} gbt_model;

static float discount_of(size_t n_rows) {
    float discount = exp2f(-(float)n_rows / 64);
    return discount < 0.05f ? 0 : discount;
}

/* Columns first .. first + n - 1 of rows of model->n_features. */
static void columns_copy(const gbt_model *model, const float *features, size_t n_rows, int first,
                         int n, float *out) {
    for (size_t i = 0; i < n_rows; i++) {
        memcpy(out + i * (size_t)n, features + i * (size_t)model->n_features + first,
               (size_t)n * sizeof *out);
    }
}

static const char no_room[] = "out of memory for rows of a model";

static ctune_status global_predict(ctune_ctx *ctx, const gbt_model *model, const float *features,
                                   size_t n_rows, float *scores) {
    const ctune_model *g = &model->global;
    if (model->n_own == 0) {
        return g->predict(ctx, g->self, features, n_rows, scores);
    }
    float *own = ctune_memory_grow(ctx, NULL, n_rows * (size_t)model->n_own, sizeof *own);
    ctune_status status = CTUNE_ENOMEM;
    if (own == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, no_room);
    } else {
        columns_copy(model, features, n_rows, 0, model->n_own, own);
        status = g->predict(ctx, g->self, own, n_rows, scores);
    }
    free(own);
    return status;
}

static int local_width(const gbt_model *model) {
    return model->n_features - model->n_own;
}

static ctune_status local_predict(ctune_ctx *ctx, const gbt_model *model, const float *features,
                                  size_t n_rows, float *scores) {
    if (model->n_own == 0) {
        ctune_forest_predict(model->local, features, n_rows, scores);
        return CTUNE_OK;
    }
    size_t width = (size_t)local_width(model);
    float *rest = ctune_memory_grow(ctx, NULL, n_rows * width, sizeof *rest);
    if (rest == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, no_room);
    }
    columns_copy(model, features, n_rows, model->n_own, (int)width, rest);
    ctune_forest_predict(model->local, rest, n_rows, scores);
    free(rest);
    return CTUNE_OK;
}

static ctune_status chunk_predict(ctune_ctx *ctx, const gbt_model *model, const float *features,
                                  size_t n_rows, float *scores) {
    float part[CHUNK_ROWS];
    bool has_global =
        model->global.predict != NULL && (model->local == NULL || model->discount > 0);
    ctune_status status = CTUNE_OK;
    for (size_t i = 0; i < n_rows; i++) {
        scores[i] = 0;
    }
    if (has_global) {
        float factor = model->local == NULL ? 1 : model->discount;
        status = global_predict(ctx, model, features, n_rows, part);
        for (size_t i = 0; i < n_rows && status == CTUNE_OK; i++) {
            scores[i] = factor * part[i];
        }
    }
    if (model->local != NULL && status == CTUNE_OK) {
        status = local_predict(ctx, model, features, n_rows, part);
        for (size_t i = 0; i < n_rows && status == CTUNE_OK; i++) {
            scores[i] += part[i];
        }
    }
    return status;
}

static ctune_status model_predict(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                                  float *scores) {
    const gbt_model *model = self;
    ctune_status status = CTUNE_OK;
    for (size_t i = 0; i < n_rows && status == CTUNE_OK; i += CHUNK_ROWS) {
        size_t n = n_rows - i < CHUNK_ROWS ? n_rows - i : CHUNK_ROWS;
        status = chunk_predict(ctx, model, features + i * (size_t)model->n_features, n, scores + i);
    }
    return status;
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
    ctune_gbt_rows rows = {0};
    int width = local_width(model);
    float *rest = NULL;
    ctune_status status = CTUNE_OK;
    if (model->n_own > 0) {
        size_t n;
        rest = ctune_size_mul(n_rows, (size_t)width, &n)
                   ? ctune_memory_grow(ctx, NULL, n, sizeof *rest)
                   : NULL;
        if (rest == NULL) {
            return ctune_fail(ctx, CTUNE_ENOMEM, no_room);
        }
        columns_copy(model, features, n_rows, model->n_own, width, rest);
        features = rest;
    }
    ctune_gbt_task task = {.features = features, .margins = margins, .n_rows = n_rows, .weight = 1};
    status = ctune_gbt_rows_init(ctx, &rows, &task, 1, width);
    if (status == CTUNE_OK) {
        memcpy(rows.label, labels, n_rows * sizeof *labels);
        status = ctune_gbt_rows_train(ctx, &rows, width, margins != NULL, &model->options, out);
    }
    ctune_gbt_rows_clear(&rows);
    free(rest);
    return status;
}

/* *out: discounted scores of the global model, owner: caller; NULL without one. */
static ctune_status margins_get(ctune_ctx *ctx, const gbt_model *model, const float *features,
                                size_t n_rows, float discount, float **out) {
    *out = NULL;
    if (model->global.predict == NULL || discount <= 0) {
        return CTUNE_OK;
    }
    float *margins = ctune_memory_grow(ctx, NULL, n_rows, sizeof *margins);
    if (margins == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %zu margins", n_rows);
    }
    ctune_status status = global_predict(ctx, model, features, n_rows, margins);
    for (size_t i = 0; i < n_rows && status == CTUNE_OK; i++) {
        margins[i] *= discount;
    }
    *out = margins;
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
    if (is_learning) {
        status = margins_get(ctx, model, features, n_rows, discount, &margins);
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

static ctune_status create(ctune_ctx *ctx, const gbt_model *made, ctune_model *out) {
    gbt_model *model = ctune_memory_grow(ctx, NULL, 1, sizeof *model);
    if (model == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a model");
    }
    *model = *made;
    *out = (ctune_model){.name = "gbt",
                         .n_features = made->n_features,
                         .self = model,
                         .predict = model_predict,
                         .fit = model_fit,
                         .destroy = model_destroy};
    return CTUNE_OK;
}

ctune_status ctune_gbt_model_create(ctune_ctx *ctx, const ctune_forest *global, int n_features,
                                    const ctune_gbt_options *options, ctune_model *out) {
    if (n_features < 0 || (global != NULL && global->n_features != n_features)) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "the global model was trained on rows of %d features; these have %d",
                          global == NULL ? 0 : global->n_features, n_features);
    }
    gbt_model model = {.n_features = n_features, .options = *options};
    if (global != NULL) {
        ctune_forest_model(global, &model.global);
    }
    return create(ctx, &model, out);
}

ctune_status ctune_gbt_model_create_over(ctune_ctx *ctx, const ctune_model *global, int n_local,
                                         const ctune_gbt_options *options, ctune_model *out) {
    int n_features;
    if (n_local < 0 || __builtin_add_overflow(global->n_features, n_local, &n_features)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "rows of %d and %d features", global->n_features,
                          n_local);
    }
    gbt_model model = {.global = *global,
                       .n_features = n_features,
                       .n_own = global->n_features,
                       .options = *options};
    return create(ctx, &model, out);
}

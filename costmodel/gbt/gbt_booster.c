/*
 * The only file that calls XGBoost: rows -> booster -> forest.
 *
 * We hand it gradients of our own losses (gbt_loss.c) each round, and it builds the trees. Two
 * handles, both freed here. Its OpenMP threads are bounded by nthread in the booster and in the
 * call that makes the matrix, so that with one thread none is ever started. Its messages are off;
 * an error comes back through XGBGetLastError.
 */
#include "costmodel/gbt/gbt_private.h"

#include "costmodel/decimal.h"
#include "costmodel/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

/* XGBoost's words without its time stamp, place and stack trace. */
static ctune_status fail_xgboost(ctune_ctx *ctx, const char *what) {
    const char *words = XGBGetLastError();
    size_t n = strcspn(words, "\n");
    if (words[0] == '[') {
        const char *place = memchr(words, ']', n);
        const char *message = place == NULL ? NULL : strstr(place, ": ");
        if (message != NULL && message + 2 < words + n) {
            n -= (size_t)(message + 2 - words);
            words = message + 2;
        }
    }
    return ctune_fail(ctx, CTUNE_EENV, "XGBoost cannot %s: %.*s", what, n > 300 ? 300 : (int)n,
                      words);
}

typedef struct booster {
    ctune_ctx *ctx;
    DMatrixHandle matrix;
    BoosterHandle handle;
    float *gradient, *curvature;
} booster;

static ctune_status matrix_create(booster *b, const ctune_gbt_rows *rows, int n_threads) {
    if (XGDMatrixCreateFromMat_omp(rows->x, rows->n_rows, (bst_ulong)rows->n_columns, NAN,
                                   &b->matrix, n_threads) != 0) {
        return fail_xgboost(b->ctx, "take the rows");
    }
    if (XGDMatrixSetFloatInfo(b->matrix, "base_margin", rows->margin, rows->n_rows) != 0) {
        return fail_xgboost(b->ctx, "take the base margins");
    }
    return CTUNE_OK;
}

static bool set_text(booster *b, const char *name, const char *value) {
    return XGBoosterSetParam(b->handle, name, value) == 0;
}

static bool set_int(booster *b, const char *name, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return set_text(b, name, text);
}

static bool set_real(booster *b, const char *name, double value) {
    char text[CTUNE_DECIMAL_SIZE];
    ctune_decimal_print((float)value, text);
    return set_text(b, name, text);
}

static ctune_status handle_create(booster *b, const ctune_gbt_options *options) {
    if (XGBoosterCreate(&b->matrix, 1, &b->handle) != 0) {
        return fail_xgboost(b->ctx, "make a booster");
    }
    bool is_set = set_text(b, "verbosity", "0") && set_text(b, "booster", "gbtree") &&
                  set_text(b, "tree_method", "hist") &&
                  set_text(b, "objective", "reg:squarederror") && set_text(b, "base_score", "0") &&
                  set_text(b, "disable_default_eval_metric", "1") &&
                  set_int(b, "nthread", options->n_threads) &&
                  set_int(b, "seed", (int)(options->seed & INT32_MAX)) &&
                  set_int(b, "max_depth", options->max_depth) &&
                  set_int(b, "max_bin", options->max_bin) && set_real(b, "eta", options->eta) &&
                  set_real(b, "min_child_weight", options->min_child_weight) &&
                  set_real(b, "lambda", options->lambda) && set_real(b, "gamma", options->gamma) &&
                  set_real(b, "subsample", options->subsample) &&
                  set_real(b, "colsample_bytree", options->colsample);
    return is_set ? CTUNE_OK : fail_xgboost(b->ctx, "take the options");
}

/* XGBoost's predictions of the training rows; it keeps them up to date, this is no evaluation. */
static ctune_status predictions_get(booster *b, const ctune_gbt_rows *rows, const float **out) {
    enum { OUTPUT_MARGIN = 1 };
    bst_ulong n = 0;
    if (XGBoosterPredict(b->handle, b->matrix, OUTPUT_MARGIN, 0, 1, &n, out) != 0) {
        return fail_xgboost(b->ctx, "predict");
    }
    if (n != rows->n_rows) {
        return ctune_fail(b->ctx, CTUNE_EENV, "XGBoost: %llu predictions of %zu rows",
                          (unsigned long long)n, rows->n_rows);
    }
    return CTUNE_OK;
}

static ctune_status rounds_run(booster *b, const ctune_gbt_rows *rows,
                               const ctune_gbt_options *options) {
    for (int i = 0; i < options->n_trees; i++) {
        const float *predictions;
        ctune_status status = predictions_get(b, rows, &predictions);
        if (status != CTUNE_OK) {
            return status;
        }
        ctune_gbt_loss_get(rows, options, i, predictions, b->gradient, b->curvature);
        if (XGBoosterBoostOneIter(b->handle, b->matrix, b->gradient, b->curvature, rows->n_rows) !=
            0) {
            return fail_xgboost(b->ctx, "build a tree");
        }
    }
    return CTUNE_OK;
}

static ctune_status results_get(booster *b, const ctune_gbt_rows *rows, int n_features, float *raw,
                                ctune_forest **out) {
    const float *predictions;
    ctune_status status = predictions_get(b, rows, &predictions);
    if (status != CTUNE_OK) {
        return status;
    }
    memcpy(raw, predictions, rows->n_rows * sizeof *raw);
    bst_ulong len;
    const char *json;
    if (XGBoosterSaveModelToBuffer(b->handle, "{\"format\": \"json\"}", &len, &json) != 0) {
        return fail_xgboost(b->ctx, "save its model");
    }
    return ctune_gbt_convert(b->ctx, json, len, rows->column, rows->n_columns, n_features, out);
}

static ctune_status buffers_create(booster *b, size_t n_rows) {
    b->gradient = ctune_memory_grow(b->ctx, NULL, n_rows, sizeof *b->gradient);
    b->curvature = ctune_memory_grow(b->ctx, NULL, n_rows, sizeof *b->curvature);
    return b->gradient != NULL && b->curvature != NULL
               ? CTUNE_OK
               : ctune_fail(b->ctx, CTUNE_ENOMEM, "out of memory for gradients");
}

ctune_status ctune_gbt_booster_train(ctune_ctx *ctx, const ctune_gbt_rows *rows, int n_features,
                                     const ctune_gbt_options *options, float *raw,
                                     ctune_forest **out) {
    booster b = {.ctx = ctx};
    ctune_status status = buffers_create(&b, rows->n_rows);
    if (status == CTUNE_OK) {
        status = matrix_create(&b, rows, options->n_threads);
    }
    if (status == CTUNE_OK) {
        status = handle_create(&b, options);
    }
    if (status == CTUNE_OK) {
        status = rounds_run(&b, rows, options);
    }
    if (status == CTUNE_OK) {
        status = results_get(&b, rows, n_features, raw, out);
    }
    if (b.handle != NULL) {
        XGBoosterFree(b.handle);
    }
    if (b.matrix != NULL) {
        XGDMatrixFree(b.matrix);
    }
    free(b.gradient);
    free(b.curvature);
    return status;
}

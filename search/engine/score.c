/*
 * Predicted times of points: the estimate or a learned model, then the correction. And learning
 * both from samples.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>

static float *rows_for(engine *e, int n) {
    size_t n_floats, n_bytes;
    if (n > e->max_rows) {
        if (!ctune_size_mul((size_t)n, (size_t)e->options->model->n_features, &n_floats) ||
            !ctune_size_mul(n_floats, sizeof(float), &n_bytes)) {
            return NULL;
        }
        float *rows = realloc(e->rows, n_bytes);
        if (rows == NULL) {
            return NULL;
        }
        e->rows = rows;
        e->max_rows = n;
    }
    return e->rows;
}

static bool has_model(const engine *e) {
    return e->options->model != NULL && e->options->features != NULL;
}

/* A model's scores say which is faster, not how fast: they take the place of the estimate's
 * logarithm, the correction's slope and bias do the rest. */
static ctune_status model_score(engine *e, proposal *list, int n) {
    const ctune_model *model = e->options->model;
    float *rows = rows_for(e, n), *scores = calloc((size_t)n + 1, sizeof *scores);
    ctune_status status = CTUNE_OK;
    ctune_nest nest;
    if (rows == NULL || scores == NULL) {
        status = ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        float *row = rows + (size_t)i * (size_t)model->n_features;
        bool is_legal =
            isfinite(list[i].estimate) && ctune_space_nest(e->space, &list[i].point, &nest);
        for (int f = 0; f < model->n_features; f++) {
            row[f] = 0;
        }
        if (is_legal) {
            e->options->features(e->options->features_user, &nest, row);
        }
    }
    if (status == CTUNE_OK && n > 0) {
        status = model->predict(e->ctx, model->self, rows, (size_t)n, scores);
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        list[i].estimate = isfinite(list[i].estimate) ? -(double)scores[i] : INFINITY;
    }
    free(scores);
    return status;
}

ctune_status engine_score(engine *e, proposal *list, int n) {
    ctune_nest nest;
    for (int i = 0; i < n; i++) {
        list[i].hash = ctune_point_hash(&list[i].point);
        bool is_legal = ctune_space_nest(e->space, &list[i].point, &nest);
        list[i].estimate = is_legal ? log2(ctune_estimate(&nest, e->machine)) : INFINITY;
    }
    ctune_status status = has_model(e) ? model_score(e, list, n) : CTUNE_OK;
    for (int i = 0; i < n; i++) {
        list[i].score = isfinite(list[i].estimate)
                            ? residual_predict(&e->residual, &list[i].point, list[i].estimate)
                            : INFINITY;
    }
    return status;
}

static ctune_status model_learn(engine *e) {
    const ctune_model *model = e->options->model;
    float *rows = rows_for(e, e->n_samples);
    float *labels = calloc((size_t)e->n_samples + 1, sizeof *labels);
    ctune_status status = CTUNE_OK;
    ctune_nest nest;
    if (rows == NULL || labels == NULL) {
        status = ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    size_t n = 0;
    for (int i = 0; i < e->n_samples && status == CTUNE_OK; i++) {
        const sample *s = &e->samples[i];
        if (ctune_space_nest(e->space, &s->point, &nest)) {
            e->options->features(e->options->features_user, &nest, rows + n * (size_t)model->n_features);
            labels[n++] = isfinite(s->time) ? (float)exp2(e->samples[e->top[0]].time - s->time) : 0;
        }
    }
    if (status == CTUNE_OK && n > 0) {
        status = model->fit(e->ctx, model->self, rows, labels, n);
    }
    free(labels);
    return status;
}

/* Samples remember the score of the model at the time; a model that has learned gives others. */
static ctune_status samples_rescore(engine *e) {
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < e->n_samples && status == CTUNE_OK; i++) {
        proposal p = {.point = e->samples[i].point};
        status = engine_score(e, &p, 1);
        e->samples[i].estimate = isfinite(p.estimate) ? p.estimate : e->samples[i].estimate;
    }
    return status;
}

ctune_status engine_learn(engine *e) {
    ctune_status status = CTUNE_OK;
    if (e->n_top > 0 && has_model(e) && e->options->model->fit != NULL) {
        status = model_learn(e);
        status = status == CTUNE_OK ? samples_rescore(e) : status;
    }
    if (status == CTUNE_OK && e->n_top > 0) {
        residual_fit(&e->residual, e->samples, e->n_samples, e->samples[e->top[0]].time);
    }
    return status;
}

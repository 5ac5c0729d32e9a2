/*
 * The learned model inside the search: rows of the samples, when it is fitted, what it says.
 *
 * Rows of measured points are kept, so that a fit costs no features. It is fitted as soon as
 * N_LEAST_FIT results are in, then whenever the samples have grown by an eighth (so after every
 * batch at first, and about 20 times in 512 trials), less often when it takes too much time.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GROWTH = 0.125;

bool model_is_given(const engine *e) {
    const ctune_engine_options *o = &e->options;
    return ctune_strategy_learns(o->strategy) && o->model != NULL && o->features != NULL &&
           !e->lead.is_off;
}

/* A model that fails costs the search its model, and the user a warning. */
static ctune_status give_up(engine *e, ctune_status status) {
    if (status == CTUNE_OK || status == CTUNE_ENOMEM || e->lead.is_off) {
        return status;
    }
    ctune_diag_send(e->ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                          .code = "model-failed",
                                          .text = e->ctx->error,
                                          .hint = "the search goes on with the analytic estimate"});
    e->lead.is_off = true;
    e->lead.is_trained = false;
    return CTUNE_OK;
}

ctune_status model_predict(engine *e, const float *rows, int n, float *out) {
    const ctune_model *model = e->options.model;
    ctune_status status = model->predict(e->ctx, model->self, rows, (size_t)n, out);
    e->n_rows += n;
    for (int i = 0; i < n; i++) {
        out[i] = status == CTUNE_OK && isfinite(out[i]) ? -out[i] : NAN;
    }
    return give_up(e, status);
}

/* Rows of the samples that have none yet. */
static ctune_status rows_append(engine *e) {
    lead *l = &e->lead;
    size_t width = (size_t)e->options.model->n_features, n_floats, n_bytes;
    if (e->n_samples > l->size_sample_rows) {
        int size = e->size_samples;
        if (!ctune_size_mul((size_t)size, width, &n_floats) ||
            !ctune_size_mul(n_floats, sizeof(float), &n_bytes)) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
        float *rows = realloc(l->sample_rows, n_bytes + 1);
        if (rows == NULL) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
        l->sample_rows = rows;
        l->size_sample_rows = size;
    }
    for (; l->n_sample_rows < e->n_samples; l->n_sample_rows++) {
        float *row = l->sample_rows + (size_t)l->n_sample_rows * width;
        ctune_nest nest;
        for (size_t f = 0; f < width; f++) {
            row[f] = 0;
        }
        if (ctune_space_nest(e->space, &e->samples[l->n_sample_rows].point, &nest)) {
            e->options.features(e->options.features_user, &e->samples[l->n_sample_rows].point,
                                &nest, row);
        }
    }
    return CTUNE_OK;
}

static bool is_due(const engine *e) {
    int n_new = e->n_samples - e->lead.n_fitted;
    return e->options.model->fit != NULL && e->n_samples >= N_LEAST_FIT && n_new > 0 &&
           n_new >= GROWTH / e->effort * e->lead.n_fitted;
}

static ctune_status fit(engine *e) {
    const ctune_model *model = e->options.model;
    float *labels = calloc((size_t)e->n_samples + 1, sizeof *labels);
    if (labels == NULL) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    double best = e->samples[e->top[0]].time;
    for (int i = 0; i < e->n_samples; i++) {
        double time = e->samples[i].time;
        labels[i] = isfinite(time) ? (float)exp2(best - time) : 0;
    }
    ctune_status status =
        model->fit(e->ctx, model->self, e->lead.sample_rows, labels, (size_t)e->n_samples);
    free(labels);
    e->lead.n_fitted = e->n_samples;
    e->lead.n_fits++;
    e->lead.version++;
    return give_up(e, status);
}

/* All samples from `first` on. */
static ctune_status samples_predict(engine *e, int first) {
    size_t width = (size_t)e->options.model->n_features;
    float scores[MODEL_CHUNK];
    ctune_status status = CTUNE_OK;
    for (int at = first; at < e->n_samples && status == CTUNE_OK; at += MODEL_CHUNK) {
        int n = e->n_samples - at < MODEL_CHUNK ? e->n_samples - at : MODEL_CHUNK;
        status = model_predict(e, e->lead.sample_rows + (size_t)at * width, n, scores);
        for (int i = 0; i < n && status == CTUNE_OK; i++) {
            e->samples[at + i].model = scores[i];
        }
    }
    return status;
}

ctune_status model_learn(engine *e) {
    int first = e->lead.n_sample_rows;
    ctune_status status = rows_append(e);
    if (status == CTUNE_OK && is_due(e)) {
        status = fit(e);
        status = status == CTUNE_OK ? model_probe(e) : status;
        first = 0;
    }
    if (status == CTUNE_OK && e->lead.is_trained) {
        status = samples_predict(e, first);
    }
    if (status == CTUNE_OK) {
        blend_calibrate(e);
    }
    return status;
}

ctune_status model_probe(engine *e) {
    enum { N_PROBES = 24 };
    proposal list[N_PROBES];
    if (!model_is_given(e)) {
        return CTUNE_OK;
    }
    if (e->lead.rows == NULL) {
        size_t n_floats, n_bytes, width = (size_t)e->options.model->n_features;
        bool fits = ctune_size_mul(MODEL_CHUNK, width, &n_floats) &&
                    ctune_size_mul(n_floats, sizeof(float), &n_bytes);
        e->lead.rows = fits ? malloc(n_bytes + 1) : NULL;
        if (e->lead.rows == NULL) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
    }
    ctune_rng rng; /* not the search's: a model that is not trained changes nothing */
    ctune_rng_init(&rng, e->options.seed);
    for (int i = 0; i < N_PROBES; i++) {
        ctune_space_sample(e->space, &rng, &list[i].point);
    }
    list[0].point = engine_source_point(e);
    engine_draft(e, list, N_PROBES);
    e->lead.is_trained = true;
    ctune_status status = engine_judge(e, list, N_PROBES);
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < N_PROBES; i++) {
        if (!isnan(list[i].model)) {
            least = fmin(least, list[i].model);
            most = fmax(most, list[i].model);
        }
    }
    e->lead.is_trained = most > least && !e->lead.is_off;
    e->lead.came_trained = e->lead.came_trained || (e->lead.is_trained && e->lead.n_fits == 0);
    blend_weigh(e);
    return status;
}

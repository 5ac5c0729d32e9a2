/*
 * Predicted times of points: the draft (estimate and correction) and the judgement (features and
 * model, blended in). Both are remembered per point: chains meet the same points again and again.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>

/* Below this weight the model is not worth its time. */
static const double LEAST_WEIGHT = 0.1;

static cache_entry *entry_of(const engine *e, uint64_t hash) {
    return &e->cache[(hash ^ hash >> 29) & (CACHE_SIZE - 1)];
}

static double estimate_of(engine *e, const proposal *p) {
    cache_entry *c = entry_of(e, p->hash);
    ctune_nest nest;
    if (c->hash != p->hash || p->hash == 0) {
        bool is_legal = ctune_space_nest(e->space, &p->point, &nest);
        c->hash = p->hash;
        c->estimate = is_legal ? log2(ctune_estimate(&nest, e->target)) : INFINITY;
        c->version = 0;
    }
    return c->estimate;
}

void engine_draft(engine *e, proposal *list, int n) {
    for (int i = 0; i < n; i++) {
        proposal *p = &list[i];
        p->hash = ctune_point_hash(&p->point);
        p->estimate = estimate_of(e, p);
        p->base = isfinite(p->estimate) ? residual_predict(&e->residual, &p->point, p->estimate)
                                        : INFINITY;
        p->model = NAN;
        p->score = p->blend = p->base;
    }
    e->n_scored += n;
}

bool engine_is_led(const engine *e) {
    return model_is_given(e) && e->lead.is_trained && e->lead.weight >= LEAST_WEIGHT;
}

/* Scores of those in id[n]; n at most MODEL_CHUNK. */
static ctune_status judge_chunk(engine *e, proposal *list, const int *id, int n) {
    size_t width = (size_t)e->options.model->n_features;
    float scores[MODEL_CHUNK];
    ctune_nest nest;
    for (int k = 0; k < n; k++) {
        float *row = e->lead.rows + (size_t)k * width;
        for (size_t f = 0; f < width; f++) {
            row[f] = 0;
        }
        if (ctune_space_nest(e->space, &list[id[k]].point, &nest)) {
            e->options.features(e->options.features_user, &list[id[k]].point, &nest, row);
        }
    }
    ctune_status status = model_predict(e, e->lead.rows, n, scores);
    for (int k = 0; k < n && status == CTUNE_OK; k++) {
        proposal *p = &list[id[k]];
        cache_entry *c = entry_of(e, p->hash);
        p->model = scores[k];
        if (c->hash == p->hash) {
            c->model = scores[k];
            c->version = e->lead.version;
        }
    }
    return status;
}

ctune_status engine_judge(engine *e, proposal *list, int n) {
    int id[MODEL_CHUNK], n_ids = 0;
    ctune_status status = CTUNE_OK;
    if (!model_is_given(e) || !e->lead.is_trained) {
        return CTUNE_OK;
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        const cache_entry *c = entry_of(e, list[i].hash);
        if (!isfinite(list[i].estimate)) {
            continue;
        }
        if (c->hash == list[i].hash && c->version == e->lead.version) {
            list[i].model = c->model;
            continue;
        }
        id[n_ids++] = i;
        if (n_ids == MODEL_CHUNK) {
            status = judge_chunk(e, list, id, n_ids);
            n_ids = 0;
        }
    }
    if (n_ids > 0 && status == CTUNE_OK) {
        status = judge_chunk(e, list, id, n_ids);
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        list[i].score = list[i].blend = blend_score(e, list[i].base, list[i].model);
    }
    return status;
}

ctune_status engine_score(engine *e, proposal *list, int n) {
    engine_draft(e, list, n);
    return engine_is_led(e) ? engine_judge(e, list, n) : CTUNE_OK;
}

static int by_score(const void *a, const void *b) {
    const proposal *x = a, *y = b;
    if (x->score != y->score) {
        return x->score < y->score ? -1 : 1;
    }
    return (x->hash > y->hash) - (x->hash < y->hash);
}

void engine_sort(proposal *list, int n) {
    if (n > 1) {
        qsort(list, (size_t)n, sizeof *list, by_score);
    }
}

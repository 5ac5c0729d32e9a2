/*
 * Replay: see replay.h.
 *
 * The candidates of a task are what the search may choose from; a batch is the best-scored of those
 * left, a part of it random. What a real search does beyond that (it makes its candidates, looks
 * for diverse ones, descends) is not replayed: this compares models, at no cost of measuring.
 */
#include "plugin/session/replay.h"

#include "runtime/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay {
    const ctune_replay *in;
    const ctune_dataset_task *task;
    ctune_model model;
    ctune_rng rng;
    size_t n_seen;
    size_t *seen;    /* rows of the task in order of measuring */
    bool *is_seen;   /* [n_rows] */
    float *score;    /* [n_rows] */
    float *features; /* of the rows seen, for the fit */
    float *labels;
    double best_ns;
} replay;

const char *ctune_replay_name(ctune_replay_strategy strategy) {
    static const char *const names[] = {
#define X(id, name, help) name,
        CTUNE_REPLAY_TABLE(X)
#undef X
    };
    return names[strategy];
}

static const float *row_of(const replay *r, size_t i) {
    size_t width = (size_t)r->in->data->n_features;
    return r->in->data->features + (r->task->first + i) * width;
}

static bool uses_model(const replay *r) {
    return r->in->strategy == CTUNE_REPLAY_GBT || r->in->strategy == CTUNE_REPLAY_TRANSFER;
}

static ctune_status score(ctune_ctx *ctx, replay *r) {
    size_t n = r->task->n_rows;
    if (uses_model(r) && (r->n_seen > 0 || r->in->strategy == CTUNE_REPLAY_TRANSFER)) {
        return r->model.predict(ctx, r->model.self, row_of(r, 0), n, r->score);
    }
    for (size_t i = 0; i < n; i++) {
        r->score[i] = r->in->strategy == CTUNE_REPLAY_ESTIMATE
                          ? -row_of(r, i)[r->in->estimate_column]
                          : (float)ctune_rng_unit(&r->rng);
    }
    return CTUNE_OK;
}

static ctune_status learn(ctune_ctx *ctx, replay *r) {
    size_t width = (size_t)r->in->data->n_features;
    if (!uses_model(r) || !isfinite(r->best_ns)) {
        return CTUNE_OK;
    }
    for (size_t k = 0; k < r->n_seen; k++) {
        double t = r->in->data->time_ns[r->task->first + r->seen[k]];
        memcpy(r->features + k * width, row_of(r, r->seen[k]), width * sizeof(float));
        r->labels[k] = isfinite(t) ? (float)(r->best_ns / t) : 0;
    }
    return r->model.fit(ctx, r->model.self, r->features, r->labels, r->n_seen);
}

/* A row not seen yet: the best-scored, or any. */
static size_t pick(replay *r, bool is_random) {
    size_t n = r->task->n_rows, left = n - r->n_seen, best = n;
    uint64_t skip = is_random ? ctune_rng_below(&r->rng, left) : 0;
    for (size_t i = 0; i < n; i++) {
        if (r->is_seen[i]) {
            continue;
        }
        if (is_random) {
            if (skip-- == 0) {
                return i;
            }
        } else if (best == n || r->score[i] > r->score[best]) {
            best = i;
        }
    }
    return best;
}

static void take_batch(replay *r, float *curve) {
    size_t n = r->task->n_rows;
    for (int k = 0; k < r->in->batch && r->n_seen < n; k++) {
        size_t i = pick(r, ctune_rng_unit(&r->rng) < r->in->epsilon);
        r->is_seen[i] = true;
        r->seen[r->n_seen] = i;
        r->best_ns = fmin(r->best_ns, r->in->data->time_ns[r->task->first + i]);
        curve[r->n_seen++] = isfinite(r->best_ns) ? (float)(r->task->best_ns / r->best_ns) : 0;
    }
}

static ctune_status open(ctune_ctx *ctx, const ctune_replay *in, replay *r) {
    size_t n = r->task->n_rows, width = (size_t)in->data->n_features, cells, bytes;
    if (!ctune_size_mul(n + 1, width, &cells) || !ctune_size_mul(cells, sizeof(float), &bytes)) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "too many rows");
    }
    r->seen = calloc(n + 1, sizeof *r->seen);
    r->is_seen = calloc(n + 1, sizeof *r->is_seen);
    r->score = calloc(n + 1, sizeof *r->score);
    r->labels = calloc(n + 1, sizeof *r->labels);
    r->features = malloc(bytes);
    if (r->seen == NULL || r->is_seen == NULL || r->score == NULL || r->labels == NULL ||
        r->features == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    const ctune_forest *global = in->strategy == CTUNE_REPLAY_TRANSFER ? in->global : NULL;
    return uses_model(r)
               ? ctune_gbt_model_create(ctx, global, in->data->n_features, in->gbt, &r->model)
               : CTUNE_OK;
}

ctune_status ctune_replay_run(ctune_ctx *ctx, const ctune_replay *in, float *curve) {
    replay r = {.in = in, .task = &in->data->task[in->task], .best_ns = INFINITY};
    ctune_rng_init(&r.rng, in->seed);
    ctune_status status = open(ctx, in, &r);
    while (status == CTUNE_OK && r.n_seen < r.task->n_rows) {
        status = score(ctx, &r);
        if (status == CTUNE_OK) {
            take_batch(&r, curve);
            status = learn(ctx, &r);
        }
    }
    if (r.model.destroy != NULL) {
        r.model.destroy(r.model.self);
    }
    free(r.seen);
    free(r.is_seen);
    free(r.score);
    free(r.labels);
    free(r.features);
    return status;
}

int ctune_replay_trials(const float *curve, size_t n, double share) {
    size_t i = 0;
    while (i < n && !(curve[i] >= (float)share)) {
        i++;
    }
    return (int)i + 1;
}

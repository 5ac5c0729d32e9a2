/*
 * Choice without measuring: see ctune_engine_predict in engine.h.
 *
 * The draft (seeds, uniform samples, a short annealing by the estimate) keeps POOL_SIZE points out
 * of some ten thousand. The model ranks them, and a few generations of mutants around its
 * favourites refine them. Its favourite of so many is likely one that it overrates, so the estimate
 * keeps a part in the score, and of the favourites that one is taken whose gain is the largest at
 * worst (costmodel/choice.h).
 */
#include "costmodel/choice.h"
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_SAMPLES = 4096, N_STEPS = 48, N_GENERATIONS = 8, N_PARENTS = 32, N_CHILDREN = 128 };
static const double LIMIT_S = 1, MODEL_WEIGHT = CTUNE_CHOICE_MODEL_WEIGHT;

typedef struct prediction {
    engine e;
    int64_t end_ns;
    int n_best;
    proposal best[N_PARENTS]; /* best first */
} prediction;

/* Of this thread: what else the machine does must not decide what a build compiles. */
static int64_t cpu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_late(const prediction *p) {
    return cpu_now_ns() > p->end_ns;
}

/* ---- draft ----------------------------------------------------------------------------------- */

/* The draft chains become the best of the seeds and samples. */
static void draft_sample(prediction *p, int n_samples) {
    chains *c = &p->e.draft;
    proposal list[2 * N_CHAINS];
    int n = engine_seeds(&p->e, list);
    engine_draft(&p->e, list, n);
    for (int left = n_samples; left > 0 && !is_late(p);) {
        int wanted = 2 * N_CHAINS - n < left ? 2 * N_CHAINS - n : left;
        for (int i = 0; i < wanted; i++) {
            ctune_space_sample(p->e.space, &p->e.rng, &list[n + i].point);
        }
        engine_draft(&p->e, list + n, wanted);
        engine_sort(list, n + wanted);
        n = n + wanted < N_CHAINS ? n + wanted : N_CHAINS;
        left -= wanted;
    }
    c->n = n < N_CHAINS ? n : N_CHAINS;
    memcpy(c->chain, list, (size_t)c->n * sizeof *list);
}

/* ---- refinement ------------------------------------------------------------------------------ */

/* Distinct, best first; illegal ones left out. */
static void best_take(prediction *p, proposal *list, int n) {
    proposal *all = list; /* [n + N_PARENTS] */
    memcpy(all + n, p->best, (size_t)p->n_best * sizeof *all);
    n += p->n_best;
    engine_sort(all, n);
    p->n_best = 0;
    for (int i = 0; i < n && p->n_best < N_PARENTS; i++) {
        bool is_twin = i > 0 && all[i].hash == all[i - 1].hash;
        if (isfinite(all[i].score) && !is_twin) {
            p->best[p->n_best++] = all[i];
        }
    }
}

static ctune_status refine(prediction *p) {
    proposal list[N_CHILDREN + N_PARENTS];
    ctune_status status = CTUNE_OK;
    for (int g = 0; g < N_GENERATIONS && status == CTUNE_OK && !is_late(p); g++) {
        for (int i = 0; i < N_CHILDREN && p->n_best > 0; i++) {
            ctune_space_mutate(p->e.space, &p->e.rng, &p->best[i % p->n_best].point,
                               &list[i].point);
        }
        status = engine_score(&p->e, list, N_CHILDREN);
        if (status == CTUNE_OK) {
            best_take(p, list, N_CHILDREN);
        }
    }
    return status;
}

/* ---- caution --------------------------------------------------------------------------------- */
enum { MAX_VOICES = CTUNE_MODEL_MAX_MEMBERS + 2 };

/* What each voice says of points [n]: members of an ensemble or the model, and the estimate. log2,
 * higher is faster; scores [n][MAX_VOICES]. */
static ctune_status voices_get(prediction *p, const proposal *list, int n, float *scores,
                               int *n_voices) {
    engine *e = &p->e;
    const ctune_model *model = e->options.model;
    bool is_led = engine_is_led(e), has_members = is_led && model->predict_members != NULL &&
                                                  model->n_members <= CTUNE_MODEL_MAX_MEMBERS;
    int n_members = has_members ? model->n_members : is_led ? 1 : 0;
    *n_voices = n_members + 1;
    for (int i = 0; i < n; i++) {
        float members[CTUNE_MODEL_MAX_MEMBERS] = {(float)-list[i].model};
        ctune_nest nest;
        if (has_members && ctune_space_nest(e->space, &list[i].point, &nest)) {
            e->options.features(e->options.features_user, &list[i].point, &nest, e->lead.rows);
            ctune_status status =
                model->predict_members(e->ctx, model->self, e->lead.rows, 1, members);
            if (status != CTUNE_OK) {
                return status;
            }
        }
        memcpy(scores + i * MAX_VOICES, members, (size_t)n_members * sizeof *scores);
        scores[i * MAX_VOICES + n_members] = (float)-list[i].base;
    }
    return CTUNE_OK;
}

/* Of the source (list[0]) and the favourites, what is best at worst. *gain: 0 for the source. */
static ctune_status choose_among(prediction *p, const proposal *list, int n, int *best,
                                 double *gain) {
    float scores[(N_PARENTS + 1) * MAX_VOICES];
    int n_voices;
    ctune_status status = voices_get(p, list, n, scores, &n_voices);
    *best = 0;
    *gain = 0;
    for (int i = 1; i < n && status == CTUNE_OK; i++) {
        double spread = ctune_choice_spread(scores + i * MAX_VOICES, scores, n_voices);
        double bound = list[0].score - list[i].score - CTUNE_CHOICE_CAUTION * spread;
        if (bound > *gain) {
            *best = i;
            *gain = bound;
        }
    }
    return status;
}

static ctune_status choose(prediction *p, int n_samples, ctune_point *out, double *score) {
    engine *e = &p->e;
    proposal source = {.point = engine_source_point(e)};
    proposal *list = calloc(POOL_SIZE + N_PARENTS + 1, sizeof *list);
    if (list == NULL) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    draft_sample(p, n_samples);
    ctune_status status = engine_score(e, &source, 1);
    for (int step = 0; step < N_STEPS && status == CTUNE_OK && !is_late(p); step += 8) {
        status = anneal_draft(e, 8, 0.5 * (1 - (double)step / N_STEPS));
    }
    if (status == CTUNE_OK) {
        int n = e->draft.n_pool;
        memcpy(list, e->draft.pool, (size_t)n * sizeof *list);
        list[n++] = source;
        status = engine_is_led(e) ? engine_judge(e, list, n) : CTUNE_OK;
        if (status == CTUNE_OK) {
            best_take(p, list, n);
            status = refine(p);
        }
    }
    int best = 0;
    double gain = 0;
    if (status == CTUNE_OK) {
        memcpy(list + 1, p->best, (size_t)p->n_best * sizeof *list);
        list[0] = source;
        status = engine_is_led(e) ? engine_judge(e, list, 1) : CTUNE_OK;
    }
    if (status == CTUNE_OK) {
        status = choose_among(p, list, p->n_best + 1, &best, &gain);
    }
    if (status == CTUNE_OK) {
        *out = list[best].point;
        if (score != NULL) {
            *score = gain;
        }
    }
    free(list);
    return status;
}

ctune_status ctune_engine_predict(ctune_ctx *ctx, const ctune_space *space,
                                  const ctune_target *target, const ctune_predict_options *options,
                                  ctune_point *out, double *score) {
    prediction *p = calloc(1, sizeof *p);
    if (p == NULL || !engine_init(&p->e, ctx, space, target)) {
        if (p != NULL) {
            engine_clear(&p->e);
        }
        free(p);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    double limit_s = options->limit_s > 0 ? options->limit_s : LIMIT_S;
    p->end_ns = cpu_now_ns() + (int64_t)(limit_s * 1e9);
    p->e.options.seed = options->seed;
    p->e.options.model = options->model;
    p->e.options.features = options->features;
    p->e.options.features_user = options->features_user;
    ctune_rng_init(&p->e.rng, options->seed);
    ctune_status status = model_probe(&p->e);
    p->e.lead.weight = options->model_weight > 0 ? options->model_weight : MODEL_WEIGHT;
    if (status == CTUNE_OK) {
        status = choose(p, options->n_samples > 0 ? options->n_samples : N_SAMPLES, out, score);
    }
    engine_clear(&p->e);
    free(p);
    return status;
}

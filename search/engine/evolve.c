/*
 * Evolutionary search on predicted times, Ansor's (Zheng et al., 2020): a population of uniform
 * samples and the fastest measured points; parents drawn in proportion to their predicted speed; a
 * child is its parent with one decision changed, or now and then its parent as it is; after some
 * generations the best points that any of them held are measured. Nothing persists from batch to
 * batch but what was measured.
 *
 * A published baseline, beside annealing: it knows no draft, no seeds of the space, no diversity
 * and no descent. Scored by the model and the corrected estimate as annealing is.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_INDIVIDUALS = 512, N_GENERATIONS = 4, CHUNK = 128 };
static const double MUTATION = 0.85, MEASURED = 0.2;

typedef struct population {
    proposal now[N_INDIVIDUALS], next[N_INDIVIDUALS];
    double sum[N_INDIVIDUALS]; /* of the speeds of the first .. this one */
    proposal best[POOL_SIZE + N_INDIVIDUALS];
    int n_best;
} population;

static ctune_status score_all(engine *e, proposal *list) {
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < N_INDIVIDUALS && status == CTUNE_OK; i += CHUNK) {
        status = engine_score(e, list + i, CHUNK);
    }
    return status;
}

static void population_start(engine *e, population *p) {
    int n_measured = (int)(MEASURED * N_INDIVIDUALS);
    for (int i = 0; i < N_INDIVIDUALS; i++) {
        if (i < n_measured && e->n_top > 0) {
            p->now[i].point = e->samples[e->top[i % e->n_top]].point;
        } else {
            ctune_space_sample(e->space, &e->rng, &p->now[i].point);
        }
    }
}

/* The best new ones of this generation and those before, distinct. */
static void best_keep(const engine *e, population *p) {
    int n = 0;
    for (int i = 0; i < N_INDIVIDUALS; i++) {
        if (isfinite(p->now[i].score) && proposal_is_new(e, &p->now[i])) {
            p->best[p->n_best++] = p->now[i];
        }
    }
    engine_sort(p->best, p->n_best);
    for (int i = 0; i < p->n_best && n < POOL_SIZE; i++) {
        if (n == 0 || p->best[i].hash != p->best[n - 1].hash) {
            p->best[n++] = p->best[i];
        }
    }
    p->n_best = n;
}

/* false: none is legal. */
static bool speeds_sum(population *p) {
    double best = INFINITY, sum = 0;
    for (int i = 0; i < N_INDIVIDUALS; i++) {
        best = fmin(best, p->now[i].score);
    }
    for (int i = 0; i < N_INDIVIDUALS; i++) {
        sum += isfinite(p->now[i].score) ? exp2(best - p->now[i].score) : 0;
        p->sum[i] = sum;
    }
    return sum > 0;
}

static const proposal *draw_parent(engine *e, const population *p) {
    double at = ctune_rng_unit(&e->rng) * p->sum[N_INDIVIDUALS - 1];
    int low = 0, high = N_INDIVIDUALS - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (p->sum[middle] > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return &p->now[low];
}

static void breed(engine *e, population *p) {
    for (int i = 0; i < N_INDIVIDUALS; i++) {
        const proposal *parent = draw_parent(e, p);
        if (ctune_rng_unit(&e->rng) < MUTATION) {
            ctune_space_mutate(e->space, &e->rng, &parent->point, &p->next[i].point);
        } else {
            p->next[i].point = parent->point;
        }
    }
    memcpy(p->now, p->next, sizeof p->now);
}

static ctune_status evolve(engine *e, population *p) {
    population_start(e, p);
    ctune_status status = score_all(e, p->now);
    for (int g = 0; status == CTUNE_OK; g++) {
        best_keep(e, p);
        if (g == N_GENERATIONS || !speeds_sum(p)) {
            break;
        }
        breed(e, p);
        status = score_all(e, p->now);
    }
    return status;
}

ctune_status evolve_fill(engine *e, proposal *list, int *n, int max) {
    population *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    int n_random = (int)ceil(e->options.epsilon * max);
    ctune_status status = evolve(e, p);
    for (int i = 0; i < p->n_best && *n < max - n_random && status == CTUNE_OK; i++) {
        if (point_set_add(&e->known, p->best[i].hash)) {
            list[(*n)++] = p->best[i];
        }
    }
    if (status == CTUNE_OK) {
        status = batch_add_random(e, list, n, max - *n, 1);
    }
    free(p);
    return status;
}

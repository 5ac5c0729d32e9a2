/* The state that the strategies share: making it, clearing it, adding samples. */
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool engine_init(engine *e, ctune_ctx *ctx, const ctune_space *space, const ctune_target *target) {
    memset(e, 0, sizeof *e);
    e->ctx = ctx;
    e->space = space;
    e->target = target;
    e->effort = 1;
    e->draft.n = N_CHAINS;
    e->led.n = N_LED;
    e->led.is_led = true;
    e->lead.version = 1;
    e->lead.slope = 1;
    e->cache = calloc(CACHE_SIZE, sizeof *e->cache);
    return residual_init(&e->residual, space) && e->cache != NULL;
}

void engine_clear(engine *e) {
    point_set_clear(&e->known);
    residual_clear(&e->residual);
    free(e->lead.rows);
    free(e->lead.sample_rows);
    free(e->cache);
    free(e->samples);
}

static void top_insert(engine *e, int id) {
    if (!isfinite(e->samples[id].time)) {
        return;
    }
    int at = e->n_top < N_TOP ? e->n_top++ : N_TOP;
    while (at > 0 && (at == N_TOP || e->samples[e->top[at - 1]].time > e->samples[id].time)) {
        if (at < N_TOP) {
            e->top[at] = e->top[at - 1];
        } else if (e->samples[e->top[N_TOP - 1]].time <= e->samples[id].time) {
            return;
        }
        at--;
    }
    e->top[at] = id;
}

bool engine_add_sample(engine *e, const ctune_trial *trial, double estimate, double time) {
    if (e->n_samples == e->size_samples) {
        int size = e->size_samples == 0 ? 256 : e->size_samples * 2;
        size_t n_bytes;
        if (size < e->size_samples || !ctune_size_mul((size_t)size, sizeof(sample), &n_bytes)) {
            return false;
        }
        sample *grown = realloc(e->samples, n_bytes);
        if (grown == NULL) {
            return false;
        }
        e->samples = grown;
        e->size_samples = size;
    }
    e->samples[e->n_samples] = (sample){
        .point = trial->point, .estimate = estimate, .model = NAN, .time = time, .trial = *trial};
    top_insert(e, e->n_samples++);
    return true;
}

ctune_point engine_source_point(const engine *e) {
    ctune_point point;
    memset(&point, 0, sizeof point);
    point.n = ctune_space_n_decisions(e->space);
    return point;
}

int engine_seeds(const engine *e, proposal *out) {
    ctune_point seeds[MAX_SEEDS];
    int n_seeds = ctune_space_seeds(e->space, seeds, MAX_SEEDS);
    out[0].point = engine_source_point(e);
    for (int i = 0; i < n_seeds; i++) {
        out[i + 1].point = seeds[i];
        ctune_space_normalise(e->space, &out[i + 1].point);
    }
    return n_seeds + 1;
}

bool proposal_is_new(const engine *e, const proposal *p) {
    return isfinite(p->score) && !point_set_has(&e->known, p->hash);
}

ctune_status engine_learn(engine *e) {
    ctune_status status = CTUNE_OK;
    if (e->n_learned == e->n_samples) {
        return CTUNE_OK;
    }
    e->n_learned = e->n_samples;
    if (e->n_top > 0 &&
        !residual_fit(&e->residual, e->samples, e->n_samples, e->samples[e->top[0]].time)) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (e->n_top > 0 && model_is_given(e)) {
        status = model_learn(e);
    }
    return status;
}

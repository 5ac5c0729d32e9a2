/*
 * Simulated annealing on the predicted time: parallel chains that persist across rounds, a pool of
 * the best new points they meet, and a diverse choice from the pool (Chen et al., Learning to
 * Optimize Tensor Programs, 2018).
 *
 * Two sets of chains. The draft's are many, take many steps and cost little. Where a model leads,
 * the best that they found starts the model's own, which are fewer: a step of theirs is ten times
 * as dear. Without the first, half of the model's time goes to points that are plainly bad.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <string.h>

enum {
    FIRST_STEPS = 400, /* of the draft's chains */
    LATER_STEPS = 60,
    ROWS_PER_TRIAL = 256, /* of the model's chains */
    FIRST_FACTOR = 3,     /* more in the first round */
    N_DRAFTED = 16        /* chains that start anew from the draft */
};

/* ---- pool ------------------------------------------------------------------------------------ */

static void pool_find_worst(chains *c) {
    c->worst = 0;
    for (int i = 1; i < c->n_pool; i++) {
        c->worst = c->pool[i].score > c->pool[c->worst].score ? i : c->worst;
    }
}

static void pool_offer(engine *e, chains *c, const proposal *p) {
    bool is_full = c->n_pool == POOL_SIZE;
    if (!isfinite(p->score) || (is_full && p->score >= c->pool[c->worst].score) ||
        point_set_has(&e->known, p->hash)) {
        return;
    }
    for (int i = 0; i < c->n_pool; i++) {
        if (c->pool[i].hash == p->hash) {
            return;
        }
    }
    c->pool[is_full ? c->worst : c->n_pool++] = *p;
    if (c->n_pool == POOL_SIZE) {
        pool_find_worst(c);
    }
}

/* Some points have been measured since. */
static void pool_drop_known(engine *e, chains *c) {
    int n = 0;
    for (int i = 0; i < c->n_pool; i++) {
        if (!point_set_has(&e->known, c->pool[i].hash)) {
            c->pool[n++] = c->pool[i];
        }
    }
    c->n_pool = n;
}

static ctune_status score(engine *e, const chains *c, proposal *list, int n) {
    engine_draft(e, list, n);
    return c->is_led ? engine_judge(e, list, n) : CTUNE_OK;
}

/* Scores of an older correction or model are made new. */
static ctune_status pool_refresh(engine *e, chains *c) {
    pool_drop_known(e, c);
    ctune_status status = score(e, c, c->pool, c->n_pool);
    pool_find_worst(c);
    return status;
}

/* ---- choice ---------------------------------------------------------------------------------- */

typedef struct coverage {
    uint8_t seen[CTUNE_SPACE_DECISIONS][128]; /* value, capped */
} coverage;

static int count_unseen(const coverage *c, const ctune_point *p) {
    int n = 0;
    for (int j = 0; j < p->n; j++) {
        n += !c->seen[j][p->decision[j] & 127];
    }
    return n;
}

static void mark(coverage *c, const ctune_point *p) {
    for (int j = 0; j < p->n; j++) {
        c->seen[j][p->decision[j] & 127] = 1;
    }
}

static void pick_from(engine *e, chains *c, coverage *seen, proposal *out, int n, int *n_out) {
    pool_drop_known(e, c);
    while (*n_out < n && c->n_pool > 0) {
        int best = 0;
        double best_gain = -INFINITY;
        for (int i = 0; i < c->n_pool; i++) {
            double gain = -c->pool[i].score;
            if (e->options.alpha > 0) {
                gain += e->options.alpha * count_unseen(seen, &c->pool[i].point);
            }
            if (gain > best_gain) {
                best_gain = gain;
                best = i;
            }
        }
        if (!point_set_add(&e->known, c->pool[best].hash)) {
            break;
        }
        mark(seen, &c->pool[best].point);
        out[(*n_out)++] = c->pool[best];
        c->pool[best] = c->pool[--c->n_pool];
    }
    pool_find_worst(c);
}

/* Until a batch has shown whether the model is right here, its weight is also its share of the
 * batch: the rest is the draft's choice. */
int anneal_pick(engine *e, proposal *out, int n) {
    bool is_led = engine_is_led(e);
    bool is_proven = e->lead.by_model.pairs > 0 || e->options.no_draft || e->options.no_ensemble;
    int n_led = !is_led ? 0 : is_proven ? n : (int)lround(e->lead.weight * n), n_out = 0;
    coverage seen;
    memset(&seen, 0, sizeof seen);
    pick_from(e, &e->led, &seen, out, n_led, &n_out);
    if (!is_led || !is_proven) {
        pick_from(e, &e->draft, &seen, out, n, &n_out);
    }
    return n_out;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Before the first round: the space's own starting points, the rest random. */
static void chains_start(engine *e, chains *c) {
    proposal seeds[MAX_SEEDS + 1];
    int n_seeds = engine_seeds(e, seeds);
    for (int i = 0; i < c->n; i++) {
        if (i < n_seeds) {
            c->chain[i].point = seeds[i].point;
        } else {
            ctune_space_sample(e->space, &e->rng, &c->chain[i].point);
        }
    }
}

/* Later: the slowest chains give way to the fastest samples, to the best of the draft, and to a few
 * random points. */
static void chains_refresh(engine *e, chains *c) {
    bool is_taken[N_CHAINS] = {false};
    int n_samples = 2 * e->n_top, n_drafted = 0;
    if (c->is_led) {
        engine_sort(e->draft.pool, e->draft.n_pool);
        n_drafted = e->draft.n_pool < N_DRAFTED ? e->draft.n_pool : N_DRAFTED;
    }
    for (int k = 0; k < n_samples + n_drafted + 6; k++) {
        int worst = -1;
        for (int i = 0; i < c->n; i++) {
            if (!is_taken[i] && (worst < 0 || c->chain[i].score > c->chain[worst].score)) {
                worst = i;
            }
        }
        is_taken[worst] = true;
        if (k < n_samples) {
            c->chain[worst].point = e->samples[e->top[k / 2]].point;
        } else if (k < n_samples + n_drafted) {
            c->chain[worst].point = e->draft.pool[k - n_samples].point;
        } else {
            ctune_space_sample(e->space, &e->rng, &c->chain[worst].point);
        }
    }
}

static bool is_accepted(engine *e, double from, double to, double temperature) {
    double u = ctune_rng_unit(&e->rng);
    if (!isfinite(to)) {
        return false;
    }
    return to <= from || (temperature > 0 && u < exp((from - to) / temperature));
}

/* From their points, scores made new, n_steps each; what they meet goes to the pool. */
static ctune_status chains_walk(engine *e, chains *c, int n_steps, double first_temperature) {
    proposal next[N_CHAINS];
    ctune_status status = score(e, c, c->chain, c->n);
    for (int i = 0; i < c->n && status == CTUNE_OK; i++) {
        pool_offer(e, c, &c->chain[i]);
    }
    for (int step = 0; step < n_steps && status == CTUNE_OK; step++) {
        double temperature = first_temperature * (1 - (double)step / n_steps);
        for (int i = 0; i < c->n; i++) {
            ctune_space_mutate(e->space, &e->rng, &c->chain[i].point, &next[i].point);
        }
        status = score(e, c, next, c->n);
        for (int i = 0; i < c->n && status == CTUNE_OK; i++) {
            pool_offer(e, c, &next[i]);
            if (is_accepted(e, c->chain[i].score, next[i].score, temperature)) {
                c->chain[i] = next[i];
            }
        }
    }
    return status;
}

ctune_status anneal_draft(engine *e, int n_steps, double temperature) {
    return chains_walk(e, &e->draft, n_steps, temperature);
}

static int scaled(int n_steps, double effort) {
    int n = (int)lround(n_steps * effort);
    return n < 4 ? 4 : n;
}

static ctune_status draft_round(engine *e) {
    chains *c = &e->draft;
    bool is_first = c->n_rounds++ == 0;
    ctune_status status = CTUNE_OK;
    if (is_first) {
        chains_start(e, c);
    } else {
        chains_refresh(e, c);
        status = pool_refresh(e, c);
    }
    int n_steps = scaled(is_first ? FIRST_STEPS : LATER_STEPS, e->effort);
    return status == CTUNE_OK ? chains_walk(e, c, n_steps, is_first ? 1.0 : 0.3) : status;
}

/* The model ranks the draft's pool: the best of it fills the own pool, and in the first round the
 * chains. */
static ctune_status take_draft(engine *e, bool is_first) {
    proposal list[POOL_SIZE];
    chains *c = &e->led;
    int n = e->draft.n_pool;
    memcpy(list, e->draft.pool, (size_t)n * sizeof *list);
    ctune_status status = engine_judge(e, list, n);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int i = 0; i < n; i++) {
        pool_offer(e, c, &list[i]);
    }
    engine_sort(list, n);
    for (int i = 0; i < c->n && is_first; i++) {
        if (i < n) {
            c->chain[i] = list[i];
        } else {
            ctune_space_sample(e->space, &e->rng, &c->chain[i].point);
        }
    }
    return CTUNE_OK;
}

static ctune_status led_round(engine *e, int n_batch) {
    chains *c = &e->led;
    bool is_first = c->n_rounds++ == 0;
    ctune_status status = pool_refresh(e, c);
    if (is_first && e->options.no_draft) {
        chains_start(e, c);
    } else if (!is_first) {
        chains_refresh(e, c);
    }
    if (status == CTUNE_OK && !e->options.no_draft) {
        status = take_draft(e, is_first);
    }
    int n_rows = ROWS_PER_TRIAL * n_batch * (is_first ? FIRST_FACTOR : 1);
    int n_steps = scaled(n_rows / c->n, e->effort);
    return status == CTUNE_OK ? chains_walk(e, c, n_steps, is_first ? 1.0 : 0.3) : status;
}

ctune_status anneal_round(engine *e, int n_batch) {
    bool is_led = engine_is_led(e);
    ctune_status status = is_led && e->options.no_draft ? CTUNE_OK : draft_round(e);
    return status == CTUNE_OK && is_led ? led_round(e, n_batch) : status;
}

/*
 * Simulated annealing on the predicted time: parallel chains that persist across rounds, a pool of
 * the best new points they meet, and a diverse choice from the pool (Chen et al., Learning to
 * Optimize Tensor Programs, 2018).
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <string.h>

enum { FIRST_STEPS = 400, LATER_STEPS = 60, MAX_SEEDS = 48 };
static const double DIVERSITY =
    0.04; /* log2 ns that a decision value not yet in the batch is worth */

/* ---- pool ------------------------------------------------------------------------------------ */

static void pool_offer(engine *e, const proposal *p) {
    int limit = MAX_BATCH * POOL_FACTOR, worst = 0;
    if (!isfinite(p->score) || point_set_has(&e->known, p->hash)) {
        return;
    }
    for (int i = 0; i < e->n_pool; i++) {
        if (e->pool[i].hash == p->hash) {
            return;
        }
        worst = e->pool[i].score > e->pool[worst].score ? i : worst;
    }
    if (e->n_pool < limit) {
        e->pool[e->n_pool++] = *p;
    } else if (p->score < e->pool[worst].score) {
        e->pool[worst] = *p;
    }
}

/* Scores are those of an older correction, and some points have been measured since. */
static void pool_refresh(engine *e) {
    int n = 0;
    for (int i = 0; i < e->n_pool; i++) {
        if (!point_set_has(&e->known, e->pool[i].hash)) {
            e->pool[n++] = e->pool[i];
        }
    }
    e->n_pool = n;
}

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

int anneal_pick(engine *e, proposal *out, int n) {
    coverage seen;
    memset(&seen, 0, sizeof seen);
    pool_refresh(e);
    int n_out = 0;
    while (n_out < n && e->n_pool > 0) {
        int best = 0;
        double best_gain = -INFINITY;
        for (int i = 0; i < e->n_pool; i++) {
            double gain = DIVERSITY * count_unseen(&seen, &e->pool[i].point) - e->pool[i].score;
            if (gain > best_gain) {
                best_gain = gain;
                best = i;
            }
        }
        if (!point_set_add(&e->known, e->pool[best].hash)) {
            break;
        }
        mark(&seen, &e->pool[best].point);
        out[n_out++] = e->pool[best];
        e->pool[best] = e->pool[--e->n_pool];
    }
    return n_out;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Before the first round: the space's own starting points, the rest random. */
static ctune_status chains_start(engine *e) {
    ctune_point seeds[MAX_SEEDS];
    int n_seeds = ctune_space_seeds(e->space, seeds, MAX_SEEDS);
    for (int i = 0; i < N_CHAINS; i++) {
        if (i == 0) {
            memset(&e->chain[i].point, 0, sizeof e->chain[i].point);
            e->chain[i].point.n = ctune_space_n_decisions(e->space);
        } else if (i <= n_seeds) {
            e->chain[i].point = seeds[i - 1];
            ctune_space_normalise(e->space, &e->chain[i].point);
        } else {
            ctune_space_sample(e->space, &e->rng, &e->chain[i].point);
        }
    }
    return engine_score(e, e->chain, N_CHAINS);
}

/* Later: the slowest chains give way to the fastest samples and to a few random points. */
static ctune_status chains_refresh(engine *e) {
    bool is_taken[N_CHAINS] = {false};
    for (int k = 0; k < 2 * e->n_top + 6; k++) {
        int worst = -1;
        for (int i = 0; i < N_CHAINS; i++) {
            if (!is_taken[i] && (worst < 0 || e->chain[i].score > e->chain[worst].score)) {
                worst = i;
            }
        }
        is_taken[worst] = true;
        if (k < 2 * e->n_top) {
            e->chain[worst].point = e->samples[e->top[k / 2]].point;
        } else {
            ctune_space_sample(e->space, &e->rng, &e->chain[worst].point);
        }
    }
    return engine_score(e, e->chain, N_CHAINS); /* the correction has changed */
}

static bool is_accepted(engine *e, double from, double to, double temperature) {
    double u = ctune_rng_unit(&e->rng);
    if (!isfinite(to)) {
        return false;
    }
    return to <= from || (temperature > 0 && u < exp((from - to) / temperature));
}

ctune_status anneal_round(engine *e) {
    proposal next[N_CHAINS];
    bool is_first = e->n_rounds++ == 0;
    int n_steps = is_first ? FIRST_STEPS : LATER_STEPS;
    ctune_status status = is_first ? chains_start(e) : chains_refresh(e);
    if (!is_first && status == CTUNE_OK) {
        pool_refresh(e);
        status = engine_score(e, e->pool, e->n_pool);
    }
    for (int i = 0; i < N_CHAINS && status == CTUNE_OK; i++) {
        pool_offer(e, &e->chain[i]);
    }
    for (int step = 0; step < n_steps && status == CTUNE_OK; step++) {
        double temperature = (is_first ? 1.0 : 0.3) * (1 - (double)step / n_steps);
        for (int i = 0; i < N_CHAINS; i++) {
            ctune_space_mutate(e->space, &e->rng, &e->chain[i].point, &next[i].point);
        }
        status = engine_score(e, next, N_CHAINS);
        for (int i = 0; i < N_CHAINS && status == CTUNE_OK; i++) {
            pool_offer(e, &next[i]);
            if (is_accepted(e, e->chain[i].score, next[i].score, temperature)) {
                e->chain[i] = next[i];
            }
        }
    }
    return status;
}

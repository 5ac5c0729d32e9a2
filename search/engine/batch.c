/*
 * What goes into a batch of the annealing strategies.
 *
 * First what needs no luck (the source's own order, the best seed of each form), then: neighbours
 * of the fastest (in the last quarter of the budget), children of the fastest (none in the first
 * two batches, then 60 to 80 %), the annealing's choice, and uniform points, of which a dozen are
 * drafted each time.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <string.h>

enum { MAX_EACH = 16, N_RANDOM_EACH = 12 };

ctune_status batch_add_random(engine *e, proposal *list, int *n, int wanted, int n_each) {
    proposal p[MAX_EACH];
    for (int tries = 0; tries < 200 * wanted && wanted > 0; tries++) {
        int best = -1;
        for (int i = 0; i < n_each && i < MAX_EACH; i++) {
            ctune_space_sample(e->space, &e->rng, &p[i].point);
        }
        engine_draft(e, p, n_each);
        for (int i = 0; i < n_each; i++) {
            bool is_better = best < 0 || p[i].score < p[best].score;
            best = proposal_is_new(e, &p[i]) && is_better ? i : best;
        }
        if (best < 0) {
            continue;
        }
        if (!point_set_add(&e->known, p[best].hash)) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
        list[(*n)++] = p[best];
        wanted--;
    }
    return CTUNE_OK;
}

static ctune_status take_first(engine *e, const proposal *p, proposal *list, int *n, int max) {
    if (*n >= max || point_set_has(&e->known, p->hash)) {
        return CTUNE_OK;
    }
    if (!point_set_add(&e->known, p->hash)) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    list[(*n)++] = *p;
    return CTUNE_OK;
}

/* The seeds with the best score in their form, the best first, in all[0..result-1]; those predicted
 * hopeless are left out: one slow candidate costs as much time as many good ones. */
static int best_of_forms(const engine *e, proposal *all, int n_all) {
    static const double HOPELESS = 2.5;
    double limit = INFINITY;
    int n = 0;
    for (int i = 0; i < n_all; i++) {
        limit = fmin(limit, all[i].score + HOPELESS);
    }
    for (int i = 0; i < n_all; i++) {
        int form = all[i].point.n > 0 ? all[i].point.decision[0] : 0, at = 0;
        if (!(all[i].score <= limit) || point_set_has(&e->known, all[i].hash)) {
            continue;
        }
        while (at < n && (all[at].point.n > 0 ? all[at].point.decision[0] : 0) != form) {
            at++;
        }
        if (at == n || all[i].score < all[at].score) {
            const proposal better = all[i];
            all[i] = all[at];
            all[at] = better;
            n += at == n;
        }
    }
    for (int i = 1; i < n; i++) { /* by score */
        const proposal p = all[i];
        int at = i;
        for (; at > 0 && p.score < all[at - 1].score; at--) {
            all[at] = all[at - 1];
        }
        all[at] = p;
    }
    return n;
}

/* The source's own order (not where there is room for next to nothing: it is known already), the
 * seed that the estimate likes best, whatever a model makes of a form that it may never have seen,
 * and the best of each form. */
static ctune_status add_firsts(engine *e, proposal *list, int *n, int max) {
    proposal all[MAX_SEEDS + 1];
    int n_all = engine_seeds(e, all), best = 1;
    ctune_status status = engine_score(e, all, n_all);
    if (status == CTUNE_OK && n_all > 0 && max > 2) {
        status = take_first(e, &all[0], list, n, max);
    }
    for (int i = 2; i < n_all; i++) {
        best = all[i].estimate < all[best].estimate ? i : best;
    }
    if (status == CTUNE_OK && best < n_all && isfinite(all[best].estimate)) {
        status = take_first(e, &all[best], list, n, max);
    }
    int n_best = status == CTUNE_OK && n_all > 0 ? best_of_forms(e, all + 1, n_all - 1) : 0;
    for (int i = 0; i < n_best && status == CTUNE_OK; i++) {
        status = take_first(e, &all[1 + i], list, n, max);
    }
    return status;
}

/* A share of n, rounded up or down by chance so that its mean is right. */
static int share_of(engine *e, int n, double share) {
    double wanted = share * n;
    int whole = (int)floor(wanted);
    whole += ctune_rng_unit(&e->rng) < wanted - whole;
    return whole < 0 ? 0 : whole > n ? n : whole;
}

ctune_status batch_fill(engine *e, const batch_plan *plan, proposal *list, int *n) {
    static const double LAST_QUARTER = 0.75;
    int max = plan->max, got = 0, n_random = share_of(e, max, e->options.epsilon);
    bool is_learning = plan->n_batches >= 2 && e->n_top > 0;
    bool is_descending = is_learning && !e->options.no_descent && plan->progress >= LAST_QUARTER;
    ctune_status status = anneal_round(e, max);
    if (status == CTUNE_OK && plan->n_batches == 0) {
        status = add_firsts(e, list, n, max - n_random);
    }
    if (status == CTUNE_OK && is_descending) {
        status = descent_pick(e, list + *n, (int)ceil(0.6 * (max - *n)), &got);
        *n += got;
    }
    if (status == CTUNE_OK && is_learning) {
        double share = plan->n_batches < 6 ? 0.6 : 0.8;
        int wanted = share_of(e, max - *n, share);
        status = exploit_pick(e, list + *n, wanted, &got);
        *n += got;
    }
    if (status == CTUNE_OK) {
        *n += anneal_pick(e, list + *n, max - *n - n_random > 0 ? max - *n - n_random : 0);
        int n_each = engine_is_led(e) && e->options.no_draft ? 1 : N_RANDOM_EACH;
        status = batch_add_random(e, list, n, max - *n, n_each);
    }
    return status;
}

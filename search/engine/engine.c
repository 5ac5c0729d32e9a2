/*
 * The tuning loop: what to measure next, when to stop, what was best. engine.h says what goes in
 * and out.
 *
 * Two batches are in flight, so that one compiles while the other is measured. A batch is made of:
 * the annealing's choice, proposals near the fastest samples (none in the first two batches, then
 * 60 to 80 %), random points, and in the last quarter of the budget neighbours of the best. Nothing
 * depends on the clock but the end.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct batch {
    int n;
    ctune_trial trial[MAX_BATCH];
} batch;

typedef struct search {
    engine e;
    const ctune_measurer *measurer;
    double original_ns;
    int64_t start_ns;
    int n_batches;   /* proposed */
    int n_proposed;  /* trials, with the known ones */
    int n_collected; /* in this call */
    int n_failed;
    bool is_over; /* propose no more */
    int n_in_flight;
    batch flight[2];                /* oldest first */
    double estimates[2][MAX_BATCH]; /* log2, of the trials in flight */
} search;

/* ---- samples --------------------------------------------------------------------------------- */

/* Time of a trial in the currency of original_ns: a machine that is slow for a while slows both. */
static double trial_time(const search *s, const ctune_run_result *r) {
    bool is_ok = r->outcome == CTUNE_RUN_OK && (r->best_ns > 0 || r->median_ns > 0);
    if (!is_ok) {
        return INFINITY;
    }
    double t = r->best_ns > 0 ? r->best_ns : r->median_ns;
    if (s->original_ns > 0 && r->original_ns > 0) {
        double drift = s->original_ns / r->original_ns;
        t *= drift < 0.7 ? 0.7 : drift > 1.4 ? 1.4 : drift;
    }
    return log2(t);
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

static ctune_status sample_add(search *s, const ctune_trial *trial, double estimate) {
    engine *e = &s->e;
    if (e->n_samples == e->size_samples) {
        int size = e->size_samples == 0 ? 256 : e->size_samples * 2;
        sample *grown = realloc(e->samples, (size_t)size * sizeof *grown);
        if (grown == NULL) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
        e->samples = grown;
        e->size_samples = size;
    }
    sample *new = &e->samples[e->n_samples];
    new->point = trial->point;
    new->estimate = estimate;
    new->time = trial_time(s, &trial->result);
    new->trial = *trial;
    top_insert(e, e->n_samples++);
    return CTUNE_OK;
}

static ctune_status add_known(search *s) {
    const ctune_engine_options *o = s->e.options;
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < o->n_known && status == CTUNE_OK; i++) {
        proposal p = {.point = o->known[i].point};
        ctune_space_normalise(s->e.space, &p.point);
        status = engine_score(&s->e, &p, 1);
        if (status != CTUNE_OK || point_set_has(&s->e.known, p.hash)) {
            continue;
        }
        if (!point_set_add(&s->e.known, p.hash)) {
            return ctune_fail(s->e.ctx, CTUNE_ENOMEM, "out of memory");
        }
        s->n_proposed++;
        if (isfinite(p.estimate)) { /* else the space has changed since */
            ctune_trial trial = o->known[i];
            trial.point = p.point;
            status = sample_add(s, &trial, p.estimate);
        }
    }
    return status == CTUNE_OK ? engine_learn(&s->e) : status;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* n_each: the best by prediction of so many; 1 = uniform. */
static ctune_status add_random(engine *e, proposal *list, int *n, int wanted, int n_each) {
    enum { MAX_EACH = 16 };
    proposal p[MAX_EACH];
    for (int tries = 0; tries < 200 * wanted && wanted > 0; tries++) {
        int best = -1;
        for (int i = 0; i < n_each && i < MAX_EACH; i++) {
            ctune_space_sample(e->space, &e->rng, &p[i].point);
        }
        ctune_status status = engine_score(e, p, n_each);
        if (status != CTUNE_OK) {
            return status;
        }
        for (int i = 0; i < n_each; i++) {
            bool is_new = isfinite(p[i].score) && !point_set_has(&e->known, p[i].hash);
            best = is_new && (best < 0 || p[i].score < p[best].score) ? i : best;
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

/* The first batch holds what needs no luck: the source's own order and the best seed of each
 * form, unless the estimate finds it hopeless: one slow candidate costs as much time as many
 * good ones. */
static ctune_status add_firsts(engine *e, proposal *list, int *n, int max) {
    enum { MAX_SEEDS = 48 };
    ctune_point seeds[MAX_SEEDS];
    proposal all[MAX_SEEDS + 1];
    int n_seeds = ctune_space_seeds(e->space, seeds, MAX_SEEDS);
    memset(&all[0].point, 0, sizeof all[0].point);
    all[0].point.n = ctune_space_n_decisions(e->space);
    for (int i = 0; i < n_seeds; i++) {
        all[i + 1].point = seeds[i];
        ctune_space_normalise(e->space, &all[i + 1].point);
    }
    ctune_status status = engine_score(e, all, n_seeds + 1);
    static const double hopeless = 2.5;
    double limit = INFINITY;
    for (int i = 0; i <= n_seeds; i++) {
        limit = fmin(limit, all[i].score + hopeless);
    }
    for (int form = -1; form < ctune_space_n_choices(e->space, 0) && status == CTUNE_OK; form++) {
        int best = -1;
        for (int i = form < 0 ? 0 : 1; i <= (form < 0 ? 0 : n_seeds); i++) {
            bool is_form = form < 0 || (all[i].point.n > 0 && all[i].point.decision[0] == form);
            bool is_new = all[i].score <= limit && !point_set_has(&e->known, all[i].hash);
            best = is_form && is_new && (best < 0 || all[i].score < all[best].score) ? i : best;
        }
        if (best >= 0 && *n < max && point_set_add(&e->known, all[best].hash)) {
            list[(*n)++] = all[best];
        }
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

static double elapsed_s(const search *s) {
    return (double)(ctune_now_ns() - s->start_ns) * 1e-9;
}

/* Part of the budget that is used up, 0 to 1. */
static double progress_of(const search *s) {
    const ctune_engine_options *o = s->e.options;
    double by_trials = o->max_trials > 0 ? (double)s->n_proposed / o->max_trials : 0;
    double by_time = o->budget_s > 0 ? elapsed_s(s) / o->budget_s : 0;
    return fmax(by_trials, by_time);
}

static ctune_status propose_annealed(search *s, proposal *list, int *n, int max) {
    static const double LAST_QUARTER = 0.75;
    engine *e = &s->e;
    int got = 0, n_random = share_of(e, max, e->options->epsilon);
    bool is_learning = s->n_batches >= 2 && e->n_top > 0;
    ctune_status status = anneal_round(e);
    if (status == CTUNE_OK && s->n_batches == 0) {
        status = add_firsts(e, list, n, max - n_random);
    }
    if (status == CTUNE_OK && is_learning && progress_of(s) >= LAST_QUARTER) {
        status = descent_pick(e, list + *n, (int)ceil(0.6 * (max - *n)), &got);
        *n += got;
    }
    if (status == CTUNE_OK && is_learning) {
        double share = s->n_batches < 6 ? 0.6 : 0.8;
        int wanted = share_of(e, max - *n, share);
        status = exploit_pick(e, list + *n, wanted, &got);
        *n += got;
    }
    if (status == CTUNE_OK) {
        *n += anneal_pick(e, list + *n, max - *n - n_random > 0 ? max - *n - n_random : 0);
        status = add_random(e, list, n, max - *n, 12);
    }
    return status;
}

/* Small batches learn sooner, large ones compile faster: what counts depends on how long a run
 * takes. */
static int default_batch(const search *s) {
    static const double slow_ns = 2e7;
    double best = s->e.n_top > 0 ? exp2(s->e.samples[s->e.top[0]].time) : s->original_ns;
    return best > slow_ns ? 8 : 16;
}

/* Trials for the next batch; 0 at the end. Shrinks when the time left is short. */
static int batch_size(const search *s) {
    const ctune_engine_options *o = s->e.options;
    int n = o->batch <= 0 ? default_batch(s) : o->batch > MAX_BATCH ? MAX_BATCH : o->batch;
    if (o->max_trials > 0) {
        int left = o->max_trials - s->n_proposed;
        n = left < n ? left : n;
    }
    if (o->budget_s > 0) {
        double left_s = o->budget_s - elapsed_s(s);
        int in_flight = 0;
        for (int i = 0; i < s->n_in_flight; i++) {
            in_flight += s->flight[i].n;
        }
        if (left_s <= 0) {
            return 0;
        }
        if (s->n_collected > 0) {
            double per_trial_s = elapsed_s(s) / s->n_collected;
            double fits = left_s / per_trial_s - in_flight;
            n = fits < n ? (int)fits : n;
        } else { /* nothing known yet: a trial may take as long as the original, more than once */
            static const int n_least = 4;
            double fits = left_s / (2e-9 * s->original_ns + 0.02);
            int first = fits < n_least ? n_least : fits < n ? (int)fits : n;
            n = first < n ? first : n;
        }
    }
    return n < 0 ? 0 : n;
}

/* Proposes and submits one batch; sets is_over when there is nothing more to do. */
static ctune_status propose(search *s) {
    engine *e = &s->e;
    proposal list[MAX_BATCH];
    int n = 0, max = batch_size(s);
    ctune_status status = CTUNE_OK;
    if (max > 0 && e->options->strategy == CTUNE_STRATEGY_RANDOM) {
        status = add_random(e, list, &n, max, 1);
    } else if (max > 0) {
        status = propose_annealed(s, list, &n, max);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    if (n == 0) {
        s->is_over = s->is_over || s->n_in_flight == 0;
        return CTUNE_OK;
    }
    batch *b = &s->flight[s->n_in_flight];
    memset(b, 0, sizeof *b);
    b->n = n;
    for (int i = 0; i < n; i++) {
        b->trial[i].ordinal = s->n_proposed++;
        b->trial[i].point = list[i].point;
        b->trial[i].estimate_ns = exp2(list[i].estimate);
        s->estimates[s->n_in_flight][i] = list[i].estimate;
    }
    s->n_in_flight++;
    s->n_batches++;
    return s->measurer->submit(e->ctx, s->measurer->user, b->trial, n);
}

static double best_ns(const search *s) {
    const engine *e = &s->e;
    double best = e->n_top > 0 ? exp2(e->samples[e->top[0]].time) : 0;
    bool is_original = s->original_ns > 0 && (best == 0 || s->original_ns < best);
    return is_original ? s->original_ns : best;
}

static ctune_status collect(search *s) {
    engine *e = &s->e;
    batch *b = &s->flight[0];
    ctune_status status =
        s->measurer->collect(e->ctx, s->measurer->user, best_ns(s), b->trial, b->n);
    for (int i = 0; i < b->n && status == CTUNE_OK; i++) {
        status = sample_add(s, &b->trial[i], s->estimates[0][i]);
        s->n_failed += b->trial[i].result.outcome != CTUNE_RUN_OK;
        s->n_collected++;
    }
    if (status != CTUNE_OK) {
        return status;
    }
    s->n_in_flight--;
    s->flight[0] = s->flight[1];
    memcpy(s->estimates[0], s->estimates[1], sizeof s->estimates[0]);
    const ctune_engine_options *o = e->options;
    if (o->progress != NULL &&
        !o->progress(o->progress_user, s->n_collected, best_ns(s), s->original_ns)) {
        s->is_over = true;
        s->n_in_flight = 0;
        return CTUNE_OK;
    }
    return engine_learn(e);
}

static ctune_status run(search *s) {
    ctune_status status = add_known(s);
    while (status == CTUNE_OK && !s->is_over) {
        /* after a proposal that came out empty, wait for what is in flight */
        int before = s->n_in_flight;
        if (s->n_in_flight < 2) {
            status = propose(s);
        }
        bool is_full = s->n_in_flight == 2 || (s->n_in_flight > 0 && s->n_in_flight == before);
        if (status == CTUNE_OK && is_full) {
            status = collect(s);
        }
    }
    bool has_results = s->n_collected > 0 || s->e.n_samples > 0;
    return status == CTUNE_EENV && has_results ? CTUNE_OK : status;
}

ctune_status ctune_engine_run(ctune_ctx *ctx, const ctune_space *space,
                              const ctune_machine *machine, const ctune_measurer *measurer,
                              const ctune_engine_options *options, double original_ns,
                              ctune_engine_result *result) {
    memset(result, 0, sizeof *result);
    search *s = calloc(1, sizeof *s);
    if (s == NULL || !residual_init(&s->e.residual, space)) {
        if (s != NULL) {
            residual_clear(&s->e.residual);
        }
        free(s);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    s->e.ctx = ctx;
    s->e.space = space;
    s->e.machine = machine;
    s->e.options = options;
    s->measurer = measurer;
    s->original_ns = original_ns;
    s->start_ns = ctune_now_ns();
    /* a resumed search goes on with other numbers than it began with */
    ctune_rng_init(&s->e.rng, options->seed + 0x9e3779b97f4a7c15u * (uint64_t)options->n_known);
    ctune_status status = run(s);
    result->n_trials = s->n_collected;
    result->n_failed = s->n_failed;
    for (int i = 0; i < s->e.n_top; i++) {
        result->best[result->n_best++] = s->e.samples[s->e.top[i]].trial;
    }
    point_set_clear(&s->e.known);
    residual_clear(&s->e.residual);
    free(s->e.rows);
    free(s->e.samples);
    free(s);
    return status;
}

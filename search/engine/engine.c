/*
 * The tuning loop: when to propose, when to collect, when to stop, what was best. engine.h says
 * what goes in and out.
 *
 * Two batches are in flight, so that one compiles while the other is measured. The loop is cut into
 * steps (one batch collected), so that several searches can take turns; ctune_engine_run makes
 * them all.
 */
#include "search/engine/engine_private.h"

#include "runtime/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct batch {
    int n;
    ctune_trial trial[MAX_BATCH];
    proposal proposal[MAX_BATCH]; /* what was predicted */
} batch;

/* What the rule of patience goes by: see has_no_hope. */
typedef struct hope {
    int n_since_gain; /* trials since the last gain of 1 % */
    double best;      /* log2 at that gain */
    double promise;   /* best prediction in the last proposed batch */
    double optimism;  /* mean of time - prediction, recent batches counting more */
} hope;

struct ctune_engine {
    engine e;
    ctune_measurer measurer;
    double original_ns;
    int64_t active_ns; /* inside our calls, the current one left out */
    int64_t call_ns;   /* start of the current call */
    int64_t model_ns;  /* proposing and learning */
    int n_batches;     /* proposed */
    int n_proposed;    /* trials, with the known ones */
    int n_collected;   /* in this call */
    int n_failed, n_slow;
    ctune_engine_end end;
    hope hope;
    int n_in_flight;
    batch flight[2]; /* oldest first */
};

const char *ctune_engine_end_name(ctune_engine_end end) {
    static const char *const words[] = {
#define X(id, word, help) word,
        CTUNE_ENGINE_END_TABLE(X)
#undef X
    };
    bool is_valid = (int)end >= 0 && (size_t)end < sizeof words / sizeof *words;
    return is_valid ? words[end] : "?";
}

void ctune_engine_options_default(ctune_engine_options *options) {
    *options = (ctune_engine_options){.epsilon = 0.05, .alpha = 0.04};
}

static double elapsed_s(const ctune_engine *s) {
    return (double)(s->active_ns + ctune_now_ns() - s->call_ns) * 1e-9;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Time of a trial in the currency of original_ns: a machine that is slow for a while slows both. */
static double trial_time(const ctune_engine *s, const ctune_run_result *r) {
    bool is_ok = r->outcome == CTUNE_RUN_OK && (r->best_ns > 0 || r->median_ns > 0);
    if (!is_ok) {
        return INFINITY;
    }
    double t = r->best_ns > 0 ? r->best_ns : r->median_ns;
    return log2(ctune_time_steady(t, r->original_ns, s->original_ns));
}

static ctune_status add_known(ctune_engine *s, int n_known, const ctune_trial *known) {
    engine *e = &s->e;
    for (int i = 0; i < n_known; i++) {
        proposal p = {.point = known[i].point};
        ctune_space_normalise(e->space, &p.point);
        engine_draft(e, &p, 1);
        if (point_set_has(&e->known, p.hash)) {
            continue;
        }
        bool ok = point_set_add(&e->known, p.hash);
        s->n_proposed++;
        if (ok && isfinite(p.estimate)) { /* else the space has changed since */
            ctune_trial trial = known[i];
            trial.point = p.point;
            ok = engine_add_sample(e, &trial, p.estimate, trial_time(s, &trial.result));
        }
        if (!ok) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
    }
    return CTUNE_OK;
}

static double best_ns(const ctune_engine *s) {
    const engine *e = &s->e;
    double best = e->n_top > 0 ? exp2(e->samples[e->top[0]].time) : 0;
    bool is_original = s->original_ns > 0 && (best == 0 || s->original_ns < best);
    return is_original ? s->original_ns : best;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Part of the budget that is used up, 0 to 1. */
static double progress_of(const ctune_engine *s) {
    const ctune_engine_options *o = &s->e.options;
    double by_trials = o->max_trials > 0 ? (double)s->n_proposed / o->max_trials : 0;
    double by_time = o->budget_s > 0 ? elapsed_s(s) / o->budget_s : 0;
    return fmax(by_trials, by_time);
}

/* Small batches learn sooner, large ones compile faster: what counts depends on how long a run
 * takes. */
static int default_batch(const ctune_engine *s) {
    static const double slow_ns = 2e7;
    double best = s->e.n_top > 0 ? exp2(s->e.samples[s->e.top[0]].time) : s->original_ns;
    return best > slow_ns ? 8 : 16;
}

/* How many of n the time left allows. */
static int fitting_time(const ctune_engine *s, int n) {
    double left_s = s->e.options.budget_s - elapsed_s(s);
    int in_flight = 0;
    for (int i = 0; i < s->n_in_flight; i++) {
        in_flight += s->flight[i].n;
    }
    if (s->n_collected == 0 && in_flight == 0 && left_s < 4e-9 * s->original_ns) {
        return n < 2 ? n : 2; /* the thinnest search: what would be tried first, against nothing */
    }
    if (left_s <= 0) {
        return 0;
    }
    if (s->n_collected > 0) {
        double per_trial_s = elapsed_s(s) / s->n_collected;
        double fits = left_s / per_trial_s - in_flight;
        return fits < n ? (int)fits : n;
    }
    /* nothing known yet: a trial may take as long as the original, more than once */
    static const int n_least = 4;
    double trial_s = s->e.options.trial_s > 0.02 ? s->e.options.trial_s : 0.02;
    double fits = left_s / (2e-9 * s->original_ns + trial_s);
    int first = fits < n_least ? n_least : fits < n ? (int)fits : n;
    return first < n ? first : n;
}

/* Trials for the next batch; 0 at the end, and then why. Shrinks when the time left is short. */
static int batch_size(const ctune_engine *s, ctune_engine_end *end) {
    const ctune_engine_options *o = &s->e.options;
    int n = o->batch <= 0 ? default_batch(s) : o->batch > MAX_BATCH ? MAX_BATCH : o->batch;
    if (o->max_trials > 0) {
        int left = o->max_trials - s->n_proposed;
        n = left < n ? left : n;
        *end = CTUNE_ENGINE_END_TRIALS;
    }
    if (o->budget_s > 0 && n > 0) {
        n = fitting_time(s, n);
        *end = n > 0 ? *end : CTUNE_ENGINE_END_BUDGET;
    }
    return n < 0 ? 0 : n;
}

/* The model takes what its share allows; effort halves and doubles, so that little depends on the
 * clock. */
static void adapt_effort(ctune_engine *s) {
    double limit = s->e.options.model_share;
    limit = limit == 0 ? 0.2 : limit;
    double share = (double)s->model_ns * 1e-9 / elapsed_s(s);
    if (limit < 0 || s->n_collected == 0) {
        return;
    }
    if (share > limit && s->e.effort > 1.0 / 16) {
        s->e.effort /= 2;
    } else if (share < 0.6 * limit && s->e.effort < 1) {
        s->e.effort *= 2;
    }
}

/* ---- patience -------------------------------------------------------------------------------- */

static void hope_update(ctune_engine *s, const batch *b, const double *times) {
    hope *h = &s->hope;
    double sum = 0, best = s->e.n_top > 0 ? s->e.samples[s->e.top[0]].time : INFINITY;
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        if (isfinite(times[i])) {
            sum += times[i] - b->proposal[i].score;
            n++;
        }
    }
    if (n > 0) {
        h->optimism = s->n_collected == 0 ? sum / n : 0.7 * h->optimism + 0.3 * sum / n;
    }
    h->n_since_gain += b->n;
    if (isfinite(best) && (s->n_collected == 0 || best < h->best - log2(1.01))) {
        h->n_since_gain = 0;
        h->best = best;
    }
}

/* Nothing gained for long, and the best prediction, less what predictions promise too much, is no
 * better than what we have. */
static bool has_no_hope(const ctune_engine *s) {
    const hope *h = &s->hope;
    int patience = s->e.options.patience_trials;
    if (patience < 0) {
        patience = s->n_proposed * 2 / 5 > 128 ? s->n_proposed * 2 / 5 : 128;
    }
    if (patience == 0 || h->n_since_gain < patience || s->e.n_top == 0) {
        return false;
    }
    double expected = s->e.samples[s->e.top[0]].time - (h->promise + h->optimism);
    return expected < log2(1.02) || h->n_since_gain >= 2 * patience;
}

/* ---- batches --------------------------------------------------------------------------------- */

static ctune_status fill(ctune_engine *s, int max, proposal *list, int *n) {
    engine *e = &s->e;
    ctune_status status;
    if (e->options.strategy == CTUNE_STRATEGY_RANDOM) {
        return batch_add_random(e, list, n, max, 1);
    }
    if (e->options.strategy == CTUNE_STRATEGY_GENETIC) {
        return genetic_pick(e, s->n_in_flight > 0, list, max, n);
    }
    const batch_plan plan = {max, s->n_batches, progress_of(s)};
    status = engine_learn(e);
    if (status == CTUNE_OK) {
        status = e->options.strategy == CTUNE_STRATEGY_EVOLVE ? evolve_fill(e, list, n, max)
                                                              : batch_fill(e, &plan, list, n);
    }
    for (int i = 0; i < *n && status == CTUNE_OK; i++) {
        s->hope.promise = i == 0 ? list[i].score : fmin(s->hope.promise, list[i].score);
    }
    return status;
}

/* All of a batch are judged, wherever they come from and however little the model counts: its
 * accuracy is taken on them. Scores stay what the choice was made by. */
static ctune_status judge_rest(engine *e, proposal *list, int n) {
    proposal judged[MAX_BATCH];
    memcpy(judged, list, (size_t)n * sizeof *list);
    ctune_status status = engine_judge(e, judged, n);
    for (int i = 0; i < n; i++) {
        list[i].model = judged[i].model;
        list[i].blend = judged[i].blend;
    }
    return status;
}

/* Proposes and submits one batch; sets end when there is nothing more to do. */
static ctune_status propose(ctune_engine *s) {
    engine *e = &s->e;
    int n = 0;
    ctune_engine_end end = CTUNE_ENGINE_END_SPACE;
    int max = batch_size(s, &end);
    batch *b = &s->flight[s->n_in_flight];
    int64_t start_ns = ctune_now_ns();
    if (max > 0 && has_no_hope(s)) {
        max = 0;
        end = CTUNE_ENGINE_END_NO_GAIN;
    }
    ctune_status status = CTUNE_OK;
    if (max > 0) {
        end = CTUNE_ENGINE_END_SPACE;
        adapt_effort(s);
        status = fill(s, max, b->proposal, &n);
        status = status == CTUNE_OK ? judge_rest(e, b->proposal, n) : status;
    }
    s->model_ns += ctune_now_ns() - start_ns;
    if (status != CTUNE_OK || n == 0) {
        s->end = status == CTUNE_OK && s->n_in_flight == 0 ? end : s->end;
        return status;
    }
    b->n = n;
    memset(b->trial, 0, sizeof b->trial);
    for (int i = 0; i < n; i++) {
        b->trial[i].ordinal = s->n_proposed++;
        b->trial[i].point = b->proposal[i].point;
        b->trial[i].estimate_ns = exp2(b->proposal[i].estimate);
    }
    s->n_in_flight++;
    s->n_batches++;
    return s->measurer.submit(e->ctx, s->measurer.user, b->trial, n);
}

/* What the measurer had no time for says nothing. */
static void drop_skipped(batch *b) {
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        if (b->trial[i].result.outcome != CTUNE_RUN_SKIPPED) {
            b->trial[n] = b->trial[i];
            b->proposal[n++] = b->proposal[i];
        }
    }
    b->n = n;
}

static ctune_status collect(ctune_engine *s) {
    engine *e = &s->e;
    batch *b = &s->flight[0];
    double times[MAX_BATCH];
    ctune_status status = s->measurer.collect(e->ctx, s->measurer.user, best_ns(s), b->trial, b->n);
    if (status != CTUNE_OK) {
        return status;
    }
    drop_skipped(b);
    for (int i = 0; i < b->n && status == CTUNE_OK; i++) {
        times[i] = trial_time(s, &b->trial[i].result);
        if (!engine_add_sample(e, &b->trial[i], b->proposal[i].estimate, times[i])) {
            return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        }
        s->n_failed += b->trial[i].result.outcome != CTUNE_RUN_OK;
        s->n_slow += b->trial[i].result.outcome == CTUNE_RUN_TIMEOUT;
    }
    blend_update(e, b->proposal, times, b->n);
    hope_update(s, b, times);
    s->n_collected += b->n;
    s->n_in_flight--;
    s->flight[0] = s->flight[1];
    const ctune_engine_options *o = &e->options;
    if (o->progress != NULL &&
        !o->progress(o->progress_user, s->n_collected, best_ns(s), s->original_ns)) {
        s->end = CTUNE_ENGINE_END_STOPPED;
        s->n_in_flight = 0;
    }
    return CTUNE_OK;
}

/* Until a batch has been collected, or the end. */
static ctune_status advance(ctune_engine *s) {
    ctune_status status = CTUNE_OK;
    bool is_done = false;
    while (status == CTUNE_OK && !is_done && s->end == CTUNE_ENGINE_END_NOT_YET) {
        /* after a proposal that came out empty, wait for what is in flight */
        int before = s->n_in_flight;
        if (s->n_in_flight < 2) {
            status = propose(s);
        }
        bool is_full = s->n_in_flight == 2 || (s->n_in_flight > 0 && s->n_in_flight == before);
        if (status == CTUNE_OK && is_full) {
            status = collect(s);
            is_done = true;
        }
    }
    return status;
}

/* A measurer that fails ends a search that has results, and is an error of one that has none. */
static ctune_status end_by(ctune_engine *s, ctune_status status) {
    if (status == CTUNE_EENV) {
        s->end = CTUNE_ENGINE_END_MEASURER;
        s->n_in_flight = 0;
        return s->e.n_samples > 0 ? CTUNE_OK : status;
    }
    return status;
}

static void enter(ctune_ctx *ctx, ctune_engine *s) {
    s->e.ctx = ctx;
    s->call_ns = ctune_now_ns();
}

static void leave(ctune_engine *s) {
    s->active_ns += ctune_now_ns() - s->call_ns;
}

/* ---- interface ------------------------------------------------------------------------------- */

ctune_status ctune_engine_create(ctune_ctx *ctx, const ctune_space *space,
                                 const ctune_target *target, const ctune_measurer *measurer,
                                 const ctune_engine_options *options, double original_ns,
                                 ctune_engine **out) {
    ctune_engine *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL || !engine_init(&s->e, ctx, space, target)) {
        ctune_engine_destroy(s);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    enter(ctx, s);
    s->e.options = *options;
    s->e.options.n_known = 0;
    s->e.options.known = NULL;
    s->measurer = *measurer;
    s->original_ns = original_ns;
    /* a resumed search goes on with other numbers than it began with */
    ctune_rng_init(&s->e.rng, options->seed + 0x9e3779b97f4a7c15u * (uint64_t)options->n_known);
    ctune_status status = model_probe(&s->e);
    if (status == CTUNE_OK) {
        status = add_known(s, options->n_known, options->known);
    }
    if (status != CTUNE_OK) {
        ctune_engine_destroy(s);
        return status;
    }
    s->model_ns = ctune_now_ns() - s->call_ns;
    leave(s);
    *out = s;
    return CTUNE_OK;
}

ctune_status ctune_engine_step(ctune_ctx *ctx, ctune_engine *search, double slice_s,
                               bool *is_over) {
    ctune_status status = CTUNE_OK;
    enter(ctx, search);
    do {
        status = end_by(search, advance(search));
    } while (status == CTUNE_OK && search->end == CTUNE_ENGINE_END_NOT_YET &&
             (double)(ctune_now_ns() - search->call_ns) * 1e-9 < slice_s);
    leave(search);
    *is_over = search->end != CTUNE_ENGINE_END_NOT_YET;
    return status;
}

ctune_status ctune_engine_drain(ctune_ctx *ctx, ctune_engine *search) {
    ctune_status status = CTUNE_OK;
    enter(ctx, search);
    while (status == CTUNE_OK && search->n_in_flight > 0) {
        status = end_by(search, collect(search));
    }
    leave(search);
    return status;
}

void ctune_engine_set_limits(ctune_engine *search, int max_trials, double budget_s) {
    search->e.options.max_trials = max_trials;
    search->e.options.budget_s = budget_s;
    if (search->end == CTUNE_ENGINE_END_TRIALS || search->end == CTUNE_ENGINE_END_BUDGET) {
        search->end = CTUNE_ENGINE_END_NOT_YET;
    }
}

void ctune_engine_get(const ctune_engine *search, ctune_engine_result *result) {
    const ctune_engine *s = search;
    *result = (ctune_engine_result){.n_trials = s->n_collected,
                                    .n_failed = s->n_failed,
                                    .n_slow = s->n_slow,
                                    .end = s->end,
                                    .total_s = (double)s->active_ns * 1e-9,
                                    .model_s = (double)s->model_ns * 1e-9,
                                    .model_failed = s->e.lead.is_off,
                                    .n_fits = s->e.lead.n_fits,
                                    .n_scored = s->e.n_scored,
                                    .n_rows = s->e.n_rows,
                                    .estimate_accuracy = accuracy_get(&s->e.lead.by_estimate),
                                    .model_accuracy = accuracy_get(&s->e.lead.by_model),
                                    .score_accuracy = accuracy_get(&s->e.lead.by_score),
                                    .model_weight = s->e.lead.is_trained ? s->e.lead.weight : 0};
    for (int i = 0; i < s->e.n_top; i++) {
        result->best[result->n_best++] = s->e.samples[s->e.top[i]].trial;
    }
}

void ctune_engine_destroy(ctune_engine *search) {
    if (search != NULL) {
        engine_clear(&search->e);
        free(search);
    }
}

ctune_status ctune_engine_run(ctune_ctx *ctx, const ctune_space *space, const ctune_target *target,
                              const ctune_measurer *measurer, const ctune_engine_options *options,
                              double original_ns, ctune_engine_result *result) {
    ctune_engine *search;
    bool is_over = false;
    memset(result, 0, sizeof *result);
    ctune_status status =
        ctune_engine_create(ctx, space, target, measurer, options, original_ns, &search);
    if (status != CTUNE_OK) {
        return status;
    }
    while (status == CTUNE_OK && !is_over) {
        status = ctune_engine_step(ctx, search, 0, &is_over);
    }
    ctune_engine_get(search, result);
    ctune_engine_destroy(search);
    return status;
}

/*
 * One search: a region at one combination of sizes.
 *
 * In: an opened source, a region, a history. Out: ctune_outcome: the schedule to write into the
 * lock, or "" when the original stays. Steps: the original is measured; the engine searches with
 * the measurer; the best candidates, made anew from their schedule text (what `apply` will do),
 * meet the original in an interleaved final; the winner must beat it beyond noise.
 */
#include "plugin/tool/job.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SEARCHED = 4, MAX_FINALISTS = MAX_SEARCHED + 2 };

/* A winner's median must be this much below the original's of the same rounds. */
#define MIN_GAIN 1.02
#define DEFAULT_BUDGET_S 60.0
#define FINAL_S 4.0

static ctune_strategy strategy_of(const char *name) {
#define X(id, word, help)                                                                          \
    if (name != NULL && strcmp(name, word) == 0) {                                                 \
        return CTUNE_STRATEGY_##id;                                                                \
    }
    CTUNE_STRATEGY_TABLE(X)
#undef X
    return CTUNE_STRATEGY_ANNEAL;
}

static ctune_status search(ctune_ctx *ctx, const ctune_options *options, ctune_measure *m,
                           const char *label, double used_s, ctune_engine_result *result) {
    double budget_s = options->budget_s > 0 ? options->budget_s
                      : options->trials > 0 ? 0
                                            : DEFAULT_BUDGET_S;
    budget_s *= m->bench->region->weight > 0 ? m->bench->region->weight : 1;
    if (budget_s > 0) { /* the original's measurement is part of the budget */
        budget_s = budget_s - used_s > 0.1 * budget_s ? budget_s - used_s : 0.1 * budget_s;
    }
    ctune_progress progress = {.is_on = !options->quiet,
                               .label = label,
                               .start_ns = ctune_now_ns(),
                               .budget_s = budget_s,
                               .max_trials = (int)options->trials};
    ctune_engine_options engine = {.strategy = strategy_of(options->strategy),
                                   .seed = (uint64_t)options->seed,
                                   .max_trials = (int)options->trials,
                                   .budget_s = budget_s,
                                   .batch = options->batch > 0 ? (int)options->batch : 16,
                                   .epsilon = 0.05,
                                   .progress = ctune_progress_update,
                                   .progress_user = &progress};
    if (engine.batch > CTUNE_MEASURE_BATCH) {
        engine.batch = CTUNE_MEASURE_BATCH;
    }
    ctune_measurer measurer = {m, ctune_measure_submit, ctune_measure_collect};
    ctune_status status = ctune_engine_run(ctx, m->space, &m->bench->source->machine, &measurer,
                                           &engine, m->bench->original_ns, result);
    ctune_progress_clear(&progress);
    return status;
}

/* ---- final ---------------------------------------------------------------------------------- */
typedef struct finalist {
    char *schedule, *unit; /* owned */
    char name[32];
    double estimate_ns; /* from the search */
} finalist;

typedef struct finals {
    int n;
    finalist entry[MAX_FINALISTS];
} finals;

/* Emitted from the schedule's text, as `apply` will do it. False when it cannot be; a duplicate
 * counts as added. */
static bool add_finalist(ctune_ctx *ctx, const ctune_bench *bench, const char *schedule, double ns,
                         finals *f) {
    for (int i = 0; i < f->n; i++) {
        if (strcmp(f->entry[i].schedule, schedule) == 0) {
            return true;
        }
    }
    finalist *out = &f->entry[f->n];
    ctune_text text;
    ctune_text_init(&text);
    snprintf(out->name, sizeof out->name, "ctune_final_%d", f->n);
    bool ok = ctune_bench_emit(ctx, bench, schedule, out->name, &text) == CTUNE_OK && !text.failed;
    if (ok) {
        out->schedule = strdup(schedule);
        out->unit = strdup(ctune_text_get(&text));
        out->estimate_ns = ns;
        ok = out->schedule != NULL && out->unit != NULL;
        f->n++; /* owned by f from here, whole or not */
    }
    ctune_text_clear(&text);
    return ok;
}

static void warn_lost(ctune_ctx *ctx, const ctune_bench *bench) {
    ctune_diag_send(
        ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                           .file = bench->region->file,
                           .line = bench->region->line,
                           .code = "schedule-lost",
                           .text = ctx->error,
                           .hint = "a measured schedule does not apply again: please report"});
}

static void add_searched(ctune_ctx *ctx, const ctune_bench *bench, const ctune_space *space,
                         const ctune_engine_result *result, finals *f) {
    for (int i = 0; i < result->n_best && i < MAX_SEARCHED; i++) {
        const ctune_trial *trial = &result->best[i];
        if (trial->result.outcome != CTUNE_RUN_OK ||
            trial->result.best_ns > 1.1 * bench->original_ns) {
            continue;
        }
        ctune_schedule schedule;
        ctune_text text;
        ctune_schedule_init(&schedule);
        ctune_text_init(&text);
        if (ctune_space_schedule(ctx, space, &trial->point, &schedule) == CTUNE_OK) {
            ctune_text_append(&text, bench->program->round_products ? "round_products\n" : "");
            ctune_schedule_print(&schedule, &text);
            if (!add_finalist(ctx, bench, ctune_text_get(&text), trial->result.best_ns, f)) {
                warn_lost(ctx, bench);
            }
        }
        ctune_text_clear(&text);
        ctune_schedule_clear(&schedule);
    }
}

static int final_rounds(const ctune_options *options, const ctune_bench *bench, const finals *f) {
    if (options->rounds > 0) {
        return (int)options->rounds;
    }
    double round_ns = bench->original_ns;
    for (int i = 0; i < f->n; i++) {
        round_ns += f->entry[i].estimate_ns;
    }
    double rounds = FINAL_S * 1e9 / (round_ns + 1e6);
    return rounds < 3 ? 3 : rounds > 25 ? 25 : (int)rounds;
}

static ctune_status run_final(ctune_ctx *ctx, const ctune_options *options,
                              const ctune_bench *bench, finals *f, ctune_outcome *out) {
    const char *units[MAX_FINALISTS], *names[MAX_FINALISTS];
    ctune_run_result results[MAX_FINALISTS];
    for (int i = 0; i < f->n; i++) {
        units[i] = f->entry[i].unit;
        names[i] = f->entry[i].name;
    }
    ctune_status status =
        ctune_runner_final(ctx, bench->runner, ctune_text_get(&bench->prelude), units, names, f->n,
                           final_rounds(options, bench, f), results);
    if (status != CTUNE_OK) {
        return status;
    }
    int best = -1;
    for (int i = 0; i < f->n; i++) {
        const ctune_run_result *r = &results[i];
        if (r->outcome != CTUNE_RUN_OK) {
            continue;
        }
        out->original_ns = r->original_ns > 0 ? r->original_ns : out->original_ns;
        if (r->median_ns * MIN_GAIN < r->original_ns &&
            (best < 0 || r->median_ns < results[best].median_ns)) {
            best = i;
        }
    }
    out->tuned_ns = out->original_ns;
    if (best >= 0) {
        out->original_ns = results[best].original_ns;
        out->tuned_ns = results[best].median_ns;
        out->is_original = false;
        free(out->schedule);
        out->schedule = f->entry[best].schedule;
        f->entry[best].schedule = NULL;
    }
    return CTUNE_OK;
}

static ctune_status decide(ctune_ctx *ctx, const ctune_options *options, const ctune_bench *bench,
                           finals *f, ctune_outcome *out) {
    out->schedule = strdup("");
    out->is_original = true;
    out->tuned_ns = out->original_ns;
    if (out->schedule == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return f->n > 0 ? run_final(ctx, options, bench, f, out) : CTUNE_OK;
}

static void clear_finals(finals *f) {
    for (int i = 0; i < f->n; i++) {
        free(f->entry[i].schedule);
        free(f->entry[i].unit);
    }
}

/* ---- one region ----------------------------------------------------------------------------- */
/* With a schedule("...") clause there is nothing to search: it only meets the original. */
static ctune_status run_fixed(ctune_ctx *ctx, const ctune_options *options,
                              const ctune_bench *bench, ctune_outcome *out) {
    finals f = {0};
    out->n_trials = 1;
    ctune_status status = CTUNE_EREFUSED;
    if (add_finalist(ctx, bench, bench->region->schedule, bench->original_ns, &f)) {
        status = decide(ctx, options, bench, &f, out);
    }
    clear_finals(&f);
    return status;
}

static ctune_status run_search(ctune_ctx *ctx, const ctune_options *options, ctune_job *job,
                               const char *incumbent, double used_s, ctune_outcome *out) {
    const ctune_bench *bench = &job->bench;
    ctune_engine_result *result = calloc(1, sizeof *result);
    if (result == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_status status = search(ctx, options, job->measure, bench->region->name, used_s, result);
    out->n_trials = result->n_trials;
    out->n_failed = result->n_failed;
    out->n_known = job->measure->n_known;
    out->is_stopped = ctune_signal_get() != 0;
    if (status == CTUNE_OK && !out->is_stopped) {
        finals f = {0};
        add_searched(ctx, bench, job->space, result, &f);
        if (job->known.best_schedule != NULL) {
            (void)add_finalist(ctx, bench, job->known.best_schedule,
                               job->known.best_ratio * bench->original_ns, &f);
        }
        if (incumbent != NULL && incumbent[0] != '\0') {
            (void)add_finalist(ctx, bench, incumbent, bench->original_ns, &f);
        }
        status = decide(ctx, options, bench, &f, out);
        clear_finals(&f);
    }
    free(result);
    return status;
}

/* What the lock has now: it must not be lost to a shorter search. */
static const char *incumbent_of(const ctune_lock *lock, const ctune_source *source,
                                const ctune_region *region, const char *sizes) {
    const ctune_lock_entry *entry =
        ctune_lock_find(lock, source->base, region->name, source->key, sizes);
    return entry != NULL && entry->workload == ctune_workload_key(region, NULL) ? entry->schedule
                                                                                : NULL;
}

ctune_status ctune_search_run(ctune_ctx *ctx, const ctune_options *options,
                              const ctune_source *source, const ctune_region *region, int which,
                              ctune_history *history, const ctune_lock *lock, ctune_outcome *out) {
    int64_t start_ns = ctune_now_ns();
    memset(out, 0, sizeof *out);
    out->file = source->file;
    out->line = region->line;
    out->region = region->name;
    ctune_job job;
    ctune_status status = ctune_job_open(ctx, options, source, region, which, &job);
    memcpy(out->sizes, job.sized.text, sizeof out->sizes);
    if (status == CTUNE_OK) {
        double terms;
        out->original_ns = out->tuned_ns = job.bench.original_ns;
        out->is_bounded = job.bench.workload.bound_terms > 0;
        out->flops = ctune_flops_count(ctx, job.bench.region, &terms);
    }
    if (status == CTUNE_OK && region->schedule != NULL) {
        status = run_fixed(ctx, options, &job.bench, out);
    } else if (status == CTUNE_OK) {
        status = ctune_job_prepare(ctx, options, history, &job);
        double used_s = (double)(ctune_now_ns() - start_ns) * 1e-9;
        if (status == CTUNE_OK) {
            status = run_search(ctx, options, &job,
                                incumbent_of(lock, source, region, job.sized.text), used_s, out);
        }
    }
    out->is_stopped = out->is_stopped || ctune_signal_get() != 0;
    ctune_job_close(&job);
    out->seconds = (double)(ctune_now_ns() - start_ns) * 1e-9;
    return status;
}

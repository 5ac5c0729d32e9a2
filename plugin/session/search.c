/*
 * One search: see search.h.
 *
 * open: the original is measured, the space made, the model set up, the engine created with what
 * the history knows. step: the engine measures batches. finish: the best candidates meet the
 * original.
 */
#include "plugin/session/search.h"

#include "costmodel/kind/kind.h"
#include "plugin/predict/predict.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SEARCHED = CTUNE_MAX_FINALISTS - 2 };

struct ctune_search {
    const ctune_session *session;
    const ctune_source *source;
    const ctune_region *region; /* with all its sizes */
    ctune_job job;
    ctune_model model; /* owned when it has a destroy */
    ctune_nest_features features;
    ctune_engine *engine; /* NULL: a fixed schedule, nothing to search */
    ctune_engine_result result;
    ctune_progress progress;
    double seconds; /* in open and steps */
    double flops;
};

/* ---- engine ---------------------------------------------------------------------------------- */
static ctune_strategy strategy_of(const char *name) {
#define X(id, word, help)                                                                          \
    if (name != NULL && strcmp(name, word) == 0) {                                                 \
        return CTUNE_STRATEGY_##id;                                                                \
    }
    CTUNE_STRATEGY_TABLE(X)
#undef X
    return CTUNE_STRATEGY_GBT;
}

/* The original's measurement is part of the budget. */
static double budget_of(const ctune_search *s) {
    const ctune_session *o = s->session;
    double budget_s = o->budget_s > 0 ? o->budget_s : o->trials > 0 ? 0 : CTUNE_DEFAULT_BUDGET_S;
    if (!s->session->is_timed || budget_s == 0) {
        return 0;
    }
    return budget_s - s->seconds > 0.1 * budget_s ? budget_s - s->seconds : 0.1 * budget_s;
}

bool ctune_list_has(const char *list, const char *word, size_t n) {
    for (const char *p = list; p != NULL && *p != '\0';) {
        size_t length = strcspn(p, ",");
        if (length == n && memcmp(p, word, n) == 0) {
            return true;
        }
        p += length + (p[length] == ',');
    }
    return false;
}

static bool is_ablated(const ctune_session *o, const char *part) {
    return ctune_list_has(o->ablate, part, strlen(part));
}

/* Forests see the same rows as what is learned here; other models see theirs. */
static ctune_status make_model(ctune_ctx *ctx, ctune_search *s) {
    const ctune_model *global = s->session->global;
    const ctune_forest *forest = global != NULL ? ctune_kind_forest(global) : NULL;
    bool is_other = global != NULL && forest == NULL;
    unsigned groups = forest != NULL ? forest->feature_groups : CTUNE_FEATURE_ALL;
    ctune_model_input input = {0};
    ctune_gbt_options options;
    ctune_gbt_options_default(&options);
    options.seed = (uint64_t)s->session->seed;
    ctune_cost_model_set_target(global, s->source);
    input = is_other ? global->input : input;
    ctune_nest_features_init(&s->features, s->source, s->job.space, &input, groups);
    return is_other ? ctune_gbt_model_create_over(ctx, global, ctune_feature_count(groups),
                                                  &options, &s->model)
                    : ctune_gbt_model_create(ctx, forest, ctune_feature_count(groups), &options,
                                             &s->model);
}

static ctune_status make_engine(ctune_ctx *ctx, ctune_search *s) {
    const ctune_session *o = s->session;
    const ctune_bench *bench = &s->job.bench;
    ctune_engine_options options;
    ctune_engine_options_default(&options);
    options.strategy = strategy_of(o->strategy);
    options.seed = (uint64_t)o->seed;
    options.max_trials = (int)o->trials;
    options.budget_s = budget_of(s);
    options.batch = o->batch > 0 ? (int)o->batch : 0;
    options.patience_trials = o->trials > 0 ? 0 : -1;
    options.alpha = is_ablated(o, "diversity") ? 0 : options.alpha;
    options.no_draft = is_ablated(o, "draft");
    options.no_ensemble = is_ablated(o, "ensemble");
    options.no_descent = is_ablated(o, "descent");
    if (options.batch > CTUNE_MEASURE_BATCH) {
        options.batch = CTUNE_MEASURE_BATCH;
    }
    s->progress = (ctune_progress){.is_on = !o->is_quiet,
                                   .label = bench->region->name,
                                   .start_ns = ctune_now_ns(),
                                   .budget_s = options.budget_s,
                                   .max_trials = options.max_trials};
    options.progress = o->show;
    options.progress_user = &s->progress;
    ctune_status status = CTUNE_OK;
    if (options.strategy == CTUNE_STRATEGY_GBT) {
        status = make_model(ctx, s);
        options.model = &s->model;
        options.features = ctune_nest_features_get;
        options.features_user = &s->features;
    }
    ctune_measurer measurer = {s->job.measure, ctune_measure_submit, ctune_measure_collect};
    return status == CTUNE_OK
               ? ctune_engine_create(ctx, s->job.space, &s->source->target, &measurer, &options,
                                     bench->original_ns, &s->engine)
               : status;
}

ctune_status ctune_search_open(ctune_ctx *ctx, const ctune_session *session,
                               const ctune_source *source, const ctune_region *region, int which,
                               ctune_history *history, ctune_search **out) {
    int64_t start_ns = ctune_now_ns();
    *out = NULL;
    ctune_search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    s->session = session;
    s->source = source;
    s->region = region;
    double terms;
    ctune_status status = ctune_job_open(ctx, session, source, region, which, &s->job);
    if (status == CTUNE_OK) {
        s->flops = ctune_flops_count(ctx, s->job.bench.region, &terms);
    }
    if (status == CTUNE_OK && region->schedule == NULL) {
        status = ctune_job_prepare(ctx, history, &s->job);
        s->seconds = (double)(ctune_now_ns() - start_ns) * 1e-9;
        if (status == CTUNE_OK) {
            status = make_engine(ctx, s);
        }
    }
    s->seconds = (double)(ctune_now_ns() - start_ns) * 1e-9;
    if (status != CTUNE_OK) {
        ctune_search_close(s);
        return status;
    }
    *out = s;
    return CTUNE_OK;
}

ctune_status ctune_search_step(ctune_ctx *ctx, ctune_search *search, double slice_s,
                               bool *is_over) {
    *is_over = true;
    if (search->engine == NULL || search->session->stopped() != 0) {
        return CTUNE_OK;
    }
    int64_t start_ns = ctune_now_ns();
    ctune_status status = ctune_engine_step(ctx, search->engine, slice_s, is_over);
    ctune_engine_get(search->engine, &search->result);
    search->seconds += (double)(ctune_now_ns() - start_ns) * 1e-9;
    search->session->end_show(&search->progress);
    *is_over = *is_over || search->session->stopped() != 0;
    return status;
}

double ctune_search_original_ns(const ctune_search *search) {
    return search->job.bench.original_ns;
}

double ctune_search_best_ns(const ctune_search *search) {
    double original_ns = search->job.bench.original_ns;
    const ctune_engine_result *r = &search->result;
    return r->n_best > 0 && r->best[0].result.best_ns < original_ns ? r->best[0].result.best_ns
                                                                    : original_ns;
}

double ctune_search_flops(const ctune_search *search) {
    return search->flops;
}

uint64_t ctune_search_workload(const ctune_search *search) {
    return ctune_workload_key(search->region, NULL);
}

void ctune_search_rest(ctune_search *search) {
    ctune_runner_rest(search->job.bench.runner);
}

void ctune_search_close(ctune_search *search) {
    if (search == NULL) {
        return;
    }
    if (search->engine != NULL) {
        ctune_engine_destroy(search->engine);
    }
    if (search->model.destroy != NULL) {
        search->model.destroy(search->model.self);
    }
    ctune_job_close(&search->job);
    free(search);
}

/* ---- finish ---------------------------------------------------------------------------------- */
static void warn_lost(ctune_ctx *ctx, const ctune_bench *bench) {
    ctune_diag_send(
        ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                           .file = bench->region->file,
                           .line = bench->region->line,
                           .code = "schedule-lost",
                           .text = ctx->error,
                           .hint = "a measured schedule does not apply again: please report"});
}

static void add_searched(ctune_ctx *ctx, const ctune_search *s, ctune_finalists *final) {
    const ctune_bench *bench = &s->job.bench;
    for (int i = 0; i < s->result.n_best && i < MAX_SEARCHED; i++) {
        const ctune_trial *trial = &s->result.best[i];
        if (trial->result.outcome != CTUNE_RUN_OK ||
            trial->result.best_ns > 1.1 * bench->original_ns) {
            continue;
        }
        ctune_text text;
        ctune_text_init(&text);
        if (ctune_space_schedule_print(ctx, s->job.space, &trial->point, &text) == CTUNE_OK &&
            !ctune_finalists_add(ctx, bench, ctune_text_get(&text), trial->result.best_ns, final)) {
            warn_lost(ctx, bench);
        }
        ctune_text_clear(&text);
    }
}

/* What the lock has now: it must not be lost to a shorter search. */
static const char *incumbent_of(const ctune_lock *lock, const ctune_search *s) {
    const ctune_lock_entry *entry =
        ctune_lock_find(lock, s->source->base, s->region->name, s->source->key, s->job.sized.text);
    bool is_usable = entry != NULL && entry->workload == ctune_workload_key(s->region, NULL) &&
                     entry->schedule[0] != '\0';
    return is_usable ? entry->schedule : NULL;
}

static ctune_status finalists(ctune_ctx *ctx, ctune_search *s, const ctune_lock *lock,
                              ctune_finalists *final) {
    const ctune_bench *bench = &s->job.bench;
    const ctune_known *known = &s->job.known;
    const char *incumbent = incumbent_of(lock, s);
    if (s->region->schedule != NULL) { /* a schedule("...") clause only meets the original */
        return ctune_finalists_add(ctx, bench, s->region->schedule, bench->original_ns, final)
                   ? CTUNE_OK
                   : CTUNE_EREFUSED;
    }
    add_searched(ctx, s, final);
    if (known->best_schedule != NULL) {
        (void)ctune_finalists_add(ctx, bench, known->best_schedule,
                                  known->best_ratio * bench->original_ns, final);
    }
    if (incumbent != NULL) {
        final->incumbent = incumbent;
        (void)ctune_finalists_add(ctx, bench, incumbent, bench->original_ns, final);
    }
    return CTUNE_OK;
}

static void set_outcome(const ctune_search *s, ctune_outcome *out) {
    const ctune_engine_result *r = &s->result;
    const ctune_bench *bench = &s->job.bench;
    *out = (ctune_outcome){.file = s->source->file,
                           .line = s->region->line,
                           .region = s->region->name,
                           .original_ns = bench->original_ns,
                           .tuned_ns = bench->original_ns,
                           .flops = s->flops,
                           .n_trials = s->engine != NULL ? r->n_trials : 1,
                           .n_failed = r->n_failed,
                           .n_known = s->job.measure != NULL ? s->job.measure->n_known : 0,
                           .is_stopped = s->session->stopped() != 0,
                           .model_share = r->total_s > 0 ? r->model_s / r->total_s : 0,
                           .model_accuracy = r->model_accuracy,
                           .estimate_accuracy = r->estimate_accuracy,
                           .end = ctune_engine_end_name(r->end)};
    memcpy(out->sizes, s->job.sized.text, sizeof out->sizes);
    if (s->job.measure != NULL) {
        out->n_new = s->job.measure->n_new;
        out->n_bad = s->job.measure->n_bad;
        memcpy(out->failure, s->job.measure->failure, sizeof out->failure);
    }
}

ctune_status ctune_search_finish(ctune_ctx *ctx, ctune_search *search, const ctune_lock *lock,
                                 ctune_outcome *out) {
    int64_t start_ns = ctune_now_ns();
    ctune_finalists final = {0};
    ctune_status status = CTUNE_OK;
    if (search->engine != NULL && search->session->stopped() == 0) {
        status = ctune_engine_drain(ctx, search->engine);
        ctune_engine_get(search->engine, &search->result);
    }
    set_outcome(search, out);
    if (status == CTUNE_OK && !out->is_stopped) {
        status = finalists(ctx, search, lock, &final);
    }
    if (status == CTUNE_OK && !out->is_stopped) {
        status = ctune_finalists_run(ctx, &search->job.bench, &final, out);
        out->is_stopped = search->session->stopped() != 0;
    }
    ctune_finalists_clear(&final);
    search->seconds += (double)(ctune_now_ns() - start_ns) * 1e-9;
    out->seconds = search->seconds;
    return status;
}

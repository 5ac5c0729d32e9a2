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
    double seconds; /* in open, steps and finishes */
    double flops;
    double budget_s;  /* 0: no limit */
    int64_t limit_ns; /* when all should be over, on the clock of ctune_now_ns; 0: no limit */
    double part_s[CTUNE_N_PARTS];
    double aside_s;  /* compilers in finals so far */
    double early_ns; /* time of the candidate that had an early final; 0: none yet */
};

const char *ctune_part_word(ctune_part part) {
    static const char *const words[] = {
#define X(id, word, help) word,
        CTUNE_PART_TABLE(X)
#undef X
    };
    return words[part];
}

/* ---- engine ---------------------------------------------------------------------------------- */
ctune_strategy ctune_strategy_of(const char *name) {
#define X(id, word, help)                                                                          \
    if (name != NULL && strcmp(name, word) == 0) {                                                 \
        return CTUNE_STRATEGY_##id;                                                                \
    }
    CTUNE_STRATEGY_TABLE(X)
#undef X
    return CTUNE_STRATEGY_GBT;
}

/* ---- time ------------------------------------------------------------------------------------ */
static double budget_of(const ctune_session *o) {
    return o->budget_s > 0 ? o->budget_s : o->trials > 0 ? 0 : CTUNE_DEFAULT_BUDGET_S;
}

/* One run of original and winner at the sizes asked for, where others are measured, if the budget
 * allows. */
static double whole_time(const ctune_search *s) {
    static const double MOST_SHARE = 0.45;
    double whole_s = 1.5 * s->job.scale.original_s;
    return s->job.scale.is_scaled && whole_s < MOST_SHARE * s->budget_s ? whole_s : 0;
}

/* Compiling finalists and the user's file four times, and a part of the budget for running them. */
double ctune_search_reserve(const ctune_search *search) {
    static const double MOST_S = 10, MOST_SHARE = 0.4;
    double budget_s = search->budget_s > 0 ? search->budget_s : CTUNE_DEFAULT_BUDGET_S;
    double wanted_s = 0.3 + 6 * search->job.bench.compile_s + 0.12 * budget_s;
    wanted_s = wanted_s < MOST_S ? wanted_s : MOST_S;
    wanted_s = wanted_s < MOST_SHARE * budget_s ? wanted_s : MOST_SHARE * budget_s;
    return wanted_s + whole_time(search);
}

void ctune_search_set_limit(ctune_search *search, double left_s) {
    ctune_bench *bench = &search->job.bench;
    int64_t now_ns = ctune_now_ns();
    double steps_s = left_s - ctune_search_reserve(search);
    steps_s = steps_s > 0 ? steps_s : 0;
    search->limit_ns = left_s < 0 ? 0 : now_ns + (int64_t)(1e9 * left_s);
    bench->deadline_ns = left_s < 0 ? 0 : now_ns + (int64_t)(1e9 * steps_s);
    if (search->engine != NULL) {
        ctune_engine_result now;
        ctune_engine_get(search->engine, &now);
        ctune_engine_set_limits(search->engine, (int)search->session->trials,
                                left_s < 0 ? 0 : now.total_s + steps_s + 1e-9);
    }
}

static double left_of(const ctune_search *s) {
    double left_s = (double)(s->limit_ns - ctune_now_ns()) * 1e-9;
    return s->limit_ns == 0 ? -1 : left_s > 0 ? left_s : 0;
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
    options.strategy = ctune_strategy_of(o->strategy);
    options.seed = (uint64_t)o->seed;
    options.max_trials = (int)o->trials;
    options.batch = o->batch > 0 ? (int)o->batch : 0;
    options.trial_s = 2 * bench->compile_s; /* unrolled code is more of it */
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
                                   .budget_s = s->session->is_timed ? s->budget_s : 0,
                                   .max_trials = options.max_trials};
    options.progress = o->show;
    options.progress_user = &s->progress;
    ctune_status status = CTUNE_OK;
    if (ctune_strategy_learns(options.strategy)) {
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
    s->budget_s = budget_of(session);
    double terms;
    ctune_status status = ctune_job_open(ctx, session, source, region, which, s->budget_s, &s->job);
    if (status == CTUNE_OK) {
        s->flops = s->job.scale.factor * ctune_flops_count(ctx, s->job.bench.region, &terms);
    }
    s->part_s[CTUNE_PART_ORIGINAL] = (double)(ctune_now_ns() - start_ns) * 1e-9;
    if (status == CTUNE_OK && region->schedule == NULL) {
        status = ctune_job_prepare(ctx, history, &s->job);
        s->part_s[CTUNE_PART_SPACE] =
            (double)(ctune_now_ns() - start_ns) * 1e-9 - s->part_s[CTUNE_PART_ORIGINAL];
        if (status == CTUNE_OK) {
            status = make_engine(ctx, s);
        }
    }
    s->seconds = (double)(ctune_now_ns() - start_ns) * 1e-9;
    if (status == CTUNE_OK && session->is_timed && s->budget_s > 0) {
        ctune_search_set_limit(s, s->budget_s > s->seconds ? s->budget_s - s->seconds : 0);
    }
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
    bool is_slice = !search->session->is_timed && search->result.end == CTUNE_ENGINE_END_BUDGET;
    *is_over = (*is_over && !is_slice) || search->session->stopped() != 0;
    return status;
}

bool ctune_search_has_gain(const ctune_search *search) {
    double best_ns = ctune_search_best_ns(search);
    double known_ns =
        search->early_ns > 0 ? search->early_ns : ctune_search_original_ns(search) / 1.05;
    return search->early_ns == 0 && best_ns < known_ns;
}

double ctune_search_original_ns(const ctune_search *search) {
    return search->job.scale.factor * search->job.bench.original_ns;
}

double ctune_search_best_ns(const ctune_search *search) {
    double original_ns = search->job.bench.original_ns, factor = search->job.scale.factor;
    const ctune_engine_result *r = &search->result;
    bool has_gain = r->n_best > 0 && r->best[0].result.best_ns < original_ns;
    return factor * (has_gain ? r->best[0].result.best_ns : original_ns);
}

int ctune_search_trials(const ctune_search *search) {
    return search->result.n_trials;
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

/* As many as there is time for: each is compiled, and run twice or more. */
static int count_searched(const ctune_search *s) {
    double left_s = left_of(s), sum_s = 0;
    int n = 0;
    for (; n < s->result.n_best && n < MAX_SEARCHED && left_s >= 0; n++) {
        sum_s += s->job.bench.compile_s + 3e-9 * s->result.best[n].result.best_ns;
        if (n > 0 && sum_s > 0.4 * left_s) {
            break;
        }
    }
    return left_s < 0 ? MAX_SEARCHED : n;
}

static void add_searched(ctune_ctx *ctx, const ctune_search *s, int n, ctune_finalists *final) {
    const ctune_bench *bench = &s->job.bench;
    /* noise may hide a gain of short runs; long ones cost too much to ask again */
    double worst = bench->original_ns > 0.2e9 ? 1.0 : 1.1;
    for (int i = 0; i < s->result.n_best && i < n; i++) {
        const ctune_trial *trial = &s->result.best[i];
        if (trial->result.outcome != CTUNE_RUN_OK ||
            trial->result.best_ns > worst * bench->original_ns) {
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
        ctune_lock_find(lock, s->source->base, s->region->name, s->source->key, s->job.scale.text);
    bool is_usable = entry != NULL && entry->workload == ctune_workload_key(s->region, NULL) &&
                     entry->schedule[0] != '\0';
    return is_usable ? entry->schedule : NULL;
}

static ctune_status finalists(ctune_ctx *ctx, ctune_search *s, const ctune_lock *lock,
                              bool is_early, ctune_finalists *final) {
    const ctune_bench *bench = &s->job.bench;
    const ctune_known *known = &s->job.known;
    const char *incumbent = incumbent_of(lock, s);
    if (s->region->schedule != NULL) { /* a schedule("...") clause only meets the original */
        return ctune_finalists_add(ctx, bench, s->region->schedule, bench->original_ns, final)
                   ? CTUNE_OK
                   : CTUNE_EREFUSED;
    }
    add_searched(ctx, s, is_early ? 1 : count_searched(s), final);
    if (known->best_schedule != NULL && !is_early) {
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
                           .n_slow = r->n_slow,
                           .n_known = s->job.measure != NULL ? s->job.measure->n_known : 0,
                           .is_stopped = s->session->stopped() != 0,
                           .model_share = r->total_s > 0 ? r->model_s / r->total_s : 0,
                           .model_accuracy = r->model_accuracy,
                           .estimate_accuracy = r->estimate_accuracy,
                           .budget_s = s->budget_s,
                           .end = ctune_engine_end_name(r->end)};
    memcpy(out->sizes, s->job.scale.text, sizeof out->sizes);
    if (s->job.scale.is_scaled) {
        memcpy(out->measured, s->job.sized.text, sizeof out->measured);
        out->scaled_by = s->job.scale.why;
    }
    if (s->job.measure != NULL) {
        out->n_new = s->job.measure->n_new;
        out->n_bad = s->job.measure->n_bad;
        memcpy(out->failure, s->job.measure->failure, sizeof out->failure);
    }
}

/* What is measured elsewhere; the rest of the steps went into waiting that is part of it. */
static void set_parts(ctune_search *s) {
    double compile_s, run_s;
    ctune_runner_times(s->job.bench.runner, &compile_s, &run_s);
    s->part_s[CTUNE_PART_MODEL] = s->result.model_s;
    s->part_s[CTUNE_PART_CODE] =
        s->job.measure != NULL ? (double)s->job.measure->code_ns * 1e-9 : 0;
    s->part_s[CTUNE_PART_COMPILE] = compile_s - s->job.bench.compile_s - s->aside_s;
    s->part_s[CTUNE_PART_RUN] = run_s;
}

static ctune_status meet_original(ctune_ctx *ctx, ctune_search *s, const ctune_lock *lock,
                                  bool is_early, ctune_outcome *out) {
    double left_s = left_of(s), whole_s = is_early ? 0 : whole_time(s);
    ctune_finalists final = {.left_s = left_s < whole_s && left_s >= 0 ? 0 : left_s - whole_s,
                             .is_early = is_early};
    final.left_s = left_s < 0 ? -1 : final.left_s;
    final.whole_ns = whole_s > 0 ? s->limit_ns : 0;
    double used_s[CTUNE_N_PARTS] = {0}, before_s, after_s, run_s;
    ctune_runner_times(s->job.bench.runner, &before_s, &run_s);
    ctune_status status = finalists(ctx, s, lock, is_early, &final);
    if (status == CTUNE_OK) {
        status = ctune_finalists_run(ctx, &s->job.bench, &final, used_s, out);
        out->is_stopped = s->session->stopped() != 0;
    }
    ctune_runner_times(s->job.bench.runner, &after_s, &run_s);
    s->aside_s += after_s - before_s;
    s->part_s[CTUNE_PART_FINAL] += used_s[CTUNE_PART_FINAL];
    s->part_s[CTUNE_PART_VERIFY] += used_s[CTUNE_PART_VERIFY];
    ctune_finalists_clear(&final);
    return status;
}

ctune_status ctune_search_finish(ctune_ctx *ctx, ctune_search *search, const ctune_lock *lock,
                                 bool is_early, ctune_outcome *out) {
    int64_t start_ns = ctune_now_ns();
    ctune_status status = CTUNE_OK;
    if (search->engine != NULL && search->session->stopped() == 0) {
        status = ctune_engine_drain(ctx, search->engine);
        ctune_engine_get(search->engine, &search->result);
    }
    set_parts(search); /* the runner's times before the final */
    set_outcome(search, out);
    if (status == CTUNE_OK && !out->is_stopped) {
        status = meet_original(ctx, search, lock, is_early, out);
    }
    if (!out->is_whole) {
        out->original_ns *= search->job.scale.factor;
        out->tuned_ns *= search->job.scale.factor;
        out->incumbent_ns *= search->job.scale.factor;
    }
    search->early_ns = ctune_search_best_ns(search);
    search->seconds += (double)(ctune_now_ns() - start_ns) * 1e-9;
    memcpy(out->part_s, search->part_s, sizeof out->part_s);
    out->seconds = search->seconds;
    return status;
}

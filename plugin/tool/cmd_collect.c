/*
 * ctune collect: measure a sample of the schedules of each region, for a data set to train on.
 *
 * What a search measures is too good: a model trained on it never sees what is slow. So a quarter
 * is uniform, and the rest is a search whose batches are half the best of random handfuls.
 * Everything goes to the history; nothing is decided, the lock stays as it is. `--sizes` sets
 * parameters, so that one file gives several tasks.
 */
#include "plugin/session/job.h"
#include "plugin/tool/tool.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SAMPLES = 256 };

static ctune_status sample(ctune_ctx *ctx, const ctune_options *options, ctune_job *job,
                           ctune_engine_result *result) {
    int64_t n = options->samples > 0 ? options->samples : DEFAULT_SAMPLES;
    ctune_progress progress = {.is_on = !options->quiet,
                               .label = job->bench.region->name,
                               .start_ns = ctune_now_ns(),
                               .max_trials = (int)n};
    ctune_engine_options engine = {.strategy = CTUNE_STRATEGY_RANDOM,
                                   .seed = (uint64_t)options->seed,
                                   .max_trials = (int)(n / 4),
                                   .budget_s = options->budget_s / 4,
                                   .batch = 32,
                                   .epsilon = 1,
                                   .progress = ctune_progress_update,
                                   .progress_user = &progress};
    ctune_measurer measurer = {job->measure, ctune_measure_submit, ctune_measure_collect};
    ctune_status status = ctune_engine_run(ctx, job->space, &job->bench.source->target, &measurer,
                                           &engine, job->bench.original_ns, result);
    int n_random = result->n_trials;
    if (status == CTUNE_OK && ctune_signal_get() == 0) {
        engine.strategy = CTUNE_STRATEGY_ANNEAL;
        engine.epsilon = 0.4;
        engine.max_trials = (int)(n - n / 4);
        engine.budget_s = 0.75 * options->budget_s;
        status = ctune_engine_run(ctx, job->space, &job->bench.source->target, &measurer, &engine,
                                  job->bench.original_ns, result);
        result->n_trials += n_random;
    }
    ctune_progress_clear(&progress);
    return status;
}

static ctune_status collect_region(ctune_ctx *ctx, const ctune_options *options,
                                   const ctune_source *source, const ctune_region *region,
                                   int which, ctune_history *history) {
    const ctune_session session = ctune_session_make(options);
    ctune_job job;
    ctune_engine_result *result = calloc(1, sizeof *result);
    ctune_status status = result != NULL
                              ? ctune_job_open(ctx, &session, source, region, which, 0, &job)
                              : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (result == NULL) {
        return status;
    }
    int64_t start_ns = ctune_now_ns();
    if (status == CTUNE_OK) {
        status = ctune_job_prepare(ctx, history, &job);
    }
    if (status == CTUNE_OK) {
        status = sample(ctx, options, &job, result);
    }
    if (status == CTUNE_OK) {
        double best_ns = result->n_best > 0 ? result->best[0].result.best_ns : 0;
        char original[32], best[32];
        ctune_time_print(job.bench.original_ns, original, sizeof original);
        ctune_time_print(best_ns, best, sizeof best);
        printf("%s:%d: %s [%s]: %d measured, %d from the history, original %s, best %s, %.1f s\n",
               source->file, region->line, region->name, job.sized.text,
               result->n_trials - job.measure->n_known, job.measure->n_known, original, best,
               (double)(ctune_now_ns() - start_ns) * 1e-9);
        fflush(stdout);
    }
    ctune_job_close(&job);
    free(result);
    return status;
}

static int collect_regions(ctune_ctx *ctx, const ctune_options *options, const ctune_source *source,
                           ctune_history *history) {
    int code = CTUNE_EXIT_OK;
    for (int i = 0; i < source->unit->n_regions && ctune_signal_get() == 0; i++) {
        ctune_region *region = source->unit->regions[i].region;
        if (region == NULL || !ctune_region_is_wanted(options, region)) {
            continue;
        }
        ctune_status status = ctune_region_set_sizes(ctx, options->sizes, region);
        int n_sizes = status == CTUNE_OK ? ctune_sized_count(region) : 0;
        for (int which = 0; which < n_sizes && ctune_signal_get() == 0; which++) {
            status = collect_region(ctx, options, source, region, which, history);
            code = ctune_exit_worse(code, ctune_report(ctx, status));
            status = CTUNE_OK;
        }
        code = ctune_exit_worse(code, ctune_report(ctx, status));
    }
    return code;
}

int ctune_cmd_collect(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words == 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no file given; try `ctune collect --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    int code = CTUNE_EXIT_OK;
    for (int i = 0; i < options->n_words && ctune_signal_get() == 0; i++) {
        ctune_source source;
        ctune_history *history = NULL;
        ctune_status status = ctune_source_open(ctx, options, options->words[i], &source);
        if (status == CTUNE_OK) {
            status = ctune_history_open(ctx, source.history_path, &history);
        }
        if (status == CTUNE_OK) {
            status = ctune_history_facts_set(ctx, history, source.key, &source.target);
        }
        code = ctune_exit_worse(code, status == CTUNE_OK
                                          ? collect_regions(ctx, options, &source, history)
                                          : ctune_report(ctx, status));
        if (history != NULL) {
            ctune_history_close(history);
        }
        ctune_source_close(&source);
    }
    return code;
}

/*
 * Bench: everything that measuring candidates of one sized region needs, its original measured.
 *
 * The original's own time decides the time limit of candidates: a first limit of 10 s (or
 * the session's), and when the original itself is slower than that, one more try with a limit of
 * 100 s.
 */
#include "plugin/session/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_LIMIT_S 100.0

static ctune_status measure_original(ctune_ctx *ctx, ctune_bench *b, const char *runner_path,
                                     const char *unit, ctune_run_result *result) {
    char folder[PATH_MAX]; /* several benches may be open at once */
    int n =
        snprintf(folder, sizeof folder, "%s/%.64s-XXXXXX", b->session->folder(), b->region->name);
    if (n < 0 || (size_t)n >= sizeof folder || mkdtemp(folder) == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot make a working folder '%s': %s", folder,
                          strerror(errno));
    }
    ctune_status status = ctune_runner_create(ctx, runner_path, folder, &b->source->compiler,
                                              &b->workload, &b->runner);
    return status == CTUNE_OK ? ctune_runner_baseline(ctx, b->runner, ctune_text_get(&b->prelude),
                                                      unit, "ctune_original", result)
                              : status;
}

static ctune_status start(ctune_ctx *ctx, ctune_bench *b, const char *unit) {
    char runner_path[PATH_MAX];
    ctune_status status = b->session->find_runner(ctx, runner_path, sizeof runner_path);
    if (status == CTUNE_OK) {
        status = b->session->make_folder(ctx);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_run_result result = {0};
    double run_s;
    status = measure_original(ctx, b, runner_path, unit, &result);
    if (status == CTUNE_OK && result.outcome == CTUNE_RUN_TIMEOUT &&
        b->session->time_limit_s == 0) {
        ctune_runner_destroy(b->runner);
        b->runner = NULL;
        b->workload.time_limit_s = RETRY_LIMIT_S;
        status = measure_original(ctx, b, runner_path, unit, &result);
    }
    if (status == CTUNE_OK && (result.outcome != CTUNE_RUN_OK || !(result.median_ns > 0))) {
        status = ctune_fail(ctx, CTUNE_EREFUSED,
                            "region %s: the original loop cannot be measured: %s%s%s",
                            b->region->name, ctune_run_outcome_name(result.outcome),
                            result.detail[0] != '\0' ? ": " : "", result.detail);
    }
    b->original_ns = result.median_ns;
    if (b->runner != NULL) {
        ctune_runner_times(b->runner, &b->compile_s, &run_s);
    }
    return status;
}

ctune_status ctune_bench_create(ctune_ctx *ctx, const ctune_session *session,
                                const ctune_source *source, const ctune_sized *sized,
                                ctune_bench *out) {
    memset(out, 0, sizeof *out);
    out->session = session;
    out->source = source;
    out->region = &sized->region;
    ctune_text_init(&out->prelude);
    out->emit = source->emit;
    ctune_emit_prelude(&out->emit, &out->prelude);
    ctune_text unit;
    ctune_text_init(&unit);
    ctune_status status = ctune_workload_make(ctx, out->region, sized->params, &out->workload);
    out->workload.seed = (uint64_t)session->seed;
    if (session->time_limit_s > 0) {
        out->workload.time_limit_s = session->time_limit_s;
    }
    if (session->budget_s > 0) { /* a part of it for the original's first measurement */
        out->workload.original_s = session->budget_s < 20 ? session->budget_s / 20 : 1;
    }
    if (status == CTUNE_OK) {
        status = ctune_program_create(ctx, out->region, &out->program);
    }
    if (status == CTUNE_OK) {
        status = ctune_rounding_choose(ctx, source, out->program, &out->rounding);
        out->emit.round_products = out->program != NULL && out->program->round_products;
    }
    if (status == CTUNE_OK) {
        status = ctune_emit_original(ctx, out->region, &out->emit, "ctune_original", &unit);
    }
    if (status == CTUNE_OK) {
        status = start(ctx, out, ctune_text_get(&unit));
    }
    ctune_text_clear(&unit);
    return status;
}

void ctune_bench_destroy(ctune_bench *bench) {
    if (bench->runner != NULL) {
        ctune_runner_destroy(bench->runner);
    }
    if (bench->program != NULL) {
        ctune_program_destroy(bench->program);
    }
    ctune_text_clear(&bench->prelude);
    memset(bench, 0, sizeof *bench);
}

ctune_status ctune_bench_emit(ctune_ctx *ctx, const ctune_bench *bench, const char *schedule,
                              const char *name, ctune_text *out) {
    ctune_nest nest;
    ctune_status status = ctune_nest_parse(ctx, bench->program, schedule, &nest);
    return status == CTUNE_OK ? ctune_emit_candidate(ctx, &nest, &bench->emit, name, out) : status;
}

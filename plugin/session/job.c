/*
 * Job: see job.h.
 */
#include "plugin/session/job.h"

#include <stdlib.h>
#include <string.h>

ctune_status ctune_job_open(ctune_ctx *ctx, const ctune_session *session,
                            const ctune_source *source, const ctune_region *region, int which,
                            double budget_s, ctune_job *out) {
    memset(out, 0, sizeof *out);
    ctune_text_init(&out->te);
    ctune_status status = ctune_sized_get(ctx, region, which, &out->sized);
    if (status == CTUNE_OK) {
        status = ctune_scale_choose(ctx, session, source, budget_s, &out->sized, &out->scale);
    }
    if (status == CTUNE_OK) {
        status = ctune_bench_create(ctx, session, source, &out->sized, &out->bench);
        out->bench.scale = out->scale.is_scaled ? &out->scale : NULL;
    }
    return status;
}

static ctune_status make_measure(ctune_ctx *ctx, ctune_history *history, ctune_job *job) {
    const ctune_bench *bench = &job->bench;
    ctune_measure *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_te_print(bench->region, &job->te);
    m->bench = bench;
    m->space = job->space;
    m->known = &job->known;
    m->history = history;
    m->record = (ctune_record){.workload = ctune_workload_key(bench->region, job->sized.params),
                               .target = bench->source->key,
                               .region = bench->region->name,
                               .te = ctune_text_get(&job->te),
                               .sizes = job->sized.text,
                               .seed = (uint64_t)bench->session->seed};
    job->measure = m;
    return ctune_known_load(ctx, history, m->record.workload, bench->source->key, &job->known);
}

ctune_status ctune_job_prepare(ctune_ctx *ctx, ctune_history *history, ctune_job *job) {
    const ctune_bench *bench = &job->bench;
    ctune_status status =
        ctune_space_create(ctx, bench->program, &bench->source->target, &job->space);
    return status == CTUNE_OK ? make_measure(ctx, history, job) : status;
}

void ctune_job_close(ctune_job *job) {
    if (job->measure != NULL) {
        ctune_measure_clear(job->measure);
    }
    free(job->measure);
    ctune_known_clear(&job->known);
    if (job->space != NULL) {
        ctune_space_destroy(job->space);
    }
    ctune_bench_destroy(&job->bench);
    ctune_text_clear(&job->te);
    memset(job, 0, sizeof *job);
}

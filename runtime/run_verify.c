/*
 * Verification without timing under many workloads: see ctune_runner_verify in runner.h.
 *
 * Libraries are built once. Each workload gets runner processes of its own, because tensors are
 * mapped when a process starts: the first runs the original, whose outputs stay in the shared
 * state; a candidate that ends the process costs one more start.
 */
#include "runtime/run_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One command that is answered by one result. The child's death is an answer, too. */
static ctune_status ask(ctune_ctx *ctx, ctune_runner *runner, const char *command,
                        ctune_run_result *result) {
    char line[CTUNE_RUN_LINE_MAX];
    run_line what;
    ctune_run_child_send(runner, "%s", command);
    ctune_status status = ctune_run_child_read(ctx, runner, ctune_run_child_patience(runner), line,
                                               sizeof line, &what);
    return status == CTUNE_OK ? ctune_run_child_result(ctx, runner, what, line, result) : status;
}

static ctune_status refer(ctune_ctx *ctx, ctune_runner *runner, ctune_run_result *result) {
    ctune_status status = ctune_run_child_start(ctx, runner);
    if (status != CTUNE_OK) {
        ctune_run_result_fail(result, CTUNE_RUN_MEMORY, ctx->error); /* of the tensors, likely */
        return CTUNE_OK;
    }
    status = ask(ctx, runner, "refer", result);
    bool has_divided =
        result->outcome == CTUNE_RUN_CRASH && strstr(result->detail, "SIGFPE") != NULL;
    if (status == CTUNE_OK && has_divided && !runner->setup.is_nonzero) {
        runner->setup.is_nonzero = true;
        return refer(ctx, runner, result);
    }
    return status;
}

static ctune_status verify_one(ctune_ctx *ctx, ctune_runner *runner, const run_job *job,
                               ctune_run_result *result) {
    bool is_loaded;
    char command[64];
    ctune_status status = ctune_run_child_start(ctx, runner);
    if (status == CTUNE_OK) {
        status = ctune_run_child_load(ctx, runner, job, &is_loaded, result);
    }
    if (status != CTUNE_OK || !is_loaded) {
        return status;
    }
    snprintf(command, sizeof command, "verify %d 0", job->id);
    status = ask(ctx, runner, command, result);
    if (status == CTUNE_OK && runner->child.pid > 0) {
        ctune_run_child_send(runner, "unload %d", job->id);
    }
    return status;
}

/* All candidates under one workload. */
static ctune_status verify_load(ctune_ctx *ctx, ctune_runner *runner, run_job *const *jobs, int n,
                                ctune_run_result *original, ctune_run_result *results) {
    ctune_status status = ctune_run_state_reset(ctx, runner);
    if (status == CTUNE_OK) {
        status = refer(ctx, runner, original);
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        if (jobs[i] == NULL) {
            continue; /* the result says why there is no library */
        }
        if (original->outcome == CTUNE_RUN_OK) {
            status = verify_one(ctx, runner, jobs[i], &results[i]);
        } else {
            ctune_run_result_fail(&results[i], CTUNE_RUN_DECLINED, "the original does not run");
        }
    }
    ctune_run_child_stop(runner, NULL);
    return status;
}

/* Libraries of all that compile: jobs[i], or NULL with the reason in results[i]. */
static ctune_status build(ctune_ctx *ctx, ctune_runner *runner, run_batch *batch, run_job **jobs,
                          ctune_run_result *results) {
    for (;;) {
        run_job *job;
        ctune_status status = ctune_run_next_built(ctx, runner, batch, 0, results, &job);
        if (status != CTUNE_OK || job == NULL) {
            return status;
        }
        jobs[job->first] = job;
        job->state = RUN_JOB_DONE; /* its files stay until the batch is destroyed */
    }
}

static void skip_load(int n, ctune_run_result *original, ctune_run_result *results) {
    ctune_run_result_fail(original, CTUNE_RUN_SKIPPED, "no time left");
    for (int i = 0; i < n; i++) {
        results[i] = *original;
    }
}

static ctune_status verify_all(ctune_ctx *ctx, ctune_runner *runner, run_batch *batch,
                               run_job **jobs, const ctune_run_workload *loads, int n_loads,
                               ctune_run_result *originals, ctune_run_result *results) {
    ctune_status status = build(ctx, runner, batch, jobs, results);
    for (int k = 1; k < n_loads && status == CTUNE_OK; k++) {
        memcpy(&results[k * batch->n], results, (size_t)batch->n * sizeof *results);
    }
    const ctune_run_workload own = runner->load;
    for (int k = 0; k < n_loads && status == CTUNE_OK; k++) {
        status = ctune_run_workload_check(ctx, &loads[k]);
        if (loads[k].is_optional && runner->deadline_ns > 0 &&
            ctune_now_ns() >= runner->deadline_ns) {
            skip_load(batch->n, &originals[k], &results[k * batch->n]);
        } else if (status == CTUNE_OK) {
            runner->load = loads[k];
            ctune_run_workload_default(&runner->load);
            status =
                verify_load(ctx, runner, jobs, batch->n, &originals[k], &results[k * batch->n]);
        }
    }
    runner->load = own;
    return status;
}

ctune_status ctune_runner_verify(ctune_ctx *ctx, ctune_runner *runner, const char *prelude,
                                 const char *const *units, const char *const *names, int n,
                                 const ctune_run_workload *loads, int n_loads,
                                 ctune_run_result *originals, ctune_run_result *results) {
    if (runner->original == NULL || runner->oldest != NULL || n < 1 || n_loads < 1) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "verify: nothing to do, or something is in flight");
    }
    memset(originals, 0, (size_t)n_loads * sizeof *originals);
    memset(results, 0, (size_t)n_loads * (size_t)n * sizeof *results);
    ctune_run_child_stop(runner, NULL);
    run_batch *batch = ctune_run_batch_create(runner, prelude, units, names, n, n);
    run_job **jobs = calloc((size_t)n, sizeof *jobs);
    ctune_status status = CTUNE_ENOMEM;
    /* the reference of the runner's own workload is kept aside */
    int kept_fd = runner->state_fd;
    if (batch != NULL && jobs != NULL) {
        ctune_run_batch_link(runner, batch);
        status = ctune_run_state_create(ctx, runner);
        if (status == CTUNE_OK) {
            status = verify_all(ctx, runner, batch, jobs, loads, n_loads, originals, results);
        }
        ctune_run_state_restore(runner, kept_fd);
        ctune_run_batch_unlink(runner, batch);
    } else {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_run_batch_destroy(batch);
    free(jobs);
    return status;
}

/*
 * ctune model replay: searches over the measured candidates, without measuring again.
 */
#include "plugin/session/replay.h"
#include "plugin/tool/model_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool ctune_model_job_has_estimate(const ctune_model_job *j, int *column) {
    for (int c = 0; j->input.kind == CTUNE_INPUT_ROW && c < j->data.n_features; c++) {
        if (strcmp(ctune_feature_name(j->input.groups, c), "estimate.total") == 0) {
            *column = c;
            return true;
        }
    }
    return false;
}

ctune_status ctune_model_job_find_estimate(ctune_ctx *ctx, const ctune_model_job *j, int *column) {
    if (ctune_model_job_has_estimate(j, column)) {
        return CTUNE_OK;
    }
    return ctune_fail(ctx, CTUNE_EUSAGE, "the estimate is not among the features");
}

/* ---- replay ---------------------------------------------------------------------------------- */
enum { REPLAY_SEEDS = 3, REPLAY_BATCH = 8, REPLAY_MIN_ROWS = 64 };

static int by_int(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* One task, all strategies and seeds; trials [CTUNE_N_REPLAYS] sums over seeds, curves to file. */
static ctune_status replay_task(ctune_ctx *ctx, ctune_model_job *j, ctune_replay *r, FILE *file,
                                int *trials) {
    size_t n = j->data.task[r->task].n_rows;
    float *curve = calloc(n + 1, sizeof *curve);
    ctune_status status = curve != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    for (int s = 0; s < CTUNE_N_REPLAYS && status == CTUNE_OK; s++) {
        for (int seed = 0; seed < REPLAY_SEEDS && status == CTUNE_OK; seed++) {
            r->strategy = (ctune_replay_strategy)s;
            r->seed = j->config.gbt.seed + (uint64_t)seed;
            status = ctune_replay_run(ctx, r, curve);
            trials[s * REPLAY_SEEDS + seed] = ctune_replay_trials(curve, n, 0.95);
            for (size_t i = 0; i < n && file != NULL && status == CTUNE_OK; i++) {
                fprintf(file, "%s\t%s\t%d\t%zu\t%.4f\n", j->data.task[r->task].name,
                        ctune_replay_name(r->strategy), seed, i + 1, (double)curve[i]);
            }
        }
    }
    free(curve);
    return status;
}

static ctune_status train_without(ctune_ctx *ctx, ctune_model_job *j, const char *kernel,
                                  ctune_forest **out) {
    for (int i = 0; i < j->data.n_tasks; i++) {
        j->select[i] = strcmp(j->data.task[i].kernel, kernel) != 0;
    }
    ctune_status status = ctune_gbt_train(ctx, &j->data, j->select, NULL, &j->config.gbt, out);
    if (status == CTUNE_OK) {
        (*out)->feature_version = CTUNE_FEATURE_VERSION;
        (*out)->feature_groups = j->input.groups;
    }
    return status;
}

static void print_replays(int n, const int *trials) {
    enum { PER_TASK = CTUNE_N_REPLAYS * REPLAY_SEEDS };
    int *sorted = calloc((size_t)n * REPLAY_SEEDS + 1, sizeof *sorted);
    for (int s = 0; s < CTUNE_N_REPLAYS && sorted != NULL; s++) {
        int k = 0;
        double sum = 0;
        for (int i = 0; i < n; i++) {
            for (int seed = 0; seed < REPLAY_SEEDS; seed++) {
                sorted[k] = trials[i * PER_TASK + s * REPLAY_SEEDS + seed];
                sum += log(sorted[k++]);
            }
        }
        qsort(sorted, (size_t)k, sizeof *sorted, by_int);
        printf("%-14s trials to 95 %%: median %d, geometric mean %.1f (%d tasks x %d seeds)\n",
               ctune_replay_name((ctune_replay_strategy)s), sorted[k / 2], exp(sum / k), n,
               REPLAY_SEEDS);
    }
    free(sorted);
}

/* Every task with enough rows, at most --samples of them, spread over the data set. */
ctune_status ctune_model_job_replay(ctune_ctx *ctx, ctune_model_job *j) {
    ctune_gbt_options local;
    ctune_gbt_options_default(&local);
    ctune_forest *global = NULL;
    const char *kernel = NULL; /* that global leaves out */
    FILE *file = j->options->output != NULL ? fopen(j->options->output, "w") : NULL;
    int *trials =
        calloc((size_t)j->data.n_tasks * CTUNE_N_REPLAYS * REPLAY_SEEDS + 1, sizeof *trials);
    ctune_replay r = {.data = &j->data, .gbt = &local, .batch = REPLAY_BATCH, .epsilon = 0.05};
    ctune_status status = ctune_model_job_find_estimate(ctx, j, &r.estimate_column);
    int n = 0, n_good = 0, wanted = j->options->samples > 0 ? (int)j->options->samples : 32;
    for (int i = 0; i < j->data.n_tasks; i++) {
        n_good += j->data.task[i].n_rows >= REPLAY_MIN_ROWS && isfinite(j->data.task[i].best_ns);
    }
    int stride = n_good > wanted ? n_good / wanted : 1, ordinal = 0;
    for (int i = 0; i < j->data.n_tasks && status == CTUNE_OK && trials != NULL && n < wanted;
         i++) {
        const ctune_dataset_task *t = &j->data.task[i];
        if (t->n_rows < REPLAY_MIN_ROWS || !isfinite(t->best_ns) || ordinal++ % stride != 0) {
            continue;
        }
        if (kernel == NULL || strcmp(kernel, t->kernel) != 0) {
            if (global != NULL) {
                ctune_forest_destroy(global);
                global = NULL;
            }
            status = train_without(ctx, j, kernel = t->kernel, &global);
        }
        r.task = i;
        r.global = global;
        if (status == CTUNE_OK) {
            status = replay_task(ctx, j, &r, file, trials + n++ * CTUNE_N_REPLAYS * REPLAY_SEEDS);
        }
    }
    if (status == CTUNE_OK && n > 0) {
        print_replays(n, trials);
    } else if (status == CTUNE_OK) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "no task has %d records or more", REPLAY_MIN_ROWS);
    }
    if (file != NULL && fclose(file) != 0 && status == CTUNE_OK) {
        status = ctune_fail(ctx, CTUNE_EENV, "cannot write %s", j->options->output);
    }
    if (global != NULL) {
        ctune_forest_destroy(global);
    }
    free(trials);
    return status;
}

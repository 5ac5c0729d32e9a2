/*
 * Dataset: rows of features with labels, grouped by task (one region, sizes, target).
 */
#ifndef CTUNE_COSTMODEL_DATASET_H
#define CTUNE_COSTMODEL_DATASET_H

#include "runtime/base.h"

typedef struct ctune_dataset_task {
    char *name;     /* "gemm n=512 | clang 19 ... ", for people */
    char *kernel;   /* what leave-one-out leaves out: all sizes and targets of one computation */
    char *target;   /* key of what it was measured on; NULL: not known */
    double best_ns; /* fastest row */
    double weight;  /* in the loss and in top-k, 1 by default */
    size_t first, n_rows;
    size_t source;    /* row of the source's own order; SIZE_MAX: there is none */
    double source_ns; /* of the original, which is other code than a candidate in that order */
} ctune_dataset_task;

typedef struct ctune_dataset {
    int n_features;
    int n_tasks, size_tasks;
    size_t n_rows, size_rows;
    ctune_dataset_task *task; /* rows of a task are consecutive */
    float *features;          /* [n_rows][n_features] */
    double *time_ns;          /* [n_rows], INFINITY = failed */
} ctune_dataset;

void ctune_dataset_init(ctune_dataset *dataset, int n_features);
void ctune_dataset_clear(ctune_dataset *dataset);
/* Begins a task; rows added next belong to it. Strings copied. */
CTUNE_MUST_USE ctune_status ctune_dataset_add_task(ctune_ctx *ctx, ctune_dataset *dataset,
                                                   const char *name, const char *kernel);
/* What the last task was measured on. Copied. */
CTUNE_MUST_USE ctune_status ctune_dataset_set_target(ctune_ctx *ctx, ctune_dataset *dataset,
                                                     const char *target);
/* One row of the last task, copied. time_ns INFINITY (or NaN) = failed. EUSAGE: no task yet, time
 * not above 0, an infinite feature (NaN is a missing one). */
CTUNE_MUST_USE ctune_status ctune_dataset_add_row(ctune_ctx *ctx, ctune_dataset *dataset,
                                                  const float *features, double time_ns);
/* The last row is the source's own order of its task: what a choice has to beat. source_ns: of the
 * original. */
void ctune_dataset_mark_source(ctune_dataset *dataset, double source_ns);
/* Best of the task / time, 0 for failures, 1 for the best. row: of the data set, one of the task.
 */
float ctune_dataset_label(const ctune_dataset *dataset, int task, size_t row);

#endif

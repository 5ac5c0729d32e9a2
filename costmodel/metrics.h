/*
 * Metrics of a model on a data set: does it rank well?
 */
#ifndef CTUNE_COSTMODEL_METRICS_H
#define CTUNE_COSTMODEL_METRICS_H

#include "costmodel/dataset.h"

typedef struct ctune_metrics {
    double top1, top5;    /* sum w best / sum w (best among the k best-scored), TenSet's top-k */
    double pair_accuracy; /* share of pairs of one task, times >= 5 % apart, in the right order; mean over tasks */
    double recall64;      /* share of the 64 fastest among the 64 best-scored, mean over tasks */
    int n_tasks;          /* that counted: with a finite time */
} ctune_metrics;

/* scores [dataset->n_rows]. select (may be NULL = all) [n_tasks]: tasks that count. Times are relative to the task's best,
 * so that a long-running task does not drown the others. */
CTUNE_MUST_USE ctune_status ctune_metrics_get(ctune_ctx *ctx, const ctune_dataset *dataset,
                                              const float *scores, const bool *select,
                                              ctune_metrics *out);

#endif

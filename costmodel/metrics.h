/*
 * Metrics of a model on a data set: does it rank well?
 */
#ifndef CTUNE_COSTMODEL_METRICS_H
#define CTUNE_COSTMODEL_METRICS_H

#include "costmodel/dataset.h"

typedef struct ctune_metrics {
    double top1, top5; /* sum w / sum w (best among the k best-scored / best), TenSet's top-k: one
                          very bad choice weighs much. k rows that all failed count as the
                          slowest one that works */
    double geo1, geo5; /* the same as weighted geometric means of best / best among the k */
    double pair_accuracy; /* share of pairs of one task, times >= 5 % apart, in the right order;
                             equal scores are half right; mean over tasks that have such pairs */
    double recall64;      /* share of the k fastest among the k best-scored, k = 64 or all that did
                             not fail; mean over tasks */
    int n_tasks;          /* that counted: with a finite time */
} ctune_metrics;

/* scores [dataset->n_rows]. select (may be NULL = all) [n_tasks]: tasks that count. Times are
 * relative to the task's best, so that a long-running task does not drown the others. No task that
 * counts: all zero. */
CTUNE_MUST_USE ctune_status ctune_metrics_get(ctune_ctx *ctx, const ctune_dataset *dataset,
                                              const float *scores, const bool *select,
                                              ctune_metrics *out);

#endif

/*
 * Metrics: each task is looked at alone, its rows once in the order of their times and once in the
 * order of their scores; see metrics.h.
 *
 * Rows of equal score come in an order that is fixed but has nothing to do with their time (a hash
 * of the row): a model that says nothing is judged like a random choice, not by how the rows were
 * sorted.
 */
#include "costmodel/metrics.h"

#include "costmodel/memory.h"
#include "runtime/rng.h"

#include <math.h>
#include <stdlib.h>

static const double pair_gap = 1.05; /* times closer than this are no pair */
enum { RECALL_ROWS = 64 };

typedef struct metric_row {
    double ratio; /* time / best of the task, >= 1; INFINITY = failed */
    float score;  /* NaN was made -INFINITY */
    uint64_t tie;
} metric_row;

static int compare_ratio(const void *a, const void *b) {
    const metric_row *x = a, *y = b;
    return x->ratio < y->ratio ? -1 : x->ratio > y->ratio;
}

/* Best score first. */
static int compare_score(const void *a, const void *b) {
    const metric_row *x = a, *y = b;
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return x->tie < y->tie ? -1 : x->tie > y->tie;
}

/* rows by score: the best ratio of the first k; slowest when they all failed. */
static double best_of_first(const metric_row *rows, size_t n, size_t k, double slowest) {
    double best = INFINITY;
    for (size_t i = 0; i < n && i < k; i++) {
        best = rows[i].ratio < best ? rows[i].ratio : best;
    }
    return isfinite(best) ? best : slowest;
}

/* rows by time. Share in 0..1; -1: the task has no such pair. */
static double pair_share(const metric_row *rows, size_t n) {
    double right = 0, pairs = 0;
    for (size_t i = 0; i < n && isfinite(rows[i].ratio); i++) {
        double limit = rows[i].ratio * pair_gap;
        for (size_t j = n; j > i + 1 && rows[j - 1].ratio >= limit; j--) {
            float slow = rows[j - 1].score;
            right += rows[i].score > slow ? 1 : rows[i].score == slow ? 0.5 : 0;
            pairs += 1;
        }
    }
    return pairs > 0 ? right / pairs : -1;
}

/* rows by score; limit: ratio of the k-th fastest row. */
static double recall_share(const metric_row *rows, size_t k, double limit) {
    size_t n_found = 0;
    for (size_t i = 0; i < k; i++) {
        n_found += rows[i].ratio <= limit;
    }
    return (double)n_found / (double)k;
}

typedef struct metric_sums {
    double weight, top1, top5; /* the latter two: weight times ratio */
    double geo1, geo5;         /* weight times log2(ratio) */
    double pairs, recall;
    int n_tasks, n_pair_tasks;
} metric_sums;

static void task_add(const ctune_dataset *dataset, const ctune_dataset_task *task,
                     const float *scores, metric_row *rows, metric_sums *sums) {
    size_t n = task->n_rows, n_finite = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = task->first + i;
        ctune_rng rng;
        ctune_rng_init(&rng, row);
        rows[i].ratio = dataset->time_ns[row] / task->best_ns;
        rows[i].score = isnan(scores[row]) ? -INFINITY : scores[row];
        rows[i].tie = ctune_rng_next(&rng);
        n_finite += isfinite(rows[i].ratio) != 0;
    }
    qsort(rows, n, sizeof *rows, compare_ratio);
    double pairs = pair_share(rows, n);
    size_t k = n_finite < RECALL_ROWS ? n_finite : RECALL_ROWS;
    double limit = rows[k - 1].ratio, slowest = rows[n_finite - 1].ratio;
    qsort(rows, n, sizeof *rows, compare_score);
    sums->weight += task->weight;
    double ratio1 = best_of_first(rows, n, 1, slowest);
    double ratio5 = best_of_first(rows, n, 5, slowest);
    sums->top1 += task->weight * ratio1;
    sums->top5 += task->weight * ratio5;
    sums->geo1 += task->weight * log2(ratio1);
    sums->geo5 += task->weight * log2(ratio5);
    sums->recall += recall_share(rows, k, limit);
    sums->n_tasks++;
    if (pairs >= 0) {
        sums->pairs += pairs;
        sums->n_pair_tasks++;
    }
}

ctune_status ctune_metrics_get(ctune_ctx *ctx, const ctune_dataset *dataset, const float *scores,
                               const bool *select, ctune_metrics *out) {
    size_t max_rows = 0;
    for (int i = 0; i < dataset->n_tasks; i++) {
        size_t n = dataset->task[i].n_rows;
        max_rows = n > max_rows ? n : max_rows;
    }
    metric_row *rows = ctune_memory_grow(ctx, NULL, max_rows, sizeof *rows);
    if (rows == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for the metrics of %zu rows", max_rows);
    }
    metric_sums sums = {0};
    for (int i = 0; i < dataset->n_tasks; i++) {
        if ((select == NULL || select[i]) && isfinite(dataset->task[i].best_ns)) {
            task_add(dataset, &dataset->task[i], scores, rows, &sums);
        }
    }
    free(rows);
    *out = (ctune_metrics){.n_tasks = sums.n_tasks};
    if (sums.top1 > 0) {
        out->top1 = sums.weight / sums.top1;
        out->top5 = sums.weight / sums.top5;
        out->geo1 = exp2(-sums.geo1 / sums.weight);
        out->geo5 = exp2(-sums.geo5 / sums.weight);
    }
    if (sums.n_tasks > 0) {
        out->recall64 = sums.recall / sums.n_tasks;
    }
    if (sums.n_pair_tasks > 0) {
        out->pair_accuracy = sums.pairs / sums.n_pair_tasks;
    }
    return CTUNE_OK;
}

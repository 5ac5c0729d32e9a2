/* Choice: see choice.h. */
#include "costmodel/choice.h"

#include <math.h>

static const double SLOWER = 1.05;

double ctune_choice_spread(const float *scores, const float *source, int n) {
    double mean = 0, squares = 0;
    for (int k = 0; k < n; k++) {
        mean += ((double)scores[k] - source[k]) / n;
    }
    for (int k = 0; k < n; k++) {
        double rest = (double)scores[k] - source[k] - mean;
        squares += rest * rest;
    }
    return n > 1 ? sqrt(squares / (n - 1)) : 0;
}

/* The row that is taken. */
static size_t choose(const ctune_dataset_task *task, const ctune_voices *v, double caution) {
    size_t source = task->source, n = (size_t)v->n, row = source;
    double best = CTUNE_CHOICE_LEAST;
    for (size_t i = task->first; i < task->first + task->n_rows; i++) {
        double spread = ctune_choice_spread(v->scores + i * n, v->scores + source * n, v->n);
        double bound = (double)v->expected[i] - v->expected[source] - caution * spread;
        if (i != source && bound > best) {
            best = bound;
            row = i;
        }
    }
    return row;
}

static double slowest_of(const ctune_dataset *dataset, const ctune_dataset_task *task) {
    double slowest = 0;
    for (size_t i = task->first; i < task->first + task->n_rows; i++) {
        double time = dataset->time_ns[i];
        slowest = isfinite(time) && time > slowest ? time : slowest;
    }
    return slowest;
}

void ctune_choices_get(const ctune_dataset *dataset, const ctune_voices *voices, const bool *select,
                       double caution, ctune_choices *out) {
    double best = 0, gain = 0;
    *out = (ctune_choices){.least_gain = INFINITY};
    for (int t = 0; t < dataset->n_tasks; t++) {
        const ctune_dataset_task *task = &dataset->task[t];
        if ((select != NULL && !select[t]) || task->source == SIZE_MAX || task->n_rows < 2) {
            continue;
        }
        size_t row = choose(task, voices, caution);
        double time = row == task->source ? task->source_ns : dataset->time_ns[row];
        time = isfinite(time) ? time : slowest_of(dataset, task);
        double ratio = task->source_ns / time;
        out->n_tasks++;
        out->n_kept += row == task->source;
        out->n_slower += ratio < 1 / SLOWER;
        out->least_gain = fmin(out->least_gain, ratio);
        best += log2(task->best_ns / time);
        gain += log2(ratio);
    }
    if (out->n_tasks == 0) {
        *out = (ctune_choices){0};
        return;
    }
    out->geo_best = exp2(best / out->n_tasks);
    out->geo_gain = exp2(gain / out->n_tasks);
}

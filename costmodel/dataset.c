/* Dataset: three growing arrays; see dataset.h. */
#include "costmodel/dataset.h"

#include "costmodel/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void ctune_dataset_init(ctune_dataset *dataset, int n_features) {
    *dataset = (ctune_dataset){.n_features = n_features};
}

void ctune_dataset_clear(ctune_dataset *dataset) {
    for (int i = 0; i < dataset->n_tasks; i++) {
        free(dataset->task[i].name);
        free(dataset->task[i].kernel);
        free(dataset->task[i].target);
    }
    free(dataset->task);
    free(dataset->features);
    free(dataset->time_ns);
    ctune_dataset_init(dataset, dataset->n_features);
}

static bool tasks_reserve(ctune_ctx *ctx, ctune_dataset *dataset) {
    if (dataset->n_tasks < dataset->size_tasks) {
        return true;
    }
    if (dataset->size_tasks > INT_MAX / 2) {
        return false;
    }
    int size = dataset->size_tasks < 8 ? 8 : dataset->size_tasks * 2;
    ctune_dataset_task *task =
        ctune_memory_grow(ctx, dataset->task, (size_t)size, sizeof *dataset->task);
    if (task == NULL) {
        return false;
    }
    dataset->task = task;
    dataset->size_tasks = size;
    return true;
}

ctune_status ctune_dataset_add_task(ctune_ctx *ctx, ctune_dataset *dataset, const char *name,
                                    const char *kernel) {
    ctune_dataset_task task = {
        .best_ns = INFINITY, .weight = 1, .first = dataset->n_rows, .source = SIZE_MAX};
    task.name = ctune_memory_strdup(ctx, name);
    task.kernel = ctune_memory_strdup(ctx, kernel);
    if (task.name == NULL || task.kernel == NULL || !tasks_reserve(ctx, dataset)) {
        free(task.name);
        free(task.kernel);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a task of the data set");
    }
    dataset->task[dataset->n_tasks++] = task;
    return CTUNE_OK;
}

ctune_status ctune_dataset_set_target(ctune_ctx *ctx, ctune_dataset *dataset, const char *target) {
    char *copy = ctune_memory_strdup(ctx, target);
    if (copy == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a task of the data set");
    }
    free(dataset->task[dataset->n_tasks - 1].target);
    dataset->task[dataset->n_tasks - 1].target = copy;
    return CTUNE_OK;
}

static bool rows_reserve(ctune_ctx *ctx, ctune_dataset *dataset) {
    if (dataset->n_rows < dataset->size_rows) {
        return true;
    }
    size_t size = 256, n_values;
    if (dataset->size_rows != 0 && !ctune_size_mul(dataset->size_rows, 2, &size)) {
        return false;
    }
    if (!ctune_size_mul(size, (size_t)dataset->n_features, &n_values)) {
        return false;
    }
    float *features = ctune_memory_grow(ctx, dataset->features, n_values, sizeof *features);
    if (features == NULL) {
        return false;
    }
    dataset->features = features;
    double *time_ns = ctune_memory_grow(ctx, dataset->time_ns, size, sizeof *time_ns);
    if (time_ns == NULL) {
        return false;
    }
    dataset->time_ns = time_ns;
    dataset->size_rows = size;
    return true;
}

ctune_status ctune_dataset_add_row(ctune_ctx *ctx, ctune_dataset *dataset, const float *features,
                                   double time_ns) {
    if (dataset->n_tasks == 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "data set: a row before the first task");
    }
    ctune_dataset_task *task = &dataset->task[dataset->n_tasks - 1];
    if (time_ns <= 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "data set: a time of %g ns in task '%.80s'", time_ns,
                          task->name);
    }
    for (int i = 0; i < dataset->n_features; i++) {
        if (isinf(features[i])) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "data set: feature %d is infinite in task '%.80s'",
                              i, task->name);
        }
    }
    if (!rows_reserve(ctx, dataset)) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for row %zu of the data set",
                          dataset->n_rows);
    }
    size_t width = (size_t)dataset->n_features;
    memcpy(dataset->features + dataset->n_rows * width, features, width * sizeof *features);
    time_ns = isnan(time_ns) ? INFINITY : time_ns;
    dataset->time_ns[dataset->n_rows++] = time_ns;
    task->n_rows++;
    task->best_ns = time_ns < task->best_ns ? time_ns : task->best_ns;
    return CTUNE_OK;
}

void ctune_dataset_mark_source(ctune_dataset *dataset, double source_ns) {
    if (dataset->n_tasks > 0 && dataset->task[dataset->n_tasks - 1].n_rows > 0) {
        dataset->task[dataset->n_tasks - 1].source = dataset->n_rows - 1;
        dataset->task[dataset->n_tasks - 1].source_ns = source_ns;
    }
}

float ctune_dataset_label(const ctune_dataset *dataset, int task, size_t row) {
    double time_ns = dataset->time_ns[row];
    return isinf(time_ns) ? 0.0f : (float)(dataset->task[task].best_ns / time_ns);
}

/*
 * From a data set to rows, from rows to a forest on the score scale.
 *
 * Scores are defined up to a constant per task: the losses do not see it, and the finished forest
 * is shifted so that scores fit the targets in the mean. Features that are the same in all rows are
 * left out: in a search, where all rows are one task, that is everything about kernel and target.
 */
#include "costmodel/gbt/gbt_private.h"

#include "costmodel/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void ctune_gbt_options_default(ctune_gbt_options *options) {
    *options = (ctune_gbt_options){.objective = CTUNE_GBT_RANK,
                                   .n_trees = 60,
                                   .n_members = 1,
                                   .max_depth = 4,
                                   .eta = 0.3,
                                   .min_child_weight = 1,
                                   .lambda = 1,
                                   .gamma = 1e-4,
                                   .subsample = 1,
                                   .colsample = 1,
                                   .seed = 1,
                                   .n_threads = 1,
                                   .max_bin = 64};
}

static const char *objective_name(ctune_gbt_objective objective) {
    static const char *const name[] = {
#define X(id, text, help) text,
        CTUNE_GBT_OBJECTIVE_TABLE(X)
#undef X
    };
    return name[objective];
}

static ctune_status options_check(ctune_ctx *ctx, const ctune_gbt_options *o) {
    bool is_fine = o->objective >= 0 && o->objective < CTUNE_N_GBT_OBJECTIVES && o->n_trees >= 1 &&
                   o->n_trees <= 100000 && o->n_members >= 1 &&
                   o->n_members <= CTUNE_FOREST_MAX_MEMBERS && o->max_depth >= 1 &&
                   o->max_depth <= 16 && o->eta > 0 && o->eta <= 1 && o->min_child_weight >= 0 &&
                   o->lambda >= 0 && o->gamma >= 0 && o->subsample > 0 && o->subsample <= 1 &&
                   o->colsample > 0 && o->colsample <= 1 && o->n_threads >= 1 && o->max_bin >= 2 &&
                   o->max_bin <= 65536;
    return is_fine ? CTUNE_OK
                   : ctune_fail(ctx, CTUNE_EUSAGE,
                                "gradient-boosted trees: an option is out of "
                                "range");
}

/* ---- rows ---------------------------------------------------------------------------------- */
/* NaN equals NaN. */
static bool is_same(float a, float b) {
    return a == b || (a != a && b != b);
}

/* Marks the columns whose values differ from those of the first row of all. */
static void columns_mark(const ctune_gbt_task *tasks, int n_tasks, int n_features, bool *varies) {
    const float *first = NULL;
    for (int i = 0; i < n_tasks; i++) {
        const float *row = tasks[i].features;
        for (size_t j = 0; j < tasks[i].n_rows; j++, row += n_features) {
            first = first == NULL ? row : first;
            for (int k = 0; k < n_features; k++) {
                varies[k] |= !is_same(row[k], first[k]);
            }
        }
    }
}

static ctune_status columns_choose(ctune_ctx *ctx, ctune_gbt_rows *rows,
                                   const ctune_gbt_task *tasks, int n_tasks, int n_features) {
    bool *varies = ctune_memory_grow(ctx, NULL, (size_t)n_features, sizeof *varies);
    rows->column = ctune_memory_grow(ctx, NULL, (size_t)n_features, sizeof *rows->column);
    if (varies == NULL || rows->column == NULL) {
        free(varies);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %d columns", n_features);
    }
    memset(varies, 0, (size_t)n_features * sizeof *varies);
    columns_mark(tasks, n_tasks, n_features, varies);
    for (int i = 0; i < n_features; i++) {
        if (varies[i]) {
            rows->column[rows->n_columns++] = i;
        }
    }
    free(varies);
    return CTUNE_OK;
}

static ctune_status rows_reserve(ctune_ctx *ctx, ctune_gbt_rows *rows, int n_tasks) {
    size_t n = rows->n_rows, n_values;
    if (ctune_size_mul(n, (size_t)rows->n_columns, &n_values)) {
        rows->x = ctune_memory_grow(ctx, NULL, n_values, sizeof *rows->x);
    }
    rows->label = ctune_memory_grow(ctx, NULL, n, sizeof *rows->label);
    rows->target = ctune_memory_grow(ctx, NULL, n, sizeof *rows->target);
    rows->weight = ctune_memory_grow(ctx, NULL, n, sizeof *rows->weight);
    rows->margin = ctune_memory_grow(ctx, NULL, n, sizeof *rows->margin);
    rows->group = ctune_memory_grow(ctx, NULL, (size_t)n_tasks + 1, sizeof *rows->group);
    rows->group_weight = ctune_memory_grow(ctx, NULL, (size_t)n_tasks, sizeof *rows->group_weight);
    bool is_fine = rows->x != NULL && rows->label != NULL && rows->target != NULL &&
                   rows->weight != NULL && rows->margin != NULL && rows->group != NULL &&
                   rows->group_weight != NULL;
    if (!is_fine) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %zu rows to train on", n);
    }
    memset(rows->label, 0, n * sizeof *rows->label);
    return CTUNE_OK;
}

static void task_copy(ctune_gbt_rows *rows, const ctune_gbt_task *task, int n_features) {
    size_t first = rows->group[rows->n_groups];
    for (size_t i = 0; i < task->n_rows; i++) {
        const float *from = task->features + i * (size_t)n_features;
        float *to = rows->x + (first + i) * (size_t)rows->n_columns;
        for (int k = 0; k < rows->n_columns; k++) {
            to[k] = from[rows->column[k]];
        }
        rows->margin[first + i] = task->margins != NULL ? task->margins[i] : 0;
    }
    rows->group_weight[rows->n_groups] = task->weight;
    rows->group[++rows->n_groups] = first + task->n_rows;
}

ctune_status ctune_gbt_rows_init(ctune_ctx *ctx, ctune_gbt_rows *rows, const ctune_gbt_task *tasks,
                                 int n_tasks, int n_features) {
    memset(rows, 0, sizeof *rows);
    for (int i = 0; i < n_tasks; i++) {
        rows->n_rows += tasks[i].n_rows;
    }
    ctune_status status = columns_choose(ctx, rows, tasks, n_tasks, n_features);
    if (status == CTUNE_OK) {
        status = rows_reserve(ctx, rows, n_tasks);
    }
    if (status == CTUNE_OK) {
        rows->group[0] = 0;
        for (int i = 0; i < n_tasks; i++) {
            task_copy(rows, &tasks[i], n_features);
        }
    }
    return status;
}

void ctune_gbt_rows_clear(ctune_gbt_rows *rows) {
    free(rows->column);
    free(rows->x);
    free(rows->label);
    free(rows->target);
    free(rows->weight);
    free(rows->margin);
    free(rows->group);
    free(rows->group_weight);
    memset(rows, 0, sizeof *rows);
}

/* ---- targets and the score scale ----------------------------------------------------------- */
static const float weight_floor = 0.05f; /* of a row that failed, beside 1.05 of the best */

static void task_weigh(ctune_gbt_rows *rows, int group) {
    size_t first = rows->group[group], end = rows->group[group + 1];
    double sum = 0;
    for (size_t i = first; i < end; i++) {
        rows->weight[i] = weight_floor + rows->label[i];
        sum += rows->weight[i];
    }
    float factor = (float)(rows->group_weight[group] * (double)(end - first) / sum);
    for (size_t i = first; i < end; i++) {
        rows->weight[i] *= factor;
    }
}

void ctune_gbt_rows_set_targets(ctune_gbt_rows *rows) {
    for (size_t i = 0; i < rows->n_rows; i++) {
        rows->target[i] = rows->label[i] > 0 ? fmaxf(log2f(rows->label[i]), CTUNE_GBT_TARGET_MIN)
                                             : CTUNE_GBT_TARGET_MIN;
    }
    for (int g = 0; g < rows->n_groups; g++) {
        task_weigh(rows, g);
    }
}

static double task_mean(const ctune_gbt_rows *rows, int group, const float *values) {
    double sum = 0, weights = 0;
    for (size_t i = rows->group[group]; i < rows->group[group + 1]; i++) {
        sum += rows->weight[i] * values[i];
        weights += rows->weight[i];
    }
    return weights > 0 ? sum / weights : 0;
}

/* Slope of rest on what the trees add, both less their task's mean, by weighted least squares; 1
 * when there is none. */
static double slope_fit(const ctune_gbt_rows *rows, const float *rest, const float *added) {
    double both = 0, square = 0;
    for (int g = 0; g < rows->n_groups; g++) {
        double rest_mean = task_mean(rows, g, rest), added_mean = task_mean(rows, g, added);
        for (size_t i = rows->group[g]; i < rows->group[g + 1]; i++) {
            double step = added[i] - added_mean;
            both += rows->weight[i] * step * (rest[i] - rest_mean);
            square += rows->weight[i] * step * step;
        }
    }
    double slope = square > 0 ? both / square : 1;
    return isfinite(slope) && slope > 0.01 && slope < 100 ? slope : 1;
}

/* raw: XGBoost's predictions of the rows, margins included; used up. rest: room for [n_rows]. */
static void forest_calibrate(const ctune_gbt_rows *rows, bool has_margins, float *raw, float *rest,
                             ctune_forest *forest) {
    for (size_t i = 0; i < rows->n_rows; i++) {
        raw[i] -= rows->margin[i];
        rest[i] = rows->target[i] - rows->margin[i];
    }
    /* a correction keeps its scale: it was trained beside the margins, which keep theirs */
    double slope = has_margins ? 1 : slope_fit(rows, rest, raw);
    double shift = 0;
    for (int g = 0; g < rows->n_groups; g++) {
        shift += task_mean(rows, g, rest) - slope * task_mean(rows, g, raw);
    }
    forest->scale = (float)slope;
    forest->shift = (float)(shift / rows->n_groups);
}

/* ---- training ------------------------------------------------------------------------------ */
/* Rows that do not differ: a constant. */
static ctune_status constant_create(ctune_ctx *ctx, const ctune_gbt_rows *rows, int n_features,
                                    float *raw, ctune_forest **out) {
    ctune_status status = ctune_forest_create(ctx, 0, 0, out);
    if (status == CTUNE_OK) {
        (*out)->n_features = n_features;
        memcpy(raw, rows->margin, rows->n_rows * sizeof *raw);
    }
    return status;
}

ctune_status ctune_gbt_rows_train(ctune_ctx *ctx, ctune_gbt_rows *rows, int n_features,
                                  bool has_margins, const ctune_gbt_options *options,
                                  ctune_forest **out) {
    ctune_status status = options_check(ctx, options);
    if (status != CTUNE_OK) {
        return status;
    }
    size_t n = rows->n_rows;
    ctune_forest *forest = NULL;
    float *raw = ctune_memory_grow(ctx, NULL, n, sizeof *raw);
    float *rest = ctune_memory_grow(ctx, NULL, n, sizeof *rest);
    if (raw == NULL || rest == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %zu rows to train on", n);
    } else {
        ctune_gbt_rows_set_targets(rows);
        status = rows->n_columns == 0
                     ? constant_create(ctx, rows, n_features, raw, &forest)
                     : ctune_gbt_booster_train(ctx, rows, n_features, options, raw, &forest);
    }
    if (status == CTUNE_OK) {
        forest_calibrate(rows, has_margins, raw, rest, forest);
        const char *name = objective_name(options->objective);
        memcpy(forest->objective, name, strlen(name) + 1);
        *out = forest;
    }
    free(raw);
    free(rest);
    return status;
}

/* The selected tasks that have rows. */
static int tasks_list(const ctune_dataset *dataset, const bool *select, const float *margins,
                      ctune_gbt_task *tasks, int *index) {
    int n = 0;
    for (int i = 0; i < dataset->n_tasks; i++) {
        const ctune_dataset_task *task = &dataset->task[i];
        if ((select == NULL || select[i]) && task->n_rows > 0) {
            index[n] = i;
            tasks[n++] = (ctune_gbt_task){.features = dataset->features +
                                                      task->first * (size_t)dataset->n_features,
                                          .margins = margins == NULL ? NULL : margins + task->first,
                                          .n_rows = task->n_rows,
                                          .weight = (float)task->weight};
        }
    }
    return n;
}

static void labels_set(ctune_gbt_rows *rows, const ctune_dataset *dataset, const int *index) {
    for (int g = 0; g < rows->n_groups; g++) {
        size_t first = dataset->task[index[g]].first;
        for (size_t i = rows->group[g]; i < rows->group[g + 1]; i++) {
            rows->label[i] = ctune_dataset_label(dataset, index[g], first + i - rows->group[g]);
        }
    }
}

static ctune_status train_one(ctune_ctx *ctx, const ctune_dataset *dataset, const bool *select,
                              const float *margins, const ctune_gbt_options *options,
                              ctune_forest **out) {
    ctune_gbt_rows rows = {0};
    size_t max_tasks = (size_t)dataset->n_tasks;
    ctune_gbt_task *tasks = ctune_memory_grow(ctx, NULL, max_tasks, sizeof *tasks);
    int *index = ctune_memory_grow(ctx, NULL, max_tasks, sizeof *index);
    ctune_status status = CTUNE_OK;
    if (tasks == NULL || index == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %zu tasks", max_tasks);
    } else {
        int n_tasks = tasks_list(dataset, select, margins, tasks, index);
        status = n_tasks == 0
                     ? ctune_fail(ctx, CTUNE_EUSAGE, "no rows to train on")
                     : ctune_gbt_rows_init(ctx, &rows, tasks, n_tasks, dataset->n_features);
    }
    if (status == CTUNE_OK) {
        labels_set(&rows, dataset, index);
        status =
            ctune_gbt_rows_train(ctx, &rows, dataset->n_features, margins != NULL, options, out);
    }
    ctune_gbt_rows_clear(&rows);
    free(tasks);
    free(index);
    return status;
}

/* ---- ensembles ----------------------------------------------------------------------------- */
/* Tasks of each member: all selected ones but those of every n-th kernel. */
static void members_select(const ctune_dataset *dataset, const bool *select, int k, int n,
                           bool *out) {
    int n_kernels = 0;
    for (int i = 0; i < dataset->n_tasks; i++) {
        out[i] = select == NULL || select[i];
    }
    for (int i = 0; i < dataset->n_tasks; i++) {
        bool is_new = select == NULL || select[i];
        for (int j = 0; j < i && is_new; j++) {
            is_new = (select != NULL && !select[j]) ||
                     strcmp(dataset->task[j].kernel, dataset->task[i].kernel) != 0;
        }
        for (int j = i; j < dataset->n_tasks && is_new && n_kernels % n == k; j++) {
            out[j] = out[j] && strcmp(dataset->task[j].kernel, dataset->task[i].kernel) != 0;
        }
        n_kernels += is_new;
    }
    bool is_any = false;
    for (int i = 0; i < dataset->n_tasks; i++) {
        is_any = is_any || (out[i] && dataset->task[i].n_rows > 0);
    }
    for (int i = 0; i < dataset->n_tasks && !is_any; i++) { /* a single kernel */
        out[i] = select == NULL || select[i];
    }
}

/* One forest of those of the members: score = their mean. */
static ctune_status members_join(ctune_ctx *ctx, ctune_forest *const *member, int n,
                                 ctune_forest **out) {
    int n_trees = 0, n_nodes = 0;
    for (int k = 0; k < n; k++) {
        n_trees += member[k]->n_trees;
        n_nodes += member[k]->n_nodes;
    }
    ctune_forest *f = NULL;
    ctune_status status = ctune_forest_create(ctx, n_trees, n_nodes, &f);
    if (status != CTUNE_OK) {
        return status;
    }
    memcpy(f->objective, member[0]->objective, sizeof f->objective);
    f->n_features = member[0]->n_features;
    f->n_members = n;
    f->scale = 1;
    n_trees = n_nodes = 0;
    for (int k = 0; k < n; k++) {
        const ctune_forest *m = member[k];
        f->shift += (m->scale * m->base + m->shift) / (float)n;
        for (int i = 0; i < m->n_nodes; i++) {
            ctune_forest_node *node = &f->node[n_nodes + i];
            *node = m->node[i];
            if (node->left < 0) {
                node->value *= m->scale / (float)n;
            } else {
                node->left += n_nodes;
                node->right += n_nodes;
            }
        }
        for (int i = 0; i < m->n_trees; i++) {
            f->root[n_trees + i] = m->root[i] + n_nodes;
        }
        n_trees += m->n_trees;
        n_nodes += m->n_nodes;
        f->member_end[k] = n_trees;
    }
    *out = f;
    return CTUNE_OK;
}

ctune_status ctune_gbt_train(ctune_ctx *ctx, const ctune_dataset *dataset, const bool *select,
                             const float *margins, const ctune_gbt_options *options,
                             ctune_forest **out) {
    ctune_status status = options_check(ctx, options);
    if (status != CTUNE_OK || options->n_members == 1) {
        return status != CTUNE_OK ? status : train_one(ctx, dataset, select, margins, options, out);
    }
    ctune_forest *member[CTUNE_FOREST_MAX_MEMBERS] = {0};
    ctune_gbt_options one = *options;
    one.n_trees = (options->n_trees + options->n_members - 1) / options->n_members;
    bool *chosen = ctune_memory_grow(ctx, NULL, (size_t)dataset->n_tasks, sizeof *chosen);
    if (chosen == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for %d tasks", dataset->n_tasks);
    }
    for (int k = 0; k < options->n_members && status == CTUNE_OK; k++) {
        members_select(dataset, select, k, options->n_members, chosen);
        one.seed = options->seed + (uint64_t)k;
        status = train_one(ctx, dataset, chosen, margins, &one, &member[k]);
    }
    if (status == CTUNE_OK) {
        status = members_join(ctx, member, options->n_members, out);
    }
    for (int k = 0; k < options->n_members; k++) {
        ctune_forest_destroy(member[k]);
    }
    free(chosen);
    return status;
}

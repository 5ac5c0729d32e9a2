/*
 * The inside of costmodel/gbt/: rows as the trainer sees them, the losses, the booster. Private to
 * gbt_*.c and their tests.
 *
 *   gbt_train.c    data set or labels -> rows; losses' targets; score scale of the finished forest
 *   gbt_loss.c     gradients of the two objectives
 *   gbt_booster.c  the only file that calls XGBoost
 *   gbt_convert.c  XGBoost's JSON -> forest
 *   gbt_model.c    the model of one search
 */
#ifndef CTUNE_COSTMODEL_GBT_PRIVATE_H
#define CTUNE_COSTMODEL_GBT_PRIVATE_H

#include "costmodel/gbt/gbt.h"

/* Rows to train on, grouped by task. Owned, except by whom borrows. */
typedef struct ctune_gbt_rows {
    size_t n_rows;
    int n_columns;   /* those that vary; the others teach nothing and cost time */
    int32_t *column; /* [n_columns]: their features, ascending */
    float *x;        /* [n_rows][n_columns] */
    float *label;    /* [n_rows], best time / time, failures 0 */
    float *target;   /* [n_rows], log2(label), at least ctune_gbt_target_min */
    float *weight;   /* [n_rows], more for the fast end; mean over a task: the task's weight */
    float *margin;   /* [n_rows], score the training starts from */
    int n_groups;
    size_t *group;       /* [n_groups + 1], first row of each task and the end */
    float *group_weight; /* [n_groups] */
} ctune_gbt_rows;

#define CTUNE_GBT_TARGET_MIN (-6.0f)

/* A task as the caller of ctune_gbt_rows_init has it. */
typedef struct ctune_gbt_task {
    const float *features; /* [n_rows][n_features] */
    const float *margins;  /* [n_rows], NULL: 0 */
    size_t n_rows;
    float weight;
} ctune_gbt_task;

/* Copies; labels are zero until the caller sets them. Cleared by the caller, also after a failure.
 */
CTUNE_MUST_USE ctune_status ctune_gbt_rows_init(ctune_ctx *ctx, ctune_gbt_rows *rows,
                                                const ctune_gbt_task *tasks, int n_tasks,
                                                int n_features);
void ctune_gbt_rows_clear(ctune_gbt_rows *rows);

/* Labels are set: targets and weights from them. */
void ctune_gbt_rows_set_targets(ctune_gbt_rows *rows);
/* Labels are set: train and bring to the score scale. */
CTUNE_MUST_USE ctune_status ctune_gbt_rows_train(ctune_ctx *ctx, ctune_gbt_rows *rows,
                                                 int n_features, bool has_margins,
                                                 const ctune_gbt_options *options,
                                                 ctune_forest **out);

/* Gradient and second derivative [n_rows] of the objective at predictions [n_rows]. round and
 * options->seed choose the pairs of large tasks. */
void ctune_gbt_loss_get(const ctune_gbt_rows *rows, const ctune_gbt_options *options, int round,
                        const float *predictions, float *gradient, float *curvature);

/* Trains. raw [n_rows]: XGBoost's own predictions of the rows, margin included. *out has base 0,
 * scale 1, shift 0; its features are those of the whole rows (rows->column). */
CTUNE_MUST_USE ctune_status ctune_gbt_booster_train(ctune_ctx *ctx, const ctune_gbt_rows *rows,
                                                    int n_features,
                                                    const ctune_gbt_options *options, float *raw,
                                                    ctune_forest **out);

/* json [len]: a booster as XGBoost saves it. column [n_columns]: see rows. */
CTUNE_MUST_USE ctune_status ctune_gbt_convert(ctune_ctx *ctx, const char *json, size_t len,
                                              const int32_t *column, int n_columns, int n_features,
                                              ctune_forest **out);

#endif

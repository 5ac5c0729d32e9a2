/*
 * Gradient-boosted trees, trained with XGBoost's C API.
 *
 * Constants of AutoTVM unless given: eta 0.3, gamma 1e-4, min_child_weight 1, lambda 1. XGBoost
 * gets n_threads threads, 1 by default: the timing core is not ours to use.
 *
 * XGBoost builds the trees; the gradients of both objectives are ours (gbt_loss.c), so that scores
 * come out in units of log2(time), base margins mean the same in both, and the fast end weighs
 * more.
 */
#ifndef CTUNE_COSTMODEL_GBT_GBT_H
#define CTUNE_COSTMODEL_GBT_GBT_H

#include "costmodel/dataset.h"
#include "costmodel/forest.h"

#define CTUNE_GBT_OBJECTIVE_TABLE(X)                                                               \
    X(RANK, "rank", "pairwise rank within a task")                                                 \
    X(REGRESSION, "regression", "squared error of log2(best time / time), clipped")

typedef enum ctune_gbt_objective {
#define X(id, name, help) CTUNE_GBT_##id,
    CTUNE_GBT_OBJECTIVE_TABLE(X)
#undef X
        CTUNE_N_GBT_OBJECTIVES
} ctune_gbt_objective;

typedef struct ctune_gbt_options {
    ctune_gbt_objective objective;
    int n_trees; /* rounds, of all members together */
    /* Members of an ensemble, each trained without one share of the kernels (ctune_gbt_train alone;
     * at most CTUNE_FOREST_MAX_MEMBERS): a kernel that none has seen divides them. */
    int n_members;
    int max_depth;
    double eta;
    double min_child_weight, lambda, gamma, subsample, colsample;
    uint64_t seed; /* same seed, rows and threads: the same forest */
    int n_threads;
    int max_bin; /* of XGBoost's histograms: distinct values of a feature that are told apart */
} ctune_gbt_options;

/* For the local model of a search: small and quick, 500 rows in a tenth of a second. A global
 * model, trained once on other kernels than it will meet, wants more and weaker trees: 300, eta
 * 0.08, subsample 0.7, colsample 0.3, lambda 5. */
void ctune_gbt_options_default(ctune_gbt_options *options);

/* A forest of the selected tasks (NULL = all) of the data set. The caller sets feature_version,
 * feature_groups and summary of *out. margins (may be NULL) [dataset->n_rows]: scores of a model
 * that the new one corrects (in the forest's score scale), in row order. Labels are weighted
 * towards the fast end where that ranks better. EENV with XGBoost's words when it fails. */
CTUNE_MUST_USE ctune_status ctune_gbt_train(ctune_ctx *ctx, const ctune_dataset *dataset,
                                            const bool *select, const float *margins,
                                            const ctune_gbt_options *options, ctune_forest **out);

/* The model of one search: f = discount * f_global + f_local. f_local is trained anew at each fit,
 * with discount * f_global as base margin of its rows; discount = 2^(-n_rows / 64), 0 below 0.05.
 * Before the first fit, below 8 rows and when all labels are equal: f_global alone (0 without
 * one). A fit that fails leaves the model as it was. Borrows global. destroy frees it. */
CTUNE_MUST_USE ctune_status ctune_gbt_model_create(ctune_ctx *ctx, const ctune_forest *global,
                                                   int n_features, const ctune_gbt_options *options,
                                                   ctune_model *out);
/*
 * The same on top of any model, whose rows may be others than the local forest's: a row holds the
 * numbers of global and, behind them, n_local of the forest. Borrows global.
 */
CTUNE_MUST_USE ctune_status ctune_gbt_model_create_over(ctune_ctx *ctx, const ctune_model *global,
                                                        int n_local,
                                                        const ctune_gbt_options *options,
                                                        ctune_model *out);

#endif

/*
 * Forest: a trained gradient-boosted model as data, its file format and its evaluation.
 *
 * Evaluated by our own loop over flat arrays, not by XGBoost: a compiler plugin predicts with it,
 * and must not pull XGBoost and its OpenMP threads into the compiler; one row costs about a
 * microsecond. costmodel/gbt/ trains forests with XGBoost; a test holds both predictions equal.
 */
#ifndef CTUNE_COSTMODEL_FOREST_H
#define CTUNE_COSTMODEL_FOREST_H

#include "costmodel/model.h"
#include "runtime/text.h"

/* A node of a tree: a leaf when left < 0. Rows with x[feature] < threshold go left, NaN goes to the
 * side that was learned. */
typedef struct ctune_forest_node {
    int32_t feature, left, right; /* nodes of the forest */
    bool is_missing_left;
    float value; /* threshold, or the leaf's weight */
} ctune_forest_node;

typedef struct ctune_forest {
    int feature_version;      /* of the rows it was trained on (search/feature/feature.h) */
    unsigned feature_groups;  /* bits, likewise */
    int n_features;           /* width of a row */
    char objective[32];       /* "rank" or "regression" */
    float base, scale, shift; /* score = scale * (base + sum of leaves) + shift */
    int n_trees, n_nodes;
    int32_t *root;            /* [n_trees] */
    ctune_forest_node *node;  /* [n_nodes] */
    char *summary;            /* lines "key value": tasks, rows, targets, scores of the training; "" */
} ctune_forest;

/* Text format, line-oriented and versioned. A malformed file is EUSAGE with file and line. Owner of
 * *out: caller. */
CTUNE_MUST_USE ctune_status ctune_forest_read(ctune_ctx *ctx, const char *path, ctune_forest **out);
CTUNE_MUST_USE ctune_status ctune_forest_parse(ctune_ctx *ctx, const char *name, const char *text,
                                               ctune_forest **out);
void ctune_forest_print(const ctune_forest *forest, ctune_text *out);
void ctune_forest_destroy(ctune_forest *forest);

/* EUSAGE with words ("was trained on features of version 1; this ctune has 2") unless the model
 * fits rows of this version, groups and width. */
CTUNE_MUST_USE ctune_status ctune_forest_check(ctune_ctx *ctx, const ctune_forest *forest,
                                               const char *name, int feature_version,
                                               int n_features);
/* rows [n_rows][forest->n_features]; scores [n_rows]. No allocation. */
void ctune_forest_predict(const ctune_forest *forest, const float *rows, size_t n_rows,
                          float *scores);
/* The forest as a model that does not learn. Borrows forest. */
void ctune_forest_model(const ctune_forest *forest, ctune_model *out);

#endif

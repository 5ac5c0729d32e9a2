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

enum {
    CTUNE_FOREST_MAX_DEPTH = 64,
    CTUNE_FOREST_MAX_FEATURES = 1 << 20,
    CTUNE_FOREST_MAX_MEMBERS = CTUNE_MODEL_MAX_MEMBERS
};

/* A node of a tree: a leaf when left < 0. Rows with x[feature] < threshold go left, NaN goes to the
 * side that was learned. Trees lie one behind another, each in preorder: the left child of a node
 * is the next one, and no walk is endless. */
typedef struct ctune_forest_node {
    int32_t feature, left, right; /* nodes of the forest; of a leaf: 0, -1, -1 */
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
    /* An ensemble: trees of member k are member_end[k - 1] .. member_end[k] - 1, and the score is
     * the mean of the members'. One member: all trees. */
    int n_members;
    int member_end[CTUNE_FOREST_MAX_MEMBERS];
    int32_t *root;           /* [n_trees] */
    ctune_forest_node *node; /* [n_nodes] */
    char *summary; /* lines "key value": tasks, rows, targets, scores of the training; "" */
} ctune_forest;

/* A forest with room for trees and nodes, all zero, summary "". Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_forest_create(ctune_ctx *ctx, int n_trees, int n_nodes,
                                                ctune_forest **out);
/* Replaces the summary. Lines are trimmed, empty ones dropped. */
CTUNE_MUST_USE ctune_status ctune_forest_set_summary(ctune_ctx *ctx, ctune_forest *forest,
                                                     const char *summary);
/* Preorder, indices in range, depth, finite numbers. EBUG with the node. */
CTUNE_MUST_USE ctune_status ctune_forest_verify(ctune_ctx *ctx, const ctune_forest *forest);

/* Text format, line-oriented and versioned:
 *
 *     ctune-forest 1
 *     objective rank
 *     features 300 version 1 groups 63
 *     score base 0 scale 0.85 shift -1.25
 *     summary tasks 120               (any number of these)
 *     size trees 1 nodes 3
 *     members 1                       (of an ensemble alone: ends of the members' trees)
 *     tree                            (each in preorder: a split, its left tree, its right tree)
 *     s 17 0.5 l                      (x[17] < 0.5 goes left, a missing value goes l or r)
 *     v -0.25                         (a leaf)
 *     v 1.5e-07
 *     end
 *
 * Children need no numbers: no text can make a cycle or point outside. A malformed file is EUSAGE
 * with file and line. Owner of *out: caller. */
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
/* The members' scores of the same rows, scores [n_rows][n_members]: their mean is the forest's. */
void ctune_forest_predict_members(const ctune_forest *forest, const float *rows, size_t n_rows,
                                  float *scores);
/* What its rows hold. */
ctune_model_input ctune_forest_input(const ctune_forest *forest);
/* The forest as a model that does not learn. Borrows forest. */
void ctune_forest_model(const ctune_forest *forest, ctune_model *out);

#endif

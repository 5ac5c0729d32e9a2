/*
 * The inside of a network.
 *
 *   net.c        creation, batches, scores, the model's functions
 *   net_build.c  layers of each kind, and how they are applied
 *   net_train.c  training
 *   net_file.c   the model file
 */
#ifndef CTUNE_COSTMODEL_NN_NET_PRIVATE_H
#define CTUNE_COSTMODEL_NN_NET_PRIVATE_H

#include "costmodel/nn/layers.h"
#include "costmodel/nn/net.h"

enum { NET_STEP_LAYERS = 4, NET_MAX_RESIDUALS = 8, NET_HEAD_LAYERS = 4, NET_MAX_HEADS = 12 };
enum { NET_TREE_KINDS = 16, NET_KIND_WIDTH = 16, NET_TREE_COLUMNS = 2 /* parent, kind */ };

typedef struct net_head {
    char target[128];                       /* key; "" = any */
    ctune_nn_linear layer[NET_HEAD_LAYERS]; /* the last one gives the score */
} net_head;

/* Where a training stands; epoch 0 and no memory otherwise. */
typedef struct net_state {
    int epoch; /* that were finished */
    int64_t step;
    double best; /* score of held-out tasks */
    int best_epoch;
    float *best_values; /* [params.n_values], owned */
} net_state;

struct ctune_net {
    ctune_net_config config;
    const ctune_blas *blas;
    bool is_built; /* it has parameters */
    ctune_nn_params params;
    ctune_nn_param *mean, *scale; /* of items: what they are normalised by */
    ctune_nn_param *position, *kinds;
    ctune_nn_linear step[NET_STEP_LAYERS];
    int n_step;
    ctune_nn_linear residual[NET_MAX_RESIDUALS];
    ctune_nn_self_attention attention;
    ctune_nn_cell cell;
    ctune_nn_linear slot;
    int n_heads, head; /* that rows are for */
    net_head heads[NET_MAX_HEADS];
    float score_scale, score_shift;
    char *summary; /* owned; NULL: "" */
    net_state state;
    ctune_nn_tape *tape;
    float *trained; /* [params.n_values] before the first update, owned; NULL: none yet */
};

/* Items of some rows, one below the other, and which sample each belongs to. */
typedef struct net_batch {
    int n; /* samples */
    int n_items;
    int *start;  /* [n + 1] */
    int *sample; /* [n_items] */
    int *head;   /* [n] */
    float *x;    /* [n_items][columns], normalised */
    int *parent; /* TREE: [n_items] item of the batch, -1 = root */
    int *kind;   /* TREE: [n_items] */
} net_batch;

/* net.c */
int net_columns(const ctune_net_config *config); /* of an item, without what is no number */
void net_batch_clear(net_batch *batch);
/* rows[i] is a row; heads NULL: all net->head. */
CTUNE_MUST_USE ctune_status net_batch_fill(ctune_ctx *ctx, const ctune_net *net, int n,
                                           const float *const *rows, const int *heads,
                                           net_batch *out);
/* The items of a row, and how many there are. */
const float *net_items(const ctune_net_config *config, const float *row, int *n);
CTUNE_MUST_USE ctune_status net_config_check(ctune_ctx *ctx, const ctune_net_config *config);

/* The configured loss of one task's rows; adds to gradient [n]. */
double net_loss(const ctune_net_config *config, size_t n, const float *labels, const float *scores,
                float *gradient);

/* net_build.c */
/* Parameters for config and n_heads, new from the seed. max_values: no more of them. */
CTUNE_MUST_USE ctune_status net_build(ctune_ctx *ctx, ctune_net *net, int64_t max_values);
/* Scores [n][1] of a batch. */
ctune_nn_var net_forward(const ctune_net *net, ctune_nn_tape *tape, const net_batch *batch);

/* net_file.c: text with the state, from it. The net of a state file has the state's configuration.
 */
CTUNE_MUST_USE ctune_status net_print(ctune_ctx *ctx, const ctune_net *net, bool has_state,
                                      ctune_text *out);
CTUNE_MUST_USE ctune_status net_parse(ctune_ctx *ctx, const char *name, const char *text,
                                      bool has_state, ctune_net **out);

static inline size_t net_size(const ctune_nn_param *param) {
    return (size_t)param->rows * (size_t)param->cols;
}
void net_values_get(const ctune_net *net, float *out); /* all parameters, one behind another */
void net_values_set(ctune_net *net, const float *in);

#endif

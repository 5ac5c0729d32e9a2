/*
 * Layers: parameters and the operators that belong to them, composed of what the tape has. Created
 * once with the network's parameters; used on a tape as often as the network is evaluated.
 */
#ifndef CTUNE_COSTMODEL_NN_LAYERS_H
#define CTUNE_COSTMODEL_NN_LAYERS_H

#include "costmodel/nn/tape.h"

/* Where new parameters go: the first failure sticks (ctx has the words) and makes the rest NULL. */
typedef struct ctune_nn_maker {
    ctune_ctx *ctx;
    ctune_nn_params *params;
    ctune_rng rng;
    bool has_failed;
} ctune_nn_maker;

/* x W + b */
typedef struct ctune_nn_linear {
    ctune_nn_param *weight, *bias;
} ctune_nn_linear;
void ctune_nn_linear_init(ctune_nn_maker *maker, ctune_nn_init init, int from, int to,
                          const char *name, ctune_nn_linear *out);
ctune_nn_var ctune_nn_linear_apply(ctune_nn_tape *tape, const ctune_nn_linear *layer,
                                   ctune_nn_var x);

/* Normalised rows, scaled and shifted. */
typedef struct ctune_nn_layer_norm {
    ctune_nn_param *gain, *shift;
} ctune_nn_layer_norm;
void ctune_nn_layer_norm_init(ctune_nn_maker *maker, int width, const char *name,
                              ctune_nn_layer_norm *out);
ctune_nn_var ctune_nn_layer_norm_apply(ctune_nn_tape *tape, const ctune_nn_layer_norm *layer,
                                       ctune_nn_var x);

/* Gates of a cell on the input and on the state. */
typedef struct ctune_nn_cell {
    ctune_nn_linear input;
    ctune_nn_linear state;
    int width; /* of the state */
} ctune_nn_cell;

/* GRU: r, z = sigmoid; n = tanh(W x + r * (U h)); h' = (1 - z) n + z h. input: the input's gates,
 * ctune_nn_linear_apply(&cell->input, x), for all steps at once. */
void ctune_nn_gru_init(ctune_nn_maker *maker, int from, int width, const char *name,
                       ctune_nn_cell *out);
ctune_nn_var ctune_nn_gru_step(ctune_nn_tape *tape, const ctune_nn_cell *cell, ctune_nn_var input,
                               ctune_nn_var h);
/* LSTM: i, f, o = sigmoid, g = tanh; c' = f c + i g; h' = o tanh(c'). */
void ctune_nn_lstm_init(ctune_nn_maker *maker, int from, int width, const char *name,
                        ctune_nn_cell *out);
void ctune_nn_lstm_step(ctune_nn_tape *tape, const ctune_nn_cell *cell, ctune_nn_var input,
                        ctune_nn_var *h, ctune_nn_var *c);

/* Attention within each sample: projections to q, k, v and back. */
typedef struct ctune_nn_self_attention {
    ctune_nn_linear q, k, v, out;
    int heads;
} ctune_nn_self_attention;
void ctune_nn_self_attention_init(ctune_nn_maker *maker, int width, int heads, const char *name,
                                  ctune_nn_self_attention *out);
ctune_nn_var ctune_nn_self_attention_apply(ctune_nn_tape *tape,
                                           const ctune_nn_self_attention *layer, ctune_nn_var x,
                                           int n_samples, const int *start);

#endif

/*
 * Parameters of a network: named matrices with gradients, and Adam, which moves them.
 */
#ifndef CTUNE_COSTMODEL_NN_PARAMS_H
#define CTUNE_COSTMODEL_NN_PARAMS_H

#include "runtime/base.h"
#include "runtime/rng.h"

enum { CTUNE_NN_NAME_BYTES = 32, CTUNE_NN_MAX_PARAMS = 96 };

typedef struct ctune_nn_param {
    char name[CTUNE_NN_NAME_BYTES]; /* unique, no blanks */
    int rows, cols;
    bool is_fixed;            /* not trained: what rows are scaled by */
    float *value, *grad;      /* [rows][cols]; grad is added to by backward passes */
    float *moment1, *moment2; /* of Adam */
} ctune_nn_param;

typedef struct ctune_nn_params {
    int n;
    int64_t n_values;
    int64_t max_values;                         /* more of them are refused; 0 = any number */
    ctune_status status;                        /* of the last addition */
    ctune_nn_param *param[CTUNE_NN_MAX_PARAMS]; /* each allocated alone: pointers stay */
} ctune_nn_params;

/* What the values of a new matrix are. */
typedef enum ctune_nn_init {
    CTUNE_NN_ZERO,
    CTUNE_NN_ONE,
    CTUNE_NN_RELU,  /* He: uniform, variance 2 / rows; before a ReLU */
    CTUNE_NN_LINEAR /* Glorot: uniform, variance 2 / (rows + cols) */
} ctune_nn_init;

void ctune_nn_params_init(ctune_nn_params *params);
void ctune_nn_params_clear(ctune_nn_params *params);
/* Owner of the result: params. NULL with words in ctx when memory is out or the shape no matrix. */
ctune_nn_param *ctune_nn_params_add(ctune_ctx *ctx, ctune_nn_params *params, ctune_rng *rng,
                                    ctune_nn_init init, int rows, int cols, const char *name);
ctune_nn_param *ctune_nn_params_find(const ctune_nn_params *params, const char *name);
void ctune_nn_params_reset_grads(ctune_nn_params *params);

typedef struct ctune_nn_adam {
    double rate;         /* 7e-4 */
    double beta1, beta2; /* 0.9, 0.999 */
    double epsilon;      /* 1e-8 */
    double decay;        /* of values, added to gradients: 1e-6 */
    double clip;         /* most that the norm of all gradients may be; 0 = any */
} ctune_nn_adam;

void ctune_nn_adam_default(ctune_nn_adam *adam);
/* One step with the gradients as they are; step counts from 1. Gradients that are not finite change
 * nothing; false then. */
bool ctune_nn_adam_step(const ctune_nn_adam *adam, int64_t step, ctune_nn_params *params);

#endif

/*
 * The inside of the tape: nodes, memory, and one row an operator.
 *
 *   tape.c       memory, errors, the backward walk
 *   op_dense.c   products, sums, activations
 *   op_rows.c    softmax, norms, what moves rows and columns
 *   op_attend.c  attention
 */
#ifndef CTUNE_COSTMODEL_NN_TAPE_PRIVATE_H
#define CTUNE_COSTMODEL_NN_TAPE_PRIVATE_H

#include "costmodel/nn/tape.h"

#include <string.h>

/* Each has a function nn_back_<name>. Leaves have none. */
#define NN_OP_TABLE(X)                                                                             \
    X(matmul)                                                                                      \
    X(add_row)                                                                                     \
    X(mul_row)                                                                                     \
    X(mul_col)                                                                                     \
    X(add)                                                                                         \
    X(mul)                                                                                         \
    X(affine)                                                                                      \
    X(relu)                                                                                        \
    X(gelu)                                                                                        \
    X(tanh)                                                                                        \
    X(sigmoid)                                                                                     \
    X(softmax)                                                                                     \
    X(norm)                                                                                        \
    X(gather)                                                                                      \
    X(segment_sum)                                                                                 \
    X(segment_mean)                                                                                \
    X(concat)                                                                                      \
    X(stack)                                                                                       \
    X(slice)                                                                                       \
    X(attention)

typedef enum nn_op {
    NN_OP_input,
    NN_OP_use,
#define X(name) NN_OP_##name,
    NN_OP_TABLE(X)
#undef X
} nn_op;

typedef struct nn_node {
    nn_op op;
    int rows, cols;
    int from[3];         /* operands, -1 = none */
    bool wants_grad;     /* some parameter is below */
    const float *value;  /* [rows][cols] */
    float *grad;         /* likewise, once the backward walk has come here; else NULL */
    ctune_nn_param *use; /* leaf: the parameter */
    int n_ids;
    int *ids;
    float factor;
    int number; /* slice: first column; attention: heads */
    float *aux; /* what the backward pass needs beside values */
} nn_node;

void nn_fail(ctune_nn_tape *tape, ctune_status status, const char *what);
bool nn_has_failed(const ctune_nn_tape *tape);
const ctune_blas *nn_blas(const ctune_nn_tape *tape);
nn_node *nn_get(ctune_nn_tape *tape, ctune_nn_var x);
/* Memory until the reset, not cleared. NULL: failed. */
float *nn_floats(ctune_nn_tape *tape, size_t n);
/* A node with room for its value in *value, or -1. Pointers to nodes die with the next one. */
ctune_nn_var nn_add(ctune_nn_tape *tape, nn_op op, int rows, int cols, ctune_nn_var a,
                    ctune_nn_var b, float **value);
/* Copies ids into the node; false: no memory, or an id out of least..most - 1. */
bool nn_set_ids(ctune_nn_tape *tape, ctune_nn_var x, int n, const int *ids, int least, int most);
/* Are all of them matrices of this tape? Fails when not. */
bool nn_check(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
/* The gradient of an operand, cleared at its first use; NULL: it wants none, or memory is out. */
float *nn_grad(ctune_nn_tape *tape, ctune_nn_var x);

static inline size_t nn_size(const nn_node *node) {
    return (size_t)node->rows * (size_t)node->cols;
}

/* exp without a call, so that loops over it become vectors: two steps of range reduction and a
 * polynomial (after Cephes); off by 2e-7 of itself at most. Below -87: about 1e-38. */
static inline float nn_exp(float x) {
    x = x > 88 ? 88 : x;
    x = x > -87 ? x : -87;
    float k = x * 1.44269504f + 12582912.0f; /* the nearest integer is in its last bits */
    int32_t bits;
    memcpy(&bits, &k, sizeof bits);
    k -= 12582912.0f;
    x = x - k * 0.693359375f + k * 2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * x + 1.3981999507e-3f;
    y = y * x + 8.3334519073e-3f;
    y = y * x + 4.1665795894e-2f;
    y = y * x + 1.6666665459e-1f;
    y = y * x + 5.0000001201e-1f;
    y = y * x * x + x + 1;
    bits = (int32_t)(((uint32_t)bits << 23) + 0x3f800000u);
    float power;
    memcpy(&power, &bits, sizeof power);
    return y * power;
}

/* A row becomes its softmax. Four at a time: maxima and sums of one chain have no vectors. */
static inline void nn_softmax_row(float *row, int n) {
    float most[4] = {row[0], row[0], row[0], row[0]}, sum[4] = {0, 0, 0, 0};
    int c = 0;
    for (; c + 4 <= n; c += 4) {
        for (int k = 0; k < 4; k++) {
            most[k] = row[c + k] > most[k] ? row[c + k] : most[k];
        }
    }
    for (; c < n; c++) {
        most[0] = row[c] > most[0] ? row[c] : most[0];
    }
    for (int k = 1; k < 4; k++) {
        most[0] = most[k] > most[0] ? most[k] : most[0];
    }
    float largest = most[0];
    for (c = 0; c < n; c++) {
        row[c] = nn_exp(row[c] - largest);
    }
    for (c = 0; c + 4 <= n; c += 4) {
        for (int k = 0; k < 4; k++) {
            sum[k] += row[c + k];
        }
    }
    for (; c < n; c++) {
        sum[0] += row[c];
    }
    float scale = 1 / ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (c = 0; c < n; c++) {
        row[c] *= scale;
    }
}

/* x: the node whose gradient is known. */
#define X(name) void nn_back_##name(ctune_nn_tape *tape, const nn_node *x);
NN_OP_TABLE(X)
#undef X

#endif

/*
 * Tape: reverse-mode differentiation over matrices, as much of it as the neural models need.
 *
 * Each call computes a value at once and notes how; ctune_nn_backward walks the notes the other way
 * and adds what each parameter contributed to its gradient. Sequences and trees have no padding:
 * the items of all samples of a batch are rows of one matrix, and operators that look across items
 * get the sample of each row, or where each sample's rows begin. So a cropped sequence costs what
 * it holds, and no mask can be forgotten.
 *
 * Errors are sticky: after the first (no memory, or shapes that do not fit) all calls return -1 and
 * take it, and ctune_nn_status has the words. Values live until the next reset.
 */
#ifndef CTUNE_COSTMODEL_NN_TAPE_H
#define CTUNE_COSTMODEL_NN_TAPE_H

#include "costmodel/nn/blas.h"
#include "costmodel/nn/params.h"

typedef struct ctune_nn_tape ctune_nn_tape;
typedef int ctune_nn_var; /* a matrix on the tape; -1 = none */

/* blas: borrowed. Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_nn_tape_create(ctune_ctx *ctx, const ctune_blas *blas,
                                                 ctune_nn_tape **out);
void ctune_nn_tape_destroy(ctune_nn_tape *tape);
/* Empty again; its memory is kept for the next use. ctx: where errors go from now on. */
void ctune_nn_tape_reset(ctune_ctx *ctx, ctune_nn_tape *tape);
/* The sticky error, CTUNE_OK without one. */
CTUNE_MUST_USE ctune_status ctune_nn_status(const ctune_nn_tape *tape);

/* Only of variables >= 0. */
int ctune_nn_rows(const ctune_nn_tape *tape, ctune_nn_var x);
int ctune_nn_cols(const ctune_nn_tape *tape, ctune_nn_var x);
const float *ctune_nn_value(const ctune_nn_tape *tape, ctune_nn_var x);

/* Adds d(sum of seed * x) to the gradients of the parameters; seed [rows][cols] of x. Once a reset.
 */
CTUNE_MUST_USE ctune_status ctune_nn_backward(ctune_nn_tape *tape, ctune_nn_var x,
                                              const float *seed);

/* Room for n numbers until the reset; NULL: failed. */
int *ctune_nn_ints(ctune_nn_tape *tape, int n);

/* ---- leaves ---------------------------------------------------------------------------------- */
/* A constant. values borrowed until the reset. */
ctune_nn_var ctune_nn_input(ctune_nn_tape *tape, int rows, int cols, const float *values);
ctune_nn_var ctune_nn_zeros(ctune_nn_tape *tape, int rows, int cols); /* constants, too */
/* param borrowed until the reset; its values must not change before. */
ctune_nn_var ctune_nn_use(ctune_nn_tape *tape, ctune_nn_param *param);

/* ---- dense ----------------------------------------------------------------------------------- */
ctune_nn_var ctune_nn_matmul(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
/* b: one row, added to (multiplied with) each row of a. */
ctune_nn_var ctune_nn_add_row(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
ctune_nn_var ctune_nn_mul_row(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
/* b: one column, multiplied with each column of a. */
ctune_nn_var ctune_nn_mul_col(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
/* a + factor * b, a * b: element by element. */
ctune_nn_var ctune_nn_add(ctune_nn_tape *tape, ctune_nn_var a, float factor, ctune_nn_var b);
ctune_nn_var ctune_nn_mul(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
/* factor * a + shift */
ctune_nn_var ctune_nn_affine(ctune_nn_tape *tape, ctune_nn_var a, float factor, float shift);
ctune_nn_var ctune_nn_relu(ctune_nn_tape *tape, ctune_nn_var a);
ctune_nn_var ctune_nn_gelu(ctune_nn_tape *tape, ctune_nn_var a); /* the form with tanh */
ctune_nn_var ctune_nn_tanh(ctune_nn_tape *tape, ctune_nn_var a);
ctune_nn_var ctune_nn_sigmoid(ctune_nn_tape *tape, ctune_nn_var a);

/* ---- within rows ----------------------------------------------------------------------------- */
ctune_nn_var ctune_nn_softmax(ctune_nn_tape *tape, ctune_nn_var a);
/* Each row to mean 0 and variance 1. Scale and shift: mul_row, add_row. */
ctune_nn_var ctune_nn_norm(ctune_nn_tape *tape, ctune_nn_var a);

/* ---- rows and columns; ids are copied -------------------------------------------------------- */
/* Row i of the result is row ids[i] of a: an embedding, when a is a table. */
ctune_nn_var ctune_nn_gather(ctune_nn_tape *tape, ctune_nn_var a, int n, const int *ids);
/* Row s of the result is the sum (mean) of the rows i with ids[i] == s; ids [rows of a], in
 * 0..n_segments - 1, or below 0: left out. Without rows: 0. */
ctune_nn_var ctune_nn_segment_sum(ctune_nn_tape *tape, ctune_nn_var a, int n_segments,
                                  const int *ids);
ctune_nn_var ctune_nn_segment_mean(ctune_nn_tape *tape, ctune_nn_var a, int n_segments,
                                   const int *ids);
/* Side by side; one above the other. */
ctune_nn_var ctune_nn_concat(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
ctune_nn_var ctune_nn_stack(ctune_nn_tape *tape, ctune_nn_var a, ctune_nn_var b);
/* Columns first .. first + n - 1. */
ctune_nn_var ctune_nn_slice(ctune_nn_tape *tape, ctune_nn_var a, int first, int n);

/* ---- attention ------------------------------------------------------------------------------- */
/* softmax(q k' / sqrt(cols / heads)) v, heads side by side, each sample for itself: sample i has
 * the rows start[i] .. start[i + 1] - 1. start [n_samples + 1] is copied. */
ctune_nn_var ctune_nn_attention(ctune_nn_tape *tape, ctune_nn_var q, ctune_nn_var k, ctune_nn_var v,
                                int heads, int n_samples, const int *start);

#endif

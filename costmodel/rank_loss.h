/*
 * Losses over the scores of one task, with their gradients. No model: what trains by gradients uses
 * them.
 */
#ifndef CTUNE_COSTMODEL_RANK_LOSS_H
#define CTUNE_COSTMODEL_RANK_LOSS_H

#include "runtime/base.h"

enum { CTUNE_RANK_LOSS_ROWS = 512 }; /* most of one call */

/*
 * LambdaRank (Burges 2006) as TLP has it: over pairs with labels y_i > y_j the weight |1/D_i -
 * 1/D_j| * |G_i - G_j| times -log2 of logistic(s_i - s_j); D = log2(1 + rank by score), G = (2^y -
 * 1) / the largest possible sum of G/D. So who is fast at the top of the order counts, the order of
 * slow rows does not. Weights are constants to the gradient.
 *
 * labels [n], best time of the task / time, failures 0. Adds to gradient [n] of the scores; returns
 * the loss. n at most CTUNE_RANK_LOSS_ROWS: more are left out.
 */
double ctune_loss_lambda_rank(size_t n, const float *labels, const float *scores, float *gradient);

/* Mean squared error of log2(label), at least -6, up to a constant of the task. Likewise. */
double ctune_loss_mse(size_t n, const float *labels, const float *scores, float *gradient);

#endif

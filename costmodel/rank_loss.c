/* Losses: see rank_loss.h. */
#include "costmodel/rank_loss.h"

#include <math.h>
#include <string.h>

static const float least_target = -6;

/* Ranks from 1, best first; equal values keep their order. n is small: by counting. */
static void ranks_get(size_t n, const float *values, int *rank) {
    for (size_t i = 0; i < n; i++) {
        rank[i] = 1;
        for (size_t j = 0; j < n; j++) {
            rank[i] += values[j] > values[i] || (values[j] == values[i] && j < i);
        }
    }
}

static void discounts_get(size_t n, const int *rank, float *discount) {
    for (size_t i = 0; i < n; i++) {
        discount[i] = 1 / log2f(1 + (float)rank[i]);
    }
}

double ctune_loss_lambda_rank(size_t n, const float *labels, const float *scores, float *gradient) {
    static const float log2_e = 1.44269504f;
    int rank[CTUNE_RANK_LOSS_ROWS];
    float discount[CTUNE_RANK_LOSS_ROWS], gain[CTUNE_RANK_LOSS_ROWS];
    double best = 0, loss = 0;
    n = n < CTUNE_RANK_LOSS_ROWS ? n : CTUNE_RANK_LOSS_ROWS;
    ranks_get(n, labels, rank);
    discounts_get(n, rank, discount);
    for (size_t i = 0; i < n; i++) {
        gain[i] = exp2f(labels[i]) - 1;
        best += (double)gain[i] * discount[i];
    }
    if (best <= 0) {
        return 0; /* all failed */
    }
    ranks_get(n, scores, rank);
    discounts_get(n, rank, discount);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            if (labels[i] <= labels[j]) {
                continue;
            }
            float weight = fabsf(discount[i] - discount[j]) * (gain[i] - gain[j]) / (float)best;
            float apart = scores[i] - scores[j];
            /* logistic(-apart), without overflow */
            float wrong = apart > 0 ? expf(-apart) / (1 + expf(-apart)) : 1 / (1 + expf(apart));
            float step = weight * wrong * log2_e;
            loss += weight * log2_e * (log1pf(expf(-fabsf(apart))) + (apart < 0 ? -apart : 0));
            gradient[i] -= step;
            gradient[j] += step;
        }
    }
    return loss;
}

static float target_of(float label) {
    return label > 0 ? fmaxf(log2f(label), least_target) : least_target;
}

double ctune_loss_mse(size_t n, const float *labels, const float *scores, float *gradient) {
    double mean = 0, loss = 0;
    for (size_t i = 0; i < n; i++) {
        mean += (double)(scores[i] - target_of(labels[i])) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double error = scores[i] - target_of(labels[i]) - mean;
        loss += error * error / (double)n;
        gradient[i] += (float)(2 * error / (double)n);
    }
    return loss;
}

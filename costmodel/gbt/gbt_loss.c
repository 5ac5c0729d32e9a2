/*
 * Gradients of the two objectives.
 *
 * Rank: for two rows of a task with targets a and b, the model's chance that the first is the
 * faster one is s((f_a - f_b) / WIDTH), s the logistic function, and it should be s((a - b) /
 * WIDTH): cross-entropy, as AutoTVM's rank loss with the hard 0 or 1 replaced by how clear the case
 * is. Two things come with that which XGBoost's rank:pairwise does not have: the optimum is the
 * target itself, so that scores, and the base margins that correct them, are in units of log2(time)
 * without a second fit; and a pair can have a weight, here that of its faster row: who is the best
 * matters, the order of slow rows does not. Per-query weights are all that rank:pairwise takes.
 *
 * Regression: squared error of the target, weighted towards the fast end. Scores are defined up to
 * a constant per task: the best one is taken out of the error in each round, so that no tree is
 * spent on the tasks' means.
 */
#include "costmodel/gbt/gbt_private.h"

#include "runtime/rng.h"

#include <math.h>
#include <string.h>

enum { N_PARTNERS = 16 }; /* drawn for each row and round in a task of more than twice that */
static const float width = 0.5f;

static float logistic(float x) {
    return 1 / (1 + expf(-x));
}

static void pair_add(const ctune_gbt_rows *rows, float scale, size_t i, size_t j,
                     const float *predictions, float *gradient, float *curvature) {
    if (rows->label[i] <= 0 && rows->label[j] <= 0) {
        return; /* both failed */
    }
    float is = logistic((predictions[i] - predictions[j]) / width);
    float should = logistic((rows->target[i] - rows->target[j]) / width);
    float weight = scale * fmaxf(rows->weight[i], rows->weight[j]);
    float slope = 4 * width * weight * (is - should);
    float bend = 4 * weight * fmaxf(is * (1 - is), 1e-3f);
    gradient[i] += slope;
    gradient[j] -= slope;
    curvature[i] += bend;
    curvature[j] += bend;
}

static void rank_get(const ctune_gbt_rows *rows, ctune_rng *rng, const float *predictions,
                     float *gradient, float *curvature) {
    memset(gradient, 0, rows->n_rows * sizeof *gradient);
    memset(curvature, 0, rows->n_rows * sizeof *curvature);
    for (int g = 0; g < rows->n_groups; g++) {
        size_t first = rows->group[g], n = rows->group[g + 1] - first;
        bool is_sampled = n > 2 * N_PARTNERS;
        float scale = 1 / (float)(is_sampled ? 2 * N_PARTNERS : n);
        for (size_t i = 0; i < n; i++) {
            size_t n_partners = is_sampled ? N_PARTNERS : i;
            for (size_t k = 0; k < n_partners; k++) {
                size_t j = is_sampled ? (size_t)ctune_rng_below(rng, n) : k;
                if (i != j) {
                    pair_add(rows, scale, first + i, first + j, predictions, gradient, curvature);
                }
            }
        }
    }
}

static void regression_get(const ctune_gbt_rows *rows, const float *predictions, float *gradient,
                           float *curvature) {
    for (int g = 0; g < rows->n_groups; g++) {
        double error = 0, weights = 0;
        for (size_t i = rows->group[g]; i < rows->group[g + 1]; i++) {
            error += rows->weight[i] * (predictions[i] - rows->target[i]);
            weights += rows->weight[i];
        }
        float mean = weights > 0 ? (float)(error / weights) : 0;
        for (size_t i = rows->group[g]; i < rows->group[g + 1]; i++) {
            gradient[i] = rows->weight[i] * (predictions[i] - rows->target[i] - mean);
            curvature[i] = rows->weight[i];
        }
    }
}

void ctune_gbt_loss_get(const ctune_gbt_rows *rows, const ctune_gbt_options *options, int round,
                        const float *predictions, float *gradient, float *curvature) {
    if (options->objective == CTUNE_GBT_REGRESSION) {
        regression_get(rows, predictions, gradient, curvature);
        return;
    }
    ctune_rng rng;
    ctune_rng_init(&rng, options->seed ^ ((uint64_t)round << 32));
    rank_get(rows, &rng, predictions, gradient, curvature);
}

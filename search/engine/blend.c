/*
 * How much the model counts against the corrected estimate.
 *
 * Each batch is a test that neither has seen: before its results are learned, the predictions made
 * when it was proposed are compared with them, pair by pair. The weights are the squared odds of
 * the two accuracies. So a model that misleads loses its say after a batch or two, and a blend of
 * two that are about equally good is better than either.
 */
#include "search/engine/engine_private.h"

#include <math.h>

/* Before there is evidence, and weighing as much as so many pairs (half of a batch). */
enum { PRIOR_PAIRS = 60 };
static const double PRIOR_ESTIMATE = 0.7, PRIOR_TRAINED = 0.8, PRIOR_UNTRAINED = 0.65;

static const double FADING = 0.75;        /* what a batch's evidence keeps when the next comes */
static const double LEAST_APART = 0.0704; /* log2(1.05) */

static bool is_comparable(double a, double b) {
    return (isfinite(a) || isfinite(b)) && !(fabs(a - b) < LEAST_APART);
}

static void count(accuracy *a, double x, double y, bool is_x_faster) {
    a->pairs += 1;
    a->right += x == y ? 0.5 : (x < y) == is_x_faster;
}

static void fade(accuracy *a) {
    a->right *= FADING;
    a->pairs *= FADING;
}

double accuracy_get(const accuracy *a) {
    return a->pairs > 0 ? a->right / a->pairs : NAN;
}

static double odds(const accuracy *a, double prior) {
    double p = (a->right + prior * PRIOR_PAIRS) / (a->pairs + PRIOR_PAIRS);
    p = p > 0.98 ? 0.98 : p;
    return p > 0.5 ? p / (1 - p) : 0;
}

void blend_weigh(engine *e) {
    double m = odds(&e->lead.by_model, e->lead.came_trained ? PRIOR_TRAINED : PRIOR_UNTRAINED);
    double b = odds(&e->lead.by_estimate, PRIOR_ESTIMATE);
    e->lead.weight = m > 0 ? m * m / (m * m + b * b) : 0;
    if (e->options.no_ensemble) {
        e->lead.weight = 1;
    }
}

void blend_update(engine *e, const proposal *list, const double *times, int n) {
    fade(&e->lead.by_estimate);
    fade(&e->lead.by_model);
    fade(&e->lead.by_score);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            if (!is_comparable(times[i], times[j])) {
                continue;
            }
            bool is_faster = times[i] < times[j];
            count(&e->lead.by_estimate, list[i].base, list[j].base, is_faster);
            count(&e->lead.by_score, list[i].blend, list[j].blend, is_faster);
            if (!isnan(list[i].model) && !isnan(list[j].model)) {
                count(&e->lead.by_model, list[i].model, list[j].model, is_faster);
            }
        }
    }
    blend_weigh(e);
}

/* Weighted least squares, slope pulled to 1: scores are log2 of time but for a constant, and the
 * fast samples are those that matter. */
void blend_calibrate(engine *e) {
    enum { PRIOR = 20 };
    double m = 0, mx = 0, my = 0, xx = 0, xy = 0;
    double best = e->n_top > 0 ? e->samples[e->top[0]].time : 0;
    for (int i = 0; i < e->n_samples; i++) {
        const sample *s = &e->samples[i];
        if (!isnan(s->model) && isfinite(s->time)) {
            double w = exp2(-0.7 * fmin(s->time - best, 6)), dx = s->model - mx, dy = s->time - my;
            m += w;
            mx += w / m * dx;
            my += w / m * dy;
            xx += w * dx * (s->model - mx);
            xy += w * dx * (s->time - my);
        }
    }
    if (m > 0) {
        double slope = (xy + PRIOR) / (xx + PRIOR);
        e->lead.slope = slope < 0.5 ? 0.5 : slope > 1.5 ? 1.5 : slope;
        e->lead.bias = my - e->lead.slope * mx;
    }
    blend_weigh(e);
}

double blend_score(const engine *e, double base, double model) {
    if (isnan(model) || !isfinite(base)) {
        return base;
    }
    double by_model = e->lead.slope * model + e->lead.bias;
    return e->lead.weight * by_model + (1 - e->lead.weight) * base;
}

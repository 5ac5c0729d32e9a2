/*
 * The learned correction of the estimate: additive over decisions, fitted by backfitting. See
 * engine_private.h.
 *
 * The estimate is right about large differences and wrong about what it does not model (a compiler
 * that spills, a form whose partial tiles are slow). Those errors mostly belong to single
 * decisions, so one weight per decision value, pulled to zero, learns them from a few dozen
 * measurements. Fast samples count more: it is their neighbourhood that matters.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PASSES = 8 };
static const double RIDGE = 1.5, SLOPE_PRIOR = 20, CLIP = 6;

bool residual_init(residual *r, const ctune_space *space) {
    memset(r, 0, sizeof *r);
    r->n_decisions = ctune_space_n_decisions(space);
    for (int j = 0; j < r->n_decisions; j++) {
        r->offset[j + 1] = r->offset[j] + ctune_space_n_choices(space, j);
    }
    size_t n = (size_t)r->offset[r->n_decisions] + 1;
    r->slope = 1;
    r->weight = calloc(n, sizeof *r->weight);
    r->sum = calloc(n, sizeof *r->sum);
    r->mass = calloc(n, sizeof *r->mass);
    return r->weight != NULL && r->sum != NULL && r->mass != NULL;
}

void residual_clear(residual *r) {
    free(r->weight);
    free(r->sum);
    free(r->mass);
    memset(r, 0, sizeof *r);
}

static int slot_of(const residual *r, const ctune_point *point, int j) {
    int v = j < point->n ? point->decision[j] : 0;
    bool is_valid = v >= 0 && v < r->offset[j + 1] - r->offset[j];
    return r->offset[j] + (is_valid ? v : 0);
}

static double weights(const residual *r, const ctune_point *point) {
    double sum = 0;
    for (int j = 0; j < r->n_decisions; j++) {
        sum += r->weight[slot_of(r, point, j)];
    }
    return sum;
}

double residual_predict(const residual *r, const ctune_point *point, double estimate) {
    return r->slope * estimate + r->bias + weights(r, point);
}

/* What is to be explained: failures count as much slower than the estimate. */
static double target_of(const sample *s) {
    double off = isfinite(s->time) ? s->time - s->estimate : 3;
    return s->estimate + (off > CLIP ? CLIP : off < -CLIP ? -CLIP : off);
}

static double mass_of(const sample *s, double best) {
    double slower = isfinite(s->time) ? s->time - best : 2;
    return exp2(-0.7 * (slower < 0 ? 0 : slower > 6 ? 6 : slower));
}

/* One sample while the correction is fitted. */
typedef struct point_of_fit {
    double estimate, target, mass;
    double weights; /* sum of its decisions' weights, kept up to date */
} point_of_fit;

/* Slope and bias of (target - weights) over the estimate, slope pulled to 1. */
static void fit_line(residual *r, const point_of_fit *p, int n) {
    double m = 0, mx = 0, my = 0, xx = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        m += p[i].mass;
        mx += p[i].mass * p[i].estimate;
        my += p[i].mass * (p[i].target - p[i].weights);
    }
    mx /= m;
    my /= m;
    for (int i = 0; i < n; i++) {
        double x = p[i].estimate - mx;
        xx += p[i].mass * x * x;
        xy += p[i].mass * x * (p[i].target - p[i].weights - my);
    }
    double slope = (xy + SLOPE_PRIOR) / (xx + SLOPE_PRIOR);
    r->slope = slope < 0.3 ? 0.3 : slope > 1.2 ? 1.2 : slope;
    r->bias = my - r->slope * mx;
}

/* One decision's weights from what all others leave. */
static void fit_decision(residual *r, const sample *samples, point_of_fit *p, int n, int j) {
    int first = r->offset[j], count = r->offset[j + 1] - first;
    memset(r->sum + first, 0, (size_t)count * sizeof *r->sum);
    memset(r->mass + first, 0, (size_t)count * sizeof *r->mass);
    for (int i = 0; i < n; i++) {
        int slot = slot_of(r, &samples[i].point, j);
        p[i].weights -= r->weight[slot];
        double left = p[i].target - (r->slope * p[i].estimate + r->bias + p[i].weights);
        r->sum[slot] += p[i].mass * left;
        r->mass[slot] += p[i].mass;
    }
    for (int k = first; k < first + count; k++) {
        r->weight[k] = r->sum[k] / (r->mass[k] + RIDGE);
    }
    for (int i = 0; i < n; i++) {
        p[i].weights += r->weight[slot_of(r, &samples[i].point, j)];
    }
}

bool residual_fit(residual *r, const sample *samples, int n, double best) {
    if (n < 8) {
        return true;
    }
    point_of_fit *p = calloc((size_t)n, sizeof *p);
    if (p == NULL) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        p[i] = (point_of_fit){samples[i].estimate, target_of(&samples[i]),
                              mass_of(&samples[i], best), weights(r, &samples[i].point)};
    }
    for (int pass = 0; pass < N_PASSES; pass++) {
        fit_line(r, p, n);
        for (int j = 0; j < r->n_decisions; j++) {
            if (r->offset[j + 1] - r->offset[j] > 1) {
                fit_decision(r, samples, p, n, j);
            }
        }
    }
    free(p);
    return true;
}

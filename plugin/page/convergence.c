/*
 * Speed of each measured candidate, and of the best so far, over the order of measurements.
 */
#include "plugin/page/page_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double ctune_page_ratio(const ctune_page_trial *trial) {
    bool is_timed =
        trial->outcome == CTUNE_RUN_OK && trial->median_ns > 0 && trial->original_ns > 0;
    return is_timed ? trial->original_ns / trial->median_ns : NAN;
}

static void put_points(const ctune_plot *plot, const ctune_page_nest *nest, ctune_text *out) {
    for (int i = 0; i < nest->n_trials; i++) {
        char tip[64];
        double ratio = ctune_page_ratio(&nest->trial[i]);
        snprintf(tip, sizeof tip, "%d: %.3g x", i + 1, ratio);
        ctune_plot_point(plot, i + 1, ratio, "#7aa6d8", true, tip, out);
    }
}

bool ctune_page_convergence(const ctune_page_nest *nest, ctune_text *out) {
    ctune_plot plot = {
        .title = "Candidates in the order of measurement",
        .width = 560,
        .height = 320,
        .x = {.label = "candidate", .min = 0, .max = nest->n_trials + 1.0},
        .y = {.label = "original / candidate", .is_log = true, .min = INFINITY, .max = 0}};
    double *x = calloc((size_t)nest->n_trials + 1, sizeof *x);
    double *best = calloc((size_t)nest->n_trials + 1, sizeof *best);
    int n_timed = 0;
    for (int i = 0; x != NULL && best != NULL && i < nest->n_trials; i++) {
        double ratio = ctune_page_ratio(&nest->trial[i]);
        x[i] = i + 1;
        best[i] = fmax(i > 0 ? best[i - 1] : 1, isfinite(ratio) ? ratio : 1);
        n_timed += isfinite(ratio);
        ctune_axis_include(&plot.y, ratio);
    }
    if (n_timed > 0) {
        ctune_axis_include(&plot.y, best[nest->n_trials - 1]);
        plot.y.min *= 0.9;
        plot.y.max *= 1.1;
        ctune_plot_begin(&plot, out);
        put_points(&plot, nest, out);
        ctune_plot_line(&plot, nest->n_trials, x, best, "#c0392b", out);
        ctune_plot_end(out);
    }
    free(x);
    free(best);
    return n_timed > 0;
}

/*
 * The roofline (Williams, Waterman, Patterson 2009): speed over operations per byte, below the
 * ceilings of one core: its multiply-adds, and what each level of memory can read.
 *
 * The bytes are those of the arrays, each moved once: the least traffic with memory, so the point
 * stands as far right as the nest allows.
 */
#include "plugin/page/page_private.h"

#include <math.h>
#include <stdio.h>

enum { N_LEVELS = 4 };

static double peak_gflops(const ctune_page_nest *nest) {
    const ctune_target *t = nest->target;
    double lanes = t->vector_bytes / (nest->is_f64 ? 8.0 : 4.0);
    double fma = nest->is_f64 ? t->rates.fma_f64_per_cycle : t->rates.fma_per_cycle;
    return 2 * lanes * fma * t->ghz;
}

static void put_ceilings(const ctune_plot *plot, const ctune_page_nest *nest, ctune_text *out) {
    static const char *const names[N_LEVELS] = {"L1", "L2", "L3", "memory"};
    const double peak = peak_gflops(nest);
    for (int i = 0; i < N_LEVELS; i++) {
        double rate = nest->target->rates.bytes_per_cycle[i] * nest->target->ghz;
        double ridge = fmin(peak / rate, plot->x.max),
               begin = fmax(plot->x.min, plot->y.min / rate);
        double x[] = {begin, ridge}, y[] = {begin * rate, ridge * rate};
        char words[64];
        if (begin < ridge) {
            ctune_plot_line(plot, 2, x, y, "#999", out);
            snprintf(words, sizeof words, "%s %.3g GB/s", names[i], rate);
            ctune_plot_words(plot, begin, begin * rate, words, out);
        }
    }
    double x[] = {plot->x.min, plot->x.max}, y[] = {peak, peak};
    char words[64];
    snprintf(words, sizeof words, "%s multiply-adds %.3g GFLOP/s", nest->is_f64 ? "f64" : "f32",
             peak);
    ctune_plot_line(plot, 2, x, y, "#555", out);
    ctune_plot_words(plot, plot->x.min, peak, words, out);
}

bool ctune_page_roofline(const ctune_page_nest *nest, ctune_text *out) {
    if (!(nest->flops > 0) || !(nest->bytes > 0) || !nest->has_entry || !(nest->tuned_ns > 0)) {
        return false;
    }
    double x = nest->flops / nest->bytes, tuned = nest->flops / nest->tuned_ns;
    double original = tuned / fmax(nest->speedup, 1e-9), peak = peak_gflops(nest);
    ctune_plot plot = {.title = nest->target->is_measured ? "Roofline, ceilings measured"
                                                          : "Roofline, ceilings by default",
                       .width = 560,
                       .height = 320,
                       .x = {"operations per byte of the arrays", true, x / 4, x * 4},
                       .y = {"GFLOP/s", true, original / 4, peak * 2}};
    ctune_axis_include(&plot.x, 1.0 / 16);
    ctune_axis_include(&plot.x, 16);
    ctune_axis_include(&plot.y, tuned * 2);
    ctune_plot_begin(&plot, out);
    put_ceilings(&plot, nest, out);
    char before[64], after[64], both[132];
    snprintf(before, sizeof before, "original %.3g", original);
    snprintf(after, sizeof after, "tuned %.3g", tuned);
    snprintf(both, sizeof both, "%s, %s", before, after);
    bool is_near = fabs(log2(tuned / original)) < 0.8; /* words would lie on words */
    ctune_plot_point(&plot, x, original, "#2c5f9e", true, before, out);
    ctune_plot_point(&plot, x, tuned, "#c0392b", false, after, out);
    ctune_plot_words(&plot, x, is_near ? fmax(tuned, original) : tuned, is_near ? both : after,
                     out);
    if (!is_near) {
        ctune_plot_words(&plot, x, original, before, out);
    }
    ctune_plot_end(out);
    return true;
}

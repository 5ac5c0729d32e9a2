/*
 * A page about what tuning did: one HTML file without scripts or anything from the network.
 *
 * In: nests, each with its measurements on one target, its code before and after. Out: the page,
 * and its plots one by one (SVG).
 */
#ifndef CTUNE_PLUGIN_PAGE_PAGE_H
#define CTUNE_PLUGIN_PAGE_PAGE_H

#include "runtime/runner.h"
#include "runtime/text.h"
#include "search/target/target.h"

/* One measurement, in the order in which they were made. */
typedef struct ctune_page_trial {
    ctune_run_outcome outcome;
    double median_ns, original_ns; /* NaN or 0: not measured */
} ctune_page_trial;

/* A nest at one combination of sizes on one target. Texts may be empty, none is NULL; all
 * borrowed. */
typedef struct ctune_page_nest {
    const char *region, *file, *sizes, *key;
    int line;
    const ctune_target *target; /* facts of the key */
    bool is_here;               /* the target that the source was opened with */
    double flops;               /* of one run, 0 = not countable */
    double bytes;               /* that all arrays of the nest have: its least memory traffic */
    bool is_f64;                /* the element type whose peak counts */
    int n_trials;
    const ctune_page_trial *trial;
    /* The lock's entry. */
    bool has_entry;
    double tuned_ns, speedup;
    const char *verified, *schedule;
    /* Source, emitted C, innermost loops in assembly. */
    const char *before, *after, *hot_before, *hot_after;
} ctune_page_nest;

/* Appends the page. */
void ctune_page_print(const ctune_page_nest *nests, int n, ctune_text *out);

/* id, word in file names. One plot a row. */
#define CTUNE_PAGE_PLOT_TABLE(X)                                                                   \
    X(CONVERGENCE, "convergence")                                                                  \
    X(ROOFLINE, "roofline")

typedef enum ctune_page_plot {
#define X(id, word) CTUNE_PAGE_##id,
    CTUNE_PAGE_PLOT_TABLE(X)
#undef X
        CTUNE_N_PAGE_PLOTS
} ctune_page_plot;
const char *ctune_page_plot_word(ctune_page_plot plot);
/* Appends the SVG; false, and nothing is appended, when there is nothing to plot. */
bool ctune_page_plot_print(ctune_page_plot plot, const ctune_page_nest *nest, ctune_text *out);

#endif

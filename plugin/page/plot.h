/*
 * Plots as SVG text: axes, lines, points. Each is complete by itself (colours as attributes, no
 * style sheet), so that it can stand in a page or in a file of its own.
 */
#ifndef CTUNE_PLUGIN_PAGE_PLOT_H
#define CTUNE_PLUGIN_PAGE_PLOT_H

#include "runtime/text.h"

typedef struct ctune_axis {
    const char *label;
    bool is_log;
    double min, max; /* min < max; > 0 when logarithmic */
} ctune_axis;

typedef struct ctune_plot {
    const char *title;
    int width, height; /* pixels */
    ctune_axis x, y;
} ctune_plot;

/* Widens an axis so that it holds the value; values that it cannot show (not finite; not positive
 * on a logarithmic one) change nothing. */
void ctune_axis_include(ctune_axis *axis, double value);

/* The bytes of text as they stand in HTML and SVG: < > & " are escaped, control characters left
 * out. */
void ctune_markup_escape(const char *text, ctune_text *out);

void ctune_plot_begin(const ctune_plot *plot, ctune_text *out);
/* Points outside of the axes are left out; lines are cut at them. */
void ctune_plot_line(const ctune_plot *plot, int n, const double *x, const double *y,
                     const char *color, ctune_text *out);
void ctune_plot_point(const ctune_plot *plot, double x, double y, const char *color, bool is_hollow,
                      const char *tip, ctune_text *out);
/* Words beside and above (x, y): on its right, on its left near the right edge. */
void ctune_plot_words(const ctune_plot *plot, double x, double y, const char *words,
                      ctune_text *out);
void ctune_plot_end(ctune_text *out);

#endif

/*
 * The page's plots, one a file.
 */
#ifndef CTUNE_PLUGIN_PAGE_PAGE_PRIVATE_H
#define CTUNE_PLUGIN_PAGE_PAGE_PRIVATE_H

#include "plugin/page/page.h"
#include "plugin/page/plot.h"

double ctune_page_ratio(const ctune_page_trial *trial); /* original / candidate, NaN = not timed */
/* false: nothing to plot, nothing appended. */
bool ctune_page_convergence(const ctune_page_nest *nest, ctune_text *out);
bool ctune_page_roofline(const ctune_page_nest *nest, ctune_text *out);

#endif

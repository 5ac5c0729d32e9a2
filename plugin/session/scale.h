/*
 * Scale: the sizes at which a search measures. Those that were asked for, unless one run of the
 * original there takes too much of the budget, or its data more memory than is allowed.
 */
#ifndef CTUNE_PLUGIN_SESSION_SCALE_H
#define CTUNE_PLUGIN_SESSION_SCALE_H

#include "plugin/session/session.h"

typedef struct ctune_scale {
    bool is_scaled;
    int64_t wanted[CTUNE_RUN_MAX_PARAMS]; /* what was asked for */
    char text[256];                       /* the same in words, as ctune_sized.text */
    double factor;     /* estimated time of the original there / at the sizes measured; 1 */
    double original_s; /* estimated time of one run there; 0 = not estimated */
    const char *why;   /* static text for people */
} ctune_scale;

/*
 * sized     in: what was asked for; out: what is measured
 * budget_s  of the search; 0 = no limit, only memory counts
 * Fails     EREFUSED  the data are too large and there is no parameter to make them smaller
 */
CTUNE_MUST_USE ctune_status ctune_scale_choose(ctune_ctx *ctx, const ctune_session *session,
                                               const ctune_source *source, double budget_s,
                                               ctune_sized *sized, ctune_scale *out);
/* Is parameter p nothing but the number of iterations of the outermost loop? Then fewer of them are
 * a prefix of the same computation. */
bool ctune_scale_is_prefix(const ctune_region *region, int p);

#endif

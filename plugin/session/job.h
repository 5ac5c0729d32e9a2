/*
 * Job: one region at one combination of sizes, ready to be measured: what a search and `ctune
 * collect` have in common. Not to be moved once it is open: its parts point into each other.
 */
#ifndef CTUNE_PLUGIN_SESSION_JOB_H
#define CTUNE_PLUGIN_SESSION_JOB_H

#include "plugin/session/measure.h"
#include "plugin/session/scale.h"

typedef struct ctune_job {
    ctune_sized sized; /* as measured */
    ctune_scale scale; /* what was asked for */
    ctune_bench bench;
    ctune_space *space;
    ctune_known known;
    ctune_text te;          /* dump of the sized region: records are useful without the source */
    ctune_measure *measure; /* NULL before prepare */
} ctune_job;

/* The original, measured; at smaller sizes when a search of budget_s (0: no limit) cannot afford
 * those asked for. Closed by the caller also when this fails. */
CTUNE_MUST_USE ctune_status ctune_job_open(ctune_ctx *ctx, const ctune_session *session,
                                           const ctune_source *source, const ctune_region *region,
                                           int which, double budget_s, ctune_job *out);
/* Space, what the history knows, and the measurer. history may be NULL. */
CTUNE_MUST_USE ctune_status ctune_job_prepare(ctune_ctx *ctx, ctune_history *history,
                                              ctune_job *job);
void ctune_job_close(ctune_job *job);

#endif

/*
 * One search: a region at one combination of sizes, from the measured original to the entry for the
 * lock. Open, step as often as time allows, finish; several may be open at once and take turns.
 */
#ifndef CTUNE_PLUGIN_SESSION_SEARCH_H
#define CTUNE_PLUGIN_SESSION_SEARCH_H

#include "plugin/session/final.h"
#include "plugin/session/job.h"
#include "search/lock/lock.h"

typedef struct ctune_search ctune_search;

/* CTUNE_STRATEGY_TABLE's word; NULL: the default. */
ctune_strategy ctune_strategy_of(const char *name);

/* Measures the original and gets everything ready. history may be NULL (nothing is recorded). All
 * but ctx borrowed until close. EREFUSED: the region cannot be measured. Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_search_open(ctune_ctx *ctx, const ctune_session *session,
                                              const ctune_source *source,
                                              const ctune_region *region, int which,
                                              ctune_history *history, ctune_search **out);
/* From now on steps and finish together may take left_s seconds (< 0: no limit); a part is kept for
 * finish. A search that has measured nothing yet is given one or two candidates beyond. At first
 * (session->is_timed) what open has left of the budget; else no limit. */
void ctune_search_set_limit(ctune_search *search, double left_s);
/* Seconds that finish should have. */
double ctune_search_reserve(const ctune_search *search);
/* Is there a gain that has not been in a finish of `is_early` yet? */
bool ctune_search_has_gain(const ctune_search *search);
/* Goes on for about slice_s seconds (0: one batch). *is_over: there is nothing more to do. A signal
 * ends it, too. */
CTUNE_MUST_USE ctune_status ctune_search_step(ctune_ctx *ctx, ctune_search *search, double slice_s,
                                              bool *is_over);
double
ctune_search_best_ns(const ctune_search *search); /* now; the original's when nothing beats it */
double ctune_search_original_ns(const ctune_search *search);
int ctune_search_trials(const ctune_search *search); /* so far */
double ctune_search_flops(const ctune_search *search);
uint64_t ctune_search_workload(const ctune_search *search); /* without sizes: equal = alike */
/* Gives its runner process's memory back until the next step. */
void ctune_search_rest(ctune_search *search);
/* The final: the best candidates, made anew from their schedule text (what `apply` will do), meet
 * the original. lock: as it is now; its entry takes part. is_early: only the best one, and the
 * search goes on after it. The caller frees out->schedule. */
CTUNE_MUST_USE ctune_status ctune_search_finish(ctune_ctx *ctx, ctune_search *search,
                                                const ctune_lock *lock, bool is_early,
                                                ctune_outcome *out);
void ctune_search_close(ctune_search *search);

#endif

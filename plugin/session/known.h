/*
 * Known results of earlier searches: schedule text -> times, from the history.
 */
#ifndef CTUNE_PLUGIN_SESSION_KNOWN_H
#define CTUNE_PLUGIN_SESSION_KNOWN_H

#include "search/history/history.h"

typedef struct ctune_known_row {
    uint64_t hash; /* of the schedule text; 0 = free slot */
    ctune_run_outcome outcome;
    double best_ratio, median_ratio; /* own time / original's time then */
} ctune_known_row;

typedef struct ctune_known {
    size_t size, n; /* slots (a power of two), used ones */
    ctune_known_row *row;
    char *best_schedule; /* fastest by median ratio, NULL = none was OK; owned */
    double best_ratio;
} ctune_known;

/* Reads all records of (workload, target). Owner: caller, ctune_known_clear. */
CTUNE_MUST_USE ctune_status ctune_known_load(ctune_ctx *ctx, ctune_history *history,
                                             uint64_t workload, const char *target,
                                             ctune_known *out);
void ctune_known_clear(ctune_known *known);
const ctune_known_row *ctune_known_find(const ctune_known *known,
                                        const char *schedule); /* NULL = not known */

#endif

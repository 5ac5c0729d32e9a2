/*
 * Final: finalists and the original, interleaved; a winner must beat the original beyond noise, and
 * give its results at other sizes, too, in the user's own file (verify.h).
 */
#ifndef CTUNE_PLUGIN_SESSION_FINAL_H
#define CTUNE_PLUGIN_SESSION_FINAL_H

#include "plugin/session/session.h"

enum { CTUNE_MAX_FINALISTS = 6 };

typedef struct ctune_finalist {
    char *schedule, *unit; /* owned */
    char name[32];
    double estimate_ns; /* from the search */
} ctune_finalist;

typedef struct ctune_finalists {
    int n;
    double left_s; /* for all of it, verification included; < 0: no limit */
    /* A scaled search's winner runs at the sizes asked for, too, if that is over by then (on the
     * clock of ctune_now_ns; not in left_s); 0: it does not. */
    int64_t whole_ns;
    bool is_early;         /* the search goes on: as little as possible */
    const char *incumbent; /* schedule whose time is reported by itself; NULL = none; borrowed */
    ctune_finalist entry[CTUNE_MAX_FINALISTS];
} ctune_finalists;

/* Emitted from the schedule's text, as `apply` will do it. False when it cannot be; a duplicate and
 * one too many count as added. */
bool ctune_finalists_add(ctune_ctx *ctx, const ctune_bench *bench, const char *schedule, double ns,
                         ctune_finalists *final);
/* Fills times, is_original and schedule of *out. part_s [CTUNE_N_PARTS]: seconds that went into
 * FINAL and VERIFY are added. */
CTUNE_MUST_USE ctune_status ctune_finalists_run(ctune_ctx *ctx, const ctune_bench *bench,
                                                ctune_finalists *final, double *part_s,
                                                ctune_outcome *out);
void ctune_finalists_clear(ctune_finalists *final);

#endif

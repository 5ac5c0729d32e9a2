/*
 * The measurer that a search uses: candidates through the runner, known ones from the history, each
 * result recorded.
 */
#ifndef CTUNE_PLUGIN_SESSION_MEASURE_H
#define CTUNE_PLUGIN_SESSION_MEASURE_H

#include "plugin/session/known.h"
#include "plugin/session/session.h"

enum { CTUNE_MEASURE_IN_FLIGHT = 2, CTUNE_MEASURE_BATCH = 256 };

/* One batch between submit and collect. */
typedef struct ctune_measure_batch {
    int n;                         /* trials */
    int n_run;                     /* given to the runner */
    int slot[CTUNE_MEASURE_BATCH]; /* runner's index of trial i, -1 = answered without it */
    bool is_known[CTUNE_MEASURE_BATCH];
    ctune_run_result result[CTUNE_MEASURE_BATCH]; /* of those answered without the runner */
    char *schedule[CTUNE_MEASURE_BATCH];          /* owned */
} ctune_measure_batch;

typedef struct ctune_measure {
    const ctune_bench *bench;
    const ctune_space *space;
    const ctune_known *known;
    ctune_history *history; /* NULL: nothing is recorded */
    ctune_record record;    /* what all records share */
    int n_known;            /* trials answered from the history */
    int n_emit_failed;
    int n_new, n_bad; /* see ctune_outcome */
    int n_ok;
    int64_t thin_ns; /* see deadline_of; 0 = not set yet */
    int64_t code_ns; /* spent on making C */
    char failure[224];
    int head, n_in_flight;
    ctune_measure_batch batch[CTUNE_MEASURE_IN_FLIGHT];
} ctune_measure;

ctune_status ctune_measure_submit(ctune_ctx *ctx, void *user, ctune_trial *trials, int n);
ctune_status ctune_measure_collect(ctune_ctx *ctx, void *user, double best_ns, ctune_trial *trials,
                                   int n);
/* "compile-error: words" of a result that is not OK. */
void ctune_failure_print(const ctune_run_result *result, char *out, size_t size);
void ctune_measure_clear(ctune_measure *measure);

#endif

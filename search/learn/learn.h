/*
 * Learn: measurements in histories -> a data set of feature rows that a cost model is trained on.
 *
 * In: any number of histories; records of any kernel, size and target. Out: one task per (dump of
 * the region, target), in order of first appearance, with one row per record. Nothing is dropped
 * silently: the counts say what became of each record. The nest of a record is made anew from the
 * dump and the schedule's text, so that features of any version can be computed from old records.
 */
#ifndef CTUNE_SEARCH_LEARN_LEARN_H
#define CTUNE_SEARCH_LEARN_LEARN_H

#include "costmodel/dataset.h"
#include "search/feature/encoding.h"
#include "search/history/history.h"

typedef struct ctune_learn_counts {
    int64_t n_records;  /* seen */
    int64_t n_rows;     /* became rows, failed candidates included */
    int64_t n_failed;   /* of those: the candidate failed; its label is 0 */
    int64_t n_sources;  /* rows that no record gave: the source's own order, by the time of the
                           originals that were measured beside the candidates */
    int64_t n_wrong;    /* not used: other bits than the original. That says how a compiler rounds
                           (GCC fuses products by cost rules of its own), nothing about speed */
    int64_t n_replaced; /* measured again later: the faster one counts */
    int64_t n_no_te;    /* without a dump, or with one that does not parse */
    int64_t n_illegal;  /* the schedule does not apply to the dump any more */
} ctune_learn_counts;

typedef struct ctune_learner ctune_learner;

/* Owner of *out: caller. */
CTUNE_MUST_USE ctune_status ctune_learner_create(ctune_ctx *ctx, ctune_learner **out);
void ctune_learner_destroy(ctune_learner *learner);
/* Remembers all records of a history and the facts of their targets. */
CTUNE_MUST_USE ctune_status ctune_learner_add(ctune_ctx *ctx, ctune_learner *learner,
                                              ctune_history *history);
/*
 * Rows with the features of `groups`; out: initialised by this call, owner: caller. A task's kernel
 * is its region's name, so that leave-one-out leaves out all sizes, types and targets of it.
 * counts may be NULL.
 */
CTUNE_MUST_USE ctune_status ctune_learner_dataset(ctune_ctx *ctx, ctune_learner *learner,
                                                  unsigned groups, ctune_dataset *out,
                                                  ctune_learn_counts *counts);
/* The same with rows of any encoding (search/feature/encoding.h). A task's target is its key. */
CTUNE_MUST_USE ctune_status ctune_learner_rows(ctune_ctx *ctx, ctune_learner *learner,
                                               const ctune_model_input *input, ctune_dataset *out,
                                               ctune_learn_counts *counts);

#endif

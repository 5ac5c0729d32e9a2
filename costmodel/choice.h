/*
 * Choice: which of several candidates to take unmeasured, in place of what is there.
 *
 * A model's favourite of many is likely one that it overrates, and most so where the model knows
 * little. Several voices tell (the members of an ensemble, each of which has not seen some kernels,
 * and the analytic estimate): where they disagree about a gain they know little of it. So what
 * counts is a lower bound, expected gain - caution * spread, the spread being the standard
 * deviation of the voices' gains; and what is there stays unless that bound is worth it.
 */
#ifndef CTUNE_COSTMODEL_CHOICE_H
#define CTUNE_COSTMODEL_CHOICE_H

#include "costmodel/dataset.h"

/* Expected gains below this (log2) are not worth other code: the models' errors are larger. */
#define CTUNE_CHOICE_LEAST 0.1
/* What a choice without measuring takes: `ctune model eval` prints what others would come to. */
#define CTUNE_CHOICE_CAUTION 1.0
/* Of the model in the expected gain, the rest is the estimate's. */
#define CTUNE_CHOICE_MODEL_WEIGHT 0.75

/* Standard deviation of score - source [n] over n voices; 0 for less than two. */
double ctune_choice_spread(const float *scores, const float *source, int n);

/* What choices are made by: log2, higher is faster. */
typedef struct ctune_voices {
    const float *expected; /* [n_rows] */
    int n;
    const float *scores; /* [n_rows][n], of each voice */
} ctune_voices;

typedef struct ctune_choices {
    int n_tasks;                 /* that counted: with a source and another row */
    int n_kept;                  /* whose choice was the source */
    int n_slower;                /* whose choice is slower than the source by over 5 % */
    double geo_best;             /* geometric mean of best / choice */
    double geo_gain, least_gain; /* of source / choice: geometric mean, worst */
} ctune_choices;

/* What would come of choosing, task by task, among the measured rows. select (may be NULL = all)
 * [n_tasks]. Choices that failed count as the slowest row of their task. No task that counts: all
 * zero. */
void ctune_choices_get(const ctune_dataset *dataset, const ctune_voices *voices, const bool *select,
                       double caution, ctune_choices *out);

#endif

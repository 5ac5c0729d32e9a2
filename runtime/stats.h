/*
 * Statistics of timing samples: small, order-independent, no allocation.
 *
 * A sample that an involuntary context switch (or a migration) hit is kept with a mark; figures use
 * the undisturbed samples when there are any, and all of them otherwise.
 */
#ifndef CTUNE_RUNTIME_STATS_H
#define CTUNE_RUNTIME_STATS_H

#include "runtime/base.h"

enum { CTUNE_SAMPLES_MAX = 64 };

typedef struct ctune_samples {
    int n;                                /* used entries */
    int next;                             /* where the next one goes once the ring is full */
    double ns[CTUNE_SAMPLES_MAX];         /* time per run */
    bool is_disturbed[CTUNE_SAMPLES_MAX]; /* hit by a context switch */
} ctune_samples;

void ctune_samples_init(ctune_samples *samples);
/* A full set forgets its oldest sample. */
void ctune_samples_append(ctune_samples *samples, double ns, bool is_disturbed);
int ctune_samples_count_clean(const ctune_samples *samples);
double ctune_samples_best(const ctune_samples *samples);   /* smallest, 0 when empty */
double ctune_samples_median(const ctune_samples *samples); /* 0 when empty */
/* (median - best) / best: how far a typical sample is from the undisturbed machine. 0 when empty.
 */
double ctune_samples_spread(const ctune_samples *samples);

/* Median of values[n] (mean of the middle two when n is even); sorts values. 0 when n == 0. */
double ctune_median(double *values, int n);

/* A time in the currency of original_ns, when the original took own_ns while it was measured: a
 * machine that is slow for a while slows both. At most 1.4 times more or less; as it is when either
 * is not known. */
double ctune_time_steady(double ns, double own_ns, double original_ns);

#endif

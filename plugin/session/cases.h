/*
 * Cases: the sizes, data and places of tensors under which a schedule is verified.
 */
#ifndef CTUNE_PLUGIN_SESSION_CASES_H
#define CTUNE_PLUGIN_SESSION_CASES_H

#include "plugin/session/session.h"

enum { CTUNE_MAX_CASES = 40 };

typedef struct ctune_cases {
    int n;
    ctune_run_workload *load;             /* [CTUNE_MAX_CASES], owned */
    bool is_overlapping[CTUNE_MAX_CASES]; /* two pointers overlap: only code with a guard may run */
    int n_skipped;                        /* for lack of time or memory */
} ctune_cases;

/*
 * At the bench's sizes, one below, one above, a prime, one below each of the schedule's large
 * tiles, distinct primes, 1, and 0 for each parameter; with leading dimensions above what they
 * need; with tensors at odd addresses; with overlapping pointers. Data of both signs, with
 * subnormal numbers, NaN, infinities, and extreme integers, as far as the region's results are
 * defined for them.
 *
 * A size that the region's assumptions exclude is moved up until they hold, or left out; so is one
 * at which a subscript would leave a declared array. budget_s: estimated time of all runs; sizes
 * that cost too much, the bench's own among them, are replaced by smaller ones of the same kind.
 */
CTUNE_MUST_USE ctune_status ctune_cases_make(ctune_ctx *ctx, const ctune_bench *bench,
                                             const char *schedule, double budget_s,
                                             ctune_cases *out);
/* Makes the region's assumptions true by raising parameters; false: some cannot be. */
bool ctune_sizes_repair(const ctune_region *region, int64_t *params);
/* Instances of all statements at these sizes, about; 1 when they cannot be counted. */
double ctune_points_count(ctune_ctx *ctx, const ctune_region *region, const int64_t *params);
/* The worst data that the region's results are defined for under the source's flags. inputs.c */
void ctune_inputs_choose(const ctune_source *source, const ctune_region *region,
                         ctune_run_data *worst, bool *has_extreme_ints);
void ctune_cases_clear(ctune_cases *cases);

/* "n,m=100,64 99,63": names, then each combination once, in the order of the cases; only those in
 * `wanted` (NULL: all). Cut with "..." when there is no room. */
void ctune_cases_print(const ctune_cases *cases, const ctune_region *region, const bool *wanted,
                       char *out, size_t size);

#endif

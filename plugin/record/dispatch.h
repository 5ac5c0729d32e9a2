/*
 * Dispatch: which of several tuned variants a call takes.
 *
 * Each variant is right for every size; it was tuned at one. So a call takes the one whose sizes
 * are nearest on a logarithmic scale: with n=512 and n=1024 tuned, n=700 takes the first, n=750 the
 * second. The plan is a chain of range tests, to be read like
 *
 *     if (n <= 724) ... else ...
 *
 * made by cutting the set of tuned sizes where the widest gap is, again and again (a k-d tree):
 * with one parameter the cuts are the geometric means of neighbours, with several this is near the
 * exact nearest neighbour and needs no logarithm at run time.
 */
#ifndef CTUNE_PLUGIN_RECORD_DISPATCH_H
#define CTUNE_PLUGIN_RECORD_DISPATCH_H

#include "runtime/arena.h"
#include "runtime/base.h"

/* One tuned combination of sizes. */
typedef struct ctune_dispatch_point {
    const int64_t *values; /* [n_params] */
    int choice;            /* which code: equal numbers mean the same; -1: the original */
} ctune_dispatch_point;

typedef struct ctune_dispatch_test {
    int param;
    bool is_above; /* value > limit; else value <= limit */
    int64_t limit;
} ctune_dispatch_test;

/* One link of the chain. */
typedef struct ctune_dispatch_case {
    int choice;
    int n_tests; /* all must hold; those that follow from earlier links are left out */
    const ctune_dispatch_test *tests;
} ctune_dispatch_case;

/*
 * Cases in the order in which they are to be tried; where none holds the original runs. There is no
 * case for choice -1, at most one for each point, and none for points equal to an earlier one.
 *
 * arena  owner of the result
 * Fails  ENOMEM
 */
CTUNE_MUST_USE ctune_status ctune_dispatch_plan(ctune_ctx *ctx, ctune_arena *arena, int n_params,
                                                const ctune_dispatch_point *points, int n_points,
                                                const ctune_dispatch_case **cases, int *n_cases);

/* The choice for values [n_params], -1: the original. */
int ctune_dispatch_find(const ctune_dispatch_case *cases, int n_cases, const int64_t *values);

#endif

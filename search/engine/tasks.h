/*
 * Task scheduler: which of several searches gets the next slice (Zheng et al., Ansor, 2020, §6).
 *
 * Pure logic: no clock, no measuring, no random numbers. Aim: the smallest weighted total
 * sum(weight * best_ns). The next task is the one whose next unit of effort promises most:
 *
 *   gain = weight * (alpha * slope of its last `window` slices
 *                    + (1 - alpha) * max(best / spent, best - beta * time at similar tasks' speed))
 *
 * Every task gets one slice first, and none falls below a small share of the whole (floor_share).
 */
#ifndef CTUNE_SEARCH_ENGINE_TASKS_H
#define CTUNE_SEARCH_ENGINE_TASKS_H

#include "runtime/base.h"

enum { CTUNE_TASK_WINDOW = 8 }; /* most slices that are remembered */

typedef struct ctune_task {
    double weight;  /* of its time in the total: how often it runs; > 0 */
    double flops;   /* operations of one run, 0 = not known */
    int group;      /* tasks of one group are alike (the same computation); -1 = like no other */
    double spent;   /* effort so far, in the caller's unit: seconds or trials */
    double best_ns; /* now */
    bool is_over;   /* gets no more */
    int n_slices;
    struct {
        double spent, best_ns;        /* after a slice */
    } history[CTUNE_TASK_WINDOW + 1]; /* ring: slice s is at s % (CTUNE_TASK_WINDOW + 1) */
} ctune_task;

typedef struct ctune_tasks {
    int n, size;
    ctune_task *task;
    double alpha;       /* 0.2: weight of the slope seen against the one expected */
    double beta;        /* 2: multiple of the time at similar tasks' speed that is soon reached */
    int window;         /* 3 slices, at most CTUNE_TASK_WINDOW */
    double floor_share; /* 0.05: share of all effort that is spread evenly */
} ctune_tasks;

void ctune_tasks_init(ctune_tasks *tasks);
void ctune_tasks_clear(ctune_tasks *tasks);
/* A task with the time it starts from (the original's). weight <= 0 counts as 1. Returns its index
 * in order of addition through *index (may be NULL). ENOMEM. */
CTUNE_MUST_USE ctune_status ctune_tasks_add(ctune_ctx *ctx, ctune_tasks *tasks, double weight,
                                            double original_ns, double flops, int group,
                                            int *index);
/* Who is next: an index, -1 when all are over. */
int ctune_tasks_next(const ctune_tasks *tasks);
/* A slice of task i has cost `spent` more and left it at best_ns (<= 0 or not finite: unchanged).
 */
void ctune_tasks_update(ctune_tasks *tasks, int i, double spent, double best_ns);
void ctune_tasks_end(ctune_tasks *tasks, int i);
/* Expected drop of the weighted total for one more unit of effort, ns; for show. */
double ctune_tasks_gain(const ctune_tasks *tasks, int i);
/* sum(weight * best_ns) */
double ctune_tasks_total(const ctune_tasks *tasks);

#endif

/* Task scheduler: see tasks.h. */
#include "search/engine/tasks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ctune_tasks_init(ctune_tasks *tasks) {
    *tasks = (ctune_tasks){.alpha = 0.2, .beta = 2, .window = 3, .floor_share = 0.05};
}

void ctune_tasks_clear(ctune_tasks *tasks) {
    free(tasks->task);
    tasks->task = NULL;
    tasks->n = tasks->size = 0;
}

static bool grow(ctune_tasks *tasks) {
    int size = tasks->size == 0 ? 16 : tasks->size * 2;
    size_t n_bytes;
    if (size < tasks->size || !ctune_size_mul((size_t)size, sizeof *tasks->task, &n_bytes)) {
        return false;
    }
    ctune_task *grown = realloc(tasks->task, n_bytes);
    if (grown != NULL) {
        tasks->task = grown;
        tasks->size = size;
    }
    return grown != NULL;
}

static void remember(ctune_task *t) {
    int at = t->n_slices % (CTUNE_TASK_WINDOW + 1);
    t->history[at].spent = t->spent;
    t->history[at].best_ns = t->best_ns;
}

ctune_status ctune_tasks_add(ctune_ctx *ctx, ctune_tasks *tasks, double weight, double original_ns,
                             double flops, int group, int *index) {
    if (tasks->n == tasks->size && !grow(tasks)) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_task *t = &tasks->task[tasks->n];
    memset(t, 0, sizeof *t);
    t->weight = weight > 0 ? weight : 1;
    t->best_ns = original_ns > 0 ? original_ns : 0;
    t->flops = flops;
    t->group = group;
    remember(t);
    if (index != NULL) {
        *index = tasks->n;
    }
    tasks->n++;
    return CTUNE_OK;
}

void ctune_tasks_update(ctune_tasks *tasks, int i, double spent, double best_ns) {
    ctune_task *t = &tasks->task[i];
    t->spent += spent > 0 ? spent : 0;
    if (best_ns > 0 && isfinite(best_ns)) {
        t->best_ns = best_ns;
    }
    t->n_slices++;
    remember(t);
}

void ctune_tasks_end(ctune_tasks *tasks, int i) {
    tasks->task[i].is_over = true;
}

double ctune_tasks_total(const ctune_tasks *tasks) {
    double total = 0;
    for (int i = 0; i < tasks->n; i++) {
        total += tasks->task[i].weight * tasks->task[i].best_ns;
    }
    return total;
}

/* ---- gain ------------------------------------------------------------------------------------ */

/* Drop per unit of effort over the last slices. */
static double slope_of(const ctune_tasks *tasks, const ctune_task *t) {
    int window = tasks->window < 1                   ? 1
                 : tasks->window > CTUNE_TASK_WINDOW ? CTUNE_TASK_WINDOW
                                                     : tasks->window;
    int back = t->n_slices < window ? t->n_slices : window;
    int at = (t->n_slices - back) % (CTUNE_TASK_WINDOW + 1);
    double effort = t->spent - t->history[at].spent, drop = t->history[at].best_ns - t->best_ns;
    return effort > 0 && drop > 0 ? drop / effort : 0;
}

/* Best operations per nanosecond among similar tasks, itself left out; 0 = none known. */
static double similar_speed(const ctune_tasks *tasks, const ctune_task *t) {
    double best = 0;
    for (int i = 0; i < tasks->n && t->group >= 0; i++) {
        const ctune_task *other = &tasks->task[i];
        bool is_similar = other != t && other->group == t->group && other->n_slices > 0;
        if (is_similar && other->flops > 0 && other->best_ns > 0) {
            best = fmax(best, other->flops / other->best_ns);
        }
    }
    return best;
}

/* What one more unit may bring, optimistically: that time falls on as 1 / effort; or, where similar
 * tasks are far faster, that it comes near theirs. */
static double expected_drop(const ctune_tasks *tasks, const ctune_task *t) {
    double drop = t->spent > 0 ? t->best_ns / t->spent : t->best_ns;
    double speed = t->flops > 0 ? similar_speed(tasks, t) : 0;
    if (speed > 0) {
        drop = fmax(drop, t->best_ns - tasks->beta * t->flops / speed);
    }
    return drop;
}

double ctune_tasks_gain(const ctune_tasks *tasks, int i) {
    const ctune_task *t = &tasks->task[i];
    return t->weight *
           (tasks->alpha * slope_of(tasks, t) + (1 - tasks->alpha) * expected_drop(tasks, t));
}

/* ---- choice ---------------------------------------------------------------------------------- */

static bool is_starving(const ctune_tasks *tasks, const ctune_task *t, double total, int n_alive) {
    return t->spent < tasks->floor_share * total / n_alive;
}

int ctune_tasks_next(const ctune_tasks *tasks) {
    double total = 0;
    int n_alive = 0, best = -1, starving = -1;
    for (int i = 0; i < tasks->n; i++) {
        total += tasks->task[i].spent;
        n_alive += !tasks->task[i].is_over;
    }
    for (int i = 0; i < tasks->n; i++) {
        const ctune_task *t = &tasks->task[i];
        if (t->is_over) {
            continue;
        }
        if (t->n_slices == 0) {
            return i;
        }
        if (is_starving(tasks, t, total, n_alive) &&
            (starving < 0 || t->spent < tasks->task[starving].spent)) {
            starving = i;
        }
        if (best < 0 || ctune_tasks_gain(tasks, i) > ctune_tasks_gain(tasks, best)) {
            best = i;
        }
    }
    return starving >= 0 ? starving : best;
}

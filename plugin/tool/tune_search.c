/*
 * Time for several searches: see tune.h.
 *
 * One nest runs to its end. Several are opened together, at most MAX_OPEN at a time, and take turns
 * as the task scheduler says; the process that holds a nest's data ends while others have their
 * turn. A search that is over is finished at once, so that its winner is in the lock early.
 */
#include "plugin/tool/tune.h"

#include "search/engine/tasks.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OPEN = 32, MAX_TRIES = 3 };

#define EARLY_BUDGET_S 30.0 /* shorter searches are over soon */
#define EARLY_S 8.0

typedef struct group {
    int n, first; /* nests first .. first + n - 1 */
    ctune_search *search[MAX_OPEN];
    ctune_tasks tasks;
    int nest_of[MAX_OPEN]; /* task -> nest */
    int search_of[MAX_OPEN];
    bool has_limit;
    double left_s; /* of the group's budget */
} group;

static ctune_status open_nest(ctune_ctx *ctx, ctune_tune *t, int i_nest, ctune_search **out) {
    const ctune_tune_nest *nest = &t->nests[i_nest];
    ctune_tune_file *file = &t->files[nest->i_file];
    return ctune_search_open(ctx, &t->session, &file->source, nest->region, nest->which,
                             file->history, out);
}

static ctune_status finish(ctune_ctx *ctx, ctune_tune *t, int i_nest, ctune_search *search,
                           bool is_early) {
    const ctune_tune_nest *nest = &t->nests[i_nest];
    const ctune_source *source = &t->files[nest->i_file].source;
    ctune_outcome outcome = {0};
    ctune_lock lock;
    ctune_lock_init(&lock);
    ctune_status status = ctune_lock_read(ctx, source->lock_path, &lock);
    if (status == CTUNE_OK) {
        status = ctune_search_finish(ctx, search, &lock, is_early, &outcome);
    }
    if (status == CTUNE_OK && !is_early) {
        status = ctune_tune_report(ctx, t, nest, &outcome);
    } else if (status == CTUNE_OK && !outcome.is_original) {
        status = ctune_tune_keep(ctx, t, nest, &outcome);
    }
    free(outcome.schedule);
    ctune_lock_clear(&lock);
    return status;
}

/* ---- one nest -------------------------------------------------------------------------------- */
/* The first gain goes to the lock as soon as it is verified, when the search takes long. */
static bool is_time_to_keep(const ctune_tune *t, const ctune_search *search, int64_t start_ns) {
    double budget_s = t->options->budget_s > 0 ? t->options->budget_s
                      : t->options->trials > 0 ? 1e9
                                               : CTUNE_DEFAULT_BUDGET_S;
    double passed_s = (double)(ctune_now_ns() - start_ns) * 1e-9;
    return budget_s >= EARLY_BUDGET_S && passed_s >= EARLY_S && ctune_search_has_gain(search);
}

static ctune_status run_one(ctune_ctx *ctx, ctune_tune *t, int i_nest) {
    ctune_search *search = NULL;
    bool is_over = false;
    int64_t start_ns = ctune_now_ns();
    ctune_status status = open_nest(ctx, t, i_nest, &search);
    while (status == CTUNE_OK && !is_over) {
        status = ctune_search_step(ctx, search, 0, &is_over);
        if (status == CTUNE_OK && !is_over && is_time_to_keep(t, search, start_ns)) {
            status = finish(ctx, t, i_nest, search, true);
        }
    }
    if (status == CTUNE_OK) {
        status = finish(ctx, t, i_nest, search, false);
    }
    ctune_search_close(search);
    return status;
}

/* ---- several --------------------------------------------------------------------------------- */
static ctune_status open_all(ctune_ctx *ctx, ctune_tune *t, group *g) {
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < g->n && status != CTUNE_ENOMEM && ctune_signal_get() == 0; i++) {
        int64_t start_ns = ctune_now_ns();
        ctune_search *s = NULL;
        status = open_nest(ctx, t, g->first + i, &s);
        if (status != CTUNE_OK) {
            ctune_tune_fail(ctx, t, &t->nests[g->first + i], status);
            continue;
        }
        int group_id = 0, task; /* equal loops at other sizes are alike */
        for (; group_id < i; group_id++) {
            if (g->search[group_id] != NULL &&
                ctune_search_workload(g->search[group_id]) == ctune_search_workload(s)) {
                break;
            }
        }
        g->search[i] = s;
        status =
            ctune_tasks_add(ctx, &g->tasks, t->nests[g->first + i].weight,
                            ctune_search_original_ns(s), ctune_search_flops(s), group_id, &task);
        if (status == CTUNE_OK) {
            g->nest_of[task] = g->first + i;
            g->search_of[task] = i;
        }
        ctune_search_rest(s);
        g->left_s -= (double)(ctune_now_ns() - start_ns) * 1e-9;
    }
    return status == CTUNE_ENOMEM ? status : CTUNE_OK;
}

/* What finishing the searches that are open, but for `but`, will take. */
static double reserve_of(const group *g, const ctune_search *but) {
    double sum_s = 0;
    for (int i = 0; i < g->n; i++) {
        sum_s +=
            g->search[i] != NULL && g->search[i] != but ? ctune_search_reserve(g->search[i]) : 0;
    }
    return sum_s;
}

static void end_task(ctune_ctx *ctx, ctune_tune *t, group *g, int task, ctune_status status) {
    int i = g->search_of[task];
    int64_t start_ns = ctune_now_ns();
    if (g->has_limit) {
        double left_s = g->left_s - reserve_of(g, g->search[i]);
        double wanted_s = ctune_search_reserve(g->search[i]);
        ctune_search_set_limit(g->search[i], left_s < 0          ? 0
                                             : left_s < wanted_s ? left_s
                                                                 : wanted_s);
    }
    if (status == CTUNE_OK) {
        status = finish(ctx, t, g->nest_of[task], g->search[i], false);
    }
    if (status != CTUNE_OK) {
        ctune_tune_fail(ctx, t, &t->nests[g->nest_of[task]], status);
    }
    ctune_tasks_end(&g->tasks, task);
    ctune_search_close(g->search[i]);
    g->search[i] = NULL;
    g->left_s -= (double)(ctune_now_ns() - start_ns) * 1e-9;
}

/* One slice of the search: less when there is less, next to nothing when there is none; but some
 * candidate is measured in it, if there is one that can be. */
static ctune_status step(ctune_ctx *ctx, group *g, ctune_search *s, double slice_s, bool *is_over) {
    if (g->has_limit) {
        double left_s = g->left_s - reserve_of(g, NULL);
        slice_s = left_s < slice_s ? left_s : slice_s;
        slice_s = slice_s > 0 ? slice_s : 0;
        ctune_search_set_limit(s, slice_s + ctune_search_reserve(s));
    }
    ctune_status status = CTUNE_OK;
    *is_over = false;
    for (int i = 0; i < MAX_TRIES && status == CTUNE_OK && !*is_over; i++) {
        status = ctune_search_step(ctx, s, slice_s, is_over);
        if (ctune_search_trials(s) > 0) {
            break;
        }
    }
    return status;
}

/* Slices in turn until time or searches are used up; each nest gets its first one in any case. */
static void take_turns(ctune_ctx *ctx, ctune_tune *t, group *g, double slice_s) {
    int task;
    while (
        (task = ctune_tasks_next(&g->tasks)) >= 0 && ctune_signal_get() == 0 &&
        (!g->has_limit || g->left_s > reserve_of(g, NULL) || g->tasks.task[task].n_slices == 0)) {
        ctune_search *s = g->search[g->search_of[task]];
        int64_t start_ns = ctune_now_ns();
        bool is_over;
        ctune_status status = step(ctx, g, s, slice_s, &is_over);
        double spent_s = (double)(ctune_now_ns() - start_ns) * 1e-9;
        g->left_s -= spent_s;
        ctune_tasks_update(&g->tasks, task, spent_s, ctune_search_best_ns(s));
        if (status != CTUNE_OK || is_over) {
            end_task(ctx, t, g, task, status);
        } else if (g->tasks.n > 1) {
            ctune_search_rest(s);
        }
    }
    for (task = 0; task < g->tasks.n; task++) {
        if (g->search[g->search_of[task]] != NULL) {
            end_task(ctx, t, g, task, CTUNE_OK);
        }
    }
}

static ctune_status run_group(ctune_ctx *ctx, ctune_tune *t, int first, int n) {
    const ctune_options *o = t->options;
    double each_s = o->budget_s > 0 ? o->budget_s : o->trials > 0 ? -1 : CTUNE_DEFAULT_BUDGET_S;
    group *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    g->n = n;
    g->first = first;
    g->has_limit = each_s > 0;
    g->left_s = each_s * n;
    ctune_tasks_init(&g->tasks);
    ctune_status status = open_all(ctx, t, g);
    if (status == CTUNE_OK) {
        /* short enough to change one's mind often, long enough to be worth a new process */
        double slice_s = each_s > 0 ? each_s / 12 : 5;
        take_turns(ctx, t, g, slice_s < 0.5 ? 0.5 : slice_s > 10 ? 10 : slice_s);
    }
    for (int i = 0; i < n; i++) {
        ctune_search_close(g->search[i]);
    }
    ctune_tasks_clear(&g->tasks);
    free(g);
    return status;
}

ctune_status ctune_tune_search(ctune_ctx *ctx, ctune_tune *t) {
    ctune_status status = CTUNE_OK;
    t->session.is_timed = t->n_nests == 1;
    if (t->n_nests == 1) {
        status = run_one(ctx, t, 0);
        if (status != CTUNE_OK) {
            ctune_tune_fail(ctx, t, &t->nests[0], status);
        }
        return CTUNE_OK;
    }
    for (int i = 0; i < t->n_nests && status == CTUNE_OK && ctune_signal_get() == 0;
         i += MAX_OPEN) {
        int left = t->n_nests - i;
        status = run_group(ctx, t, i, left < MAX_OPEN ? left : MAX_OPEN);
    }
    return status;
}

/*
 * Dispatch plan: see dispatch.h.
 *
 * A recursive cut of the points; the leaves, left to right, are the chain. A leaf is reached when
 * all leaves left of it were tried and did not hold, so that of the tests on its path only "not
 * above" ones are left; "above" ones stay where a leaf on the other side has no link (the
 * original).
 */
#include "plugin/record/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 256 };

typedef struct planner {
    ctune_arena *arena;
    int n_params;
    const ctune_dispatch_point *points;
    int *order; /* of points; a subtree is a stretch of it */
    ctune_dispatch_case *cases;
    int n_cases;
    int n_path;
    ctune_dispatch_test path[MAX_PATH]; /* those that must be printed */
} planner;

/* A logarithmic scale that takes zero and negative numbers, too. */
static double scale(int64_t value) {
    double x = (double)value;
    return copysign(log1p(fabs(x)), x);
}

/* a < b: the limit between them, in [a, b). */
static int64_t middle(int64_t a, int64_t b) {
    double x = (scale(a) + scale(b)) / 2;
    double limit = floor(copysign(expm1(fabs(x)), x) + 1e-9);
    return limit <= (double)a ? a : limit >= (double)(b - 1) ? b - 1 : (int64_t)limit;
}

static int64_t value_of(const planner *p, int i, int param) {
    return p->points[p->order[i]].values[param];
}

/* Stable: equal points keep the caller's order. */
static void sort(planner *p, int from, int to, int param) {
    for (int i = from + 1; i < to; i++) {
        int moved = p->order[i], j = i;
        int64_t value = p->points[moved].values[param];
        for (; j > from && value_of(p, j - 1, param) > value; j--) {
            p->order[j] = p->order[j - 1];
        }
        p->order[j] = moved;
    }
}

/* The widest gap between neighbours along any parameter; false when all points are equal. */
static bool find_cut(planner *p, int from, int to, int *param, int64_t *limit) {
    double widest = 0;
    for (int d = 0; d < p->n_params; d++) {
        sort(p, from, to, d);
        for (int i = from; i + 1 < to; i++) {
            int64_t a = value_of(p, i, d), b = value_of(p, i + 1, d);
            double gap = scale(b) - scale(a);
            if (a < b && (gap > widest || widest == 0)) {
                widest = gap > 0 ? gap : 1e-300;
                *param = d;
                *limit = middle(a, b);
            }
        }
    }
    return widest > 0;
}

static bool is_uniform(const planner *p, int from, int to) {
    for (int i = from + 1; i < to; i++) {
        if (p->points[p->order[i]].choice != p->points[p->order[from]].choice) {
            return false;
        }
    }
    return true;
}

/* Of several tests of one kind on one parameter the last is the strictest. */
static void add_case(planner *p, int choice) {
    ctune_dispatch_case *out = &p->cases[p->n_cases++];
    ctune_dispatch_test *tests = CTUNE_NEW_ARRAY(p->arena, ctune_dispatch_test, p->n_path + 1);
    *out = (ctune_dispatch_case){.choice = choice, .tests = tests};
    for (int i = 0; tests != NULL && i < p->n_path; i++) {
        bool is_stricter_later = false;
        for (int j = i + 1; j < p->n_path; j++) {
            is_stricter_later |=
                p->path[j].param == p->path[i].param && p->path[j].is_above == p->path[i].is_above;
        }
        if (!is_stricter_later) {
            tests[out->n_tests++] = p->path[i];
        }
    }
}

/* true: some point of the stretch has no link of its own. */
static bool plan(planner *p, int from, int to) {
    int param = 0, choice = p->points[p->order[from]].choice;
    int64_t limit = 0;
    if (is_uniform(p, from, to) || p->n_path == MAX_PATH ||
        !find_cut(p, from, to, &param, &limit)) {
        if (choice >= 0) {
            add_case(p, choice);
        }
        return choice < 0;
    }
    sort(p, from, to, param);
    int cut = from;
    while (cut < to && value_of(p, cut, param) <= limit) {
        cut++;
    }
    p->path[p->n_path++] = (ctune_dispatch_test){param, false, limit};
    bool left = plan(p, from, cut);
    p->n_path--;
    if (left) {
        p->path[p->n_path++] = (ctune_dispatch_test){param, true, limit};
    }
    bool right = plan(p, cut, to);
    p->n_path -= left;
    return left || right;
}

ctune_status ctune_dispatch_plan(ctune_ctx *ctx, ctune_arena *arena, int n_params,
                                 const ctune_dispatch_point *points, int n_points,
                                 const ctune_dispatch_case **cases, int *n_cases) {
    planner *p = CTUNE_NEW(arena, planner);
    *n_cases = 0;
    *cases = NULL;
    if (p != NULL) {
        *p = (planner){.arena = arena, .n_params = n_params, .points = points};
        p->order = CTUNE_NEW_ARRAY(arena, int, n_points + 1);
        p->cases = CTUNE_NEW_ARRAY(arena, ctune_dispatch_case, n_points + 1);
    }
    if (ctune_arena_has_failed(arena)) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < n_points; i++) {
        p->order[i] = i;
    }
    if (n_points > 0) {
        (void)plan(p, 0, n_points);
    }
    *cases = p->cases;
    *n_cases = p->n_cases;
    return ctune_arena_has_failed(arena) ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                         : CTUNE_OK;
}

int ctune_dispatch_find(const ctune_dispatch_case *cases, int n_cases, const int64_t *values) {
    for (int i = 0; i < n_cases; i++) {
        bool ok = true;
        for (int t = 0; t < cases[i].n_tests && ok; t++) {
            const ctune_dispatch_test *test = &cases[i].tests[t];
            ok = (values[test->param] > test->limit) == test->is_above;
        }
        if (ok) {
            return cases[i].choice;
        }
    }
    return -1;
}

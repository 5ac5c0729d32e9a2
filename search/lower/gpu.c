/*
 * Launches: what runs on a GPU, and what a loop that is bound to blocks or threads becomes there.
 *
 * In: the nest's node that is a launch (schedule/check_gpu.c). Out: LAUNCH with one loop for each
 * axis of the hardware that is in use, x of blocks and threads always; inside of them the nest's
 * loops in their order, as one thread sees them: a serial loop stays a loop, a bound one is the
 * value of its iteration and the condition that there is such an iteration. So a bound loop may
 * stand anywhere in the nest; inside a serial one its iterations lie strided over the threads.
 *
 * A tile loop that is bound starts on the launch's grid, not where its statement's own values
 * start; the loops inside of it find both of their ends again.
 */
#include "search/lower/lower_private.h"

static const ctune_lann hw_ann[LOWER_HW_AXES] = {CTUNE_LANN_BLOCK_X,  CTUNE_LANN_BLOCK_Y,
                                                 CTUNE_LANN_BLOCK_Z,  CTUNE_LANN_THREAD_X,
                                                 CTUNE_LANN_THREAD_Y, CTUNE_LANN_THREAD_Z};
static const char *const hw_name[LOWER_HW_AXES] = {"block_x",  "block_y",  "block_z",
                                                   "thread_x", "thread_y", "thread_z"};

static int axis_of(const lowerer *w, int node) {
    const ctune_nnode *nn = &w->nest->node[node];
    return nn->kind == CTUNE_NN_LOOP && ctune_ann_is_bound(nn->ann)
               ? (int)nn->ann - CTUNE_ANN_BLOCK_X
               : -1;
}

static bool is_block_axis(int axis) {
    return axis < 3;
}

/* ---- the loops of a launch ------------------------------------------------------------------- */

/* Where an outermost bound loop begins, and (blocks) how many iterations it has at most. */
static ctune_status find_range(lowerer *w, int node, ctune_lnode *into, const ctune_aff **count) {
    const ctune_nnode *nn = &w->nest->node[node];
    int stmts[CTUNE_MAX_STMTS];
    lower_limit lo, hi;
    int n = lower_stmts_under(w, node, stmts);
    ctune_status status = lower_bounds_hull(w, stmts, n, nn->dim, &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    const ctune_aff *first = lower_limit_aff(w, &lo, 0), *last = lower_limit_aff(w, &hi, 0);
    if (first == NULL || last == NULL) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED, "the bounds of %s are not known",
                                nn->name);
    }
    w->hw_base[node] =
        lower_let(w, ctune_arena_printf(w->arena, "%s_first", nn->name), first, into);
    const ctune_aff *span = ctune_aff_sub(w->arena, last, w->hw_base[node]);
    *count = ctune_aff_add_const(w->arena, ctune_loops_floor(w->loops, span, nn->step), 1);
    return CTUNE_OK;
}

bool lower_is_grid(const lowerer *w, int node) {
    const ctune_nnode *nn = &w->nest->node[node];
    for (int i = 1; nn->kind == CTUNE_NN_LOOP && axis_of(w, node) < 0 && i < w->nest->n_nodes;
         i++) {
        for (int up = w->nest->node[i].outer; axis_of(w, i) >= 0 && up >= 0;
             up = w->nest->node[up].outer) {
            if (up == node) {
                return true;
            }
        }
    }
    return false;
}

const ctune_aff *lower_grid_start(lowerer *w, int node) {
    int outer = w->nest->node[node].outer;
    return outer >= 0 ? ctune_loops_var_aff(w->loops, w->node_var[outer], 1, 0) : w->hw_base[node];
}

/* Extents of the launch's axes: counts of blocks, numbers of threads. */
static ctune_status find_axes(lowerer *w, int launch, ctune_lnode *into, const ctune_aff **extent) {
    for (int a = 0; a < LOWER_HW_AXES; a++) {
        w->hw_users[a] = 0;
        w->hw_trip[a] = 0;
        extent[a] = a % 3 == 0 ? ctune_loops_const(w->loops, 1) : NULL; /* x is there always */
    }
    for (int i = 1; i < w->nest->n_nodes; i++) {
        int a = axis_of(w, i);
        bool is_grid = lower_is_grid(w, i);
        if ((a < 0 && !is_grid) || !ctune_nest_is_ancestor(w->nest, launch, i)) {
            continue;
        }
        const ctune_aff *count = NULL;
        w->hw_base[i] = NULL;
        if (w->nest->node[i].outer < 0) {
            ctune_status status = find_range(w, i, into, &count);
            if (status != CTUNE_OK) {
                return status;
            }
        }
        if (is_grid) {
            continue;
        }
        int64_t trip = ctune_nest_trip(w->nest, i);
        if (!is_block_axis(a) || w->nest->node[i].outer >= 0) {
            w->hw_trip[a] = trip > w->hw_trip[a] ? trip : w->hw_trip[a];
            count = ctune_loops_const(w->loops, trip);
        }
        extent[a] = w->hw_users[a]++ == 0 ? count : ctune_loops_max(w->loops, extent[a], count);
    }
    for (int a = 3; a < LOWER_HW_AXES; a++) {
        w->hw_trip[a] = w->hw_trip[a] == 0 ? 1 : w->hw_trip[a];
        extent[a] = extent[a] == NULL ? NULL : ctune_loops_const(w->loops, w->hw_trip[a]);
    }
    return ctune_loops_status(w->loops);
}

ctune_status lower_launch(lowerer *w, int node, ctune_lnode *into) {
    const ctune_aff *extent[LOWER_HW_AXES];
    ctune_status status = find_axes(w, node, into, extent);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int a = 0; a < 3; a++) { /* the host counts the blocks */
        extent[a] =
            extent[a] == NULL
                ? NULL
                : lower_let(w, ctune_arena_printf(w->arena, "%ss", hw_name[a]), extent[a], into);
    }
    ctune_lnode *at = ctune_lnode_new(w->loops, CTUNE_L_LAUNCH);
    ctune_lnode_append(into, at);
    static const int order[LOWER_HW_AXES] = {2, 1, 0, 5, 4, 3};
    for (int i = 0; i < LOWER_HW_AXES && at != NULL; i++) {
        int a = order[i];
        if (a == 5) {
            w->block_body = at;
        }
        w->hw_var[a] = -1;
        if (extent[a] == NULL) {
            continue;
        }
        w->hw_var[a] = ctune_loops_index_var(w->loops, hw_name[a]);
        ctune_lnode *loop = ctune_lnode_for(w->loops, w->hw_var[a], ctune_loops_const(w->loops, 0),
                                            extent[a], 1, hw_ann[a]);
        ctune_lnode_append(at, loop);
        at = loop;
    }
    if (at == NULL) {
        return lower_fail(w);
    }
    w->launch = node;
    w->launch_n_open = w->n_open;
    status = lower_node(w, node, at);
    w->launch = -1;
    w->block_body = NULL;
    return status;
}

/* ---- bound loops ----------------------------------------------------------------------------- */

const ctune_aff *lower_bound_value(lowerer *w, int node) {
    const ctune_nnode *nn = &w->nest->node[node];
    const ctune_aff *base = nn->outer >= 0
                                ? ctune_loops_var_aff(w->loops, w->node_var[nn->outer], 1, 0)
                                : w->hw_base[node];
    return ctune_aff_add(w->arena, base,
                         ctune_loops_var_aff(w->loops, w->hw_var[axis_of(w, node)], nn->step, 0));
}

/* The form with the values of the bound loops and points in it. */
static const ctune_aff *expand(lowerer *w, const ctune_aff *form) {
    for (int i = w->n_open - 1; i >= 0 && form != NULL;
         i--) { /* inner values are over outer ones */
        int node = w->open[i].node;
        if (node >= 0 && w->node_value[node] != NULL) {
            form = ctune_loops_subst(w->loops, form, w->open[i].var, w->node_value[node]);
        }
    }
    return form;
}

/* Constant from which the loop of a variable counts, NULL: it has none. */
static const ctune_aff *least_of(const lowerer *w, int var) {
    for (int i = 0; i < w->n_open; i++) {
        if (w->open[i].var == var && w->open[i].node >= 0) {
            return w->node_least[w->open[i].node];
        }
    }
    return NULL;
}

bool lower_is_certain(lowerer *w, const ctune_aff *form) {
    form = expand(w, form);
    if (form == NULL) {
        return false;
    }
    int64_t least = form->c0;
    for (int t = 0; t < form->n_terms; t++) {
        const ctune_term *term = &form->terms[t];
        int axis = -1, point = -1;
        for (int a = 0; a < LOWER_HW_AXES; a++) {
            axis = term->kind == CTUNE_TERM_AXIS && w->hw_var[a] == term->id ? a : axis;
        }
        for (int i = 0; w->gpu_tile != NULL && i < w->gpu_tile->n_unrolled; i++) {
            point = term->kind == CTUNE_TERM_AXIS && w->gpu_tile->point[i] == term->id ? i : point;
        }
        int64_t trip = axis >= 0    ? w->hw_trip[axis]
                       : point >= 0 ? ctune_nest_trip(w->nest, w->gpu_tile->unrolled[point])
                                    : 0;
        const ctune_aff *from =
            axis < 0 && point < 0 && term->kind == CTUNE_TERM_AXIS ? least_of(w, term->id) : NULL;
        if ((axis < 0 && point < 0 && from == NULL) || (term->coef < 0 && trip == 0)) {
            return false;
        }
        if (from != NULL ? __builtin_mul_overflow(from->c0, term->coef, &trip) ||
                               __builtin_add_overflow(least, trip, &least)
                         : term->coef < 0 && (__builtin_mul_overflow(trip - 1, term->coef, &trip) ||
                                              __builtin_add_overflow(least, trip, &least))) {
            return false;
        }
    }
    return least >= 0;
}

int lower_drop_certain(lowerer *w, const ctune_aff **conds, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool is_said = conds[i] != NULL && lower_is_certain(w, conds[i]);
        for (int k = 0; k < kept && conds[i] != NULL && !is_said; k++) {
            is_said = conds[k] != NULL && ctune_aff_is_equal(conds[k], conds[i]);
        }
        if (!is_said) {
            conds[kept++] = conds[i];
        }
    }
    return kept;
}

/* Does the row use a loop that is open inside the launch (or the open tile: n_open loops outside)?
 */
static bool uses_inner(const lowerer *w, const ctune_aff *row, int n_open, bool but_points) {
    for (int t = 0; t < row->n_terms; t++) {
        if (row->terms[t].kind == CTUNE_TERM_DIV) {
            return true;
        }
        for (int i = n_open; i < w->n_open && row->terms[t].kind == CTUNE_TERM_AXIS; i++) {
            int node = w->open[i].node;
            bool is_point = node >= 0 && (axis_of(w, node) >= 0 || lower_gpu_is_point(w, node));
            if (w->open[i].var == row->terms[t].id && !(but_points && is_point)) {
                return true;
            }
        }
    }
    return false;
}

/* Has the launch, or the tile, seen to it that the row holds? */
static bool is_settled(const lowerer *w, int node, const ctune_bound_row *row) {
    int axis = axis_of(w, node);
    if (axis >= 0 && is_block_axis(axis) && w->hw_users[axis] == 1 &&
        w->nest->node[node].outer < 0 && !uses_inner(w, row->aff, w->launch_n_open, false)) {
        return true;
    }
    return w->gpu_tile != NULL && w->gpu_tile->is_full &&
           !uses_inner(w, row->aff, w->gpu_tile->n_open, true);
}

/* What a limit asks of the value, as forms >= 0. */
static int limit_conds(lowerer *w, int node, const lower_limit *limit, const ctune_aff *value,
                       const ctune_aff **conds) {
    int n = 0;
    if (limit->n_groups > 1) {
        const ctune_aff *all = lower_limit_aff(w, limit, 0);
        conds[n++] = limit->is_max ? ctune_aff_sub(w->arena, value, all)
                                   : ctune_aff_sub(w->arena, all, value);
        return n;
    }
    for (int i = 0; i < limit->n; i++) {
        const ctune_bound_row *b = &limit->bound[i];
        const ctune_aff *gap = ctune_aff_sub(w->arena, ctune_aff_scale(w->arena, value, b->den),
                                             lower_row_aff(w, b->aff));
        gap = limit->is_max ? gap : ctune_aff_scale(w->arena, gap, -1);
        if (gap == NULL || (!is_settled(w, node, b) && !lower_is_certain(w, gap))) {
            conds[n++] = gap;
        }
    }
    return n;
}

ctune_lnode *lower_bound_loop(lowerer *w, int node, int var, const ctune_aff *value,
                              const lower_limit *lo, const lower_limit *hi, ctune_lnode *into) {
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, lo->n + hi->n + 2);
    if (conds == NULL) {
        return NULL;
    }
    /* a tile that begins before the first value may reach it */
    int n = w->nest->node[node].step == 1 ? limit_conds(w, node, lo, value, conds) : 0;
    n += limit_conds(w, node, hi, value, conds + n);
    if (n > 0) {
        ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n, NULL);
        ctune_lnode_append(into, guard);
        into = guard;
    }
    ctune_lnode_append(into, ctune_lnode_let(w->loops, var, value));
    return into;
}

ctune_lnode *lower_axes_guard(lowerer *w, int node, ctune_lnode *into) {
    const ctune_aff *conds[LOWER_HW_AXES];
    bool is_used[LOWER_HW_AXES] = {false};
    int n = 0;
    for (int up = node; up > 0; up = w->nest->node[up].parent) {
        if (axis_of(w, up) >= 0) {
            is_used[axis_of(w, up)] = true;
        }
    }
    for (int a = 0; a < LOWER_HW_AXES; a++) {
        if (!is_used[a] && w->hw_users[a] > 0 && w->hw_var[a] >= 0) {
            conds[n++] = ctune_loops_var_aff(w->loops, w->hw_var[a], -1, 0);
        }
    }
    if (n == 0) {
        return into;
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n, NULL);
    ctune_lnode_append(into, guard);
    return guard == NULL ? into : guard;
}

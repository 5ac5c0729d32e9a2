/*
 * Lowering: nest -> loops. This file walks the nest; bounds come from range.c, conditions from
 * guards.c and fixed.c, values from import.c, register tiles from tile.c and partial.c, packed
 * copies from pack.c, temporaries from temps.c and windows.c, placed statements from placed.c,
 * skewed arrays from skew.c.
 */
#include "search/lower/lower_private.h"

#include <stdlib.h>
#include <string.h>

ctune_status lower_fail(lowerer *w) {
    return ctune_loops_fail(w->loops, CTUNE_ENOMEM, "out of memory");
}

void lower_push(lowerer *w, int var, int dim, int64_t step, int node) {
    if (w->n_open < CTUNE_MAX_OPEN) {
        w->open[w->n_open] =
            (lower_open){.var = var, .dim = dim, .step = step, .node = node, .start_var = -1};
    }
    w->n_open++;
}

void lower_pop(lowerer *w) {
    w->n_open--;
}

void lower_pop_n(lowerer *w, int n) {
    for (int i = 0; i < n; i++) {
        lower_pop(w);
    }
}

int lower_pos(const ctune_stmt *stmt, int dim) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (stmt->dims[p] == dim) {
            return p;
        }
    }
    return -1;
}

static void collect_stmts(const lowerer *w, int node, int *out, int *n) {
    const ctune_nnode *nn = &w->nest->node[node];
    if (nn->kind == CTUNE_NN_STMT) {
        out[(*n)++] = nn->stmt;
    }
    for (int kid = nn->first; kid >= 0; kid = w->nest->node[kid].next) {
        collect_stmts(w, kid, out, n);
    }
}

int lower_stmts_under(const lowerer *w, int node, int *out) {
    int n = 0;
    collect_stmts(w, node, out, &n);
    return n;
}

bool lower_is_ancestor(const lowerer *w, int ancestor, int node) {
    while (node >= 0 && node != ancestor) {
        node = w->nest->node[node].parent;
    }
    return node == ancestor;
}

int lower_let_var(lowerer *w, const char *hint, const ctune_aff *value, ctune_lnode *into) {
    int var = ctune_loops_index_var(w->loops, hint);
    ctune_lnode_append(into, ctune_lnode_let(w->loops, var, value));
    return var;
}

const ctune_aff *lower_let(lowerer *w, const char *hint, const ctune_aff *value,
                           ctune_lnode *into) {
    if (value == NULL || value->n_terms == 0 ||
        (value->n_terms == 1 && value->c0 == 0 && value->terms[0].coef == 1 &&
         value->terms[0].kind != CTUNE_TERM_DIV)) {
        return value;
    }
    return ctune_loops_var_aff(w->loops, lower_let_var(w, hint, value, into), 1, 0);
}

int lower_heap_buffer(lowerer *w, const char *hint, ctune_type type, bool per_thread, int rank,
                      const ctune_aff *const *extent) {
    int buffer = ctune_loops_buffer(
        w->loops, hint, type, per_thread ? CTUNE_SCOPE_THREAD : CTUNE_SCOPE_PROGRAM, rank, extent);
    if (!per_thread) {
        ctune_lnode_append(w->setup, ctune_lnode_decl(w->loops, buffer));
    } else if (w->n_thread_buffers < LOWER_MAX_THREAD_BUFFERS) {
        w->thread_buffer[w->n_thread_buffers++] = buffer;
    } else {
        ctune_loops_fail(w->loops, CTUNE_EREFUSED, "too many buffers of threads");
    }
    return buffer;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* A loop whose panels a packed copy follows must start on the copy's grid (is_grid: both lie on the
 * multiples of the step). Returns the lower bound. */
static const ctune_aff *align_to_packs(lowerer *w, int node, int var, const ctune_aff *lo,
                                       bool is_grid, bool *aligned) {
    const ctune_nnode *nn = &w->nest->node[node];
    for (int c = 0; c < w->nest->n_caches; c++) {
        lower_packed *p = w->packed[c];
        lower_tile tile;
        if (p == NULL || p->tile_pos < 0 || p->tile != nn->step ||
            w->tree->stmts[p->stmt].dims[p->tile_pos] != nn->dim ||
            !lower_tile_has(w, p->stmt, &tile)) {
            continue;
        }
        for (int t = 0; t < tile.n_tile; t++) {
            if (w->nest->node[tile.tile_node[t]].outer == node) {
                p->tile_var = var;
                if (!is_grid && !ctune_aff_is_equal(lo, p->tile_base)) {
                    const ctune_aff *off = ctune_aff_sub(w->arena, lo, p->tile_base);
                    lo = ctune_aff_add(w->arena, p->tile_base,
                                       ctune_aff_scale(w->arena,
                                                       ctune_loops_floor(w->loops, off, nn->step),
                                                       nn->step));
                    *aligned = true;
                }
            }
        }
    }
    return lo;
}

static bool has_parallel_kid(const lowerer *w, int node) {
    int kid = w->nest->node[node].first;
    return kid >= 0 && w->nest->node[kid].kind == CTUNE_NN_LOOP && lower_is_parallel(w, kid) &&
           w->nest->node[kid].next < 0;
}

/* Innermost of the loops that `collapse` may merge: PARALLEL in the nest, perfectly nested,
 * rectangular. */
static ctune_lnode *collapse(lowerer *w, int node, ctune_lnode *outer) {
    ctune_lnode *at = outer;
    while (has_parallel_kid(w, node) && at->first != NULL && at->first == at->last &&
           at->first->kind == CTUNE_L_FOR) {
        ctune_lnode *kid = at->first;
        for (const ctune_lnode *o = outer; o != kid; o = o->first) {
            if (ctune_loops_uses(w->loops, kid->lo, o->var) ||
                ctune_loops_uses(w->loops, kid->hi, o->var)) {
                return at;
            }
        }
        at = kid;
        outer->collapse++;
        node = w->nest->node[node].first;
    }
    return at;
}

/* Do iterations of a loop over dim differ in length? Some statement's domain ties another of its
 * dims to it. */
static bool is_uneven(const lowerer *w, int node, int dim) {
    int stmts[CTUNE_MAX_STMTS];
    int n = lower_stmts_under(w, node, stmts);
    for (int i = 0; i < n; i++) {
        const ctune_stmt *s = &w->tree->stmts[stmts[i]];
        for (int c = 0; c < s->n_cons; c++) {
            int n_dims = 0;
            for (int p = 0; p < s->n_dims; p++) {
                n_dims += ctune_aff_coef(s->cons[c], CTUNE_TERM_AXIS, s->dims[p]) != 0;
            }
            for (int d = 0; d < w->region->stages[s->stage].n_axes; d++) {
                if (ctune_stmt_dim(s, d) == dim &&
                    ctune_aff_div_uses_axis(w->region, s->cons[c],
                                            w->region->stages[s->stage].axes[d])) {
                    return true; /* rows of a sparse matrix */
                }
            }
            if (n_dims > 1 && ctune_aff_coef(s->cons[c], CTUNE_TERM_AXIS, dim) != 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_innermost(const ctune_lnode *node) {
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (kid->kind == CTUNE_L_FOR || !is_innermost(kid)) {
            return false;
        }
    }
    return node->other == NULL || is_innermost(node->other);
}

/* Does some statement of the loop set a temporary that lives outside of it? Then the loop stays
 * serial, though dependences may allow it to be parallel or a vector (a loop of one iteration): a
 * variable belongs to one thread. */
static bool sets_outer(const lowerer *w, int node) {
    int stmts[CTUNE_MAX_STMTS];
    int n = lower_stmts_under(w, node, stmts);
    for (int i = 0; i < n; i++) {
        int t = w->region->stages[w->tree->stmts[stmts[i]].stage].target.tensor;
        if (w->region->tensors[t].is_temp && w->scalar_var[t] >= 0 &&
            !lower_is_ancestor(w, node, w->temp_scope[t])) {
            return true;
        }
    }
    return false;
}

/* What the compiler is told of a finished loop. */
static void annotate(lowerer *w, int node, ctune_lnode *loop, ctune_lnode *into) {
    const ctune_nnode *nn = &w->nest->node[node];
    if (nn->ann == CTUNE_ANN_VECTOR && lower_adds_up(w, node)) {
        loop->ann = is_innermost(loop) ? CTUNE_LANN_SUM : CTUNE_LANN_SERIAL;
        loop->factor = w->nest->node[nn->outer].step;
    } else if (nn->ann == CTUNE_ANN_VECTOR && !sets_outer(w, node)) {
        loop->ann = is_innermost(loop) ? CTUNE_LANN_SIMD : CTUNE_LANN_SERIAL;
        lower_lanes_of_calls(w, node, loop, into);
    } else if (nn->ann == CTUNE_ANN_SLIDE && is_innermost(loop) && !sets_outer(w, node)) {
        loop->ann = CTUNE_LANN_SLIDE;
    } else if (nn->ann == CTUNE_ANN_UNROLL && nn->outer >= 0 && w->nest->node[nn->outer].step > 1) {
        loop->ann = CTUNE_LANN_UNROLL;
        loop->factor = w->nest->node[nn->outer].step;
    } else if (w->parallel_node == node) {
        loop->ann = CTUNE_LANN_PARALLEL;
        ctune_lnode *inner = collapse(w, node, loop);
        loop->is_dynamic = nn->sum >= 0 || is_uneven(w, node, nn->dim);
        for (int i = 0; i < w->n_thread_buffers; i++) {
            ctune_lnode_prepend(inner, ctune_lnode_decl(w->loops, w->thread_buffer[i]));
        }
        w->n_thread_buffers = 0;
        w->parallel_node = -1;
        lower_threads_when(w, loop);
    }
}

/* The statement in part `kid` of the loop's body whose register tile sits at the loop; -1. */
static int find_register_at(const lowerer *w, int node, int kid) {
    for (int c = 0; c < w->nest->n_caches && !w->no_register; c++) {
        const ctune_cache *cache = &w->nest->cache[c];
        if (cache->kind == CTUNE_CACHE_REGISTER && cache->at == node &&
            lower_is_ancestor(w, kid, ctune_nest_find_stmt(w->nest, cache->stmt))) {
            return cache->stmt;
        }
    }
    return -1;
}

ctune_status lower_kid(lowerer *w, int node, int kid, ctune_lnode *into) {
    int stmts[CTUNE_MAX_STMTS];
    ctune_status status = w->is_gpu        ? lower_shared_at(w, node, kid, into)
                          : w->no_register ? CTUNE_OK
                                           : lower_packs_at(w, node, kid, into);
    if (lower_stmts_under(w, kid, stmts) == 1) {
        into = lower_open_guard(w, stmts[0], into);
    }
    bool is_launch = w->is_gpu && w->launch < 0 && !ctune_nest_is_host(w->nest, kid);
    return status != CTUNE_OK ? status
           : is_launch        ? lower_launch(w, kid, into)
                              : lower_node(w, kid, into);
}

/* A part of the body of loop `node` whose target waits in registers while it runs. */
static ctune_status lower_part(lowerer *w, int node, int kid, int stmt, ctune_lnode *into) {
    bool is_part = kid != w->nest->node[node].first || w->nest->node[kid].next >= 0;
    ctune_lnode *where = is_part ? lower_open_guard(w, stmt, into) : into;
    if (w->is_gpu) {
        where = lower_axes_guard(w, ctune_nest_find_stmt(w->nest, stmt), where);
    }
    if (lower_is_gpu_tile(w, node)) {
        return is_part ? lower_kid(w, node, kid, where) : lower_gpu_register(w, node, stmt, where);
    }
    return lower_register(w, node, stmt, where);
}

/* The body of loop `node` (or of the root): declarations, then each part with its packed copies. */
ctune_status lower_children(lowerer *w, int node, ctune_lnode *into) {
    ctune_status status = lower_decls_at(w, node, into);
    for (int kid = w->nest->node[node].first; kid >= 0 && status == CTUNE_OK;
         kid = w->nest->node[kid].next) {
        int stmt = find_register_at(w, node, kid);
        if (stmt < 0) {
            status = lower_kid(w, node, kid, into);
            continue;
        }
        status = w->is_gpu ? CTUNE_OK : lower_packs_at(w, node, kid, into);
        status = status == CTUNE_OK ? lower_part(w, node, kid, stmt, into) : status;
    }
    return status;
}

/* Statements under a loop that run in it on their own account. */
static int loop_stmts(const lowerer *w, int node, int *out) {
    int all[CTUNE_MAX_STMTS], n = 0;
    int n_all = lower_stmts_under(w, node, all);
    for (int i = 0; i < n_all; i++) {
        lower_scope scope = lower_scope_of(w, all[i]);
        if (lower_scope_owner(w, &scope, node) >= 0) {
            out[n++] = all[i];
        }
    }
    return n;
}

/* The first multiple of the step from lo on. */
static const ctune_aff *align_to_grid(lowerer *w, const ctune_aff *lo, int64_t step) {
    return ctune_aff_scale(w->arena, ctune_loops_ceil(w->loops, lo, step), step);
}

/* Remember what the loop starts from, for the levels inside it. */
static void open_level(lowerer *w, int node, int var, const lower_limit *lo, bool is_aligned) {
    const ctune_nnode *nn = &w->nest->node[node];
    lower_push(w, var, nn->sum >= 0 ? -1 : nn->dim, nn->step, node);
    for (int i = 0; i < w->n_open - 1 && w->n_open <= CTUNE_MAX_OPEN; i++) {
        if (nn->sum < 0 && w->open[i].dim == nn->dim && !is_aligned &&
            lower_limit_is_var(lo, w->open[i].var)) {
            w->open[w->n_open - 1].start_var = w->open[i].var;
        }
    }
}

static ctune_status find_limits(lowerer *w, int node, bool is_grid, lower_limit *lo,
                                lower_limit *hi) {
    const ctune_nnode *nn = &w->nest->node[node];
    int stmts[CTUNE_MAX_STMTS];
    int n = loop_stmts(w, node, stmts);
    ctune_status status = nn->sum >= 0 || is_grid ? lower_bounds_node(w, stmts, n, node, lo, hi)
                                                  : lower_bounds_hull(w, stmts, n, nn->dim, lo, hi);
    bool is_exact = nn->step == 1 || nn->sum >= 0; /* others wait for their inner levels */
    for (int i = 0; i < n && is_exact && status == CTUNE_OK; i++) {
        /* before rows are dropped that outer levels imply */
        status = lower_note_constraints(w, stmts[i], node, lo, hi);
    }
    return status;
}

static lower_limit copy_limit(lowerer *w, const lower_limit *limit) {
    lower_limit copy = *limit;
    copy.bound = CTUNE_NEW_ARRAY(w->arena, ctune_bound_row, limit->n + 1);
    if (copy.bound != NULL) {
        memcpy(copy.bound, limit->bound, (size_t)limit->n * sizeof *copy.bound);
    }
    return copy;
}

bool lower_is_parallel(const lowerer *w, int node) {
    return w->nest->node[node].ann == CTUNE_ANN_PARALLEL && w->openmp && !sets_outer(w, node);
}

/* Is a loop that the source has outside of dim's not open yet? */
static bool has_outer_inside(const lowerer *w, int stmt, int dim) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int p = 0; p < s->n_dims && s->dims[p] != dim; p++) {
        bool is_open = false;
        for (int i = 0; i < w->n_open; i++) {
            is_open |= w->open[i].dim == s->dims[p];
        }
        if (!is_open) {
            return true;
        }
    }
    return false;
}

static bool has_loads(const lowerer *w, const lower_limit *limit) {
    for (int i = 0; i < limit->n; i++) {
        if (ctune_aff_has_load(w->region, limit->bound[i].aff)) {
            return true;
        }
    }
    return false;
}

static ctune_status lower_loop(lowerer *w, int node, ctune_lnode *into) {
    if (lower_is_sum_pair(w, node)) {
        node = w->nest->node[node].first;
    }
    const ctune_nnode *nn = &w->nest->node[node];
    bool is_grid = nn->step > 1 && ctune_nest_is_aligned(w->nest, node);
    lower_limit lo, hi;
    ctune_status status = find_limits(w, node, is_grid, &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    lower_limit full_lo = copy_limit(w, &lo);
    w->node_hi[node] = copy_limit(w, &hi);
    if (full_lo.bound == NULL || w->node_hi[node].bound == NULL) {
        return lower_fail(w);
    }
    if (lo.n_groups <= 1 && hi.n_groups <= 1 && nn->sum < 0 && !is_grid) {
        lower_simplify(w, nn->dim, &lo, &hi);
    }
    if (has_loads(w, &lo) || has_loads(w, &hi)) {
        into = lower_shared_guard(w, node, into);
        /* loops inside that the source has outside may be empty: then it reads no bound */
        int stmts[CTUNE_MAX_STMTS];
        if (lower_stmts_under(w, node, stmts) == 1 && nn->sum < 0 &&
            has_outer_inside(w, stmts[0], nn->dim)) {
            into = lower_param_guard(w, stmts[0], nn->dim, into);
        }
    }
    int var = ctune_loops_index_var(w->loops, nn->name);
    bool is_bound = ctune_ann_is_bound(nn->ann), is_point = lower_gpu_is_point(w, node);
    bool may_fix = w->nest->n_sums > 0 && nn->step == 1 && nn->ann == CTUNE_ANN_SERIAL;
    const ctune_aff *value = may_fix ? lower_fixed_value(w, &lo, &hi) : NULL;
    ctune_lnode *loop;
    if (is_bound || is_point) {
        loop = is_point ? lower_gpu_points(w, node, &value, into) : into;
        value = is_point ? value : lower_bound_value(w, node);
        loop = lower_bound_loop(w, node, var, value, &lo, &hi, loop);
    } else {
        loop = value != NULL ? lower_fixed(w, var, value, &lo, &hi, into)
                             : lower_for(w, var, &lo, &hi, nn->step, CTUNE_LANN_SERIAL, into);
    }
    if (loop == NULL) {
        return ctune_loops_status(w->loops);
    }
    bool is_aligned = is_grid;
    if (w->launch >= 0 && !is_bound && !is_point && lower_is_grid(w, node)) {
        loop->lo = lower_grid_start(w, node);
        is_aligned = true;
    }
    if (is_grid) {
        loop->lo = align_to_grid(w, loop->lo, nn->step);
    }
    if (nn->step > 1 && nn->sum < 0) {
        loop->lo = align_to_packs(w, node, var, loop->lo, is_grid, &is_aligned);
    }
    if (w->parallel_node < 0 && lower_is_parallel(w, node)) {
        w->parallel_node = node;
        status = lower_thread_temps(w, node);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    w->node_var[node] = var;
    if (is_aligned || lo.n_groups > 1 || ((is_bound || is_point) && nn->step > 1)) {
        full_lo.n = 0;
    }
    w->node_lo[node] = full_lo;
    w->node_value[node] = is_bound || is_point ? value : NULL;
    bool is_plain = value == NULL && loop->lo != NULL && loop->lo->n_terms == 0;
    w->node_least[node] = is_plain ? loop->lo : NULL;
    open_level(w, node, var, &lo, is_aligned || is_bound || is_point);
    status = w->is_gpu ? lower_children(w, node, loop) : lower_isolated(w, node, loop);
    lower_pop(w);
    w->node_var[node] = -1;
    if (value == NULL && !is_bound && !is_point) {
        annotate(w, node, loop, into);
    }
    return status;
}

ctune_status lower_node(lowerer *w, int node, ctune_lnode *into) {
    const ctune_nnode *nn = &w->nest->node[node];
    lower_env env;
    switch (nn->kind) {
    case CTUNE_NN_STMT:
        lower_env_get(w, nn->stmt, &env);
        if (w->gpu_tile != NULL) {
            lower_gpu_instance(w, &env, into);
        } else {
            lower_instance(w, &env, true, w->is_gpu ? lower_axes_guard(w, node, into) : into);
        }
        return CTUNE_OK;
    case CTUNE_NN_SEQ:
        return lower_children(w, node, into);
    default:
        return lower_loop(w, node, into);
    }
}

/* ---- entry ----------------------------------------------------------------------------------- */

static bool make_tables(lowerer *w) {
    int n = w->region->n_tensors + 1;
    w->scalar_var = CTUNE_NEW_ARRAY(w->arena, int, n);
    w->temp_buffer = CTUNE_NEW_ARRAY(w->arena, int, n);
    w->temp_scope = CTUNE_NEW_ARRAY(w->arena, int, n);
    w->temp_base = ctune_arena_array(w->arena, (size_t)n, sizeof *w->temp_base);
    w->temp_index = ctune_arena_array(w->arena, (size_t)n, sizeof *w->temp_index);
    w->temp_tile = ctune_arena_array(w->arena, (size_t)n, sizeof *w->temp_tile);
    w->setup = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    if (w->scalar_var == NULL || w->temp_buffer == NULL || w->temp_scope == NULL ||
        w->temp_base == NULL || w->temp_index == NULL || w->temp_tile == NULL || w->setup == NULL) {
        return false;
    }
    for (int t = 0; t < n; t++) {
        w->scalar_var[t] = w->temp_buffer[t] = w->temp_scope[t] = -1;
    }
    for (int i = 0; i < CTUNE_NEST_NODES; i++) {
        w->node_var[i] = -1;
    }
    w->parallel_node = -1;
    w->launch = -1;
    w->is_gpu = ctune_nest_is_gpu(w->nest);
    for (int i = 0; i < LOWER_HW_AXES; i++) {
        w->hw_var[i] = -1;
    }
    return true;
}

/* The setup's nodes become the head of the root. */
static void join_setup(lowerer *w) {
    ctune_lnode *root = w->loops->root, *setup = w->setup;
    if (setup->first == NULL) {
        return;
    }
    setup->last->next = root->first;
    root->first = setup->first;
    root->last = root->last == NULL ? setup->last : root->last;
}

static ctune_status lower_program(lowerer *w) {
    for (int s = 0; s < w->tree->n_stmts; s++) {
        if (w->tree->stmts[s].n_cons > LOWER_MAX_CONS) {
            return ctune_loops_fail(w->loops, CTUNE_EREFUSED,
                                    "a statement with over %d constraints", LOWER_MAX_CONS);
        }
    }
    char why[200];
    if (!ctune_nest_check_loads(w->nest, why, sizeof why)) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED, "%s", why);
    }
    if (!make_tables(w)) {
        return lower_fail(w);
    }
    ctune_status status = lower_join_placed(w);
    if (status == CTUNE_OK) {
        status = lower_temps(w);
    }
    if (status == CTUNE_OK) {
        lower_scalars(w, w->loops->root);
        status = lower_children(w, 0, w->loops->root);
    }
    if (status == CTUNE_OK) {
        status = lower_skews(w);
    }
    join_setup(w);
    return status == CTUNE_OK ? ctune_loops_status(w->loops) : status;
}

ctune_status ctune_lower(ctune_ctx *ctx, const ctune_nest *nest, const ctune_lower_options *options,
                         ctune_loops **out) {
    *out = NULL;
    ctune_loops *loops = NULL;
    lowerer *w = calloc(1, sizeof *w);
    ctune_status status = w == NULL ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                    : ctune_loops_create(ctx, nest->region, &loops);
    if (status == CTUNE_OK) {
        *w = (lowerer){.ctx = ctx,
                       .loops = loops,
                       .nest = nest,
                       .region = nest->region,
                       .tree = nest->form->tree,
                       .arena = loops->arena,
                       .options = options,
                       .openmp = options->target->openmp && !nest->region->serial};
        status = lower_program(w);
    }
    free(w);
    if (status == CTUNE_OK) {
        status = ctune_pass_barriers(loops);
    }
    if (status == CTUNE_OK && options->observer != NULL) {
        options->observer(options->observer_data, "lower", loops);
    }
    if (status == CTUNE_OK) {
        ctune_pass_options passes = {.target = options->target,
                                     .reserved = options->reserved,
                                     .n_reserved = options->n_reserved,
                                     .sizes = options->sizes};
        status = ctune_passes_run(loops, &passes, options->observer, options->observer_data);
    }
    if (status != CTUNE_OK) {
        ctune_loops_destroy(loops);
        return status;
    }
    *out = loops;
    return CTUNE_OK;
}

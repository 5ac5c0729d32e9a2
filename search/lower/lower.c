/*
 * Lowering: nest -> loops. This file walks the nest; bounds come from range.c, values from
 * import.c, register tiles from tile.c and partial.c, packed copies from pack.c, temporaries from
 * temps.c.
 *
 * What a statement's own domain asks beyond the bounds of a loop over several statements becomes an
 * `if` around the part of the loop body that is its alone.
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

/* ---- conditions ------------------------------------------------------------------------------ */

/* Does a row of stmt hold by the limit (of the hull over several statements)? */
static bool is_held(const lower_limit *limit, const ctune_bound *row) {
    for (int k = 0; k < limit->n && limit->n_groups <= 1; k++) {
        if (lower_is_parallel_row(&limit->bound[k], row)) {
            int64_t have = limit->bound[k].aff->c0, want = row->aff->c0;
            if (limit->is_max ? have >= want : have <= want) {
                return true;
            }
        }
    }
    return false;
}

/* After a loop was opened with limits lo, hi: which domain constraints of stmt hold by
 * them, which wait; and likewise which loops over sums. */
static ctune_status note_constraints(lowerer *w, int stmt, int node, const lower_limit *lo,
                                     const lower_limit *hi) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    int tile_node[CTUNE_MAX_OPEN];
    ctune_bounds b;
    ctune_status status = lower_bounds_rows(w, stmt, node, &b, tile_node);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int side = 0; side < 2; side++) {
        const lower_limit *limit = side == 0 ? lo : hi;
        int n = side == 0 ? b.n_lower : b.n_upper;
        for (int i = 0; i < n; i++) {
            const ctune_bound *row = side == 0 ? &b.lower[i] : &b.upper[i];
            bool is_con = row->is_domain && row->i_con >= 0 && row->i_con < s->n_cons;
            if ((is_con || row->i_open >= 0) && !is_held(limit, row)) {
                if (is_con) {
                    w->pending[stmt][row->i_con] = true;
                }
                if (row->i_open >= 0) {
                    w->pending_tile[stmt][tile_node[row->i_open]] = true;
                }
            }
        }
    }
    return CTUNE_OK;
}

/* Are all dims that con needs open as point loops? */
static bool is_decidable(const lowerer *w, int stmt, const lower_env *env, const ctune_aff *con) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int t = 0; t < con->n_terms; t++) {
        if (con->terms[t].kind == CTUNE_TERM_AXIS) {
            int pos = lower_pos(s, con->terms[t].id);
            if (pos < 0 || env->val[pos] == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* A form over the dims of stmt, all open, at their values. */
static const ctune_aff *at_values(lowerer *w, int stmt, const lower_env *env,
                                  const ctune_aff *form) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_aff *sum = ctune_aff_const(w->arena, form->c0);
    for (int t = 0; t < form->n_terms; t++) {
        const ctune_term *term = &form->terms[t];
        const ctune_aff *part = ctune_aff_term(w->arena, term->kind, term->id, 1);
        part = term->kind == CTUNE_TERM_AXIS ? env->val[lower_pos(s, term->id)]
                                             : lower_row_aff(w, part);
        sum = ctune_aff_add(w->arena, sum, ctune_aff_scale(w->arena, part, term->coef));
    }
    return sum;
}

/* What a loop over a sum adds up for stmt. */
static const ctune_aff *sum_of(lowerer *w, int stmt, int node) {
    const ctune_sum *sum = ctune_nest_sum(w->nest, node);
    const ctune_aff *aff = ctune_aff_const(w->arena, 0);
    for (int t = 0; t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        if (term->kind == CTUNE_SUM_STMT && term->of == stmt) {
            aff = ctune_aff_add_const(w->arena, aff, term->coef);
        } else if (term->kind == CTUNE_SUM_DIM && lower_pos(&w->tree->stmts[stmt], term->of) >= 0) {
            aff = ctune_aff_add(w->arena, aff,
                                ctune_aff_term(w->arena, CTUNE_TERM_AXIS, term->of, term->coef));
        }
    }
    return aff;
}

/* x <= sum <= x + step - 1 for the loops over sums that stmt waits for. */
static int pending_tiles(lowerer *w, int stmt, const lower_env *env, const ctune_aff **conds) {
    int n = 0;
    for (int node = 1; node < w->nest->n_nodes; node++) {
        const ctune_aff *sum = w->pending_tile[stmt][node] ? sum_of(w, stmt, node) : NULL;
        if (sum == NULL || !is_decidable(w, stmt, env, sum)) {
            continue;
        }
        const ctune_aff *x = ctune_loops_var_aff(w->loops, w->node_var[node], 1, 0);
        const ctune_aff *off = ctune_aff_sub(w->arena, at_values(w, stmt, env, sum), x);
        const ctune_aff *left = ctune_aff_scale(w->arena, off, -1);
        conds[n++] = off;
        conds[n++] = ctune_aff_add_const(w->arena, left, w->nest->node[node].step - 1);
        w->pending_tile[stmt][node] = false;
    }
    return n;
}

/* Wrap into an IF what stmt still waits for and can be checked now; returns where to put its code.
 */
static ctune_lnode *open_guard(lowerer *w, int stmt, ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_aff **conds =
        CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, s->n_cons + 2 * CTUNE_NEST_NODES);
    lower_env env;
    lower_env_get(w, stmt, &env);
    int n = conds != NULL ? pending_tiles(w, stmt, &env, conds) : 0;
    for (int i = 0; conds != NULL && i < s->n_cons; i++) {
        if (w->pending[stmt][i] && is_decidable(w, stmt, &env, s->cons[i])) {
            conds[n++] = at_values(w, stmt, &env, s->cons[i]);
            w->pending[stmt][i] = false;
        }
    }
    if (n == 0) {
        return into;
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n, NULL);
    ctune_lnode_append(into, guard);
    return guard;
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
    return kid >= 0 && w->nest->node[kid].kind == CTUNE_NN_LOOP &&
           w->nest->node[kid].ann == CTUNE_ANN_PARALLEL && w->nest->node[kid].next < 0;
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

/* What the compiler is told of a finished loop. */
static void annotate(lowerer *w, int node, ctune_lnode *loop) {
    const ctune_nnode *nn = &w->nest->node[node];
    if (nn->ann == CTUNE_ANN_VECTOR && is_innermost(loop)) {
        loop->ann = CTUNE_LANN_SIMD;
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
    }
}

static int find_register_at(const lowerer *w, int node) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        if (w->nest->cache[c].kind == CTUNE_CACHE_REGISTER && w->nest->cache[c].at == node) {
            return w->nest->cache[c].stmt;
        }
    }
    return -1;
}

/* The body of loop `node` (or of the root): packed copies, declarations, children. */
ctune_status lower_children(lowerer *w, int node, ctune_lnode *into) {
    ctune_status status = w->no_register ? CTUNE_OK : lower_packs_at(w, node, into);
    if (status != CTUNE_OK) {
        return status;
    }
    lower_decls_at(w, node, into);
    int stmt = w->no_register ? -1 : find_register_at(w, node);
    return stmt >= 0 ? lower_register(w, node, stmt, into) : lower_kids(w, node, into);
}

ctune_status lower_kids(lowerer *w, int node, ctune_lnode *into) {
    ctune_status status = CTUNE_OK;
    for (int kid = w->nest->node[node].first; kid >= 0; kid = w->nest->node[kid].next) {
        int stmts[CTUNE_MAX_STMTS];
        ctune_lnode *where = into;
        if (lower_stmts_under(w, kid, stmts) == 1) {
            where = open_guard(w, stmts[0], into);
        }
        status = lower_node(w, kid, where);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    return CTUNE_OK;
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
        status = note_constraints(w, stmts[i], node, lo, hi);
    }
    return status;
}

/* The value of a loop that has one iteration at most because a sum around it fixes it; NULL. */
static const ctune_aff *fixed_value(lowerer *w, const lower_limit *lo, const lower_limit *hi) {
    for (int i = 0; i < lo->n && lo->n_groups <= 1; i++) {
        for (int k = 0; k < hi->n && hi->n_groups <= 1; k++) {
            if (lo->bound[i].den == 1 && hi->bound[k].den == 1 &&
                ctune_aff_is_equal(lo->bound[i].aff, hi->bound[k].aff)) {
                return lower_row_aff(w, lo->bound[i].aff);
            }
        }
    }
    return NULL;
}

/* That value satisfies a row of a lower (is_max) or upper limit, as a form that is >= 0. */
static const ctune_aff *row_gap(lowerer *w, const ctune_bound *b, bool is_max,
                                const ctune_aff *value) {
    const ctune_aff *gap =
        ctune_aff_sub(w->arena, ctune_aff_scale(w->arena, value, b->den), lower_row_aff(w, b->aff));
    return is_max ? gap : ctune_aff_scale(w->arena, gap, -1);
}

static bool is_at_least(const ctune_aff *a, const ctune_aff *b) {
    bool same = a->n_terms == b->n_terms && a->c0 >= b->c0;
    for (int t = 0; same && t < a->n_terms; t++) {
        same = a->terms[t].coef == ctune_aff_coef(b, a->terms[t].kind, a->terms[t].id);
    }
    return same;
}

/* Does the range of an open loop say that the form is >= 0? */
static bool is_implied(lowerer *w, const ctune_aff *form) {
    for (int i = 0; i < w->n_open && i < CTUNE_MAX_OPEN; i++) {
        int node = w->open[i].node;
        for (int side = 0; side < 2 && node >= 0; side++) {
            const lower_limit *limit = side == 0 ? &w->node_lo[node] : &w->node_hi[node];
            const ctune_aff *var = ctune_loops_var_aff(w->loops, w->open[i].var, 1, 0);
            for (int k = 0; k < limit->n && limit->n_groups <= 1; k++) {
                const ctune_aff *gap = row_gap(w, &limit->bound[k], side == 0, var);
                if (gap != NULL && is_at_least(form, gap)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* What the other rows of a limit ask of the value. */
static int fixed_conds(lowerer *w, const lower_limit *limit, const ctune_aff *value,
                       const ctune_aff **conds) {
    int n = 0;
    for (int i = 0; i < limit->n; i++) {
        const ctune_aff *gap = row_gap(w, &limit->bound[i], limit->is_max, value);
        bool is_true = gap != NULL && gap->n_terms == 0 && gap->c0 >= 0;
        if (gap == NULL || (!is_true && !is_implied(w, gap))) {
            conds[n++] = gap;
        }
    }
    return n;
}

/* Instead of a loop of one iteration: its variable, where the value is in range. Returns where its
 * body goes, NULL when memory is out. */
static ctune_lnode *lower_fixed(lowerer *w, int var, const ctune_aff *value, const lower_limit *lo,
                                const lower_limit *hi, ctune_lnode *into) {
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, lo->n + hi->n + 1);
    if (conds == NULL) {
        return NULL;
    }
    int n = fixed_conds(w, lo, value, conds);
    n += fixed_conds(w, hi, value, conds + n);
    ctune_lnode *body =
        n > 0 ? ctune_lnode_if(w->loops, conds, n, NULL) : ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    ctune_lnode_append(into, body);
    ctune_lnode_append(body, ctune_lnode_let(w->loops, var, value));
    return body;
}

static lower_limit copy_limit(lowerer *w, const lower_limit *limit) {
    lower_limit copy = *limit;
    copy.bound = CTUNE_NEW_ARRAY(w->arena, ctune_bound, limit->n + 1);
    if (copy.bound != NULL) {
        memcpy(copy.bound, limit->bound, (size_t)limit->n * sizeof *copy.bound);
    }
    return copy;
}

static ctune_status lower_loop(lowerer *w, int node, ctune_lnode *into) {
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
    int var = ctune_loops_index_var(w->loops, nn->name);
    bool may_fix = w->nest->n_sums > 0 && nn->step == 1 && nn->ann == CTUNE_ANN_SERIAL;
    const ctune_aff *value = may_fix ? fixed_value(w, &lo, &hi) : NULL;
    ctune_lnode *loop = value != NULL
                            ? lower_fixed(w, var, value, &lo, &hi, into)
                            : lower_for(w, var, &lo, &hi, nn->step, CTUNE_LANN_SERIAL, into);
    if (loop == NULL) {
        return ctune_loops_status(w->loops);
    }
    bool is_aligned = is_grid;
    if (is_grid) {
        loop->lo = align_to_grid(w, loop->lo, nn->step);
    }
    if (nn->step > 1 && nn->sum < 0) {
        loop->lo = align_to_packs(w, node, var, loop->lo, is_grid, &is_aligned);
    }
    if (nn->ann == CTUNE_ANN_PARALLEL && w->options->openmp && w->parallel_node < 0) {
        w->parallel_node = node;
        status = lower_thread_temps(w, node);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    w->node_var[node] = var;
    if (is_aligned || lo.n_groups > 1) {
        full_lo.n = 0;
    }
    w->node_lo[node] = full_lo;
    open_level(w, node, var, &lo, is_aligned);
    status = lower_children(w, node, loop);
    lower_pop(w);
    w->node_var[node] = -1;
    if (value == NULL) {
        annotate(w, node, loop);
    }
    return status;
}

ctune_status lower_node(lowerer *w, int node, ctune_lnode *into) {
    const ctune_nnode *nn = &w->nest->node[node];
    lower_env env;
    switch (nn->kind) {
    case CTUNE_NN_STMT:
        lower_env_get(w, nn->stmt, &env);
        lower_instance(w, &env, true, into);
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
    w->setup = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
    if (w->scalar_var == NULL || w->temp_buffer == NULL || w->temp_scope == NULL ||
        w->temp_base == NULL || w->temp_index == NULL || w->setup == NULL) {
        return false;
    }
    for (int t = 0; t < n; t++) {
        w->scalar_var[t] = w->temp_buffer[t] = w->temp_scope[t] = -1;
    }
    for (int i = 0; i < CTUNE_NEST_NODES; i++) {
        w->node_var[i] = -1;
    }
    w->parallel_node = -1;
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
                       .options = options};
        status = lower_program(w);
    }
    free(w);
    if (status == CTUNE_OK && options->observer != NULL) {
        options->observer(options->observer_data, "lower", loops);
    }
    if (status == CTUNE_OK) {
        ctune_pass_options passes = {.vector_bytes = options->vector_bytes,
                                     .reserved = options->reserved,
                                     .n_reserved = options->n_reserved};
        status = ctune_passes_run(loops, &passes, options->observer, options->observer_data);
    }
    if (status != CTUNE_OK) {
        ctune_loops_destroy(loops);
        return status;
    }
    *out = loops;
    return CTUNE_OK;
}

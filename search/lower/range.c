/*
 * Bounds of one loop: rows of the elimination (bounds.c) pruned, merged over statements, and turned
 * into indices.
 *
 * A loop over several statements gets bounds that all of them share (parallel rows with the loosest
 * constant), or the hull of their values where they share none.
 */
#include "search/lower/lower_private.h"

#include <string.h>

/* ---- the system of a statement --------------------------------------------------------------- */

lower_scope lower_scope_of(const lowerer *w, int stmt) {
    return (lower_scope){.stmt = &w->tree->stmts[stmt], .n = 1, .member = {stmt}};
}

int lower_scope_owner(const lowerer *w, const lower_scope *scope, int node) {
    for (int m = 0; m < scope->n; m++) {
        int own = ctune_nest_find_stmt(w->nest, scope->member[m]);
        int place = w->nest->node[own].placed;
        if (lower_is_ancestor(w, node, own) &&
            (place < 0 || (node != place && lower_is_ancestor(w, place, node)))) {
            return scope->member[m];
        }
    }
    return -1;
}

/* Open loops as bounds.c sees them, and which node each is. */
typedef struct opens {
    lowerer *w;
    const lower_scope *scope;
    int n;
    bool is_full;
    ctune_open open[CTUNE_MAX_OPEN];
    int node[CTUNE_MAX_OPEN];
} opens;

static ctune_open *add_open(opens *o, int var, int node, int64_t step) {
    if (o->n == CTUNE_MAX_OPEN) {
        o->is_full = true;
        return &o->open[0];
    }
    o->node[o->n] = node;
    o->open[o->n] = (ctune_open){.var = var, .pos = -1, .step = step};
    return &o->open[o->n++];
}

/* A tile loop over a sum, for the statement of the scope that it holds. */
static void add_form(opens *o, int var, int node) {
    const ctune_sum *sum = ctune_nest_sum(o->w->nest, node);
    int owner = lower_scope_owner(o->w, o->scope, node);
    if (owner < 0) {
        return;
    }
    ctune_open *open = add_open(o, var, node, o->w->nest->node[node].step);
    for (int t = 0; t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        int pos = term->kind == CTUNE_SUM_DIM && lower_pos(&o->w->tree->stmts[owner], term->of) >= 0
                      ? lower_pos(o->scope->stmt, term->of)
                      : -1;
        if (pos >= 0) {
            open->term[open->n_form++] = (ctune_open_term){pos, term->coef};
        } else if (term->kind == CTUNE_SUM_STMT && term->of == owner) {
            open->shift += term->coef;
        }
    }
}

static int index_of_node(const opens *o, int node) {
    for (int i = 0; i < o->n; i++) {
        if (o->node[i] == node) {
            return i;
        }
    }
    return -1;
}

/* A loop that is not open; its index, -1 when the scope is not in it. */
static int add_closed(opens *o, int node) {
    const ctune_nnode *nn = &o->w->nest->node[node];
    int at = index_of_node(o, node);
    if (at >= 0) {
        return at;
    }
    if (nn->sum >= 0) {
        add_form(o, -1, node);
        return index_of_node(o, node);
    }
    int pos = lower_pos(o->scope->stmt, nn->dim);
    if (pos >= 0) {
        add_open(o, -1, node, nn->step)->pos = pos;
    }
    return pos >= 0 ? o->n - 1 : -1;
}

static void add_wave(opens *o, int var, int node) {
    const ctune_sum *sum = ctune_nest_sum(o->w->nest, node);
    int index[CTUNE_SUM_TERMS];
    for (int t = 0; t < sum->n; t++) {
        index[t] = add_closed(o, sum->term[t].of);
        if (index[t] < 0) {
            return;
        }
    }
    ctune_open *open = add_open(o, var, node, 1);
    for (int t = 0; t < sum->n; t++) {
        open->term[open->n_wave++] = (ctune_open_term){index[t], sum->term[t].coef};
    }
}

static void add_opens(opens *o) {
    const lowerer *w = o->w;
    for (int i = 0; i < w->n_open && i < CTUNE_MAX_OPEN; i++) {
        const lower_open *l = &w->open[i];
        const ctune_sum *sum = l->dim < 0 && l->node >= 0 ? ctune_nest_sum(w->nest, l->node) : NULL;
        int pos = l->dim < 0 ? -1 : lower_pos(o->scope->stmt, l->dim);
        if (sum != NULL && !ctune_sum_is_wave(sum)) {
            add_form(o, l->var, l->node);
        } else if (sum == NULL && (pos >= 0 || l->dim < 0)) {
            add_open(o, l->var, l->node, l->step)->pos = pos;
        }
    }
    for (int i = 0; i < w->n_open && i < CTUNE_MAX_OPEN; i++) {
        const lower_open *l = &w->open[i];
        if (l->dim < 0 && l->node >= 0 && ctune_sum_is_wave(ctune_nest_sum(w->nest, l->node))) {
            add_wave(o, l->var, l->node);
        }
    }
}

static int list_extra(const lowerer *w, const ctune_stmt *s, ctune_extra *extra) {
    int n = 0;
    for (int i = 0; i < w->n_extra; i++) {
        int pos = lower_pos(s, w->extra[i].dim);
        if (pos >= 0) {
            extra[n++] = (ctune_extra){.pos = pos,
                                       .var = w->extra[i].var,
                                       .c = w->extra[i].c,
                                       .is_lower = w->extra[i].is_lower};
        }
    }
    return n;
}

/* Bounds of what loop `node` asks of the scope: of its own variable when it is a sum or its tiles
 * lie on a grid (wants_var), else of its dim. node < 0: of `dim`. tile_node (may be NULL):
 * which node each i_open of the rows is. */
static ctune_status scope_bounds(lowerer *w, const lower_scope *scope, int node, int dim,
                                 ctune_bounds *out, int *tile_node) {
    ctune_extra extra[LOWER_MAX_EXTRA];
    opens o = {.w = w, .scope = scope};
    int target = -1;
    add_opens(&o);
    if (node >= 0) {
        if (ctune_sum_is_wave(ctune_nest_sum(w->nest, node))) {
            add_wave(&o, -1, node);
        } else {
            add_closed(&o, node);
        }
        target = index_of_node(&o, node);
    }
    if (w->n_open > CTUNE_MAX_OPEN || o.is_full) {
        return ctune_loops_fail(w->loops, CTUNE_EREFUSED, "too many nested loops");
    }
    if (tile_node != NULL) {
        memcpy(tile_node, o.node, sizeof o.node);
    }
    int n_extra = list_extra(w, scope->stmt, extra);
    ctune_status status =
        node >= 0 ? ctune_bounds_find_open(w->ctx, w->arena, w->region, scope->stmt, o.open, o.n,
                                           extra, n_extra, target, out)
                  : ctune_bounds_find(w->ctx, w->arena, w->region, scope->stmt, o.open, o.n, extra,
                                      n_extra, lower_pos(scope->stmt, dim), out);
    if (status == CTUNE_OK && node < 0) {
        lower_drop_isolated(w, scope->stmt, dim, out);
    }
    return status;
}

ctune_status lower_bounds_raw(lowerer *w, int stmt, int dim, ctune_bounds *out) {
    lower_scope scope = lower_scope_of(w, stmt);
    return scope_bounds(w, &scope, -1, dim, out, NULL);
}

ctune_status lower_bounds_rows(lowerer *w, int stmt, int node, ctune_bounds *out, int *tile_node) {
    lower_scope scope = lower_scope_of(w, stmt);
    const ctune_nnode *nn = &w->nest->node[node];
    return scope_bounds(w, &scope, nn->sum >= 0 ? node : -1, nn->dim, out, tile_node);
}

bool lower_is_parallel_row(const ctune_bound_row *a, const ctune_bound_row *b) {
    if (a->den != b->den || a->aff->n_terms != b->aff->n_terms) {
        return false;
    }
    for (int t = 0; t < a->aff->n_terms; t++) {
        const ctune_term *x = &a->aff->terms[t], *y = &b->aff->terms[t];
        if (x->kind != y->kind || x->id != y->id || x->coef != y->coef) {
            return false;
        }
    }
    return true;
}

/* Keep the tightest of each class of parallel rows. */
static int prune(ctune_bound_row *rows, int n, bool is_lower) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool dominated = false;
        for (int k = 0; k < kept && !dominated; k++) {
            if (lower_is_parallel_row(&rows[i], &rows[k])) {
                int64_t a = rows[i].aff->c0, b = rows[k].aff->c0;
                if (is_lower ? a > b : a < b) {
                    rows[k] = rows[i];
                }
                dominated = true;
            }
        }
        if (!dominated) {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

/* Narrow the classes in `rows` to those that `other` has, too, with the looser constant. */
static int hull(ctune_bound_row *rows, int n, const ctune_bound_row *other, int n_other,
                bool is_lower) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_other; k++) {
            if (lower_is_parallel_row(&rows[i], &other[k])) {
                int64_t a = rows[i].aff->c0, b = other[k].aff->c0;
                rows[kept++] = (is_lower ? b < a : b > a) ? other[k] : rows[i];
                break;
            }
        }
    }
    return kept;
}

static void drop_row(lower_limit *limit, int i) {
    memmove(&limit->bound[i], &limit->bound[i + 1],
            (size_t)(limit->n - 1 - i) * sizeof *limit->bound);
    limit->n--;
}

static bool is_var_plus(const ctune_bound_row *b, int var, int64_t add) {
    return b->den == 1 && b->aff->c0 == add && b->aff->n_terms == 1 &&
           b->aff->terms[0].kind == CTUNE_TERM_AXIS && b->aff->terms[0].id == var &&
           b->aff->terms[0].coef == 1;
}

/* The open levels of dim already imply some rows: an inner tile starts no lower than the outer one
 * and, on its grid, ends in it. */
void lower_simplify(lowerer *w, int dim, lower_limit *lo, lower_limit *hi) {
    const lower_open *inner = NULL;
    for (int i = w->n_open - 1; i >= 0; i--) {
        const lower_open *o = &w->open[i];
        if (o->dim != dim || o->step <= 1) {
            continue;
        }
        bool knows = o->node < 0 || w->node_lo[o->node].n > 0;
        for (int k = lo->n - 1; k >= 0 && lo->n > 1; k--) {
            bool implied = inner != NULL && inner->start_var == o->var &&
                           is_var_plus(&lo->bound[k], o->var, 0);
            for (int r = 0; o->node >= 0 && knows && r < w->node_lo[o->node].n && !implied; r++) {
                const ctune_bound_row *row = &w->node_lo[o->node].bound[r];
                implied = lower_is_parallel_row(row, &lo->bound[k]) &&
                          row->aff->c0 >= lo->bound[k].aff->c0;
            }
            if (implied) {
                drop_row(lo, k);
            }
        }
        for (int k = hi->n - 1; k >= 0 && hi->n > 1; k--) {
            if (inner != NULL && inner->start_var == o->var && o->step % inner->step == 0 &&
                is_var_plus(&hi->bound[k], o->var, o->step - 1)) {
                drop_row(hi, k);
            }
        }
        inner = o;
    }
}

static bool hull_classes(const ctune_bounds *each, int n, ctune_bounds *all) {
    *all = each[0];
    for (int i = 1; i < n; i++) {
        all->n_lower = hull(all->lower, all->n_lower, each[i].lower, each[i].n_lower, true);
        all->n_upper = hull(all->upper, all->n_upper, each[i].upper, each[i].n_upper, false);
    }
    return all->n_lower > 0 && all->n_upper > 0;
}

/* No constraint in common: least of the lower limits, greatest of the upper ones, as they are. */
static bool hull_groups(lowerer *w, const ctune_bounds *each, int n, bool is_lower,
                        lower_limit *out) {
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += is_lower ? each[i].n_lower : each[i].n_upper;
    }
    ctune_bound_row *rows = CTUNE_NEW_ARRAY(w->arena, ctune_bound_row, total);
    int *group = CTUNE_NEW_ARRAY(w->arena, int, total);
    if (rows == NULL || group == NULL) {
        return false;
    }
    *out = (lower_limit){.is_max = is_lower, .bound = rows, .n_groups = n, .group = group};
    for (int i = 0; i < n; i++) {
        int m = is_lower ? each[i].n_lower : each[i].n_upper;
        for (int k = 0; k < m; k++) {
            group[out->n] = i;
            rows[out->n++] = is_lower ? each[i].lower[k] : each[i].upper[k];
        }
    }
    return true;
}

static ctune_bound_row *copy_rows(lowerer *w, const ctune_bound_row *rows, int n) {
    ctune_bound_row *copy = CTUNE_NEW_ARRAY(w->arena, ctune_bound_row, n + 1);
    if (copy != NULL && n > 0) {
        memcpy(copy, rows, (size_t)n * sizeof *copy);
    }
    return copy;
}

static ctune_status hull_of(lowerer *w, const lower_scope *scope, int n, int node, int dim,
                            lower_limit *lo, lower_limit *hi) {
    ctune_bounds *each = CTUNE_NEW_ARRAY(w->arena, ctune_bounds, n);
    ctune_bounds *copy = CTUNE_NEW_ARRAY(w->arena, ctune_bounds, n);
    ctune_bounds all;
    if (each == NULL || copy == NULL) {
        return lower_fail(w);
    }
    for (int i = 0; i < n; i++) {
        ctune_status status = scope_bounds(w, &scope[i], node, dim, &each[i], NULL);
        if (status != CTUNE_OK) {
            return status;
        }
        each[i].n_lower = prune(each[i].lower, each[i].n_lower, true);
        each[i].n_upper = prune(each[i].upper, each[i].n_upper, false);
        copy[i] = each[i];
        copy[i].lower = copy_rows(w, each[i].lower, each[i].n_lower);
        copy[i].upper = copy_rows(w, each[i].upper, each[i].n_upper);
        if (copy[i].lower == NULL || copy[i].upper == NULL) {
            return lower_fail(w);
        }
    }
    bool shared = hull_classes(each, n, &all);
    *lo = (lower_limit){.is_max = true, .n = all.n_lower, .bound = all.lower};
    *hi = (lower_limit){.is_max = false, .n = all.n_upper, .bound = all.upper};
    if (!shared && ((lo->n == 0 && !hull_groups(w, copy, n, true, lo)) ||
                    (hi->n == 0 && !hull_groups(w, copy, n, false, hi)))) {
        return lower_fail(w);
    }
    for (int i = 0; i < n; i++) {
        lo->is_inexact |= each[i].is_inexact;
        hi->is_inexact |= each[i].is_inexact;
    }
    return CTUNE_OK;
}

/* The scopes of statements: of a placed one, one for each way in which it is read. */
static lower_scope *list_scopes(lowerer *w, const int *stmts, int n, int *n_scopes) {
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += w->n_joined[stmts[i]] > 0 ? w->n_joined[stmts[i]] : 1;
    }
    lower_scope *scopes = CTUNE_NEW_ARRAY(w->arena, lower_scope, total);
    *n_scopes = 0;
    for (int i = 0; scopes != NULL && i < n; i++) {
        for (int k = 0; k < w->n_joined[stmts[i]]; k++) {
            scopes[(*n_scopes)++] = w->joined[stmts[i]][k];
        }
        if (w->n_joined[stmts[i]] == 0) {
            scopes[(*n_scopes)++] = lower_scope_of(w, stmts[i]);
        }
    }
    return scopes;
}

ctune_status lower_bounds_hull(lowerer *w, const int *stmts, int n, int dim, lower_limit *lo,
                               lower_limit *hi) {
    int n_scopes;
    lower_scope *scopes = list_scopes(w, stmts, n, &n_scopes);
    return scopes == NULL ? lower_fail(w) : hull_of(w, scopes, n_scopes, -1, dim, lo, hi);
}

ctune_status lower_bounds_node(lowerer *w, const int *stmts, int n, int node, lower_limit *lo,
                               lower_limit *hi) {
    int n_scopes;
    lower_scope *scopes = list_scopes(w, stmts, n, &n_scopes);
    return scopes == NULL ? lower_fail(w) : hull_of(w, scopes, n_scopes, node, -1, lo, hi);
}

ctune_status lower_bounds(lowerer *w, int stmt, int dim, lower_limit *lo, lower_limit *hi) {
    ctune_status status = lower_bounds_hull(w, &stmt, 1, dim, lo, hi);
    if (status == CTUNE_OK) {
        lower_simplify(w, dim, lo, hi);
    }
    return status;
}

/* ---- as indices ------------------------------------------------------------------------------ */

/* Does the statement stand in the innermost loop of the nest that is open? */
static bool is_here(const lowerer *w, int stmt) {
    for (int i = w->n_open - 1; i >= 0; i--) {
        if (w->open[i].node >= 0) {
            return lower_is_ancestor(w, w->open[i].node, ctune_nest_find_stmt(w->nest, stmt));
        }
    }
    return true;
}

/* Values of the region's axes that are open loops as they stand, for the loads in a row of bounds.
 * A structure may have one axis as different loops around different statements: where both are open
 * and the row asks, the program is refused. */
static const ctune_aff *const *open_axes(lowerer *w, const ctune_aff *row) {
    const ctune_aff **axis = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, w->region->n_axes + 1);
    int *from = CTUNE_NEW_ARRAY(w->arena, int, w->region->n_axes + 1); /* the dim that gave it */
    for (int s = 0; axis != NULL && from != NULL && s < w->tree->n_stmts; s++) {
        const ctune_stmt *stmt = &w->tree->stmts[s];
        const ctune_stage *stage = &w->region->stages[stmt->stage];
        for (int d = 0; d < stage->n_axes && is_here(w, s); d++) {
            int dim = ctune_stmt_dim(stmt, d), id = stage->axes[d];
            for (int i = 0; dim >= 0 && i < w->n_open; i++) {
                if (w->open[i].dim != dim || w->open[i].step != 1) {
                    continue;
                }
                bool is_other = axis[id] != NULL && from[id] != dim;
                if (is_other && ctune_aff_div_uses_axis(w->region, row, id)) {
                    ctune_loops_fail(w->loops, CTUNE_EREFUSED,
                                     "a bound is read at values that two loops give");
                }
                axis[id] = ctune_loops_var_aff(w->loops, w->open[i].var, 1, 0);
                from[id] = dim;
            }
        }
    }
    return axis;
}

const ctune_aff *lower_row_aff(lowerer *w, const ctune_aff *row) {
    if (row == NULL || !ctune_aff_has_kind(row, CTUNE_TERM_DIV)) {
        return row;
    }
    const ctune_aff *sum = ctune_aff_const(w->arena, row->c0);
    for (int t = 0; t < row->n_terms; t++) {
        const ctune_term *term = &row->terms[t];
        const ctune_aff *part = ctune_aff_term(w->arena, term->kind, term->id, 1);
        if (term->kind == CTUNE_TERM_DIV) {
            part = ctune_loops_import_div(w->loops, term->id, open_axes(w, row));
        }
        sum = ctune_aff_add(w->arena, sum, ctune_aff_scale(w->arena, part, term->coef));
    }
    return sum;
}

/* ceil(aff / den) + add or floor(aff / den) + add */
static const ctune_aff *row_value(lowerer *w, const ctune_bound_row *b, bool is_max, int64_t add) {
    const ctune_aff *num = ctune_aff_add_const(w->arena, lower_row_aff(w, b->aff), add * b->den);
    return is_max ? ctune_loops_ceil(w->loops, num, b->den)
                  : ctune_loops_floor(w->loops, num, b->den);
}

static const ctune_aff *combine(lowerer *w, bool is_max, const ctune_aff *all,
                                const ctune_aff *one) {
    return all == NULL ? one
           : is_max    ? ctune_loops_max(w->loops, all, one)
                       : ctune_loops_min(w->loops, all, one);
}

const ctune_aff *lower_limit_aff(lowerer *w, const lower_limit *limit, int64_t add) {
    const ctune_aff *all = NULL;
    int n_groups = limit->n_groups > 1 ? limit->n_groups : 1;
    for (int g = 0; g < n_groups; g++) {
        const ctune_aff *one = NULL;
        for (int i = 0; i < limit->n; i++) {
            if (n_groups == 1 || limit->group[i] == g) {
                one = combine(w, limit->is_max, one,
                              row_value(w, &limit->bound[i], limit->is_max, add));
            }
        }
        if (one == NULL) {
            return NULL;
        }
        all = combine(w, !limit->is_max, all, one);
    }
    return all;
}

bool lower_limit_is_var(const lower_limit *limit, int var) {
    return limit->n == 1 && is_var_plus(&limit->bound[0], var, 0);
}

ctune_lnode *lower_param_guard(lowerer *w, int stmt, int dim, ctune_lnode *into) {
    ctune_bounds b;
    if (lower_bounds_raw(w, stmt, dim, &b) != CTUNE_OK || b.n_param_rows == 0) {
        return into;
    }
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, b.n_param_rows);
    for (int i = 0; conds != NULL && i < b.n_param_rows; i++) {
        conds[i] = lower_row_aff(w, b.param_rows[i]);
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, b.n_param_rows, NULL);
    ctune_lnode_append(into, guard);
    return guard;
}

bool lower_shares_loops(const lowerer *w, int node) {
    int stmts[CTUNE_MAX_STMTS];
    for (int up = node; up > 0; up = w->nest->node[up].parent) {
        if (lower_stmts_under(w, up, stmts) > 1) {
            return true;
        }
    }
    return false;
}

/* upper - lower of two rows, as a form that is >= 0 where both leave a value. */
static const ctune_aff *row_gap(lowerer *w, const ctune_bound_row *lo, const ctune_bound_row *hi) {
    return ctune_aff_sub(w->arena, ctune_aff_scale(w->arena, lower_row_aff(w, hi->aff), lo->den),
                         ctune_aff_scale(w->arena, lower_row_aff(w, lo->aff), hi->den));
}

ctune_lnode *lower_exists_guard(lowerer *w, int stmt, int dim, ctune_lnode *into) {
    ctune_bounds b;
    if (lower_bounds_raw(w, stmt, dim, &b) != CTUNE_OK) {
        return into;
    }
    const ctune_aff **conds =
        CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, b.n_open_rows + b.n_lower * b.n_upper + 1);
    int n = 0;
    for (int i = 0; conds != NULL && i < b.n_open_rows; i++) {
        conds[n++] = lower_row_aff(w, b.open_rows[i]);
    }
    for (int i = 0; conds != NULL && i < b.n_lower * b.n_upper; i++) {
        const ctune_aff *gap = row_gap(w, &b.lower[i % b.n_lower], &b.upper[i / b.n_lower]);
        if (gap == NULL || gap->n_terms > 0 || gap->c0 < 0) {
            conds[n++] = gap;
        }
    }
    if (n == 0) {
        return into;
    }
    ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n, NULL);
    ctune_lnode_append(into, guard);
    return guard;
}

ctune_lnode *lower_for(lowerer *w, int var, const lower_limit *lo, const lower_limit *hi,
                       int64_t step, ctune_lann ann, ctune_lnode *into) {
    ctune_lnode *loop = ctune_lnode_for(w->loops, var, lower_limit_aff(w, lo, 0),
                                        lower_limit_aff(w, hi, 1), step, ann);
    ctune_lnode_append(into, loop);
    return loop;
}

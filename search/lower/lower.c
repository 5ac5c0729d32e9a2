/*
 * Lowering: nest -> loops. This file walks the nest; bounds come from bounds.c, register tiles from
 * register.c, packed copies from pack.c, temporaries from temps.c.
 *
 * A loop over several statements gets bounds that all of them share (parallel constraints with the
 * loosest constant); what a statement's own domain asks beyond that becomes an `if` around the part
 * of the loop body that is its alone.
 */
#include "search/lower/lower_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ctune_lnode *lower_lnode(lowerer *w, ctune_lnode_kind kind) {
    ctune_lnode *n = CTUNE_NEW(w->arena, ctune_lnode);
    if (n != NULL) {
        n->kind = kind;
        n->floor_var = n->count_from = -1;
        n->tensor = -1;
    }
    return n;
}

void lower_append(lowerer *w, ctune_lnode *parent, ctune_lnode *kid) {
    if (parent == NULL || kid == NULL) {
        return;
    }
    /* grow by doubling: capacity is the power of two >= n_kids */
    if ((parent->n_kids & (parent->n_kids - 1)) == 0) {
        int size = parent->n_kids == 0 ? 1 : parent->n_kids * 2;
        ctune_lnode **kids = CTUNE_NEW_ARRAY(w->arena, ctune_lnode *, size);
        if (kids == NULL) {
            return;
        }
        if (parent->n_kids > 0) {
            memcpy(kids, parent->kids, (size_t)parent->n_kids * sizeof *kids);
        }
        parent->kids = kids;
    }
    parent->kids[parent->n_kids++] = kid;
}

static bool is_name_used(const lowerer *w, const char *name) {
    for (int i = 0; i < w->loops->n_vars; i++) {
        if (strcmp(w->loops->var[i].name, name) == 0) {
            return true;
        }
    }
    for (int i = 0; i < w->region->n_params; i++) {
        if (strcmp(w->region->params[i].name, name) == 0) {
            return true;
        }
    }
    for (int i = 0; i < w->region->n_tensors; i++) {
        if (strcmp(w->region->tensors[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

int lower_var(lowerer *w, const char *name) {
    ctune_loops *l = w->loops;
    if (l->n_vars >= CTUNE_MAX_LVARS) {
        return -1;
    }
    char unique[CTUNE_NAME_BYTES + 8];
    snprintf(unique, sizeof unique, "%.23s", name);
    for (int k = 2; is_name_used(w, unique); k++) {
        snprintf(unique, sizeof unique, "%.18s_%d", name, k);
    }
    memcpy(l->var[l->n_vars].name, unique, sizeof unique);
    return l->n_vars++;
}

ctune_limit lower_limit_var(lowerer *w, int var, int64_t add) {
    ctune_limit limit = {.n = 1, .align_var = -1};
    ctune_bound *b = CTUNE_NEW(w->arena, ctune_bound);
    if (b != NULL) {
        b->aff =
            ctune_aff_add_const(w->arena, ctune_aff_term(w->arena, CTUNE_TERM_AXIS, var, 1), add);
        b->den = 1;
        b->i_con = -1;
    }
    limit.bound = b;
    return limit;
}

bool lower_limit_is_var(const ctune_limit *limit, int var) {
    return limit->n == 1 && limit->align_step == 0 && limit->bound[0].den == 1 &&
           limit->bound[0].aff->c0 == 0 && limit->bound[0].aff->n_terms == 1 &&
           limit->bound[0].aff->terms[0].kind == CTUNE_TERM_AXIS &&
           limit->bound[0].aff->terms[0].id == var && limit->bound[0].aff->terms[0].coef == 1;
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

/* ---- bounds of one loop
 * -------------------------------------------------------------------------------------- */

static ctune_status find_raw(lowerer *w, int stmt, int dim, ctune_bounds *out) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    ctune_open open[CTUNE_MAX_OPEN];
    ctune_extra extra[8];
    int n = 0, n_extra = 0;
    if (w->n_open > CTUNE_MAX_OPEN) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many nested loops");
    }
    for (int i = 0; i < w->n_open; i++) {
        int pos = w->open[i].dim < 0 ? -1 : lower_pos(s, w->open[i].dim);
        if (pos < 0 && w->open[i].dim >= 0) {
            continue;
        }
        open[n++] = (ctune_open){.var = w->open[i].var, .pos = pos, .step = w->open[i].step};
    }
    for (int i = 0; i < w->n_extra; i++) {
        int pos = lower_pos(s, w->extra[i].dim);
        if (pos >= 0) {
            extra[n_extra++] = (ctune_extra){.pos = pos,
                                             .var = w->extra[i].var,
                                             .c = w->extra[i].c,
                                             .is_lower = w->extra[i].is_lower};
        }
    }
    return ctune_bounds_find(w->ctx, w->arena, w->region, s, open, n, extra, n_extra,
                             lower_pos(s, dim), out);
}

static bool is_parallel_row(const ctune_bound *a, const ctune_bound *b) {
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
static int prune(ctune_bound *rows, int n, bool is_lower) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool dominated = false;
        for (int k = 0; k < kept && !dominated; k++) {
            if (is_parallel_row(&rows[i], &rows[k])) {
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
static int hull(ctune_bound *rows, int n, const ctune_bound *other, int n_other, bool is_lower) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_other; k++) {
            if (is_parallel_row(&rows[i], &other[k])) {
                int64_t a = rows[i].aff->c0, b = other[k].aff->c0;
                rows[kept++] = (is_lower ? b < a : b > a) ? other[k] : rows[i];
                break;
            }
        }
    }
    return kept;
}

static void drop_row(ctune_limit *limit, int i) {
    ctune_bound *rows =
        (ctune_bound *)limit->bound; /* made by ctune_bounds_find for this limit alone */
    memmove(&rows[i], &rows[i + 1], (size_t)(limit->n - 1 - i) * sizeof *rows);
    limit->n--;
}

static bool is_var_plus(const ctune_bound *b, int var, int64_t add) {
    return b->den == 1 && b->aff->c0 == add && b->aff->n_terms == 1 &&
           b->aff->terms[0].kind == CTUNE_TERM_AXIS && b->aff->terms[0].id == var &&
           b->aff->terms[0].coef == 1;
}

/* The open levels of dim already imply some rows: an inner tile starts no lower than the outer one
 * and, on its grid, ends in it. */
static void simplify(lowerer *w, int dim, ctune_limit *lo, ctune_limit *hi) {
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
                const ctune_bound *row = &w->node_lo[o->node].bound[r];
                implied =
                    is_parallel_row(row, &lo->bound[k]) && row->aff->c0 >= lo->bound[k].aff->c0;
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
                        ctune_limit *out) {
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += is_lower ? each[i].n_lower : each[i].n_upper;
    }
    ctune_bound *rows = CTUNE_NEW_ARRAY(w->arena, ctune_bound, total);
    int *group = CTUNE_NEW_ARRAY(w->arena, int, total);
    if (rows == NULL || group == NULL) {
        return false;
    }
    *out = (ctune_limit){
        .is_max = is_lower, .bound = rows, .n_groups = n, .group = group, .align_var = -1};
    for (int i = 0; i < n; i++) {
        int m = is_lower ? each[i].n_lower : each[i].n_upper;
        for (int k = 0; k < m; k++) {
            group[out->n] = i;
            rows[out->n++] = is_lower ? each[i].lower[k] : each[i].upper[k];
        }
    }
    return true;
}

ctune_status lower_bounds_hull(lowerer *w, const int *stmts, int n, int dim, ctune_limit *lo,
                               ctune_limit *hi) {
    ctune_bounds *each = CTUNE_NEW_ARRAY(w->arena, ctune_bounds, n);
    ctune_bounds *copy = CTUNE_NEW_ARRAY(w->arena, ctune_bounds, n);
    ctune_bounds all;
    if (each == NULL || copy == NULL) {
        return ctune_fail(w->ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < n; i++) {
        ctune_status status = find_raw(w, stmts[i], dim, &each[i]);
        if (status != CTUNE_OK) {
            return status;
        }
        each[i].n_lower = prune(each[i].lower, each[i].n_lower, true);
        each[i].n_upper = prune(each[i].upper, each[i].n_upper, false);
        copy[i] = each[i];
        copy[i].lower = CTUNE_NEW_ARRAY(w->arena, ctune_bound, each[i].n_lower);
        copy[i].upper = CTUNE_NEW_ARRAY(w->arena, ctune_bound, each[i].n_upper);
        if (copy[i].lower == NULL || copy[i].upper == NULL) {
            return ctune_fail(w->ctx, CTUNE_ENOMEM, "out of memory");
        }
        memcpy(copy[i].lower, each[i].lower, (size_t)each[i].n_lower * sizeof(ctune_bound));
        memcpy(copy[i].upper, each[i].upper, (size_t)each[i].n_upper * sizeof(ctune_bound));
    }
    bool shared = hull_classes(each, n, &all);
    *lo = (ctune_limit){.is_max = true, .n = all.n_lower, .bound = all.lower, .align_var = -1};
    *hi = (ctune_limit){.is_max = false, .n = all.n_upper, .bound = all.upper, .align_var = -1};
    lo->is_inexact = hi->is_inexact = all.is_inexact;
    if (!shared && ((lo->n == 0 && !hull_groups(w, copy, n, true, lo)) ||
                    (hi->n == 0 && !hull_groups(w, copy, n, false, hi)))) {
        return ctune_fail(w->ctx, CTUNE_ENOMEM, "out of memory");
    }
    return CTUNE_OK;
}

ctune_status lower_bounds(lowerer *w, int stmt, int dim, ctune_limit *lo, ctune_limit *hi) {
    ctune_status status = lower_bounds_hull(w, &stmt, 1, dim, lo, hi);
    if (status == CTUNE_OK) {
        simplify(w, dim, lo, hi);
    }
    return status;
}

ctune_lnode *lower_param_guard(lowerer *w, int stmt, int dim, ctune_lnode *into) {
    ctune_bounds b;
    if (find_raw(w, stmt, dim, &b) != CTUNE_OK || b.n_param_rows == 0) {
        return into;
    }
    ctune_lnode *guard = lower_lnode(w, CTUNE_LN_IF);
    if (guard != NULL) {
        guard->n_conds = b.n_param_rows;
        guard->conds = b.param_rows;
    }
    lower_append(w, into, guard);
    return guard;
}

void lower_env(lowerer *w, int stmt, ctune_env *env) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    memset(env, 0, sizeof *env);
    env->stmt = stmt;
    for (int i = 0; i < w->n_open; i++) {
        if (w->open[i].dim >= 0 && w->open[i].step == 1) {
            int pos = lower_pos(s, w->open[i].dim);
            if (pos >= 0) {
                env->val[pos] = ctune_aff_term(w->arena, CTUNE_TERM_AXIS, w->open[i].var, 1);
            }
        }
    }
}

/* ---- conditions
 * ---------------------------------------------------------------------------------------------- */

static const ctune_aff *con_to_vars(lowerer *w, int stmt, const ctune_aff *con) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_aff *out = ctune_aff_const(w->arena, con->c0);
    for (int t = 0; t < con->n_terms; t++) {
        int id = con->terms[t].id;
        if (con->terms[t].kind == CTUNE_TERM_AXIS) {
            int var = -1;
            for (int i = 0; i < w->n_open; i++) {
                if (w->open[i].dim == id && w->open[i].step == 1) {
                    var = w->open[i].var;
                }
            }
            if (var < 0 || lower_pos(s, id) < 0) {
                return NULL;
            }
            id = var;
        }
        out = ctune_aff_add(w->arena, out,
                            ctune_aff_term(w->arena, con->terms[t].kind, id, con->terms[t].coef));
    }
    return out;
}

/* After loop `node` over dim was opened with limits lo, hi: which domain constraints of stmt hold
 * by them, which wait. */
static ctune_status note_constraints(lowerer *w, int stmt, int dim, const ctune_limit *lo,
                                     const ctune_limit *hi) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    ctune_bounds b;
    ctune_status status = find_raw(w, stmt, dim, &b);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int side = 0; side < 2; side++) {
        const ctune_limit *limit = side == 0 ? lo : hi;
        int n = side == 0 ? b.n_lower : b.n_upper;
        for (int i = 0; i < n; i++) {
            const ctune_bound *row = side == 0 ? &b.lower[i] : &b.upper[i];
            if (!row->is_domain || row->i_con < 0 || row->i_con >= 64 || row->i_con >= s->n_cons) {
                continue;
            }
            bool holds = false;
            for (int k = 0; k < limit->n && limit->n_groups <= 1; k++) {
                if (is_parallel_row(&limit->bound[k], row)) {
                    int64_t have = limit->bound[k].aff->c0, want = row->aff->c0;
                    holds |= side == 0 ? have >= want : have <= want;
                }
            }
            w->pending[stmt][row->i_con] |= !holds;
        }
    }
    return CTUNE_OK;
}

/* Wrap into an IF what stmt still waits for and can be checked now; returns where to put its code.
 */
static ctune_lnode *open_guard(lowerer *w, int stmt, ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, s->n_cons + 1);
    int n = 0;
    for (int i = 0; conds != NULL && i < s->n_cons && i < 64; i++) {
        if (!w->pending[stmt][i]) {
            continue;
        }
        const ctune_aff *cond = con_to_vars(w, stmt, s->cons[i]);
        if (cond != NULL) {
            conds[n++] = cond;
            w->pending[stmt][i] = false;
        }
    }
    if (n == 0) {
        return into;
    }
    ctune_lnode *guard = lower_lnode(w, CTUNE_LN_IF);
    if (guard != NULL) {
        guard->conds = conds;
        guard->n_conds = n;
    }
    lower_append(w, into, guard);
    return guard;
}

/* ---- walk
 * ----------------------------------------------------------------------------------------------------
 */

static ctune_status lower_stmt(lowerer *w, int stmt, ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    ctune_lnode *n = lower_lnode(w, CTUNE_LN_STMT);
    if (n == NULL) {
        return CTUNE_ENOMEM;
    }
    lower_env(w, stmt, &n->env);
    const ctune_aff **preds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, s->n_cons + 1);
    for (int i = 0; preds != NULL && i < s->n_cons; i++) {
        bool is_constant = s->cons[i]->n_terms == 0;
        bool params_only = !ctune_aff_has_kind(s->cons[i], CTUNE_TERM_AXIS);
        if (!ctune_bounds_is_plain(w->region, s->cons[i]) || (params_only && !is_constant) ||
            (is_constant && s->cons[i]->c0 < 0)) {
            preds[n->n_preds++] = s->cons[i];
        }
    }
    n->preds = preds;
    lower_append(w, into, n);
    return CTUNE_OK;
}

/* A loop whose panels a packed copy follows must start on the copy's grid. */
static void align_to_packs(lowerer *w, int node, int var, ctune_limit *lo) {
    const ctune_nnode *nn = &w->nest->node[node];
    for (int c = 0; c < w->nest->n_caches; c++) {
        ctune_packed *p = w->loops->packed[c];
        if (p == NULL || p->tile_pos < 0 || p->tile != nn->step ||
            w->tree->stmts[w->nest->cache[c].stmt].dims[p->tile_pos] != nn->dim) {
            continue;
        }
        lower_tile tile;
        if (!lower_tile_has(w, w->nest->cache[c].stmt, &tile)) {
            continue;
        }
        for (int t = 0; t < tile.n_tile; t++) {
            if (w->nest->node[tile.tile_node[t]].outer == node) {
                p->tile_var = var;
                if (!lower_limit_is_var(lo, p->tile_base)) {
                    lo->align_var = p->tile_base;
                    lo->align_step = nn->step;
                }
            }
        }
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
    if (stmt >= 0) {
        return lower_register(w, node, stmt, into);
    }
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

ctune_status lower_node(lowerer *w, int node, ctune_lnode *into) {
    const ctune_nnode *nn = &w->nest->node[node];
    if (nn->kind == CTUNE_NN_STMT) {
        return lower_stmt(w, nn->stmt, into);
    }
    if (nn->kind == CTUNE_NN_SEQ) {
        return lower_children(w, node, into);
    }
    int stmts[CTUNE_MAX_STMTS];
    int n = lower_stmts_under(w, node, stmts);
    ctune_limit lo, hi;
    ctune_status status = lower_bounds_hull(w, stmts, n, nn->dim, &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    int outer = nn->outer;
    if (nn->step == 1) { /* before rows are dropped that outer levels imply */
        for (int i = 0; i < n; i++) {
            status = note_constraints(w, stmts[i], nn->dim, &lo, &hi);
            if (status != CTUNE_OK) {
                return status;
            }
        }
    }
    ctune_limit full_lo = lo;
    full_lo.bound = ctune_arena_alloc(w->arena, (size_t)lo.n * sizeof(ctune_bound));
    if (full_lo.bound == NULL) {
        return ctune_fail(w->ctx, CTUNE_ENOMEM, "out of memory");
    }
    memcpy((ctune_bound *)full_lo.bound, lo.bound, (size_t)lo.n * sizeof(ctune_bound));
    if (lo.n_groups <= 1 && hi.n_groups <= 1) {
        simplify(w, nn->dim, &lo, &hi);
    }
    ctune_lnode *loop = lower_lnode(w, CTUNE_LN_FOR);
    int var = lower_var(w, nn->name);
    if (loop == NULL || var < 0) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many loops to lower");
    }
    if (nn->step > 1) {
        align_to_packs(w, node, var, &lo);
    }
    bool parallel = nn->ann == CTUNE_ANN_PARALLEL && w->options.openmp && w->n_parallel == 0;
    loop->loop = (ctune_lfor){.var = var, .lo = lo, .hi = hi, .step = nn->step, .ann = nn->ann};
    if (nn->ann == CTUNE_ANN_PARALLEL && !parallel) {
        loop->loop.ann = CTUNE_ANN_SERIAL;
    }
    if (nn->ann == CTUNE_ANN_UNROLL && outer >= 0) {
        loop->loop.unroll = w->nest->node[outer].step;
    }
    if (parallel) {
        w->loops->is_parallel = true;
        w->n_parallel++;
        int kid = nn->first;
        loop->loop.n_collapse = 1;
        while (kid >= 0 && w->nest->node[kid].kind == CTUNE_NN_LOOP &&
               w->nest->node[kid].ann == CTUNE_ANN_PARALLEL && w->nest->node[kid].next < 0) {
            loop->loop.n_collapse++;
            kid = w->nest->node[kid].first;
        }
    }
    lower_append(w, into, loop);
    w->node_var[node] = var;
    if (lo.align_step != 0 || lo.n_groups > 1) {
        full_lo.n = 0;
    }
    w->node_lo[node] = full_lo;
    lower_push(w, var, nn->dim, nn->step, node);
    for (int i = 0; i < w->n_open - 1 && i < CTUNE_MAX_OPEN && w->n_open <= CTUNE_MAX_OPEN; i++) {
        if (w->open[i].dim == nn->dim && lower_limit_is_var(&lo, w->open[i].var)) {
            w->open[w->n_open - 1].start_var = w->open[i].var;
        }
    }
    status = lower_children(w, node, loop);
    lower_pop(w);
    w->node_var[node] = -1;
    w->n_parallel -= parallel;
    return status;
}

ctune_status ctune_loops_create(ctune_ctx *ctx, const ctune_nest *nest,
                                const ctune_lower_options *options, ctune_loops **out) {
    *out = NULL;
    ctune_arena *arena = ctune_arena_create(ctx);
    ctune_loops *loops = CTUNE_NEW(arena, ctune_loops);
    lowerer *w = calloc(1, sizeof *w);
    if (loops == NULL || w == NULL) {
        free(w);
        ctune_arena_destroy(arena);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    loops->arena = arena;
    loops->nest = nest;
    loops->region = nest->region;
    loops->tree = nest->form->tree;
    *w = (lowerer){.ctx = ctx,
                   .loops = loops,
                   .nest = nest,
                   .region = nest->region,
                   .tree = nest->form->tree,
                   .arena = arena,
                   .options = *options};
    for (int i = 0; i < CTUNE_NEST_NODES; i++) {
        w->node_var[i] = -1;
    }
    loops->setup = lower_lnode(w, CTUNE_LN_SEQ);
    loops->root = lower_lnode(w, CTUNE_LN_SEQ);
    ctune_status status = CTUNE_OK;
    for (int s = 0; s < loops->tree->n_stmts && status == CTUNE_OK; s++) {
        if (loops->tree->stmts[s].n_cons > 64) {
            status = ctune_fail(ctx, CTUNE_EREFUSED, "a statement with over 64 constraints");
        }
    }
    if (status == CTUNE_OK) {
        status = lower_temps(w);
    }
    if (status == CTUNE_OK) {
        status = lower_children(w, 0, loops->root);
    }
    if (status == CTUNE_OK && ctune_arena_has_failed(arena)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    free(w);
    if (status != CTUNE_OK) {
        ctune_arena_destroy(arena);
        return status;
    }
    *out = loops;
    return CTUNE_OK;
}

void ctune_loops_destroy(ctune_loops *loops) {
    if (loops != NULL) {
        ctune_arena_destroy(loops->arena);
    }
}

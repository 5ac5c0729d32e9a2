/*
 * Legality of a nest's loop order and annotations against the direction vectors of its form.
 *
 * Each vector is walked along the loops that its two statements share, outermost first, under the
 * assumption that every loop so far may have contributed zero ("alive"). A tile level of a positive
 * dim contributes zero or more; its innermost level then decides (the sum of all levels is the
 * sign), so it ends the walk. A negative dim met while alive is a violation. When all shared loops
 * are zero the textual order decides; no primitive changes it.
 *
 * A loop over a sum changes by what the distances of its dims add up to, a wave by what its loops'
 * changes do; both keep the order when the least change is 0 or more. When a wave of such loops
 * does not move, neither does any of them.
 *
 * Integer (and reassociated) reductions have no dependence here; a parallel or vector loop must not
 * share their elements all the same, so those loops are checked against the target's indices.
 * check_cache.c does the caches.
 */
#include "search/schedule/nest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "search/schedule/nest_ops.h"
#include "search/schedule/program.h"

bool ctune_nest_refuse(char *why, size_t why_size, const char *format, ...) {
    if (why != NULL && why_size > 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(why, why_size, format, args);
        va_end(args);
    }
    return false;
}

/* What a loop whose iterations run at the same time is called: in lanes, by threads, on a GPU. */
static const char *spread_name(ctune_ann ann) {
    return ctune_ann_is_bound(ann)     ? ctune_ann_name(ann)
           : ann == CTUNE_ANN_PARALLEL ? "parallel"
                                       : "vector";
}

static int path_of(const ctune_nest *nest, int node, int *path) {
    int n = 0;
    for (int up = node; up > 0; up = nest->node[up].parent) {
        n++;
    }
    int k = n;
    for (int up = node; up > 0; up = nest->node[up].parent) {
        path[--k] = up;
    }
    return n;
}

/* Loops around both statements, outermost first. */
static int shared_loops(const ctune_nest *nest, const ctune_depvec *vec,
                        const int16_t *node_of_stmt, int *path) {
    int other[CTUNE_NEST_NODES];
    int n = path_of(nest, node_of_stmt[vec->src], path) - 1;
    if (vec->src == vec->dst) {
        return n;
    }
    int m = path_of(nest, node_of_stmt[vec->dst], other) - 1;
    int k = 0;
    while (k < n && k < m && path[k] == other[k]) {
        k++;
    }
    return k;
}

/* ---- changes of loops along a dependence ---- */

typedef struct change {
    int64_t min, max; /* CTUNE_DIST_* */
} change;

static bool has_dim(const ctune_nest *nest, int stmt, int dim) {
    const ctune_stmt *s = &nest->form->tree->stmts[stmt];
    for (int d = 0; d < s->n_dims; d++) {
        if (s->dims[d] == dim) {
            return true;
        }
    }
    return false;
}

/* Of a dim: 0 when neither statement is in it, anything when they do not share it. */
static change change_of_dim(const ctune_nest *nest, const ctune_depvec *vec, int dim) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[vec->src];
    change c = {0, 0};
    for (int d = 0; d < vec->n_common; d++) {
        if (stmt->dims[d] == dim) {
            ctune_depvec_range(vec, d, &c.min, &c.max);
            return c;
        }
    }
    if (has_dim(nest, vec->src, dim) || has_dim(nest, vec->dst, dim)) {
        c = (change){CTUNE_DIST_MIN, CTUNE_DIST_MAX};
    }
    return c;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && a < 0);
}

/* From values to tiles of `step` values. */
static change in_tiles(change c, int64_t step) {
    c.min = c.min == CTUNE_DIST_MIN || c.min == CTUNE_DIST_MAX ? c.min : floor_div(c.min, step);
    c.max = c.max == CTUNE_DIST_MIN || c.max == CTUNE_DIST_MAX ? c.max : -floor_div(-c.max, step);
    return c;
}

static void add_side(int64_t *sum, int64_t side, int64_t coef, int64_t unbounded) {
    int64_t part;
    bool is_bounded = *sum != unbounded && side != CTUNE_DIST_MIN && side != CTUNE_DIST_MAX &&
                      !__builtin_mul_overflow(side, coef, &part) &&
                      !__builtin_add_overflow(*sum, part, sum);
    *sum = is_bounded ? *sum : unbounded;
}

static change add_change(change sum, change part, int64_t coef) {
    add_side(&sum.min, coef > 0 ? part.min : part.max, coef, CTUNE_DIST_MIN);
    add_side(&sum.max, coef > 0 ? part.max : part.min, coef, CTUNE_DIST_MAX);
    return sum;
}

/* Coefficient in the sum of the statement's dim in a line; 0 when it stands in none. */
static int64_t line_coef(const ctune_nest *nest, int stmt, const ctune_sum *sum, int line,
                         bool *is_inside) {
    const ctune_stmt *s = &nest->form->tree->stmts[stmt];
    *is_inside = false;
    for (int d = 0; d < s->n_dims; d++) {
        if (nest->form->vecs.line[s->dims[d]] != line) {
            continue;
        }
        *is_inside = true;
        for (int t = 0; t < sum->n; t++) {
            if (sum->term[t].kind == CTUNE_SUM_DIM && sum->term[t].of == s->dims[d]) {
                return sum->term[t].coef;
            }
        }
    }
    return 0;
}

/* Dims of one line that both statements have, each its own, change together: by the line's
 * distance. false: term t is none of such, or nothing is known. *part: 0 when an earlier term spoke
 * for all. */
static bool change_of_line(const ctune_nest *nest, const ctune_depvec *vec, const ctune_sum *sum,
                           int t, change *part) {
    const ctune_depvecs *vecs = &nest->form->vecs;
    int line = vecs->line == NULL ? -1 : vecs->line[sum->term[t].of];
    bool in_src, in_dst;
    change own = change_of_dim(nest, vec, sum->term[t].of);
    if (line < 0 || !vec->has_lines || own.min != CTUNE_DIST_MIN || own.max != CTUNE_DIST_MAX) {
        return false;
    }
    int64_t src = line_coef(nest, vec->src, sum, line, &in_src);
    int64_t dst = line_coef(nest, vec->dst, sum, line, &in_dst);
    if (in_src && in_dst && src != dst) {
        return false;
    }
    for (int k = 0; k < t; k++) {
        bool is_told =
            sum->term[k].kind == CTUNE_SUM_DIM && vecs->line[sum->term[k].of] == line &&
            (has_dim(nest, vec->src, sum->term[k].of) || has_dim(nest, vec->dst, sum->term[k].of));
        if (is_told) {
            *part = (change){0, 0};
            return true;
        }
    }
    *part = (change){vec->line_min[line], vec->line_max[line]};
    return true;
}

/* Of a loop's values: the dim's, the sum's. */
static change change_of(const ctune_nest *nest, const ctune_depvec *vec, int node) {
    const ctune_sum *sum = ctune_nest_sum(nest, node);
    change all = {0, 0};
    if (sum == NULL) {
        return change_of_dim(nest, vec, nest->node[node].dim);
    }
    for (int t = 0; t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        change part = {0, 0};
        switch ((ctune_sum_kind)term->kind) {
        case CTUNE_SUM_DIM:
            if (!change_of_line(nest, vec, sum, t, &part)) {
                part = change_of_dim(nest, vec, term->of);
            }
            break;
        case CTUNE_SUM_STMT:
            part.min = part.max = (term->of == vec->dst) - (term->of == vec->src);
            break;
        default:
            part = in_tiles(change_of(nest, vec, term->of), nest->node[term->of].step);
            break;
        }
        all = add_change(all, part, term->coef);
    }
    return all;
}

/* No loop of the wave runs backwards, and more of each moves it on: standing still, so do they. */
static void note_wave(const ctune_nest *nest, const ctune_depvec *vec, int node, bool *is_still) {
    const ctune_sum *sum = ctune_nest_sum(nest, node);
    for (int t = 0; t < sum->n; t++) {
        if (sum->term[t].coef < 0 || change_of(nest, vec, sum->term[t].of).min < 0) {
            return;
        }
    }
    for (int t = 0; t < sum->n; t++) {
        is_still[sum->term[t].of] = true;
    }
}

/* *is_open: the loops may all stand still, the order of what is inside them decides. */
static bool check_vec(const ctune_nest *nest, const ctune_depvec *vec, const int *path, int n,
                      bool *is_open, char *why, size_t why_size) {
    bool is_still[CTUNE_NEST_NODES] = {false};
    *is_open = false;
    for (int k = 0; k < n; k++) {
        const ctune_nnode *loop = &nest->node[path[k]];
        change c = is_still[path[k]] ? (change){0, 0} : change_of(nest, vec, path[k]);
        if (c.min == 0 && c.max == 0) {
            continue;
        }
        if (c.min < 0) {
            return ctune_nest_refuse(why, why_size, "a dependence runs backwards at loop %s",
                                     loop->name);
        }
        if (ctune_ann_is_spread(loop->ann)) {
            return ctune_nest_refuse(why, why_size, "a dependence is carried by the %s loop %s",
                                     spread_name(loop->ann), loop->name);
        }
        if (c.min >= loop->step) {
            return true;
        }
        if (ctune_sum_is_wave(ctune_nest_sum(nest, path[k]))) {
            note_wave(nest, vec, path[k], is_still);
        }
    }
    *is_open = vec->src != vec->dst;
    return true;
}

bool ctune_nest_is_carried(const ctune_nest *nest, const ctune_depvec *vec, int stop) {
    int path[CTUNE_NEST_NODES];
    int n = path_of(nest, stop, path);
    for (int k = 0; k < n; k++) {
        const ctune_nnode *loop = &nest->node[path[k]];
        if (change_of(nest, vec, path[k]).min >= loop->step) {
            return true;
        }
    }
    return false;
}

/* The value of the only axis in index i of the target, when it moves with dim alone; else NULL. */
static const ctune_aff *pinned_axis(const ctune_region *region, const ctune_stmt *stmt, int i,
                                    int dim) {
    const ctune_aff *idx = region->stages[stmt->stage].target.idx[i];
    const ctune_aff *iter = NULL;
    int n_axis_terms = 0, n_dim_terms = 0;
    for (int t = 0; t < idx->n_terms; t++) {
        n_axis_terms += idx->terms[t].kind != CTUNE_TERM_PARAM;
        if (idx->terms[t].kind == CTUNE_TERM_AXIS) {
            iter = ctune_stmt_axis(region, stmt, idx->terms[t].id);
        }
    }
    if (n_axis_terms != 1 || iter == NULL) {
        return NULL;
    }
    for (int t = 0; t < iter->n_terms; t++) {
        n_dim_terms += iter->terms[t].kind != CTUNE_TERM_PARAM;
    }
    return n_dim_terms == 1 && ctune_aff_coef(iter, CTUNE_TERM_AXIS, dim) != 0 ? iter : NULL;
}

/* Does the target's element differ whenever dim differs, whatever the other loops do? */
static bool is_pinned(const ctune_region *region, const ctune_stmt *stmt, int dim) {
    for (int i = 0; i < region->stages[stmt->stage].target.n_idx; i++) {
        if (pinned_axis(region, stmt, i, dim) != NULL) {
            return true;
        }
    }
    return false;
}

/* Are the two forms the same but for the name of the axis in them? */
static bool is_alike(const ctune_aff *a, const ctune_aff *b) {
    bool same = a->c0 == b->c0 && a->n_terms == b->n_terms;
    for (int t = 0; same && t < a->n_terms; t++) {
        const ctune_term *x = &a->terms[t], *y = &b->terms[t];
        same = x->kind == y->kind && x->coef == y->coef &&
               (x->kind == CTUNE_TERM_AXIS || x->id == y->id);
    }
    return same;
}

/* Do the targets of two statements, of one tensor, differ whenever dim differs? */
static bool is_pinned_alike(const ctune_region *region, const ctune_stmt *a, const ctune_stmt *b,
                            int dim) {
    const ctune_access *x = &region->stages[a->stage].target;
    const ctune_access *y = &region->stages[b->stage].target;
    for (int i = 0; i < x->n_idx; i++) {
        const ctune_aff *v = pinned_axis(region, a, i, dim), *w = pinned_axis(region, b, i, dim);
        if (v != NULL && w != NULL && ctune_aff_is_equal(v, w) && is_alike(x->idx[i], y->idx[i])) {
            return true;
        }
    }
    return false;
}

/* The same for a loop: of a sum, all dims in it. */
static bool is_pinned_loop(const ctune_nest *nest, const ctune_stmt *stmt, int node) {
    const ctune_sum *sum = ctune_nest_sum(nest, node);
    if (sum == NULL) {
        return is_pinned(nest->region, stmt, nest->node[node].dim);
    }
    for (int t = 0; t < sum->n; t++) {
        const ctune_sum_term *term = &sum->term[t];
        if (term->kind == CTUNE_SUM_LOOP
                ? !is_pinned_loop(nest, stmt, term->of)
                : term->kind == CTUNE_SUM_DIM && !is_pinned(nest->region, stmt, term->of)) {
            return false;
        }
    }
    return true;
}

static bool is_free_reduction(const ctune_region *region, const ctune_stage *stage) {
    return ctune_update_get(stage->update)->is_assoc &&
           (!ctune_type_is_float(stage->calc) || ctune_stage_may_reassoc(region, stage));
}

/* May the lanes of a vector loop each have a partial result of the statement? */
static bool may_add_up(const ctune_nest *nest, const ctune_stmt *stmt, int node) {
    const ctune_stage *stage = &nest->region->stages[stmt->stage];
    const ctune_nnode *loop = &nest->node[node];
    return loop->ann == CTUNE_ANN_VECTOR && loop->sum < 0 && stage->guard == NULL &&
           stage->calc == nest->region->tensors[stage->target.tensor].type &&
           !ctune_stmt_axes_move(nest->region, stmt, ~stage->reduce_mask, loop->dim);
}

static bool check_shared_elements(const ctune_nest *nest, int stmt_node, char *why,
                                  size_t why_size) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[stmt_node].stmt];
    if (!is_free_reduction(nest->region, &nest->region->stages[stmt->stage])) {
        return true;
    }
    for (int up = nest->node[stmt_node].parent; up > 0; up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        bool is_spread = ctune_ann_is_spread(loop->ann);
        if (is_spread && !is_pinned_loop(nest, stmt, up) && !may_add_up(nest, stmt, up)) {
            return ctune_nest_refuse(why, why_size,
                                     "iterations of the %s loop %s update the same element",
                                     spread_name(loop->ann), loop->name);
        }
    }
    return true;
}

/* Updates of one element by two statements in any order: there is no dependence, but iterations
 * that run at the same time must keep apart. */
static bool check_pair(const ctune_nest *nest, int a, int b, char *why, size_t why_size) {
    const ctune_region *region = nest->region;
    const ctune_stmt *x = &nest->form->tree->stmts[nest->node[a].stmt];
    const ctune_stmt *y = &nest->form->tree->stmts[nest->node[b].stmt];
    const ctune_stage *s = &region->stages[x->stage], *t = &region->stages[y->stage];
    if (s->target.tensor != t->target.tensor || !is_free_reduction(region, s) ||
        !is_free_reduction(region, t)) {
        return true;
    }
    for (int up = nest->node[a].parent; up > 0; up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        bool is_spread = ctune_ann_is_spread(loop->ann);
        bool is_shared = false;
        for (int other = nest->node[b].parent; other > 0; other = nest->node[other].parent) {
            is_shared = is_shared || other == up;
        }
        if (is_spread && is_shared &&
            (loop->sum >= 0 || !is_pinned_alike(region, x, y, loop->dim))) {
            return ctune_nest_refuse(why, why_size,
                                     "statements in the %s loop %s update the same element",
                                     spread_name(loop->ann), loop->name);
        }
    }
    return true;
}

static bool check_reductions(const ctune_nest *nest, char *why, size_t why_size) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind != CTUNE_NN_STMT) {
            continue;
        }
        if (!check_shared_elements(nest, i, why, why_size)) {
            return false;
        }
        for (int k = 1; k < i; k++) {
            if (nest->node[k].kind == CTUNE_NN_STMT && !check_pair(nest, k, i, why, why_size)) {
                return false;
            }
        }
    }
    return true;
}

static void find_stmts(const ctune_nest *nest, int16_t *node_of_stmt) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT) {
            node_of_stmt[nest->node[i].stmt] = (int16_t)i;
        }
    }
}

static bool check_vecs(const ctune_nest *nest, char *why, size_t why_size) {
    int16_t node_of_stmt[CTUNE_MAX_STMTS];
    int path[CTUNE_NEST_NODES];
    bool is_fissioned = ctune_nest_is_fissioned(nest);
    find_stmts(nest, node_of_stmt);
    for (int v = 0; v < nest->form->vecs.n; v++) {
        const ctune_depvec *vec = &nest->form->vecs.vec[v];
        if (nest->node[node_of_stmt[vec->src]].placed >= 0 ||
            nest->node[node_of_stmt[vec->dst]].placed >= 0) {
            continue;
        }
        int n = shared_loops(nest, vec, node_of_stmt, path);
        bool is_open;
        if (!check_vec(nest, vec, path, n, &is_open, why, why_size)) {
            return false;
        }
        if (is_open && is_fissioned &&
            !ctune_nest_is_before(nest, node_of_stmt[vec->src], node_of_stmt[vec->dst])) {
            return ctune_nest_refuse(why, why_size,
                                     "a dependence runs backwards between parts of a loop's body");
        }
    }
    return true;
}

bool ctune_nest_check(const ctune_nest *nest, char *why, size_t why_size) {
    return ctune_nest_check_loads(nest, why, why_size) && check_reductions(nest, why, why_size) &&
           check_vecs(nest, why, why_size) && ctune_nest_check_placed(nest, why, why_size) &&
           ctune_nest_check_caches(nest, why, why_size) &&
           ctune_nest_check_gpu(nest, why, why_size);
}

/* ---- by isl ---- */

typedef struct exact {
    const ctune_nest *nest;
    int16_t node_of_stmt[CTUNE_MAX_STMTS];
} exact;

/* Values of a dim or a sum at two statements, as rows over their loops. */
static void fill_form(const ctune_nest *nest, int node, const int *stmts,
                      ctune_deps_level_term *out) {
    const ctune_sum *sum = ctune_nest_sum(nest, node);
    ctune_sum_term own = {CTUNE_SUM_DIM, nest->node[node].dim, 1};
    out->step = nest->node[node].step;
    out->is_aligned = ctune_nest_is_aligned(nest, node);
    for (int side = 0; side < 2; side++) {
        const ctune_stmt *stmt = &nest->form->tree->stmts[stmts[side]];
        for (int t = 0; t < (sum == NULL ? 1 : sum->n); t++) {
            const ctune_sum_term *term = sum == NULL ? &own : &sum->term[t];
            for (int d = 0; d < stmt->n_dims && term->kind == CTUNE_SUM_DIM; d++) {
                out->form[side][d] += stmt->dims[d] == term->of ? term->coef : 0;
            }
            bool is_shift = term->kind == CTUNE_SUM_STMT && term->of == stmts[side];
            out->shift[side] += is_shift ? term->coef : 0;
        }
    }
}

static void fill_level(const ctune_nest *nest, int node, const int *stmts, ctune_deps_level *out) {
    const ctune_sum *sum = ctune_nest_sum(nest, node);
    memset(out, 0, sizeof *out);
    out->name = nest->node[node].name;
    out->is_spread = ctune_ann_is_spread(nest->node[node].ann);
    out->n_terms = ctune_sum_is_wave(sum) ? sum->n : 1;
    for (int t = 0; t < out->n_terms; t++) {
        bool is_wave = ctune_sum_is_wave(sum);
        out->term[t].coef = is_wave ? sum->term[t].coef : 1;
        fill_form(nest, is_wave ? sum->term[t].of : node, stmts, &out->term[t]);
    }
}

static int list_levels(const void *data, int src, int dst, ctune_deps_level *out, int size) {
    const exact *e = data;
    int path[CTUNE_NEST_NODES], stmts[2] = {src, dst};
    const ctune_depvec pair = {.src = src, .dst = dst};
    if (e->nest->node[e->node_of_stmt[src]].placed >= 0 ||
        e->nest->node[e->node_of_stmt[dst]].placed >= 0) {
        return -1;
    }
    int n = shared_loops(e->nest, &pair, e->node_of_stmt, path);
    for (int k = 0; k < n && k < size; k++) {
        fill_level(e->nest, path[k], stmts, &out[k]);
    }
    return n;
}

ctune_status ctune_nest_check_exact(ctune_ctx *ctx, ctune_deps *deps, const ctune_nest *nest,
                                    bool *legal) {
    char why[200];
    exact e = {.nest = nest};
    find_stmts(nest, e.node_of_stmt);
    *legal = ctune_nest_check_loads(nest, why, sizeof why) &&
             check_reductions(nest, why, sizeof why) &&
             ctune_nest_check_placed(nest, why, sizeof why) &&
             ctune_nest_check_caches(nest, why, sizeof why) &&
             ctune_nest_check_gpu(nest, why, sizeof why);
    if (*legal && ctune_nest_is_fissioned(nest)) { /* the trees of isl have each loop once */
        *legal = false;
        snprintf(why, sizeof why, "the distances do not tell whether the parts may be apart");
    }
    if (!*legal) {
        ctune_fail(ctx, CTUNE_EREFUSED, "%s", why);
        return CTUNE_OK;
    }
    return ctune_deps_check_levels(ctx, deps, nest->form->tree, list_levels, &e, legal);
}

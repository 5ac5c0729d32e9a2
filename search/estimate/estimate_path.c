/* Paths and references: see analysis.h. */
#include "search/estimate/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int position_of(const ctune_stmt *stmt, int dim) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (stmt->dims[p] == dim) {
            return p;
        }
    }
    return -1;
}

/* Position of the dim that a loop counts for in the statement: a level's own; of a sum the one that
 * has the widest range left (range NULL: any). -1: it is no loop of the statement (around its
 * place, a wave). */
static int loop_position(const ctune_nest *nest, const ctune_stmt *stmt, int node,
                         const double *range) {
    const ctune_nnode *loop = &nest->node[node];
    int best = loop->sum < 0 ? position_of(stmt, loop->dim) : -1;
    double widest = 0;
    for (int t = 0; loop->sum >= 0 && t < nest->sum[loop->sum].n; t++) {
        const ctune_sum_term *term = &nest->sum[loop->sum].term[t];
        int pos = term->kind == CTUNE_SUM_DIM ? position_of(stmt, term->of) : -1;
        double width = pos >= 0 && range != NULL ? range[pos] * abs(term->coef) : 0;
        if (pos >= 0 && (best < 0 || width > widest)) {
            best = pos;
            widest = width;
        }
    }
    return best;
}

/* Steps of the wave that the loop is part of: each forks anew. */
static double wave_steps(const ctune_nest *nest, int node) {
    double n_steps = 0;
    for (int s = 0; s < nest->n_sums; s++) {
        const ctune_sum *sum = &nest->sum[s];
        bool is_its = false;
        double n = 0;
        for (int t = 0; t < sum->n && sum->term[0].kind == CTUNE_SUM_LOOP; t++) {
            is_its = is_its || sum->term[t].of == node;
            n += abs(sum->term[t].coef) * ctune_nest_extent(nest, sum->term[t].of);
        }
        n_steps = is_its ? n : n_steps;
    }
    return est_max(n_steps, 1);
}

static void add_parallel(est_path *path, int k, const ctune_target *target) {
    double e = path->extent[k], t = est_min(target->n_threads, e);
    path->forks += path->entries[k] * wave_steps(path->nest, path->node[k]);
    if (t > 1 && path->threads <= 1) {
        path->threads = t;
        path->imbalance = ceil(e / t) * t / e;
    }
}

/* What ctune_nest_extent says, with the mean range of the dim known from the loops around. */
static double trips_of(const ctune_nest *nest, const ctune_nnode *loop, double range) {
    double trips = loop->step == 1 ? range : ceil(range / (double)loop->step);
    bool is_padded = loop->ann == CTUNE_ANN_UNROLL || loop->ann == CTUNE_ANN_VECTOR;
    if (is_padded && loop->outer >= 0) {
        trips = (double)nest->node[loop->outer].step / (double)loop->step;
    }
    return trips < 1 ? 1 : trips;
}

static void find_axes(est_path *path) {
    for (int a = 0; a < path->stage->n_axes; a++) {
        const ctune_aff *iter = path->stmt->iter[a];
        bool is_dim = iter->n_terms == 1 && iter->terms[0].kind == CTUNE_TERM_AXIS &&
                      iter->terms[0].coef == 1;
        path->axis_pos[a] = is_dim ? (int8_t)position_of(path->stmt, iter->terms[0].id) : -1;
    }
}

/* Are the loop's tiles along the wave whose points slide? Then they cut its steps, here counted
 * with the dim that the wave fixes: as many of them as make the same part of the whole. */
bool est_is_diagonal(const est_path *path, const ctune_nnode *loop, double *shrink) {
    const ctune_sum *sum = loop->sum < 0 ? NULL : &path->nest->sum[loop->sum];
    double coef[2] = {0, 0}, extent[2] = {1, 1};
    if (sum == NULL || path->wave_pos < 0 || path->fixed_pos < 0 ||
        sum->term[0].kind == CTUNE_SUM_LOOP) {
        return false;
    }
    for (int side = 0; side < 2; side++) {
        int dim = path->stmt->dims[side == 0 ? path->wave_pos : path->fixed_pos];
        extent[side] = est_max(path->nest->form->tree->dims[dim].extent, 1);
        for (int t = 0; t < sum->n; t++) {
            bool is_its = sum->term[t].kind == CTUNE_SUM_DIM && sum->term[t].of == dim;
            coef[side] += is_its ? sum->term[t].coef : 0;
        }
    }
    if (coef[1] == 0 || coef[0] != -path->fixed_by * coef[1]) {
        return false;
    }
    *shrink = extent[1] / (fabs(coef[1]) * extent[1] + fabs(coef[0]) * extent[0]);
    return true;
}

/* A tile of a sum holds `step` values of its dim for each value of the other dims in it, and leans
 * against these: over all of them it reaches further. own: what the levels of each dim leave. */
static void lean(const est_path *path, int level, const double *own, double *cover) {
    memcpy(cover, own, (size_t)path->stmt->n_dims * sizeof *cover);
    for (int k = 0; k < level; k++) {
        const ctune_nnode *loop = &path->nest->node[path->node[k]];
        const ctune_sum *sum = loop->sum < 0 ? NULL : &path->nest->sum[loop->sum];
        double shrink = 1, reach = 0;
        bool is_diagonal = est_is_diagonal(path, loop, &shrink);
        for (int t = 0; sum != NULL && t < sum->n; t++) {
            int pos =
                sum->term[t].kind == CTUNE_SUM_DIM ? position_of(path->stmt, sum->term[t].of) : -1;
            bool is_other =
                pos >= 0 && pos != path->pos[k] && !(is_diagonal && pos == path->wave_pos);
            reach += is_other ? abs(sum->term[t].coef) * (cover[pos] - 1) : 0;
        }
        reach = (reach + (double)loop->step) * shrink;
        if (sum != NULL) {
            cover[path->pos[k]] = est_min(cover[path->pos[k]], reach);
        }
    }
}

/* A loop that slides in a wave is the innermost: the one inside it is fixed by the wave. */
static void find_wave(est_path *path) {
    const ctune_nest *nest = path->nest;
    int slide = -1;
    path->wave_pos = path->fixed_pos = -1;
    path->fixed_by = 0;
    for (int k = 0; k + 1 < path->n; k++) {
        slide = nest->node[path->node[k]].ann == CTUNE_ANN_SLIDE ? k : slide;
    }
    for (int s = 0; s < nest->n_sums && slide >= 0; s++) {
        const ctune_sum *sum = &nest->sum[s];
        int node = path->node[slide];
        bool is_pair = sum->n == 2 && sum->term[0].kind == CTUNE_SUM_LOOP;
        int own = is_pair && sum->term[0].of == node ? 0 : is_pair && sum->term[1].of == node;
        if (!is_pair || sum->term[own].of != node) {
            continue;
        }
        const ctune_nnode *fixed = &nest->node[sum->term[1 - own].of];
        path->wave_pos = (int8_t)position_of(path->stmt, nest->node[node].dim);
        path->fixed_pos = (int8_t)position_of(path->stmt, fixed->dim);
        path->fixed_by = -(double)sum->term[own].coef / sum->term[1 - own].coef;
        memmove(&path->node[slide], &path->node[slide + 1],
                (size_t)(path->n - 1 - slide) * sizeof *path->node);
        path->node[path->n - 1] = (int16_t)node;
        return;
    }
}

/* Executions of the whole path: of a placed statement, one for each iteration of its place. */
static void enter_place(est_path *path, int place, const ctune_target *target) {
    path->entries[0] = 1;
    path->top = place > 0 ? place : 0;
    for (int up = place; up > 0; up = path->nest->node[up].parent) {
        double extent = ctune_nest_extent(path->nest, up);
        path->entries[0] *= extent;
        if (path->nest->node[up].ann == CTUNE_ANN_PARALLEL) {
            path->threads = est_min(target->n_threads, extent);
        }
    }
}

/* Lanes around other loops (recurrences along rows): all lanes run each statement together, as if
 * their loop stood innermost. */
static void sink_lanes(est_path *path) {
    for (int k = 0; k + 1 < path->n; k++) {
        if (path->nest->node[path->node[k]].ann == CTUNE_ANN_VECTOR) {
            int16_t lanes = path->node[k];
            memmove(&path->node[k], &path->node[k + 1],
                    (size_t)(path->n - 1 - k) * sizeof *path->node);
            path->node[path->n - 1] = lanes;
            path->has_rows = true;
            return;
        }
    }
}

bool est_path_init(est_path *path, const ctune_nest *nest, int i_node, const ctune_target *target) {
    const ctune_nnode *node = &nest->node[i_node];
    path->nest = nest;
    path->i_stmt = node->stmt;
    path->stmt = &nest->form->tree->stmts[node->stmt];
    path->stage = &nest->region->stages[path->stmt->stage];
    path->has_rows = false;
    path->threads = path->imbalance = 1;
    path->forks = 0;
    int n = 0;
    for (int up = node->parent; up > 0; up = nest->node[up].parent) {
        n += loop_position(nest, path->stmt, up, NULL) >= 0;
    }
    if (n > EST_MAX_PATH) {
        return false;
    }
    path->n = n;
    for (int up = node->parent; up > 0; up = nest->node[up].parent) {
        if (loop_position(nest, path->stmt, up, NULL) >= 0) {
            path->node[--n] = (int16_t)up;
        }
    }
    sink_lanes(path);
    find_wave(path);
    double range[CTUNE_MAX_DEPTH]; /* mean iterations of a dim in the loops so far */
    double own[CTUNE_MAX_DEPTH];
    for (int p = 0; p < path->stmt->n_dims; p++) {
        range[p] = nest->form->tree->dims[path->stmt->dims[p]].extent;
        range[p] = node->placed > 0 ? est_box(nest, i_node, p) : range[p];
        path->cover[0][p] = own[p] = est_max(range[p], 1);
    }
    find_axes(path);
    enter_place(path, node->placed, target);
    for (int k = 0; k < path->n; k++) {
        const ctune_nnode *loop = &nest->node[path->node[k]];
        int pos = loop_position(nest, path->stmt, path->node[k], range);
        double shrink;
        bool is_diagonal = est_is_diagonal(path, loop, &shrink);
        pos = is_diagonal ? path->fixed_pos : pos;
        path->pos[k] = (int8_t)pos;
        path->extent[k] = is_diagonal ? est_max(ceil(range[pos] / ((double)loop->step * shrink)), 1)
                                      : trips_of(nest, loop, range[pos]);
        range[pos] /= path->extent[k];
        path->entries[k + 1] = path->entries[k] * path->extent[k];
        if (loop->sum < 0) {
            own[pos] = est_min(own[pos], (double)loop->step);
        }
        lean(path, k + 1, own, path->cover[k + 1]);
        if (loop->ann == CTUNE_ANN_PARALLEL) {
            add_parallel(path, k, target);
        }
    }
    return true;
}

static void add_axis(const est_path *path, int a, double factor, double *coef) {
    const ctune_aff *iter = path->stmt->iter[a];
    if (path->axis_pos[a] >= 0) {
        coef[path->axis_pos[a]] += factor;
        return;
    }
    for (int i = 0; i < iter->n_terms; i++) {
        if (iter->terms[i].kind == CTUNE_TERM_AXIS) {
            int pos = position_of(path->stmt, iter->terms[i].id);
            coef[pos >= 0 ? pos : 0] += pos >= 0 ? factor * (double)iter->terms[i].coef : 0;
        }
    }
}

/* Elements between what two neighbouring loads lead to: another cache line each time. */
enum { LOAD_STRIDE = 64 };

/* Adds factor * aff, an affine form over the stage's axes, in terms of the statement's dims. */
static void add_axes(const est_path *path, const ctune_aff *aff, double factor, int depth,
                     double *coef) {
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_DIV && depth < 8) {
            const ctune_div *div = &path->nest->region->divs[term->id];
            for (int k = 0; div->load != NULL && k < div->load->n_idx; k++) {
                add_axes(path, div->load->idx[k], factor * (double)term->coef * LOAD_STRIDE,
                         depth + 1, coef);
            }
            if (div->load != NULL) {
                continue;
            }
            add_axes(path, div->num, factor * (double)term->coef / (double)div->den, depth + 1,
                     coef);
        }
        for (int a = 0; a < path->stage->n_axes && term->kind == CTUNE_TERM_AXIS; a++) {
            if (path->stage->axes[a] == term->id) {
                add_axis(path, a, factor * (double)term->coef, coef);
            }
        }
    }
}

/* Where the elements lie in a skewed array, and how a loop in a wave moves: with the dim that the
 * wave fixes. */
static void skew_ref(est_ref *ref, const est_path *path) {
    int by = ref->rank == 2 ? ctune_nest_skew_of(path->nest, ref->tensor) : -1;
    for (int p = 0; p < path->stmt->n_dims && by >= 0; p++) {
        double i = ref->coef[0][p], j = ref->coef[1][p];
        ref->coef[0][p] = by * i + j;
        ref->coef[1][p] = i;
    }
    for (int d = 0; d < ref->rank && path->wave_pos >= 0 && path->fixed_pos >= 0; d++) {
        ref->coef[d][path->wave_pos] += path->fixed_by * ref->coef[d][path->fixed_pos];
    }
}

void est_ref_init(est_ref *ref, const est_path *path, const ctune_access *access) {
    int n_dims = path->stmt->n_dims;
    ref->tensor = access->tensor;
    ref->rank = access->n_idx;
    ref->access = access;
    ref->mask = 0;
    ref->group = ref->source = -1;
    for (int d = 0; d < ref->rank; d++) {
        ref->spread[d] = 0;
        for (int p = 0; p < n_dims; p++) {
            ref->coef[d][p] = 0;
        }
        add_axes(path, access->idx[d], 1, 0, ref->coef[d]);
    }
    skew_ref(ref, path);
    for (int d = 0; d < ref->rank; d++) {
        for (int p = 0; p < n_dims; p++) {
            ref->mask |= ref->coef[d][p] != 0 ? 1u << p : 0;
        }
    }
}

void est_refs_add(est_state *state, est_path *path) {
    path->first_ref = state->n_refs;
    for (int r = -1; r < path->stage->n_reads && state->n_refs < EST_MAX_REFS; r++) {
        const ctune_access *access = r < 0 ? &path->stage->target : &path->stage->reads[r]->access;
        est_ref_init(&state->ref[state->n_refs++], path, access);
    }
    path->n_refs = state->n_refs - path->first_ref;
}

int est_ref_stride(const est_ref *ref, int pos) {
    if (!(ref->mask >> pos & 1)) {
        return 0;
    }
    for (int d = 0; d + 1 < ref->rank; d++) {
        if (ref->coef[d][pos] != 0) {
            return -1;
        }
    }
    return ref->coef[ref->rank - 1][pos] == 1 ? 1 : -1;
}

int est_register_level(const est_path *path) {
    for (int c = 0; c < path->nest->n_caches; c++) {
        const ctune_cache *cache = &path->nest->cache[c];
        if (cache->stmt != path->i_stmt || cache->kind != CTUNE_CACHE_REGISTER) {
            continue;
        }
        for (int k = 0; k < path->n; k++) {
            if (path->node[k] == cache->at) {
                return k + 1;
            }
        }
        return 0;
    }
    return -1;
}

int est_pack_node(const est_path *path, int read) {
    for (int c = 0; c < path->nest->n_caches; c++) {
        const ctune_cache *cache = &path->nest->cache[c];
        if (cache->kind == CTUNE_CACHE_PACK && cache->stmt == path->i_stmt && cache->read == read) {
            return cache->at;
        }
    }
    return -1;
}

/*
 * Bands of time tiles: loops over sums of dims, around a loop that carries dependences.
 *
 * In: a form's nest and its vectors' distances. Such a loop (steps of a stencil in time) reads what
 * its last iterations wrote nearby; tiles of the dims inside it must lean against the walk of the
 * dependences, and each statement needs a shift of its own: the sum
 *
 *     skew * loop + skews * dims further out + dim + shift of the statement
 *
 * never decreases along a dependence, so that tiles of several such sums may be run one after the
 * other. The skews are the least for which shifts exist: difference constraints between statements,
 * solved by relaxation, one system for each choice of skews.
 */
#include "search/space/space_private.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SKEW = 4, MAX_SKEW_SUM = 6 };

/* A dimension inside the loop: one dim of each statement that has it. */
typedef struct group {
    int16_t dim[CTUNE_MAX_STMTS]; /* [statement], -1 = it stands outside */
    int depth;                    /* least place of its dims */
} group;

typedef struct solver {
    const ctune_nest *nest;
    int time;                     /* loop node */
    int stmt[CTUNE_MAX_STMTS], n; /* below it */
    group group[MAX_BAND];
    int n_groups;
    int skew[MAX_BAND + 1];         /* of the loop, then of the groups before */
    int64_t shift[CTUNE_MAX_STMTS]; /* [statement] */
} solver;

static const ctune_stmt *stmt_of(const solver *s, int stmt) {
    return &s->nest->form->tree->stmts[stmt];
}

static int place_of(const ctune_stmt *stmt, int dim) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (stmt->dims[p] == dim) {
            return p;
        }
    }
    return -1;
}

static bool is_inside(const solver *s, int stmt) {
    for (int i = 0; i < s->n; i++) {
        if (s->stmt[i] == stmt) {
            return true;
        }
    }
    return false;
}

/* ---- groups -------------------------------------------------------------------------------- */

static int line_of(const solver *s, int dim) {
    const int8_t *line = s->nest->form->vecs.line;
    return line == NULL ? -1 : line[dim];
}

/* Dims of one line, or a dim that all its statements share, are a group. */
static void add_to_group(solver *s, int stmt, int place) {
    int dim = stmt_of(s, stmt)->dims[place], g = 0;
    for (; g < s->n_groups; g++) {
        bool is_same = false;
        for (int i = 0; i < s->n && !is_same; i++) {
            int other = s->group[g].dim[s->stmt[i]];
            is_same =
                other >= 0 &&
                (other == dim || (line_of(s, other) >= 0 && line_of(s, other) == line_of(s, dim)));
        }
        if (is_same) {
            break;
        }
    }
    if (g == MAX_BAND) {
        return;
    }
    if (g == s->n_groups) {
        s->n_groups++;
        s->group[g].depth = place;
        for (int k = 0; k < CTUNE_MAX_STMTS; k++) {
            s->group[g].dim[k] = -1;
        }
    }
    s->group[g].dim[stmt] = (int16_t)dim;
    s->group[g].depth = place < s->group[g].depth ? place : s->group[g].depth;
}

static int by_depth(const void *a, const void *b) {
    const group *x = a, *y = b;
    return x->depth - y->depth;
}

/* Outermost first. A dim that stands further in in some statements (a border's only loop) comes
 * where most have it. */
static void find_groups(solver *s) {
    for (int i = 0; i < s->n; i++) {
        const ctune_stmt *stmt = stmt_of(s, s->stmt[i]);
        int time = place_of(stmt, s->nest->node[s->time].dim);
        for (int p = time + 1; p < stmt->n_dims; p++) {
            add_to_group(s, s->stmt[i], p);
        }
    }
    for (int g = 0; g < s->n_groups; g++) { /* the place in most of its statements */
        int count[CTUNE_MAX_DEPTH] = {0};
        for (int i = 0; i < s->n; i++) {
            int dim = s->group[g].dim[s->stmt[i]];
            count[dim >= 0 ? place_of(stmt_of(s, s->stmt[i]), dim) : 0] += dim >= 0;
        }
        for (int p = 0; p < CTUNE_MAX_DEPTH; p++) {
            s->group[g].depth = count[p] > count[s->group[g].depth] ? p : s->group[g].depth;
        }
    }
    qsort(s->group, (size_t)s->n_groups, sizeof s->group[0], by_depth);
}

/* ---- distances ----------------------------------------------------------------------------- */

/* Least change of a group along a dependence; CTUNE_DIST_MIN: no bound is known. */
static int64_t least_change(const solver *s, const ctune_depvec *vec, const group *g) {
    int src = g->dim[vec->src], dst = g->dim[vec->dst];
    int place = src >= 0 && src == dst ? place_of(stmt_of(s, vec->src), src) : -1;
    if (src < 0 && dst < 0) {
        return 0;
    }
    if (place >= 0 && place < vec->n_common) {
        int64_t min, max;
        ctune_depvec_range(vec, place, &min, &max);
        return min;
    }
    int line = line_of(s, src >= 0 ? src : dst);
    return line < 0 || !vec->has_lines ? CTUNE_DIST_MIN : vec->line_min[line];
}

/* Does the dependence stay inside one iteration of all loops around the time loop? */
static bool is_alive(const solver *s, const ctune_depvec *vec) {
    const ctune_stmt *stmt = stmt_of(s, vec->src);
    int time = place_of(stmt, s->nest->node[s->time].dim);
    if (!is_inside(s, vec->src) || !is_inside(s, vec->dst) || time >= vec->n_common) {
        return false;
    }
    for (int p = 0; p < time; p++) {
        if (vec->sign[p] != CTUNE_SIGN_ZERO) {
            return false;
        }
    }
    return true;
}

/* Least change of the sum of group `last` without shifts. */
static int64_t least_sum(const solver *s, const ctune_depvec *vec, int last) {
    int64_t min, max, sum = 0;
    ctune_depvec_range(vec, place_of(stmt_of(s, vec->src), s->nest->node[s->time].dim), &min, &max);
    for (int k = 0; k <= last + 1; k++) {
        int64_t part = k == 0 ? min : least_change(s, vec, &s->group[k - 1]);
        int64_t coef = k == last + 1 ? 1 : s->skew[k];
        if (coef != 0 && (part == CTUNE_DIST_MIN || part > INT32_MAX || part < INT32_MIN)) {
            return CTUNE_DIST_MIN;
        }
        sum += coef * part;
    }
    return sum;
}

/* ---- skews and shifts ---------------------------------------------------------------------- */

/* Is each statement in a loop of the sum? */
static bool has_all(const solver *s, int last) {
    for (int i = 0; i < s->n; i++) {
        bool is_in = s->skew[0] > 0 || s->group[last].dim[s->stmt[i]] >= 0;
        for (int k = 0; k < last; k++) {
            is_in = is_in || (s->skew[k + 1] > 0 && s->group[k].dim[s->stmt[i]] >= 0);
        }
        if (!is_in) {
            return false;
        }
    }
    return true;
}

/* Least shifts under which the sum never decreases; false: there are none. */
static bool find_shifts(solver *s, int last) {
    const ctune_depvecs *vecs = &s->nest->form->vecs;
    memset(s->shift, 0, sizeof s->shift);
    for (int round = 0; round <= s->n; round++) {
        bool is_stable = true;
        for (int v = 0; v < vecs->n; v++) {
            const ctune_depvec *vec = &vecs->vec[v];
            if (!is_alive(s, vec)) {
                continue;
            }
            int64_t least = least_sum(s, vec, last);
            if (least == CTUNE_DIST_MIN || (vec->src == vec->dst && least < 0)) {
                return false;
            }
            if (s->shift[vec->dst] < s->shift[vec->src] - least) {
                s->shift[vec->dst] = s->shift[vec->src] - least;
                is_stable = false;
            }
        }
        if (is_stable) {
            return true;
        }
    }
    return false;
}

/* All skews of n entries that add up to `left`, until shifts exist. */
static bool search_skews(solver *s, int last, int k, int left) {
    int n = last + 1;
    if (k == n - 1) {
        s->skew[k] = left;
        return left <= MAX_SKEW && has_all(s, last) && find_shifts(s, last);
    }
    for (int skew = left < MAX_SKEW ? left : MAX_SKEW; skew >= 0; skew--) {
        s->skew[k] = skew;
        if (search_skews(s, last, k + 1, left - skew)) {
            return true;
        }
    }
    return false;
}

static bool find_skews(solver *s, int last) {
    for (int sum = 0; sum <= MAX_SKEW_SUM; sum++) {
        if (search_skews(s, last, 0, sum)) {
            return true;
        }
    }
    return false;
}

static void add_term(ctune_sum *sum, ctune_sum_kind kind, int of, int64_t coef) {
    for (int t = 0; t < sum->n && t < CTUNE_SUM_TERMS; t++) {
        if (sum->term[t].kind == (int8_t)kind && sum->term[t].of == of) {
            return; /* a dim that several statements share */
        }
    }
    if (coef != 0 && sum->n < CTUNE_SUM_TERMS) {
        sum->term[sum->n] =
            (ctune_sum_term){.kind = (int8_t)kind, .of = (int16_t)of, .coef = (int32_t)coef};
    }
    sum->n += coef != 0;
}

/* false: more terms than a sum may have, or a shift out of reason. */
static bool make_sum(const solver *s, int last, ctune_sum *sum) {
    sum->n = 0;
    add_term(sum, CTUNE_SUM_DIM, s->nest->node[s->time].dim, s->skew[0]);
    for (int k = 0; k <= last; k++) {
        for (int i = 0; i < s->n; i++) {
            int dim = s->group[k].dim[s->stmt[i]];
            add_term(sum, CTUNE_SUM_DIM, dim, dim < 0 ? 0 : k == last ? 1 : s->skew[k + 1]);
        }
    }
    for (int i = 0; i < s->n; i++) {
        if (s->shift[s->stmt[i]] > 64) {
            return false;
        }
        add_term(sum, CTUNE_SUM_STMT, s->stmt[i], s->shift[s->stmt[i]]);
    }
    return sum->n <= CTUNE_SUM_TERMS;
}

/* ---- bands --------------------------------------------------------------------------------- */

static double extent_of(const solver *s, const group *g) {
    double extent = 0;
    for (int i = 0; i < s->n; i++) {
        int dim = g->dim[s->stmt[i]];
        double e = dim >= 0 ? s->nest->form->tree->dims[dim].extent : 0;
        extent = e > extent ? e : extent;
    }
    return extent;
}

static bool is_legal(const ctune_nest *base, const band *b, bool is_wave) {
    ctune_nest trial = *base;
    plan_band p = {.time = 4, .is_wave = is_wave};
    for (int k = 0; k < b->n; k++) {
        p.tile[k] = 8;
    }
    return band_build(b, &p, &trial, NULL) && ctune_nest_check(&trial, NULL, 0);
}

/* The first dim of a group, for its name. */
static int first_dim(const solver *s, const group *g) {
    for (int i = 0; i < s->n; i++) {
        if (g->dim[s->stmt[i]] >= 0) {
            return g->dim[s->stmt[i]];
        }
    }
    return -1;
}

static void add_tile(solver *s, const form_space *fs, int g, band *b) {
    band_tile *t = &b->tile[b->n];
    if (b->n == MAX_BAND_TILES || extent_of(s, &s->group[g]) < 8 || !find_skews(s, g) ||
        !make_sum(s, g, &t->sum)) {
        return;
    }
    t->extent = extent_of(s, &s->group[g]);
    t->dim = (int16_t)first_dim(s, &s->group[g]);
    t->skew = s->skew[0];
    space_loop_name(&fs->base, s->nest->form->tree->dims[t->dim].name, 't', t->name);
    choose_sizes(t->extent, 4, t->size, &t->n_sizes);
    b->n++;
    if (!is_legal(&fs->base, b, false)) {
        b->n--;
    }
}

static int group_of(const solver *s, int dim) {
    for (int g = 0; g < s->n_groups; g++) {
        if (s->group[g].dim[s->stmt[0]] == dim) {
            return g;
        }
    }
    return -1;
}

/* Tiles along the wavefronts of the chain inside: the loop's least skew against their sum. */
static void add_diagonal(solver *s, const form_space *fs, const chain *c, band *b) {
    const ctune_nest *nest = &fs->base;
    band_tile *t = &b->tile[b->n];
    if (b->n == MAX_BAND_TILES || s->n != 1 || c->stmt != s->stmt[0] || c->wave.skew == 0) {
        return;
    }
    int outer = group_of(s, nest->node[c->wave.node[0]].dim);
    int inner = group_of(s, nest->node[c->wave.node[1]].dim);
    if (outer < 0 || inner <= outer) {
        return;
    }
    memset(s->skew, 0, sizeof s->skew);
    s->skew[outer + 1] = c->wave.skew;
    while (!find_shifts(s, inner)) {
        if (++s->skew[0] > MAX_SKEW_SUM) {
            return;
        }
    }
    if (!make_sum(s, inner, &t->sum)) {
        return;
    }
    t->extent = extent_of(s, &s->group[inner]) + c->wave.skew * extent_of(s, &s->group[outer]);
    t->dim = (int16_t)first_dim(s, &s->group[inner]);
    t->skew = s->skew[0];
    t->is_diagonal = true;
    space_loop_name(nest, nest->form->tree->dims[t->dim].name, 'd', t->name);
    choose_sizes(t->extent, 4, t->size, &t->n_sizes);
    b->n++;
    if (!is_legal(nest, b, false)) {
        b->n--;
    }
}

static int list_stmts(const ctune_nest *nest, int loop, int *out) {
    int n = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && ctune_nest_is_ancestor(nest, loop, i)) {
            out[n++] = nest->node[i].stmt;
        }
    }
    return n;
}

/* Does the loop carry a dependence between its iterations? */
static bool carries(const solver *s) {
    const ctune_depvecs *vecs = &s->nest->form->vecs;
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        if (is_alive(s, vec) &&
            vec->sign[place_of(stmt_of(s, vec->src), s->nest->node[s->time].dim)] ==
                CTUNE_SIGN_POS) {
            return true;
        }
    }
    return false;
}

/* Can the chain that holds the loop in its band tile it already? */
static bool is_in_chain(const form_space *fs, int loop) {
    for (int k = 0; k < fs->n_chains; k++) {
        for (int d = 0; d < fs->chain[k]->m; d++) {
            if (fs->chain[k]->node[d] == loop) {
                return true;
            }
        }
    }
    return false;
}

static bool add_band(form_space *fs, int loop, bool has_threads) {
    solver s = {.nest = &fs->base, .time = loop};
    band *b = &fs->band[fs->n_bands];
    s.n = list_stmts(&fs->base, loop, s.stmt);
    if (s.n == 0 || is_in_chain(fs, loop) || !carries(&s)) {
        return false;
    }
    memset(b, 0, sizeof *b);
    b->time = (int16_t)loop;
    b->stmt = s.stmt[0];
    b->extent = ctune_nest_extent(&fs->base, loop);
    memcpy(b->name[1], fs->base.node[loop].name, sizeof b->name[1]);
    space_loop_name(&fs->base, b->name[1], 't', b->name[0]);
    space_loop_name(&fs->base, b->name[1], 'w', b->name[2]);
    choose_sizes(b->extent, 2, b->size, &b->n_sizes);
    find_groups(&s);
    for (int g = 0; g < s.n_groups; g++) {
        add_tile(&s, fs, g, b);
    }
    for (int k = 0; k < fs->n_chains; k++) {
        add_diagonal(&s, fs, fs->chain[k], b);
    }
    b->may_wave = has_threads && b->n > 0 && is_legal(&fs->base, b, true);
    fs->n_bands += b->n > 0;
    return b->n > 0;
}

static void visit(form_space *fs, int node, bool has_threads) {
    for (int kid = fs->base.node[node].first; kid >= 0; kid = fs->base.node[kid].next) {
        bool is_loop = fs->base.node[kid].kind == CTUNE_NN_LOOP;
        if (is_loop && fs->n_bands < MAX_BANDS && !add_band(fs, kid, has_threads)) {
            visit(fs, kid, has_threads);
        }
    }
}

void bands_find(form_space *fs, bool has_threads) {
    visit(fs, 0, has_threads);
}

/* ---- building ------------------------------------------------------------------------------ */

static void record_tile(ctune_schedule *schedule, const ctune_nest *nest, const band_tile *t,
                        int64_t size, const char *at) {
    ctune_prim prim;
    memset(&prim, 0, sizeof prim);
    prim.kind = CTUNE_PRIM_TILE;
    prim.number = size;
    for (int k = 0; k < t->sum.n; k++) {
        const ctune_sum_term *term = &t->sum.term[k];
        const char *name = term->kind == CTUNE_SUM_DIM
                               ? nest->form->tree->dims[term->of].name
                               : ctune_stmt_name(nest->region, nest->form->tree, term->of);
        snprintf(prim.name[prim.n_names], CTUNE_NAME_BYTES, "%s", name);
        prim.coef[prim.n_names++] = term->coef;
    }
    snprintf(prim.name[prim.n_names++], CTUNE_NAME_BYTES, "%s", t->name);
    snprintf(prim.name[prim.n_names++], CTUNE_NAME_BYTES, "%s", at);
    ctune_schedule_append(schedule, &prim);
}

/* Wavefronts of two loops over tiles: those of one front are independent. */
static bool add_wave(const band *b, const int *loop, ctune_nest *nest, ctune_schedule *schedule) {
    const ctune_sum sum = {
        .n = 2,
        .term = {{CTUNE_SUM_LOOP, (int16_t)loop[0], 1}, {CTUNE_SUM_LOOP, (int16_t)loop[1], 1}}};
    const char *const names[] = {nest->node[loop[0]].name, nest->node[loop[1]].name, b->name[2]};
    if (ctune_nest_wave(nest, &sum, b->name[2]) != NULL) {
        return false;
    }
    schedule_record(schedule, CTUNE_PRIM_WAVE, 0, 3, names, (const int[]){1, 1, 0});
    if (ctune_nest_annotate(nest, loop[0], CTUNE_ANN_PARALLEL) != NULL) {
        return false;
    }
    schedule_record(schedule, CTUNE_PRIM_PARALLEL, 0, 1, names, NULL);
    return true;
}

bool band_build(const band *b, const plan_band *p, ctune_nest *nest, ctune_schedule *schedule) {
    int at = b->time, loop[MAX_BAND_TILES + 1], n = 0;
    if (p->time > 1) {
        const char *const names[] = {b->name[1], b->name[0], b->name[1]};
        if (ctune_nest_split(nest, b->time, p->time, b->name[0], b->name[1], &at) != NULL) {
            return false;
        }
        loop[n++] = b->time;
        schedule_record(schedule, CTUNE_PRIM_SPLIT, p->time, 3, names, NULL);
    }
    for (int k = 0; k < b->n; k++) {
        if (p->tile[k] == 0) {
            continue;
        }
        if (ctune_nest_tile(nest, &b->tile[k].sum, p->tile[k], at, b->tile[k].name) != NULL) {
            return false;
        }
        loop[n++] = nest->n_nodes - 1;
        if (schedule != NULL) {
            record_tile(schedule, nest, &b->tile[k], p->tile[k], b->name[1]);
        }
    }
    return !p->is_wave || n < 2 || add_wave(b, loop, nest, schedule);
}

/*
 * What may be chosen for one perfect nest: vector dims, lanes, unrolled dims, tile sizes, packs,
 * shapes.
 *
 * Legality questions are put to ctune_nest_check with a trial nest, so that there is one place that
 * knows the rules; only choices that can be legal get into the space.
 */
#include "search/space/space_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const int unroll_sizes[] = {2, 3, 4, 6, 8, 10, 12, 14, 16};
const int unroll2_sizes[] = {2, 3, 4};
const int reduce_sizes[] = {1, 2, 4, 8};

static const ctune_stage *stage_of(const ctune_nest *nest, int stmt) {
    return &nest->region->stages[nest->form->tree->stmts[stmt].stage];
}

/* Coefficient of a dim in an index of a stage's access; 0 when absent. *is_plain: the index is
 * affine without divs. */
static int64_t dim_coef(const ctune_nest *nest, int i_stmt, const ctune_aff *idx, int dim,
                        bool *is_plain) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[i_stmt];
    *is_plain = !ctune_aff_has_kind(idx, CTUNE_TERM_DIV);
    return ctune_stmt_coef(nest->region, stmt, idx, dim);
}

/* ---- trials ---- */

/* Base nest with band dim d moved to the front of the band (or, at the back, its vector lanes). */
static bool trial_parallel(const form_space *fs, const chain *c, int d) {
    ctune_nest nest = fs->base;
    int order[MAX_BAND], n = 0;
    order[n++] = c->node[d];
    for (int k = 0; k < c->m; k++) {
        if (k != d) {
            order[n++] = c->node[k];
        }
    }
    return ctune_nest_reorder(&nest, order, n) == NULL &&
           ctune_nest_annotate(&nest, c->node[d], CTUNE_ANN_PARALLEL) == NULL &&
           ctune_nest_check(&nest, NULL, 0);
}

static bool trial_perm(const form_space *fs, const chain *c, const uint8_t *perm) {
    ctune_nest nest = fs->base;
    int order[MAX_BAND];
    for (int k = 0; k < c->m; k++) {
        order[k] = c->node[perm[k]];
    }
    return ctune_nest_reorder(&nest, order, c->m) == NULL && ctune_nest_check(&nest, NULL, 0);
}

static bool trial_vector(const form_space *fs, const chain *c, int d) {
    ctune_nest nest = fs->base;
    int order[MAX_BAND + 1], inner;
    if ((c->rigid >> d & 1) ||
        ctune_nest_split(&nest, c->node[d], 4, c->name[d][0], c->name[d][1], &inner) != NULL) {
        return false;
    }
    for (int k = 0; k < c->m; k++) {
        order[k] = c->node[k];
    }
    order[c->m] = inner;
    return ctune_nest_reorder(&nest, order, c->m + 1) == NULL &&
           ctune_nest_annotate(&nest, inner, CTUNE_ANN_VECTOR) == NULL &&
           ctune_nest_check(&nest, NULL, 0);
}

/* Band dim d as the innermost loop, in whole vectors. */
static bool trial_slide(const form_space *fs, const chain *c, int d) {
    ctune_nest nest = fs->base;
    int order[MAX_BAND], n = 0;
    for (int k = 0; k < c->m; k++) {
        if (k != d) {
            order[n++] = c->node[k];
        }
    }
    order[n++] = c->node[d];
    return ctune_nest_reorder(&nest, order, n) == NULL &&
           ctune_nest_annotate(&nest, c->node[d], CTUNE_ANN_SLIDE) == NULL &&
           ctune_nest_check(&nest, NULL, 0);
}

/* Space dims outside, reduce dims inside, accumulators in registers: is that legal without any
 * tile? */
static bool trial_register(const form_space *fs, const chain *c) {
    plan p = {.shape = SHAPE_REGISTER, .v = -1, .u = {-1, -1}};
    ctune_nest nest = fs->base;
    for (int d = 0; d < MAX_BAND; d++) {
        p.reg[d] = 1;
    }
    return plan_build(c, &p, &nest, NULL) && ctune_nest_check(&nest, NULL, 0);
}

/* ---- names ---- */

static bool is_name_taken(const ctune_nest *nest, const char *name) {
    const ctune_region *region = nest->region;
    const ctune_tree *tree = nest->form->tree;
    for (int d = 0; d < tree->n_dims; d++) {
        if (strcmp(tree->dims[d].name, name) == 0) {
            return true;
        }
    }
    for (int t = 0; t < region->n_tensors; t++) {
        if (strcmp(region->tensors[t].name, name) == 0) {
            return true;
        }
    }
    for (int p = 0; p < region->n_params; p++) {
        if (strcmp(region->params[p].name, name) == 0) {
            return true;
        }
    }
    return ctune_nest_find(nest, name) >= 0; /* loops of parts */
}

void space_loop_name(const ctune_nest *nest, const char *base, char letter,
                     char name[CTUNE_NAME_BYTES]) {
    for (int n_bars = 0; n_bars < 6; n_bars++) {
        snprintf(name, CTUNE_NAME_BYTES, "%.16s%.*s%c", base, n_bars, "_____", letter);
        if (!is_name_taken(nest, name)) {
            return;
        }
    }
}

/* "j0", "j1", "j2" for dim j; underscores before the digit when j ends in one or a name is taken by
 * something else. */
static void level_names(const ctune_nest *nest, int node, char name[3][CTUNE_NAME_BYTES]) {
    char dim[CTUNE_NAME_BYTES];
    snprintf(dim, sizeof dim, "%s", nest->node[node].name);
    if (strlen(dim) > CTUNE_NAME_BYTES - 8) {
        snprintf(dim, sizeof dim, "d%u", (unsigned)nest->node[node].dim % 1000u);
    }
    char last = dim[strlen(dim) - 1];
    bool is_taken = true;
    for (int n_bars = last >= '0' && last <= '9' ? 1 : 0; is_taken && n_bars < 6; n_bars++) {
        is_taken = false;
        for (int level = 0; level < 3; level++) {
            snprintf(name[level], CTUNE_NAME_BYTES, "%.16s%.*s%c", dim, n_bars, "_____",
                     (char)('0' + level));
            is_taken = is_taken || is_name_taken(nest, name[level]);
        }
    }
}

/* ---- choices ---- */

int choice_contiguity(const ctune_nest *nest, int stmt, const ctune_access *access, int dim) {
    bool is_plain;
    for (int i = 0; i + 1 < access->n_idx; i++) {
        if (dim_coef(nest, stmt, access->idx[i], dim, &is_plain) != 0) {
            return -1;
        }
    }
    if (access->n_idx == 0) {
        return 0;
    }
    int64_t last = dim_coef(nest, stmt, access->idx[access->n_idx - 1], dim, &is_plain);
    return last == 0 ? 0 : last == 1 && is_plain ? 1 : -1;
}

static int vector_score(const ctune_nest *nest, const chain *c, int dim) {
    int score = 0;
    for (int i = nest->node[c->node[c->m - 1]].first; i >= 0; i = nest->node[i].next) {
        const ctune_stage *stage = stage_of(nest, nest->node[i].stmt);
        score += 2 * choice_contiguity(nest, nest->node[i].stmt, &stage->target, dim);
        for (int r = 0; r < stage->n_reads; r++) {
            score += choice_contiguity(nest, nest->node[i].stmt, &stage->reads[r]->access, dim);
        }
    }
    return score;
}

static void choose_vector_dims(const form_space *fs, chain *c) {
    int score[MAX_BAND];
    for (int d = c->m - 1; d >= 0; d--) {
        if (c->extent[d] < 4 || !trial_vector(fs, c, d)) {
            continue;
        }
        int at = c->n_v++;
        int s = vector_score(&fs->base, c, fs->base.node[c->node[d]].dim);
        for (; at > 0 && score[at - 1] < s; at--) {
            score[at] = score[at - 1];
            c->v[at] = c->v[at - 1];
        }
        score[at] = s;
        c->v[at] = (int8_t)d;
        c->n_good_v += s > 0;
    }
    c->v[c->n_v++] = -1;
}

/* Do statements read several elements of a tensor that lie beside each other along the dim? */
static bool has_neighbours(const ctune_nest *nest, const chain *c, int dim) {
    for (int i = nest->node[c->node[c->m - 1]].first; i >= 0; i = nest->node[i].next) {
        const ctune_stage *stage = stage_of(nest, nest->node[i].stmt);
        for (int r = 0; r < stage->n_reads; r++) {
            for (int k = 0; k < r; k++) {
                const ctune_access *a = &stage->reads[r]->access, *b = &stage->reads[k]->access;
                if (a->tensor == b->tensor &&
                    choice_contiguity(nest, nest->node[i].stmt, a, dim) > 0 &&
                    choice_contiguity(nest, nest->node[i].stmt, b, dim) > 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Loops that walk memory, in vectors of their own: where there is a time tile around them, or what
 * a vector reads overlaps with what the next one does. */
static void choose_slides(const form_space *fs, chain *c) {
    for (int d = 0; d < c->m; d++) {
        int dim = fs->base.node[c->node[d]].dim;
        bool is_wanted = c->n_outer > 0 || has_neighbours(&fs->base, c, dim);
        if (is_wanted && c->extent[d] >= 16 && vector_score(&fs->base, c, dim) > 0 &&
            trial_slide(fs, c, d)) {
            c->slide_ok |= 1u << d;
        }
    }
}

static void add_sorted(int *list, int *n, int max, int value) {
    int at = 0;
    while (at < *n && list[at] < value) {
        at++;
    }
    if (*n == max || (at < *n && list[at] == value)) {
        return;
    }
    memmove(&list[at + 1], &list[at], (size_t)(*n - at) * sizeof *list);
    list[at] = value;
    ++*n;
}

static void choose_lanes(const ctune_space *space, const form_space *fs, chain *c) {
    static const int n_vectors[] = {1, 2, 3, 4, 6};
    double widest = 4;
    c->elem_bytes = 1;
    c->vector_bytes = space->vector_bytes;
    /* one for the scalar of a row (of 32, compilers keep one even where broadcasts are embedded),
     * one for a product that is not fused */
    c->n_tile_regs = space->target->n_vector_regs - (space->target->has_fma ? 1 : 2);
    for (int i = fs->base.node[c->node[c->m - 1]].first; i >= 0; i = fs->base.node[i].next) {
        ctune_type type =
            fs->base.region->tensors[stage_of(&fs->base, fs->base.node[i].stmt)->target.tensor]
                .type;
        int bytes = ctune_type_get(type)->bytes;
        c->elem_bytes = bytes > c->elem_bytes ? bytes : c->elem_bytes;
    }
    for (int k = 0; k + 1 < c->n_v; k++) {
        widest = fmax(widest, c->extent[c->v[k]]);
    }
    for (int width = 16; width <= space->vector_bytes; width *= 2) {
        for (int k = 0; k < 5; k++) {
            int lanes = n_vectors[k] * (width / c->elem_bytes);
            if (lanes >= 2 && lanes <= widest) {
                add_sorted(c->lanes, &c->n_lanes, MAX_LANES_CHOICES, lanes);
            }
        }
    }
    if (c->n_lanes == 0) {
        c->n_v = 1;
        c->n_good_v = 0;
        c->v[0] = -1;
    }
}

static bool uses_dim(const ctune_nest *nest, int stmt, const ctune_access *access, int dim) {
    bool is_plain, is_used = false;
    for (int i = 0; i < access->n_idx; i++) {
        is_used = dim_coef(nest, stmt, access->idx[i], dim, &is_plain) != 0 || is_used;
    }
    return is_used;
}

/* Reads that a register tile over d loads once for all of d: they move with the best vector dim but
 * not with d. */
static int unroll_score(const ctune_nest *nest, const chain *c, int d) {
    int score = 0, v = c->v[0];
    const ctune_stage *stage = stage_of(nest, c->stmt);
    for (int r = 0; r < stage->n_reads && v >= 0; r++) {
        const ctune_access *access = &stage->reads[r]->access;
        score += uses_dim(nest, c->stmt, access, nest->node[c->node[v]].dim) &&
                 !uses_dim(nest, c->stmt, access, nest->node[c->node[d]].dim);
    }
    return d == v || (c->reduce >> d & 1) || !(c->unroll_ok >> d & 1) ? -1 : score;
}

/* None first, then the dims, best first. */
static void choose_unrolled_dims(const ctune_nest *nest, chain *c) {
    int score[MAX_BAND + 1];
    c->u[c->n_u++] = -1;
    for (int d = c->m - 1; d >= 0; d--) {
        if (c->extent[d] < 2 || (c->rigid >> d & 1)) {
            continue;
        }
        int at = c->n_u++, s = unroll_score(nest, c, d);
        for (; at > 1 && score[at - 1] < s; at--) {
            score[at] = score[at - 1];
            c->u[at] = c->u[at - 1];
        }
        score[at] = s;
        c->u[at] = (int8_t)d;
    }
}

void choose_sizes(double extent, int least, int *list, int *n) {
    static const int n_parts[] = {2, 3, 4, 5, 6, 8};
    add_sorted(list, n, MAX_CACHE_SIZES, 0);
    for (int64_t size = least; (double)size < extent && size <= 4096; size *= 2) {
        add_sorted(list, n, MAX_CACHE_SIZES, (int)size);
        if ((double)(size + size / 2) < extent) {
            add_sorted(list, n, MAX_CACHE_SIZES, (int)(size + size / 2));
        }
    }
    for (int k = 0; k < 6 && extent < 1e6; k++) {
        int part = (int)ceil(extent / n_parts[k]);
        if (part >= 8) {
            add_sorted(list, n, MAX_CACHE_SIZES, part);
        }
    }
}

/* Dims of a read when every index is one dim with factor 1 at most and no dim is used twice; 0 =
 * cannot be packed. */
static uint32_t pack_dims(const ctune_nest *nest, const chain *c, const ctune_access *access) {
    uint32_t dims = 0;
    for (int i = 0; i < access->n_idx; i++) {
        int n_dims = 0;
        for (int d = 0; d < c->m; d++) {
            bool is_plain;
            int64_t k =
                dim_coef(nest, c->stmt, access->idx[i], nest->node[c->node[d]].dim, &is_plain);
            if (!is_plain || (k != 0 && (k != 1 || (dims >> d & 1)))) {
                return 0;
            }
            n_dims += k != 0;
            dims |= k != 0 ? 1u << d : 0;
        }
        if (n_dims > 1) {
            return 0;
        }
    }
    return dims;
}

static bool is_written_under(const ctune_nest *nest, int tensor, int at) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT &&
            stage_of(nest, nest->node[i].stmt)->target.tensor == tensor &&
            ctune_nest_is_ancestor(nest, at, i)) {
            return true;
        }
    }
    return false;
}

static bool is_same_access(const ctune_access *a, const ctune_access *b) {
    if (a->tensor != b->tensor) {
        return false;
    }
    for (int i = 0; i < a->n_idx; i++) {
        if (!ctune_aff_is_equal(a->idx[i], b->idx[i])) {
            return false;
        }
    }
    return true;
}

/* Does what the access touches differ between iterations of the loop? A loop over blocks moves what
 * its constraints tie to it. */
static bool moves_access(const ctune_nest *nest, int i_stmt, const ctune_access *access, int dim) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[i_stmt];
    for (int d = 0; d < stmt->n_dims; d++) {
        bool is_tied = stmt->dims[d] == dim, is_used = false;
        for (int c = 0; c < stmt->n_cons && !is_tied; c++) {
            is_tied = ctune_aff_coef(stmt->cons[c], CTUNE_TERM_AXIS, dim) != 0 &&
                      ctune_aff_coef(stmt->cons[c], CTUNE_TERM_AXIS, stmt->dims[d]) != 0;
        }
        for (int i = 0; i < access->n_idx && is_tied && !is_used; i++) {
            is_used = ctune_stmt_moves(nest->region, stmt, access->idx[i], stmt->dims[d]);
        }
        if (is_tied && is_used) {
            return true;
        }
    }
    return false;
}

/* Where around the band a read may be packed: at the loop outside of those that do not move it. */
static int whole_at(const ctune_nest *nest, const chain *c, int read) {
    int at = nest->node[c->node[0]].parent;
    if (!ctune_nest_is_stable(nest, c->stmt, read, at)) {
        return -1;
    }
    const ctune_access *access = &stage_of(nest, c->stmt)->reads[read]->access;
    while (at > 0 && !moves_access(nest, c->stmt, access, nest->node[at].dim) &&
           ctune_nest_is_stable(nest, c->stmt, read, nest->node[at].parent)) {
        at = nest->node[at].parent;
    }
    return at;
}

static void choose_packs(const ctune_nest *nest, chain *c) {
    const ctune_stage *stage = stage_of(nest, c->stmt);
    uint32_t all = (1u << c->m) - 1;
    for (int r = 0; r < stage->n_reads && c->n_packs < MAX_PACKS; r++) {
        const ctune_access *access = &stage->reads[r]->access;
        uint32_t dims = pack_dims(nest, c, access);
        bool is_known = false;
        for (int k = 0; k < r; k++) {
            is_known = is_known || is_same_access(&stage->reads[k]->access, access);
        }
        int at = whole_at(nest, c, r);
        /* used once: a copy pays only where it turns what lanes would have to pick up one by one */
        bool is_turned =
            dims == all && c->v[0] >= 0 && !(c->reduce >> c->v[0] & 1) &&
            choice_contiguity(nest, c->stmt, access, nest->node[c->node[c->v[0]]].dim) < 0;
        if (dims == 0 || (dims == all && !is_turned) || is_known ||
            (at < 0 && is_written_under(nest, access->tensor, c->node[0]))) {
            continue;
        }
        c->pack[c->n_packs++] = (pack_read){r, dims, at};
    }
}

/* Does each axis of the statement follow one dim, as in the source or after interchange? */
static bool is_plain_map(const ctune_nest *nest, const chain *c) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[c->stmt];
    for (int a = 0; a < stage_of(nest, c->stmt)->n_axes; a++) {
        int n = 0;
        for (int t = 0; t < stmt->iter[a]->n_terms; t++) {
            const ctune_term *term = &stmt->iter[a]->terms[t];
            n += term->kind != CTUNE_TERM_PARAM;
            if (term->kind == CTUNE_TERM_AXIS && term->coef != 1) {
                return false;
            }
        }
        if (n > 1) {
            return false;
        }
    }
    return true;
}

static void mark_reduce_dims(const ctune_nest *nest, chain *c) {
    const ctune_stage *stage = stage_of(nest, c->stmt);
    const ctune_stmt *stmt = &nest->form->tree->stmts[c->stmt];
    for (int d = 0; d < c->m; d++) {
        bool is_space = ctune_stmt_axes_move(nest->region, stmt, ~stage->reduce_mask,
                                             nest->node[c->node[d]].dim);
        c->reduce |= is_space ? 0 : 1u << d;
    }
}

/* Does a loop outside the band carry the dependence? */
static bool is_carried_outside(const ctune_nest *nest, const chain *c, const ctune_depvec *vec) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[c->stmt];
    for (int p = 0; p < vec->n_common && stmt->dims[p] != nest->node[c->node[0]].dim; p++) {
        if (vec->sign[p] != CTUNE_SIGN_ZERO) {
            return true;
        }
    }
    return false;
}

/* A statement that reads other elements of its target: dims along which it does may not be in a
 * register tile. */
static uint32_t tileable_dims(const ctune_nest *nest, const chain *c) {
    const ctune_stage *stage = stage_of(nest, c->stmt);
    const ctune_stmt *stmt = &nest->form->tree->stmts[c->stmt];
    uint32_t dims = (1u << c->m) - 1;
    bool reads_target = false;
    for (int r = 0; r < stage->n_reads; r++) {
        reads_target = reads_target || stage->reads[r]->access.tensor == stage->target.tensor;
    }
    for (int v = 0; v < nest->form->vecs.n && reads_target; v++) {
        const ctune_depvec *vec = &nest->form->vecs.vec[v];
        bool is_own = vec->src == c->stmt && vec->dst == c->stmt;
        for (int p = 0; is_own && p < vec->n_common && !is_carried_outside(nest, c, vec); p++) {
            for (int d = 0; d < c->m; d++) {
                bool is_dim = stmt->dims[p] == nest->node[c->node[d]].dim;
                dims &= is_dim && vec->sign[p] != CTUNE_SIGN_ZERO ? ~(1u << d) : ~0u;
            }
        }
    }
    return dims;
}

int chain_find_shape(const chain *c, chain_shape shape) {
    for (int k = 0; k < c->n_shapes; k++) {
        if (c->shape[k] == shape) {
            return k;
        }
    }
    return -1;
}

void chain_choices(const ctune_space *space, const form_space *fs, chain *c) {
    const ctune_nest *nest = &fs->base;
    const ctune_stage *stage = stage_of(nest, c->stmt);
    perm_list_init(&c->perms, c->m);
    for (int k = c->perms.n_perms - 1; k > 0 && c->rigid != 0; k--) {
        if (!trial_perm(fs, c, c->perms.perm[k])) {
            perm_list_remove(&c->perms, k);
        }
    }
    for (int d = 0; d < c->m; d++) {
        level_names(nest, c->node[d], c->name[d]);
        if (!(c->rigid >> d & 1)) {
            choose_sizes(c->extent[d], 8, c->cache[d], &c->n_cache[d]);
        }
        c->par |= trial_parallel(fs, c, d) ? 1u << d : 0;
    }
    choose_vector_dims(fs, c);
    choose_lanes(space, fs, c);
    choose_slides(fs, c);
    c->unroll_ok = (1u << c->m) - 1;
    c->shape[c->n_shapes++] = SHAPE_SOURCE;
    if (c->n_stmts == 1 && stage->update != CTUNE_UPDATE_SET && is_plain_map(nest, c)) {
        uint32_t all = (1u << c->m) - 1;
        mark_reduce_dims(nest, c);
        c->unroll_ok = tileable_dims(nest, c) & ~borders_cut_dims(nest, c);
        if (c->reduce != 0 && c->reduce != all && trial_register(fs, c)) {
            c->shape[c->n_shapes++] = SHAPE_REGISTER;
            choose_packs(nest, c);
        }
    }
    c->shape[c->n_shapes++] = SHAPE_PLAIN;
    if (wave_find(fs, c)) {
        c->shape[c->n_shapes++] = SHAPE_WAVE;
    }
    choose_unrolled_dims(nest, c);
    ctune_nest trial = *nest;
    c->may_stream = c->n_stmts == 1 && ctune_nest_stream(&trial, c->stmt) == NULL &&
                    c->work * c->elem_bytes > (double)space->target->cache_bytes[1] / 2;
}

/*
 * Parts: forms in which the parts of a loop's body run tile by tile.
 *
 * In: a form with a chain of loops around a body of several parts (the start of a sum, the sum, its
 * end; the passes over a row). Out: forms over the same tree whose nest has loops over tiles of
 * some of these loops' dims around the parts, and in each part its own loops inside the tile
 * (`split`, `reorder`, `fission`). Sizes of the tiles and the order of the loops around the parts
 * are decisions; the loops of the parts are chains like any others, whose tiles are smaller than
 * the one around them. Forms with placed stages (placed.c) are the same data.
 *
 * Which dims: the one that walks memory most, the one whose points share most of what the heaviest
 * part reads along it, and further ones; only where the parts may be apart. Loops inside a part
 * over several statements are taken apart, too, where that is legal.
 */
#include "search/space/space_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a form offers ---- */

typedef struct offer {
    const ctune_nest *nest;
    int n;
    int16_t loop[MAX_BAND]; /* outermost first */
    int heavy;              /* statement with most work in the parts */
    int n_free;             /* loops whose tiles may hold the parts */
    int free[MAX_BAND];     /* [loop], the best first: along memory, then shared reads */
} offer;

static const ctune_stage *stage_of(const ctune_nest *nest, int stmt) {
    return &nest->region->stages[nest->form->tree->stmts[stmt].stage];
}

static double work_below(const ctune_nest *nest, int node, int *heavy, double *most) {
    if (nest->node[node].kind == CTUNE_NN_STMT) {
        double work = 1;
        for (int up = nest->node[node].parent; up > 0; up = nest->node[up].parent) {
            work *= ctune_nest_extent(nest, up);
        }
        *heavy = work > *most ? nest->node[node].stmt : *heavy;
        *most = fmax(work, *most);
        return work;
    }
    double sum = 0;
    for (int kid = nest->node[node].first; kid >= 0; kid = nest->node[kid].next) {
        sum += work_below(nest, kid, heavy, most);
    }
    return sum;
}

/* The loops from `top` down to the first body of several parts, one of them a loop; 0: none. */
static int chain_to_parts(const ctune_nest *nest, int top, int16_t *loop) {
    int n = 0;
    for (int node = top; nest->node[node].kind == CTUNE_NN_LOOP; node = nest->node[node].first) {
        if (n == MAX_BAND || nest->node[node].first < 0) {
            return 0;
        }
        loop[n++] = (int16_t)node;
        bool has_loop = false;
        for (int kid = nest->node[node].first; kid >= 0; kid = nest->node[kid].next) {
            has_loop = has_loop || nest->node[kid].kind == CTUNE_NN_LOOP;
        }
        if (nest->node[nest->node[node].first].next >= 0) {
            return has_loop ? n : 0;
        }
    }
    return 0;
}

static bool moves(const ctune_nest *nest, int stmt, const ctune_access *access, int dim) {
    for (int i = 0; i < access->n_idx; i++) {
        if (ctune_stmt_moves(nest->region, &nest->form->tree->stmts[stmt], access->idx[i], dim)) {
            return true;
        }
    }
    return false;
}

/* Steps of one element along the dim less jumps, over all accesses of the parts to tensors of the
 * user. */
static int memory_score(const offer *o, int dim) {
    int score = 0, top = o->loop[0];
    for (int i = 1; i < o->nest->n_nodes; i++) {
        if (o->nest->node[i].kind != CTUNE_NN_STMT || !ctune_nest_is_ancestor(o->nest, top, i)) {
            continue;
        }
        int stmt = o->nest->node[i].stmt;
        const ctune_stage *stage = stage_of(o->nest, stmt);
        score += 2 * choice_contiguity(o->nest, stmt, &stage->target, dim);
        for (int r = 0; r < stage->n_reads; r++) {
            score += choice_contiguity(o->nest, stmt, &stage->reads[r]->access, dim);
        }
    }
    return score;
}

/* Reads of the heaviest part that move with dim v but not with dim d. */
static int reuse_score(const offer *o, int v, int d) {
    const ctune_stage *stage = stage_of(o->nest, o->heavy);
    int score = 0;
    for (int r = 0; r < stage->n_reads; r++) {
        const ctune_access *access = &stage->reads[r]->access;
        score += moves(o->nest, o->heavy, access, v) && !moves(o->nest, o->heavy, access, d);
    }
    return score;
}

static int dim_of(const offer *o, int k) {
    return o->nest->node[o->loop[k]].dim;
}

/* May the parts run apart inside tiles of this loop alone? */
static bool is_free(const offer *o, int k) {
    ctune_nest trial = *o->nest;
    int inner, order[MAX_BAND + 1], n = 0;
    if (ctune_nest_extent(o->nest, o->loop[k]) < 2 ||
        ctune_nest_split(&trial, o->loop[k], 4, "parts_", "parts__", &inner) != NULL) {
        return false;
    }
    for (int i = 0; i < o->n; i++) {
        order[n++] = o->loop[i];
    }
    order[n++] = inner;
    return ctune_nest_reorder(&trial, order, n) == NULL &&
           ctune_nest_fission(&trial, inner) == NULL && ctune_nest_check(&trial, NULL, 0);
}

/* Puts the best of free[from..] by score first; ties: the innermost. */
static void bring_best(offer *o, int from, const int *score) {
    for (int i = from + 1; i < o->n_free; i++) {
        int best = score[o->free[from]], mine = score[o->free[i]];
        if (mine > best || (mine == best && o->free[i] > o->free[from])) {
            int swap = o->free[from];
            o->free[from] = o->free[i];
            o->free[i] = swap;
        }
    }
}

static void rank_free(offer *o) {
    int score[MAX_BAND];
    for (int k = 0; k < o->n; k++) {
        score[k] = memory_score(o, dim_of(o, k));
        if (is_free(o, k)) {
            o->free[o->n_free++] = k;
        }
    }
    bring_best(o, 0, score);
    for (int k = 0; k < o->n && o->n_free > 0; k++) {
        score[k] = reuse_score(o, dim_of(o, o->free[0]), dim_of(o, k));
    }
    bring_best(o, 1, score);
    for (int k = 0; k < o->n; k++) {
        score[k] = 0;
    }
    bring_best(o, 2, score);
}

/* The heaviest nest of the form with parts. */
static bool find_offer(const ctune_nest *nest, offer *out) {
    double best = 0;
    memset(out, 0, sizeof *out);
    out->nest = nest;
    for (int top = nest->node[0].first; top >= 0; top = nest->node[top].next) {
        int16_t loop[MAX_BAND];
        int heavy = -1, n = chain_to_parts(nest, top, loop);
        double most = 0, work = n > 0 ? work_below(nest, top, &heavy, &most) : 0;
        if (work > best) {
            best = work;
            out->n = n;
            out->heavy = heavy;
            memcpy(out->loop, loop, sizeof loop);
        }
    }
    if (best > 0) {
        rank_free(out);
    }
    return out->n_free > 0;
}

/* ---- the nest of such a form ---- */

static bool fission(form_parts *p, ctune_nest *nest, int node) {
    if (p->n_fissions == MAX_FISSIONS) {
        return false;
    }
    snprintf(p->fission[p->n_fissions], CTUNE_NAME_BYTES, "%s", nest->node[node].name);
    p->n_fissions += ctune_nest_fission(nest, node) == NULL;
    return true;
}

/* Loops over several statements below the node, as far as that is legal. */
static void fission_below(form_parts *p, ctune_nest *nest, int node) {
    for (int i = nest->n_nodes - 1; i > 0; i--) {
        int first = nest->node[i].first;
        if (nest->node[i].kind != CTUNE_NN_LOOP || i == node || first < 0 ||
            nest->node[first].next < 0 || !ctune_nest_is_ancestor(nest, node, i)) {
            continue;
        }
        ctune_nest trial = *nest;
        if (ctune_nest_fission(&trial, i) == NULL && ctune_nest_check(&trial, NULL, 0)) {
            (void)fission(p, nest, i);
        }
    }
}

bool part_tile_add(form_parts *p, ctune_nest *base, int node, bool is_lanes) {
    part_tile *tile = &p->tile[p->n];
    double extent = ctune_nest_extent(base, node);
    int64_t whole = (int64_t)fmin(fmax(ceil(extent), 2), CTUNE_MAX_FACTOR);
    int inner;
    if (p->n == MAX_PART_TILES) {
        return false;
    }
    tile->node = (int16_t)node;
    tile->is_lanes = is_lanes;
    memcpy(tile->inner_name, base->node[node].name, CTUNE_NAME_BYTES);
    space_loop_name(base, tile->inner_name, 't', tile->name);
    choose_sizes(extent, is_lanes ? 8 : 2, tile->size, &tile->n_sizes);
    if (whole <= 4096 && tile->n_sizes < MAX_CACHE_SIZES) {
        tile->size[tile->n_sizes++] = (int)whole;
    }
    tile->n_sizes--;
    memmove(tile->size, tile->size + 1, (size_t)tile->n_sizes * sizeof *tile->size);
    if (tile->n_sizes == 0 ||
        ctune_nest_split(base, node, whole, tile->name, tile->inner_name, &inner) != NULL) {
        return false;
    }
    tile->inner = (int16_t)inner;
    p->n++;
    return true;
}

/* Tiles of the loops free[0..n-1]; base becomes the form's nest. */
static bool make_parts(const offer *o, int n, ctune_nest *base, form_parts *p) {
    bool is_tiled[MAX_BAND] = {false};
    int inner[MAX_BAND], order[2 * MAX_BAND], n_order = 0;
    memset(p, 0, sizeof *p);
    p->stmt = o->heavy;
    p->n_loops = o->n;
    for (int k = 0; k < n; k++) {
        is_tiled[o->free[k]] = true;
    }
    for (int k = 0; k < o->n; k++) {
        p->loop[k] = o->loop[k];
        order[n_order++] = o->loop[k];
        if (!is_tiled[k]) {
            continue;
        }
        if (!part_tile_add(p, base, o->loop[k], k == o->free[0])) {
            return false;
        }
        inner[p->n - 1] = p->tile[p->n - 1].inner;
    }
    for (int t = 0; t < p->n; t++) {
        order[n_order++] = inner[t];
    }
    perm_list_init(&p->perms, o->n);
    if (ctune_nest_reorder(base, order, n_order) != NULL) {
        return false;
    }
    fission_below(p, base, inner[p->n - 1]);
    for (int t = p->n - 1; t >= 0; t--) {
        if (!fission(p, base, inner[t])) {
            return false;
        }
    }
    return ctune_nest_check(base, NULL, 0);
}

/* Orders of the loops around the parts that no dependence allows are no choices. */
static void drop_orders(const ctune_nest *base, form_parts *p) {
    for (int k = p->perms.n_perms - 1; k > 0; k--) {
        ctune_nest trial = *base;
        int order[MAX_BAND];
        for (int i = 0; i < p->n_loops; i++) {
            order[i] = p->loop[p->perms.perm[k][i]];
        }
        if (ctune_nest_reorder(&trial, order, p->n_loops) != NULL ||
            !ctune_nest_check(&trial, NULL, 0)) {
            perm_list_remove(&p->perms, k);
        }
    }
}

int parts_propose(const ctune_nest *nest, int which, ctune_nest *base, form_parts *out) {
    offer o;
    if (which > 2 || !find_offer(nest, &o)) {
        return 0;
    }
    /* two dims, the first alone, three */
    static const int wanted[] = {2, 1, 3};
    int n = wanted[which] < o.n_free ? wanted[which] : o.n_free;
    if ((which == 1 && o.n_free < 2) || (which == 2 && n < 3)) {
        return 0; /* the same again */
    }
    memcpy(base, nest, sizeof *base);
    if (!make_parts(&o, n, base, out)) {
        return 0;
    }
    drop_orders(base, out);
    return out->n;
}

/* ---- points ---- */

int part_size(const part_tile *tile, const ctune_point *point) {
    int value =
        tile->slot < 0 || tile->slot >= point->n ? 0 : point->decision[tile->slot] % tile->n_sizes;
    return tile->size[value < 0 ? value + tile->n_sizes : value];
}

const part_tile *parts_limit(const form_parts *p, const ctune_nest *base, int node) {
    for (int t = 0; t < p->n; t++) {
        if (base->node[node].outer == p->tile[t].node) {
            return &p->tile[t];
        }
    }
    return NULL;
}

/* The text of what made the base nest, with the sizes and the order at hand. */
static void record(const form_parts *p, const plan_parts *pp, const ctune_nest *nest,
                   ctune_schedule *schedule) {
    const char *names[2 * MAX_BAND];
    int n = 0;
    for (int t = 0; t < p->n; t++) {
        const part_tile *tile = &p->tile[t];
        schedule_record(schedule, CTUNE_PRIM_SPLIT, pp->size[t], 3,
                        (const char *const[]){tile->inner_name, tile->name, tile->inner_name},
                        NULL);
    }
    for (int i = 0; i < p->n_loops; i++) {
        names[n++] = nest->node[p->loop[p->perms.perm[pp->order][i]]].name;
    }
    for (int t = 0; t < p->n; t++) {
        names[n++] = p->tile[t].inner_name;
    }
    if (n > 1) {
        schedule_record(schedule, CTUNE_PRIM_REORDER, 0, n, names, NULL);
    }
    for (int k = 0; k < p->n_fissions; k++) {
        schedule_record(schedule, CTUNE_PRIM_FISSION, 0, 1, (const char *const[]){p->fission[k]},
                        NULL);
    }
    int at = p->loop[p->perms.perm[pp->order][p->n_loops - 1]];
    for (int k = 0; k < p->n_placed; k++) {
        const char *stmt = ctune_stmt_name(nest->region, nest->form->tree, p->placed[k]);
        schedule_record(schedule, CTUNE_PRIM_COMPUTE, 0, 2,
                        (const char *const[]){stmt, nest->node[at].name}, NULL);
    }
}

bool parts_build(const form_parts *p, const plan_parts *pp, ctune_nest *nest,
                 ctune_schedule *schedule) {
    int order[MAX_BAND];
    for (int t = 0; t < p->n; t++) {
        nest->node[p->tile[t].node].step = pp->size[t];
    }
    for (int i = 0; i < p->n_loops; i++) {
        order[i] = p->loop[p->perms.perm[pp->order][i]];
    }
    record(p, pp, nest, schedule);
    return ctune_nest_reorder(nest, order, p->n_loops) == NULL;
}

/* Seed k: a tile is the register tile; four times that; lanes whole and twice the other dim. */
void parts_seed(const form_parts *p, int k, double lanes, double unroll, ctune_point *point) {
    static const double by[3][2] = {{1, 1}, {4, 4}, {1e9, 2}};
    for (int t = 0; t < p->n; t++) {
        const part_tile *tile = &p->tile[t];
        double wanted = tile->is_lanes ? lanes * by[k % 3][0] : unroll * by[k % 3][1];
        int best = 0;
        for (int i = 1; i < tile->n_sizes; i++) {
            best =
                fabs(log(tile->size[i] / wanted)) < fabs(log(tile->size[best] / wanted)) ? i : best;
        }
        if (tile->slot >= 0) {
            point->decision[tile->slot] = (int16_t)best;
        }
    }
}

/*
 * Point <-> plan: which decisions of a point matter, what they mean, and the canonical form of a
 * point.
 *
 * Decoding is total: any integers mean something (values wrap around the number of choices), and
 * what does not apply is ignored. So sampling, mutation and old records need no checks.
 */
#include "search/space/space_private.h"

#include <string.h>

typedef struct decoder {
    const ctune_point *point;
    active_list *list; /* may be NULL */
} decoder;

/* Value of a decision; the list remembers it as one that matters. */
static int take(decoder *dec, int slot, int n) {
    if (slot < 0 || n <= 1 || slot >= dec->point->n) {
        return 0;
    }
    int value = dec->point->decision[slot] % n;
    value += value < 0 ? n : 0;
    if (dec->list != NULL && dec->list->n < MAX_ACTIVE) {
        dec->list->item[dec->list->n++] = (active){(int16_t)slot, (int16_t)n, (int16_t)value};
    }
    return value;
}

/* The decision just taken means the same as choice `value`. */
static void settle(decoder *dec, int slot, int value) {
    if (dec->list != NULL && dec->list->n > 0 && dec->list->item[dec->list->n - 1].slot == slot) {
        dec->list->item[dec->list->n - 1].value = (int16_t)value;
    }
}

/* Choice i of a list of sizes, the least first, inside the tile around: one that does not fit is
 * all of the tile where its size is a multiple of `unit`, else the greatest that fits; -1: none
 * does. *i becomes the least choice that means the same. */
static int fit(const part_tile *limit, const ctune_point *point, const int *sizes, int unit,
               int *i) {
    int size = limit == NULL ? 0 : part_size(limit, point);
    if (limit == NULL || sizes[*i] <= size) {
        return sizes[*i];
    }
    while (*i >= 0 && sizes[*i] > size) {
        --*i;
    }
    if (*i < 0 || sizes[*i] == size || size % unit != 0) {
        return *i < 0 ? -1 : sizes[*i];
    }
    ++*i;
    return size;
}

static void decode_unroll(decoder *dec, const chain *c, int which, plan *p) {
    int n_sizes = which == 0 ? N_UNROLL : N_UNROLL2;
    const int *sizes = which == 0 ? unroll_sizes : unroll2_sizes;
    int slot = c->slots.u[which];
    int d = c->u[take(dec, slot, c->n_u)];
    /* outside a register tile an unrolled loop is only an unrolled loop: the compiler does that
     * itself */
    int least = 0;
    bool is_free = d >= 0 && d != p->v && !(which == 1 && d == p->u[0]) &&
                   p->shape == SHAPE_REGISTER && !(c->reduce >> d & 1) && (c->unroll_ok >> d & 1) &&
                   fit(c->limit[d], dec->point, sizes, 1, &least) > 0;
    if (!is_free) {
        settle(dec, slot, 0);
        return;
    }
    p->u[which] = d;
    int i = take(dec, c->slots.unroll[which], n_sizes);
    p->reg[d] = fit(c->limit[d], dec->point, sizes, 1, &i);
    settle(dec, c->slots.unroll[which], i);
}

static void decode_vector(decoder *dec, const chain *c, plan *p) {
    int i = take(dec, c->slots.v, c->n_v);
    int d = c->v[i];
    bool is_tile = p->shape != SHAPE_REGISTER || (d >= 0 && (c->unroll_ok & ~c->reduce) >> d & 1);
    int least = 0, unit = c->elem_bytes < 16 ? 16 / c->elem_bytes : 1;
    if (d >= 0 && is_tile && fit(c->limit[d], dec->point, c->lanes, unit, &least) > 0) {
        int k = take(dec, c->slots.lanes, c->n_lanes);
        p->v = d;
        p->reg[d] = fit(c->limit[d], dec->point, c->lanes, unit, &k);
        settle(dec, c->slots.lanes, k);
    } else if (d >= 0) {
        settle(dec, c->slots.v, c->n_v - 1);
    }
}

/* Cache tiles are whole numbers of register tiles, so that full tiles hold nothing but full
 * register tiles. */
static void decode_tiles(decoder *dec, const chain *c, plan *p) {
    for (int d = 0; d < c->m; d++) {
        int size = c->cache[d][take(dec, c->slots.cache[d], c->n_cache[d])];
        size = (size + p->reg[d] - 1) / p->reg[d] * p->reg[d];
        bool fits = c->limit[d] == NULL || size < part_size(c->limit[d], dec->point);
        if (size > p->reg[d] && size < c->extent[d] && fits) {
            p->cache[d] = size;
        } else {
            settle(dec, c->slots.cache[d], 0);
        }
    }
}

static void decode_orders(decoder *dec, const chain *c, plan *p) {
    uint32_t tiled = 0;
    for (int d = 0; d < c->m; d++) {
        tiled |= p->cache[d] > 0 ? 1u << d : 0;
    }
    p->torder = take(dec, c->slots.torder, c->perms.n_perms);
    if (dec->list != NULL) {
        p->torder = perm_canonical(&c->perms, p->torder, &tiled, 1);
        settle(dec, c->slots.torder, p->torder);
    }
    p->porder = take(dec, c->slots.porder, c->perms.n_perms);
    if (dec->list != NULL && p->shape == SHAPE_REGISTER) {
        uint32_t groups[2] = {~c->reduce, c->reduce};
        p->porder = perm_canonical(&c->perms, p->porder, groups, 2);
        settle(dec, c->slots.porder, p->porder);
    }
}

/* The innermost loop of the reduction may run several steps in one. */
static void decode_reduce(decoder *dec, const chain *c, plan *p) {
    const uint8_t *porder = c->perms.perm[p->porder];
    int d = -1;
    for (int k = 0; k < c->m; k++) {
        d = c->reduce >> porder[k] & 1 ? porder[k] : d;
    }
    int size = reduce_sizes[take(dec, c->slots.reduce, N_UNROLL_REDUCE)];
    double extent = d < 0 ? 0 : p->cache[d] > 0 ? p->cache[d] : c->extent[d];
    if (size > 1 && 2 * size <= extent) {
        p->reg[d] = size;
    } else {
        settle(dec, c->slots.reduce, 0);
    }
}

/* The k-th loop that may be parallel, when there are so many. */
static void decode_parallel(decoder *dec, const chain *c, plan *p) {
    int n = 0;
    for (int k = 0; k < c->n_outer; k++) {
        n += c->outer_par[k];
    }
    for (int d = 0; d < c->m && p->shape != SHAPE_WAVE; d++) {
        n += (c->par >> d & 1) ? 1 + (p->cache[d] > 0) : 0;
    }
    p->par = take(dec, c->slots.par, N_PAR_CHOICES);
    if (p->par > n) {
        p->par = 0;
        settle(dec, c->slots.par, 0);
    }
}

void plan_decode(const chain *c, const ctune_point *point, plan *out, active_list *list) {
    decoder dec = {point, list};
    memset(out, 0, sizeof *out);
    out->v = out->u[0] = out->u[1] = -1;
    for (int d = 0; d < MAX_BAND; d++) {
        out->reg[d] = 1;
    }
    if (c->m == 0 && c->n_rows > 0) {
        out->rows = c->rows[take(&dec, c->slots.rows, c->n_rows)];
    }
    if (c->m > 0) {
        out->shape = c->shape[take(&dec, c->slots.shape, c->n_shapes)];
    }
    if (out->shape == SHAPE_WAVE) {
        out->wave = c->wave.size[take(&dec, c->slots.wave, c->wave.n_sizes)];
        out->skews = take(&dec, c->slots.skew, c->wave.n_skewed > 0 ? 2 : 1) == 1;
    } else if (out->shape != SHAPE_SOURCE) {
        decode_vector(&dec, c, out);
        decode_unroll(&dec, c, 0, out);
        decode_unroll(&dec, c, 1, out);
        decode_tiles(&dec, c, out);
        decode_orders(&dec, c, out);
        if (out->shape == SHAPE_REGISTER) {
            decode_reduce(&dec, c, out);
        }
    }
    for (int k = 0; k < c->n_packs && out->shape == SHAPE_REGISTER; k++) {
        out->pack[k] = (pack_choice)take(&dec, c->slots.pack[k], N_PACK_CHOICES);
    }
    if (out->shape == SHAPE_PLAIN && out->v >= 0) {
        out->is_streamed = take(&dec, c->slots.stream, 2) == 1;
    }
    if (out->shape == SHAPE_SOURCE || (out->shape == SHAPE_PLAIN && out->v < 0)) {
        out->slides = take(&dec, c->slots.slide, 2) == 1;
    }
    decode_parallel(&dec, c, out);
}

void plan_decode_band(const band *b, const ctune_point *point, plan_band *out, active_list *list) {
    decoder dec = {point, list};
    int n_loops = 0;
    memset(out, 0, sizeof *out);
    int choice = take(&dec, b->on_slot, b->may_wave ? 3 : 2);
    if (choice == 0) {
        return;
    }
    out->is_wave = choice == 2;
    int at = list != NULL ? list->n - 1 : 0; /* the switch */
    for (int k = 0; k < b->n; k++) {
        const band_tile *t = &b->tile[k];
        out->tile[k] = t->size[take(&dec, t->slot, t->n_sizes)];
        n_loops += out->tile[k] > 0;
    }
    out->time = b->size[take(&dec, b->slot, b->n_sizes)];
    if (out->is_wave && n_loops + (out->time > 1) < 2) { /* no two loops to make a wave of */
        out->is_wave = false;
        if (list != NULL) {
            list->item[at].value = 1;
        }
    }
    if (n_loops == 0) { /* steps alone change nothing */
        out->time = 0;
        if (list != NULL) {
            list->item[at].value = 0;
            list->n = at + 1;
        }
    }
}

void plan_decode_parts(const form_parts *p, const ctune_point *point, plan_parts *out,
                       active_list *list) {
    decoder dec = {point, list};
    memset(out, 0, sizeof *out);
    for (int t = 0; t < p->n; t++) {
        out->size[t] = p->tile[t].size[take(&dec, p->tile[t].slot, p->tile[t].n_sizes)];
    }
    if (p->n_loops > 0) {
        out->order = take(&dec, p->order_slot, p->perms.n_perms);
    }
}

bool plan_is_sane(const chain *c, const plan *p) {
    if (p->shape == SHAPE_SOURCE || p->shape == SHAPE_WAVE) {
        return true;
    }
    int64_t n_rows = 1, n_vectors = 1;
    for (int d = 0; d < c->m; d++) {
        int64_t bytes = (int64_t)p->reg[d] * c->elem_bytes;
        if (p->shape == SHAPE_REGISTER && (c->reduce >> d & 1)) {
            continue; /* steps, through the same accumulators */
        }
        if (d == p->v) {
            n_vectors = (bytes + c->vector_bytes - 1) / c->vector_bytes;
        } else {
            n_rows *= p->reg[d];
        }
    }
    /* vectors that several rows use wait in registers; those of a single row are used where they
     * are loaded */
    int64_t n_operands = n_rows > 1 ? n_vectors : 1;
    return n_rows * n_vectors + n_operands <= c->n_tile_regs; /* more would spill */
}

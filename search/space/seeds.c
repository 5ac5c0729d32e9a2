/*
 * Analytic starting points: what a person who knows the machine would try first.
 *
 * Register tiles fill the vector registers; the reduce tile makes the vector side's panel fit L1,
 * the unrolled side's block L2 and the vector side's block L3 (Goto and van de Geijn, Anatomy of
 * High-Performance Matrix Multiplication, 2008). Chains without a reduction get plain vector loops
 * of several widths, with and without tiles.
 */
#include "search/space/space_private.h"

#include <math.h>
#include <string.h>

typedef enum blocking { BLOCK_NONE, BLOCK_PANEL, BLOCK_ONE_SIDE, BLOCK_FULL } blocking;

/* One row a seed, most promising first. Register tiles: for 32 registers / for 16. */
typedef struct recipe {
    int n_vectors[2], unroll[2]; /* register shape: accumulators = n_vectors * unroll */
    blocking blocking;
    int plain_vectors, plain_unroll; /* plain shape */
    int plain_tile;                  /* 0 = none */
    bool no_vector;                  /* register shape without a vector dim */
    bool is_plain;                   /* plain even where there is a register shape */
    bool plain_stream;               /* stores past the caches, where they are many */
} recipe;

static const recipe recipes[] = {
    {{2, 2}, {12, 6}, BLOCK_FULL, 1, 1, 0, false, false, true},
    {{2, 2}, {12, 6}, BLOCK_ONE_SIDE, 2, 1, 0, false, false, false},
    {{2, 2}, {12, 6}, BLOCK_NONE, 4, 1, 0, false, false, false},
    {{2, 2}, {14, 4}, BLOCK_FULL, 1, 2, 0, false, false, true},
    {{3, 3}, {8, 4}, BLOCK_FULL, 2, 2, 0, false, false, false},
    {{2, 2}, {12, 6}, BLOCK_PANEL, 1, 4, 0, false, false, true},
    {{1, 1}, {8, 4}, BLOCK_NONE, 2, 4, 0, false, true, false},
    {{4, 4}, {6, 2}, BLOCK_NONE, 2, 1, 64, false, false, false},
    {{4, 1}, {6, 12}, BLOCK_FULL, 1, 2, 32, false, false, true},
    {{4, 4}, {1, 1}, BLOCK_NONE, 4, 1, 128, false, true, false},
    {{1, 1}, {8, 8}, BLOCK_NONE, 1, 4, 32, true, false, false},
    {{6, 3}, {4, 2}, BLOCK_FULL, 4, 1, 256, false, false, false},
};
enum { N_RECIPES = sizeof recipes / sizeof *recipes };

static void set(ctune_point *point, int slot, int value) {
    if (slot >= 0 && value >= 0) {
        point->decision[slot] = (int16_t)value;
    }
}

static int nearest(const int *list, int n, double wanted) {
    int best = 0;
    double best_gap = INFINITY;
    for (int k = 0; k < n; k++) {
        double gap = list[k] > 0 ? fabs(log(list[k] / fmax(wanted, 1))) : INFINITY;
        if (gap < best_gap) {
            best = k;
            best_gap = gap;
        }
    }
    return best;
}

/* A tile that leaves nearly the whole extent is none. */
static void set_tile(const chain *c, ctune_point *point, int d, double size) {
    bool is_whole = d < 0 || size >= c->extent[d] * 0.8;
    if (d >= 0) {
        set(point, c->slots.cache[d], is_whole ? 0 : nearest(c->cache[d], c->n_cache[d], size));
    }
}

static int largest_reduce(const chain *c) {
    int best = -1;
    for (int d = 0; d < c->m; d++) {
        if ((c->reduce >> d & 1) && (best < 0 || c->extent[d] > c->extent[best])) {
            best = d;
        }
    }
    return best;
}

typedef struct tile_sizes {
    double reduce, unrolled, vector;
} tile_sizes;

static tile_sizes sizes_for_caches(const ctune_target *target, const chain *c, int k,
                                   double lanes) {
    double l1 = (double)target->cache_bytes[0], l2 = (double)target->cache_bytes[1],
           l3 = (double)target->cache_bytes[2];
    double others = 1; /* the reduction's other dims run inside the tile, too */
    for (int d = 0; d < c->m; d++) {
        others *= (c->reduce >> d & 1) && d != k ? c->extent[d] : 1;
    }
    tile_sizes t;
    double depth = fmin(0.6 * l1 / (lanes * c->elem_bytes), 512);
    t.reduce = fmax(depth / others, 8);
    depth = fmin(t.reduce, k >= 0 ? c->extent[k] : 1) * others;
    t.unrolled = l2 / 2 / (depth * c->elem_bytes);
    t.vector = fmin(l3 / 4 / (depth * c->elem_bytes), 4096);
    return t;
}

/* Tiles: vector dim, reduction, unrolled dim. Points: the vector dim's outside the unrolled one's,
 * the others around. */
static void set_orders(const chain *c, ctune_point *point, int v, int u, int k) {
    const int last[3] = {v, k, u};
    uint8_t tiles[3], points[MAX_BAND];
    int n_tiles = 0, n_points = 0;
    for (int i = 0; i < 3; i++) {
        if (last[i] >= 0) {
            tiles[n_tiles++] = (uint8_t)last[i];
        }
    }
    for (int d = 0; d < c->m; d++) {
        if (d != v && d != u && !(c->reduce >> d & 1)) {
            points[n_points++] = (uint8_t)d;
        }
    }
    if (v >= 0) {
        points[n_points++] = (uint8_t)v;
    }
    if (u >= 0) {
        points[n_points++] = (uint8_t)u;
    }
    set(point, c->slots.torder, perm_nearest(&c->perms, tiles, n_tiles));
    set(point, c->slots.porder, perm_nearest(&c->perms, points, n_points));
}

static void seed_packs(const chain *c, const recipe *r, ctune_point *point, int v) {
    for (int k = 0; k < c->n_packs; k++) {
        bool is_vector_side = v >= 0 && (c->pack[k].dims >> v & 1);
        pack_choice choice = r->blocking == BLOCK_FULL                         ? PACK_BLOCK
                             : r->blocking == BLOCK_ONE_SIDE && is_vector_side ? PACK_BLOCK
                             : r->blocking == BLOCK_PANEL && is_vector_side    ? PACK_PANEL
                                                                               : PACK_NONE;
        set(point, c->slots.pack[k], choice);
    }
}

/* Index of the first vector dim in c->v that is a space dim; the last entry is none. */
static int space_vector(const chain *c) {
    for (int i = 0; i + 1 < c->n_v; i++) {
        if ((c->unroll_ok & ~c->reduce) >> c->v[i] & 1) {
            return i;
        }
    }
    return c->n_v - 1;
}

static int space_unroll(const chain *c, int v) {
    for (int i = 1; i < c->n_u; i++) {
        if (c->u[i] != v && ((c->unroll_ok & ~c->reduce) >> c->u[i] & 1)) {
            return i;
        }
    }
    return 0;
}

/* Does the chain run over the points of tiles around it? */
static bool is_part(const chain *c) {
    bool is_part = false;
    for (int d = 0; d < c->m; d++) {
        is_part = is_part || c->limit[d] != NULL;
    }
    return is_part;
}

static void seed_register(const ctune_space *space, const chain *c, const recipe *r, int shape,
                          ctune_point *point) {
    int per_vector = c->vector_bytes / c->elem_bytes;
    int set_of = c->vector_bytes >= 64 ? 0 : 1;
    int i_v = r->no_vector ? c->n_v - 1 : space_vector(c);
    int v = c->v[i_v], i_u = space_unroll(c, v), u = c->u[i_u], k = largest_reduce(c);
    int n_vectors = r->n_vectors[set_of], unroll = r->unroll[set_of];
    if (i_u == 0) { /* one space dim: all accumulators are vectors of it */
        n_vectors = unroll > 4 ? 6 : 4;
    }
    set(point, c->slots.shape, shape);
    set(point, c->slots.v, i_v);
    set(point, c->slots.lanes, nearest(c->lanes, c->n_lanes, n_vectors * per_vector));
    set(point, c->slots.u[0], unroll > 1 ? i_u : 0);
    set(point, c->slots.unroll[0], nearest(unroll_sizes, N_UNROLL, unroll));
    set_orders(c, point, v, u, k);
    seed_packs(c, r, point, v);
    tile_sizes t = sizes_for_caches(space->target, c, k, n_vectors * per_vector);
    if (is_part(c)) {
        return; /* the tile around is small: the whole reduction runs in it */
    }
    if (r->blocking == BLOCK_FULL || r->blocking == BLOCK_ONE_SIDE) {
        set_tile(c, point, k, t.reduce);
        set_tile(c, point, v, t.vector);
    }
    if (r->blocking != BLOCK_NONE) {
        set_tile(c, point, u, t.unrolled);
    }
}

static void seed_plain(const chain *c, const recipe *r, int shape, ctune_point *point) {
    int per_vector = c->vector_bytes / c->elem_bytes;
    /* a recurrence along the innermost loop: lanes across another one, even where they jump */
    bool is_recurrent = c->n_v > 1 && !(c->par >> (c->m - 1) & 1);
    int i_v = c->n_good_v > 0 || is_recurrent ? 0 : c->n_v - 1;
    int v = c->v[i_v], u = -1, i_u = 0;
    for (int i = 1; i < c->n_u && u < 0; i++) {
        if (c->u[i] != v && r->plain_unroll > 1) {
            u = c->u[i];
            i_u = i;
        }
    }
    set(point, c->slots.shape, shape);
    set(point, c->slots.v, i_v);
    set(point, c->slots.lanes, nearest(c->lanes, c->n_lanes, r->plain_vectors * per_vector));
    set(point, c->slots.u[0], i_u);
    set(point, c->slots.unroll[0], nearest(unroll_sizes, N_UNROLL, r->plain_unroll));
    set(point, c->slots.stream, r->plain_stream);
    if (v >= 0) { /* the vector dim innermost, the others as they are */
        uint8_t wanted[MAX_BAND];
        int n = 0;
        for (int d = 0; d < c->m; d++) {
            if (d != v) {
                wanted[n++] = (uint8_t)d;
            }
        }
        wanted[n++] = (uint8_t)v;
        set(point, c->slots.porder, perm_nearest(&c->perms, wanted, n));
    }
    for (int d = 0; d < c->m && r->plain_tile > 0; d++) {
        set_tile(c, point, d, d == v ? 8.0 * r->plain_tile : r->plain_tile);
    }
}

static void seed_form(const ctune_space *space, int form, const recipe *r, bool is_parallel,
                      ctune_point *point) {
    memset(point, 0, sizeof *point);
    point->n = space->n_decisions;
    point->decision[0] = (int16_t)form;
    if (space->form[form]->parts.n_loops > 0 && r != NULL) {
        int set_of = space->vector_bytes >= 64 ? 0 : 1;
        parts_seed(&space->form[form]->parts, (int)(r - recipes),
                   (double)r->n_vectors[set_of] * space->vector_bytes / 4, r->unroll[set_of],
                   point);
    }
    for (int k = 0; k < space->form[form]->n_chains; k++) {
        const chain *c = space->form[form]->chain[k];
        set(point, c->slots.par, is_parallel);
        if (c->m == 0 || r == NULL) {
            continue;
        }
        int shape = chain_find_shape(c, SHAPE_REGISTER);
        if (shape > 0 && !r->is_plain) {
            seed_register(space, c, r, shape, point);
        } else if (chain_find_shape(c, SHAPE_PLAIN) > 0) {
            seed_plain(c, r, chain_find_shape(c, SHAPE_PLAIN), point);
        }
    }
    ctune_space_normalise(space, point);
}

static int add_seed(const ctune_point *point, ctune_point *out, int n, int max) {
    for (int k = 0; k < n; k++) {
        if (ctune_point_hash(&out[k]) == ctune_point_hash(point)) {
            return n;
        }
    }
    if (n < max) {
        out[n++] = *point;
    }
    return n;
}

/* Wavefronts wherever there are some, in tiles of about `size`, as vectors where that is wanted. */
static bool seed_waves(const ctune_space *space, int form, int size, bool is_skewed,
                       ctune_point *point) {
    const form_space *fs = space->form[form];
    bool has_wave = false;
    for (int k = 0; k < fs->n_chains; k++) {
        const chain *c = fs->chain[k];
        if (c->wave.skew > 0) {
            has_wave = true;
            set(point, c->slots.skew, is_skewed && c->wave.n_skewed > 0);
            set(point, c->slots.shape, chain_find_shape(c, SHAPE_WAVE));
            set(point, c->slots.wave, size == 0 ? 0 : nearest(c->wave.size, c->wave.n_sizes, size));
        }
    }
    return has_wave;
}

static int add_wave_seeds(const ctune_space *space, int form, ctune_point *out, int n, int max) {
    static const int sizes[] = {32, 0, 128};
    for (int i = 0; i < 4; i++) {
        ctune_point point;
        seed_form(space, form, NULL, false, &point);
        if (seed_waves(space, form, i < 3 ? sizes[i] : 0, i == 3, &point)) {
            ctune_space_normalise(space, &point);
            n = add_seed(&point, out, n, max);
        }
    }
    return n;
}

/* Lanes across rows wherever that is offered: `i` of its choices. */
static bool seed_rows(const ctune_space *space, int form, int i, ctune_point *point) {
    const form_space *fs = space->form[form];
    bool has_rows = false;
    for (int k = 0; k < fs->n_chains; k++) {
        const chain *c = fs->chain[k];
        has_rows = has_rows || i < c->n_rows;
        set(point, c->slots.rows, i < c->n_rows ? i : c->n_rows - 1);
    }
    return has_rows;
}

static int add_rows_seeds(const ctune_space *space, int form, ctune_point *out, int n, int max) {
    for (int i = 1; i < MAX_LANES_CHOICES; i++) {
        ctune_point point;
        seed_form(space, form, &recipes[0], false, &point);
        if (!seed_rows(space, form, i, &point)) {
            break;
        }
        ctune_space_normalise(space, &point);
        n = add_seed(&point, out, n, max);
    }
    return n;
}

/* Whole loops in vectors, wherever they may be. */
static void seed_slides(const ctune_space *space, int form, ctune_point *point) {
    const form_space *fs = space->form[form];
    for (int k = 0; k < fs->n_chains; k++) {
        set(point, fs->chain[k]->slots.slide, fs->chain[k]->slide_ok != 0);
    }
}

/* Time tiles around the source's loops, wavefronts where there are some or vectors that slide, and
 * around vector loops. */
static int add_band_seeds(const ctune_space *space, int form, ctune_point *out, int n, int max) {
    const form_space *fs = space->form[form];
    for (int k = 0; k < fs->n_bands; k++) {
        for (int i = 0; i < band_n_seeds(&fs->band[k]); i++) {
            for (int r = 0; r < 3; r++) {
                ctune_point point;
                seed_form(space, form, r < 2 ? NULL : &recipes[0], false, &point);
                if (r < 2) {
                    bool is_skewed = r == 0 && band_is_diagonal(&fs->band[k], i);
                    (void)seed_waves(space, form, 0, is_skewed, &point);
                }
                if (r == 0) {
                    seed_slides(space, form, &point);
                }
                band_seed(space, form, &fs->band[k], i, &point);
                ctune_space_normalise(space, &point);
                n = add_seed(&point, out, n, max);
            }
        }
    }
    return n;
}

int ctune_space_seeds(const ctune_space *space, ctune_point *out, int max) {
    bool has_parallel = space->target->openmp && !space->program->region->serial;
    int n = 0;
    for (int r = 0; r <= N_RECIPES; r++) {
        const recipe *row = r == N_RECIPES ? NULL : &recipes[r];
        for (int f = 0; f < space->n_forms && n < max; f++) {
            ctune_point point;
            seed_form(space, f, row, has_parallel, &point);
            n = add_seed(&point, out, n, max);
            if (row == NULL || r == 0) {
                seed_form(space, f, NULL, has_parallel, &point);
                seed_slides(space, f, &point);
                ctune_space_normalise(space, &point);
                n = add_seed(&point, out, n, max);
            }
            if (has_parallel && (r < 3 || row == NULL)) {
                seed_form(space, f, row, false, &point);
                n = add_seed(&point, out, n, max);
            }
        }
        for (int f = 0; f < space->n_forms && r == 0; f++) {
            n = add_rows_seeds(space, f, out, n, max);
            n = add_wave_seeds(space, f, out, n, max);
            n = add_band_seeds(space, f, out, n, max - (max - n) / 2); /* half of what is left */
        }
    }
    return n;
}

/*
 * Starting points for time tiles: what fits a cache.
 *
 * Of the dims that can be tiled the first 1, 2, ... are; the others stay whole, so that inner loops
 * stay long. A tile of R values along each and T steps touches about (R + skew * T) values of each:
 * both parts get half of what the cache holds. Fewer bytes move with more steps, more work lies in
 * leaning borders with more of them, so there are seeds for twice as many, too.
 */
#include "search/space/space_private.h"

#include <math.h>

static int nearest_size(const int *list, int n, double wanted) {
    int best = 0;
    double best_gap = INFINITY;
    for (int k = 1; k < n; k++) {
        double gap = fabs(log(list[k] / fmax(wanted, 1)));
        if (gap < best_gap) {
            best = k;
            best_gap = gap;
        }
    }
    return best;
}

static void set(ctune_point *point, int slot, int value) {
    if (slot >= 0) {
        point->decision[slot] = (int16_t)value;
    }
}

/* Tiles that are not along wavefronts; such a one is the last. */
static int n_plain(const band *b) {
    return b->n - (b->n > 0 && b->tile[b->n - 1].is_diagonal);
}

/* Bytes of all tensors of full rank below the band's loop, for each value of its first n_tiled
 * dims. */
static double bytes_inside(const form_space *fs, const band *b, int n_tiled) {
    bool is_seen[CTUNE_MAX_DIMS] = {false};
    const ctune_region *region = fs->base.region;
    double bytes = 0;
    for (int i = 1; i < fs->base.n_nodes; i++) {
        if (fs->base.node[i].kind != CTUNE_NN_STMT ||
            !ctune_nest_is_ancestor(&fs->base, b->time, i)) {
            continue;
        }
        const ctune_stage *stage =
            &region->stages[fs->form->tree->stmts[fs->base.node[i].stmt].stage];
        for (int r = -1; r < stage->n_reads; r++) {
            const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
            if (a->tensor < CTUNE_MAX_DIMS && a->n_idx >= n_plain(b) && !is_seen[a->tensor]) {
                is_seen[a->tensor] = true;
                bytes += ctune_type_get(region->tensors[a->tensor].type)->bytes;
            }
        }
    }
    for (int k = n_tiled; k < n_plain(b); k++) {
        bytes *= b->tile[k].extent;
    }
    return fmax(bytes, 1);
}

int band_n_seeds(const band *b) {
    return 4 * b->n;
}

bool band_is_diagonal(const band *b, int k) {
    return k / 4 >= n_plain(b);
}

/* Tiles along wavefronts: of each at most half of the outer dim's values is inside. */
static void seed_diagonal(const ctune_space *space, int form, const band *b, int k,
                          ctune_point *point) {
    const band_tile *tile = &b->tile[b->n - 1];
    double cache = (double)space->target->cache_bytes[k % 4 < 2 ? 1 : 0];
    double bytes = bytes_inside(space->form[form], b, n_plain(b)), all = 1;
    for (int t = 0; t + 1 < n_plain(b); t++) {
        all *= b->tile[t].extent;
    }
    double half = fmax(0.7 * cache / (bytes * all / 2) / 2, 8);
    int skew = tile->skew > 1 ? tile->skew : 1;
    set(point, b->on_slot, 1);
    set(point, b->slot, nearest_size(b->size, b->n_sizes, half / skew * (k % 2 == 0 ? 1 : 2)));
    for (int t = 0; t < b->n; t++) {
        set(point, b->tile[t].slot,
            t + 1 < b->n ? 0 : nearest_size(tile->size, tile->n_sizes, half));
    }
}

/* Seed k: two caches, two numbers of steps (the smaller in threads, where there are some), 1 to n
 * dims. */
void band_seed(const ctune_space *space, int form, const band *b, int k, ctune_point *point) {
    const form_space *fs = space->form[form];
    int n_tiled = k / 4 + 1;
    if (band_is_diagonal(b, k)) {
        seed_diagonal(space, form, b, k, point);
        return;
    }
    double cache = (double)space->target->cache_bytes[k % 4 < 2 ? 1 : 0];
    double values = 0.7 * cache / bytes_inside(fs, b, n_tiled);
    double half = fmax(pow(values, 1.0 / n_tiled) / 2, 4);
    int skew = 1;
    for (int t = 0; t < n_tiled; t++) {
        skew = b->tile[t].skew > skew ? b->tile[t].skew : skew;
    }
    set(point, b->on_slot, b->may_wave && k % 2 == 0 ? 2 : 1);
    set(point, b->slot, nearest_size(b->size, b->n_sizes, half / skew * (k % 2 == 0 ? 1 : 2)));
    for (int t = 0; t < b->n; t++) {
        const band_tile *tile = &b->tile[t];
        bool is_tiled = t < n_tiled && !tile->is_diagonal && half < tile->extent;
        set(point, tile->slot, is_tiled ? nearest_size(tile->size, tile->n_sizes, half) : 0);
    }
}

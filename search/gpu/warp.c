/*
 * Sectors and bank conflicts of a warp's request. See warp.h. At most 32 lanes of 16 bytes: sets
 * are small arrays that are searched.
 */
#include "search/gpu/warp.h"

enum { MAX_ITEMS = 256, WORD = 4 };

typedef struct item_set {
    int n;
    int64_t item[MAX_ITEMS];
} item_set;

static bool add(item_set *set, int64_t item) {
    for (int i = 0; i < set->n; i++) {
        if (set->item[i] == item) {
            return false;
        }
    }
    set->item[set->n++] = item;
    return true;
}

static bool is_active(uint32_t active, int lane) {
    return (active >> lane & 1) != 0;
}

/* Towards minus infinity: addresses may be relative. */
static int64_t unit_of(int64_t address, int64_t bytes) {
    return address >= 0 ? address / bytes : -((-address + bytes - 1) / bytes);
}

int ctune_warp_sectors(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes) {
    item_set sectors = {0};
    for (int lane = 0; lane < CTUNE_WARP; lane++) {
        if (is_active(active, lane)) {
            add(&sectors, unit_of(addresses[lane], CTUNE_SECTOR_BYTES));
            add(&sectors, unit_of(addresses[lane] + bytes - 1, CTUNE_SECTOR_BYTES));
        }
    }
    return sectors.n;
}

int ctune_warp_sectors_min(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes) {
    item_set accesses = {0};
    for (int lane = 0; lane < CTUNE_WARP; lane++) {
        if (is_active(active, lane)) {
            add(&accesses, addresses[lane]);
        }
    }
    return (accesses.n * bytes + CTUNE_SECTOR_BYTES - 1) / CTUNE_SECTOR_BYTES;
}

static int phase_lanes(int bytes) {
    return bytes <= WORD ? CTUNE_WARP : CTUNE_WARP * WORD / bytes;
}

/* 0: no lane of it is active. */
static int phase_passes(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes,
                        int first) {
    item_set words = {0};
    int in_bank[CTUNE_SHARED_BANKS] = {0}, most = 0;
    for (int lane = first; lane < first + phase_lanes(bytes); lane++) {
        for (int at = 0; is_active(active, lane) && at < bytes; at += WORD) {
            int64_t word = unit_of(addresses[lane] + at, WORD);
            if (add(&words, word)) {
                int bank =
                    (int)((word % CTUNE_SHARED_BANKS + CTUNE_SHARED_BANKS) % CTUNE_SHARED_BANKS);
                most = ++in_bank[bank] > most ? in_bank[bank] : most;
            }
        }
    }
    return most;
}

int ctune_warp_passes(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes) {
    int passes = 0;
    for (int first = 0; first < CTUNE_WARP; first += phase_lanes(bytes)) {
        passes += phase_passes(addresses, active, bytes, first);
    }
    return passes;
}

int ctune_warp_conflicts(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes) {
    int conflicts = 0;
    for (int first = 0; first < CTUNE_WARP; first += phase_lanes(bytes)) {
        int passes = phase_passes(addresses, active, bytes, first);
        conflicts += passes > 0 ? passes - 1 : 0;
    }
    return conflicts;
}

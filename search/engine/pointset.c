/* Set of point hashes, open addressing: see engine_private.h. */
#include "search/engine/engine_private.h"

#include <stdlib.h>
#include <string.h>

static uint64_t key_of(uint64_t hash) {
    return hash != 0 ? hash : 1;
}

static void insert(point_set *set, uint64_t key) {
    size_t i = (size_t)key & (set->size - 1);
    while (set->slot[i] != 0) {
        i = (i + 1) & (set->size - 1);
    }
    set->slot[i] = key;
    set->n++;
}

static bool grow(point_set *set) {
    point_set bigger = {0, set->size == 0 ? 1024 : set->size * 2, NULL};
    bigger.slot = calloc(bigger.size, sizeof *bigger.slot);
    if (bigger.slot == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->size; i++) {
        if (set->slot[i] != 0) {
            insert(&bigger, set->slot[i]);
        }
    }
    free(set->slot);
    *set = bigger;
    return true;
}

void point_set_clear(point_set *set) {
    free(set->slot);
    memset(set, 0, sizeof *set);
}

bool point_set_has(const point_set *set, uint64_t hash) {
    uint64_t key = key_of(hash);
    for (size_t i = (size_t)key & (set->size - 1); set->size > 0 && set->slot[i] != 0;
         i = (i + 1) & (set->size - 1)) {
        if (set->slot[i] == key) {
            return true;
        }
    }
    return false;
}

bool point_set_add(point_set *set, uint64_t hash) {
    if (point_set_has(set, hash)) {
        return true;
    }
    if (set->n * 2 >= set->size && !grow(set)) {
        return false;
    }
    insert(set, key_of(hash));
    return true;
}

/*
 * Private to search/history: the dump that a workload's last line had, for export and import, which
 * write and read a dump only where it changes.
 */
#ifndef CTUNE_SEARCH_HISTORY_TE_MAP_H
#define CTUNE_SEARCH_HISTORY_TE_MAP_H

#include "runtime/base.h"

#include <stdlib.h>

typedef struct ctune_te_map_row {
    uint64_t workload;
    const char *te; /* borrowed; NULL = free slot */
} ctune_te_map_row;

/* Open addressing; zero-initialise. */
typedef struct ctune_te_map {
    size_t n, size; /* size: a power of two, or 0 */
    ctune_te_map_row *row;
} ctune_te_map;

static inline ctune_te_map_row *ctune_te_map_slot(const ctune_te_map *map, uint64_t workload) {
    size_t i = (size_t)(workload * 0x9e3779b97f4a7c15u >> 20) & (map->size - 1);
    while (map->row[i].te != NULL && map->row[i].workload != workload) {
        i = (i + 1) & (map->size - 1);
    }
    return &map->row[i];
}

/* NULL: none. */
static inline const char *ctune_te_map_find(const ctune_te_map *map, uint64_t workload) {
    return map->size > 0 ? ctune_te_map_slot(map, workload)->te : NULL;
}

static inline bool ctune_te_map_grow(ctune_te_map *map) {
    ctune_te_map bigger = {.size = map->size > 0 ? 2 * map->size : 64, .n = map->n};
    bigger.row = calloc(bigger.size, sizeof *bigger.row);
    if (bigger.row == NULL) {
        return false;
    }
    for (size_t i = 0; i < map->size; i++) {
        if (map->row[i].te != NULL) {
            *ctune_te_map_slot(&bigger, map->row[i].workload) = map->row[i];
        }
    }
    free(map->row);
    *map = bigger;
    return true;
}

/* false: out of memory. */
static inline bool ctune_te_map_set(ctune_te_map *map, uint64_t workload, const char *te) {
    if (2 * map->n >= map->size && !ctune_te_map_grow(map)) {
        return false;
    }
    ctune_te_map_row *row = ctune_te_map_slot(map, workload);
    map->n += row->te == NULL;
    *row = (ctune_te_map_row){workload, te};
    return true;
}

static inline void ctune_te_map_clear(ctune_te_map *map) {
    free(map->row);
    *map = (ctune_te_map){0};
}

#endif

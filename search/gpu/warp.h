/*
 * What one memory request of a warp costs, from the addresses of its lanes.
 *
 * addresses  [CTUNE_WARP], in bytes; of lanes in `active` only
 * active     bit i: lane i takes part
 * bytes      of a lane's access: 1, 2, 4, 8, 16; addresses are multiples of it
 */
#ifndef CTUNE_SEARCH_GPU_WARP_H
#define CTUNE_SEARCH_GPU_WARP_H

#include "search/gpu/device.h"

/* Sectors of global memory that the request touches. */
int ctune_warp_sectors(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes);
/* The fewest for as many distinct bytes: 4, 8, 16 for full warps of 4, 8, 16 bytes. */
int ctune_warp_sectors_min(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes);

/*
 * Passes through shared memory. Lanes go in phases of 32 (up to 4 bytes), 16 (8) or 8 (16); a phase
 * takes as many passes as the fullest bank has distinct words. Lanes at the same word share it.
 */
int ctune_warp_passes(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes);
/* Passes beyond one a phase: 0 is free of conflicts. */
int ctune_warp_conflicts(const int64_t addresses[CTUNE_WARP], uint32_t active, int bytes);

#endif

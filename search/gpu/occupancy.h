/*
 * Occupancy: how many blocks of a kernel an SM holds at once.
 */
#ifndef CTUNE_SEARCH_GPU_OCCUPANCY_H
#define CTUNE_SEARCH_GPU_OCCUPANCY_H

#include "search/gpu/device.h"

/* What binds the number of blocks; of several the first in this order. */
typedef enum ctune_occupancy_bound {
    CTUNE_BOUND_NONE, /* the launch fails: see blocks = 0 */
    CTUNE_BOUND_WARPS,
    CTUNE_BOUND_REGISTERS,
    CTUNE_BOUND_SHARED,
    CTUNE_BOUND_BLOCKS,
} ctune_occupancy_bound;

typedef struct ctune_occupancy {
    int blocks; /* on an SM; 0: the launch fails */
    int warps;  /* blocks * warps of a block */
    ctune_occupancy_bound bound;
} ctune_occupancy;

/*
 * threads       of a block, 1..1024
 * registers     of a thread, as the compiler reports them, 1..255
 * shared_bytes  of a block, static and dynamic, without what the system reserves
 */
ctune_occupancy ctune_occupancy_get(const ctune_device_limits *limits, int threads, int registers,
                                    int64_t shared_bytes);

/* Part of the SMs' time that a grid of equal, compute-bound blocks uses: the last round of blocks
 * leaves SMs without work. 0..1. */
double ctune_wave_efficiency(int n_sms, double n_blocks);

#endif

/*
 * Analytic time of a kernel from plain numbers, for devices that need not be there.
 *
 * A launch takes as long as its scarcest resource: arithmetic lanes, instruction issue, shared
 * memory with L1 (one unit), L2, device memory; each of the SM's at the rate that the resident
 * warps can keep busy, and by the SM with the most blocks. What the numbers count is the caller's
 * to find out from a nest. It ranks schedules; it does not promise times.
 */
#ifndef CTUNE_SEARCH_GPU_KERNEL_H
#define CTUNE_SEARCH_GPU_KERNEL_H

#include "search/gpu/occupancy.h"

/* One launch. Totals are of the whole grid. */
typedef struct ctune_kernel {
    int threads;          /* of a block */
    int registers;        /* of a thread */
    int64_t shared_bytes; /* of a block */
    double n_blocks;
    /* Instructions of single threads (a fused multiply-add is one). */
    double n_f32, n_f64;
    double n_other; /* integers, loads, stores, branches */
    double ilp;     /* independent arithmetic instructions of a thread at a time; 0: 1 */
    /* Memory. */
    double n_sectors;    /* of global requests: what L2 sees */
    double memory_bytes; /* that miss L2, at least each byte once */
    double
        bytes_in_flight; /* of a thread: global bytes requested before the first is needed; 0: 4 */
    double n_shared_passes; /* of warps through shared memory, conflicts included */
    double n_line_passes;   /* of warps' global requests through L1: lines of 128 bytes that they
                               touch */
    double n_barriers;      /* of a block */
} ctune_kernel;

typedef struct ctune_kernel_time {
    double ns; /* of the launch; INFINITY: it fails */
    double arithmetic_ns, issue_ns, shared_ns, l2_ns, memory_ns; /* each alone */
    double barrier_ns, start_ns;                                 /* added to the largest */
    ctune_occupancy occupancy;
    double wave_efficiency;
} ctune_kernel_time;

ctune_kernel_time ctune_kernel_estimate(const ctune_device *device, const ctune_kernel *kernel);

/* A run from the host's point of view: launches and copies over the link, nothing overlapped. */
double ctune_kernel_run_ns(const ctune_device *device, double kernels_ns, double n_launches,
                           double bytes_in, double bytes_out);

#endif

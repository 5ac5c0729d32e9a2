/*
 * GPUs as facts: limits of a compute capability, and named devices for prediction without one.
 *
 * The limits are the vendor's documented ones; rates are those of data sheets, which a calibration
 * on the device replaces. Nothing here touches a driver.
 */
#ifndef CTUNE_SEARCH_GPU_DEVICE_H
#define CTUNE_SEARCH_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CTUNE_WARP = 32,            /* threads */
    CTUNE_SECTOR_BYTES = 32,    /* of global memory: the unit of traffic */
    CTUNE_SHARED_BANKS = 32,    /* of 4 bytes */
    CTUNE_BLOCK_THREADS = 1024, /* at most, on every device; x and y 1024, z 64 */
    CTUNE_SM_REGISTERS = 65536, /* of 32 bits; also of a block */
    CTUNE_THREAD_REGISTERS = 255,
    CTUNE_STATIC_SHARED = 48 * 1024, /* bytes; more only as dynamic shared memory */
    CTUNE_SM_SCHEDULERS = 4,         /* warp instructions a cycle */
};

/* What a multiprocessor (SM) has. */
typedef struct ctune_device_limits {
    int cc;                   /* compute capability, major * 10 + minor */
    int warps, blocks;        /* resident */
    int shared_kib;           /* of an SM */
    int block_shared_kib;     /* of a block that opts in */
    int l1_kib;               /* L1 and shared memory together */
    int f32_lanes, f64_lanes; /* multiply-adds a cycle, without tensor cores */
} ctune_device_limits;

typedef struct ctune_device {
    const char *name; /* "h200": what --device takes */
    int cc;
    int n_sms;
    double ghz;          /* boost clock: peak = SMs * lanes * 2 * ghz */
    double bytes_per_ns; /* of its memory */
    double l2_mib;
    double link_bytes_per_ns; /* from and to the host, one way, pinned */
} ctune_device;

/* Of this capability, else of the highest lower one of the same major, else NULL. */
const ctune_device_limits *ctune_device_limits_find(int cc);
/* By name, in any case of letters; NULL: none. */
const ctune_device *ctune_device_find(const char *name);
/* The i-th of the table, NULL after the last. */
const ctune_device *ctune_device_at(int i);
/* FLOPs per ns, multiply-adds counted as two. */
double ctune_device_peak(const ctune_device *device, bool is_f64);

#endif

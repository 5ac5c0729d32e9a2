/*
 * Occupancy by the vendor's documented rules: registers are given to warps in steps of 256, warps
 * sit on four schedulers, shared memory is given in steps of 128 bytes (256 before 7.5), of which
 * the system keeps 1 KiB a block from capability 8 on.
 */
#include "search/gpu/occupancy.h"

#include <math.h>

enum { REGISTER_STEP = 256, SCHEDULER_REGISTERS = CTUNE_SM_REGISTERS / CTUNE_SM_SCHEDULERS };

static int64_t round_up(int64_t value, int64_t step) {
    return (value + step - 1) / step * step;
}

static bool check(const ctune_device_limits *l, int threads, int registers, int64_t shared_bytes) {
    int64_t warps = round_up(threads, CTUNE_WARP) / CTUNE_WARP;
    int64_t warp_registers = round_up((int64_t)CTUNE_WARP * registers, REGISTER_STEP);
    return threads >= 1 && threads <= CTUNE_BLOCK_THREADS && registers >= 1 &&
           registers <= CTUNE_THREAD_REGISTERS && shared_bytes >= 0 &&
           shared_bytes <= (int64_t)l->block_shared_kib * 1024 &&
           warp_registers * round_up(warps, CTUNE_SM_SCHEDULERS) <= CTUNE_SM_REGISTERS;
}

static void bind_to(ctune_occupancy *o, int64_t blocks, ctune_occupancy_bound bound) {
    if (o->bound == CTUNE_BOUND_NONE || blocks < o->blocks) {
        o->blocks = (int)blocks;
        o->bound = bound;
    }
}

ctune_occupancy ctune_occupancy_get(const ctune_device_limits *l, int threads, int registers,
                                    int64_t shared_bytes) {
    ctune_occupancy o = {0};
    if (!check(l, threads, registers, shared_bytes)) {
        return o;
    }
    int64_t warps = round_up(threads, CTUNE_WARP) / CTUNE_WARP;
    int64_t warp_registers = round_up((int64_t)CTUNE_WARP * registers, REGISTER_STEP);
    int64_t reserved = l->cc >= 80 ? 1024 : 0;
    int64_t shared = round_up(shared_bytes + reserved, l->cc / 10 == 7 ? 256 : 128);
    bind_to(&o, l->warps / warps, CTUNE_BOUND_WARPS);
    bind_to(&o, CTUNE_SM_SCHEDULERS * (SCHEDULER_REGISTERS / warp_registers) / warps,
            CTUNE_BOUND_REGISTERS);
    if (shared > 0) {
        bind_to(&o, (int64_t)l->shared_kib * 1024 / shared, CTUNE_BOUND_SHARED);
    }
    bind_to(&o, l->blocks, CTUNE_BOUND_BLOCKS);
    if (o.blocks == 0) {
        o.bound = CTUNE_BOUND_NONE;
    }
    o.warps = o.blocks * (int)warps;
    return o;
}

double ctune_wave_efficiency(int n_sms, double n_blocks) {
    return n_blocks <= 0 ? 1 : n_blocks / (n_sms * ceil(n_blocks / n_sms));
}

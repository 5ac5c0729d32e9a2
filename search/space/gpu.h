/*
 * Schedules for a GPU, generated from the region, and a choice among them without a device.
 *
 * A region is cut into launches (schedule/check_gpu.c); each launch has its own knobs: threads of a
 * block along x and y, the tile of one thread, the step of a reduction whose operands are copied to
 * shared memory. Which loops become blocks and threads is found by asking the legality check; x is
 * the loop along which neighbours in memory are.
 */
#ifndef CTUNE_SEARCH_SPACE_GPU_H
#define CTUNE_SEARCH_SPACE_GPU_H

#include "runtime/rng.h"
#include "search/schedule/program.h"

/* What a device can do; the default stands for a large one. Rates per ns. */
typedef struct ctune_gpu_device {
    int n_sms;               /* multiprocessors */
    double f32_ops, f64_ops; /* additions and products */
    double bytes;            /* memory */
    double requests;         /* of warps to L1 and shared memory, all multiprocessors */
    double launch_ns;
    int64_t shared_bytes; /* of a block, without asking for more */
    int n_regs;           /* of a thread, at full speed */
} ctune_gpu_device;
void ctune_gpu_device_default(ctune_gpu_device *out);

/* Knobs of a launch. Extents that are smaller cut them. */
typedef struct ctune_gpu_knobs {
    int threads_x, threads_y; /* of a block: powers of 2 */
    int tile_x, tile_y;       /* points of a thread: powers of 2 */
    int k_step;               /* of the reduction; 0: no shared copies */
} ctune_gpu_knobs;

/* One schedule: of each launch the fastest by the estimate. Appended to out; *ns (may be NULL): its
 * estimated time. Fails EREFUSED with words when nothing of the region can run on a GPU. */
CTUNE_MUST_USE ctune_status ctune_gpu_choose(ctune_ctx *ctx, ctune_program *program,
                                             const ctune_gpu_device *device, ctune_schedule *out,
                                             double *ns);
/* One schedule: of each launch knobs by chance. For tests and searches. */
CTUNE_MUST_USE ctune_status ctune_gpu_sample(ctune_ctx *ctx, ctune_program *program, ctune_rng *rng,
                                             ctune_schedule *out);

#endif

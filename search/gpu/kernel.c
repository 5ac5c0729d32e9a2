/*
 * The estimate of a kernel: see kernel.h.
 *
 * In: counts. Out: time by resource. An SM's resources are used by the blocks that the busiest SM
 * gets; its rates are reached only with enough independent work in flight (Little's law): warps x
 * independent instructions for the lanes, bytes in flight for the memories. Latencies and the L2's
 * width are round numbers of recent generations: they rank, a device's calibration would refine
 * them.
 */
#include "search/gpu/kernel.h"

#include <math.h>
#include <stddef.h>

static const double arithmetic_cycles = 4; /* latency of a multiply-add */
static const double f64_cycles = 8;
static const double shared_cycles = 30;
static const double barrier_cycles = 30;
static const double l2_sm_bytes = 32;             /* of L2 to an SM, a cycle */
static const double l2_ns = 200, memory_ns = 500; /* latencies */
static const double launch_ns = 3000;             /* of a launch in a stream that is full */
static const double host_launch_ns = 15000;       /* of a run, from the host and back */

static double positive(double value, double otherwise) {
    return value > 0 ? value : otherwise;
}

/* What the launch is to an SM. */
typedef struct load {
    const ctune_device *device;
    const ctune_device_limits *limits;
    const ctune_kernel *kernel;
    double share; /* of the totals, on the busiest SM */
    double warps; /* resident there */
} load;

/* n instructions of single threads on `lanes` a cycle that come back after `latency`. */
static double lanes_ns(const load *l, double n, double lanes, double latency) {
    if (n <= 0) {
        return 0;
    }
    double in_flight = l->warps * CTUNE_WARP * positive(l->kernel->ilp, 1);
    double rate = fmin(lanes, in_flight / latency);
    return n * l->share / rate / l->device->ghz;
}

static double issue_ns(const load *l) {
    const ctune_kernel *k = l->kernel;
    double rate = fmin(CTUNE_SM_SCHEDULERS, l->warps);
    return (k->n_f32 + k->n_f64 + k->n_other) / CTUNE_WARP * l->share / rate / l->device->ghz;
}

static double shared_ns(const load *l) {
    double rate = fmin(1, l->warps * positive(l->kernel->ilp, 1) / shared_cycles);
    double passes = l->kernel->n_shared_passes + l->kernel->n_line_passes;
    return passes * l->share / rate / l->device->ghz;
}

/* bytes at a rate of the whole device, of which the requests in flight can use so much. */
static double bytes_ns(const load *l, double bytes, double bytes_per_ns, double latency) {
    double active = fmin(l->device->n_sms, l->kernel->n_blocks);
    double in_flight = active * l->warps * CTUNE_WARP * positive(l->kernel->bytes_in_flight, 4);
    return bytes <= 0 ? 0 : bytes / fmin(bytes_per_ns, in_flight / latency);
}

static double largest(const ctune_kernel_time *t) {
    return fmax(fmax(fmax(t->arithmetic_ns, t->issue_ns), fmax(t->shared_ns, t->l2_ns)),
                t->memory_ns);
}

ctune_kernel_time ctune_kernel_estimate(const ctune_device *device, const ctune_kernel *kernel) {
    ctune_kernel_time t = {.ns = INFINITY};
    const ctune_device_limits *limits = ctune_device_limits_find(device->cc);
    if (limits == NULL || kernel->n_blocks < 1) {
        t.ns = limits == NULL ? INFINITY : 0;
        return t;
    }
    t.occupancy =
        ctune_occupancy_get(limits, kernel->threads, kernel->registers, kernel->shared_bytes);
    t.wave_efficiency = ctune_wave_efficiency(device->n_sms, kernel->n_blocks);
    if (t.occupancy.blocks == 0) {
        return t;
    }
    double sm_blocks = ceil(kernel->n_blocks / device->n_sms);
    double resident = fmin(t.occupancy.blocks, sm_blocks);
    double block_warps = ceil((double)kernel->threads / CTUNE_WARP);
    load l = {device, limits, kernel, sm_blocks / kernel->n_blocks, resident * block_warps};
    t.arithmetic_ns = lanes_ns(&l, kernel->n_f32, limits->f32_lanes, arithmetic_cycles) +
                      lanes_ns(&l, kernel->n_f64, limits->f64_lanes, f64_cycles);
    t.issue_ns = issue_ns(&l);
    t.shared_ns = shared_ns(&l);
    t.l2_ns = bytes_ns(&l, kernel->n_sectors * CTUNE_SECTOR_BYTES,
                       l2_sm_bytes * device->n_sms * device->ghz, l2_ns);
    t.memory_ns = bytes_ns(&l, kernel->memory_bytes, device->bytes_per_ns, memory_ns);
    /* other resident blocks work while one waits */
    t.barrier_ns =
        kernel->n_barriers * barrier_cycles * sm_blocks / resident / resident / device->ghz;
    t.start_ns = launch_ns;
    t.ns = largest(&t) + t.barrier_ns + t.start_ns;
    return t;
}

double ctune_kernel_run_ns(const ctune_device *device, double kernels_ns, double n_launches,
                           double bytes_in, double bytes_out) {
    return host_launch_ns + launch_ns * fmax(0, n_launches - 1) + kernels_ns +
           (bytes_in + bytes_out) / device->link_bytes_per_ns;
}

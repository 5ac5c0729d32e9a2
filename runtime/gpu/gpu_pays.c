/*
 * The break-even between CPU and device.
 *
 * In: times of the nest on both sides, bytes between them. Out: does the device pay? The copy rates
 * are measured once in a process, at the first question, with the copies that regions use: they
 * differ by ten between links, and the same device hangs on different ones.
 */
#include "runtime/gpu/gpu_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROBE_BYTES = 8 << 20, N_PROBES = 3 };

static const double launch_ns = 15000, safety = 0.8;

typedef struct copy_rates {
    bool is_known;
    double in_bytes_per_ns, out_bytes_per_ns;
} copy_rates;

static copy_rates rates;

double ctune_gpu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of a few: the first touches what the driver allocates lazily. */
static bool probe(const gpu_driver *driver, char *host, gpu_memory memory) {
    static const gpu_rect all = {1, PROBE_BYTES, PROBE_BYTES, PROBE_BYTES};
    double in_ns = 0, out_ns = 0;
    for (int i = 0; i < N_PROBES; i++) {
        double start = ctune_gpu_now_ns();
        if (!driver->copy_in(memory, host, &all) || !driver->finish()) {
            return false;
        }
        double middle = ctune_gpu_now_ns();
        if (!driver->copy_out(host, memory, &all)) {
            return false;
        }
        double end = ctune_gpu_now_ns();
        in_ns = i == 0 || middle - start < in_ns ? middle - start : in_ns;
        out_ns = i == 0 || end - middle < out_ns ? end - middle : out_ns;
    }
    rates = (copy_rates){true, PROBE_BYTES / (in_ns + 1), PROBE_BYTES / (out_ns + 1)};
    return true;
}

static bool measure(const gpu_driver *driver) {
    char *host = malloc(PROBE_BYTES);
    gpu_memory memory = host != NULL ? ctune_gpu_pool_get(PROBE_BYTES) : 0;
    if (memory != 0) {
        memset(host, 1, PROBE_BYTES);
        if (!probe(driver, host, memory)) {
            ctune_gpu_switch_off("measuring copies");
        }
        ctune_gpu_pool_put(memory);
    }
    free(host);
    return rates.is_known;
}

int ctune_gpu_pays(double cpu_ns, double kernel_ns, size_t bytes_in, size_t bytes_out) {
    int result = 0;
    ctune_gpu_enter();
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (driver != NULL && (rates.is_known || measure(driver))) {
        double device_ns = launch_ns + (double)bytes_in / rates.in_bytes_per_ns +
                           (double)bytes_out / rates.out_bytes_per_ns + kernel_ns;
        result = device_ns < safety * cpu_ns;
    }
    ctune_gpu_leave();
    return result;
}

void ctune_gpu_pays_reset(void) {
    rates.is_known = false;
}

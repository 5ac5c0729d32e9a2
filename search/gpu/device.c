/*
 * The two tables of GPU facts. See device.h. Rates: data sheets; the clock is the one that gives
 * their peak.
 */
#include "search/gpu/device.h"

#include <stddef.h>
#include <strings.h>

static const ctune_device_limits limits[] = {
    /* cc, warps, blocks, shared, of a block, L1, f32, f64 */
    {70, 64, 32, 96, 96, 128, 64, 32},     {75, 32, 16, 64, 64, 96, 64, 2},
    {80, 64, 32, 164, 163, 192, 64, 32},   {86, 48, 16, 100, 99, 128, 128, 2},
    {89, 48, 24, 100, 99, 128, 128, 2},    {90, 64, 32, 228, 227, 256, 128, 64},
    {100, 64, 32, 228, 227, 256, 128, 64}, {120, 48, 24, 100, 99, 128, 128, 2},
};

static const ctune_device devices[] = {
    /* name, cc, SMs, GHz, GB/s, L2, link GB/s */
    {"v100", 70, 80, 1.530, 900, 6, 12},    {"t4", 75, 40, 1.590, 320, 4, 12},
    {"a100", 80, 108, 1.410, 1555, 40, 25}, {"a100-80", 80, 108, 1.410, 2039, 40, 25},
    {"a6000", 86, 84, 1.800, 768, 6, 25},   {"l4", 89, 58, 2.040, 300, 48, 25},
    {"h100", 90, 132, 1.980, 3350, 50, 50}, {"h200", 90, 132, 1.980, 4800, 50, 50},
};

enum {
    N_LIMITS = sizeof limits / sizeof *limits,
    N_DEVICES = sizeof devices / sizeof *devices,
};

const ctune_device_limits *ctune_device_limits_find(int cc) {
    const ctune_device_limits *best = NULL;
    for (int i = 0; i < N_LIMITS; i++) {
        if (limits[i].cc <= cc && limits[i].cc / 10 == cc / 10) {
            best = &limits[i];
        }
    }
    return best;
}

const ctune_device *ctune_device_at(int i) {
    return i >= 0 && i < N_DEVICES ? &devices[i] : NULL;
}

const ctune_device *ctune_device_find(const char *name) {
    for (int i = 0; i < N_DEVICES; i++) {
        if (strcasecmp(devices[i].name, name) == 0) {
            return &devices[i];
        }
    }
    return NULL;
}

double ctune_device_peak(const ctune_device *device, bool is_f64) {
    const ctune_device_limits *l = ctune_device_limits_find(device->cc);
    int lanes = l == NULL ? 0 : is_f64 ? l->f64_lanes : l->f32_lanes;
    return 2.0 * device->n_sms * lanes * device->ghz;
}

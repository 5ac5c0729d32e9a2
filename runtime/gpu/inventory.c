/*
 * The inventory of GPU libraries and devices. See inventory.h. Each interface is opened as a region
 * would open it, and closed again.
 */
#include "runtime/gpu/inventory.h"
#include "runtime/gpu/gpu_private.h"
#include "runtime/gpu/nvrtc.h"

#include <stdio.h>

enum { LINE_SIZE = 768 };

static void describe(const gpu_driver *driver, char *line) {
    gpu_device d = {0};
    if (!driver->open(&d, true)) {
        snprintf(line, LINE_SIZE, "none: %.600s", ctune_gpu_why());
        return;
    }
    snprintf(line, LINE_SIZE, "%s (%s), %zu KiB shared memory a block, double %s, strict %s",
             d.name, d.version, d.shared_bytes >> 10, d.has_f64 ? "yes" : "no",
             d.is_strict ? "yes" : "no");
    driver->close();
}

void ctune_gpu_inventory(void *data,
                         void (*tell)(void *data, const char *name, const char *value)) {
    static const gpu_driver *const drivers[] = {&ctune_gpu_cuda, &ctune_gpu_opencl};
    char lines[2][LINE_SIZE], nvrtc[LINE_SIZE], used[LINE_SIZE];
    ctune_gpu_enter();
    for (int i = 0; i < 2; i++) {
        describe(drivers[i], lines[i]);
    }
    if (ctune_nvrtc_open(0, 0)) {
        snprintf(nvrtc, sizeof nvrtc, "%s", ctune_nvrtc_version());
    } else {
        snprintf(nvrtc, sizeof nvrtc, "none: %.600s", ctune_gpu_why());
    }
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (driver != NULL) {
        snprintf(used, sizeof used, "%s: %s", driver->name, ctune_gpu_device_get()->name);
    } else {
        snprintf(used, sizeof used, "none: %.600s", ctune_gpu_why());
    }
    ctune_gpu_leave();
    tell(data, drivers[0]->name, lines[0]);
    tell(data, "nvrtc", nvrtc);
    tell(data, drivers[1]->name, lines[1]);
    tell(data, "gpu", used);
}

/*
 * Compiled kernels of this process.
 *
 * In: a region. Out: its module and kernels, made at the first use; a region that does not compile
 * is remembered as refused and told once. Regions are compared by their text, not by their address:
 * a shared object may be unloaded and another one come to lie there.
 */
#include "runtime/gpu/gpu_private.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KERNEL_NAME = 256 };

typedef struct gpu_kernel {
    struct gpu_kernel *next;
    void *kernel;
    char name[];
} gpu_kernel;

struct gpu_module {
    struct gpu_module *next;
    const gpu_driver *driver;
    void *module; /* NULL: did not compile */
    bool is_refused;
    gpu_kernel *kernels;
    unsigned flags;
    char *refusal;        /* may be NULL */
    unsigned long n_runs; /* that were timed */
    double best_ns;
    char text[];
};

static gpu_module *modules;

static gpu_module *find_module(const char *text, unsigned flags) {
    gpu_module *m = modules;
    while (m != NULL && (m->flags != flags || strcmp(m->text, text) != 0)) {
        m = m->next;
    }
    return m;
}

/* Does the device have what the region's flags ask for? */
static bool check_device(unsigned flags) {
    const gpu_device *device = ctune_gpu_device_get();
    if ((flags & CTUNE_GPU_STRICT) != 0 && !device->is_strict) {
        return ctune_gpu_fail("%s does not promise IEEE division and subnormals", device->name);
    }
    if ((flags & CTUNE_GPU_F64) != 0 && !device->has_f64) {
        return ctune_gpu_fail("%s has no double", device->name);
    }
    return true;
}

static gpu_module *add_module(const gpu_driver *driver, const char *text, unsigned flags) {
    gpu_module *m = calloc(1, sizeof *m + strlen(text) + 1);
    if (m == NULL) {
        ctune_gpu_fail("no memory");
        return NULL;
    }
    strcpy(m->text, text);
    m->driver = driver;
    m->flags = flags;
    m->next = modules;
    modules = m;
    return m;
}

void ctune_gpu_module_refuse(gpu_module *module, const struct ctune_gpu_region *region) {
    if (!module->is_refused) {
        module->is_refused = true;
        module->refusal = strdup(ctune_gpu_why());
        ctune_gpu_log("%s: refused: %s", region->name, ctune_gpu_why());
    }
}

gpu_module *ctune_gpu_module_get(const struct ctune_gpu_region *region) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    const char *text = driver != NULL ? driver->text(region) : NULL;
    if (driver == NULL) {
        return NULL;
    }
    if (text == NULL) {
        ctune_gpu_fail("no kernel for %s", driver->name);
        return NULL;
    }
    unsigned flags = region->flags & (CTUNE_GPU_STRICT | CTUNE_GPU_F64);
    gpu_module *m = find_module(text, flags);
    if (m == NULL) {
        m = add_module(driver, text, flags);
        if (m == NULL) {
            return NULL;
        }
        m->module = check_device(flags) ? driver->build(text, flags) : NULL;
        if (m->module == NULL) {
            ctune_gpu_module_refuse(m, region);
        }
    }
    if (m->is_refused) {
        ctune_gpu_fail("%s", m->refusal != NULL ? m->refusal : "refused before");
        return NULL;
    }
    return m;
}

void *ctune_gpu_module_kernel(gpu_module *module, const char *name) {
    for (gpu_kernel *k = module->kernels; k != NULL; k = k->next) {
        if (strcmp(k->name, name) == 0) {
            return k->kernel;
        }
    }
    const gpu_driver *driver = ctune_gpu_driver_get();
    size_t length = strlen(name);
    gpu_kernel *k = NULL;
    if (driver == NULL) {
        return NULL;
    }
    if (length >= MAX_KERNEL_NAME || (k = malloc(sizeof *k + length + 1)) == NULL) {
        ctune_gpu_fail("no memory");
        return NULL;
    }
    strcpy(k->name, name);
    k->kernel = driver->kernel(module->module, name);
    if (k->kernel == NULL) {
        free(k);
        return NULL;
    }
    k->next = module->kernels;
    module->kernels = k;
    return k->kernel;
}

void ctune_gpu_module_time(gpu_module *module, const char *name, double ns) {
    module->n_runs++;
    module->best_ns = module->n_runs == 1 || ns < module->best_ns ? ns : module->best_ns;
    if ((module->n_runs & (module->n_runs - 1)) == 0) {
        ctune_gpu_log("%s: run %lu, %.1f us of kernels, best %.1f us", name, module->n_runs,
                      ns / 1000, module->best_ns / 1000);
    }
}

void ctune_gpu_module_reset(void) {
    const gpu_driver *driver = ctune_gpu_releaser_get();
    while (modules != NULL) {
        gpu_module *m = modules;
        modules = m->next;
        while (m->kernels != NULL) {
            gpu_kernel *k = m->kernels;
            m->kernels = k->next;
            m->driver->free_kernel(k->kernel);
            free(k);
        }
        if (m->module != NULL && driver != NULL) {
            driver->unload(m->module);
        }
        free(m->refusal);
        free(m);
    }
}

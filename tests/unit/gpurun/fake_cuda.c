/*
 * A libcuda.so.1 without a GPU. Entries other than opening want a current context; a failing call
 * that gives something back has given it back all the same.
 */
#include "fake.h"
#include "runtime/gpu/cuda_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_NO_MEMORY = 2, ERROR_NO_CONTEXT = 201, ERROR_NOT_FOUND = 500, ERROR_LAUNCH = 719 };

struct CUctx_st {
    int depth, n_retained;
    void *owned[64]; /* streams and modules, which go with it; so does memory */
};
struct CUmod_st {
    char unused, text[];
};
struct CUfunc_st { /* of the module's life in a real driver: never freed here */
    fake_kernel *kernel;
    int shared;
};

static struct CUctx_st primary;

static void **find_owned(const void *object) {
    size_t i = 0;
    while (primary.owned[i] != object) {
        i++;
    }
    return &primary.owned[i];
}

static void *own(size_t bytes) {
    void *object = malloc(bytes);
    *find_owned(NULL) = object;
    fake.n_live++;
    return object;
}

static void disown(void *object) {
    *find_owned(object) = NULL;
    fake.n_live--;
    free(object);
}

static struct CUfunc_st functions[64];
static int n_functions;

#define STEP()                                                                                     \
    if (!fake_step(__func__)) {                                                                    \
        return ERROR_LAUNCH;                                                                       \
    }
#define STEP_IN_CONTEXT()                                                                          \
    if (primary.depth == 0) {                                                                      \
        fake_misuse(__func__);                                                                     \
        return ERROR_NO_CONTEXT;                                                                   \
    }                                                                                              \
    STEP()

CUresult cuInit(unsigned flags) {
    (void)flags;
    STEP()
    return 0;
}

CUresult cuDriverGetVersion(int *version) {
    STEP()
    *version = fake.driver_version;
    return 0;
}

CUresult cuGetErrorName(CUresult status, const char **name) {
    *name = status == ERROR_NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_TEST";
    return 0;
}

CUresult cuDeviceGetCount(int *n) {
    STEP()
    *n = fake.n_devices;
    return 0;
}

CUresult cuDeviceGet(CUdevice *device, int i) {
    STEP()
    *device = i;
    return 0;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    (void)device;
    STEP()
    snprintf(name, (size_t)size, "Fake %d", fake.cc);
    return 0;
}

CUresult cuDeviceGetAttribute(int *value, int what, CUdevice device) {
    (void)device;
    STEP()
    static const int limits[] = {0, 1024, 1024, 1024, 64, 2147483647, 65535, 65535};
    *value = what <= 7                            ? limits[what]
             : what == CU_DEVICE_MAX_PITCH        ? fake.max_pitch
             : what == CU_DEVICE_COMPUTE_MAJOR    ? fake.cc / 10
             : what == CU_DEVICE_COMPUTE_MINOR    ? fake.cc % 10
             : what == CU_DEVICE_MAX_SHARED_OPTIN ? 227 * 1024
                                                  : 0;
    return 0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    (void)device;
    STEP()
    primary.n_retained++;
    fake.n_live++;
    *context = &primary;
    return 0;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    (void)device;
    if (primary.n_retained-- == 0) {
        fake_misuse(__func__);
    }
    fake.n_live--;
    if (primary.n_retained == 0) {
        for (size_t i = 0; i < sizeof primary.owned / sizeof *primary.owned; i++) {
            if (primary.owned[i] != NULL) {
                disown(primary.owned[i]);
            }
        }
        fake_free_all();
    }
    STEP()
    return 0;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    (void)device;
    STEP()
    return ERROR_NO_CONTEXT;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    if (context != &primary || primary.n_retained == 0) {
        fake_misuse(__func__);
    }
    STEP()
    primary.depth++;
    return 0;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    if (primary.depth-- == 0) {
        fake_misuse(__func__);
    }
    *context = &primary;
    STEP()
    return 0;
}

CUresult cuCtxSynchronize(void) {
    STEP_IN_CONTEXT()
    return 0;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    (void)flags;
    STEP_IN_CONTEXT()
    *stream = own(1);
    return 0;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    disown(stream);
    STEP_IN_CONTEXT()
    return 0;
}

CUresult cuStreamSynchronize(CUstream stream) {
    (void)stream;
    STEP_IN_CONTEXT()
    return 0;
}

/* ---- memory -----------------------------------------------------------------------------------
 */
CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes) {
    if (!fake_step(__func__)) {
        return ERROR_NO_MEMORY;
    }
    *memory = fake_alloc(bytes);
    return *memory != 0 ? 0 : ERROR_NO_MEMORY;
}

CUresult cuMemFree_v2(CUdeviceptr memory) {
    fake_free(memory);
    STEP_IN_CONTEXT()
    return 0;
}

static CUresult copy(void *to, const void *from, size_t bytes) {
    if (to != NULL && from != NULL) {
        memmove(to, from, bytes);
    }
    return 0;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    (void)stream;
    STEP_IN_CONTEXT()
    return copy(fake_pointer(to, bytes), from, bytes);
}

/* A failing one has copied half. */
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    if (!fake_step(__func__)) {
        memset(to, 0x77, bytes / 2);
        return ERROR_LAUNCH;
    }
    return copy(to, fake_pointer(from, bytes), bytes);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    STEP_IN_CONTEXT()
    return copy(fake_pointer(to, bytes), fake_pointer(from, bytes), bytes);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
    (void)stream;
    STEP_IN_CONTEXT()
    if (c->srcPitch > (size_t)fake.max_pitch || c->dstPitch > (size_t)fake.max_pitch) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool is_out = c->srcMemoryType == CU_MEMORYTYPE_DEVICE;
    size_t pitch = is_out ? c->srcPitch : c->dstPitch;
    char *device = fake_pointer(is_out ? c->srcDevice : c->dstDevice,
                                pitch * (c->Height - 1) + c->WidthInBytes);
    for (size_t i = 0; device != NULL && i < c->Height; i++) {
        if (is_out) {
            memcpy((char *)c->dstHost + i * c->dstPitch, device + i * pitch, c->WidthInBytes);
        } else {
            memcpy(device + i * pitch, (const char *)c->srcHost + i * c->srcPitch, c->WidthInBytes);
        }
    }
    return 0;
}

/* ---- modules ----------------------------------------------------------------------------------
 */
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options,
                            void **values) {
    (void)n, (void)options, (void)values;
    STEP_IN_CONTEXT()
    *module = own(sizeof **module + strlen(image) + 1);
    strcpy((*module)->text, image);
    return 0;
}

CUresult cuModuleUnload(CUmodule module) {
    disown(module);
    STEP_IN_CONTEXT()
    return 0;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    STEP_IN_CONTEXT()
    fake_kernel *kernel = strstr(module->text, name) != NULL ? fake_kernel_find(name) : NULL;
    if (kernel == NULL) {
        return ERROR_NOT_FOUND;
    }
    *function = &functions[n_functions++ % 64];
    (*function)->kernel = kernel;
    (*function)->shared = 48 * 1024;
    return 0;
}

CUresult cuFuncGetAttribute(int *value, int what, CUfunction function) {
    (void)what, (void)function;
    STEP_IN_CONTEXT()
    *value = 1024;
    return 0;
}

CUresult cuFuncSetAttribute(CUfunction function, int what, int value) {
    STEP_IN_CONTEXT()
    if (what != CU_FUNC_MAX_DYNAMIC_SHARED || value > 226 * 1024) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    function->shared = value + 1024;
    return 0;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                        void **extra) {
    (void)stream, (void)extra;
    STEP_IN_CONTEXT()
    if ((int)shared + 1024 > function->shared) {
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    function->kernel(params, (unsigned[3]){gx, gy, gz}, (unsigned[3]){bx, by, bz});
    return 0;
}

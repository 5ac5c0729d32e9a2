/*
 * The CUDA side: gpu_driver on the driver's interface, found by dlopen; kernels come from NVRTC.
 *
 * In: text and buffers. Out: modules in the primary context, which the program's own CUDA shares:
 * it is pushed and popped around every entry, and never reset. All work is in one stream that does
 * not wait for the program's; for device(...) arrays the whole context is waited for first.
 */
#include "runtime/gpu/cuda_api.h"
#include "runtime/gpu/gpu_private.h"
#include "runtime/gpu/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_LOCAL = 64 };

static struct {
#define POINTER(result, name, symbol, parameters) result(*name) parameters;
    CUDA_FUNCTIONS(POINTER)
#undef POINTER
    void *library;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    int cc;           /* major * 10 + minor */
    size_t max_pitch; /* bytes, of a copy of pieces */
} cu;

typedef struct cuda_kernel {
    CUfunction function;
    size_t static_shared, allowed_shared; /* dynamic bytes that it may be launched with */
} cuda_kernel;

static bool check(CUresult status, const char *what) {
    if (status == CUDA_SUCCESS) {
        return true;
    }
    const char *name = NULL;
    if (cu.cuGetErrorName(status, &name) != CUDA_SUCCESS || name == NULL) {
        name = "unknown";
    }
    return ctune_gpu_fail("%s: CUDA error %d %s", what, status, name);
}

/* ---- the device -------------------------------------------------------------------------------
 */
static bool load_library(void) {
    static const char *const names[] = {"libcuda.so.1", NULL}; /* without 1 it may be a stub */
    if (cu.library == NULL) {
        cu.library = ctune_gpu_library_open("CTUNE_LIBCUDA", names);
    }
    if (cu.library == NULL) {
        return false;
    }
#define FIND(result, name, symbol, parameters)                                                     \
    *(void **)&cu.name = dlsym(cu.library, symbol);                                                \
    if (cu.name == NULL) {                                                                         \
        return ctune_gpu_fail("libcuda lacks " symbol);                                            \
    }
    CUDA_FUNCTIONS(FIND)
#undef FIND
    return true;
}

/* The one that the calling thread's CUDA uses, else the first. */
static bool find_device(void) {
    int n = 0;
    if (cu.cuCtxGetDevice(&cu.device) == CUDA_SUCCESS) {
        return true;
    }
    if (!check(cu.cuDeviceGetCount(&n), "cuDeviceGetCount")) {
        return false;
    }
    return n > 0 ? check(cu.cuDeviceGet(&cu.device, 0), "cuDeviceGet")
                 : ctune_gpu_fail("no CUDA device");
}

static bool get_attribute(int what, int *value) {
    return check(cu.cuDeviceGetAttribute(value, what, cu.device), "cuDeviceGetAttribute");
}

static bool describe(gpu_device *out) {
    int threads = 0, major = 0, minor = 0, shared = 0, pitch = 0;
    if (!check(cu.cuDeviceGetName(out->name, sizeof out->name, cu.device), "cuDeviceGetName") ||
        !get_attribute(CU_DEVICE_MAX_THREADS_PER_BLOCK, &threads) ||
        !get_attribute(CU_DEVICE_COMPUTE_MAJOR, &major) ||
        !get_attribute(CU_DEVICE_COMPUTE_MINOR, &minor) ||
        !get_attribute(CU_DEVICE_MAX_SHARED_OPTIN, &shared) ||
        !get_attribute(CU_DEVICE_MAX_PITCH, &pitch)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        int block = 0, grid = 0;
        if (!get_attribute(CU_DEVICE_MAX_BLOCK_DIM_X + i, &block) ||
            !get_attribute(CU_DEVICE_MAX_GRID_DIM_X + i, &grid)) {
            return false;
        }
        out->max_block[i] = (unsigned)block;
        out->max_grid[i] = (uint64_t)grid;
    }
    out->name[sizeof out->name - 1] = '\0';
    out->has_f64 = out->is_strict = true;
    out->alignment = 1;
    out->max_threads = (unsigned)threads;
    out->shared_bytes = (size_t)shared;
    cu.cc = major * 10 + minor;
    cu.max_pitch = (size_t)pitch;
    snprintf(out->version, sizeof out->version, "sm_%d", cu.cc);
    return true;
}

static bool cuda_enter(void) {
    return check(cu.cuCtxPushCurrent(cu.context), "cuCtxPushCurrent");
}

static void cuda_leave(void) {
    CUcontext popped;
    cu.cuCtxPopCurrent(&popped);
}

static void cuda_close(void) {
    if (cu.stream != NULL && cuda_enter()) {
        cu.cuStreamDestroy(cu.stream);
        cuda_leave();
    }
    if (cu.context != NULL) {
        cu.cuDevicePrimaryCtxRelease(cu.device);
    }
    cu.stream = NULL;
    cu.context = NULL;
}

static bool open_context(void) {
    if (!check(cu.cuDevicePrimaryCtxRetain(&cu.context, cu.device), "cuDevicePrimaryCtxRetain")) {
        cu.context = NULL;
        return false;
    }
    if (!cuda_enter()) {
        cuda_close();
        return false;
    }
    bool ok = check(cu.cuStreamCreate(&cu.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    cuda_leave();
    if (!ok) {
        cu.stream = NULL;
        cuda_close();
    }
    return ok;
}

static bool cuda_open(gpu_device *device, bool any_device) {
    (void)any_device;
    int version = 0;
    if (!load_library() || !check(cu.cuInit(0), "cuInit") ||
        !check(cu.cuDriverGetVersion(&version), "cuDriverGetVersion") || !find_device() ||
        !describe(device) || !ctune_nvrtc_open(version / 1000, cu.cc)) {
        return false;
    }
    return open_context();
}

/* ---- buffers ----------------------------------------------------------------------------------
 */
static gpu_memory cuda_alloc(size_t bytes) {
    CUdeviceptr memory = 0;
    return check(cu.cuMemAlloc(&memory, bytes), "cuMemAlloc") ? memory : 0;
}

static void cuda_free(gpu_memory memory) {
    cu.cuMemFree(memory);
}

static gpu_memory cuda_view(gpu_memory memory, size_t offset, size_t bytes) {
    (void)bytes;
    return memory + offset;
}

static void cuda_free_view(gpu_memory view) {
    (void)view;
}

static bool cuda_finish(void) {
    return check(cu.cuStreamSynchronize(cu.stream), "cuStreamSynchronize");
}

static bool cuda_wait_program(void) {
    return check(cu.cuCtxSynchronize(), "cuCtxSynchronize");
}

/* A piece at a time: one piece, or pieces too far apart for a copy of them all. */
static bool is_by_row(const gpu_rect *rect) {
    return rect->rows == 1 || rect->device_pitch > cu.max_pitch || rect->host_pitch > cu.max_pitch;
}

static bool cuda_copy_in(gpu_memory to, const void *from, const gpu_rect *rect) {
    if (is_by_row(rect)) {
        bool ok = true;
        for (size_t i = 0; ok && i < rect->rows; i++) {
            ok = check(cu.cuMemcpyHtoDAsync(to + i * rect->device_pitch,
                                            (const char *)from + i * rect->host_pitch,
                                            rect->row_bytes, cu.stream),
                       "cuMemcpyHtoD");
        }
        return ok;
    }
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = from,
        .srcPitch = rect->host_pitch,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = to,
        .dstPitch = rect->device_pitch,
        .WidthInBytes = rect->row_bytes,
        .Height = rect->rows,
    };
    return check(cu.cuMemcpy2DAsync(&copy, cu.stream), "cuMemcpy2D");
}

static bool cuda_copy_out(void *to, gpu_memory from, const gpu_rect *rect) {
    if (is_by_row(rect)) {
        bool ok = true;
        for (size_t i = 0; ok && i < rect->rows; i++) {
            ok = check(cu.cuMemcpyDtoHAsync((char *)to + i * rect->host_pitch,
                                            from + i * rect->device_pitch, rect->row_bytes,
                                            cu.stream),
                       "cuMemcpyDtoH");
        }
        return ok && cuda_finish();
    }
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = from,
        .srcPitch = rect->device_pitch,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = to,
        .dstPitch = rect->host_pitch,
        .WidthInBytes = rect->row_bytes,
        .Height = rect->rows,
    };
    return check(cu.cuMemcpy2DAsync(&copy, cu.stream), "cuMemcpy2D") && cuda_finish();
}

static bool cuda_copy_device(gpu_memory to, size_t to_offset, gpu_memory from, size_t from_offset,
                             size_t bytes) {
    return check(cu.cuMemcpyDtoDAsync(to + to_offset, from + from_offset, bytes, cu.stream),
                 "cuMemcpyDtoD");
}

/* ---- modules ----------------------------------------------------------------------------------
 */
static const char *cuda_text(const struct ctune_gpu_region *region) {
    return region->cuda;
}

static void *cuda_build(const char *text, unsigned flags) {
    (void)flags; /* all that strict asks for is the default */
    CUmodule module = NULL;
    size_t bytes = 0;
    char *code = ctune_nvrtc_compile(text, cu.cc, &bytes);
    if (code != NULL &&
        !check(cu.cuModuleLoadDataEx(&module, code, 0, NULL, NULL), "cuModuleLoadDataEx")) {
        module = NULL;
    }
    free(code);
    return module;
}

static void cuda_unload(void *module) {
    cu.cuModuleUnload(module);
}

static void *cuda_find_kernel(void *module, const char *name) {
    cuda_kernel *kernel = calloc(1, sizeof *kernel);
    int shared = 0;
    if (kernel == NULL) {
        ctune_gpu_fail("no memory");
        return NULL;
    }
    if (!check(cu.cuModuleGetFunction(&kernel->function, module, name), name) ||
        !check(cu.cuFuncGetAttribute(&shared, CU_FUNC_STATIC_SHARED, kernel->function), name)) {
        free(kernel);
        return NULL;
    }
    kernel->static_shared = (size_t)shared;
    kernel->allowed_shared =
        CUDA_DEFAULT_SHARED -
        (kernel->static_shared < CUDA_DEFAULT_SHARED ? kernel->static_shared : CUDA_DEFAULT_SHARED);
    return kernel;
}

static void cuda_free_kernel(void *kernel) {
    free(kernel);
}

static gpu_result result_of(CUresult status, const char *what) {
    if (check(status, what)) {
        return GPU_DONE;
    }
    return status == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || status == CUDA_ERROR_INVALID_VALUE
               ? GPU_REFUSED
               : GPU_FAILED;
}

static gpu_result start(const cuda_kernel *kernel, const gpu_call *call, void **params) {
    const unsigned *grid = call->grid, *block = call->block;
    for (unsigned i = 0; i < call->n_memories; i++) {
        params[i] = (void *)(uintptr_t)&call->memories[i];
    }
    for (unsigned i = 0; i < call->n_params; i++) {
        params[call->n_memories + i] = (void *)(uintptr_t)call->params[i];
    }
    return result_of(cu.cuLaunchKernel(kernel->function, grid[0], grid[1], grid[2], block[0],
                                       block[1], block[2], (unsigned)call->shared, cu.stream,
                                       params, NULL),
                     "cuLaunchKernel");
}

static gpu_result cuda_launch(void *handle, const gpu_call *call) {
    cuda_kernel *kernel = handle;
    if (call->shared > kernel->allowed_shared) {
        gpu_result result = result_of(
            cu.cuFuncSetAttribute(kernel->function, CU_FUNC_MAX_DYNAMIC_SHARED, (int)call->shared),
            "cuFuncSetAttribute");
        if (result != GPU_DONE) {
            return result;
        }
        kernel->allowed_shared = call->shared;
    }
    void *local[N_LOCAL], **params = local;
    size_t n = (size_t)call->n_memories + call->n_params;
    if (n > N_LOCAL && (params = malloc(n * sizeof *params)) == NULL) {
        ctune_gpu_fail("no memory");
        return GPU_REFUSED;
    }
    gpu_result result = start(kernel, call, params);
    if (params != local) {
        free(params);
    }
    return result;
}

const gpu_driver ctune_gpu_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .view = cuda_view,
    .free_view = cuda_free_view,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .copy_device = cuda_copy_device,
    .finish = cuda_finish,
    .wait_program = cuda_wait_program,
    .text = cuda_text,
    .build = cuda_build,
    .unload = cuda_unload,
    .kernel = cuda_find_kernel,
    .free_kernel = cuda_free_kernel,
    .launch = cuda_launch,
};

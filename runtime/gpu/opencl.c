/*
 * The OpenCL side: gpu_driver on OpenCL 1.2, found by dlopen.
 *
 * In: text and buffers. Out: programs, in one queue that works in order. Devices are taken in the
 * order GPU, accelerator, CPU, the last two only when CTUNE_GPU_API=opencl asks for them. Kernels
 * have no pointers into buffers: a view is a sub-buffer, possible at aligned offsets.
 */
#include "runtime/gpu/gpu_private.h"
#include "runtime/gpu/opencl_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16 };

static struct {
#define POINTER(result, name, parameters) result(*name) parameters;
    OPENCL_FUNCTIONS(POINTER)
#undef POINTER
    void *library;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    char key[512]; /* device and versions */
    bool is_exact; /* the option for exact division may be given */
} cl;

static bool check(cl_int status, const char *what) {
    return status == CL_SUCCESS || ctune_gpu_fail("%s: OpenCL error %d", what, (int)status);
}

/* ---- the device -------------------------------------------------------------------------------
 */
static bool load_library(void) {
    static const char *const names[] = {"libOpenCL.so.1", NULL};
    if (cl.library == NULL) { /* stays loaded: its threads may run */
        cl.library = ctune_gpu_library_open("CTUNE_LIBOPENCL", names);
    }
    if (cl.library == NULL) {
        return false;
    }
#define FIND(result, name, parameters)                                                             \
    *(void **)&cl.name = dlsym(cl.library, #name);                                                 \
    if (cl.name == NULL) {                                                                         \
        return ctune_gpu_fail("libOpenCL lacks " #name);                                           \
    }
    OPENCL_FUNCTIONS(FIND)
#undef FIND
    return true;
}

static uint64_t get_number(cl_device_id device, cl_uint what, size_t bytes) {
    uint64_t value = 0; /* little-endian hosts only: narrower values land at its beginning */
    return cl.clGetDeviceInfo(device, what, bytes, &value, NULL) == CL_SUCCESS ? value : 0;
}

static void get_text(cl_device_id device, cl_uint what, char *out, size_t size) {
    if (cl.clGetDeviceInfo(device, what, size, out, NULL) != CL_SUCCESS) {
        out[0] = '\0';
    }
    out[size - 1] = '\0';
}

static bool is_usable(cl_device_id device) {
    return get_number(device, CL_DEVICE_AVAILABLE, 4) != 0 &&
           get_number(device, CL_DEVICE_COMPILER_AVAILABLE, 4) != 0 &&
           get_number(device, CL_DEVICE_ENDIAN_LITTLE, 4) != 0 &&
           get_number(device, CL_DEVICE_ADDRESS_BITS, 4) == 64;
}

static bool find_device(bool any_device) {
    static const cl_bitfield types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR,
                                        CL_DEVICE_TYPE_CPU};
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    if (cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &n) != CL_SUCCESS || n == 0) {
        return ctune_gpu_fail("no OpenCL platform");
    }
    n = n > MAX_PLATFORMS ? MAX_PLATFORMS : n;
    for (size_t t = 0; t < (any_device ? sizeof types / sizeof *types : 1); t++) {
        for (cl_uint p = 0; p < n; p++) {
            cl_device_id device = NULL;
            cl_uint n_devices = 0;
            if (cl.clGetDeviceIDs(platforms[p], types[t], 1, &device, &n_devices) == CL_SUCCESS &&
                n_devices > 0 && is_usable(device)) {
                cl.device = device;
                return true;
            }
        }
    }
    return ctune_gpu_fail("no OpenCL %s", any_device ? "device" : "GPU");
}

static void describe(gpu_device *out) {
    cl_device_id d = cl.device;
    char driver[96], version[96];
    size_t items[3] = {1, 1, 1};
    get_text(d, CL_DEVICE_NAME, out->name, sizeof out->name);
    get_text(d, CL_DRIVER_VERSION, driver, sizeof driver);
    get_text(d, CL_DEVICE_VERSION, version, sizeof version);
    snprintf(out->version, sizeof out->version, "%s; %s", version, driver);
    uint64_t fp32 = get_number(d, CL_DEVICE_SINGLE_FP_CONFIG, 8);
    cl.is_exact = (fp32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    const char *assumed = secure_getenv("CTUNE_GPU_STRICT"); /* simulators deny what they do */
    out->is_strict = (cl.is_exact && (fp32 & CL_FP_DENORM) != 0) ||
                     (assumed != NULL && strcmp(assumed, "assume") == 0);
    out->has_f64 = get_number(d, CL_DEVICE_DOUBLE_FP_CONFIG, 8) != 0;
    out->alignment = (size_t)get_number(d, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4) / 8;
    out->alignment = out->alignment == 0 ? SIZE_MAX : out->alignment; /* unknown: no views */
    out->max_threads = (unsigned)get_number(d, CL_DEVICE_MAX_WORK_GROUP_SIZE, 8);
    if (cl.clGetDeviceInfo(d, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL) !=
        CL_SUCCESS) {
        items[0] = items[1] = items[2] = 1;
    }
    for (int i = 0; i < 3; i++) {
        out->max_block[i] = items[i] > UINT32_MAX ? UINT32_MAX : (unsigned)items[i];
        out->max_grid[i] = UINT32_MAX;
    }
    out->shared_bytes = (size_t)get_number(d, CL_DEVICE_LOCAL_MEM_SIZE, 8);
    snprintf(cl.key, sizeof cl.key, "%s; %s", out->name, out->version);
}

static void opencl_close(void) {
    if (cl.queue != NULL) {
        cl.clReleaseCommandQueue(cl.queue);
    }
    if (cl.context != NULL) {
        cl.clReleaseContext(cl.context);
    }
    cl.queue = NULL;
    cl.context = NULL;
}

static bool opencl_open(gpu_device *device, bool any_device) {
    cl_int status = CL_SUCCESS;
    if (!load_library() || !find_device(any_device)) {
        return false;
    }
    describe(device);
    cl.context = cl.clCreateContext(NULL, 1, &cl.device, NULL, NULL, &status);
    if (cl.context == NULL || status != CL_SUCCESS) {
        cl.context = NULL;
        return check(status, "clCreateContext") || ctune_gpu_fail("no context");
    }
    cl.queue = cl.clCreateCommandQueue(cl.context, cl.device, 0, &status);
    if (cl.queue == NULL || status != CL_SUCCESS) {
        cl.queue = NULL;
        opencl_close();
        ctune_gpu_fail("clCreateCommandQueue: OpenCL error %d", (int)status);
        return false;
    }
    return true;
}

static bool opencl_enter(void) {
    return true;
}

static void opencl_leave(void) {}

/* ---- buffers ----------------------------------------------------------------------------------
 */
static cl_mem mem_of(gpu_memory memory) {
    return (cl_mem)(uintptr_t)memory;
}

static gpu_memory opencl_alloc(size_t bytes) {
    cl_int status = CL_SUCCESS;
    cl_mem memory = cl.clCreateBuffer(cl.context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    if (memory == NULL || status != CL_SUCCESS) {
        ctune_gpu_fail("no device memory for %zu bytes: OpenCL error %d", bytes, (int)status);
        return 0;
    }
    return (gpu_memory)(uintptr_t)memory;
}

static void opencl_free(gpu_memory memory) {
    cl.clReleaseMemObject(mem_of(memory));
}

static gpu_memory opencl_view(gpu_memory memory, size_t offset, size_t bytes) {
    cl_buffer_region region = {offset, bytes};
    cl_int status = CL_SUCCESS;
    cl_mem view = cl.clCreateSubBuffer(mem_of(memory), CL_MEM_READ_WRITE,
                                       CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (view == NULL || status != CL_SUCCESS) {
        ctune_gpu_fail("clCreateSubBuffer: OpenCL error %d", (int)status);
        return 0;
    }
    return (gpu_memory)(uintptr_t)view;
}

static bool opencl_copy_in(gpu_memory to, const void *from, const gpu_rect *rect) {
    static const size_t origin[3] = {0, 0, 0};
    if (rect->rows == 1) {
        return check(cl.clEnqueueWriteBuffer(cl.queue, mem_of(to), CL_TRUE, 0, rect->row_bytes,
                                             from, 0, NULL, NULL),
                     "clEnqueueWriteBuffer");
    }
    size_t region[3] = {rect->row_bytes, rect->rows, 1};
    return check(cl.clEnqueueWriteBufferRect(cl.queue, mem_of(to), CL_TRUE, origin, origin, region,
                                             rect->device_pitch, 0, rect->host_pitch, 0, from, 0,
                                             NULL, NULL),
                 "clEnqueueWriteBufferRect");
}

static bool opencl_copy_out(void *to, gpu_memory from, const gpu_rect *rect) {
    static const size_t origin[3] = {0, 0, 0};
    if (rect->rows == 1) {
        return check(cl.clEnqueueReadBuffer(cl.queue, mem_of(from), CL_TRUE, 0, rect->row_bytes, to,
                                            0, NULL, NULL),
                     "clEnqueueReadBuffer");
    }
    size_t region[3] = {rect->row_bytes, rect->rows, 1};
    return check(cl.clEnqueueReadBufferRect(cl.queue, mem_of(from), CL_TRUE, origin, origin, region,
                                            rect->device_pitch, 0, rect->host_pitch, 0, to, 0, NULL,
                                            NULL),
                 "clEnqueueReadBufferRect");
}

static bool opencl_copy_device(gpu_memory to, size_t to_offset, gpu_memory from, size_t from_offset,
                               size_t bytes) {
    return check(cl.clEnqueueCopyBuffer(cl.queue, mem_of(from), mem_of(to), from_offset, to_offset,
                                        bytes, 0, NULL, NULL),
                 "clEnqueueCopyBuffer");
}

static bool opencl_finish(void) {
    return check(cl.clFinish(cl.queue), "clFinish");
}

/* ---- programs ---------------------------------------------------------------------------------
 */
static const char *opencl_text(const struct ctune_gpu_region *region) {
    return region->opencl;
}

static bool build_program(cl_program program, const char *options) {
    cl_int status = cl.clBuildProgram(program, 1, &cl.device, options, NULL, NULL);
    if (status == CL_SUCCESS) {
        return true;
    }
    char log[600] = "", *whole = NULL;
    size_t n = 0;
    if (cl.clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) ==
            CL_SUCCESS &&
        n > 0 && (whole = malloc(n + 1)) != NULL &&
        cl.clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, n, whole, NULL) ==
            CL_SUCCESS) {
        whole[n] = '\0';
        strncpy(log, whole, sizeof log - 1);
    }
    free(whole);
    return ctune_gpu_fail("the kernels do not compile: OpenCL error %d %s", (int)status, log);
}

static cl_program program_from_cache(const char *key, size_t key_bytes, const char *options) {
    size_t bytes = 0;
    unsigned char *binary = ctune_gpu_cache_read(key, key_bytes, &bytes);
    if (binary == NULL) {
        return NULL;
    }
    cl_int status = CL_SUCCESS, binary_status = CL_SUCCESS;
    const unsigned char *binaries[] = {binary};
    cl_program program = cl.clCreateProgramWithBinary(cl.context, 1, &cl.device, &bytes, binaries,
                                                      &binary_status, &status);
    free(binary);
    if (program != NULL &&
        (status != CL_SUCCESS || binary_status != CL_SUCCESS || !build_program(program, options))) {
        cl.clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

static void program_to_cache(cl_program program, const char *key, size_t key_bytes) {
    size_t bytes = 0;
    if (cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) !=
            CL_SUCCESS ||
        bytes == 0) {
        return;
    }
    unsigned char *binary = malloc(bytes);
    if (binary != NULL && cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary,
                                              NULL) == CL_SUCCESS) {
        ctune_gpu_cache_write(key, key_bytes, binary, bytes);
    }
    free(binary);
}

static cl_program compile(const char *text, const char *options) {
    cl_int status = CL_SUCCESS;
    cl_program program = cl.clCreateProgramWithSource(cl.context, 1, &text, NULL, &status);
    if (program == NULL || status != CL_SUCCESS) {
        ctune_gpu_fail("clCreateProgramWithSource: OpenCL error %d", (int)status);
        return NULL;
    }
    if (!build_program(program, options)) {
        cl.clReleaseProgram(program);
        return NULL;
    }
    return program;
}

static void *opencl_build(const char *text, unsigned flags) {
    (void)flags; /* exact division costs little and is what a C compiler gives */
    const char *options =
        cl.is_exact ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
    const char *const parts[] = {"opencl", cl.key, options, text};
    size_t key_bytes = 0;
    char *key = ctune_gpu_cache_key(parts, sizeof parts / sizeof *parts, &key_bytes);
    if (key == NULL) {
        ctune_gpu_fail("no memory");
        return NULL;
    }
    cl_program program = program_from_cache(key, key_bytes, options);
    if (program == NULL) {
        program = compile(text, options);
        if (program != NULL) {
            program_to_cache(program, key, key_bytes);
        }
    }
    free(key);
    return program;
}

static void opencl_unload(void *module) {
    cl.clReleaseProgram(module);
}

static void *opencl_kernel(void *module, const char *name) {
    cl_int status = CL_SUCCESS;
    cl_kernel kernel = cl.clCreateKernel(module, name, &status);
    if (kernel == NULL || status != CL_SUCCESS) {
        ctune_gpu_fail("clCreateKernel(%s): OpenCL error %d", name, (int)status);
        return NULL;
    }
    return kernel;
}

static void opencl_free_kernel(void *kernel) {
    cl.clReleaseKernel(kernel);
}

static bool set_arguments(cl_kernel kernel, const gpu_call *call) {
    for (unsigned i = 0; i < call->n_memories; i++) {
        cl_mem memory = mem_of(call->memories[i]);
        if (!check(cl.clSetKernelArg(kernel, i, sizeof memory, &memory), "clSetKernelArg")) {
            return false;
        }
    }
    for (unsigned i = 0; i < call->n_params; i++) {
        if (!check(cl.clSetKernelArg(kernel, call->n_memories + i, call->sizes[i], call->params[i]),
                   "clSetKernelArg")) {
            return false;
        }
    }
    return true;
}

static gpu_result opencl_launch(void *kernel, const gpu_call *call) {
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = call->block[i];
        global[i] = (size_t)call->grid[i] * call->block[i];
    }
    if (!set_arguments(kernel, call)) {
        return GPU_REFUSED;
    }
    cl_int status =
        cl.clEnqueueNDRangeKernel(cl.queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
    if (check(status, "clEnqueueNDRangeKernel")) {
        return GPU_DONE;
    }
    return status == CL_OUT_OF_RESOURCES || status == CL_INVALID_WORK_GROUP_SIZE ||
                   status == CL_INVALID_WORK_ITEM_SIZE || status == CL_INVALID_KERNEL_ARGS
               ? GPU_REFUSED
               : GPU_FAILED;
}

const gpu_driver ctune_gpu_opencl = {
    .name = "opencl",
    .open = opencl_open,
    .close = opencl_close,
    .enter = opencl_enter,
    .leave = opencl_leave,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .view = opencl_view,
    .free_view = opencl_free,
    .copy_in = opencl_copy_in,
    .copy_out = opencl_copy_out,
    .copy_device = opencl_copy_device,
    .finish = opencl_finish,
    .text = opencl_text,
    .build = opencl_build,
    .unload = opencl_unload,
    .kernel = opencl_kernel,
    .free_kernel = opencl_free_kernel,
    .launch = opencl_launch,
};

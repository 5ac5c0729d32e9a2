/*
 * A libOpenCL.so.1 with one device. Memory is an address as in fake.h; a sub-buffer begins at a
 * multiple of 128 bytes and is alive beside its buffer.
 */
#include "fake.h"
#include "runtime/gpu/opencl_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = -36, MAX_ARGS = 32, ALIGNMENT = 128, ARG_BYTES = 16 };

struct _cl_mem {
    uint64_t at; /* what the kernel sees */
    bool is_view;
};
struct _cl_program {
    char *text;
};
struct _cl_kernel {
    fake_kernel *kernel;
    _Alignas(16) char args[MAX_ARGS][ARG_BYTES];
};
struct _cl_platform_id {
    int unused;
};
struct _cl_device_id {
    int unused;
};

static cl_mem memories[256]; /* that are alive */
static struct _cl_platform_id the_platform;
static struct _cl_device_id the_device;

#define STEP()                                                                                     \
    if (!fake_step(__func__)) {                                                                    \
        return FAILED;                                                                             \
    }
#define STEP_OBJECT()                                                                              \
    if (!fake_step(__func__)) {                                                                    \
        *status = FAILED;                                                                          \
        return NULL;                                                                               \
    }                                                                                              \
    *status = CL_SUCCESS;

static void *make(size_t bytes) {
    fake.n_live++;
    return calloc(1, bytes);
}

static void unmake(void *object) {
    fake.n_live--;
    free(object);
}

cl_int clGetPlatformIDs(cl_uint size, cl_platform_id *platforms, cl_uint *n) {
    (void)size;
    STEP()
    platforms[0] = &the_platform;
    *n = 1;
    return 0;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_uint what, size_t size, void *value,
                         size_t *bytes) {
    (void)platform, (void)what, (void)size, (void)value, (void)bytes;
    STEP()
    return FAILED;
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_bitfield type, cl_uint size, cl_device_id *out,
                      cl_uint *n) {
    (void)platform, (void)size;
    STEP()
    bool is_there =
        fake.n_devices > 0 && type == (fake.is_gpu ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU);
    *n = is_there;
    out[0] = &the_device;
    return is_there ? 0 : -1;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_uint what, size_t size, void *value, size_t *bytes) {
    (void)device, (void)bytes;
    STEP()
    uint64_t number = 1;
    switch (what) {
    case CL_DEVICE_NAME:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_VERSION:
        snprintf(value, size, "Fake");
        return 0;
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        memcpy(value, (size_t[3]){1024, 1024, 64}, size);
        return 0;
    case CL_DEVICE_ADDRESS_BITS:
        number = 64;
        break;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        number = 1024;
        break;
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        number = ALIGNMENT * 8;
        break;
    case CL_DEVICE_SINGLE_FP_CONFIG:
        number = 0xff;
        break;
    case CL_DEVICE_LOCAL_MEM_SIZE:
        number = 64 * 1024;
        break;
    default:
        break;
    }
    memcpy(value, &number, size);
    return 0;
}

cl_context clCreateContext(const intptr_t *properties, cl_uint n, const cl_device_id *devices,
                           void (*call)(const char *, const void *, size_t, void *), void *data,
                           cl_int *status) {
    (void)properties, (void)n, (void)devices, (void)call, (void)data;
    STEP_OBJECT()
    return make(1);
}

cl_int clReleaseContext(cl_context context) {
    unmake(context);
    STEP()
    return 0;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_bitfield properties, cl_int *status) {
    (void)context, (void)device, (void)properties;
    STEP_OBJECT()
    return make(1);
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
    unmake(queue);
    STEP()
    return 0;
}

/* ---- memory -----------------------------------------------------------------------------------
 */
static cl_mem *find_memory(const void *memory) {
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        if (memories[i] == memory) {
            return &memories[i];
        }
    }
    return NULL;
}

static cl_mem make_memory(uint64_t at, bool is_view) {
    cl_mem memory = make(sizeof *memory);
    *memory = (struct _cl_mem){at, is_view};
    *find_memory(NULL) = memory;
    return memory;
}

cl_mem clCreateBuffer(cl_context context, cl_bitfield flags, size_t bytes, void *host,
                      cl_int *status) {
    (void)context, (void)flags, (void)host;
    STEP_OBJECT()
    return make_memory(fake_alloc(bytes), false);
}

cl_mem clCreateSubBuffer(cl_mem buffer, cl_bitfield flags, cl_uint type, const void *info,
                         cl_int *status) {
    (void)flags, (void)type;
    STEP_OBJECT()
    const cl_buffer_region *region = info;
    if (region->origin % ALIGNMENT != 0 || buffer->is_view ||
        fake_pointer(buffer->at + region->origin, region->size) == NULL) {
        fake_misuse(__func__);
    }
    return make_memory(buffer->at + region->origin, true);
}

cl_int clReleaseMemObject(cl_mem memory) {
    *find_memory(memory) = NULL;
    if (!memory->is_view) {
        fake_free(memory->at);
    }
    unmake(memory);
    STEP()
    return 0;
}

/* A failing one has copied half. */
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits, size_t offset,
                           size_t bytes, void *to, cl_uint n, const cl_event *list,
                           cl_event *event) {
    (void)queue, (void)waits, (void)n, (void)list, (void)event;
    if (!fake_step(__func__)) {
        memset(to, 0x77, bytes / 2);
        return FAILED;
    }
    void *from = fake_pointer(memory->at + offset, bytes);
    if (from != NULL) {
        memcpy(to, from, bytes);
    }
    return 0;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits, size_t offset,
                            size_t bytes, const void *from, cl_uint n, const cl_event *list,
                            cl_event *event) {
    (void)queue, (void)waits, (void)n, (void)list, (void)event;
    STEP()
    void *to = fake_pointer(memory->at + offset, bytes);
    if (to != NULL) {
        memcpy(to, from, bytes);
    }
    return 0;
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem memory, cl_bool waits,
                               const size_t *device_origin, const size_t *host_origin,
                               const size_t *region, size_t device_pitch, size_t device_slice,
                               size_t host_pitch, size_t host_slice, void *to, cl_uint n,
                               const cl_event *list, cl_event *event) {
    (void)queue, (void)waits, (void)n, (void)list, (void)event, (void)device_origin;
    (void)host_origin, (void)device_slice, (void)host_slice;
    STEP()
    for (size_t i = 0; i < region[1]; i++) {
        void *from = fake_pointer(memory->at + i * device_pitch, region[0]);
        if (from != NULL) {
            memcpy((char *)to + i * host_pitch, from, region[0]);
        }
    }
    return 0;
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem memory, cl_bool waits,
                                const size_t *device_origin, const size_t *host_origin,
                                const size_t *region, size_t device_pitch, size_t device_slice,
                                size_t host_pitch, size_t host_slice, const void *from, cl_uint n,
                                const cl_event *list, cl_event *event) {
    (void)queue, (void)waits, (void)n, (void)list, (void)event, (void)device_origin;
    (void)host_origin, (void)device_slice, (void)host_slice;
    STEP()
    for (size_t i = 0; i < region[1]; i++) {
        void *to = fake_pointer(memory->at + i * device_pitch, region[0]);
        if (to != NULL) {
            memcpy(to, (const char *)from + i * host_pitch, region[0]);
        }
    }
    return 0;
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t bytes, cl_uint n, const cl_event *list,
                           cl_event *event) {
    (void)queue, (void)n, (void)list, (void)event;
    STEP()
    void *source = fake_pointer(from->at + from_offset, bytes);
    void *target = fake_pointer(to->at + to_offset, bytes);
    if (source != NULL && target != NULL) {
        memcpy(target, source, bytes);
    }
    return 0;
}

/* ---- programs ---------------------------------------------------------------------------------
 */
cl_program clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts,
                                     const size_t *lengths, cl_int *status) {
    (void)context, (void)n, (void)lengths;
    STEP_OBJECT()
    cl_program program = make(sizeof *program);
    program->text = strdup(texts[0]);
    return program;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint n, const cl_device_id *devices,
                                     const size_t *lengths, const unsigned char **binaries,
                                     cl_int *each, cl_int *status) {
    (void)context, (void)n, (void)devices;
    STEP_OBJECT()
    cl_program program = make(sizeof *program);
    program->text = strndup((const char *)binaries[0], lengths[0]);
    *each = 0;
    return program;
}

cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                      const char *options, void (*call)(cl_program, void *), void *data) {
    (void)n, (void)devices, (void)options, (void)call, (void)data;
    STEP()
    return strstr(program->text, "#error") != NULL ? -11 : 0;
}

cl_int clGetProgramInfo(cl_program program, cl_uint what, size_t size, void *value, size_t *bytes) {
    (void)size, (void)bytes;
    STEP()
    size_t n = strlen(program->text);
    if (what == CL_PROGRAM_BINARY_SIZES) {
        memcpy(value, &n, sizeof n);
    } else {
        memcpy(*(void **)value, program->text, n);
    }
    return 0;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_uint what, size_t size,
                             void *value, size_t *bytes) {
    (void)program, (void)device, (void)what;
    STEP()
    if (bytes != NULL) {
        *bytes = sizeof "the log";
    }
    if (value != NULL) {
        memcpy(value, "the log", size);
    }
    return 0;
}

cl_int clReleaseProgram(cl_program program) {
    free(program->text);
    unmake(program);
    STEP()
    return 0;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *status) {
    STEP_OBJECT()
    fake_kernel *found = strstr(program->text, name) != NULL ? fake_kernel_find(name) : NULL;
    if (found == NULL) {
        *status = -46;
        return NULL;
    }
    cl_kernel kernel = make(sizeof *kernel);
    kernel->kernel = found;
    return kernel;
}

cl_int clReleaseKernel(cl_kernel kernel) {
    unmake(kernel);
    STEP()
    return 0;
}

/* Memory becomes the address that the kernel sees. */
cl_int clSetKernelArg(cl_kernel kernel, cl_uint i, size_t bytes, const void *value) {
    STEP()
    memcpy(kernel->args[i], value, bytes);
    void *object = NULL;
    if (bytes == sizeof object) {
        memcpy(&object, value, bytes);
        cl_mem *memory = object != NULL ? find_memory(object) : NULL;
        if (memory != NULL) {
            memcpy(kernel->args[i], &(*memory)->at, sizeof(*memory)->at);
        }
    }
    return 0;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint n_axes,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint n, const cl_event *list, cl_event *event) {
    (void)queue, (void)n_axes, (void)offset, (void)n, (void)list, (void)event;
    STEP()
    unsigned grid[3], block[3];
    void *args[MAX_ARGS];
    for (int i = 0; i < 3; i++) {
        grid[i] = (unsigned)(global[i] / local[i]);
        block[i] = (unsigned)local[i];
    }
    for (int i = 0; i < MAX_ARGS; i++) {
        args[i] = kernel->args[i];
    }
    kernel->kernel(args, grid, block);
    return 0;
}

cl_int clFinish(cl_command_queue queue) {
    (void)queue;
    STEP()
    return 0;
}

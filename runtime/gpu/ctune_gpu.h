/*
 * GPU regions: what a program with nests of target(cuda) or target(opencl) links (libctune-gpu.a;
 * C11 and libc, nothing else of ctune; CUDA, NVRTC and OpenCL are looked for at run time).
 *
 * An emitted nest becomes
 *
 *     struct ctune_gpu *run = ctune_gpu_begin ? ctune_gpu_begin(&region, arrays, 2) : 0;
 *     int done = 0;
 *     if (run) {
 *         ctune_gpu_launch(run, "kernel", grid, block, 0, params, sizes, n_params);
 *         done = ctune_gpu_end(run);
 *     }
 *     if (!done) { ... the CPU code ... }
 *
 * - Emitted code carries a copy of the declarations between the two marks, weak: a program that is
 *   linked without the library runs the CPU code. Weak references take nothing out of an archive:
 *   link with `-Wl,-u,ctune_gpu_begin -lctune-gpu` (ctune::gpu and pkg-config say so themselves).
 * - Data: a kernel gets one device pointer an array, to the mirror of `base`, aligned to 16 bytes
 *   at least; then the params. A WRITE array without READ is undefined on the device before the
 *   kernel writes it: all of what is copied back must be written, else it has READ as well.
 * - Failure: host memory is written only after all launches of a run succeeded, so that the CPU
 *   code finds what it would have found. After a failure of the device the library switches itself
 *   off for the process. A region that the device cannot run is refused alone.
 * - Threads: any number; one run belongs to one thread. A forked child runs the CPU code.
 * - Environment: CTUNE_GPU=off|require|check, CTUNE_GPU_API=cuda|opencl, CTUNE_GPU_LOG,
 *   CTUNE_GPU_CACHE, CTUNE_GPU_STRICT, CTUNE_NVRTC, CTUNE_LIBCUDA, CTUNE_LIBOPENCL (docs/
 *   gpu-runtime.md).
 */
#ifdef __cplusplus
extern "C" {
#endif
/* declarations begin */
#ifndef CTUNE_GPU_H
#define CTUNE_GPU_H
#include <stddef.h>
#define CTUNE_GPU_READ 1u   /* the host's bytes are copied in */
#define CTUNE_GPU_WRITE 2u  /* copied out after success */
#define CTUNE_GPU_DEVICE 4u /* base is a pointer of the device already */
#define CTUNE_GPU_STRICT 1u /* the region needs IEEE division, square root and subnormals */
#define CTUNE_GPU_F64 2u    /* the region uses double */
struct ctune_gpu_array {
    void *base;                    /* lowest byte that the region touches */
    size_t bytes;                  /* of [base, base + bytes), which the device buffer mirrors */
    size_t rows, row_bytes, pitch; /* what is copied: rows pieces of row_bytes, pitch bytes apart;
                                      rows = 1: all bytes */
    unsigned flags;
};
struct ctune_gpu_region {
    const char *name;          /* for messages */
    const char *cuda, *opencl; /* text of the kernels; 0: not for this interface */
    unsigned flags;
};
struct ctune_gpu;
/* 0: run the CPU code. */
extern struct ctune_gpu *ctune_gpu_begin(const struct ctune_gpu_region *region,
                                         const struct ctune_gpu_array *arrays, unsigned n);
/* 0: failed, or an earlier launch of this run did. shared: bytes of dynamic shared memory (CUDA;
 * OpenCL kernels declare theirs). params[i] points to sizes[i] bytes. */
extern int ctune_gpu_launch(struct ctune_gpu *run, const char *kernel, const unsigned grid[3],
                            const unsigned block[3], size_t shared, const void *const *params,
                            const size_t *sizes, unsigned n);
/* 1: the outputs are written back. 0: nothing was; run the CPU code. Ends the run either way. */
extern int ctune_gpu_end(struct ctune_gpu *run);
#endif
/* declarations end */

/* ---- for programs ---------------------------------------------------------------------------- */
#ifndef CTUNE_GPU_PROGRAM_H
#define CTUNE_GPU_PROGRAM_H
/*
 * Keep [ptr, ptr + bytes) resident: from now on regions use one copy on the device, and results
 * stay there. Before the program itself reads or writes the array it calls ctune_gpu_sync; from
 * then until the next region the array is the host's. Nothing is copied before a region needs it.
 * 1: will be, where there is a device. 0: not (CTUNE_GPU=off, device failed, overlaps another kept
 * array): all works as without.
 */
extern int ctune_gpu_keep(void *ptr, size_t bytes);
/* Make the host's copy of the kept array that holds ptr current; the host may then read and write
 * it. 1: it is (also when nothing is kept there). 0: it is lost with the device. */
extern int ctune_gpu_sync(void *ptr);
/* The same, and end the keeping. Before the array is freed or goes out of scope. */
extern int ctune_gpu_drop(void *ptr);
/*
 * What to do when going on would compute wrong results: a kept array was lost with the device,
 * CTUNE_GPU=require cannot be obeyed, CTUNE_GPU=check found a misuse. The default prints the
 * message and aborts. A handler that returns makes the program go on with what the host has.
 */
extern void ctune_gpu_on_error(void (*handler)(const char *message));
/*
 * Does the device pay? Times in ns; bytes that are copied in and out. 1 when launch + copies +
 * kernel_ns < 0.8 cpu_ns at the copy rates of this device (measured once, at the first call).
 */
extern int ctune_gpu_pays(double cpu_ns, double kernel_ns, size_t bytes_in, size_t bytes_out);
/* "cuda: NVIDIA H200", "opencl: pthread-..."; or "" with the reason in why (may be 0). */
extern const char *ctune_gpu_device_name(char *why, size_t size);
#endif
#ifdef __cplusplus
}
#endif

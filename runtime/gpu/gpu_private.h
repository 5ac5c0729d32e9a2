/*
 * Private to runtime/gpu: the two interfaces (OpenCL, CUDA) behind one table, the state of the
 * process, device buffers, kept arrays and modules.
 *
 * One lock guards everything here: public functions take it with ctune_gpu_enter and leave by
 * ctune_gpu_leave, which also delivers the error that the caller must hear of. All other functions
 * run under it. Their names begin with ctune_ because the archive shares the name space of the
 * user's program. Failing functions return false and leave the reason in ctune_gpu_why().
 */
#ifndef CTUNE_RUNTIME_GPU_PRIVATE_H
#define CTUNE_RUNTIME_GPU_PRIVATE_H

#include "runtime/gpu/ctune_gpu.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t gpu_memory; /* CUdeviceptr or cl_mem; 0: none */

/* What the chosen device can do. */
typedef struct gpu_device {
    char name[128];
    char version[256]; /* all that compiled code depends on: part of the cache's key */
    bool has_f64;
    bool is_strict;        /* IEEE division, square root, subnormals in f32 */
    size_t alignment;      /* that an offset into a buffer needs to be a pointer of its own */
    unsigned max_threads;  /* of a block */
    unsigned max_block[3]; /* threads along each axis */
    uint64_t max_grid[3];  /* blocks along each axis */
    size_t shared_bytes;   /* of a block, dynamic included */
} gpu_device;

/* A rectangle of bytes: rows pieces of row_bytes; rows = 1 is plain. */
typedef struct gpu_rect {
    size_t rows, row_bytes;
    size_t device_pitch, host_pitch;
} gpu_rect;

/* One launch; args[i] points to arg_bytes[i] bytes, memories first. */
typedef struct gpu_call {
    const unsigned *grid, *block;
    size_t shared;
    const gpu_memory *memories;
    unsigned n_memories;
    const void *const *params;
    const size_t *sizes;
    unsigned n_params;
} gpu_call;

/* GPU_REFUSED: this launch cannot be, the device is well. */
typedef enum gpu_result { GPU_DONE, GPU_REFUSED, GPU_FAILED } gpu_result;

/*
 * One interface. open is called once in a process, may fail, and leaves nothing behind then.
 * Operations are in order, in one queue; copy_out returns when the bytes are
 * there; what copy_in reads must stay until finish.
 */
typedef struct gpu_driver {
    const char *name; /* as in CTUNE_GPU_API */
    bool (*open)(gpu_device *device, bool any_device);
    void (*close)(void); /* tests only: a process keeps what it opened */
    bool (*enter)(void); /* around operations, in the calling thread */
    void (*leave)(void);
    gpu_memory (*alloc)(size_t bytes);
    void (*free)(gpu_memory memory);
    /* A pointer into memory at an offset; 0: not possible there. Released by free_view. */
    gpu_memory (*view)(gpu_memory memory, size_t offset, size_t bytes);
    void (*free_view)(gpu_memory view);
    bool (*copy_in)(gpu_memory to, const void *from, const gpu_rect *rect);
    bool (*copy_out)(void *to, gpu_memory from, const gpu_rect *rect);
    bool (*copy_device)(gpu_memory to, size_t to_offset, gpu_memory from, size_t from_offset,
                        size_t bytes);
    bool (*finish)(void);       /* everything so far; errors of kernels appear here */
    bool (*wait_program)(void); /* for the program's own work on its device arrays; 0: none */
    const char *(*text)(const struct ctune_gpu_region *region); /* its kernels, or 0 */
    /* Text to a loaded module. */
    void *(*build)(const char *text, unsigned flags);
    void (*unload)(void *module);
    void *(*kernel)(void *module, const char *name);
    void (*free_kernel)(void *kernel); /* also when the context cannot be entered */
    gpu_result (*launch)(void *kernel, const gpu_call *call);
} gpu_driver;

extern const gpu_driver ctune_gpu_opencl, ctune_gpu_cuda;

/* ---- state of the process: gpu_state.c --------------------------------------------------------
 */
typedef enum gpu_mode { GPU_AUTO, GPU_OFF, GPU_REQUIRE, GPU_CHECK } gpu_mode;

void ctune_gpu_enter(void);
void ctune_gpu_leave(void);
gpu_mode ctune_gpu_mode_get(void);
/* The driver with an open device, its context entered until ctune_gpu_leave; NULL: none, or
 * switched off. */
const gpu_driver *ctune_gpu_driver_get(void);
/* The same for a region: if no device is open yet, one that has text of its kernels. */
const gpu_driver *ctune_gpu_driver_for(const struct ctune_gpu_region *region);
/* The same for giving things back, which is possible after a failure too. */
const gpu_driver *ctune_gpu_releaser_get(void);
const gpu_device *ctune_gpu_device_get(void);
/* Open runs: after a failure the device is released when the last one ends. */
void ctune_gpu_runs_add(int change);
/* CTUNE_GPU=off, a device that failed, or a forked child: no device from now on. */
bool ctune_gpu_is_off(void);
/* The device failed (reason in ctune_gpu_why): never again in this process. */
void ctune_gpu_switch_off(const char *what);
/* Reason of the last failure. */
const char *ctune_gpu_why(void);
__attribute__((format(printf, 1, 2))) bool ctune_gpu_fail(const char *format, ...); /* false */
__attribute__((format(printf, 1, 2))) void ctune_gpu_log(const char *format, ...);
/* Is there a log? What only it needs is not done without. */
bool ctune_gpu_has_log(void);
/* To be told to the program's handler when the lock is left; the first one counts. */
__attribute__((format(printf, 1, 2))) void ctune_gpu_error(const char *format, ...);
/* Forget everything and read the environment again: tests. */
void ctune_gpu_reset(void);
/* A library's handle: $variable, else the first of the names that is there. NULL: ctune_gpu_why. */
void *ctune_gpu_library_open(const char *variable, const char *const *names);

/* ---- buffers: gpu_pool.c ----------------------------------------------------------------------
 */
/* At least that many bytes, perhaps of a buffer that was free. 0: ctune_gpu_why. */
gpu_memory ctune_gpu_pool_get(size_t bytes);
void ctune_gpu_pool_put(gpu_memory memory);
/* Free all that is not in use. */
void ctune_gpu_pool_clear(void);
/* Host memory for results until all are there; valid until the next call. NULL: no memory. */
void *ctune_gpu_stage_get(size_t bytes);
/* Give it up if it is large. */
void ctune_gpu_stage_trim(void);
void ctune_gpu_stage_clear(void);

/* Of the monotonic clock. */
double ctune_gpu_now_ns(void);
/* Forget the measured copy rates: gpu_pays.c. */
void ctune_gpu_pays_reset(void);

/* ---- kept arrays: gpu_kept.c ------------------------------------------------------------------
 */
typedef enum gpu_side {
    GPU_HOST,   /* the host's copy counts; the host may write it */
    GPU_BOTH,   /* equal; the host may read */
    GPU_DEVICE, /* the device's copy counts */
    GPU_LOST,   /* was GPU_DEVICE when the device was lost */
} gpu_side;

typedef struct gpu_kept {
    struct gpu_kept *next;
    char *base;
    size_t bytes;
    gpu_memory memory; /* 0: not yet */
    gpu_side side;
    unsigned users;   /* open runs */
    unsigned writers; /* of those, with launches that may have written it */
    bool is_dropped;  /* out of the list; freed with its last user */
    uint64_t hash;    /* CTUNE_GPU=check, GPU_BOTH: of the bytes */
} gpu_kept;

/* The kept array that holds all of the range, or NULL. */
gpu_kept *ctune_gpu_kept_find(const void *base, size_t bytes);
/* Make the device's copy ready for a region; is_overwritten: nothing of it is read. */
bool ctune_gpu_kept_take(gpu_kept *kept, bool is_overwritten);
void ctune_gpu_kept_release(gpu_kept *kept);
/* A run wrote it successfully. */
void ctune_gpu_kept_written(gpu_kept *kept);
/* A run that may have written it failed: `before` is the side before the run. */
void ctune_gpu_kept_spoilt(gpu_kept *kept, gpu_side before);
/* The CPU code will read (and write) the range: its kept arrays come back to the host. */
void ctune_gpu_kept_settle(const void *base, size_t bytes, bool is_written);
/* The device is lost or about to be given up: fetch what can be fetched. */
void ctune_gpu_kept_abandon(bool can_copy);
/* Give its buffers back; the arrays stay known. */
void ctune_gpu_kept_forget_memory(void);
void ctune_gpu_kept_reset(void);

/* ---- modules: gpu_module.c --------------------------------------------------------------------
 */
typedef struct gpu_module gpu_module;

/* The region's kernels, compiled once in a process. NULL: refused, reason in ctune_gpu_why. */
gpu_module *ctune_gpu_module_get(const struct ctune_gpu_region *region);
/* NULL: ctune_gpu_why. */
void *ctune_gpu_module_kernel(gpu_module *module, const char *name);
/* It cannot run here (ctune_gpu_why): later calls are refused before anything is copied. */
void ctune_gpu_module_refuse(gpu_module *module, const struct ctune_gpu_region *region);
/* A run of it took so long on the device; to the log after 1, 2, 4, 8, ... runs. */
void ctune_gpu_module_time(gpu_module *module, const char *name, double ns);
void ctune_gpu_module_reset(void);

/* ---- the cache on disk: gpu_cache.c -----------------------------------------------------------
 */
/* malloced contents for exactly this key, or NULL. */
void *ctune_gpu_cache_read(const char *key, size_t key_bytes, size_t *bytes);
/* Best effort. */
void ctune_gpu_cache_write(const char *key, size_t key_bytes, const void *data, size_t bytes);
/* Above the limit the files that were used longest ago go, down to half of it. */
void ctune_gpu_cache_prune(int64_t limit_bytes);
/* malloced "part\0part\0..."; NULL: no memory. */
char *ctune_gpu_cache_key(const char *const *parts, unsigned n, size_t *bytes);
uint64_t ctune_gpu_hash(const void *data, size_t bytes);

#endif

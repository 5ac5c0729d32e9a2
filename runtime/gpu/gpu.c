/*
 * A run of a region: begin, launch, end.
 *
 * In: the region's arrays as ranges of host memory. Out: the kernels' results there, or nothing
 * changed and the kept arrays that the CPU code needs back on the host. begin compiles and copies
 * in; launches are queued; end waits, fetches all results and only then writes what the CPU code
 * would have read. Results that it only overwrites go to their place at once: should a later copy
 * fail, it writes them again.
 */
#include "runtime/gpu/gpu_private.h"

#include <stdlib.h>
#include <string.h>

enum { N_LOCAL = 24 };

typedef struct run_array {
    struct ctune_gpu_array array;
    gpu_kept *kept;    /* NULL: a buffer of the run */
    gpu_side before;   /* of the kept array */
    size_t offset;     /* in the kept array */
    gpu_memory memory; /* what kernels get */
    bool is_pool;      /* memory is a buffer of the run, a copy of the kept part if kept != NULL */
    bool is_view;      /* memory is to be released by free_view */
} run_array;

struct ctune_gpu {
    const struct ctune_gpu_region *region;
    gpu_module *module;
    bool is_failed, is_launched;
    double start_ns; /* of the first launch, when there is a log */
    unsigned n;
    gpu_memory *memories; /* of the arrays, in order */
    run_array arrays[];
};

/* ---- arrays -----------------------------------------------------------------------------------
 */
static bool is_piecewise(const struct ctune_gpu_array *a) {
    return a->rows > 1 && a->row_bytes < a->pitch;
}

/* Bytes that are copied out. */
static size_t used_bytes(const struct ctune_gpu_array *a) {
    return is_piecewise(a) ? a->rows * a->row_bytes : a->bytes;
}

static bool check_array(const struct ctune_gpu_array *a) {
    if (a->bytes > SIZE_MAX / 4 || (a->base == NULL && a->bytes > 0)) {
        return ctune_gpu_fail("a range of %zu bytes at %p", a->bytes, a->base);
    }
    if (is_piecewise(a) && ((a->rows - 1) > a->bytes / a->pitch ||
                            (a->rows - 1) * a->pitch + a->row_bytes > a->bytes)) {
        return ctune_gpu_fail("%zu rows of %zu bytes, %zu apart, exceed %zu bytes", a->rows,
                              a->row_bytes, a->pitch, a->bytes);
    }
    return true;
}

/* Pieces of the same pitch that lie beside each other. */
static bool are_interleaved(const struct ctune_gpu_array *a, const struct ctune_gpu_array *b) {
    if (!is_piecewise(a) || !is_piecewise(b) || a->pitch != b->pitch) {
        return false;
    }
    bool a_first = (uintptr_t)a->base <= (uintptr_t)b->base;
    const struct ctune_gpu_array *low = a_first ? a : b, *high = a_first ? b : a;
    size_t shift = ((uintptr_t)high->base - (uintptr_t)low->base) % low->pitch;
    return shift >= low->row_bytes && shift + high->row_bytes <= low->pitch;
}

/* Two mirrors of the same bytes would not see each other's writes. */
static bool check_overlap(const struct ctune_gpu_array *a, const struct ctune_gpu_array *b) {
    uintptr_t at_a = (uintptr_t)a->base, at_b = (uintptr_t)b->base;
    if (((a->flags | b->flags) & CTUNE_GPU_WRITE) == 0 ||
        ((a->flags | b->flags) & CTUNE_GPU_DEVICE) != 0 || at_a + a->bytes <= at_b ||
        at_b + b->bytes <= at_a || are_interleaved(a, b)) {
        return true;
    }
    return ctune_gpu_fail("arrays overlap");
}

static bool check_arrays(const struct ctune_gpu_array *arrays, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (!check_array(&arrays[i])) {
            return false;
        }
        for (unsigned j = 0; j < i; j++) {
            if (!check_overlap(&arrays[i], &arrays[j])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- copies -----------------------------------------------------------------------------------
 */
/* Short pieces cost more each than the bytes between them. */
static bool is_whole_cheaper(const struct ctune_gpu_array *a) {
    size_t used = used_bytes(a);
    return used >= a->bytes / 2 || (a->row_bytes < 256 && used >= a->bytes / 16);
}

static gpu_rect rect_of(const struct ctune_gpu_array *a, bool is_whole) {
    if (is_whole) {
        return (gpu_rect){1, a->bytes, a->bytes, a->bytes};
    }
    return (gpu_rect){a->rows, a->row_bytes, a->pitch, a->pitch};
}

static bool copy_in(const run_array *r) {
    const struct ctune_gpu_array *a = &r->array;
    gpu_rect rect = rect_of(a, !is_piecewise(a) || is_whole_cheaper(a));
    return a->bytes == 0 || ctune_gpu_driver_get()->copy_in(r->memory, a->base, &rect);
}

/* Is the host's copy needed until all results are there? */
static bool is_staged(const struct ctune_gpu_array *a) {
    return (a->flags & CTUNE_GPU_READ) != 0 || (is_piecewise(a) && is_whole_cheaper(a));
}

static bool has_result(const run_array *r) {
    return (r->array.flags & CTUNE_GPU_WRITE) != 0 && (r->array.flags & CTUNE_GPU_DEVICE) == 0 &&
           r->kept == NULL && r->array.bytes > 0;
}

static size_t stage_bytes(const struct ctune_gpu_array *a) {
    size_t bytes = is_piecewise(a) && !is_whole_cheaper(a) ? used_bytes(a) : a->bytes;
    return (bytes + 63) / 64 * 64;
}

static bool copy_to_stage(const run_array *r, char *stage) {
    const struct ctune_gpu_array *a = &r->array;
    gpu_rect rect = rect_of(a, !is_piecewise(a) || is_whole_cheaper(a));
    rect.host_pitch = rect.row_bytes;
    return ctune_gpu_driver_get()->copy_out(stage, r->memory, &rect);
}

static void unstage(const struct ctune_gpu_array *a, const char *stage) {
    if (!is_piecewise(a)) {
        memcpy(a->base, stage, a->bytes);
        return;
    }
    size_t pitch = is_whole_cheaper(a) ? a->pitch : a->row_bytes;
    for (size_t i = 0; i < a->rows; i++) {
        memcpy((char *)a->base + i * a->pitch, stage + i * pitch, a->row_bytes);
    }
}

/* ---- begin ------------------------------------------------------------------------------------
 */
/* The part of a kept array: the array itself, a pointer into it, or a copy where the device has no
 * such pointers. */
static bool take_part(run_array *r) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (r->offset == 0) {
        r->memory = r->kept->memory;
        return true;
    }
    if (r->offset % 16 == 0 && r->offset % ctune_gpu_device_get()->alignment == 0) {
        r->memory = driver->view(r->kept->memory, r->offset, r->array.bytes);
        r->is_view = r->memory != 0;
        return r->is_view;
    }
    r->memory = ctune_gpu_pool_get(r->array.bytes);
    r->is_pool = r->memory != 0;
    return r->is_pool &&
           driver->copy_device(r->memory, 0, r->kept->memory, r->offset, r->array.bytes);
}

static bool take_kept(run_array *r, gpu_kept *kept) {
    const struct ctune_gpu_array *a = &r->array;
    bool is_all = a->base == kept->base && a->bytes == kept->bytes && !is_piecewise(a);
    if (!ctune_gpu_kept_take(kept, is_all && (a->flags & CTUNE_GPU_READ) == 0)) {
        return false;
    }
    r->kept = kept;
    r->before = kept->side;
    r->offset = (size_t)((char *)a->base - kept->base);
    return take_part(r);
}

static bool take_array(run_array *r, const struct ctune_gpu_array *array) {
    r->array = *array;
    if ((array->flags & CTUNE_GPU_DEVICE) != 0) {
        r->memory = (gpu_memory)(uintptr_t)array->base;
        return true;
    }
    gpu_kept *kept = array->bytes > 0 ? ctune_gpu_kept_find(array->base, array->bytes) : NULL;
    if (kept != NULL) {
        return take_kept(r, kept);
    }
    ctune_gpu_kept_settle(array->base, array->bytes, (array->flags & CTUNE_GPU_WRITE) != 0);
    if (ctune_gpu_is_off()) {
        return false;
    }
    r->memory = ctune_gpu_pool_get(array->bytes);
    r->is_pool = r->memory != 0;
    return r->is_pool && ((array->flags & CTUNE_GPU_READ) == 0 || copy_in(r));
}

static void release_array(run_array *r) {
    if (r->is_pool) {
        ctune_gpu_pool_put(r->memory);
    }
    const gpu_driver *driver = r->is_view ? ctune_gpu_releaser_get() : NULL;
    if (driver != NULL) {
        driver->free_view(r->memory);
    }
}

static void destroy_run(struct ctune_gpu *run) {
    for (unsigned i = 0; i < run->n; i++) {
        run_array *r = &run->arrays[i];
        release_array(r);
        if (r->kept != NULL) {
            r->kept->writers -= run->is_launched && (r->array.flags & CTUNE_GPU_WRITE) != 0;
            ctune_gpu_kept_release(r->kept);
        }
    }
    ctune_gpu_runs_add(-1);
    free(run->memories);
    free(run);
}

/* What the CPU code reads and writes comes back to the host. */
static void settle_all(const struct ctune_gpu_array *arrays, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if ((arrays[i].flags & CTUNE_GPU_DEVICE) == 0) {
            ctune_gpu_kept_settle(arrays[i].base, arrays[i].bytes,
                                  (arrays[i].flags & CTUNE_GPU_WRITE) != 0);
        }
    }
}

/* The run's results are not to be had. */
static void abandon_run(struct ctune_gpu *run) {
    struct ctune_gpu_array local[N_LOCAL], *arrays = local;
    unsigned n = run->n;
    for (unsigned i = 0; i < n; i++) {
        const run_array *r = &run->arrays[i];
        if (r->kept != NULL && run->is_launched && (r->array.flags & CTUNE_GPU_WRITE) != 0) {
            ctune_gpu_kept_spoilt(r->kept, r->before);
        }
    }
    for (unsigned i = 0; i < n; i += N_LOCAL) { /* the run is gone when the host's copies come */
        unsigned part = n - i < N_LOCAL ? n - i : N_LOCAL;
        for (unsigned j = 0; j < part; j++) {
            arrays[j] = run->arrays[i + j].array;
        }
        settle_all(arrays, part);
    }
    destroy_run(run);
}

static struct ctune_gpu *create_run(const struct ctune_gpu_region *region, gpu_module *module,
                                    unsigned n) {
    struct ctune_gpu *run = calloc(1, sizeof *run + n * sizeof run->arrays[0]);
    if (run == NULL || (run->memories = calloc(n + 1, sizeof *run->memories)) == NULL) {
        free(run);
        ctune_gpu_fail("no memory");
        return NULL;
    }
    run->region = region;
    run->module = module;
    ctune_gpu_runs_add(1);
    return run;
}

static bool has_device_array(const struct ctune_gpu_array *arrays, unsigned n) {
    bool has = false;
    for (unsigned i = 0; i < n; i++) {
        has |= (arrays[i].flags & CTUNE_GPU_DEVICE) != 0;
    }
    return has;
}

/* The program's own work on its device arrays ends first. */
static bool wait_program(void) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    return driver->wait_program != NULL && driver->wait_program();
}

static struct ctune_gpu *begin(const struct ctune_gpu_region *region,
                               const struct ctune_gpu_array *arrays, unsigned n) {
    const gpu_driver *driver = ctune_gpu_driver_for(region);
    if (driver == NULL || !check_arrays(arrays, n)) {
        return NULL;
    }
    bool has_device = has_device_array(arrays, n);
    if (has_device && driver->wait_program == NULL) {
        ctune_gpu_fail("%s has no device(...) arrays", driver->name);
        return NULL;
    }
    gpu_module *module = ctune_gpu_module_get(region);
    struct ctune_gpu *run = module != NULL ? create_run(region, module, n) : NULL;
    if (run == NULL) {
        return NULL;
    }
    bool ok = !has_device || wait_program();
    for (; ok && run->n < n; run->n++) {
        ok = take_array(&run->arrays[run->n], &arrays[run->n]);
        run->memories[run->n] = run->arrays[run->n].memory;
    }
    if (!ok) {
        ctune_gpu_switch_off(region->name);
        destroy_run(run);
        return NULL;
    }
    return run;
}

struct ctune_gpu *ctune_gpu_begin(const struct ctune_gpu_region *region,
                                  const struct ctune_gpu_array *arrays, unsigned n) {
    ctune_gpu_enter();
    struct ctune_gpu *run = begin(region, arrays, n);
    if (run == NULL) {
        if (ctune_gpu_mode_get() == GPU_REQUIRE) {
            ctune_gpu_error("CTUNE_GPU=require: %s cannot run on the device: %s", region->name,
                            ctune_gpu_why());
        }
        settle_all(arrays, n);
    }
    ctune_gpu_leave();
    return run;
}

/* ---- launch -----------------------------------------------------------------------------------
 */
static bool check_limits(const gpu_call *call) {
    const gpu_device *d = ctune_gpu_device_get();
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (call->block[i] == 0 || call->block[i] > d->max_block[i] ||
            call->grid[i] > d->max_grid[i]) {
            return ctune_gpu_fail(
                "%u threads and %u blocks along axis %d exceed the device's limits", call->block[i],
                call->grid[i], i);
        }
        threads *= call->block[i];
        if (threads > d->max_threads) {
            return ctune_gpu_fail("more than %u threads in a block", d->max_threads);
        }
    }
    return call->shared <= d->shared_bytes ||
           ctune_gpu_fail("%zu bytes of shared memory, the device has %zu", call->shared,
                          d->shared_bytes);
}

static void mark_writers(struct ctune_gpu *run) {
    for (unsigned i = 0; i < run->n && !run->is_launched; i++) {
        const run_array *r = &run->arrays[i];
        if (r->kept != NULL && (r->array.flags & CTUNE_GPU_WRITE) != 0) {
            r->kept->writers++;
        }
    }
    run->is_launched = true;
}

static bool launch(struct ctune_gpu *run, const char *name, const gpu_call *call) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (driver == NULL) {
        return false;
    }
    void *kernel = check_limits(call) ? ctune_gpu_module_kernel(run->module, name) : NULL;
    if (kernel == NULL) {
        ctune_gpu_module_refuse(run->module, run->region);
        return false;
    }
    if (call->grid[0] == 0 || call->grid[1] == 0 || call->grid[2] == 0) {
        return true;
    }
    if (ctune_gpu_has_log() && !run->is_launched && driver->finish()) { /* the copies before it */
        run->start_ns = ctune_gpu_now_ns();
    }
    gpu_result result = driver->launch(kernel, call);
    if (result == GPU_DONE) {
        mark_writers(run);
    } else if (result == GPU_REFUSED) {
        ctune_gpu_module_refuse(run->module, run->region);
    } else {
        ctune_gpu_switch_off(name);
    }
    return result == GPU_DONE;
}

int ctune_gpu_launch(struct ctune_gpu *run, const char *kernel, const unsigned grid[3],
                     const unsigned block[3], size_t shared, const void *const *params,
                     const size_t *sizes, unsigned n) {
    if (run->is_failed) {
        return 0;
    }
    ctune_gpu_enter();
    gpu_call call = {grid, block, shared, run->memories, run->n, params, sizes, n};
    run->is_failed = !launch(run, kernel, &call);
    ctune_gpu_leave();
    return !run->is_failed;
}

/* ---- end --------------------------------------------------------------------------------------
 */
/* Results in staging memory or, where nothing is lost by it, in their place. */
static bool fetch_results(struct ctune_gpu *run, char *stage) {
    for (unsigned i = 0; i < run->n; i++) {
        const run_array *r = &run->arrays[i];
        const struct ctune_gpu_array *a = &r->array;
        if (has_result(r) && is_staged(a)) {
            if (!copy_to_stage(r, stage)) {
                return false;
            }
            stage += stage_bytes(a);
        }
    }
    for (unsigned i = 0; i < run->n; i++) {
        const run_array *r = &run->arrays[i];
        gpu_rect rect = rect_of(&r->array, !is_piecewise(&r->array));
        if (has_result(r) && !is_staged(&r->array) &&
            !ctune_gpu_driver_get()->copy_out(r->array.base, r->memory, &rect)) {
            return false;
        }
    }
    return true;
}

static void unstage_all(struct ctune_gpu *run, const char *stage) {
    for (unsigned i = 0; i < run->n; i++) {
        const run_array *r = &run->arrays[i];
        if (has_result(r) && is_staged(&r->array)) {
            unstage(&r->array, stage);
            stage += stage_bytes(&r->array);
        }
    }
}

/* Copies of parts of kept arrays go back into them. */
static bool return_parts(struct ctune_gpu *run) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    bool is_any = false;
    for (unsigned i = 0; i < run->n; i++) {
        const run_array *r = &run->arrays[i];
        if (r->kept != NULL && r->is_pool && (r->array.flags & CTUNE_GPU_WRITE) != 0) {
            is_any = true;
            if (!driver->copy_device(r->kept->memory, r->offset, r->memory, 0, r->array.bytes)) {
                return false;
            }
        }
    }
    return !is_any || driver->finish();
}

static bool finish(struct ctune_gpu *run) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (driver == NULL) {
        return false;
    }
    if (!run->is_launched) {
        return true;
    }
    size_t bytes = 0;
    for (unsigned i = 0; i < run->n; i++) {
        bytes += has_result(&run->arrays[i]) && is_staged(&run->arrays[i].array)
                     ? stage_bytes(&run->arrays[i].array)
                     : 0;
    }
    char *stage = bytes > 0 ? ctune_gpu_stage_get(bytes) : NULL;
    if (bytes > 0 && stage == NULL) {
        return ctune_gpu_fail("no memory for %zu bytes of results", bytes);
    }
    bool is_finished = driver->finish();
    if (is_finished && run->start_ns > 0) {
        ctune_gpu_module_time(run->module, run->region->name, ctune_gpu_now_ns() - run->start_ns);
    }
    if (!is_finished || !fetch_results(run, stage) || !return_parts(run)) {
        ctune_gpu_switch_off(run->region->name);
        return false;
    }
    unstage_all(run, stage);
    ctune_gpu_stage_trim();
    return true;
}

static void mark_written(struct ctune_gpu *run) {
    for (unsigned i = 0; i < run->n; i++) {
        const run_array *r = &run->arrays[i];
        if (r->kept != NULL && run->is_launched && (r->array.flags & CTUNE_GPU_WRITE) != 0) {
            ctune_gpu_kept_written(r->kept);
        }
    }
}

int ctune_gpu_end(struct ctune_gpu *run) {
    ctune_gpu_enter();
    int ok = !run->is_failed && finish(run);
    if (ok) {
        mark_written(run);
        destroy_run(run);
    } else {
        if (ctune_gpu_mode_get() == GPU_REQUIRE) {
            ctune_gpu_error("CTUNE_GPU=require: %s failed on the device: %s", run->region->name,
                            ctune_gpu_why());
        }
        abandon_run(run);
    }
    ctune_gpu_leave();
    return ok;
}

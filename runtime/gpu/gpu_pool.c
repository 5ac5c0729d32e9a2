/*
 * Buffers of the device and of the host that outlive a run.
 *
 * In: sizes. Out: a free buffer of at most twice that size, else a new one. Allocating costs a
 * driver tens of microseconds to milliseconds; a program calls the same region again and again.
 * When the device's memory is exhausted the free buffers are given up first.
 */
#include "runtime/gpu/gpu_private.h"

#include <stdlib.h>

static const size_t max_free_bytes = (size_t)1 << 30, max_stage_bytes = (size_t)1 << 28;

typedef struct pool_buffer {
    struct pool_buffer *next;
    gpu_memory memory;
    size_t bytes;
    bool is_used;
} pool_buffer;

static pool_buffer *pool;
static void *stage;
static size_t stage_bytes;

static pool_buffer *find_free(size_t bytes) {
    pool_buffer *best = NULL;
    for (pool_buffer *b = pool; b != NULL; b = b->next) {
        if (!b->is_used && b->bytes >= bytes && b->bytes / 2 <= bytes &&
            (best == NULL || b->bytes < best->bytes)) {
            best = b;
        }
    }
    return best;
}

gpu_memory ctune_gpu_pool_get(size_t bytes) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (driver == NULL) {
        return 0;
    }
    bytes = bytes < 256 ? 256 : bytes;
    pool_buffer *b = find_free(bytes);
    if (b != NULL) {
        b->is_used = true;
        return b->memory;
    }
    b = malloc(sizeof *b);
    if (b == NULL) {
        ctune_gpu_fail("no memory");
        return 0;
    }
    gpu_memory memory = driver->alloc(bytes);
    if (memory == 0 && pool != NULL) {
        ctune_gpu_pool_clear();
        memory = driver->alloc(bytes);
    }
    if (memory == 0) {
        free(b);
        return 0;
    }
    *b = (pool_buffer){pool, memory, bytes, true};
    pool = b;
    return memory;
}

static size_t free_bytes(void) {
    size_t bytes = 0;
    for (const pool_buffer *b = pool; b != NULL; b = b->next) {
        bytes += b->is_used ? 0 : b->bytes;
    }
    return bytes;
}

void ctune_gpu_pool_put(gpu_memory memory) {
    pool_buffer **at = &pool;
    while (*at != NULL && (*at)->memory != memory) {
        at = &(*at)->next;
    }
    pool_buffer *b = *at;
    if (b == NULL) {
        return;
    }
    b->is_used = false;
    const gpu_driver *driver = free_bytes() > max_free_bytes ? ctune_gpu_releaser_get() : NULL;
    if (driver != NULL) {
        *at = b->next;
        driver->free(memory);
        free(b);
    }
}

void ctune_gpu_pool_clear(void) {
    const gpu_driver *driver = ctune_gpu_releaser_get();
    for (pool_buffer **at = &pool; *at != NULL;) {
        pool_buffer *b = *at;
        if (b->is_used) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        if (driver != NULL) {
            driver->free(b->memory);
        }
        free(b);
    }
}

void *ctune_gpu_stage_get(size_t bytes) {
    if (bytes > stage_bytes) {
        ctune_gpu_stage_clear();
        stage = malloc(bytes);
        stage_bytes = stage != NULL ? bytes : 0;
    }
    return stage;
}

void ctune_gpu_stage_trim(void) {
    if (stage_bytes > max_stage_bytes) {
        ctune_gpu_stage_clear();
    }
}

void ctune_gpu_stage_clear(void) {
    free(stage);
    stage = NULL;
    stage_bytes = 0;
}

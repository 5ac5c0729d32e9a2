/*
 * Allocation in costmodel/: checked sizes, and the fault injection of ctune_ctx (the n-th and every
 * later allocation fails).
 */
#ifndef CTUNE_COSTMODEL_MEMORY_H
#define CTUNE_COSTMODEL_MEMORY_H

#include "runtime/base.h"

#include <stdlib.h>
#include <string.h>

static inline bool ctune_memory_is_out(ctune_ctx *ctx) {
    return ctx->alloc_fail_at != 0 && ++ctx->n_allocs >= ctx->alloc_fail_at;
}

/* realloc(old, count * bytes), of at least one byte; NULL: memory is out and old is as it was. */
static inline void *ctune_memory_grow(ctune_ctx *ctx, void *old, size_t count, size_t bytes) {
    size_t size;
    if (!ctune_size_mul(count, bytes, &size) || size > PTRDIFF_MAX || ctune_memory_is_out(ctx)) {
        return NULL;
    }
    return realloc(old, size == 0 ? 1 : size);
}

static inline char *ctune_memory_strdup(ctune_ctx *ctx, const char *text) {
    return ctune_memory_is_out(ctx) ? NULL : strdup(text);
}

#endif

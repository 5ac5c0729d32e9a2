/* Chunked bump allocator: see arena.h. */
#include "runtime/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct chunk {
    struct chunk *next;
    size_t used, size; /* bytes of data[] */
    _Alignas(16) unsigned char data[];
} chunk;

struct ctune_arena {
    chunk *head;
    ctune_ctx *ctx;
    bool failed;
};

enum { CHUNK_BYTES = 16 * 1024 };

ctune_arena *ctune_arena_create(ctune_ctx *ctx) {
    ctune_arena *arena = calloc(1, sizeof *arena);
    if (arena != NULL) {
        arena->ctx = ctx;
    }
    return arena;
}

void ctune_arena_reset(ctune_arena *arena) {
    while (arena->head != NULL) {
        chunk *next = arena->head->next;
        free(arena->head);
        arena->head = next;
    }
    arena->failed = false;
}

void ctune_arena_destroy(ctune_arena *arena) {
    if (arena != NULL) {
        ctune_arena_reset(arena);
        free(arena);
    }
}

static bool is_injected_failure(ctune_arena *arena) {
    ctune_ctx *ctx = arena->ctx;
    return ctx != NULL && ctx->alloc_fail_at != 0 && ++ctx->n_allocs >= ctx->alloc_fail_at;
}

static chunk *chunk_create(ctune_arena *arena, size_t bytes) {
    size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    if (is_injected_failure(arena) || size > SIZE_MAX - sizeof(chunk)) {
        return NULL;
    }
    chunk *c = malloc(sizeof(chunk) + size);
    if (c != NULL) {
        c->used = 0;
        c->size = size;
        c->next = arena->head;
        arena->head = c;
    }
    return c;
}

void *ctune_arena_alloc(ctune_arena *arena, size_t bytes) {
    if (arena == NULL || bytes > SIZE_MAX - 16) {
        return NULL;
    }
    bytes = (bytes + 15) & ~(size_t)15;
    chunk *c = arena->head;
    if (c == NULL || c->size - c->used < bytes) {
        c = chunk_create(arena, bytes);
    }
    if (c == NULL) {
        arena->failed = true;
        return NULL;
    }
    void *p = c->data + c->used;
    c->used += bytes;
    memset(p, 0, bytes);
    return p;
}

void *ctune_arena_array(ctune_arena *arena, size_t count, size_t elem_bytes) {
    size_t bytes;
    if (!ctune_size_mul(count, elem_bytes, &bytes)) {
        if (arena != NULL) {
            arena->failed = true;
        }
        return NULL;
    }
    return ctune_arena_alloc(arena, bytes);
}

char *ctune_arena_strndup(ctune_arena *arena, const char *text, size_t len) {
    char *copy = ctune_arena_alloc(arena, len + 1);
    if (copy != NULL) {
        memcpy(copy, text, len);
    }
    return copy;
}

char *ctune_arena_strdup(ctune_arena *arena, const char *text) {
    return ctune_arena_strndup(arena, text, strlen(text));
}

char *ctune_arena_printf(ctune_arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : ctune_arena_alloc(arena, (size_t)n + 1);
    if (text != NULL) {
        vsnprintf(text, (size_t)n + 1, format, again);
    }
    va_end(again);
    return text;
}

bool ctune_arena_has_failed(const ctune_arena *arena) {
    return arena == NULL || arena->failed;
}

/*
 * Arena: everything made for one region or one candidate, freed at once.
 *
 * Allocation returns zeroed, 16-byte-aligned memory, or NULL when memory is out; the arena then
 * remembers
 * (`failed`), so that a builder chain is checked once at its end.
 */
#ifndef CTUNE_RUNTIME_ARENA_H
#define CTUNE_RUNTIME_ARENA_H

#include "runtime/base.h"

#include <stdarg.h>

typedef struct ctune_arena ctune_arena;

/* Owner: caller, ctune_arena_destroy. NULL when memory is out. ctx (may be NULL) is only used for
 * fault injection. */
ctune_arena *ctune_arena_create(ctune_ctx *ctx);
void ctune_arena_destroy(ctune_arena *arena); /* NULL is fine */
void ctune_arena_reset(ctune_arena *arena);   /* frees all allocations, keeps the handle */

void *ctune_arena_alloc(ctune_arena *arena, size_t bytes);
void *ctune_arena_array(ctune_arena *arena, size_t count,
                        size_t elem_bytes); /* checked multiplication */
char *ctune_arena_strdup(ctune_arena *arena, const char *text);
char *ctune_arena_strndup(ctune_arena *arena, const char *text, size_t len);
char *ctune_arena_printf(ctune_arena *arena, const char *format, ...) CTUNE_PRINTF(2, 3);
bool ctune_arena_has_failed(const ctune_arena *arena);

#define CTUNE_NEW(arena, type) ((type *)ctune_arena_alloc((arena), sizeof(type)))
#define CTUNE_NEW_ARRAY(arena, type, n)                                                            \
    ((type *)ctune_arena_array((arena), (size_t)(n), sizeof(type)))

#endif

/*
 * One writer at a time on a file, across processes and threads.
 */
#ifndef CTUNE_RUNTIME_GUARD_H
#define CTUNE_RUNTIME_GUARD_H

#include "runtime/base.h"

typedef struct ctune_guard {
    char *path; /* "<path>.lk", owned; NULL = not held */
    int fd;
} ctune_guard;

/* Wait up to 10 s for the advisory lock of `path`. Fails EENV. The lock dies with its process. */
CTUNE_MUST_USE ctune_status ctune_guard_acquire(ctune_ctx *ctx, const char *path, ctune_guard *out);
void ctune_guard_release(ctune_guard *guard); /* fine when not held */

/* Folders in which the file `path` is to be, those that are missing. */
CTUNE_MUST_USE ctune_status ctune_folders_make(ctune_ctx *ctx, const char *path);

#endif

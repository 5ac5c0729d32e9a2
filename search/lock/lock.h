/*
 * The lock, ctune.lock: which schedule a region gets on a target. Text, sorted, committed by the
 * user.
 */
#ifndef CTUNE_SEARCH_LOCK_LOCK_H
#define CTUNE_SEARCH_LOCK_LOCK_H

#include "runtime/text.h"

typedef struct ctune_lock_entry {
    char *region;      /* name of the region, unique in the file */
    char *source;      /* file name without folder */
    char *target;      /* target key */
    uint64_t workload; /* ctune_workload_key(region, NULL): detects that the loop changed */
    char *sizes;       /* "n=1024 m=512", "" when there is no parameter */
    char *schedule;    /* schedule text, newline-separated; "" = original was best */
    double speedup;    /* original / tuned when it was measured */
    double tuned_ns;
    char *verified; /* against what and at which sizes its results were compared, one line of words;
                       NULL or "" = they were not (predicted, or an older lock) */
} ctune_lock_entry;

typedef struct ctune_lock {
    int n, size;
    ctune_lock_entry *entry; /* sorted by source, region, target, sizes; owned strings */
} ctune_lock;

void ctune_lock_entry_clear(ctune_lock_entry *entry); /* of one whose strings are owned */
void ctune_lock_init(ctune_lock *lock);
void ctune_lock_clear(ctune_lock *lock);
/* A missing file is an empty lock. Malformed text: EUSAGE with file, line and column; nothing is
 * lost. What is no file (a FIFO, a folder, a device but /dev/null): EENV, and it is not opened. */
CTUNE_MUST_USE ctune_status ctune_lock_read(ctune_ctx *ctx, const char *path, ctune_lock *lock);
/* Before hours of work: can entries of the file `source` be put into the lock at `path`? Reads it,
 * and makes and removes a file in its folder. EUSAGE: the name, or what is in the lock; EENV. */
CTUNE_MUST_USE ctune_status ctune_lock_check(ctune_ctx *ctx, const char *path, const char *source);
CTUNE_MUST_USE ctune_status ctune_lock_parse(ctune_ctx *ctx, const char *name, const char *text,
                                             ctune_lock *lock);
void ctune_lock_print(const ctune_lock *lock, ctune_text *out);
/* Insert or replace (same source, region, target, sizes); strings copied. */
CTUNE_MUST_USE ctune_status ctune_lock_set(ctune_ctx *ctx, ctune_lock *lock,
                                           const ctune_lock_entry *entry);
/* Read-modify-write under flock of "<path>.lk"-style advisory lock, atomic rename: two tuners at
 * once lose nothing. */
CTUNE_MUST_USE ctune_status ctune_lock_update(ctune_ctx *ctx, const char *path,
                                              const ctune_lock_entry *entries, int n);
/* NULL when there is none. target may be NULL (first of any target). sizes NULL = any. */
const ctune_lock_entry *ctune_lock_find(const ctune_lock *lock, const char *source,
                                        const char *region, const char *target, const char *sizes);

#endif

/*
 * Lock (ctune.lock: text, sorted, committed by the user) and history (SQLite, every measurement).
 */
#ifndef CTUNE_SEARCH_RECORDS_RECORDS_H
#define CTUNE_SEARCH_RECORDS_RECORDS_H

#include "runtime/base.h"
#include "runtime/runner.h"
#include "runtime/text.h"

/* ---- target: what a tuning is valid for ---------------- */
typedef struct ctune_target {
    char cpu[96]; /* "znver5", from LLVM's host CPU name or -march= */
    char isa[32]; /* "avx512", "avx2", "sse2", "neon": from the compiler's macros under the flags */
    int vector_bytes;  /* 16, 32, 64 */
    int n_threads;     /* 1 unless -fopenmp */
    char compiler[64]; /* "clang 19", "gcc 12" */
    char flags[256];   /* flags that change code, normalised: sorted, no paths, defines and warnings
                          dropped */
    bool openmp;
    bool fast_math; /* -ffast-math or -fassociative-math */
    int64_t l1_bytes; /* per core, from sysfs; default 32 KiB */
    int64_t l2_bytes; /* per core; default 512 KiB */
    int64_t l3_bytes; /* shared; default 8 MiB */
} ctune_target;

/* Ask the compiler (one run with -dM -E) and the machine. Fails EENV when the compiler cannot be
 * run. */
CTUNE_MUST_USE ctune_status ctune_target_get(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                                             ctune_target *out);
/* "clang 19 znver5 avx512 t1 <hash of flags, 8 hex digits>": no newline. out at least 256 bytes. */
void ctune_target_key(const ctune_target *target, char *out, size_t size);

/* ---- lock ---------------- */
typedef struct ctune_lock_entry {
    char *region;      /* name of the region, unique in the file */
    char *source;      /* file name without folder */
    char *target;      /* target key */
    uint64_t workload; /* ctune_workload_key(region, NULL): detects that the loop changed */
    char *sizes;       /* "n=1024 m=512", "" when there is no parameter */
    char *schedule;    /* schedule text, newline-separated; "" = original was best */
    double speedup;    /* original / tuned when it was measured */
    double tuned_ns;
} ctune_lock_entry;

typedef struct ctune_lock {
    int n, size;
    ctune_lock_entry *entry; /* sorted by source, region, target, sizes; owned strings */
} ctune_lock;

void ctune_lock_init(ctune_lock *lock);
void ctune_lock_clear(ctune_lock *lock);
/* A missing file is an empty lock. Malformed text: EUSAGE with file, line and column; nothing is
 * lost. */
CTUNE_MUST_USE ctune_status ctune_lock_read(ctune_ctx *ctx, const char *path, ctune_lock *lock);
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

/* ---- history ---------------- */
typedef struct ctune_record {
    uint64_t workload;    /* ctune_workload_key with sizes */
    const char *target;   /* key */
    const char *region;   /* name, for people */
    const char *te;       /* canonical dump: records are useful without the source */
    const char *sizes;    /* "n=1024" */
    const char *schedule; /* text */
    uint64_t seed;        /* of the search */
    int trial;            /* ordinal in the search */
    ctune_run_outcome outcome;
    double best_ns, median_ns, original_ns;
} ctune_record;

typedef struct ctune_history ctune_history;

/* Creates folder and file when missing (".ctune/history.db"); WAL, synchronous=NORMAL or better. A
 * corrupt file is moved aside to
 * "<path>.corrupt" with a warning diagnostic and a new one begun. Schema is versioned; a newer one
 * is EENV with words. */
CTUNE_MUST_USE ctune_status ctune_history_open(ctune_ctx *ctx, const char *path,
                                               ctune_history **out);
void ctune_history_close(ctune_history *history);
/* Durable when it returns. Two processes may append at once (busy timeout 10 s). */
CTUNE_MUST_USE ctune_status ctune_history_append(ctune_ctx *ctx, ctune_history *history,
                                                 const ctune_record *record);
/* The same for a batch in one transaction (one wait for the disk): all of them or none. */
CTUNE_MUST_USE ctune_status ctune_history_append_batch(ctune_ctx *ctx, ctune_history *history,
                                                       const ctune_record *records, int n);
/* Each record of (workload, target) in order of insertion; workload 0 = any, target NULL = any.
 * visit returns false to stop; strings are valid during the call. A time that is not finite is kept
 * as "none" and read back as NaN. */
CTUNE_MUST_USE ctune_status
ctune_history_visit(ctune_ctx *ctx, ctune_history *history, uint64_t workload, const char *target,
                    bool (*visit)(void *user, const ctune_record *record), void *user);
/* JSON lines, one record a line. */
CTUNE_MUST_USE ctune_status ctune_history_export(ctune_ctx *ctx, ctune_history *history,
                                                 bool (*write)(void *user, const char *line),
                                                 void *user);
CTUNE_MUST_USE ctune_status ctune_history_import(ctune_ctx *ctx, ctune_history *history,
                                                 const char *json_lines, int *n_imported);
/* Records of another history file that are not here yet. n_merged may be NULL. */
CTUNE_MUST_USE ctune_status ctune_history_merge(ctune_ctx *ctx, ctune_history *history,
                                                const char *other_path, int *n_merged);

#endif

/*
 * Target (what a tuning is valid for, and facts about it), lock (ctune.lock: text, sorted,
 * committed by the user) and history (SQLite, every measurement).
 */
#ifndef CTUNE_SEARCH_RECORDS_RECORDS_H
#define CTUNE_SEARCH_RECORDS_RECORDS_H

#include "runtime/base.h"
#include "runtime/runner.h"
#include "runtime/text.h"
#include "search/target/target.h"
#include "search/te/te.h"

/* ---- target: what a tuning is valid for ---------------- */
/* Ask the compiler (one run with -dM -E) and the machine. Fails EENV when the compiler cannot be
 * run. */
CTUNE_MUST_USE ctune_status ctune_target_get(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                                             ctune_target *out);
/* The same without running anything: macros are the `#define` lines that a run with -dM -E would
 * print (a compiler plugin has them). */
CTUNE_MUST_USE ctune_status ctune_target_make(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                                              const char *macros, ctune_target *out);
/* "clang 19 znver5 avx512 t1 <hash of flags, 8 hex digits>": no newline. out at least 256 bytes. */
void ctune_target_key(const ctune_target *target, char *out, size_t size);

/* ---- facts about a target ---------------- */
/* What models want to know about where records were measured: the members of a target that
 * describe it. A key names a target, its facts are in the history beside the key, and go with
 * exported records. */

/* What the words of a key say, the rest by default: for records without facts. */
void ctune_target_from_key(const char *key, ctune_target *out);
/* Lines "name value", one a fact. */
void ctune_target_facts_print(const ctune_target *facts, ctune_text *out);
/* Such lines; `name` stands in messages. out keeps what no line is about; names that are not known
 * are skipped (a newer ctune's). EUSAGE with line when a value is malformed or out of range. */
CTUNE_MUST_USE ctune_status ctune_target_facts_parse(ctune_ctx *ctx, const char *name,
                                                     const char *text, ctune_target *out);
/* ---- calibration: facts measured once on this machine, in a text file ---------------- */
/* $CTUNE_MACHINE, else $XDG_CACHE_HOME/ctune/machine-<host>-<isa>.txt, else the same below
 * ~/.cache; "" when there is none (CTUNE_MACHINE set and empty, no HOME). */
void ctune_machine_path(const ctune_target *target, char *out, size_t size);
/* The target, and over its default rates those of the file; out may be the target. A file that is
 * missing, of another machine, malformed or implausible leaves the defaults: the latter three with
 * a warning. */
void ctune_machine_facts_get(ctune_ctx *ctx, const ctune_target *target, ctune_target *out);
/* Of a key without facts whose records were measured on this machine: what its words say, with this
 * machine's name, cores, caches and calibration. */
void ctune_machine_facts_of_key(ctune_ctx *ctx, const char *key, ctune_target *out);
/* Makes folders. */
CTUNE_MUST_USE ctune_status ctune_machine_facts_write(ctune_ctx *ctx, const char *path,
                                                      const ctune_target *facts);

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
    char *verified; /* against what and at which sizes its results were compared, one line of words;
                       NULL or "" = they were not (predicted, or an older lock) */
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

/* Creates folder and file when missing (".ctune/history.db"); WAL, synchronous=FULL. A
 * corrupt file is moved aside to "<path>.corrupt" with a warning diagnostic and a new one begun.
 * Schema is versioned; an older one is brought up to date in place, a newer one is EENV with words.
 */
CTUNE_MUST_USE ctune_status ctune_history_open(ctune_ctx *ctx, const char *path,
                                               ctune_history **out);
/* Never writes: EENV when the file is missing or corrupt; older schemas are read as they are. */
CTUNE_MUST_USE ctune_status ctune_history_open_readonly(ctune_ctx *ctx, const char *path,
                                                        ctune_history **out);
void ctune_history_close(ctune_history *history);
/* Durable when it returns. Two processes may append at once (busy timeout 10 s). */
CTUNE_MUST_USE ctune_status ctune_history_append(ctune_ctx *ctx, ctune_history *history,
                                                 const ctune_record *record);
/* The same for a batch in one transaction (one wait for the disk): all of them or none. */
CTUNE_MUST_USE ctune_status ctune_history_append_batch(ctune_ctx *ctx, ctune_history *history,
                                                       const ctune_record *records, int n);
/* Facts of a target key. Facts that are there stay, unless the new ones are measured. Cheap when
 * nothing changes: call it whenever records of the target are appended. */
CTUNE_MUST_USE ctune_status ctune_history_facts_set(ctune_ctx *ctx, ctune_history *history,
                                                    const char *key, const ctune_target *facts);
/* Those stored, else (*is_stored false) what the key says. is_stored may be NULL. */
CTUNE_MUST_USE ctune_status ctune_history_facts_get(ctune_ctx *ctx, ctune_history *history,
                                                    const char *key, ctune_target *out,
                                                    bool *is_stored);
/* Each record of (workload, target) in order of insertion; workload 0 = any, target NULL = any.
 * visit returns false to stop; strings are valid during the call, except that `te` stays during the
 * whole visit and equal dumps are the same pointer. A time that is not finite is kept as "none" and
 * read back as NaN. */
CTUNE_MUST_USE ctune_status
ctune_history_visit(ctune_ctx *ctx, ctune_history *history, uint64_t workload, const char *target,
                    bool (*visit)(void *user, const ctune_record *record), void *user);

/* ---- exchange ---------------- */
/* JSON lines: facts of a target before its first record, the dump of a region only where it differs
 * from that of the workload's record before (docs/lock.md). write returns false to stop. */
CTUNE_MUST_USE ctune_status ctune_history_export(ctune_ctx *ctx, ctune_history *history,
                                                 bool (*write)(void *user, const char *line),
                                                 void *user);

typedef struct ctune_import_counts {
    int64_t n_records;   /* well-formed records that were read: new + known */
    int64_t n_new;       /* went in */
    int64_t n_known;     /* were there already: left out */
    int64_t n_malformed; /* lines that are neither record nor facts: left out, each with a warning
                            (the first 20 in words) that has its line */
} ctune_import_counts;

/* Records and facts that are not here yet; facts that are here stay. One transaction: when it fails
 * nothing has changed. `name` stands in messages. counts may be NULL; written only on CTUNE_OK. */
CTUNE_MUST_USE ctune_status ctune_history_import(ctune_ctx *ctx, ctune_history *history,
                                                 const char *name, const char *json_lines,
                                                 ctune_import_counts *counts);
/* The same from another history; its file is not changed. */
CTUNE_MUST_USE ctune_status ctune_history_merge(ctune_ctx *ctx, ctune_history *history,
                                                const char *other_path,
                                                ctune_import_counts *counts);
/* The same from a file of either kind, told apart by its first bytes: a history, JSON lines, JSON
 * lines compressed with gzip. "-" is standard input (no history). */
CTUNE_MUST_USE ctune_status ctune_history_import_file(ctune_ctx *ctx, ctune_history *history,
                                                      const char *path,
                                                      ctune_import_counts *counts);

#endif

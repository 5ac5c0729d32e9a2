/*
 * The history: every measurement, in SQLite, with the facts of its target, and its exchange between
 * machines as JSON lines.
 */
#ifndef CTUNE_SEARCH_HISTORY_HISTORY_H
#define CTUNE_SEARCH_HISTORY_HISTORY_H

#include "runtime/runner.h"
#include "runtime/text.h"
#include "search/target/target.h"

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

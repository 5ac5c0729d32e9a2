/*
 * Private to runtime/record: the tables that begin and end fill and that the writer reads.
 */
#ifndef CTUNE_RUNTIME_RECORD_PRIVATE_H
#define CTUNE_RUNTIME_RECORD_PRIVATE_H

#include "runtime/record/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RECORD_PLACES = 128, /* of the hash table, a power of two */
    RECORD_SHAPES = 64,  /* places that are ever taken: the table stays half empty */
    RECORD_PROBES = 8,
    RECORD_PARAMS = 64, /* a site with more is not recorded */
};

enum { RECORD_FREE, RECORD_BUSY, RECORD_READY };

/* One shape. Counters only grow; `told` is what was written to the file or belongs to the parent.
 */
typedef struct record_slot {
    _Alignas(64) atomic_uint state;
    atomic_uint mask; /* a call whose ordinal & mask is 0 is timed */
    atomic_ullong calls, timed, ns;
    unsigned long long told_calls, told_timed, told_ns; /* under the writer's lock */
} record_slot;

/* One site. The strings are copies: the site may be unloaded with its shared object. */
typedef struct record_table {
    struct record_table *next;
    const char *region, *file, *params;
    unsigned long long workload;
    int line, n_params;
    atomic_int n_shapes;
    record_slot slot[RECORD_PLACES + 1]; /* the last: all other shapes */
    long long values[];                  /* [RECORD_PLACES][n_params] */
} record_table;

/* NULL when the site cannot be recorded (memory, version). */
record_table *record_table_create(const struct ctune_record_site *site);

/* All tables, newest first. */
extern _Atomic(record_table *) record_tables;
/* Is recording on? Decided once, from the environment. */
bool record_is_on(void);
int64_t record_now_ns(void);

/* Append to the file what it does not have yet. is_last: wait for a writer in another thread. */
void record_write(bool is_last);
/* Set once, before recording is on. false: the path is too long. */
bool record_write_init(const char *path);
/* In a fork's child: the lock is free, all counts so far are the parent's. */
void record_write_forked(void);
/* When the next writing is due, in record_now_ns. */
extern _Atomic int64_t record_due_ns;

#endif

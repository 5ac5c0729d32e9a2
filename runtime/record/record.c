/*
 * Shape capture: begin and end of a recorded call. See record.h.
 *
 * In: a site, the values of its parameters. Out: counts and times in the site's table, which
 * record_write.c appends to the file. A table is a fixed open-addressing hash of parameter tuples:
 * no lock and no allocation after a site's first call, and a bound on the work of a call. Counters
 * are shared by all threads (atomic additions); tables of each thread would be faster under
 * contention, but nests that are worth tuning run far longer than an addition.
 */
#include "runtime/record/record_private.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATUS_UNKNOWN, STATUS_BUSY, STATUS_OFF, STATUS_ON };

static atomic_int status;
static record_table refused; /* the state of a site that cannot be recorded */
static int64_t clock_ns;     /* what reading the clock adds to a measured time */
_Atomic(record_table *) record_tables;

int64_t record_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- on or off ------------------------------------------------------------------------------ */
static void on_fork_child(void) {
    for (record_table *t = atomic_load(&record_tables); t != NULL; t = t->next) {
        for (int i = 0; i <= RECORD_PLACES; i++) {
            if (atomic_load(&t->slot[i].state) == RECORD_BUSY) {
                atomic_store(&t->slot[i].state, RECORD_FREE); /* its thread is not in the child */
                atomic_fetch_sub(&t->n_shapes, 1);
            }
        }
    }
    record_write_forked();
}

static int64_t clock_cost(void) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < 32; i++) {
        int64_t start = record_now_ns(), used = record_now_ns() - start;
        best = used < best ? used : best;
    }
    return best;
}

static int decide(void) {
    const char *path = secure_getenv("CTUNE_RECORD");
    if (path == NULL || path[0] == '\0' || !record_write_init(path) ||
        pthread_atfork(NULL, NULL, on_fork_child) != 0) {
        return STATUS_OFF;
    }
    clock_ns = clock_cost();
    return STATUS_ON;
}

/* From whatever comes first: our constructor or a call in somebody else's. A thread that finds the
 * decision under way goes on unrecorded. */
static int find_status(void) {
    int now = STATUS_UNKNOWN;
    if (atomic_compare_exchange_strong(&status, &now, STATUS_BUSY)) {
        int saved = errno;
        now = decide();
        atomic_store(&status, now);
        errno = saved;
    }
    return now;
}

bool record_is_on(void) {
    return atomic_load_explicit(&status, memory_order_acquire) == STATUS_ON;
}

__attribute__((constructor)) static void start(void) {
    (void)find_status();
}

/* After the program's own atexit handlers: they may run recorded nests. */
__attribute__((destructor)) static void stop(void) {
    if (record_is_on()) {
        record_write(true);
    }
}

/* ---- tables --------------------------------------------------------------------------------- */
static char *copy_text(char **at, const char *text) {
    char *copy = *at;
    size_t n = strlen(text) + 1;
    memcpy(copy, text, n);
    *at += n;
    return copy;
}

record_table *record_table_create(const struct ctune_record_site *site) {
    if (site->version != CTUNE_RECORD_VERSION || site->n_params < 0 ||
        site->n_params > RECORD_PARAMS) {
        return NULL;
    }
    size_t n_values = (size_t)RECORD_PLACES * (size_t)site->n_params;
    size_t bytes = sizeof(record_table) + n_values * sizeof(long long) + strlen(site->region) +
                   strlen(site->file) + strlen(site->params) + 3;
    bytes = (bytes + 63) / 64 * 64;
    record_table *t = aligned_alloc(64, bytes);
    if (t == NULL) {
        return NULL;
    }
    memset(t, 0, bytes);
    char *at = (char *)(t->values + n_values);
    t->region = copy_text(&at, site->region);
    t->file = copy_text(&at, site->file);
    t->params = copy_text(&at, site->params);
    t->workload = site->workload;
    t->line = site->line;
    t->n_params = site->n_params;
    t->slot[RECORD_PLACES].state = RECORD_READY;
    return t;
}

/* The site's table, made at its first call; two threads may race for it. */
static record_table *make_table(struct ctune_record_site *site) {
    int saved = errno;
    record_table *mine = record_table_create(site), *t = NULL;
    if (mine == NULL) {
        mine = &refused;
    }
    if (__atomic_compare_exchange_n(&site->state, (void **)&t, mine, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        t = mine;
        if (mine != &refused) {
            mine->next = atomic_load(&record_tables);
            while (!atomic_compare_exchange_weak(&record_tables, &mine->next, mine)) {
            }
        }
    } else if (mine != &refused) {
        free(mine);
    }
    errno = saved;
    return t;
}

/* ---- shapes --------------------------------------------------------------------------------- */
static uint64_t hash_of(const long long *values, int n) {
    uint64_t h = 0;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)values[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

/* Another thread is writing the values: a few stores, so this ends; after a while give up. */
static unsigned wait_busy(record_slot *slot) {
    unsigned state = RECORD_BUSY;
    for (int i = 0; i < 1000 && state == RECORD_BUSY; i++) {
        if (i > 50) {
            sched_yield();
        }
        state = atomic_load_explicit(&slot->state, memory_order_acquire);
    }
    return state;
}

/* Take a free place for the values. false: no shape more, or another thread was faster. */
static bool take_place(record_table *t, record_slot *slot, const long long *values) {
    if (atomic_fetch_add(&t->n_shapes, 1) >= RECORD_SHAPES) {
        atomic_fetch_sub(&t->n_shapes, 1);
        return false;
    }
    unsigned state = RECORD_FREE;
    if (!atomic_compare_exchange_strong(&slot->state, &state, RECORD_BUSY)) {
        atomic_fetch_sub(&t->n_shapes, 1);
        return false;
    }
    size_t n = (size_t)t->n_params;
    memcpy(t->values + (size_t)(slot - t->slot) * n, values, n * sizeof *values);
    atomic_store_explicit(&slot->state, RECORD_READY, memory_order_release);
    return true;
}

static record_slot *find_slot(record_table *t, const long long *values) {
    size_t n = (size_t)t->n_params;
    uint64_t h = hash_of(values, t->n_params);
    for (uint64_t probe = 0; probe < RECORD_PROBES; probe++) {
        size_t i = (h + probe) % RECORD_PLACES;
        record_slot *slot = &t->slot[i];
        unsigned state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (state == RECORD_FREE) {
            if (take_place(t, slot, values)) {
                return slot;
            }
            state = atomic_load_explicit(&slot->state, memory_order_acquire);
            if (state == RECORD_FREE) {
                break; /* the table is full */
            }
        }
        if (state == RECORD_BUSY) {
            state = wait_busy(slot);
        }
        if (state == RECORD_READY && memcmp(t->values + i * n, values, n * sizeof *values) == 0) {
            return slot;
        }
    }
    return &t->slot[RECORD_PLACES];
}

/* ---- calls ---------------------------------------------------------------------------------- */
void ctune_record_begin(struct ctune_record_site *site, const long long *values,
                        struct ctune_record_call *call) {
    call->slot = NULL;
    int now = atomic_load_explicit(&status, memory_order_acquire);
    if (now != STATUS_ON && (now == STATUS_OFF || find_status() != STATUS_ON)) {
        return;
    }
    record_table *t = __atomic_load_n(&site->state, __ATOMIC_ACQUIRE);
    if (t == NULL) {
        t = make_table(site);
    }
    if (t == &refused) {
        return;
    }
    record_slot *slot = find_slot(t, values);
    unsigned long long ordinal = atomic_fetch_add_explicit(&slot->calls, 1, memory_order_relaxed);
    unsigned mask = atomic_load_explicit(&slot->mask, memory_order_relaxed);
    if ((ordinal & mask) == 0) {
        call->slot = slot;
        call->start_ns = record_now_ns();
    }
}

/* Two readings of the clock must stay a small part of what is measured. */
static unsigned mask_of(unsigned long long mean_ns) {
    return mean_ns < 1000 ? 31 : mean_ns < 10000 ? 7 : 0;
}

void ctune_record_end(const struct ctune_record_call *call) {
    int64_t now = record_now_ns(), used = now - call->start_ns - clock_ns;
    unsigned long long ns = used > 1 ? (unsigned long long)used : 1;
    record_slot *slot = call->slot;
    ns += atomic_fetch_add_explicit(&slot->ns, ns, memory_order_relaxed);
    unsigned long long n = 1 + atomic_fetch_add_explicit(&slot->timed, 1, memory_order_relaxed);
    if (n % 32 == 0) {
        atomic_store_explicit(&slot->mask, mask_of(ns / n), memory_order_relaxed);
    }
    if (now >= atomic_load_explicit(&record_due_ns, memory_order_relaxed)) {
        record_write(false);
    }
}

/*
 * Shape capture: the writer. See record.h.
 *
 * In: all tables. Out: one line a shape appended to the file that CTUNE_RECORD names, each with
 * what came since the last writing, so that whoever adds all lines up has the truth:
 *
 *     gemm [n=1024 m=512] calls 120 timed 32 ns 34567890 workload 0123456789abcdef at 3 /src/gemm.c
 *
 * Writing happens at exit and, so that a killed program is not lost as a whole, after 1 s, 2 s, 4
 * s, ... then each minute, by a thread that happens to end a timed call. flock keeps processes
 * apart.
 */
#include "runtime/record/record_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000
enum { MAX_PERIOD_S = 60, LOCK_WAIT_MS = 2000 };

static char file_path[PATH_MAX];
static atomic_flag is_writing = ATOMIC_FLAG_INIT;
static int64_t period_ns = SECOND_NS; /* under the writer's lock */
_Atomic int64_t record_due_ns = INT64_MAX;

/* The program may change its folder before it ends. */
bool record_write_init(const char *path) {
    size_t used = 0;
    if (path[0] != '/') {
        if (getcwd(file_path, sizeof file_path - 1) == NULL) {
            return false;
        }
        used = strlen(file_path);
        file_path[used++] = '/';
    }
    size_t n = strlen(path) + 1;
    if (n > sizeof file_path - used) {
        return false;
    }
    memcpy(file_path + used, path, n);
    atomic_store(&record_due_ns, record_now_ns() + period_ns);
    return true;
}

static void pause_ms(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* ---- text ----------------------------------------------------------------------------------- */
typedef struct writer {
    int fd; /* -1: not open yet */
    bool failed;
    size_t used;
    char bytes[8192];
} writer;

static void drain(writer *w) {
    size_t done = 0;
    while (done < w->used && !w->failed) {
        ssize_t n = write(w->fd, w->bytes + done, w->used - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && errno != EINTR) {
            w->failed = true;
        }
    }
    w->used = 0;
}

static void put(writer *w, const char *text, size_t n) {
    while (n > 0 && !w->failed) {
        size_t room = sizeof w->bytes - w->used, part = n < room ? n : room;
        memcpy(w->bytes + w->used, text, part);
        w->used += part;
        text += part;
        n -= part;
        if (w->used == sizeof w->bytes) {
            drain(w);
        }
    }
}

static void put_text(writer *w, const char *text) {
    put(w, text, strlen(text));
}

static void put_number(writer *w, const char *format, unsigned long long value) {
    char text[64];
    int n = snprintf(text, sizeof text, format, value);
    put(w, text, n > 0 ? (size_t)n : 0);
}

static void put_path(writer *w, const char *path) {
    for (; *path != '\0'; path++) {
        if (*path == '\n') {
            put_text(w, "\\n");
        } else {
            put(w, "\\", *path == '\\');
            put(w, path, 1);
        }
    }
}

/* "n=1024 m=512" from the names "n m" */
static void put_shape(writer *w, const record_table *t, int i_slot) {
    const char *name = t->params;
    if (i_slot == RECORD_PLACES) {
        put_text(w, "other");
        return;
    }
    for (int p = 0; p < t->n_params; p++) {
        size_t n = strcspn(name, " ");
        put(w, " ", p > 0);
        put(w, name, n);
        long long value = t->values[(size_t)i_slot * (size_t)t->n_params + (size_t)p];
        put_text(w, value < 0 ? "=-" : "=");
        put_number(w, "%llu",
                   value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value);
        name += n + (name[n] == ' ');
    }
}

/* ---- file ----------------------------------------------------------------------------------- */
/* Bounded: a process that was stopped while it held the lock must not hold us. Appended lines stay
 * whole on a local file system even then. */
static void lock_file(int fd) {
    for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB) != 0 && ms < LOCK_WAIT_MS; ms += 5) {
        pause_ms(5);
    }
}

static void open_file(writer *w) {
    w->fd = open(file_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        w->failed = true;
        return;
    }
    lock_file(w->fd);
    struct stat st;
    if (fstat(w->fd, &st) == 0 && st.st_size == 0) {
        put_text(w, "ctune-profile 1\n");
    }
}

static void close_file(writer *w) {
    if (w->fd >= 0) {
        drain(w);
        flock(w->fd, LOCK_UN); /* a child that was forked meanwhile has the descriptor, too */
        close(w->fd);
    }
}

static void write_slot(writer *w, record_table *t, int i_slot) {
    record_slot *slot = &t->slot[i_slot];
    if (atomic_load_explicit(&slot->state, memory_order_acquire) != RECORD_READY) {
        return;
    }
    unsigned long long timed = atomic_load(&slot->timed), ns = atomic_load(&slot->ns),
                       calls = atomic_load(&slot->calls);
    if (calls == slot->told_calls && timed == slot->told_timed) {
        return;
    }
    if (w->fd < 0 && !w->failed) {
        open_file(w);
    }
    put_text(w, t->region);
    put_text(w, " [");
    put_shape(w, t, i_slot);
    put_number(w, "] calls %llu", calls - slot->told_calls);
    put_number(w, " timed %llu", timed - slot->told_timed);
    put_number(w, " ns %llu", ns - slot->told_ns);
    put_number(w, " workload %016llx", t->workload);
    put_number(w, " at %llu ", (unsigned long long)t->line);
    put_path(w, t->file);
    put_text(w, "\n");
    slot->told_calls = calls;
    slot->told_timed = timed;
    slot->told_ns = ns;
}

static bool take_lock(bool is_last) {
    bool ok = !atomic_flag_test_and_set(&is_writing);
    for (int ms = 0; !ok && is_last && ms < LOCK_WAIT_MS; ms++) {
        pause_ms(1);
        ok = !atomic_flag_test_and_set(&is_writing);
    }
    return ok;
}

void record_write(bool is_last) {
    int saved = errno, cancel;
    if (!take_lock(is_last)) {
        return;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    writer w;
    w.fd = -1;
    w.failed = false;
    w.used = 0;
    for (record_table *t = atomic_load(&record_tables); t != NULL; t = t->next) {
        for (int i = 0; i <= RECORD_PLACES; i++) {
            write_slot(&w, t, i);
        }
    }
    close_file(&w);
    period_ns = period_ns < MAX_PERIOD_S / 2 * (int64_t)SECOND_NS
                    ? 2 * period_ns
                    : MAX_PERIOD_S * (int64_t)SECOND_NS;
    atomic_store(&record_due_ns, record_now_ns() + period_ns);
    atomic_flag_clear(&is_writing);
    pthread_setcancelstate(cancel, &cancel);
    errno = saved;
}

void record_write_forked(void) {
    for (record_table *t = atomic_load(&record_tables); t != NULL; t = t->next) {
        for (int i = 0; i <= RECORD_PLACES; i++) {
            record_slot *slot = &t->slot[i];
            slot->told_calls = atomic_load(&slot->calls);
            slot->told_timed = atomic_load(&slot->timed);
            slot->told_ns = atomic_load(&slot->ns);
        }
    }
    period_ns = SECOND_NS;
    atomic_store(&record_due_ns, record_now_ns() + period_ns);
    atomic_flag_clear(&is_writing);
}

/*
 * The lock in memory: a sorted array of entries that own their strings, and the read-modify-write
 * of the file. The text form is in lock_text.c.
 *
 * Entries are checked and brought to canonical form when they are set, so that whatever is in a
 * ctune_lock can be printed and parsed back to the same entry.
 */
#include "search/lock/lock.h"

#include "runtime/guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { MAX_ENTRIES = 1000000, NULL_MAJOR = 1, NULL_MINOR = 3 /* of /dev/null */ };

void ctune_lock_init(ctune_lock *lock) {
    memset(lock, 0, sizeof *lock);
}

void ctune_lock_entry_clear(ctune_lock_entry *entry) {
    free(entry->region);
    free(entry->source);
    free(entry->target);
    free(entry->sizes);
    free(entry->schedule);
    free(entry->verified);
    memset(entry, 0, sizeof *entry);
}

void ctune_lock_clear(ctune_lock *lock) {
    for (int i = 0; i < lock->n; i++) {
        ctune_lock_entry_clear(&lock->entry[i]);
    }
    free(lock->entry);
    ctune_lock_init(lock);
}

static int entry_compare(const ctune_lock_entry *a, const ctune_lock_entry *b) {
    int order = strcmp(a->source, b->source);
    order = order != 0 ? order : strcmp(a->region, b->region);
    order = order != 0 ? order : strcmp(a->target, b->target);
    return order != 0 ? order : strcmp(a->sizes, b->sizes);
}

/* ---- canonical entries --------------------------------------------------------------------- */
static const char blanks[] = " \t\r\n\v\f";

/* One line without outer blanks. NULL when memory is out. */
static char *trimmed(const char *text, size_t n) {
    while (n > 0 && strchr(blanks, text[0]) != NULL) {
        text++;
        n--;
    }
    while (n > 0 && strchr(blanks, text[n - 1]) != NULL) {
        n--;
    }
    return strndup(text, n);
}

/* Lines trimmed, empty ones dropped, each ended by a newline. Sets *is_valid to false when a line
 * is a word that ends or begins a schedule in the file. */
static char *canonical_schedule(const char *text, bool *is_valid) {
    ctune_text out;
    ctune_text_init(&out);
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        char *line = trimmed(text, n);
        if (line == NULL) {
            out.failed = true;
        } else if (line[0] != '\0') {
            *is_valid = *is_valid && strcmp(line, "end") != 0;
            ctune_text_append(&out, line);
            ctune_text_append(&out, "\n");
        }
        free(line);
        text += text[n] == '\n' ? n + 1 : n;
    }
    if (out.failed) {
        ctune_text_clear(&out);
        return NULL;
    }
    return out.data != NULL ? out.data : strdup("");
}

static bool is_number_fine(double value, double max) {
    return value >= 0 && value <= max;
}

static ctune_status entry_copy(ctune_ctx *ctx, const ctune_lock_entry *from,
                               ctune_lock_entry *out) {
    bool is_schedule_valid = true;
    *out = *from;
    out->region = trimmed(from->region, strlen(from->region));
    out->source = trimmed(from->source, strlen(from->source));
    out->target = trimmed(from->target, strlen(from->target));
    out->sizes = trimmed(from->sizes, strlen(from->sizes));
    out->schedule = canonical_schedule(from->schedule, &is_schedule_valid);
    const char *verified = from->verified != NULL ? from->verified : "";
    out->verified = trimmed(verified, strlen(verified));
    ctune_status status = CTUNE_OK;
    if (out->region == NULL || out->source == NULL || out->target == NULL || out->sizes == NULL ||
        out->schedule == NULL || out->verified == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a lock entry");
    } else if (out->region[0] == '\0' || strpbrk(out->region, blanks) != NULL) {
        status =
            ctune_fail(ctx, CTUNE_EUSAGE, "lock entry: '%.80s' is no region name", out->region);
    } else if (out->source[0] == '\0' || strpbrk(out->source, "\n") != NULL) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "lock entry: '%.80s' is no file name", out->source);
    } else if (out->target[0] == '\0' || strpbrk(out->target, "\n") != NULL) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "lock entry: '%.80s' is no target", out->target);
    } else if (strpbrk(out->sizes, "\n") != NULL) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "lock entry: sizes have more than one line");
    } else if (strpbrk(out->verified, "\n") != NULL) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "lock entry: what was verified has several lines");
    } else if (!is_schedule_valid) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "lock entry: 'end' in a schedule");
    } else if (!is_number_fine(from->speedup, 1e9) || !is_number_fine(from->tuned_ns, 1e15)) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "lock entry: speed-up or time out of range");
    }
    if (status != CTUNE_OK) {
        ctune_lock_entry_clear(out);
    }
    return status;
}

/* ---- set and find -------------------------------------------------------------------------- */
/* First index whose entry is not below `entry`. */
static int lower_bound(const ctune_lock *lock, const ctune_lock_entry *entry) {
    int low = 0, high = lock->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (entry_compare(&lock->entry[middle], entry) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool grow(ctune_lock *lock) {
    if (lock->n < lock->size) {
        return true;
    }
    size_t size = lock->size == 0 ? 8 : (size_t)lock->size * 2, bytes;
    ctune_lock_entry *entry = lock->n < MAX_ENTRIES && ctune_size_mul(size, sizeof *entry, &bytes)
                                  ? realloc(lock->entry, bytes)
                                  : NULL;
    if (entry == NULL) {
        return false;
    }
    lock->entry = entry;
    lock->size = (int)size;
    return true;
}

ctune_status ctune_lock_set(ctune_ctx *ctx, ctune_lock *lock, const ctune_lock_entry *entry) {
    ctune_lock_entry copy;
    ctune_status status = entry_copy(ctx, entry, &copy);
    if (status != CTUNE_OK) {
        return status;
    }
    int at = lower_bound(lock, &copy);
    if (at < lock->n && entry_compare(&lock->entry[at], &copy) == 0) {
        ctune_lock_entry_clear(&lock->entry[at]);
        lock->entry[at] = copy;
        return CTUNE_OK;
    }
    if (!grow(lock)) {
        ctune_lock_entry_clear(&copy);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a lock entry");
    }
    memmove(&lock->entry[at + 1], &lock->entry[at], (size_t)(lock->n - at) * sizeof *lock->entry);
    lock->entry[at] = copy;
    lock->n++;
    return CTUNE_OK;
}

const ctune_lock_entry *ctune_lock_find(const ctune_lock *lock, const char *source,
                                        const char *region, const char *target, const char *sizes) {
    for (int i = 0; i < lock->n; i++) {
        const ctune_lock_entry *e = &lock->entry[i];
        if (strcmp(e->source, source) == 0 && strcmp(e->region, region) == 0 &&
            (target == NULL || strcmp(e->target, target) == 0) &&
            (sizes == NULL || strcmp(e->sizes, sizes) == 0)) {
            return e;
        }
    }
    return NULL;
}

/* ---- the file ------------------------------------------------------------------------------ */
/* /dev/null is a file that is empty; whoever opens a FIFO waits for ever. */
static bool is_file(const struct stat *info) {
    return S_ISREG(info->st_mode) ||
           (S_ISCHR(info->st_mode) && info->st_rdev == makedev(NULL_MAJOR, NULL_MINOR));
}

ctune_status ctune_lock_read(ctune_ctx *ctx, const char *path, ctune_lock *lock) {
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) {
            return ctune_fail(ctx, CTUNE_EENV, "%s: %s", path, strerror(errno));
        }
        ctune_lock_clear(lock);
        return CTUNE_OK;
    }
    if (!is_file(&info)) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: not a regular file: this is no lock", path);
    }
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_file_read(ctx, path, &text);
    if (status == CTUNE_OK && strlen(ctune_text_get(&text)) != text.len) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "%s: a NUL byte: this is no lock", path);
    }
    if (status == CTUNE_OK) {
        status = ctune_lock_parse(ctx, path, ctune_text_get(&text), lock);
    }
    ctune_text_clear(&text);
    return status;
}

/* As entry_copy would take it, which must not change it: it would not be found again. */
static bool is_source_fine(const char *source) {
    size_t n = strlen(source);
    return n > 0 && strchr(source, '\n') == NULL && strchr(blanks, source[0]) == NULL &&
           strchr(blanks, source[n - 1]) == NULL;
}

ctune_status ctune_lock_check(ctune_ctx *ctx, const char *path, const char *source) {
    if (!is_source_fine(source)) {
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "the lock has no room for a file name with a line end, or a blank at its "
                          "start or end: '%.80s'",
                          source);
    }
    ctune_guard guard;
    ctune_status status = ctune_guard_acquire(ctx, path, &guard);
    if (status != CTUNE_OK) {
        char why[sizeof ctx->error];
        snprintf(why, sizeof why, "%s", ctx->error);
        return ctune_fail(ctx, CTUNE_EENV, "the lock cannot be written: %.400s", why);
    }
    ctune_lock lock;
    ctune_lock_init(&lock);
    status = ctune_lock_read(ctx, path, &lock);
    ctune_lock_clear(&lock);
    ctune_guard_release(&guard);
    return status;
}

static ctune_status lock_write(ctune_ctx *ctx, const char *path, const ctune_lock *lock) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_lock_print(lock, &text);
    ctune_status status = text.failed
                              ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path)
                              : ctune_file_write(ctx, path, ctune_text_get(&text), text.len);
    ctune_text_clear(&text);
    return status;
}

ctune_status ctune_lock_update(ctune_ctx *ctx, const char *path, const ctune_lock_entry *entries,
                               int n) {
    ctune_guard guard;
    ctune_status status = ctune_guard_acquire(ctx, path, &guard);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_lock lock;
    ctune_lock_init(&lock);
    status = ctune_lock_read(ctx, path, &lock);
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        status = ctune_lock_set(ctx, &lock, &entries[i]);
    }
    if (status == CTUNE_OK) {
        status = lock_write(ctx, path, &lock);
    }
    ctune_lock_clear(&lock);
    ctune_guard_release(&guard);
    return status;
}

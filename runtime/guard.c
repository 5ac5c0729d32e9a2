/*
 * flock on "<path>.lk". The data file itself cannot carry the lock, because it is replaced by
 * rename.
 *
 * The lock file is removed on release, so that nothing is left beside the user's sources. That is
 * safe because a waiter that gets the lock on a file that was removed meanwhile sees another inode
 * under the name, and begins again.
 */
#include "runtime/guard.h"

#include "runtime/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 10000, POLL_MS = 2 };

/* 1 = held, 0 = somebody else has it, -1 = error in errno */
static int try_once(const char *path, int *out_fd) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        return -1;
    }
    struct stat held, named;
    int result = 0;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        result = errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    } else if (fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
               held.st_dev == named.st_dev) {
        *out_fd = fd;
        return 1;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return result;
}

ctune_status ctune_guard_acquire(ctune_ctx *ctx, const char *path, ctune_guard *out) {
    out->fd = -1;
    ctune_text name;
    ctune_text_init(&name);
    ctune_text_printf(&name, "%s.lk", path);
    if (name.failed) {
        out->path = NULL;
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path);
    }
    out->path = name.data;
    const int64_t end_ns = ctune_now_ns() + (int64_t)WAIT_MS * 1000000;
    int state = try_once(out->path, &out->fd);
    while (state == 0 && ctune_now_ns() < end_ns) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        state = try_once(out->path, &out->fd);
    }
    if (state == 1) {
        return CTUNE_OK;
    }
    ctune_status status =
        state == 0 ? ctune_fail(ctx, CTUNE_EENV, "%s: another process has held it for %d s",
                                out->path, WAIT_MS / 1000)
                   : ctune_fail(ctx, CTUNE_EENV, "%s: %s", out->path, strerror(errno));
    free(out->path);
    out->path = NULL;
    return status;
}

void ctune_guard_release(ctune_guard *guard) {
    if (guard->path == NULL) {
        return;
    }
    unlink(guard->path);
    close(guard->fd);
    free(guard->path);
    guard->path = NULL;
    guard->fd = -1;
}

ctune_status ctune_folders_make(ctune_ctx *ctx, const char *path) {
    char *copy = strdup(path);
    if (copy == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path);
    }
    ctune_status status = CTUNE_OK;
    for (char *p = copy; *p != '\0' && status == CTUNE_OK; p++) {
        if (*p != '/' || p == copy) {
            continue;
        }
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            status = ctune_fail(ctx, CTUNE_EENV, "%s: cannot make the folder: %s", copy,
                                strerror(errno));
        }
        *p = '/';
    }
    free(copy);
    return status;
}

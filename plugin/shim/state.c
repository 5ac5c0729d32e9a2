/*
 * Tables of hashes: see state.h.
 *
 * The folder has the user's number in its name and no permissions for others; one that somebody
 * else has put there is not used. Which build a compile belongs to is read from /proc: the ancestor
 * right below the session's first process, which is the command that a person or a service started;
 * without a terminal the session's first process itself, since it may be the build (a container
 * that runs make).
 */
#include "plugin/shim/state.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_SAID = 1024, MAX_ANCESTORS = 64 };

uint64_t ctune_shim_hash(uint64_t hash, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    return hash;
}

/* ---- place ---------------------------------------------------------------------------------- */
static bool is_private(int folder) {
    struct stat st;
    return fstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

int ctune_shim_state_open(const char *name, int flags) {
    char path[PATH_MAX];
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(path, sizeof path, "%s/.ctune-%lu",
                     tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp", (unsigned long)geteuid());
    if (n < 0 || (size_t)n >= sizeof path) {
        return -1;
    }
    if (flags & O_CREAT) {
        mkdir(path, 0700); /* there already, most often */
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = folder >= 0 && is_private(folder)
                 ? openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600)
                 : -1;
    if (folder >= 0) {
        close(folder);
    }
    return fd;
}

/* ---- which build ---------------------------------------------------------------------------- */
typedef struct process {
    int pid, parent, session, tty;
    unsigned long long start; /* in ticks since the machine's */
} process;

static bool read_process(int pid, process *out) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[n] = '\0';
    const char *rest = strrchr(text, ')'); /* the name may hold anything */
    int group;
    out->pid = pid;
    return rest != NULL &&
           sscanf(rest + 1,
                  " %*c %d %d %d %d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &out->parent, &group, &out->session, &out->tty, &out->start) == 5;
}

/* 0: not known. */
static uint64_t hash_build(void) {
    process at, up;
    if (!read_process((int)getpid(), &at)) {
        return 0;
    }
    for (int i = 0; i < MAX_ANCESTORS && at.pid != at.session; i++) {
        bool is_there = at.parent > 0 && read_process(at.parent, &up) && up.session == at.session;
        if (!is_there || (up.pid == up.session && up.tty != 0)) {
            break;
        }
        at = up;
    }
    uint64_t hash = ctune_shim_hash(CTUNE_SHIM_HASH, &at.pid, sizeof at.pid);
    return ctune_shim_hash(hash, &at.start, sizeof at.start);
}

/* ---- once ----------------------------------------------------------------------------------- */
bool ctune_shim_once(const char *what) {
    uint64_t build = hash_build(), said = 0;
    int fd = build != 0 ? ctune_shim_state_open("said", O_RDWR | O_CREAT) : -1;
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return true;
    }
    uint64_t key = ctune_shim_hash(build, what, strlen(what));
    off_t place = (off_t)(key % N_SAID * sizeof key);
    bool is_first = pread(fd, &said, sizeof said, place) != sizeof said || said != key;
    if (is_first) {
        ssize_t n = pwrite(fd, &key, sizeof key, place);
        (void)n; /* not kept: said again */
    }
    close(fd); /* and the lock is gone */
    return is_first;
}

/*
 * The working folder, signals, and where the runner is.
 *
 * The folder goes away in every way a process can be asked to end: at its end, and on SIGINT,
 * SIGTERM and SIGHUP. A handler may do little, so it only notes the signal and wakes a thread; the
 * search sees the note and ends in order; when that takes longer than GRACE_MS the thread removes
 * the folder, ends the children and leaves. The history needs nothing: each record was durable
 * before. SIGKILL and a loss of power leave the folder behind; the next run removes it: a folder is
 * locked (flock) as long as its process lives, and holds a mark from the moment that it is. This is
 * the one file of the program with state of its own.
 */
#include "plugin/tool/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CTUNE_LIBEXEC /* from the program's folder to the runner's, as installed */
#define CTUNE_LIBEXEC "../libexec/ctune"
#endif

enum { GRACE_MS = 4000 };

static const char prefix[] = "ctune-", pattern[] = "ctune-XXXXXX", mark[] = ".ctune-working";

static char work_path[PATH_MAX];
static volatile sig_atomic_t stop_signal;
static int wake_pipe[2] = {-1, -1};

static void on_signal(int signal) {
    int saved = errno;
    if (stop_signal != 0) {
        signal = 0; /* the second one: no more patience */
    } else {
        stop_signal = signal;
    }
    char byte = signal == 0 ? '!' : '.';
    ssize_t n = write(wake_pipe[1], &byte, 1);
    (void)n;
    errno = saved;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    remove(path);
    return 0;
}

static void remove_tree(void) {
    if (work_path[0] != '\0' && getenv("CTUNE_KEEP") == NULL) {
        nftw(work_path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* ---- folders of processes that are no more ---- */
/* Descriptor of a folder of this user's that carries our mark and that nobody holds; -1: it is
 * none. */
static int open_dead(int tmp, const char *name) {
    struct stat st;
    int fd = openat(tmp, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
                    faccessat(fd, mark, F_OK, 0) != 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void reap(const char *tmp_path) {
    DIR *dir = opendir(tmp_path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        bool is_ours = strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
                       strlen(entry->d_name) == sizeof pattern - 1;
        int fd = is_ours ? open_dead(dirfd(dir), entry->d_name) : -1;
        int n = snprintf(path, sizeof path, "%s/%s", tmp_path, entry->d_name);
        if (fd >= 0 && n > 0 && (size_t)n < sizeof path) {
            nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

/* From here on the folder is ours until this process ends. Where a folder cannot be locked there
 * is no mark either, and nobody takes it for a dead one. One that is to be kept has none. */
static void hold(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closed by the end of the process */
    if (fd >= 0 && getenv("CTUNE_KEEP") == NULL && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        int mark_fd = openat(fd, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (mark_fd >= 0) {
            close(mark_fd);
        }
    }
}

/* Children of this process, from every thread's list: compilers and the runner. */
static void kill_children(void) {
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/children", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        for (int pid; file != NULL && fscanf(file, "%d", &pid) == 1;) {
            kill(pid, SIGKILL);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void *watch(void *unused) {
    (void)unused;
    char byte;
    while (read(wake_pipe[0], &byte, 1) < 0 && errno == EINTR) {
    }
    for (int ms = 0; byte != '!' && ms < GRACE_MS; ms += 20) {
        struct timespec pause = {0, 20 * 1000 * 1000};
        nanosleep(&pause, NULL);
    }
    kill_children();
    remove_tree();
    _exit(128 + stop_signal);
}

static ctune_status start_watching(ctune_ctx *ctx) {
    if (pipe(wake_pipe) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "pipe: %s", strerror(errno));
    }
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old); /* the thread takes no signals */
    int error = pthread_create(&thread, NULL, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "pthread_create: %s", strerror(error));
    }
    pthread_detach(thread);
    struct sigaction action = {.sa_handler = on_signal};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
    signal(SIGPIPE, SIG_IGN); /* a dying runner is an error code, not our end */
    return CTUNE_OK;
}

ctune_status ctune_workdir_create(ctune_ctx *ctx) {
    if (work_path[0] != '\0') {
        return CTUNE_OK;
    }
    const char *tmp = getenv("TMPDIR");
    tmp = tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
    char path[PATH_MAX];
    reap(tmp);
    int n = snprintf(path, sizeof path, "%s/%s", tmp, pattern);
    if (n < 0 || (size_t)n >= sizeof path || mkdtemp(path) == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot make a working folder '%s': %s", path,
                          strerror(errno));
    }
    memcpy(work_path, path, (size_t)n + 1);
    hold(path);
    return start_watching(ctx);
}

const char *ctune_workdir_path(void) {
    return work_path;
}

void ctune_workdir_remove(void) {
    if (work_path[0] != '\0' && getenv("CTUNE_KEEP") != NULL) {
        fprintf(stderr, "ctune: note: kept %s\n", work_path);
    }
    remove_tree();
}

int ctune_signal_get(void) {
    return stop_signal;
}

ctune_status ctune_runner_find(ctune_ctx *ctx, char *out, size_t size) {
    const char *given = getenv("CTUNE_RUNNER");
    if (given != NULL && given[0] != '\0') {
        snprintf(out, size, "%s", given);
        return access(out, X_OK) == 0
                   ? CTUNE_OK
                   : ctune_fail(ctx, CTUNE_EENV, "CTUNE_RUNNER: '%s': %s", out, strerror(errno));
    }
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot read /proc/self/exe: %s", strerror(errno));
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    static const char *const places[] = {"ctune-runner", CTUNE_LIBEXEC "/ctune-runner"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(out, size, "%s/%s", self, places[i]);
        if (length > 0 && (size_t)length < size && access(out, X_OK) == 0) {
            return CTUNE_OK;
        }
    }
    return ctune_fail(ctx, CTUNE_EENV, "no ctune-runner in %s or %s/%s; set CTUNE_RUNNER", self,
                      self, CTUNE_LIBEXEC);
}

/*
 * Starting and ending child processes without fork: posix_spawn, explicit descriptors, nothing
 * inherited by accident.
 *
 * Children get their own process group: a Ctrl-C at the terminal reaches the tool, which decides,
 * and a compiler driver can be stopped together with the processes it started.
 */
#include "runtime/run_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int ctune_run_fd_raise(int fd) {
    if (fd < 0 || fd >= 10) {
        return fd;
    }
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    close(fd);
    return high;
}

/* The environment with LC_ALL=C and TMPDIR. Owner: caller (free); entries are borrowed. */
static char **compiler_environment(char *temp_dir) {
    size_t n = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **copy = calloc(n + 3, sizeof *copy);
    size_t used = 0;
    for (size_t i = 0; copy != NULL && i < n; i++) {
        if (strncmp(environ[i], "LC_ALL=", 7) != 0 && strncmp(environ[i], "TMPDIR=", 7) != 0) {
            copy[used++] = environ[i];
        }
    }
    if (copy != NULL) {
        copy[used++] = (char *)"LC_ALL=C";
        copy[used] = temp_dir;
    }
    return copy;
}

static int set_up(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                  const int *fds, int n_fds) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = error != 0 ? error : posix_spawnattr_setpgroup(attributes, 0);
    error = error != 0 ? error : posix_spawnattr_setsigmask(attributes, &none);
    error = error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &all);
    for (int i = 0; i < n_fds && error == 0; i++) {
        error = fds[i] >= 0 ? posix_spawn_file_actions_adddup2(actions, fds[i], i)
                            : posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0);
    }
    return error;
}

ctune_status ctune_run_spawn(ctune_ctx *ctx, char *const *argv, const int *fds, int n_fds,
                             const char *temp_dir, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char setting[PATH_MAX + 8];
    snprintf(setting, sizeof setting, "TMPDIR=%s", temp_dir != NULL ? temp_dir : "");
    char **plain = temp_dir != NULL ? compiler_environment(setting) : NULL;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        free(plain);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        free(plain);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    int error = set_up(&actions, &attributes, fds, n_fds);
    if (error == 0) {
        error = posix_spawnp(pid, argv[0], &actions, &attributes, argv,
                             plain != NULL ? plain : environ);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(plain);
    return error == 0
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_EENV, "cannot start %s: %s", argv[0], strerror(error));
}

void ctune_run_kill(pid_t pid, int *wait_status) {
    kill(-pid, SIGKILL);
    while (waitpid(pid, wait_status, 0) < 0 && errno == EINTR) {
    }
}

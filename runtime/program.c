/*
 * Running a program: see program.h.
 */
#include "runtime/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void read_all(int fd, ctune_text *output) {
    char buffer[4096];
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) != 0;) {
        if (n < 0 && errno != EINTR) {
            break;
        }
        if (n > 0 && output != NULL) {
            ctune_text_append_n(output, buffer, (size_t)n);
        }
    }
}

ctune_status ctune_program_capture(ctune_ctx *ctx, const char *const *argv, ctune_text *output,
                                   int *wait_status) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "pipe: %s", strerror(errno));
    }
    pid_t pid;
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        error =
            error != 0 ? error : posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        error =
            error != 0 ? error : posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
        error = error != 0
                    ? error
                    : posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (error == 0) {
        read_all(ends[0], output);
    }
    close(ends[0]);
    while (error == 0 && waitpid(pid, wait_status, 0) < 0) {
        error = errno != EINTR ? errno : 0;
    }
    ctune_status status =
        error == 0 ? CTUNE_OK
                   : ctune_fail(ctx, CTUNE_EENV, "cannot run %s: %s", argv[0], strerror(error));
    errno = error;
    return status;
}

ctune_status ctune_program_run(ctune_ctx *ctx, const char *const *argv, ctune_text *output) {
    int state;
    ctune_status status = ctune_program_capture(ctx, argv, output, &state);
    if (status != CTUNE_OK || (WIFEXITED(state) && WEXITSTATUS(state) == 0)) {
        return status;
    }
    return WIFEXITED(state)
               ? ctune_fail(ctx, CTUNE_EENV, "%s: exit status %d", argv[0], WEXITSTATUS(state))
               : ctune_fail(ctx, CTUNE_EENV, "%s: killed by signal %d", argv[0], WTERMSIG(state));
}

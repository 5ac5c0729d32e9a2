/*
 * Run a program and wait for it: compilers for `show asm` and `doctor`. Candidates go through the
 * runner instead.
 */
#include "plugin/tool/tool.h"

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

static ctune_status wait_for(ctune_ctx *ctx, pid_t pid, const char *name) {
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return ctune_fail(ctx, CTUNE_EENV, "%s: %s", name, strerror(errno));
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return CTUNE_OK;
    }
    return WIFEXITED(status)
               ? ctune_fail(ctx, CTUNE_EENV, "%s: exit status %d", name, WEXITSTATUS(status))
               : ctune_fail(ctx, CTUNE_EENV, "%s: killed by signal %d", name, WTERMSIG(status));
}

ctune_status ctune_program_run(ctune_ctx *ctx, const char *const *argv, ctune_text *output) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error == 0) {
        read_all(ends[0], output);
    }
    close(ends[0]);
    return error == 0 ? wait_for(ctx, pid, argv[0])
                      : ctune_fail(ctx, CTUNE_EENV, "cannot run %s: %s", argv[0], strerror(error));
}

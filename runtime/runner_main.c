/*
 * ctune-runner: the process in which candidates run. Started by the ctune library (run_child.c),
 * not by hand.
 *
 * Commands on standard input, results on standard output, the shared state file on descriptor 3.
 * Candidates get /dev/null instead of the two, and no network, files or processes (sandbox.h).
 */
#include "runtime/exec_private.h"
#include "runtime/sandbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* Faults of candidates are ours to report. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:"
           "detect_leaks=0:allocator_may_return_null=1";
}
#endif

int main(int argc, char **argv) {
    if (argc > 1) {
        bool is_version = strcmp(argv[1], "--version") == 0;
        printf("ctune-runner %s\nMeasures candidates for ctune; not meant to be started by hand.\n",
               CTUNE_VERSION);
        return is_version ? 0 : 2;
    }
    int in_fd = fcntl(0, F_DUPFD_CLOEXEC, 10), out_fd = fcntl(1, F_DUPFD_CLOEXEC, 10);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (in_fd < 0 || out_fd < 0 || null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(null_fd, 1) < 0) {
        return 2;
    }
    ctune_exec *exec = calloc(1, sizeof *exec);
    if (exec == NULL) {
        return 2;
    }
    ctune_ctx_init(&exec->ctx);
    exec->out_fd = out_fd;
    ctune_sandbox_enter(); /* what the system lacks it lacks */
    int code = ctune_exec_serve(exec, in_fd, CTUNE_RUN_STATE_FD);
    _exit(code); /* no destructors of candidate libraries */
}

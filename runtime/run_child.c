/*
 * The runner child: starting it, talking to it, finding out how it died.
 *
 * One socket pair carries commands and results; writes use MSG_NOSIGNAL, so a dead child is an
 * error and not a signal. The last words that its fault handler says ("crash ...", "timeout") are
 * kept apart from results and turned into an outcome when the child is stopped.
 */
#include "runtime/run_private.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t ctune_run_child_patience(const ctune_runner *runner) {
    double original_s = 10 * runner->load.time_limit_s; /* see ORIGINAL_LIMIT in exec_measure.c */
    double patience_s = 30 + 2 * original_s;
    return (int64_t)((patience_s < 1e6 ? patience_s : 1e6) * 1e9);
}

static ctune_status spawn_child(ctune_ctx *ctx, ctune_runner *runner) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "socketpair: %s", strerror(errno));
    }
    int ours = ctune_run_fd_raise(pair[0]), theirs = ctune_run_fd_raise(pair[1]);
    char *argv[] = {runner->runner_path, NULL};
    int fds[4] = {theirs, theirs, -1, runner->state_fd};
    pid_t pid = 0;
    ctune_status status = ours < 0 || theirs < 0
                              ? ctune_fail(ctx, CTUNE_EENV, "no descriptor: %s", strerror(errno))
                              : ctune_run_spawn(ctx, argv, fds, 4, NULL, &pid);
    if (theirs >= 0) {
        close(theirs);
    }
    if (status != CTUNE_OK) {
        if (ours >= 0) {
            close(ours);
        }
        return status;
    }
    memset(&runner->child, 0, sizeof runner->child);
    runner->child.pid = pid;
    runner->child.fd = ours;
    return CTUNE_OK;
}

static bool send_all(ctune_runner *runner, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t sent = send(runner->child.fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool ctune_run_child_send(ctune_runner *runner, const char *format, ...) {
    char line[CTUNE_RUN_LINE_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line - 1) {
        return false;
    }
    line[n] = '\n';
    return send_all(runner, line, (size_t)n + 1);
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_last_words(const char *line) {
    return starts_with(line, "crash ") || starts_with(line, "memory ") ||
           starts_with(line, "error ") || strcmp(line, "timeout") == 0 || strcmp(line, "late") == 0;
}

/* A whole line out of the buffer; one that is too long is cut. */
static bool take_line(run_child *child, char *line, size_t size) {
    char *newline = memchr(child->buffer, '\n', child->n_buffered);
    bool is_full = child->n_buffered == sizeof child->buffer;
    if (newline == NULL && !is_full) {
        return false;
    }
    size_t used = newline != NULL ? (size_t)(newline - child->buffer) : child->n_buffered;
    size_t eaten = newline != NULL ? used + 1 : used;
    snprintf(line, size, "%.*s", (int)used, child->buffer);
    memmove(child->buffer, child->buffer + eaten, child->n_buffered - eaten);
    child->n_buffered -= eaten;
    return true;
}

static void receive(run_child *child) {
    ssize_t n;
    do {
        n = recv(child->fd, child->buffer + child->n_buffered,
                 sizeof child->buffer - child->n_buffered, 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        child->is_at_end = true;
    } else {
        child->n_buffered += (size_t)n;
    }
}

ctune_status ctune_run_child_read(ctune_ctx *ctx, ctune_runner *runner, int64_t wait_ns, char *line,
                                  size_t size, run_line *what) {
    run_child *child = &runner->child;
    int64_t until_ns = ctune_now_ns() + wait_ns;
    for (;;) {
        if (take_line(child, line, size)) {
            if (!is_last_words(line)) {
                *what = RUN_LINE_OK;
                return CTUNE_OK;
            }
            snprintf(child->last_words, sizeof child->last_words, "%s", line);
            continue;
        }
        if (child->is_at_end) {
            *what = RUN_LINE_END;
            return CTUNE_OK;
        }
        int64_t left_ns = until_ns - ctune_now_ns();
        if (left_ns <= 0) {
            *what = RUN_LINE_LATE;
            return CTUNE_OK;
        }
        bool is_readable;
        ctune_status status = ctune_run_wait(ctx, runner, child->fd, left_ns, &is_readable);
        if (status != CTUNE_OK) {
            return status;
        }
        if (is_readable) {
            receive(child);
        }
    }
}

static void set_outcome(ctune_run_result *result, ctune_run_outcome outcome, const char *detail) {
    memset(result, 0, sizeof *result);
    result->outcome = outcome;
    snprintf(result->detail, sizeof result->detail, "%.159s", detail);
}

/* Last words first; without them, how the process ended. */
static void explain_death(const run_child *child, bool has_ended, int wait_status,
                          ctune_run_result *result) {
    char words[64];
    if (starts_with(child->last_words, "crash ")) {
        set_outcome(result, CTUNE_RUN_CRASH, child->last_words + strlen("crash "));
    } else if (starts_with(child->last_words, "memory ")) {
        set_outcome(result, CTUNE_RUN_MEMORY, child->last_words + strlen("memory "));
    } else if (strcmp(child->last_words, "timeout") == 0) {
        set_outcome(result, CTUNE_RUN_TIMEOUT, "time limit");
    } else if (strcmp(child->last_words, "late") == 0) {
        set_outcome(result, CTUNE_RUN_SKIPPED, "no time left");
    } else if (!has_ended) {
        set_outcome(result, CTUNE_RUN_TIMEOUT, "no answer");
    } else if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) {
        set_outcome(result, CTUNE_RUN_MEMORY, "killed by the system");
    } else if (WIFSIGNALED(wait_status)) {
        const char *name = sigabbrev_np(WTERMSIG(wait_status));
        snprintf(words, sizeof words, "SIG%s", name != NULL ? name : "?");
        set_outcome(result, CTUNE_RUN_CRASH, words);
    } else {
        snprintf(words, sizeof words, "ended the process with code %d", WEXITSTATUS(wait_status));
        set_outcome(result, CTUNE_RUN_CRASH, words);
    }
}

/* The socket ended: its process is ending too. A descendant of a candidate cannot hold the socket
 * (CLOEXEC). */
static void reap(pid_t pid, bool has_ended, int *wait_status) {
    for (int i = 0; has_ended && i < 200; i++) {
        if (waitpid(pid, wait_status, WNOHANG) == pid) {
            kill(-pid, SIGKILL); /* whatever it has started */
            return;
        }
        struct timespec nap = {0, i < 20 ? 100000 : 5000000};
        nanosleep(&nap, NULL);
    }
    ctune_run_kill(pid, wait_status);
}

void ctune_run_child_stop(ctune_runner *runner, ctune_run_result *result) {
    run_child *child = &runner->child;
    int wait_status = 0;
    if (child->pid > 0) {
        bool has_ended = child->is_at_end;
        reap(child->pid, has_ended, &wait_status);
        close(child->fd);
        if (result != NULL) {
            explain_death(child, has_ended, wait_status, result);
        }
    }
    memset(child, 0, sizeof *child);
}

static ctune_status send_workload(ctune_ctx *ctx, ctune_runner *runner) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_run_workload_print(&runner->load, &runner->setup, &text);
    bool is_whole = !text.failed;
    if (is_whole) {
        send_all(runner, text.data, text.len); /* a dead child shows as end of file */
    }
    ctune_text_clear(&text);
    return is_whole ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

static ctune_status greet(ctune_ctx *ctx, ctune_runner *runner) {
    char line[CTUNE_RUN_LINE_MAX] = "";
    run_line what;
    ctune_status status = send_workload(ctx, runner);
    if (status == CTUNE_OK) {
        status = ctune_run_child_read(ctx, runner, ctune_run_child_patience(runner), line,
                                      sizeof line, &what);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    if (what != RUN_LINE_OK || strcmp(line, "ready") != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "%s does not start: %s", runner->runner_path,
                          what == RUN_LINE_OK ? line : runner->child.last_words);
    }
    run_job *original = &runner->original->jobs[0];
    bool is_loaded;
    ctune_run_result why;
    status = ctune_run_child_load(ctx, runner, original, &is_loaded, &why);
    if (status == CTUNE_OK && !is_loaded) {
        return ctune_fail(ctx, CTUNE_EENV, "the original cannot be loaded: %s", why.detail);
    }
    return status;
}

ctune_status ctune_run_child_start(ctune_ctx *ctx, ctune_runner *runner) {
    if (runner->child.pid > 0) {
        return CTUNE_OK;
    }
    ctune_status status = spawn_child(ctx, runner);
    if (status == CTUNE_OK) {
        status = greet(ctx, runner);
    }
    if (status != CTUNE_OK) {
        ctune_run_child_stop(runner, NULL);
    }
    return status;
}

ctune_status ctune_run_child_result(ctune_ctx *ctx, ctune_runner *runner, run_line what,
                                    const char *line, ctune_run_result *result) {
    int index;
    if (what != RUN_LINE_OK) {
        ctune_run_child_stop(runner, result);
        return CTUNE_OK;
    }
    return ctune_run_result_parse(line, &index, result)
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_EBUG, "runner said: %.200s", line);
}

ctune_status ctune_run_child_load(ctune_ctx *ctx, ctune_runner *runner, const run_job *job,
                                  bool *is_loaded, ctune_run_result *result) {
    char line[CTUNE_RUN_LINE_MAX];
    run_line what;
    *is_loaded = false;
    ctune_run_child_send(runner, "load %d %s", job->id, job->so_path);
    ctune_status status = ctune_run_child_read(ctx, runner, ctune_run_child_patience(runner), line,
                                               sizeof line, &what);
    if (status != CTUNE_OK) {
        return status;
    }
    if (what != RUN_LINE_OK) {
        ctune_run_child_stop(runner, result);
    } else if (starts_with(line, "loaded ")) {
        *is_loaded = true;
    } else {
        set_outcome(result, CTUNE_RUN_COMPILE, line);
    }
    return CTUNE_OK;
}

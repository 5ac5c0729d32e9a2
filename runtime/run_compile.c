/*
 * Compile jobs: candidates in, shared objects out, many at a time, while others are measured.
 *
 * A job is one compiler process. Its stderr is a pipe to us; the end of file on it is how we learn
 * that it is done, so no signal handler and no thread is needed. The oldest batch compiles first.
 * Jobs run on the compile CPUs, and on the measuring CPUs too as long as nothing is measured: those
 * are stopped (SIGSTOP to the group) when measuring begins.
 *
 * A chunk that does not compile is split into jobs of one candidate, so that the culprit alone
 * fails.
 */
#include "runtime/run_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG_BYTES = 8192 };

static const double CHUNK_LIMIT_S = 30, SINGLE_LIMIT_S = 15; /* wall time of one compiler */

/* ---- flags ---- */

/* What would write files beside the object, load plugins, or need a runtime that the runner lacks.
 */
static const struct {
    const char *text;
    bool is_prefix, takes_value;
} dropped_flags[] = {
    {"-c", false, false},
    {"-S", false, false},
    {"-E", false, false},
    {"-o", true, true},
    {"-M", false, false},
    {"-MM", false, false},
    {"-MD", false, false},
    {"-MMD", false, false},
    {"-MP", false, false},
    {"-MG", false, false},
    {"-MF", true, true},
    {"-MT", true, true},
    {"-MQ", true, true},
    {"-MJ", true, true},
    {"-emit-llvm", false, false},
    {"-fsyntax-only", false, false},
    {"-save-temps", true, false},
    {"-ftime-trace", true, false},
    {"-fplugin", true, false},
    {"-flto", true, false},
    {"-fsanitize", true, false},
    {"--coverage", false, false},
    {"-ftest-coverage", false, false},
    {"-fprofile-", true, false},
    {"-fcoverage-", true, false},
    {"-pg", false, false},
    {"-static", false, false},
    {"-pie", false, false},
};

/* Index of the row for this flag or -1. */
static int find_dropped(const char *flag) {
    for (size_t i = 0; i < sizeof dropped_flags / sizeof *dropped_flags; i++) {
        const char *text = dropped_flags[i].text;
        if (strcmp(flag, text) == 0 ||
            (dropped_flags[i].is_prefix && strncmp(flag, text, strlen(text)) == 0)) {
            return (int)i;
        }
    }
    return -1;
}

int ctune_run_flags_filter(int n_flags, const char *const *flags, const char **out) {
    int n = 0;
    for (int i = 0; i < n_flags; i++) {
        int row = find_dropped(flags[i]);
        if (row < 0) {
            out[n++] = flags[i];
        } else if (dropped_flags[row].takes_value &&
                   strcmp(flags[i], dropped_flags[row].text) == 0) {
            i++; /* the value is the next word */
        }
    }
    return n;
}

/* ---- batches ---- */

static void init_job(ctune_runner *runner, run_batch *batch, int first, int n) {
    run_job *job = &batch->jobs[batch->n_jobs++];
    memset(job, 0, sizeof *job);
    job->state = RUN_JOB_QUEUED;
    job->first = first;
    job->n = n;
    job->id = runner->next_id++;
    job->err_fd = -1;
    job->c_path = ctune_arena_printf(batch->arena, "%s/batch%d.c", runner->work_dir, job->id);
    job->so_path = ctune_arena_printf(batch->arena, "%s/batch%d.so", runner->work_dir, job->id);
    job->log = ctune_arena_alloc(batch->arena, LOG_BYTES);
}

run_batch *ctune_run_batch_create(ctune_runner *runner, const char *prelude,
                                  const char *const *units, const char *const *names, int n,
                                  int n_chunks) {
    ctune_arena *arena = ctune_arena_create(NULL);
    run_batch *batch = CTUNE_NEW(arena, run_batch);
    if (batch == NULL) {
        ctune_arena_destroy(arena);
        return NULL;
    }
    batch->arena = arena;
    batch->n = n;
    batch->max_jobs = n_chunks + n;
    batch->prelude = ctune_arena_strdup(arena, prelude);
    batch->units = CTUNE_NEW_ARRAY(arena, const char *, n);
    batch->names = CTUNE_NEW_ARRAY(arena, const char *, n);
    batch->jobs = CTUNE_NEW_ARRAY(arena, run_job, batch->max_jobs);
    for (int i = 0; i < n && !ctune_arena_has_failed(arena); i++) {
        batch->units[i] = ctune_arena_strdup(arena, units[i]);
        batch->names[i] = ctune_arena_strdup(arena, names[i]);
    }
    for (int k = 0; k < n_chunks && !ctune_arena_has_failed(arena); k++) {
        int first = n * k / n_chunks, end = n * (k + 1) / n_chunks;
        init_job(runner, batch, first, end - first);
    }
    if (ctune_arena_has_failed(arena)) {
        ctune_arena_destroy(arena);
        return NULL;
    }
    return batch;
}

void ctune_run_job_remove_files(run_job *job) {
    if (job->c_path != NULL && job->so_path != NULL) {
        unlink(job->c_path);
        unlink(job->so_path);
    }
}

static void end_process(run_job *job) {
    int wait_status;
    if (job->state == RUN_JOB_RUNNING) {
        close(job->err_fd);
        ctune_run_kill(job->pid, &wait_status);
        job->state = RUN_JOB_FAILED;
    }
}

void ctune_run_job_cancel(run_job *job) {
    end_process(job);
    ctune_run_job_remove_files(job);
}

void ctune_run_batch_destroy(run_batch *batch) {
    if (batch == NULL) {
        return;
    }
    for (int i = 0; i < batch->n_jobs; i++) {
        ctune_run_job_cancel(&batch->jobs[i]);
    }
    ctune_arena_destroy(batch->arena);
}

void ctune_run_job_split(ctune_runner *runner, run_batch *batch, run_job *job) {
    job->state = RUN_JOB_DONE;
    ctune_run_job_remove_files(job);
    for (int i = 0; i < job->n; i++) {
        init_job(runner, batch, job->first + i, 1);
    }
}

/* ---- one job ---- */

static ctune_status write_source(ctune_ctx *ctx, const run_batch *batch, const run_job *job) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_line(&text, "%s", batch->prelude);
    for (int i = job->first; i < job->first + job->n; i++) {
        ctune_text_line(&text, "%s", batch->units[i]);
    }
    const char *exported = "__attribute__((visibility(\"default\")))";
    ctune_text_line(&text, "%s int ctune_batch_n = %d;", exported, job->n);
    ctune_text_line(&text, "%s int (*const ctune_batch[])(const ctune_args *) = {", exported);
    for (int i = job->first; i < job->first + job->n; i++) {
        ctune_text_line(&text, "    %s,", batch->names[i]);
    }
    ctune_text_line(&text, "};");
    FILE *file =
        text.failed ? NULL : fopen(job->c_path, "we"); /* private and short-lived: no fsync */
    bool is_ok = file != NULL && fwrite(text.data, 1, text.len, file) == text.len;
    int saved = errno;
    is_ok = (file == NULL || fclose(file) == 0) && is_ok;
    ctune_text_clear(&text);
    return is_ok
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_EENV, "%s: cannot write: %s", job->c_path, strerror(saved));
}

static ctune_status spawn_compiler(ctune_ctx *ctx, ctune_runner *runner, run_job *job) {
    static const char *const ours[] = {"-w", "-g0", "-fPIC", "-fno-lto", "-pipe", "-shared"};
    enum { N_OURS = sizeof ours / sizeof *ours };
    const char **argv = calloc((size_t)runner->n_flags + N_OURS + 6, sizeof *argv);
    int pipe_fds[2];
    if (argv == NULL || pipe2(pipe_fds, O_CLOEXEC) != 0) {
        free(argv);
        return ctune_fail(ctx, CTUNE_ENOMEM, "cannot start a compiler: %s", strerror(errno));
    }
    int n = 0;
    argv[n++] = runner->command;
    for (int i = 0; i < runner->n_flags; i++) {
        argv[n++] = runner->flags[i];
    }
    for (int i = 0; i < N_OURS; i++) {
        argv[n++] = ours[i];
    }
    argv[n++] = "-o";
    argv[n++] = job->so_path;
    argv[n++] = job->c_path;
    argv[n++] = "-lm";
    int write_fd = ctune_run_fd_raise(pipe_fds[1]);
    job->err_fd = ctune_run_fd_raise(pipe_fds[0]);
    int fds[3] = {-1, -1, write_fd};
    ctune_status status =
        write_fd < 0 || job->err_fd < 0
            ? ctune_fail(ctx, CTUNE_EENV, "no descriptor: %s", strerror(errno))
            : ctune_run_spawn(ctx, (char *const *)argv, fds, 3, runner->temp_dir, &job->pid);
    free(argv);
    if (write_fd >= 0) {
        close(write_fd);
    }
    if (status != CTUNE_OK) {
        if (job->err_fd >= 0) {
            close(job->err_fd);
        }
        return status;
    }
    fcntl(job->err_fd, F_SETFL, O_NONBLOCK);
    return CTUNE_OK;
}

static ctune_status start_job(ctune_ctx *ctx, ctune_runner *runner, run_batch *batch, run_job *job,
                              bool on_measure_cpus) {
    ctune_status status = write_source(ctx, batch, job);
    if (status == CTUNE_OK) {
        status = spawn_compiler(ctx, runner, job);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    const cpu_set_t *set = on_measure_cpus ? &runner->cpus.measure : &runner->cpus.compile;
    sched_setaffinity(job->pid, sizeof *set, set); /* before the driver has started anything */
    job->state = RUN_JOB_RUNNING;
    job->is_on_measure_cpus = on_measure_cpus;
    job->is_stopped = false;
    job->log_len = 0;
    double limit_s = job->n == 1 ? SINGLE_LIMIT_S : CHUNK_LIMIT_S;
    job->deadline_ns = ctune_now_ns() + (int64_t)(limit_s * 1e9);
    return CTUNE_OK;
}

/* The first line with an error in it, else the first line. */
static void pick_message(run_job *job) {
    job->log[job->log_len] = '\0';
    const char *line = job->log, *found = strstr(job->log, "error:");
    if (found != NULL) {
        line = found + strlen("error:");
        line += strspn(line, " ");
    }
    int n = (int)strcspn(line, "\n");
    snprintf(job->message, sizeof job->message, "%.*s", n, line);
}

static void finish_job(run_job *job) {
    int wait_status = 0;
    close(job->err_fd);
    job->err_fd = -1;
    while (waitpid(job->pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    unlink(job->c_path);
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
        job->state = RUN_JOB_BUILT;
        return;
    }
    job->state = RUN_JOB_FAILED;
    pick_message(job);
    if (job->message[0] == '\0' && WIFSIGNALED(wait_status)) {
        snprintf(job->message, sizeof job->message, "the compiler was killed by signal %d",
                 WTERMSIG(wait_status));
    } else if (job->message[0] == '\0') {
        snprintf(job->message, sizeof job->message, "the compiler failed and did not say why");
    }
}

static void read_log(run_job *job) {
    char bytes[4096];
    for (;;) {
        ssize_t n = read(job->err_fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            finish_job(job);
            return;
        }
        size_t room = LOG_BYTES - 1 - job->log_len, take = (size_t)n < room ? (size_t)n : room;
        memcpy(job->log + job->log_len, bytes, take);
        job->log_len += take;
    }
}

static void give_up(run_job *job) {
    end_process(job);
    unlink(job->c_path);
    snprintf(job->message, sizeof job->message, "the compiler took longer than %.0f s",
             job->n == 1 ? SINGLE_LIMIT_S : CHUNK_LIMIT_S);
}

/* ---- all jobs ---- */

/* Visits every job, oldest batch first: batch and job are loop variables of the caller. */
#define FOR_EACH_JOB(runner, batch, job)                                                           \
    for (run_batch *batch = (runner)->oldest; batch != NULL; batch = batch->next)                  \
        for (run_job *job = batch->jobs; job < batch->jobs + batch->n_jobs; job++)

ctune_status ctune_run_jobs_start(ctune_ctx *ctx, ctune_runner *runner) {
    if (runner->is_quiet) {
        return CTUNE_OK;
    }
    int n_apart = 0, n_shared = 0;
    int max_apart = runner->cpus.n_compile,
        max_shared = runner->is_measuring ? 0 : runner->cpus.n_measure;
    max_apart = max_apart < RUN_MAX_JOBS_RUNNING ? max_apart : RUN_MAX_JOBS_RUNNING;
    max_shared = max_shared < RUN_MAX_JOBS_RUNNING ? max_shared : RUN_MAX_JOBS_RUNNING;
    FOR_EACH_JOB(runner, batch, job) {
        n_apart += job->state == RUN_JOB_RUNNING && !job->is_on_measure_cpus;
        n_shared += job->state == RUN_JOB_RUNNING && job->is_on_measure_cpus;
    }
    FOR_EACH_JOB(runner, batch, job) {
        bool has_apart = n_apart < max_apart, has_shared = n_shared < max_shared;
        if (job->state != RUN_JOB_QUEUED) {
            continue;
        }
        if (!has_apart && !has_shared) {
            break;
        }
        ctune_status status = start_job(ctx, runner, batch, job, !has_apart);
        if (status != CTUNE_OK) {
            return status;
        }
        n_apart += has_apart;
        n_shared += !has_apart;
    }
    return CTUNE_OK;
}

void ctune_run_jobs_pause(ctune_runner *runner, bool all) {
    runner->is_measuring = true;
    runner->is_quiet = all;
    FOR_EACH_JOB(runner, batch, job) {
        if (job->state == RUN_JOB_RUNNING && !job->is_stopped && (all || job->is_on_measure_cpus)) {
            kill(-job->pid, SIGSTOP);
            job->is_stopped = true;
            job->stopped_at_ns = ctune_now_ns();
        }
    }
}

void ctune_run_jobs_resume(ctune_runner *runner) {
    runner->is_measuring = runner->is_quiet = false;
    FOR_EACH_JOB(runner, batch, job) {
        if (job->state == RUN_JOB_RUNNING && job->is_stopped) {
            kill(-job->pid, SIGCONT);
            job->is_stopped = false;
            job->deadline_ns += ctune_now_ns() - job->stopped_at_ns;
        }
    }
}

/* Milliseconds until `until_ns` or the first deadline of a job; -1: none. */
static int poll_timeout(const ctune_runner *runner, int64_t until_ns) {
    int64_t first = until_ns;
    FOR_EACH_JOB(runner, batch, job) {
        if (job->state == RUN_JOB_RUNNING && !job->is_stopped && job->deadline_ns < first) {
            first = job->deadline_ns;
        }
    }
    if (first == INT64_MAX) {
        return -1;
    }
    int64_t left_ms = (first - ctune_now_ns()) / 1000000 + 1;
    return left_ms < 0 ? 0 : left_ms > 60000 ? 60000 : (int)left_ms;
}

ctune_status ctune_run_wait(ctune_ctx *ctx, ctune_runner *runner, int fd, int64_t wait_ns,
                            bool *is_readable) {
    struct pollfd polled[2 * RUN_MAX_JOBS_RUNNING + 1];
    run_job *owner[2 * RUN_MAX_JOBS_RUNNING + 1];
    nfds_t n = 0;
    ctune_status status = ctune_run_jobs_start(ctx, runner);
    if (status != CTUNE_OK) {
        return status;
    }
    FOR_EACH_JOB(runner, batch, job) {
        if (job->state == RUN_JOB_RUNNING && n < 2 * RUN_MAX_JOBS_RUNNING) {
            owner[n] = job;
            polled[n++] = (struct pollfd){.fd = job->err_fd, .events = POLLIN};
        }
    }
    nfds_t n_jobs = n;
    if (fd >= 0) {
        polled[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        *is_readable = false;
    }
    int64_t until_ns = wait_ns < 0 ? INT64_MAX : ctune_now_ns() + wait_ns;
    int ready = poll(polled, n, poll_timeout(runner, until_ns));
    if (ready < 0 && errno != EINTR) {
        return ctune_fail(ctx, CTUNE_EENV, "poll: %s", strerror(errno));
    }
    int64_t now = ctune_now_ns();
    for (nfds_t i = 0; i < n_jobs; i++) {
        if (ready > 0 && polled[i].revents != 0) {
            read_log(owner[i]);
        }
        if (owner[i]->state == RUN_JOB_RUNNING && !owner[i]->is_stopped &&
            owner[i]->deadline_ns < now) {
            give_up(owner[i]);
        }
    }
    if (fd >= 0 && ready > 0 && polled[n_jobs].revents != 0) {
        *is_readable = true;
    }
    return ctune_run_jobs_start(ctx, runner);
}

/*
 * Measuring candidates: the public functions of runner.h, over compile jobs (run_compile.c) and the
 * runner child (run_child.c). Whatever a candidate does ends in its own result; an error status
 * means that nothing more can be measured (no compiler, no runner, no memory).
 */
#include "runtime/run_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_MIN = 3, CHUNKS_MAX = 4 };

static const double TIME_LIMIT_S = 10, MIN_SAMPLE_NS = 20000, ORIGINAL_S = 1;
static const size_t MEMORY_LIMIT_BYTES = (size_t)2 << 30;

/* ---- create and destroy ---- */

ctune_status ctune_run_workload_check(ctune_ctx *ctx, const ctune_run_workload *load) {
    if (load->n_params < 0 || load->n_params > CTUNE_RUN_MAX_PARAMS || load->n_tensors < 0 ||
        load->n_tensors > CTUNE_RUN_MAX_TENSORS) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "workload: too many parameters or tensors");
    }
    for (int i = 0; i < load->n_tensors; i++) {
        const ctune_run_tensor *t = &load->tensor[i];
        size_t bytes;
        if (t->rank < 0 || t->rank > CTUNE_RUN_MAX_RANK || t->type[0] == '\0' ||
            memchr(t->type, '\0', sizeof t->type) == NULL || !ctune_run_tensor_bytes(t, &bytes)) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "workload: tensor %d has a bad shape", i);
        }
    }
    size_t bytes;
    return ctune_run_state_bytes(load, &bytes)
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_EUSAGE, "workload: tensors too large");
}

/* An unnamed file for the reference outputs, with its header written. */
ctune_status ctune_run_state_create(ctune_ctx *ctx, ctune_runner *runner) {
    int fd = memfd_create("ctune-reference", MFD_CLOEXEC);
    if (fd < 0) {
        fd = open(runner->work_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    }
    runner->state_fd = ctune_run_fd_raise(fd);
    return ctune_run_state_reset(ctx, runner);
}

void ctune_run_state_restore(ctune_runner *runner, int fd) {
    if (runner->state_fd >= 0 && runner->state_fd != fd) {
        close(runner->state_fd);
    }
    runner->state_fd = fd;
}

ctune_status ctune_run_state_reset(ctune_ctx *ctx, ctune_runner *runner) {
    size_t bytes;
    ctune_run_state header;
    memset(&header, 0, sizeof header);
    header.magic = CTUNE_RUN_STATE_MAGIC;
    bool is_ok = runner->state_fd >= 0 && ctune_run_state_bytes(&runner->load, &bytes) &&
                 ftruncate(runner->state_fd, 0) == 0 &&
                 ftruncate(runner->state_fd, (off_t)bytes) == 0 &&
                 pwrite(runner->state_fd, &header, sizeof header, 0) == (ssize_t)sizeof header;
    return is_ok
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_EENV, "cannot create the shared state: %s", strerror(errno));
}

static bool copy_settings(ctune_runner *runner, const char *runner_path, const char *work_dir,
                          const ctune_run_compiler *compiler) {
    runner->runner_path = strdup(runner_path);
    runner->work_dir = strdup(work_dir);
    runner->command = strdup(compiler->command);
    const char **kept = calloc((size_t)compiler->n_flags + 1, sizeof *kept);
    runner->flags = calloc((size_t)compiler->n_flags + 1, sizeof *runner->flags);
    bool is_ok = runner->runner_path != NULL && runner->work_dir != NULL &&
                 runner->command != NULL && kept != NULL && runner->flags != NULL;
    int n = is_ok ? ctune_run_flags_filter(compiler->n_flags, compiler->flags, kept) : 0;
    for (int i = 0; i < n && is_ok; i++) {
        runner->flags[i] = strdup(kept[i]);
        runner->n_flags += runner->flags[i] != NULL;
        is_ok = runner->flags[i] != NULL;
    }
    free(kept);
    return is_ok;
}

void ctune_run_workload_default(ctune_run_workload *load) {
    load->time_limit_s = load->time_limit_s > 0 ? load->time_limit_s : TIME_LIMIT_S;
    load->min_sample_ns = load->min_sample_ns > 0 ? load->min_sample_ns : MIN_SAMPLE_NS;
    load->original_s = load->original_s > 0 ? load->original_s : ORIGINAL_S;
    load->memory_limit_bytes =
        load->memory_limit_bytes > 0 ? load->memory_limit_bytes : MEMORY_LIMIT_BYTES;
}

static void choose_cpus(ctune_runner *runner) {
    ctune_run_cpus_choose(
        ctune_run_threads_guess(runner->n_flags, (const char *const *)runner->flags),
        &runner->cpus);
    for (int cpu = 0; cpu < CPU_SETSIZE && runner->setup.n_cpus < CTUNE_RUN_MAX_CPUS; cpu++) {
        if (CPU_ISSET(cpu, &runner->cpus.measure)) {
            runner->setup.cpu[runner->setup.n_cpus++] = cpu;
        }
    }
    if (runner->cpus.n_measure > CTUNE_RUN_MAX_CPUS) {
        runner->setup.n_cpus = 0; /* a machine that large is not pinned */
    }
}

ctune_status ctune_runner_create(ctune_ctx *ctx, const char *runner_path, const char *work_dir,
                                 const ctune_run_compiler *compiler,
                                 const ctune_run_workload *workload, ctune_runner **out) {
    ctune_status status = ctune_run_workload_check(ctx, workload);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_runner *runner = calloc(1, sizeof *runner);
    if (runner == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    runner->state_fd = -1;
    runner->load = *workload;
    ctune_run_workload_default(&runner->load);
    status = copy_settings(runner, runner_path, work_dir, compiler)
                 ? ctune_run_state_create(ctx, runner)
                 : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    if (status != CTUNE_OK) {
        ctune_runner_destroy(runner);
        return status;
    }
    if (asprintf(&runner->temp_dir, "%s/compiler-XXXXXX", work_dir) < 0) {
        runner->temp_dir = NULL;
    }
    if (runner->temp_dir == NULL || mkdtemp(runner->temp_dir) == NULL) {
        ctune_runner_destroy(runner);
        return ctune_fail(ctx, CTUNE_EENV, "%s: cannot make a folder: %s", work_dir,
                          strerror(errno));
    }
    choose_cpus(runner);
    *out = runner;
    return CTUNE_OK;
}

void ctune_runner_rest(ctune_runner *runner) {
    if (runner != NULL && runner->oldest == NULL) {
        ctune_run_child_stop(runner, NULL);
    }
}

void ctune_runner_destroy(ctune_runner *runner) {
    if (runner == NULL) {
        return;
    }
    ctune_run_child_stop(runner, NULL);
    while (runner->oldest != NULL) {
        run_batch *next = runner->oldest->next;
        if (runner->oldest != runner->original) {
            ctune_run_batch_destroy(runner->oldest);
        }
        runner->oldest = next;
    }
    ctune_run_batch_destroy(runner->original);
    if (runner->state_fd >= 0) {
        close(runner->state_fd);
    }
    for (int i = 0; i < runner->n_flags; i++) {
        free(runner->flags[i]);
    }
    free(runner->flags);
    free(runner->command);
    if (runner->temp_dir != NULL) {
        ctune_folder_remove(runner->temp_dir);
    }
    free(runner->temp_dir);
    free(runner->work_dir);
    free(runner->runner_path);
    free(runner);
}

void ctune_runner_set_deadline(ctune_runner *runner, int64_t deadline_ns) {
    runner->deadline_ns = deadline_ns;
}

void ctune_runner_limit_baseline(ctune_runner *runner, double limit_s) {
    runner->baseline_s = limit_s;
}

void ctune_runner_times(const ctune_runner *runner, double *compile_s, double *run_s) {
    *compile_s = (double)runner->compile_ns * 1e-9;
    *run_s = (double)runner->run_ns * 1e-9;
}

/* ---- the queue of batches ---- */

void ctune_run_batch_link(ctune_runner *runner, run_batch *batch) {
    run_batch **end = &runner->oldest;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = batch;
}

void ctune_run_batch_unlink(ctune_runner *runner, run_batch *batch) {
    for (run_batch **at = &runner->oldest; *at != NULL; at = &(*at)->next) {
        if (*at == batch) {
            *at = batch->next;
            batch->next = NULL;
            return;
        }
    }
}

void ctune_run_result_fail(ctune_run_result *result, ctune_run_outcome outcome,
                           const char *detail) {
    memset(result, 0, sizeof *result);
    result->outcome = outcome;
    snprintf(result->detail, sizeof result->detail, "%s", detail);
}

static void fail_job(run_job *job, ctune_run_result *results, const ctune_run_result *why) {
    for (int i = 0; i < job->n; i++) {
        results[job->first + i] = *why;
    }
    job->state = RUN_JOB_DONE;
    ctune_run_job_remove_files(job);
}

static void skip_job(run_job *job, ctune_run_result *results) {
    ctune_run_result why;
    ctune_run_result_fail(&why, CTUNE_RUN_SKIPPED, "no time left");
    ctune_run_job_cancel(job);
    fail_job(job, results, &why);
}

/* One look at all jobs: a built one, and whether others are still waited for. */
static run_job *look_at_jobs(ctune_runner *runner, run_batch *batch, bool is_late,
                             ctune_run_result *results, bool *is_waiting) {
    *is_waiting = false;
    for (int i = 0; i < batch->n_jobs; i++) {
        run_job *job = &batch->jobs[i];
        bool is_open = job->state == RUN_JOB_QUEUED || job->state == RUN_JOB_RUNNING;
        if (is_late && job->state != RUN_JOB_DONE && job->state != RUN_JOB_BUILT) {
            skip_job(job, results);
        } else if (job->state == RUN_JOB_FAILED && job->n > 1) {
            ctune_run_job_split(runner, batch, job);
        } else if (job->state == RUN_JOB_FAILED) {
            ctune_run_result why;
            ctune_run_result_fail(&why, CTUNE_RUN_COMPILE, job->message);
            fail_job(job, results, &why);
        } else if (job->state == RUN_JOB_BUILT) {
            return job;
        }
        *is_waiting = *is_waiting || (is_open && job->state != RUN_JOB_DONE);
    }
    return NULL;
}

ctune_status ctune_run_next_built(ctune_ctx *ctx, ctune_runner *runner, run_batch *batch,
                                  int64_t until_ns, ctune_run_result *results, run_job **built) {
    int64_t start_ns = ctune_now_ns();
    ctune_status status = CTUNE_OK;
    bool is_waiting = true;
    while (status == CTUNE_OK) {
        int64_t now_ns = ctune_now_ns();
        bool is_late = until_ns > 0 && now_ns >= until_ns;
        *built = look_at_jobs(runner, batch, is_late, results, &is_waiting);
        if (*built != NULL || !is_waiting) {
            break;
        }
        status = ctune_run_wait(ctx, runner, -1, until_ns > 0 ? until_ns - now_ns : -1, NULL);
    }
    runner->compile_ns += ctune_now_ns() - start_ns;
    return status;
}

/* ---- measuring one library ---- */

static bool is_past(const ctune_runner *runner) {
    return runner->deadline_ns > 0 && ctune_now_ns() >= runner->deadline_ns;
}

static void send_deadline(ctune_runner *runner) {
    ctune_run_child_send(runner, "deadline %lld", (long long)runner->deadline_ns);
}

/* Reads results of candidates [from, job->n) of a job. *next: the first one without a result.
 * *is_done: all answered; else the child has died or is late, with candidate *next to blame when
 * *was_started. */
static ctune_status read_results(ctune_ctx *ctx, ctune_runner *runner, const run_job *job,
                                 double *best_ns, ctune_run_result *results, int *next,
                                 bool *was_started, bool *is_done) {
    *was_started = *is_done = false;
    for (;;) {
        char line[CTUNE_RUN_LINE_MAX];
        run_line what;
        ctune_status status = ctune_run_child_read(ctx, runner, ctune_run_child_patience(runner),
                                                   line, sizeof line, &what);
        if (status != CTUNE_OK || what != RUN_LINE_OK) {
            return status;
        }
        int index;
        ctune_run_result result;
        if (strcmp(line, "done") == 0) {
            *is_done = true;
            return CTUNE_OK;
        }
        if (sscanf(line, "start %d", &index) == 1) {
            *was_started = true;
        } else if (ctune_run_result_parse(line, &index, &result) && index == *next) {
            results[job->first + index] = result;
            *was_started = false;
            *next = index + 1;
            runner->child.n_answered++;
            if (*best_ns > 0 && result.outcome == CTUNE_RUN_OK && result.median_ns < *best_ns) {
                *best_ns = result.median_ns;
            }
        } else {
            return ctune_fail(ctx, CTUNE_EBUG, "runner said: %.200s", line);
        }
    }
}

/* Runs the child on candidates [*next, job->n) once. After a death the culprit has its result,
 * except that a crash is only believed of the first candidate of a process: an earlier one may have
 * damaged the heap. No progress: *why says why. */
static ctune_status measure_some(ctune_ctx *ctx, ctune_runner *runner, run_job *job,
                                 double *best_ns, ctune_run_result *results, int *next,
                                 ctune_run_result *why) {
    bool is_loaded = false, was_started = false, is_done = false;
    ctune_status status = ctune_run_child_start(ctx, runner);
    if (status == CTUNE_OK) {
        status = ctune_run_child_load(ctx, runner, job, &is_loaded, why);
    }
    if (status != CTUNE_OK || !is_loaded) {
        return status;
    }
    send_deadline(runner);
    ctune_run_child_send(runner, "run %d %d %d %.17g", job->id, *next, job->n, *best_ns);
    status = read_results(ctx, runner, job, best_ns, results, next, &was_started, &is_done);
    if (status != CTUNE_OK) {
        return status;
    }
    if (is_done) {
        ctune_run_child_send(runner, "unload %d", job->id);
        return CTUNE_OK;
    }
    bool is_first = runner->child.n_answered == 0;
    ctune_run_child_stop(runner, why);
    if (was_started && (is_first || why->outcome != CTUNE_RUN_CRASH)) {
        results[job->first + (*next)++] = *why;
    }
    return CTUNE_OK;
}

static ctune_status measure_job(ctune_ctx *ctx, ctune_runner *runner, run_job *job, double *best_ns,
                                ctune_run_result *results) {
    enum { MAX_IDLE = 3 };
    int next = 0, n_idle = 0;
    int64_t start_ns = ctune_now_ns();
    ctune_status status = CTUNE_OK;
    ctune_run_jobs_pause(runner, false);
    while (status == CTUNE_OK && next < job->n) {
        int before = next;
        if (is_past(runner)) { /* not even a process for the rest */
            ctune_run_result_fail(&results[job->first + next++], CTUNE_RUN_SKIPPED, "no time left");
            continue;
        }
        ctune_run_result why = {.outcome = CTUNE_RUN_CRASH};
        status = measure_some(ctx, runner, job, best_ns, results, &next, &why);
        n_idle = next > before ? 0 : n_idle + 1;
        while (status == CTUNE_OK && n_idle == MAX_IDLE && next < job->n) {
            results[job->first + next++] = why; /* this library cannot be used */
        }
    }
    ctune_run_jobs_resume(runner);
    if (status != CTUNE_OK) {
        ctune_run_child_stop(runner, NULL);
    }
    job->state = RUN_JOB_DONE;
    ctune_run_job_remove_files(job);
    runner->run_ns += ctune_now_ns() - start_ns;
    return status;
}

/* ---- submit and collect ---- */

/* Few, because each pays for a compiler's start; but one for each CPU that compiles. */
static int count_chunks(const ctune_runner *runner, int n) {
    int chunks = n / CHUNK_MIN;
    int most = n >= 32 ? CHUNKS_MAX : 2, n_cpus = runner->cpus.n_compile;
    if (!runner->has_measured) { /* the first results soon, whatever comes after */
        return (n + 1) / 2;
    }
    most = n_cpus <= most ? most : n_cpus < RUN_MAX_JOBS_RUNNING ? n_cpus : RUN_MAX_JOBS_RUNNING;
    return chunks < 1 ? 1 : chunks > most ? most : chunks;
}

ctune_status ctune_runner_submit(ctune_ctx *ctx, ctune_runner *runner, const char *prelude,
                                 const char *const *units, const char *const *names, int n) {
    int n_in_flight = 0;
    for (run_batch *batch = runner->oldest; batch != NULL; batch = batch->next) {
        n_in_flight++;
    }
    if (!runner->has_baseline || n < 1 || n_in_flight >= RUN_MAX_IN_FLIGHT) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "submit: %s",
                          n < 1                  ? "empty batch"
                          : runner->has_baseline ? "two batches are in flight"
                                                 : "no baseline yet");
    }
    run_batch *batch =
        ctune_run_batch_create(runner, prelude, units, names, n, count_chunks(runner, n));
    if (batch == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_run_batch_link(runner, batch);
    return ctune_run_jobs_start(ctx, runner);
}

ctune_status ctune_runner_collect(ctune_ctx *ctx, ctune_runner *runner, double best_ns,
                                  ctune_run_result *results, int n) {
    run_batch *batch = runner->oldest;
    if (batch == NULL || batch->n != n) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "collect: %s",
                          batch == NULL ? "nothing in flight" : "another batch size");
    }
    const int64_t until_ns = runner->deadline_ns;
    run_job *job;
    ctune_status status = ctune_run_next_built(ctx, runner, batch, until_ns, results, &job);
    while (status == CTUNE_OK && job != NULL) {
        runner->has_measured = true;
        status = measure_job(ctx, runner, job, &best_ns, results);
        if (status == CTUNE_OK) {
            status = ctune_run_next_built(ctx, runner, batch, until_ns, results, &job);
        }
    }
    ctune_run_batch_unlink(runner, batch);
    ctune_run_batch_destroy(batch);
    return status == CTUNE_OK ? ctune_run_jobs_start(ctx, runner) : status;
}

/* ---- the original ---- */

/* One run of "baseline" in a fresh child. */
static ctune_status run_original(ctune_ctx *ctx, ctune_runner *runner, ctune_run_result *result) {
    char line[CTUNE_RUN_LINE_MAX];
    run_line what;
    ctune_status status = ctune_run_child_start(ctx, runner);
    if (status != CTUNE_OK) {
        return status;
    }
    if (runner->baseline_s > 0) {
        int64_t limit_ns = ctune_now_ns() + (int64_t)(1e9 * runner->baseline_s);
        ctune_run_child_send(runner, "deadline %lld", (long long)limit_ns);
    }
    ctune_run_child_send(runner, "baseline");
    do {
        status = ctune_run_child_read(ctx, runner, ctune_run_child_patience(runner), line,
                                      sizeof line, &what);
    } while (status == CTUNE_OK && what == RUN_LINE_OK && strncmp(line, "start ", 6) == 0);
    return status == CTUNE_OK ? ctune_run_child_result(ctx, runner, what, line, result) : status;
}

ctune_status ctune_runner_original(ctune_ctx *ctx, ctune_runner *runner, const char *prelude,
                                   const char *unit, const char *name, ctune_run_result *result) {
    if (runner->original != NULL) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "the original: given twice");
    }
    run_batch *batch = ctune_run_batch_create(runner, prelude, &unit, &name, 1, 1);
    if (batch == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    runner->original = batch; /* job id 0 */
    ctune_run_batch_link(runner, batch);
    run_job *job;
    memset(result, 0, sizeof *result);
    ctune_status status = ctune_run_next_built(ctx, runner, batch, 0, result, &job);
    ctune_run_batch_unlink(runner, batch);
    return status; /* without a job result has the compiler's message */
}

ctune_status ctune_runner_baseline(ctune_ctx *ctx, ctune_runner *runner, const char *prelude,
                                   const char *unit, const char *name, ctune_run_result *result) {
    ctune_status status = ctune_runner_original(ctx, runner, prelude, unit, name, result);
    if (status != CTUNE_OK || result->outcome != CTUNE_RUN_OK) {
        return status;
    }
    status = run_original(ctx, runner, result);
    bool has_divided =
        result->outcome == CTUNE_RUN_CRASH && strstr(result->detail, "SIGFPE") != NULL;
    if (status == CTUNE_OK && has_divided) { /* by an integer input that was 0 */
        runner->setup.is_nonzero = true;
        status = run_original(ctx, runner, result);
    }
    runner->has_baseline = status == CTUNE_OK && result->outcome == CTUNE_RUN_OK;
    return status;
}

/* ---- finals ---- */

typedef struct finalist {
    run_job *job; /* its library */
    int index;    /* in the library */
} finalist;

static ctune_status build_finalists(ctune_ctx *ctx, ctune_runner *runner, run_batch *batch,
                                    finalist *finalists, ctune_run_result *results) {
    for (;;) {
        run_job *job;
        ctune_status status = ctune_run_next_built(ctx, runner, batch, 0, results, &job);
        if (status != CTUNE_OK || job == NULL) {
            return status;
        }
        for (int i = 0; i < job->n; i++) {
            finalists[job->first + i] = (finalist){job, i};
        }
        job->state = RUN_JOB_DONE; /* its files stay until the batch is destroyed */
    }
}

static bool is_used(const run_batch *batch, const finalist *finalists, const run_job *job) {
    for (int i = 0; i < batch->n; i++) {
        if (finalists[i].job == job) {
            return true;
        }
    }
    return false;
}

/* Loads every library of the batch that is still used. One that cannot be loaded takes its
 * finalists out. *is_ready false: the child died over one; try again with the rest. */
static ctune_status load_finalists(ctune_ctx *ctx, ctune_runner *runner, const run_batch *batch,
                                   finalist *finalists, ctune_run_result *results, bool *is_ready) {
    *is_ready = true;
    ctune_status status = ctune_run_child_start(ctx, runner);
    for (int i = 0; status == CTUNE_OK && *is_ready && i < batch->n_jobs; i++) {
        const run_job *job = &batch->jobs[i];
        bool is_loaded;
        ctune_run_result why;
        if (!is_used(batch, finalists, job)) {
            continue;
        }
        status = ctune_run_child_load(ctx, runner, job, &is_loaded, &why);
        for (int k = 0; status == CTUNE_OK && !is_loaded && k < job->n; k++) {
            results[job->first + k] = why;
            finalists[job->first + k].job = NULL;
        }
        *is_ready = runner->child.pid > 0;
    }
    return status;
}

/* One attempt at all rounds. *culprit: which one ended the child, -1: the original or nobody;
 * *is_done. */
static ctune_status run_finals(ctune_ctx *ctx, ctune_runner *runner, const finalist *finalists,
                               int n, int rounds, ctune_run_result *results, int *culprit,
                               bool *is_done) {
    int origin[CTUNE_RUN_MAX_FINALISTS], n_sent = 0, index;
    ctune_text text;
    ctune_text_init(&text);
    send_deadline(runner);
    ctune_text_printf(&text, "final %d", rounds);
    for (int i = 0; i < n; i++) {
        if (finalists[i].job != NULL) {
            ctune_text_printf(&text, " %d:%d", finalists[i].job->id, finalists[i].index);
            origin[n_sent++] = i;
        }
    }
    ctune_run_child_send(runner, "%s", ctune_text_get(&text));
    ctune_text_clear(&text);
    *culprit = -1;
    *is_done = n_sent == 0;
    while (!*is_done) {
        char line[CTUNE_RUN_LINE_MAX];
        run_line what;
        ctune_run_result result;
        ctune_status status = ctune_run_child_read(ctx, runner, ctune_run_child_patience(runner),
                                                   line, sizeof line, &what);
        if (status != CTUNE_OK || what != RUN_LINE_OK) {
            return status;
        }
        if (strcmp(line, "done") == 0) {
            *is_done = true;
        } else if (sscanf(line, "start %d", &index) == 1 && index < n_sent) {
            *culprit = index < 0 ? -1 : origin[index];
        } else if (ctune_run_result_parse(line, &index, &result) && index >= 0 && index < n_sent) {
            results[origin[index]] = result;
        } else {
            return ctune_fail(ctx, CTUNE_EBUG, "runner said: %.200s", line);
        }
    }
    return CTUNE_OK;
}

static ctune_status measure_finalists(ctune_ctx *ctx, ctune_runner *runner, run_batch *batch,
                                      int rounds, ctune_run_result *results) {
    finalist finalists[CTUNE_RUN_MAX_FINALISTS] = {{NULL, 0}};
    ctune_status status = build_finalists(ctx, runner, batch, finalists, results);
    bool is_done = false;
    ctune_run_jobs_pause(runner, true);
    for (int attempt = 0; status == CTUNE_OK && !is_done; attempt++) {
        int culprit = -1;
        bool is_ready = false;
        if (attempt > 2 * batch->n) {
            status = ctune_fail(ctx, CTUNE_EENV, "%s ends during finals", runner->runner_path);
            break;
        }
        status = load_finalists(ctx, runner, batch, finalists, results, &is_ready);
        if (status != CTUNE_OK || !is_ready) {
            continue;
        }
        status = run_finals(ctx, runner, finalists, batch->n, rounds, results, &culprit, &is_done);
        if (status == CTUNE_OK && !is_done) {
            ctune_run_result why;
            ctune_run_child_stop(runner, &why);
            if (culprit >= 0) {
                results[culprit] = why;
                finalists[culprit].job = NULL;
            }
        }
    }
    ctune_run_child_stop(
        runner, NULL); /* finals are rare: nothing to unload, the next batch starts clean */
    ctune_run_jobs_resume(runner);
    return status;
}

ctune_status ctune_runner_final(ctune_ctx *ctx, ctune_runner *runner, const char *prelude,
                                const char *const *units, const char *const *names, int n,
                                int rounds, ctune_run_result *results) {
    if (!runner->has_baseline || n < 1 || n > CTUNE_RUN_MAX_FINALISTS || rounds < 1) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "final: %s",
                          runner->has_baseline ? "bad number of candidates or rounds"
                                               : "no baseline yet");
    }
    run_batch *batch = ctune_run_batch_create(runner, prelude, units, names, n, n > 1 ? 2 : 1);
    if (batch == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    batch->next = runner->oldest; /* before what is in flight */
    runner->oldest = batch;
    ctune_status status = measure_finalists(ctx, runner, batch, rounds, results);
    ctune_run_batch_unlink(runner, batch);
    ctune_run_batch_destroy(batch);
    return status;
}

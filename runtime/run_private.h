/*
 * The parent's side of measuring: CPUs, compile jobs, the runner child. Private to runtime/run_*.c
 * and runner.c.
 *
 * One thread. Nothing happens between calls except what other processes do: jobs are started,
 * reaped, stopped and continued from inside submit, collect and the like.
 */
#ifndef CTUNE_RUNTIME_RUN_PRIVATE_H
#define CTUNE_RUNTIME_RUN_PRIVATE_H

#include "runtime/arena.h"
#include "runtime/run_protocol.h"

#include <sched.h>
#include <sys/types.h>

enum { RUN_MAX_JOBS_RUNNING = 16, RUN_MAX_IN_FLIGHT = 2 };

/* ---- run_cpu.c: who runs where ---- */
typedef struct run_cpus {
    cpu_set_t measure; /* never empty */
    cpu_set_t compile; /* disjoint from measure; may be empty */
    int n_measure, n_compile;
} run_cpus;

/* n_threads: of the candidates, 0 = as many as there are CPUs. */
void ctune_run_cpus_choose(int n_threads, run_cpus *out);
/* Threads that code compiled with these flags uses by itself: 1 without -fopenmp. 0 = all. */
int ctune_run_threads_guess(int n_flags, const char *const *flags);

/* ---- run_spawn.c ---- */
/* posix_spawnp with fds[i] as descriptor i of the child (fds[i] < 0: /dev/null), signals reset, a
 * process group of its own. temp_dir (NULL: the environment as it is): a compiler, with messages in
 * English and its temporary files in that folder, where they go with it when it is killed. */
CTUNE_MUST_USE ctune_status ctune_run_spawn(ctune_ctx *ctx, char *const *argv, const int *fds,
                                            int n_fds, const char *temp_dir, pid_t *pid);
int ctune_run_fd_raise(int fd);                   /* moves fd to >= 10, CLOEXEC; -1 on failure */
void ctune_run_kill(pid_t pid, int *wait_status); /* SIGKILL to its group, reaped */

/* ---- run_compile.c: compile jobs ---- */
typedef enum run_job_state {
    RUN_JOB_QUEUED,
    RUN_JOB_RUNNING,
    RUN_JOB_BUILT,  /* so_path exists */
    RUN_JOB_FAILED, /* message says why */
    RUN_JOB_DONE    /* measured, or replaced by single jobs */
} run_job_state;

/* One compiler process = one shared object. */
typedef struct run_job {
    run_job_state state;
    int first, n;            /* candidates of the batch */
    int id;                  /* unique in the runner; number of the library */
    pid_t pid;               /* while RUNNING */
    int err_fd;              /* its stderr, read end; its end of file ends the job */
    bool is_on_measure_cpus; /* to be stopped while something is measured */
    bool is_stopped;
    int64_t deadline_ns; /* while not stopped */
    int64_t stopped_at_ns;
    char *c_path, *so_path;
    char *log; /* start of stderr */
    size_t log_len;
    char message[160]; /* first error line */
} run_job;

typedef struct run_batch {
    struct run_batch *next; /* younger */
    ctune_arena *arena;     /* owns everything below */
    const char *prelude;
    const char **units, **names;
    int n;
    run_job *jobs; /* room for max_jobs */
    int n_jobs, max_jobs;
} run_batch;

/* ---- run_child.c: the runner process ---- */
typedef struct run_child {
    pid_t pid; /* 0: none */
    int fd;    /* socket */
    char buffer[2 * CTUNE_RUN_LINE_MAX];
    size_t n_buffered;
    bool is_at_end;
    int n_answered; /* results of candidates from this process */
    char
        last_words[160]; /* "crash ...", "memory ...", "timeout", "error ..." seen before the end */
} run_child;

struct ctune_runner {
    char *runner_path, *work_dir, *command;
    char *temp_dir; /* compilers' temporary files: a killed one leaves them behind */
    char **flags;   /* filtered copies */
    int n_flags;
    ctune_run_workload load;
    ctune_run_setup setup;
    run_cpus cpus;
    int state_fd;
    run_child child;
    run_batch *oldest;   /* in flight, oldest first */
    run_batch *original; /* the baseline's batch: its library is loaded in each runner */
    bool has_baseline;
    bool has_measured;          /* some library of candidates */
    bool is_measuring;          /* jobs on the measuring CPUs are stopped */
    bool is_quiet;              /* all jobs are stopped */
    double baseline_s;          /* see ctune_runner_limit_baseline */
    int64_t deadline_ns;        /* see ctune_runner_set_deadline */
    int64_t compile_ns, run_ns; /* waited for compilers, for the child */
    int next_id;
};

/* n candidates cut into n_chunks jobs, all queued. Not linked into the runner yet. NULL: out of
 * memory. */
run_batch *ctune_run_batch_create(ctune_runner *runner, const char *prelude,
                                  const char *const *units, const char *const *names, int n,
                                  int n_chunks);
void ctune_run_batch_destroy(run_batch *batch); /* kills its jobs, removes its files */
/* A job that failed becomes jobs of one candidate each. */
void ctune_run_job_split(ctune_runner *runner, run_batch *batch, run_job *job);
void ctune_run_job_remove_files(run_job *job);
/* Start queued jobs where CPUs are free; ENOMEM, EENV when the compiler cannot be started. */
CTUNE_MUST_USE ctune_status ctune_run_jobs_start(ctune_ctx *ctx, ctune_runner *runner);
/* Measuring begins or ends: stop or continue what competes with it. all: also the jobs on other
 * CPUs. */
void ctune_run_jobs_pause(ctune_runner *runner, bool all);
void ctune_run_jobs_resume(ctune_runner *runner);
/* Wait for news from compilers and, when fd >= 0, for fd to be readable; at most wait_ns (< 0: no
 * limit). Finished jobs change state and queued ones start. *is_readable may be NULL when fd < 0.
 */
CTUNE_MUST_USE ctune_status ctune_run_wait(ctune_ctx *ctx, ctune_runner *runner, int fd,
                                           int64_t wait_ns, bool *is_readable);
/* The user's flags without those that would write files, load plugins or need a special runtime.
 * Owner: caller; entries are borrowed from flags. Returns the number kept. */
int ctune_run_flags_filter(int n_flags, const char *const *flags, const char **out);

/* ---- runner.c: parts that run_verify.c needs, too ---- */
/* A new file for the shared state, in state_fd; what was there stays open. And the way back. */
CTUNE_MUST_USE ctune_status ctune_run_state_create(ctune_ctx *ctx, ctune_runner *runner);
void ctune_run_state_restore(ctune_runner *runner, int fd);
/* The shared state, sized for runner->load, without a reference. */
CTUNE_MUST_USE ctune_status ctune_run_state_reset(ctune_ctx *ctx, ctune_runner *runner);
CTUNE_MUST_USE ctune_status ctune_run_workload_check(ctune_ctx *ctx,
                                                     const ctune_run_workload *load);
void ctune_run_workload_default(ctune_run_workload *load);         /* limits that are 0 */
void ctune_run_batch_link(ctune_runner *runner, run_batch *batch); /* to the queue's end */
void ctune_run_batch_unlink(ctune_runner *runner, run_batch *batch);
/* Waits until some job of the batch is built; failed ones are split or get their results. *built
 * NULL: all are done. until_ns: what is not built by then is SKIPPED, 0 = no such time. */
CTUNE_MUST_USE ctune_status ctune_run_next_built(ctune_ctx *ctx, ctune_runner *runner,
                                                 run_batch *batch, int64_t until_ns,
                                                 ctune_run_result *results, run_job **built);
/* Ends the job's compiler, if any, and removes what it wrote. */
void ctune_run_job_cancel(run_job *job);
void ctune_run_result_fail(ctune_run_result *result, ctune_run_outcome outcome, const char *detail);

typedef enum run_line { RUN_LINE_OK, RUN_LINE_END, RUN_LINE_LATE } run_line;

/* A running child with the workload and the original loaded. */
CTUNE_MUST_USE ctune_status ctune_run_child_start(ctune_ctx *ctx, ctune_runner *runner);
/* Ends it. When `result` is given, says there how it died (outcome and detail). */
void ctune_run_child_stop(ctune_runner *runner, ctune_run_result *result);
/* false: it is gone. */
bool ctune_run_child_send(ctune_runner *runner, const char *format, ...) CTUNE_PRINTF(2, 3);
/* Next line without its newline. Last words are kept, not returned. Compile jobs advance meanwhile.
 */
CTUNE_MUST_USE ctune_status ctune_run_child_read(ctune_ctx *ctx, ctune_runner *runner,
                                                 int64_t wait_ns, char *line, size_t size,
                                                 run_line *what);
/* The result in a line that was read as `what`; a child that ended instead is stopped, and the
 * result says how. */
CTUNE_MUST_USE ctune_status ctune_run_child_result(ctune_ctx *ctx, ctune_runner *runner,
                                                   run_line what, const char *line,
                                                   ctune_run_result *result);
/* Loads a job's library. *is_loaded false: result says why. */
CTUNE_MUST_USE ctune_status ctune_run_child_load(ctune_ctx *ctx, ctune_runner *runner,
                                                 const run_job *job, bool *is_loaded,
                                                 ctune_run_result *result);
/* How long the parent waits for one line: far beyond the runner's own limits. */
int64_t ctune_run_child_patience(const ctune_runner *runner);

#endif

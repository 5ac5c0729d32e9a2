/*
 * Measuring candidates in a separate process.
 *
 * The parent compiles batches of candidates into shared objects with the user's compiler and flags,
 * and hands each to a `ctune-runner` process (posix_spawn). The runner allocates the tensors once
 * between guard pages, fills them from a seed, runs the original (function 0), and then each
 * candidate: outputs are compared with the original's, times are taken interleaved with the
 * original, hopeless ones are abandoned early. Results stream over a pipe, one line each, so that a
 * crash, a hang, too much memory or a wrong result costs one candidate; the runner is restarted
 * after it.
 *
 * The runner is told about tensors in a workload file (text, see runner_protocol in
 * docs/runner.md); it knows no IR.
 */
#ifndef CTUNE_RUNTIME_RUNNER_H
#define CTUNE_RUNTIME_RUNNER_H

#include "runtime/base.h"

enum { CTUNE_RUN_MAX_TENSORS = 64, CTUNE_RUN_MAX_PARAMS = 64, CTUNE_RUN_MAX_RANK = 8 };

typedef struct ctune_run_tensor {
    char type[8];     /* "f32": IR name of the element type */
    int elem_bytes;   /* sizeof the element */
    int stride_bytes; /* distance of neighbours, >= elem_bytes (arrays of structs) */
    int rank;
    int64_t extent[CTUNE_RUN_MAX_RANK];
    int64_t n_elems; /* product of extents; 0 for temporaries (NULL is passed) */
    bool is_written; /* compared after each run, restored before it */
    /* It overlaps another one of the same element type: 1 + that one's index, 0 = no. It begins
     * `shared_at` elements behind the other's start and lies inside it; what is in `is_written` and
     * the inputs are the other's. */
    int shares;
    int64_t shared_at;
    /* Its elements are subscripts or bounds: element i is slope * i + lo + something in [0, width).
     * width 0: it is filled as `data` says. */
    int64_t slope, lo, width;
} ctune_run_tensor;

/* id, word, what inputs hold besides moderate numbers. */
#define CTUNE_RUN_DATA_TABLE(X)                                                                    \
    X(NORMAL, "normal", "positive numbers around 1, small integers")                               \
    X(SIGNED, "signed", "numbers of both signs and of all magnitudes, -0 and subnormal ones too")  \
    X(HOSTILE, "hostile", "NaN and infinities, too")

typedef enum ctune_run_data {
#define X(id, word, help) CTUNE_RUN_DATA_##id,
    CTUNE_RUN_DATA_TABLE(X)
#undef X
        CTUNE_N_RUN_DATA
} ctune_run_data;

typedef struct ctune_run_workload {
    int n_params;
    int64_t params[CTUNE_RUN_MAX_PARAMS];
    int n_tensors;
    ctune_run_tensor tensor[CTUNE_RUN_MAX_TENSORS];
    uint64_t seed;
    ctune_run_data data;   /* of floating-point tensors */
    bool has_extreme_ints; /* integer tensors hold the extreme values of their type, too */
    bool is_odd;           /* tensors begin at addresses that are multiples of their element only */
    /* Verification: bitwise when bound_terms == 0 (NaN equals NaN); else |x - y| <= bound_terms *
     * eps * scale, the forward error bound of a reordered reduction of bound_terms terms, scale =
     * max(|x|, |y|, largest |input| product seen): Higham, Accuracy and Stability, (3.5): gamma_n =
     * n u / (1 - n u). */
    double bound_terms;
    double time_limit_s;  /* one run of one candidate, default 10 */
    double min_sample_ns; /* a sample repeats until it lasts this long; default 20000 */
    double original_s;    /* the first measurement of the original ends after this; default 1 */
    bool is_optional;     /* verification leaves it out after the deadline; others it always runs */
    size_t memory_limit_bytes; /* RLIMIT_AS of the runner beyond the tensors; default 2 GiB */
} ctune_run_workload;

/* id, word in the protocol and the history. */
#define CTUNE_RUN_OUTCOME_TABLE(X)                                                                 \
    X(OK, "ok")                                                                                    \
    X(COMPILE, "compile-error")                                                                    \
    X(CRASH, "crash")                                                                              \
    X(TIMEOUT, "timeout")                                                                          \
    X(WRONG, "wrong-result")                                                                       \
    X(DECLINED, "declined") /* its guard or an allocation failed */                                \
    X(MEMORY, "out-of-memory")                                                                     \
    X(SKIPPED, "skipped") /* the deadline came first: nothing is known about it */

typedef enum ctune_run_outcome {
#define X(id, word) CTUNE_RUN_##id,
    CTUNE_RUN_OUTCOME_TABLE(X)
#undef X
        CTUNE_N_RUN_OUTCOMES
} ctune_run_outcome;
const char *ctune_run_outcome_name(ctune_run_outcome outcome);
bool ctune_run_outcome_parse(const char *word, ctune_run_outcome *out);

typedef struct ctune_run_result {
    ctune_run_outcome outcome;
    double best_ns, median_ns; /* of its own samples, per run */
    double
        original_ns; /* median of the interleaved original's samples (of the same sampling style) */
    int n_samples;
    bool abandoned;   /* clearly out: fewer samples than asked for */
    char detail[160]; /* first wrong element, signal name, compiler message */
} ctune_run_result;

/* How to compile a batch. All strings borrowed. */
typedef struct ctune_run_compiler {
    const char *command; /* "clang-19" */
    int n_flags;
    const char *const
        *flags; /* the user's flags that matter for code; -c, -o, inputs already removed */
} ctune_run_compiler;

typedef struct ctune_runner ctune_runner;

/* work_dir: an existing private folder for sources and objects (borrowed text). runner_path: the
 * ctune-runner executable. Nothing is spawned yet. Owner of *out: caller (destroy kills the child
 * and removes its files). */
CTUNE_MUST_USE ctune_status ctune_runner_create(ctune_ctx *ctx, const char *runner_path,
                                                const char *work_dir,
                                                const ctune_run_compiler *compiler,
                                                const ctune_run_workload *workload,
                                                ctune_runner **out);
void ctune_runner_destroy(ctune_runner *runner);
/* Ends the child process (its tensors' memory is given back); the next batch starts another. Does
 * nothing while a batch is in flight. */
void ctune_runner_rest(ctune_runner *runner);

/* Time of ctune_now_ns at which measuring ends, 0 = none (at first). What has not been compiled and
 * run by then is SKIPPED, a run that is under way included; a final ends after the round that it is
 * in; of a verification the optional cases that have not begun are SKIPPED. */
void ctune_runner_set_deadline(ctune_runner *runner, int64_t deadline_ns);
/* The original, when it is measured (baseline), is given up after limit_s: SKIPPED; 0 = never. */
void ctune_runner_limit_baseline(ctune_runner *runner, double limit_s);
/* Seconds since creation: waiting for compilers, and for the runner process. */
void ctune_runner_times(const ctune_runner *runner, double *compile_s, double *run_s);

/* Asynchronous pipeline of batches. submit starts the compiler on `source` (a whole C translation
 * unit that exports the batch; `n` candidates; functions are independent `static` ones) and returns
 * at once; a batch that does not compile is compiled again one candidate at a time: units[i] is the
 * text of candidate i alone and `prelude` what precedes it. collect waits for the oldest batch and
 * fills results[n] in order. While one batch is measured the next may compile: call submit again
 * before collect (at most two in flight). best_ns: time of the incumbent, for early abandoning (0 =
 * none). Texts are copied. */
CTUNE_MUST_USE ctune_status ctune_runner_submit(ctune_ctx *ctx, ctune_runner *runner,
                                                const char *prelude, const char *const *units,
                                                const char *const *names, int n);
CTUNE_MUST_USE ctune_status ctune_runner_collect(ctune_ctx *ctx, ctune_runner *runner,
                                                 double best_ns, ctune_run_result *results, int n);

/* The original: must be the first unit ever given. Compiles and runs it (verification reference,
 * baseline). */
CTUNE_MUST_USE ctune_status ctune_runner_baseline(ctune_ctx *ctx, ctune_runner *runner,
                                                  const char *prelude, const char *unit,
                                                  const char *name, ctune_run_result *result);

/* Finals: measure n already-good candidates interleaved with each other and with the original,
 * `rounds` rounds, larger samples; results[i].original_ns is the median original of the same
 * rounds. */
CTUNE_MUST_USE ctune_status ctune_runner_final(ctune_ctx *ctx, ctune_runner *runner,
                                               const char *prelude, const char *const *units,
                                               const char *const *names, int n, int rounds,
                                               ctune_run_result *results);

/*
 * Verification without timing: candidates against the original under other workloads (sizes, data,
 * places of the tensors) than the runner's own, which stay what they are. The original must have
 * been given (baseline, or ctune_runner_original, which only compiles it). Each unit is compiled by
 * itself, so that units may be whole files; nothing may be in flight.
 *
 * loads       [n_loads], of as many parameters and tensors as the runner's
 * originals   [n_loads]: OK, or why the original cannot be run there (then nothing is compared)
 * results     [n_loads * n], by load. OK: same outputs; DECLINED: same outputs, but by what the
 *             candidate falls back on, with the number it returned in n_samples (nothing written
 *             by a candidate without fallback); WRONG, CRASH, TIMEOUT, COMPILE, ...: detail
 */
CTUNE_MUST_USE ctune_status ctune_runner_verify(ctune_ctx *ctx, ctune_runner *runner,
                                                const char *prelude, const char *const *units,
                                                const char *const *names, int n,
                                                const ctune_run_workload *loads, int n_loads,
                                                ctune_run_result *originals,
                                                ctune_run_result *results);
/* Compiles the original and runs nothing: COMPILE in result when it does not compile. In place of
 * ctune_runner_baseline. */
CTUNE_MUST_USE ctune_status ctune_runner_original(ctune_ctx *ctx, ctune_runner *runner,
                                                  const char *prelude, const char *unit,
                                                  const char *name, ctune_run_result *result);

#endif

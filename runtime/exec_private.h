/*
 * The inside of the ctune-runner process: tensors between guard pages, verification, timing, the
 * command loop. Private to runtime/exec_*.c and runner_main.c; nothing of the parent's side is
 * here.
 */
#ifndef CTUNE_RUNTIME_EXEC_PRIVATE_H
#define CTUNE_RUNTIME_EXEC_PRIVATE_H

#include "runtime/args.h"
#include "runtime/run_protocol.h"
#include "runtime/stats.h"

enum { CTUNE_EXEC_MAX_LIBS = 64, CTUNE_EXEC_MAX_CHANGED = 256 };

/* One tensor in memory:
 *
 *   map: | guard | canary ... base: bytes | canary, < 64 bytes | guard |
 *
 * base is 64-byte aligned (is_odd: one element behind that) and as close to the end of its last
 * page as that allows. */
typedef struct ctune_exec_tensor {
    const ctune_run_tensor *shape; /* into exec->load */
    size_t bytes;                  /* n_elems * stride_bytes; 0: temporary, base is NULL */
    unsigned char *map;            /* mapping with its guards */
    size_t map_bytes;
    unsigned char *inner; /* accessible part: [inner, inner + inner_bytes) */
    size_t inner_bytes;
    unsigned char *base;
    unsigned char *pristine;  /* inputs of a written tensor, NULL otherwise */
    unsigned char *reference; /* the original's outputs of a written tensor, NULL otherwise */
    /* Where the two differ: n_changed stretches [2 * i, 2 * i + 1) of bytes. < 0: not known yet. */
    int n_changed;
    size_t changed[2 * CTUNE_EXEC_MAX_CHANGED];
} ctune_exec_tensor;

typedef struct ctune_exec_lib {
    void *handle; /* dlopen; NULL: free slot */
    int id;       /* the parent's number; 0 is the original */
    int n;
    ctune_candidate_fn *const *fn; /* [n], inside the library */
} ctune_exec_lib;

typedef struct ctune_exec {
    ctune_ctx ctx;
    int out_fd; /* results */
    ctune_run_workload load;
    ctune_run_setup setup;
    ctune_exec_tensor tensor[CTUNE_RUN_MAX_TENSORS];
    long params[CTUNE_RUN_MAX_PARAMS];
    void *pointers[CTUNE_RUN_MAX_TENSORS];
    ctune_args args;
    double input_scale;           /* largest |float input| off the diagonals, squared, at least 1 */
    ctune_run_state *state;       /* first page of the shared file */
    unsigned char *state_outputs; /* the reference outputs behind it */
    size_t state_bytes;           /* of the whole file */
    ctune_exec_lib lib[CTUNE_EXEC_MAX_LIBS];
    /* Something ran that is not known to write where the original writes: all bytes are restored.
     */
    bool is_foreign;
    double restore_ns;    /* of the last run */
    double clock_cost_ns; /* of reading the clock twice */
    int64_t deadline_ns;  /* of the parent, on the clock of ctune_now_ns; 0: none */
} ctune_exec;

/* ---- exec_tensor.c ---- */
/* Map, fill from the seed, keep pristine copies, attach the shared file (fd). */
CTUNE_MUST_USE ctune_status ctune_exec_tensors_create(ctune_exec *exec, int state_fd);
/* Written tensors := inputs; of all bytes when is_foreign, else where the original changes them. */
void ctune_exec_tensors_restore(ctune_exec *exec);
void ctune_exec_reference_store(ctune_exec *exec); /* reference := written tensors */
/* Fill one buffer as the workload's inputs are filled (n_elems elements); returns the largest
 * |float| off the diagonal. load: what kind of data. */
double ctune_exec_tensor_fill(const ctune_run_tensor *shape, const ctune_run_workload *load,
                              uint64_t seed, bool is_nonzero, unsigned char *base);
/* false: a canary was overwritten (and is whole again); words in detail. */
bool ctune_exec_canaries_check(ctune_exec *exec, char *detail, size_t size);

/* ---- exec_verify.c ---- */
/* Written tensors against the reference; false: words about the first wrong element in detail. */
bool ctune_exec_outputs_check(const ctune_exec *exec, char *detail, size_t size);
/* Written tensors still equal the inputs, bit for bit. */
bool ctune_exec_outputs_are_pristine(const ctune_exec *exec);

/* ---- exec_guard.c ---- */
/* Handlers for faults and for the time limit: they write a last line to exec->out_fd and end the
 * process. */
void ctune_exec_guard_install(const ctune_exec *exec);
/* After limit_ns "timeout" and exit; is_late: "late". */
void ctune_exec_timer_arm(double limit_ns, bool is_late);
void ctune_exec_timer_disarm(void);
/* Cap on address space beyond what is mapped now. */
void ctune_exec_memory_limit(size_t bytes);

/* ---- exec_measure.c ---- */
/* Library 0, function 0: stores the reference, takes the first samples. */
void ctune_exec_measure_original(ctune_exec *exec, ctune_candidate_fn *fn,
                                 ctune_run_result *result);
/* best_ns: the incumbent (0: none). Re-measures the original (fn 0 of library 0) when its share of
 * the time allows. */
void ctune_exec_measure(ctune_exec *exec, ctune_candidate_fn *fn, double best_ns,
                        ctune_run_result *result);
/* Verification without timing: one run of the original makes the reference; one run of a candidate
 * is compared with it, whatever it returns. */
void ctune_exec_refer(ctune_exec *exec, ctune_candidate_fn *fn, ctune_run_result *result);
void ctune_exec_verify(ctune_exec *exec, ctune_candidate_fn *fn, ctune_run_result *result);
/* All of fn[n] in rounds. Announces what runs through `start` (index; -1 = the original). */
void ctune_exec_measure_final(ctune_exec *exec, ctune_candidate_fn *const *fn, int n, int rounds,
                              void (*start)(ctune_exec *exec, int index),
                              ctune_run_result *results);
double ctune_exec_original_ns(const ctune_exec *exec); /* median of the last samples; 0: none yet */

/* ---- exec_serve.c ---- */
/* Read commands from in_fd until its end. Process exit code. */
int ctune_exec_serve(ctune_exec *exec, int in_fd, int state_fd);

#endif

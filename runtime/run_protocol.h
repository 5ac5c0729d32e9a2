/*
 * The lines that the parent (run_*.c) and the ctune-runner process (exec_*.c) exchange.
 * docs/runner.md is the manual. Private to runtime/.
 */
#ifndef CTUNE_RUNTIME_RUN_PROTOCOL_H
#define CTUNE_RUNTIME_RUN_PROTOCOL_H

#include "runtime/runner.h"
#include "runtime/text.h"

#define CTUNE_RUN_PROTOCOL "ctune-runner 1"

enum {
    CTUNE_RUN_LINE_MAX = 4096, /* bytes of a line with its NUL; longer ones are a protocol error */
    CTUNE_RUN_STATE_FD = 3,    /* in the runner: shared file with the reference outputs */
    CTUNE_RUN_HEADER_BYTES = 4096, /* of that file: ctune_run_state, then the outputs */
    CTUNE_RUN_STATE_SAMPLES = 5,
    CTUNE_RUN_MAX_CPUS = 64, /* listed in a workload */
    CTUNE_RUN_MAX_FINALISTS = 64
};

/* What outlives a runner process: the original's outputs and times. First page of the shared file.
 */
typedef struct ctune_run_state {
    uint64_t magic;
    uint32_t has_reference;                    /* the outputs behind this page are valid */
    uint32_t n_samples;                        /* of the original, ever */
    double sample_ns[CTUNE_RUN_STATE_SAMPLES]; /* the last ones, a ring */
    double original_spent_ns, total_spent_ns;  /* time used on re-measuring it, and on everything */
} ctune_run_state;
#define CTUNE_RUN_STATE_MAGIC 0x656e757463313031u

/* How the runner process itself should behave: rides in the workload text. */
typedef struct ctune_run_setup {
    int n_cpus; /* 0: not pinned */
    int cpu[CTUNE_RUN_MAX_CPUS];
    bool is_nonzero; /* integer inputs avoid 0 (the original divides by one) */
} ctune_run_setup;

/* Bytes of a tensor from its base to its end; of all reference outputs. Overflow: false. */
bool ctune_run_tensor_bytes(const ctune_run_tensor *tensor, size_t *bytes);
bool ctune_run_state_bytes(const ctune_run_workload *load, size_t *bytes);
/* Offset of written tensor i in the shared file. */
size_t ctune_run_state_offset(const ctune_run_workload *load, int i_tensor);

void ctune_run_workload_print(const ctune_run_workload *load, const ctune_run_setup *setup,
                              ctune_text *out);
/* One line into *load or *setup. false: not a line of a workload. "end" sets *is_end. */
bool ctune_run_workload_parse(const char *line, ctune_run_workload *load, ctune_run_setup *setup,
                              bool *is_end);

void ctune_run_result_print(int index, const ctune_run_result *result, ctune_text *out);
bool ctune_run_result_parse(const char *line, int *index, ctune_run_result *result);

#endif

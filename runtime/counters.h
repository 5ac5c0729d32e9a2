/*
 * Event counters around a piece of work.
 *
 * Software events (context switches, page faults) come from getrusage and exist everywhere.
 * Hardware events come from PAPI when the build has it and the machine counts them; most virtual
 * machines count none, and then their values are CTUNE_COUNTER_MISSING. Opening never fails: what
 * is missing is missing.
 */
#ifndef CTUNE_RUNTIME_COUNTERS_H
#define CTUNE_RUNTIME_COUNTERS_H

#include "runtime/base.h"

/* id, name in reports, PAPI preset (NULL: from getrusage) */
#define CTUNE_COUNTER_TABLE(X)                                                                     \
    X(FORCED_SWITCHES, "forced-switches", NULL) /* ru_nivcsw */                                    \
    X(CHOSEN_SWITCHES, "chosen-switches", NULL) /* ru_nvcsw */                                     \
    X(MINOR_FAULTS, "minor-faults", NULL)       /* ru_minflt */                                    \
    X(MAJOR_FAULTS, "major-faults", NULL)       /* ru_majflt */                                    \
    X(CYCLES, "cycles", "PAPI_TOT_CYC")                                                            \
    X(INSTRUCTIONS, "instructions", "PAPI_TOT_INS")                                                \
    X(L1_MISSES, "l1-misses", "PAPI_L1_DCM")                                                       \
    X(L2_MISSES, "l2-misses", "PAPI_L2_DCM")                                                       \
    X(TLB_MISSES, "tlb-misses", "PAPI_TLB_DM")                                                     \
    X(F32_OPS, "f32-ops", "PAPI_SP_OPS")                                                           \
    X(F64_OPS, "f64-ops", "PAPI_DP_OPS")

typedef enum ctune_counter {
#define X(id, name, preset) CTUNE_COUNTER_##id,
    CTUNE_COUNTER_TABLE(X)
#undef X
        CTUNE_N_COUNTERS
} ctune_counter;

#define CTUNE_COUNTER_MISSING (-1)

typedef struct ctune_counter_values {
    int64_t value[CTUNE_N_COUNTERS]; /* by ctune_counter; CTUNE_COUNTER_MISSING when not counted */
} ctune_counter_values;

const char *ctune_counter_name(ctune_counter counter);

/* Software events of the process so far. One system call, no set-up: cheap enough for every run. */
void ctune_counters_read_software(ctune_counter_values *out);

/* Hardware events of the calling thread. Owner: caller, destroy. NULL: this machine or build has
 * none. */
typedef struct ctune_counters ctune_counters;
ctune_counters *ctune_counters_create(void);
void ctune_counters_destroy(ctune_counters *counters); /* NULL is fine */
bool ctune_counters_has(const ctune_counters *counters, ctune_counter counter);
/* Counts since create; entries that are not hardware events, or not available, are
 * CTUNE_COUNTER_MISSING. NULL is fine. */
void ctune_counters_read(ctune_counters *counters, ctune_counter_values *out);

#endif

/*
 * Calibration: what one core of this machine does, measured in about two seconds.
 *
 * A C program with vectors of the compiler's vector extension is made with the user's compiler and
 * flags, so that it uses the instructions that candidates will use, and run as a process of its own
 * on the CPU that measures candidates. Each figure is the best of many short samples: what the
 * machine can do, not what it did beside others.
 */
#ifndef CTUNE_RUNTIME_CALIBRATE_H
#define CTUNE_RUNTIME_CALIBRATE_H

#include "runtime/runner.h"

/* name in the program's output, member, smallest and largest plausible value. Rates are in vectors
 * or bytes a cycle. */
#define CTUNE_CALIBRATION_TABLE(X)                                                                 \
    X("ghz", ghz, 0.1, 10)                    /* cycles per ns while vector units work */          \
    X("fma", fma_per_cycle, 0.05, 16)         /* vector multiply-adds, f32 */                      \
    X("fma_f64", fma_f64_per_cycle, 0.05, 16) /* the same, f64 */                                  \
    X("fma_latency", fma_latency, 1, 64)      /* cycles */                                         \
    X("loads", loads_per_cycle, 0.05, 16)     /* of whole vectors in L1 */                         \
    X("stores", stores_per_cycle, 0.05, 16)                                                        \
    X("l1", bytes_per_cycle[0], 0.5, 4096) /* read streams */                                      \
    X("l2", bytes_per_cycle[1], 0.2, 2048)                                                         \
    X("l3", bytes_per_cycle[2], 0.1, 1024)                                                         \
    X("memory", bytes_per_cycle[3], 0.05, 512)

typedef struct ctune_calibration {
    double ghz;
    double fma_per_cycle, fma_f64_per_cycle, fma_latency;
    double loads_per_cycle, stores_per_cycle;
    double bytes_per_cycle[4]; /* from L1, L2, L3, memory */
} ctune_calibration;

/*
 * vector_bytes  of the widest vector under the flags
 * cache_bytes   L1, L2, L3: working sets lie between them
 * work_dir      an existing private folder: source and program are left there
 * Fails EENV    the compiler or the program does not work, or a figure is not plausible (named)
 */
CTUNE_MUST_USE ctune_status ctune_calibrate(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                                            int vector_bytes, const int64_t cache_bytes[3],
                                            const char *work_dir, ctune_calibration *out);

/* Reads the program's output; EENV names the figure that is missing or not plausible. Apart for
 * tests. */
CTUNE_MUST_USE ctune_status ctune_calibration_parse(ctune_ctx *ctx, const char *text,
                                                    ctune_calibration *out);

#endif

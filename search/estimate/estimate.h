/*
 * Analytic estimate of a nest: time in nanoseconds on a described core, without lowering or isl.
 *
 * max over resources: arithmetic (operations per vector port, with what the chosen register tile
 * and vector dim allow, latency chains of reductions included) and bytes moved per cache level
 * (footprint of each access under each loop against the level's size; strided and partial lines
 * counted as whole lines) plus loop, packing and tail overheads. Design number: >= 100,000 nests a
 * second and core.
 */
#ifndef CTUNE_SEARCH_ESTIMATE_ESTIMATE_H
#define CTUNE_SEARCH_ESTIMATE_ESTIMATE_H

#include "search/schedule/nest.h"

typedef struct ctune_machine {
    double ghz; /* cycles per ns; 3.0 unless known */
    int vector_bytes;
    int n_vector_regs;                        /* 32 for AVX-512, 16 otherwise */
    double fma_per_cycle;                     /* vector FMAs, 2 */
    double loads_per_cycle, stores_per_cycle; /* vector loads 2, stores 1 */
    double fma_latency;                       /* cycles, 4 */
    double line_bytes;                        /* 64 */
    double cache_bytes[3];                    /* L1, L2, L3 */
    double bytes_per_cycle[4];                /* from L1 (never binding), L2, L3, memory */
    int n_cores;
} ctune_machine;

void ctune_machine_default(ctune_machine *machine, int vector_bytes, const int64_t cache_bytes[3],
                           int n_cores);

/* Estimated nanoseconds of one execution of the nest, > 0. */
double ctune_estimate(const ctune_nest *nest, const ctune_machine *machine);

#endif

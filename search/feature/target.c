/* Facts about machine and compiler: what a model that serves many targets needs to tell them apart.
 */
#include "search/feature/feature_private.h"

#define TARGET_TABLE(X)                                                                            \
    X(VECTOR_BYTES, "vector_bytes")                                                                \
    X(N_VECTOR_REGS, "n_vector_regs")                                                              \
    X(L1, "l1_bytes")                                                                              \
    X(L2, "l2_bytes")                                                                              \
    X(L3, "l3_bytes")                                                                              \
    X(N_CORES, "n_cores")                                                                          \
    X(GHZ, "ghz")                                                                                  \
    X(FMA, "fma_per_cycle")                                                                        \
    X(FMA_LATENCY, "fma_latency")                                                                  \
    X(LOADS, "loads_per_cycle")                                                                    \
    X(STORES, "stores_per_cycle")                                                                  \
    X(L2_RATE, "l2_bytes_per_cycle")                                                               \
    X(L3_RATE, "l3_bytes_per_cycle")                                                               \
    X(MEMORY_RATE, "memory_bytes_per_cycle")                                                       \
    X(IS_GCC, "is_gcc")

enum {
#define X(id, name) TARGET_##id,
    TARGET_TABLE(X)
#undef X
        N_TARGET
};

static const char *const names[] = {
#define X(id, name) "target." name,
    TARGET_TABLE(X)
#undef X
};

static void fill(const feat_state *s, float *row) {
    const ctune_target *t = s->target;
    const ctune_rates *m = &t->rates;
    row[TARGET_VECTOR_BYTES] = feat_log(t->vector_bytes);
    row[TARGET_N_VECTOR_REGS] = (float)t->n_vector_regs;
    row[TARGET_L1] = feat_log((double)t->cache_bytes[0]);
    row[TARGET_L2] = feat_log((double)t->cache_bytes[1]);
    row[TARGET_L3] = feat_log((double)t->cache_bytes[2]);
    row[TARGET_N_CORES] = (float)t->n_threads;
    row[TARGET_GHZ] = (float)t->ghz;
    row[TARGET_FMA] = (float)m->fma_per_cycle;
    row[TARGET_FMA_LATENCY] = (float)m->fma_latency;
    row[TARGET_LOADS] = (float)m->loads_per_cycle;
    row[TARGET_STORES] = (float)m->stores_per_cycle;
    row[TARGET_L2_RATE] = feat_log(m->bytes_per_cycle[1]);
    row[TARGET_L3_RATE] = feat_log(m->bytes_per_cycle[2]);
    row[TARGET_MEMORY_RATE] = feat_log(m->bytes_per_cycle[3]);
    row[TARGET_IS_GCC] = t->is_gcc;
}

const feat_group feat_target = {names, N_TARGET, fill};

/*
 * Facts that hold for whole families of targets, one table a kind, and the defaults that follow
 * from them: see target.h.
 */
#include "search/target/target.h"

#include <stdlib.h>
#include <string.h>

static const ctune_isa isas[] = {
    {"__AVX512F__", "avx512", 64, 32, 'x', true}, {"__AVX2__", "avx2", 32, 16, 'x', true},
    {"__AVX__", "avx", 32, 16, 'x', false},       {"__SSE4_2__", "sse4.2", 16, 16, 'x', false},
    {"__SSE2__", "sse2", 16, 16, 'x', false},     {"__ARM_FEATURE_SVE", "sve", 16, 32, 'a', true},
    {"__ARM_NEON", "neon", 16, 32, 'a', true},    {"__riscv_vector", "rvv", 16, 32, 'r', true},
    {"__VSX__", "vsx", 16, 64, 'p', true},
};
enum { N_ISAS = sizeof isas / sizeof *isas };

const ctune_isa *ctune_isa_get(int i) {
    return i < N_ISAS ? &isas[i] : NULL;
}

static const ctune_compiler compilers[] = {
    {"gcc", CTUNE_CONTRACT_FAST, 14, "-g1"},
    {"clang", CTUNE_CONTRACT_ON, 0, "-gline-tables-only"},
};

const ctune_compiler *ctune_compiler_get(const char *compiler) {
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        if (strncmp(compiler, compilers[i].name, strlen(compilers[i].name)) == 0) {
            return &compilers[i];
        }
    }
    return &compilers[0];
}

int ctune_compiler_major(const char *compiler) {
    return atoi(compiler + strcspn(compiler, "0123456789"));
}

void ctune_rates_default(ctune_rates *out, int vector_bytes) {
    *out = (ctune_rates){.fma_per_cycle = 2,
                         .fma_f64_per_cycle = 2,
                         .fma_latency = 4,
                         .loads_per_cycle = 2,
                         .stores_per_cycle = 1,
                         .bytes_per_cycle = {2.0 * vector_bytes, 48, 20, 8}};
}

void ctune_target_complete(ctune_target *t) {
    static const int64_t caches[3] = {32768, 1048576, 8388608};
    ctune_isa isa = {.vector_bytes = 16, .n_vector_regs = t->vector_bytes >= 64 ? 32 : 16};
    for (int i = 0; i < N_ISAS; i++) {
        isa = strcmp(t->isa, isas[i].name) == 0 ? isas[i] : isa;
    }
    t->is_gcc = strncmp(t->compiler, "gcc", 3) == 0;
    t->vector_bytes = t->vector_bytes > 0 ? t->vector_bytes : isa.vector_bytes;
    t->n_vector_regs = t->n_vector_regs > 0 ? t->n_vector_regs : isa.n_vector_regs;
    t->n_threads = t->n_threads > 0 ? t->n_threads : 1;
    t->n_cores = t->n_cores > 0 ? t->n_cores : t->n_threads;
    for (int c = 0; c < 3; c++) {
        t->cache_bytes[c] = t->cache_bytes[c] > 0 ? t->cache_bytes[c] : caches[c];
    }
    if (!t->is_measured) {
        t->ghz = 3.0;
        ctune_rates_default(&t->rates, t->vector_bytes);
    }
}

void ctune_target_init(ctune_target *out, int vector_bytes, const int64_t cache_bytes[3],
                       int n_threads) {
    memset(out, 0, sizeof *out);
    out->vector_bytes = vector_bytes;
    out->n_threads = n_threads;
    if (cache_bytes != NULL) {
        memcpy(out->cache_bytes, cache_bytes, sizeof out->cache_bytes);
    }
    ctune_target_complete(out);
}

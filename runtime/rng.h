/*
 * Seeded random numbers (SplitMix64: Steele, Lea, Flood 2014) and the 64-bit FNV-1a hash.
 * The generator is an argument everywhere, so that each run can be repeated from its seed.
 */
#ifndef CTUNE_RUNTIME_RNG_H
#define CTUNE_RUNTIME_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct ctune_rng {
    uint64_t state;
} ctune_rng;

static inline void ctune_rng_init(ctune_rng *rng, uint64_t seed) {
    rng->state = seed;
}

static inline uint64_t ctune_rng_next(ctune_rng *rng) {
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, n); n > 0. */
static inline uint64_t ctune_rng_below(ctune_rng *rng, uint64_t n) {
    return (uint64_t)(((unsigned __int128)ctune_rng_next(rng) * n) >> 64);
}

/* Uniform in [0, 1). */
static inline double ctune_rng_unit(ctune_rng *rng) {
    return (double)(ctune_rng_next(rng) >> 11) * 0x1p-53;
}

#define CTUNE_HASH_INIT 0xcbf29ce484222325u
static inline uint64_t ctune_hash(uint64_t hash, const void *bytes, size_t n) {
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    return hash;
}

#endif

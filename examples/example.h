/*
 * What the examples' main functions share: a clock, reproducible numbers, a checksum of the bytes.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double example_now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Memory or the end. */
static inline void *example_alloc(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (p == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(3);
    }
    return p;
}

/* In [0, 1), 20 significant bits. */
static inline float example_noise(size_t i) {
    uint32_t x = (uint32_t)i * 2654435761u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (float)(x >> 12) * 0x1p-20f;
}

static inline uint64_t example_checksum(const void *data, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    }
    return hash;
}

/* Runs `call` five times and prints the fastest; then the checksum: equal ones mean equal bits. */
#define EXAMPLE_RUN(name, call, data, bytes)                                                       \
    do {                                                                                           \
        double best_ = 1e300;                                                                      \
        for (int run_ = 0; run_ < 5; run_++) {                                                      \
            double begin_ = example_now_ms();                                                      \
            call;                                                                                  \
            double ms_ = example_now_ms() - begin_;                                                \
            best_ = ms_ < best_ ? ms_ : best_;                                                      \
        }                                                                                          \
        printf("%s: %.2f ms, checksum %016llx\n", name, best_,                                     \
               (unsigned long long)example_checksum(data, bytes));                                 \
    } while (0)

#endif

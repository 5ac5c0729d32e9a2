/*
 * What the tests of costmodel/nn/ share. Without a BLAS library they are skipped.
 */
#ifndef CTUNE_TESTS_NN_FIXTURE_H
#define CTUNE_TESTS_NN_FIXTURE_H

#include "costmodel/nn/layers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != CTUNE_OK) {                                                                  \
            fail_msg("%s: %s", #call, ctx.error);                                                  \
        }                                                                                          \
    } while (0)

/* NULL: there is none. */
static inline const ctune_blas *nn_fixture_blas(void) {
    ctune_ctx ctx = {0};
    const ctune_blas *blas = NULL;
    return ctune_blas_get(&ctx, &blas) == CTUNE_OK ? blas : NULL;
}

static inline void nn_fixture_fill(ctune_rng *rng, float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(2 * ctune_rng_unit(rng) - 1);
    }
}

#endif

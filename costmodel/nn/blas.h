/*
 * BLAS: the one routine of dense arithmetic that the neural models need, from a library that is
 * looked for at run time.
 *
 * Loaded, not linked: a ctune that was built anywhere trains and scores neural models wherever a
 * CBLAS is installed and says so in words where none is; programs that use no such model, and
 * compilers with the plugin, never load it (OpenBLAS alone is 30 MB and starts threads).
 */
#ifndef CTUNE_COSTMODEL_NN_BLAS_H
#define CTUNE_COSTMODEL_NN_BLAS_H

#include "runtime/base.h"

typedef struct ctune_blas {
    const char *name; /* of the library that was found */
    /* cblas_sgemm; matrices are row-major: order is always CTUNE_BLAS_ROW_MAJOR */
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
} ctune_blas;

enum { CTUNE_BLAS_ROW_MAJOR = 101, CTUNE_BLAS_PLAIN = 111, CTUNE_BLAS_TRANSPOSED = 112 };

/* The library, loaded at the first call and never unloaded. $CTUNE_BLAS names another file than
 * those that are usual. EENV with words when there is none. Thread: the first call is one thread's.
 */
CTUNE_MUST_USE ctune_status ctune_blas_get(ctune_ctx *ctx, const ctune_blas **out);

#endif

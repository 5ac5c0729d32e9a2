/*
 * Small exact integer matrices: rank and inverse of unimodular ones. Private to search/deps.
 */
#ifndef CTUNE_SEARCH_DEPS_UNIMODULAR_H
#define CTUNE_SEARCH_DEPS_UNIMODULAR_H

#include "search/te/te.h"

typedef struct ctune_matrix {
    int n_rows, n_cols;
    int64_t at[CTUNE_MAX_DEPTH][2 * CTUNE_MAX_DEPTH];
} ctune_matrix;

/* Rank over the rationals; -1 on overflow. */
int ctune_matrix_rank(const ctune_matrix *m);
/* Inverse of a square matrix with determinant 1 or -1; false for any other, or on overflow. */
bool ctune_matrix_invert(const ctune_matrix *m, ctune_matrix *inverse);

#endif

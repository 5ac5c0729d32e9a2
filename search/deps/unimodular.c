/*
 * Integer row reduction by Euclid's algorithm: see unimodular.h.
 *
 * Only adding multiples of rows and swapping them, so integers stay integers; a matrix is
 * unimodular exactly when the pivots come out as 1 or -1.
 */
#include "search/deps/unimodular.h"

static void swap_rows(ctune_matrix *m, int a, int b) {
    for (int c = 0; c < m->n_cols; c++) {
        int64_t x = m->at[a][c];
        m->at[a][c] = m->at[b][c];
        m->at[b][c] = x;
    }
}

/* row a -= factor * row b */
static bool subtract_row(ctune_matrix *m, int a, int b, int64_t factor) {
    for (int c = 0; c < m->n_cols; c++) {
        int64_t product;
        if (__builtin_mul_overflow(factor, m->at[b][c], &product) ||
            __builtin_sub_overflow(m->at[a][c], product, &m->at[a][c])) {
            return false;
        }
    }
    return true;
}

/* Make column c of the rows below `row` zero; row keeps the greatest common divisor. */
static bool reduce_column(ctune_matrix *m, int row, int c) {
    for (int r = row + 1; r < m->n_rows; r++) {
        while (m->at[r][c] != 0) {
            if (m->at[row][c] == INT64_MIN || m->at[r][c] == INT64_MIN ||
                !subtract_row(m, row, r, m->at[row][c] / m->at[r][c])) {
                return false;
            }
            swap_rows(m, row, r);
        }
    }
    return true;
}

int ctune_matrix_rank(const ctune_matrix *m) {
    ctune_matrix work = *m;
    int rank = 0;
    for (int c = 0; c < work.n_cols && rank < work.n_rows; c++) {
        if (!reduce_column(&work, rank, c)) {
            return -1;
        }
        rank += work.at[rank][c] != 0;
    }
    return rank;
}

bool ctune_matrix_invert(const ctune_matrix *m, ctune_matrix *inverse) {
    int n = m->n_rows;
    ctune_matrix work = *m;
    work.n_cols = 2 * n;
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < n; c++) {
            work.at[r][n + c] = r == c;
        }
    }
    for (int c = 0; c < n; c++) {
        if (!reduce_column(&work, c, c) || (work.at[c][c] != 1 && work.at[c][c] != -1)) {
            return false;
        }
        if (work.at[c][c] == -1 && !subtract_row(&work, c, c, 2)) {
            return false;
        }
    }
    for (int c = n - 1; c >= 0; c--) {
        for (int r = 0; r < c; r++) {
            if (!subtract_row(&work, r, c, work.at[r][c])) {
                return false;
            }
        }
    }
    *inverse = (ctune_matrix){.n_rows = n, .n_cols = n};
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < n; c++) {
            inverse->at[r][c] = work.at[r][n + c];
        }
    }
    return true;
}

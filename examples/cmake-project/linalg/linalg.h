/* Dense matrices, row after row. */
#ifndef LINALG_H
#define LINALG_H

/* c += a b; all n x n, none overlaps c */
void matmul(int n, const float a[n][n], const float b[n][n], float c[n][n]);

/* y = a x for m rows; y overlaps neither */
void matvec(int m, int n, const float a[m][n], const float x[n], float y[m]);

#endif

/* Subscripts and bounds from memory, rows behind pointers: what tests/run/sparse.sh compiles before and after. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fell_back; /* counted by the rewritten text */

static void spmm(int n, int m, const int *row, const unsigned short *col, const float *val,
                 const float *B, float *restrict C) {
#pragma tune sizes(n=50, m=40) \
    schedule("split j 16 -> j0 j1; reorder i j0 k j1; vectorize j1; cache_write S0 at j0 register")
    for (int i = 0; i < n; i++)
        for (int k = row[i]; k < row[i + 1]; k++)
            for (int j = 0; j < m; j++)
                C[i * m + j] += val[k] * B[col[k] * m + j];
}

static void moved(int n, int m, const long *row, const int *col, const double *val, const double *B,
                  double *restrict C) {
#pragma tune sizes(n=50, m=40) schedule("reorder i k j; split j 4 -> j0 j1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (long k = row[i]; k < row[i + 1]; k++)
                C[i * m + j] += val[k] * B[col[k] * m + j];
}

static void spmv(int n, const int *row, const int *col, const double *val, const double *x,
                 double *restrict y) {
#pragma tune sizes(n=50) schedule("split i 4 -> i0 i1; unroll i1")
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            s += val[k] * x[col[k]];
        y[i] = s;
    }
}

static void lengths(int n, const signed char *len, const float *b, float *restrict a) {
#pragma tune sizes(n=50) schedule("split i 2 -> i0 i1")
    for (int i = 0; i < n; i++)
        for (int k = 0; k < len[i]; k++)
            a[i] += b[i + k];
}

static void gather(int n, const long *ix, const unsigned char *jx, const float *b, const float *t,
                   float *restrict a) {
#pragma tune sizes(n=100) schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        a[i] = b[ix[i]] * t[jx[i]];
}

static void scatter(int n, int m, const int *ix, const float *b, float *restrict y) {
#pragma tune sizes(n=50, m=40) schedule("split j 8 -> j0 j1; vectorize j1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[ix[i] * m + j] += b[i * m + j];
}

static void product(int n, double **A, double **B, double **C) {
#pragma tune sizes(n=40) \
    schedule("split i 4 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 k i1 j1; unroll i1; vectorize j1; cache_write S0 at j0 register")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}

typedef struct {
    int n, m;
    double **rows;
} grid;

static void smooth(const grid *a, grid *b) {
#pragma tune schedule("split j 8 -> j0 j1; vectorize j1")
    for (int i = 1; i < a->n - 1; i++)
        for (int j = 1; j < a->m - 1; j++)
            b->rows[i][j] = a->rows[i - 1][j] + a->rows[i + 1][j] + a->rows[i][j - 1];
}

enum { N = 37, M = 43, NNZ = 400 };

static unsigned sum(const void *data, size_t bytes) {
    unsigned h = 1;
    for (size_t i = 0; i < bytes; i++)
        h = h * 31 + ((const unsigned char *)data)[i];
    return h;
}

static int row[N + 1], col[NNZ];
static long lrow[N + 1], ix[N];
static unsigned short scol[NNZ];
static unsigned char jx[N];
static signed char len[N];
static float fval[NNZ], fB[N * M], fC[N * M], fx[200], fa[N];
static double val[NNZ], dB[N * M], dC[N * M], x[N], y[N];

static void fill(void) {
    for (int i = 0; i < NNZ; i++) {
        col[i] = i * 7 % N;
        scol[i] = (unsigned short)col[i];
        val[i] = fval[i] = (float)(i % 13) / 3;
    }
    for (int i = 0; i < N * M; i++) {
        fB[i] = (float)(i % 17) / 7;
        dB[i] = (double)(i % 19) / 7;
        fC[i] = 1;
        dC[i] = 1;
    }
    for (int i = 0; i <= N; i++)
        lrow[i] = row[i] = i * 10;
    for (int i = 0; i < N; i++) {
        ix[i] = i * 5 % 50 - 20; /* negative ones, too */
        jx[i] = (unsigned char)(i * 3);
        len[i] = (signed char)(i % 9 - 3);
        x[i] = y[i] = i;
    }
    for (int i = 0; i < 200; i++)
        fx[i] = (float)i / 3;
}

static void sparse(const char *what) {
    spmm(N, M, row, scol, fval, fB, fC);
    moved(N, M, lrow, col, val, dB, dC);
    spmv(N, row, col, val, x, y);
    printf("%s %x %x %x\n", what, sum(fC, sizeof fC), sum(dC, sizeof dC), sum(y, sizeof y));
}

static double store[3][(N + 2) * (M + 2) + 64];
static double *rows[3][N];

/* how: 0 at equal distances, 1 not, 2 two rows in the wrong order, 3 one row twice */
static void lay(int how) {
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < N; i++)
            rows[t][i] = store[t] + i * (M + 1) + (how == 1 && i > 5 ? 8 : 0);
        for (size_t i = 0; i < sizeof store[t] / sizeof *store[t]; i++)
            store[t][i] = (double)(i * (size_t)(t + 3) % 11) / 3;
    }
    if (how == 2) {
        double *swap = rows[2][3];
        rows[2][3] = rows[2][9];
        rows[2][9] = swap;
    }
    if (how == 3)
        rows[2][4] = rows[2][3];
}

static void behind(int how, int n) {
    lay(how);
    product(n, rows[0], rows[1], rows[2]);
    grid a = {n, M, rows[0]}, b = {n, M, rows[2]};
    smooth(&a, &b);
    b.rows = rows[0]; /* over itself */
    smooth(&a, &b);
    printf("rows %d %d %x\n", how, n, sum(store, sizeof store));
}

int main(void) {
    fill();
    sparse("rows");
    fill();
    for (int i = 0; i <= N; i++) /* empty ones, and ends before their starts */
        lrow[i] = row[i] = i % 3 == 0 ? i * 10 : i % 3 == 1 ? NNZ - i : i * 2;
    sparse("reversed");
    fill();
    memset(row, 0, sizeof row);
    memset(lrow, 0, sizeof lrow);
    sparse("empty");
    fill();
    spmm(0, M, NULL, NULL, NULL, NULL, NULL);
    spmm(N, 0, row, scol, fval, fB, fC);
    moved(N, 0, NULL, NULL, NULL, NULL, NULL);
    moved(N, -3, NULL, NULL, NULL, NULL, NULL);
    spmv(-1, NULL, NULL, NULL, NULL, NULL);
    lengths(N, len, fx, fa);
    printf("lengths %x\n", sum(fa, sizeof fa));
    gather(N, ix, jx, fx + 20, fx, fa);
    gather(0, NULL, NULL, NULL, NULL, NULL);
    printf("gather %x\n", sum(fa, sizeof fa));
    scatter(N, M, col, fB, fC);
    printf("scatter %x\n", sum(fC, sizeof fC));
    if (fell_back != 0)
        fprintf(stderr, "%d fell back\n", fell_back);
    for (int how = 0; how < 4; how++)
        behind(how, N);
    int before = fell_back;
    behind(0, 2);
    behind(0, 1);
    product(0, NULL, NULL, NULL);
    fprintf(stderr, "rows fell back %d %d\n", before, fell_back - before);
    return 0;
}

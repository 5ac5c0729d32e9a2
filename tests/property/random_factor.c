/*
 * Random factorisations, solves and recurrences: regions whose loops are ordered by what they
 * compute themselves. See random_region.h.
 *
 * Rows of a table of nests in TE text, with $-letters that are filled at random: the type, the
 * start of a range. Blocks of a tile, packs inside the nest that writes, and rows in lanes have
 * something to do here, which a random nest seldom gives them.
 */
#include "tests/property/random_region.h"

#include <string.h>

#define HEAD "te 1\nregion f at \"random.c\":1\noption noalias\nparam n i32 sizes 48\n"
#define IJK "axis i i32\naxis j i32\naxis k i32\n"

/* $t: type; $e: a small constant, which keeps the values finite; $c: 0 or 1, the start of a range
 */
static const char *const nests[] = {
    /* cholesky */
    HEAD IJK "axis k_2 i32\ntensor A $t [n + 1][n + 1] update\n"
             "stage S0: A[i][j] -= $e * A[i][k] * A[j][k]\nstage S1: A[i][j] += $e * A[j][j]\n"
             "stage S2: A[i][i] -= $e * A[i][k_2] * A[i][k_2]\nstage S3: A[i][i] *= $e\n"
             "order {\n for i: i >= 0, n - i - 1 >= 0 {\n  for j: j >= 0, i - j - 1 >= 0 {\n"
             "   for k: k >= $c, j - k - 1 >= 0 {\n    S0\n   }\n   S1\n  }\n"
             "  for k_2: k_2 >= 0, i - k_2 - 1 >= 0 {\n   S2\n  }\n  S3\n }\n}\n",
    /* lu */
    HEAD IJK "axis j_2 i32\naxis k_2 i32\ntensor A $t [n + 1][n + 1] update\n"
             "stage S0: A[i][j] -= $e * A[i][k] * A[k][j]\nstage S1: A[i][j] += $e * A[j][j]\n"
             "stage S2: A[i][j_2] -= $e * A[i][k_2] * A[k_2][j_2]\n"
             "order {\n for i: i >= $c, n - i - 1 >= 0 {\n  for j: j >= 0, i - j - 1 >= 0 {\n"
             "   for k: k >= 0, j - k - 1 >= 0 {\n    S0\n   }\n   S1\n  }\n"
             "  for j_2: j_2 - i >= 0, n - j_2 - 1 >= 0 {\n   for k_2: k_2 >= 0, i - k_2 - 1 >= 0 "
             "{\n    S2\n   }\n  }\n }\n}\n",
    /* one right-hand side */
    HEAD "axis i i32\naxis k i32\ntensor L $t [n + 1][n + 1] read\ntensor x $t [n + 1] update\n"
         "tensor b $t [n + 1] read\n"
         "stage S0: x[i] = b[i]\nstage S1: x[i] -= $e * L[i][k] * x[k]\nstage S2: x[i] *= L[i][i]\n"
         "order {\n for i: i >= 0, n - i - 1 >= 0 {\n  S0\n  for k: k >= $c, i - k - 1 >= 0 {\n"
         "   S1\n  }\n  S2\n }\n}\n",
    /* many right-hand sides, upwards */
    HEAD IJK "tensor U $t [n + 1][n + 1] read\ntensor X $t [n + 1][n + 1] update\n"
             "stage S0: X[i][j] -= $e * U[n - 1 - k][n - 1 - i] * X[k][j]\n"
             "stage S1: X[i][j] += U[n - 1 - i][n - 1 - i]\n"
             "order {\n for i: i >= 0, n - i - 1 >= 0 {\n  for j: j >= $c, n - j - 1 >= 0 {\n"
             "   for k: k >= 0, i - k - 1 >= 0 {\n    S0\n   }\n   S1\n  }\n }\n}\n",
    /* a symmetric product whose rows are updated on the way */
    HEAD IJK
    "tensor A $t [n + 1][n + 1] read\ntensor B $t [n + 1][n + 1] read\ntensor C $t [n + 1][n + "
    "1] "
    "update\n"
    "tensor s $t [n + 1][n + 1] temp\n"
    "stage S0: s[i][j] = B[i][j]\nstage S1: C[k][j] += A[i][k] * B[i][j]\n"
    "stage S2: s[i][j] += B[k][j] * A[i][k]\nstage S3: C[i][j] = $e * C[i][j] + s[i][j]\n"
    "order {\n for i: i >= 0, n - i - 1 >= 0 {\n  for j: j >= $c, n - j - 1 >= 0 {\n   S0\n"
    "   for k: k >= 0, i - k - 1 >= 0 {\n    S1\n    S2\n   }\n   S3\n  }\n }\n}\n",
    /* columns made orthogonal to the ones before */
    HEAD "axis k i32\naxis i i32\naxis j i32\naxis i_2 i32\naxis i_3 i32\n"
         "tensor A $t [n + 1][n + 1] update\ntensor R $t [n + 1][n + 1] update\n"
         "stage S0: A[i][k] += R[k][k]\nstage S1: R[k][j] += $e * A[i_2][k] * A[i_2][j]\n"
         "stage S2: A[i_3][j] -= $e * A[i_3][k] * R[k][j]\n"
         "order {\n for k: k >= 0, n - k - 1 >= 0 {\n  for i: i >= $c, n - i - 1 >= 0 {\n   S0\n"
         "  }\n  for j: j - k - 1 >= 0, n - j - 1 >= 0 {\n   for i_2: i_2 >= 0, n - i_2 - 1 >= 0 "
         "{\n    S1\n   }\n   for i_3: i_3 >= 0, n - i_3 - 1 >= 0 {\n    S2\n   }\n  }\n }\n}\n",
    /* a triangular table filled from its diagonal */
    HEAD IJK "tensor T i32 [n + 1][n + 1] update\ntensor q i32 [n + 1] read\n"
             "stage S0: T[n - 1 - i][j] max= T[n - 1 - i][j - 1] + q[j]\n"
             "stage S1: T[n - 1 - i][j] max= T[n - 1 - i][k] + T[k + 1][j]\n"
             "order {\n for i: i >= 0, n - i - 1 >= 0 {\n  for j: i + j - n >= 0, n - j - 1 >= "
             "0 "
             "{\n   S0\n   for k: k - n + i >= $c, j - k - 1 >= 0 {\n    S1\n   }\n  }\n "
             "}\n}\n", /* the
                          cheapest
                          split of
                          an
                          interval,
                          with a
                          border
                          of its
                          own */
    HEAD IJK "tensor T i32 [n + 1][n + 1] update\ntensor q i32 [n + 1] read\n"
             "stage S0: T[n - 1 - i][j] min= T[n - i][j] - q[j]\n"
             "stage S1: T[n - 1 - i][j] below= T[k][j] + T[n - 1 - i][k - 1]\n"
             "order {\n for i: i >= 0, n - i - 1 >= 0 {\n  for j: i + j - n >= $c, n - j - 1 >= 0 "
             "{\n   S0\n   for k: k - n + i >= 0, j - k >= 0 {\n    S1\n   }\n  }\n }\n}\n",
    /* a filter along rows, there and back */
    HEAD "axis i i32\naxis j i32\naxis k i32\ntensor X $t [n + 1][n + 1] read\n"
         "tensor Y $t [n + 1][n + 1] update\ntensor Z $t [n + 1][n + 1] update\n"
         "tensor s $t [n + 1] temp\n"
         "stage S0: s[i] = X[i][0]\nstage S1: Y[i][j] = X[i][j] + $e * s[i]\n"
         "stage S2: s[i] = Y[i][j] - X[i][j]\n"
         "stage S3: Z[i][n - 1 - k] = Y[i][n - 1 - k] - $e * Z[i][n - k]\n"
         "order {\n for i: i >= $c, n - i - 1 >= 0 {\n  S0\n  for j: j >= $c, n - j - 1 >= 0 {\n"
         "   S1\n   S2\n  }\n  for k: k >= 0, n - k - 1 >= 0 {\n   S3\n  }\n }\n}\n",
    /* a line solve whose coefficients lie in rows and whose values in columns */
    HEAD "axis i i32\naxis j i32\naxis k i32\ntensor A $t [n + 1][n + 2] read\n"
         "tensor P $t [n + 1][n + 1] update\ntensor Q $t [n + 1][n + 1] update\n"
         "tensor V $t [n + 1][n + 1] update\n"
         "stage S0: V[n][i] = A[i][0]\nstage S1: P[i][j] = $e * P[i][j - 1] + A[j][i]\n"
         "stage S2: Q[i][j] = A[j][i + 1] - $e * Q[i][j - 1] * P[i][j - 1]\n"
         "stage S3: V[n - 1 - k][i] = $e * P[i][n - 1 - k] * V[n - k][i] + Q[i][n - 1 - k]\n"
         "order {\n for i: i >= $c, n - i - 1 >= 0 {\n  S0\n  for j: j >= 1, n - j - 1 >= 0 {\n"
         "   S1\n   S2\n  }\n  for k: k >= $c, n - k - 1 >= 0 {\n   S3\n  }\n }\n}\n",
    /* sums along rows in their order, then the rows scaled by them */
    HEAD "axis i i32\naxis j i32\naxis k i32\ntensor A $t [n + 1][n + 1] update\n"
         "tensor b $t [n + 1] read\ntensor x $t [n + 1] update\n"
         "stage S0: x[i] = $e * b[i]\nstage S1: x[i] += A[i][j] * b[j]\n"
         "stage S2: A[i][k] *= x[i]\n"
         "order {\n for i: i >= $c, n - i - 1 >= 0 {\n  S0\n  for j: j >= $c, n - j - 1 >= 0 {\n"
         "   S1\n  }\n  for k: k >= 0, n - k - 1 >= 0 {\n   S2\n  }\n }\n}\n",
};

ctune_status random_factor_make(ctune_ctx *ctx, ctune_rng *rng, ctune_region **out) {
    ctune_text text;
    ctune_text_init(&text);
    const char *nest = nests[ctune_rng_below(rng, sizeof nests / sizeof *nests)];
    bool is_f64 = ctune_rng_below(rng, 2) == 0;
    for (const char *c = nest; *c != '\0'; c++) {
        if (c[0] == '$' && c[1] == 't') {
            ctune_text_append(&text, is_f64 ? "f64" : "f32");
            c++;
        } else if (c[0] == '$' && c[1] == 'e') {
            ctune_text_append(&text, is_f64 ? "0.0009765625" : "f32(0x1p-10)");
            c++;
        } else if (c[0] == '$' && c[1] == 'c') {
            ctune_text_printf(&text, "%d", (int)ctune_rng_below(rng, 2));
            c++;
        } else {
            ctune_text_append_n(&text, c, 1);
        }
    }
    ctune_status status = ctune_te_parse(ctx, ctune_text_get(&text), out);
    ctune_text_clear(&text);
    return status;
}

/* The region of the sample programs: of the unit tests and of the fuzzer. */
#ifndef CTUNE_TESTS_UNIT_LOOPS_LOOPS_REGION_H
#define CTUNE_TESTS_UNIT_LOOPS_LOOPS_REGION_H

/* A, B, C: f32; D: f64; E: an array of structs; K: i32; L: a linearised matrix; t: a temporary, u:
 * one whose last value lives on. */
static inline const char *loops_region_text(void) {
    return "te 1\n"
           "region samples\n"
           "param n i32 sizes 64\n"
           "param m i32 sizes 48\n"
           "axis i i32\n"
           "axis j i32\n"
           "axis k i32\n"
           "tensor alpha f32 scalar\n"
           "tensor A f32 [n][m]\n"
           "tensor B f32 [m][n]\n"
           "tensor C f32 [n][n]\n"
           "tensor D f64 [n]\n"
           "tensor E f64 [n] stride 24 pattern \"E[$0].x\" base \"&E[0].x\"\n"
           "tensor K i32 [n]\n"
           "tensor L f32 [n][m] pattern \"L[$L]\"\n"
           "tensor t f32 [n] temp\n"
           "tensor u f32 [n] temp liveout \"u\"\n"
           "tensor H f16 [n]\n"
           "tensor Z u8 [n]\n"
           "stage S0: C[i][j] += A[i][k] * B[k][j]\n"
           "stage S1: t[i] = alpha + L[i][0]\n"
           "stage S2: D[i] = (f64) t[i] + E[i]\n"
           "stage S3: K[i] += 1\n"
           "stage S4: u[i] = t[i]\n"
           "stage S5: E[i] = D[i]\n"
           "stage S6: H[i] = (f16) u[i]\n"
           "stage S7: Z[i] = (u8) K[i]\n"
           "stage S8: L[i][0] = A[i][0]\n"
           "order {\n"
           "    for i: 0 <= i < n {\n"
           "        S1\n"
           "        S2\n"
           "        S3\n"
           "        S4\n"
           "        S5\n"
           "        S6\n"
           "        S7\n"
           "        S8\n"
           "        for j: 0 <= j < n {\n"
           "            for k: 0 <= k < m {\n"
           "                S0\n"
           "            }\n"
           "        }\n"
           "    }\n"
           "}\n";
}

#endif

// RUN: ctune show deps %s | FileCheck-19 %s
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
// CHECK: flow,anti,output C S0 -> S0 (0, 0, +)

/* C += A * B: three plain loops. `ctune tune examples/gemm/gemm.c -- -O3 -march=native` */
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune sizes(n=1024)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}

/* A matmul over restrict pointers: a copy without restrict is vectorised otherwise. main is in restrict_main.c. */
void mul(int n, const float *restrict a, const float *restrict b, float *restrict c) {
#pragma tune sizes(n=100)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}

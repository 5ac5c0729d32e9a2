// RUN: ctune show space %s -- clang-19 -O3 -mavx2 | FileCheck-19 %s
// Each step updates all later columns: a strip of columns gets all steps before its own at once.
void orthogonal(int m, int n, double A[m][n], double len[n], double R[n][n]) {
#pragma tune sizes(m=400, n=400)
    for (int k = 0; k < n; k++) {
        len[k] = 0.0;
        for (int i = 0; i < m; i++)
            len[k] += A[i][k] * A[i][k];
        for (int j = k + 1; j < n; j++) {
            R[k][j] = 0.0;
            for (int i = 0; i < m; i++)
                R[k][j] += A[i][k] * A[i][j];
            for (int i = 0; i < m; i++)
                A[i][j] -= A[i][k] / len[k] * R[k][j];
        }
    }
}
// CHECK: form {{[0-9]}}: block j by 16 -> j_b at k; split_domain k at k - 16*j_b < 0; distribute
// CHECK: chain S{{[0-9]}} work {{.*}} | band j{{.*}} i{{.*}}(reduce) | vector j
// CHECK: form {{[0-9]}}: block j by 32

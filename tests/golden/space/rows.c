// RUN: ctune show space %s -- clang-19 -O3 -mavx2 | FileCheck-19 %s
// Rows in lanes are offered where something runs in order along each row, not where the loops inside are free.
void scan(int n, int m, float in[n][m], float out[n][m], float sum[n]) {
#pragma tune sizes(n=600, m=600)
    for (int i = 0; i < n; i++) {
        sum[i] = 0.0f;
        for (int j = 1; j < m; j++) {
            out[i][j] = out[i][j - 1] + in[i][j];
            sum[i] += out[i][j] * in[i][j];
        }
    }
}
void scale(int n, int m, float in[n][m], float out[n][m], float by[n]) {
#pragma tune sizes(n=600, m=600)
    for (int i = 0; i < n; i++) {
        by[i] = 2.0f * by[i];
        for (int j = 0; j < m; j++)
            out[i][j] = by[i] * in[i][j];
    }
}
// CHECK-LABEL: region scan
// CHECK: chain S0 {{.*}}: i | rows
// CHECK: decision {{[0-9]+}}: S0.rows, 2 choices
// CHECK-LABEL: region scale
// CHECK-NOT: rows

// RUN: ctune show space %s -- clang-19 -O3 -mavx2 | FileCheck-19 %s
// A filter there and back along rows, and the sum of both: row by row, though the loops run in opposite directions.
void smooth(int n, int m, float a, float in[n][m], float there[n][m], float back[n][m], float out[n][m]) {
#pragma tune sizes(n=3000, m=2000)
    {
        for (int i = 0; i < n; i++) {
            float y = 0.0f;
            for (int j = 0; j < m; j++) {
                y = in[i][j] + a * y;
                there[i][j] = y;
            }
        }
        for (int i = 0; i < n; i++) {
            float y = 0.0f;
            for (int j = m - 1; j >= 0; j--) {
                y = in[i][j] + a * y;
                back[i][j] = y;
            }
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                out[i][j] = there[i][j] + back[i][j];
    }
}
// CHECK: form {{[0-9]}}: fuse S0 S{{[0-9]}} 1; fuse S0 S{{[0-9]}} 1
// CHECK-NEXT: chain S0 {{.*}}: i | rows

// RUN: ctune show space %s -- clang-19 -O3 -mavx2 | FileCheck-19 %s
// Padding written as a condition: a form whose inner loop is split into border, interior, border.
void conv(int n, int h, int w, float in[n][h][w], float filter[n][n][5][5], float out[n][h][w]) {
#pragma tune sizes(n=32, h=40, w=40)
    for (int o = 0; o < n; o++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float sum = 0.0f;
                for (int i = 0; i < n; i++)
                    for (int dy = 0; dy < 5; dy++)
                        for (int dx = 0; dx < 5; dx++)
                            if (y + dy >= 2 && y + dy < h + 2 && x + dx >= 2 && x + dx < w + 2)
                                sum += in[i][y + dy - 2][x + dx - 2] * filter[o][i][dy][dx];
                out[o][y][x] = sum;
            }
}
// CHECK: form {{[0-9]}}: split_domain x at x < 2
// CHECK: chain S1 {{.*}} i(reduce) dy(reduce) dx(reduce)
// CHECK: chain S1_2 {{.*}} band {{.*}} i_2(reduce) dy_2(reduce) dx_2(reduce) | vector x_6
// CHECK: chain S1_3
// CHECK: decision {{[0-9]+}}: S1_2.vector

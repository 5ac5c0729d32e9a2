// RUN: ctune show space --region conv %s -- clang-19 -O3 -mavx2 | FileCheck-19 %s
// RUN: ctune show space --region layers %s -- clang-19 -O3 -mavx2 | FileCheck-19 --check-prefix LAYERS %s
// Start, sum and end of each element: forms that run them tile by tile.
void conv(int n, int h, int w, float in[n][h + 2][w + 2], float filter[n][n][3][3], float bias[n],
          float out[n][h][w]) {
#pragma tune sizes(n=32, h=40, w=40)
    for (int o = 0; o < n; o++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float sum = bias[o];
                for (int i = 0; i < n; i++)
                    for (int dy = 0; dy < 3; dy++)
                        for (int dx = 0; dx < 3; dx++)
                            sum += in[i][y + dy][x + dx] * filter[o][i][dy][dx];
                out[o][y][x] = sum > 0.0f ? sum : 0.0f;
            }
}
// CHECK: parts in tiles of o x
// CHECK-NEXT: chain S0 {{.*}} ot y xt
// CHECK-NEXT: chain S0 {{.*}} | band o x | vector x
// CHECK-NEXT: chain S1 {{.*}} | band o_2 x_2 i(reduce) dy(reduce) dx(reduce) | vector x_2
// CHECK-NEXT: chain S2 {{.*}} | band o_3 x_3 | vector x_3
// CHECK: parts in tiles of x
// CHECK: parts in tiles of o y x
// CHECK: S1.parts.x
// CHECK: S1.parts.order
// The same as nests of their own: fused first.
void layers(int n, float A[n][n], float B[n][n], float bias[n], float C[n][n]) {
#pragma tune sizes(n=256)
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                C[i][j] = 0.0f;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++)
                    C[i][j] += A[i][k] * B[k][j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                C[i][j] = C[i][j] + bias[j] > 0.0f ? C[i][j] + bias[j] : 0.0f;
    }
}
// LAYERS: chain S0 {{.*}} i j
// LAYERS: parts in tiles of i j
// LAYERS-NEXT: chain S0 {{.*}} it jt
// LAYERS-NEXT: chain S0 {{.*}} | band i j | vector j
// LAYERS-NEXT: chain S1 {{.*}} | band i_2 j_2 {{.*}}(reduce)
// RUN: ctune show space --region blur %s -- clang-19 -O3 -mavx2 | FileCheck-19 --check-prefix BLUR %s
// A producer inside the consumer's tiles, rows, or iterations.
void blur(int h, int w, float in[h + 2][w + 2], float out[h][w]) {
#pragma tune sizes(h=720, w=1280)
    {
        float t[h + 2][w];
        for (int y = 0; y < h + 2; y++)
            for (int x = 0; x < w; x++)
                t[y][x] = in[y][x] + in[y][x + 1] + in[y][x + 2];
        for (int v = 0; v < h; v++)
            for (int u = 0; u < w; u++)
                out[v][u] = t[v][u] + t[v + 1][u] + t[v + 2][u];
    }
}
// BLUR: placed S0 in tiles of v u
// BLUR-NEXT: chain S0 {{.*}}: vt ut
// BLUR-NEXT: chain S0 {{.*}} | band y x | vector x
// BLUR: placed S0 in tiles of v{{$}}
// BLUR: placed S0 in iterations of v

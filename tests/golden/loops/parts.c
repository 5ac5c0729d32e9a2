// RUN: ctune show loops --region product %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix PRODUCT %s
// RUN: ctune show loops --region blur %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 --check-prefix BLUR %s
// Start, sum and end of an element over one register tile: the temporary is as large as the tile.
void product(int n, float A[n][n], float B[n][n], float bias[n], float C[n][n]) {
#pragma tune schedule("split i 2 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 i1 j1; fission j1; fission i1; reorder k i1_2 j1_2; vectorize j1; vectorize j1_2; vectorize j1_3; unroll i1_2; cache_write S1 at j0 register")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = bias[j];
            for (int k = 0; k < n; k++)
                sum += A[i][k] * B[k][j];
            C[i][j] = sum > 0.0f ? sum : 0.0f;
        }
}
// The rows that one row of the result reads.
void blur(int h, int w, float in[h + 2][w], float out[h][w]) {
#pragma tune schedule("compute S0 at v")
    {
        float t[h + 2][w];
        for (int y = 0; y < h + 2; y++)
            for (int x = 0; x < w; x++)
                t[y][x] = in[y][x] * 3.0f;
        for (int v = 0; v < h; v++)
            for (int x = 0; x < w; x++)
                out[v][x] = t[v][x] + t[v + 1][x] + t[v + 2][x];
    }
}
// Whole tiles have code of their own.
// PRODUCT: for j0{{.*}} step 8 {
// PRODUCT-NEXT: if n - j0 - 8 >= 0, n - i0 - 2 >= 0 {
// PRODUCT-NEXT: decl sum_2[2][8] f32 block
// PRODUCT-NEXT: for i1 from i0 below i0 + 2 {
// PRODUCT-NEXT: store sum_2[i1 - i0][0:8] = bias[j0:8]
// PRODUCT: def acc_0 f32x8 mutable = sum_2[0][0:8]
// PRODUCT: for k_2 from 0 below n {
// PRODUCT: store sum_2[1][0:8] = acc_1
// PRODUCT: store C[i1{{.*}}][j0:8] = select(
// PRODUCT: } else {
// PRODUCT-NEXT: decl sum_3[2][8] f32 block
// PRODUCT: store sum_3[i1{{.*}} - i0][j1{{.*}} - j0] = bias[j1
// BLUR: decl t_2[3][t_size] f32 program
// BLUR: for v_2 from 0 below h {
// BLUR: store t_2[y_2 - t_base][x_3] =
// BLUR: store out[v_2][

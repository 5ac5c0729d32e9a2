/*
 * A 3x3 convolution layer with bias and ReLU, NCHW, as one writes it down: seven loops. The block is
 * one region of three nests: initialisation, accumulation, activation.
 *
 *     conv2d [images channels filters height width]
 */
#include "../example.h"

static void conv2d(int n, int c, int k, int h, int w, const float x[n][c][h + 2][w + 2],
                   const float weight[k][c][3][3], const float bias[k], float y[n][k][h][w]) {
#pragma tune name(conv2d) sizes(n=1, c=64, k=64, h=56, w=56)
    {
        for (int i = 0; i < n; i++)
            for (int f = 0; f < k; f++)
                for (int p = 0; p < h; p++)
                    for (int q = 0; q < w; q++)
                        y[i][f][p][q] = bias[f];
        for (int i = 0; i < n; i++)
            for (int f = 0; f < k; f++)
                for (int p = 0; p < h; p++)
                    for (int q = 0; q < w; q++)
                        for (int d = 0; d < c; d++)
                            for (int r = 0; r < 3; r++)
                                for (int s = 0; s < 3; s++)
                                    y[i][f][p][q] += x[i][d][p + r][q + s] * weight[f][d][r][s];
        for (int i = 0; i < n; i++)
            for (int f = 0; f < k; f++)
                for (int p = 0; p < h; p++)
                    for (int q = 0; q < w; q++)
                        y[i][f][p][q] = y[i][f][p][q] > 0 ? y[i][f][p][q] : 0;
    }
}

int main(int argc, char **argv) {
    int z[5] = {1, 64, 64, 56, 56};
    for (int i = 1; i < argc && i <= 5; i++) {
        z[i - 1] = atoi(argv[i]);
        if (z[i - 1] < 1) {
            fprintf(stderr, "usage: conv2d [images channels filters height width]\n");
            return 2;
        }
    }
    int n = z[0], c = z[1], k = z[2], h = z[3], w = z[4];
    size_t n_x = (size_t)n * c * (h + 2) * (w + 2), n_weight = (size_t)k * c * 9;
    size_t n_y = (size_t)n * k * h * w;
    float *x = example_alloc(n_x * sizeof *x), *weight = example_alloc(n_weight * sizeof *weight);
    float *bias = example_alloc((size_t)k * sizeof *bias), *y = example_alloc(n_y * sizeof *y);
    for (size_t i = 0; i < n_x; i++) {
        x[i] = example_noise(i);
    }
    for (size_t i = 0; i < n_weight; i++) {
        weight[i] = example_noise(i + 7) - 0.5f;
    }
    for (int i = 0; i < k; i++) {
        bias[i] = example_noise((size_t)i + 13);
    }
    EXAMPLE_RUN("conv2d",
                conv2d(n, c, k, h, w, (const float(*)[c][h + 2][w + 2])x,
                       (const float(*)[c][3][3])weight, bias, (float(*)[k][h][w])y),
                y, n_y * sizeof *y);
    free(x);
    free(weight);
    free(bias);
    free(y);
    return 0;
}

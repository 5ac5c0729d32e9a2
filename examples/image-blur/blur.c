/*
 * A separable 5-tap Gaussian blur of an 8-bit image: bytes in, float inside, bytes out, rounded and
 * clamped. The two passes are one region with a temporary between them.
 *
 *     blur [width height]
 */
#include "../example.h"

static void blur(int width, int height, const uint8_t in[height][width],
                 float rows[height][width], uint8_t out[height][width]) {
#pragma tune name(blur) sizes(width=1920, height=1080)
    {
        for (int y = 0; y < height; y++)
            for (int x = 2; x < width - 2; x++)
                rows[y][x] = 0.0625f * (float)in[y][x - 2] + 0.25f * (float)in[y][x - 1] +
                             0.375f * (float)in[y][x] + 0.25f * (float)in[y][x + 1] +
                             0.0625f * (float)in[y][x + 2];
        for (int y = 2; y < height - 2; y++)
            for (int x = 2; x < width - 2; x++) {
                float v = 0.0625f * rows[y - 2][x] + 0.25f * rows[y - 1][x] +
                          0.375f * rows[y][x] + 0.25f * rows[y + 1][x] +
                          0.0625f * rows[y + 2][x] + 0.5f;
                out[y][x] = (uint8_t)(v > 255.0f ? 255.0f : v);
            }
    }
}

int main(int argc, char **argv) {
    int width = argc > 1 ? atoi(argv[1]) : 1920, height = argc > 2 ? atoi(argv[2]) : 1080;
    if (width < 5 || height < 5) {
        fprintf(stderr, "usage: blur [width height]\n");
        return 2;
    }
    size_t n = (size_t)width * height;
    uint8_t *in = example_alloc(n), *out = example_alloc(n);
    float *rows = example_alloc(n * sizeof *rows);
    for (size_t i = 0; i < n; i++) {
        in[i] = (uint8_t)(255 * example_noise(i));
        out[i] = in[i]; /* the border keeps the input */
        rows[i] = 0;
    }
    EXAMPLE_RUN("blur",
                blur(width, height, (const uint8_t(*)[width])in, (float(*)[width])rows,
                     (uint8_t(*)[width])out),
                out, n);
    free(in);
    free(rows);
    free(out);
    return 0;
}

#include "image.h"

void sharpen(int h, int w, const float in[h][w], float out[h][w]) {
#pragma tune sizes(h=1080, w=1920)
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++)
            out[y][x] = 5.0f * in[y][x] - in[y - 1][x] - in[y + 1][x] - in[y][x - 1] - in[y][x + 1];
}

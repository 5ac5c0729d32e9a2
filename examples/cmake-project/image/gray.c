#include "image.h"

void gray(int h, int w, const unsigned char rgb[h][w][3], float out[h][w]) {
#pragma tune sizes(h=1080, w=1920)
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            out[y][x] = 0.299f * (float)rgb[y][x][0] + 0.587f * (float)rgb[y][x][1] +
                        0.114f * (float)rgb[y][x][2];
}

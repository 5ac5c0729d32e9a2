/* No annotated loop: compiled as ever. */
#include "image.h"

void picture_fill(int h, int w, unsigned char rgb[h][w][3]) {
    unsigned state = 1;
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            for (int channel = 0; channel < 3; channel++) {
                state = state * 1103515245u + 12345u;
                rgb[y][x][channel] = (unsigned char)(state >> 16);
            }
        }
    }
}

/* Pictures of one byte a channel. */
#ifndef IMAGE_H
#define IMAGE_H

/* Brightness of h x w pixels of red, green, blue. */
void gray(int h, int w, const unsigned char rgb[h][w][3], float out[h][w]);

/* Unsharp mask, 3 x 3; the border of out is left alone. */
void sharpen(int h, int w, const float in[h][w], float out[h][w]);

/* A picture made from numbers, the same each time. */
void picture_fill(int h, int w, unsigned char rgb[h][w][3]);

#endif

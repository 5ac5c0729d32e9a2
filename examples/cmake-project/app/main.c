/* Runs each function of the two libraries, prints its best time and a checksum of its results: the times change with the
 * lock, the checksums do not. */
#include "image.h"
#include "linalg.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 512, H = 1080, W = 1920, RUNS = 5 };

static float a[N][N], b[N][N], c[N][N], x[N], y[N];
static unsigned char rgb[H][W][3];
static float plane[H][W], sharp[H][W];

static void run_matmul(void) {
    memset(c, 0, sizeof c);
    matmul(N, a, b, c);
}
static void run_matvec(void) {
    matvec(N, N, a, x, y);
}
static void run_gray(void) {
    gray(H, W, (const unsigned char (*)[W][3])rgb, plane);
}
static void run_sharpen(void) {
    sharpen(H, W, (const float (*)[W])plane, sharp);
}

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static uint32_t checksum(const void *data, size_t n) {
    const unsigned char *bytes = data;
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < n; i++) {
        sum = (sum ^ bytes[i]) * 16777619u;
    }
    return sum;
}

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void);
        const void *result;
        size_t n_bytes;
    } rows[] = {
        {"matmul", run_matmul, c, sizeof c},
        {"matvec", run_matvec, y, sizeof y},
        {"gray", run_gray, plane, sizeof plane},
        {"sharpen", run_sharpen, sharp, sizeof sharp},
    };
    for (int i = 0; i < N * N; i++) {
        a[i / N][i % N] = (float)(i * 37 % 101) / 101;
        b[i / N][i % N] = (float)(i * 53 % 97) / 97;
        x[i % N] = (float)(i % 13);
    }
    picture_fill(H, W, rgb);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double best = 1e30;
        for (int k = 0; k < RUNS; k++) {
            double begin = now_ms();
            rows[i].run();
            double time = now_ms() - begin;
            best = time < best ? time : best;
        }
        printf("%-8s %9.3f ms   checksum %08x\n", rows[i].name, best,
               (unsigned)checksum(rows[i].result, rows[i].n_bytes));
    }
    return 0;
}

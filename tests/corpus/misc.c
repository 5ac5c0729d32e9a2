/* Spectral transforms, sorting networks, images, dense and sparse algebra, random numbers: forms
 * that occur in applications. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    double real, imag;
} dcomplex;

/* one stage of a Stockham transform over rows of a padded array */
void fft_stage(int l, int m, int n, int ny, const dcomplex *u, dcomplex x[][20], dcomplex y[][20]) {
    int n1 = n / 2, lk = 1 << (l - 1), li = 1 << (m - l), lj = 2 * lk, ku = li;
#pragma tune name(fft_stage) sizes(n1 = 64, lk = 4, li = 16, lj = 8, ku = 16, ny = 16)
    for (int i = 0; i < li; i++) {
        int i11 = i * lk, i12 = i11 + n1, i21 = i * lj, i22 = i21 + lk;
        for (int k = 0; k < lk; k++) {
            for (int j = 0; j < ny; j++) {
                double xr = x[i11 + k][j].real, xi = x[i11 + k][j].imag;
                double yr = x[i12 + k][j].real, yi = x[i12 + k][j].imag;
                y[i21 + k][j].real = xr + yr;
                y[i21 + k][j].imag = xi + yi;
                y[i22 + k][j].real = u[ku + i].real * (xr - yr) - u[ku + i].imag * (xi - yi);
                y[i22 + k][j].imag = u[ku + i].real * (xi - yi) + u[ku + i].imag * (xr - yr);
            }
        }
    }
}

void evolve(int d1, int d2, int d3, double complex u0[d3][d2][d1], double complex u1[d3][d2][d1],
            const double t[d3][d2][d1]) {
#pragma tune name(complex_evolve)
    for (int k = 0; k < d3; k++)
        for (int j = 0; j < d2; j++)
            for (int i = 0; i < d1; i++) {
                u0[k][j][i] = u0[k][j][i] * t[k][j][i];
                u1[k][j][i] = u0[k][j][i];
            }
}

void transpose_block(int n1, int n2, const dcomplex *xin, dcomplex *xout) {
#pragma tune name(transpose_struct)
    for (int i = 0; i < n1; i++)
        for (int j = 0; j < n2; j++)
            xout[j + i * n2] = xin[i + j * n1];
}

void csr_spmv(int n, const int *rowstr, const int *colidx, const double *a, const double *p,
              double *q) {
    double sum;
#pragma tune name(csr)
    for (int j = 0; j < n; j++) {
        sum = 0.0;
        for (int k = rowstr[j]; k < rowstr[j + 1]; k++)
            sum = sum + a[k] * p[colidx[k]];
        q[j] = sum;
    }
}

void cg_update(int n, double *z, double *r, const double *p, const double *q, double alpha,
               double *rho) {
    double s = 0.0;
#pragma tune name(cg_update)
    for (int j = 0; j < n; j++) {
        z[j] = z[j] + alpha * p[j];
        r[j] = r[j] - alpha * q[j];
        s += r[j] * r[j];
    }
    *rho = s;
}

void sobel(const unsigned char *src, unsigned char *dst, int w, int h) {
#pragma tune name(sobel)
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int gx = src[(y - 1) * w + x + 1] - src[(y - 1) * w + x - 1] + 2 * src[y * w + x + 1] -
                     2 * src[y * w + x - 1] + src[(y + 1) * w + x + 1] - src[(y + 1) * w + x - 1];
            int gy = src[(y + 1) * w + x - 1] + 2 * src[(y + 1) * w + x] +
                     src[(y + 1) * w + x + 1] - src[(y - 1) * w + x - 1] -
                     2 * src[(y - 1) * w + x] - src[(y - 1) * w + x + 1];
            int mag = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
            dst[y * w + x] = mag > 255 ? 255 : mag;
        }
}

void rgb_to_grey(const uint8_t *rgb, uint8_t *grey, int n) {
#pragma tune name(grey)
    for (int i = 0; i < n; i++)
        grey[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}

void rows_copy(int h, int w, int pitch, const uint8_t *src, uint8_t *dst) {
#pragma tune name(memcpy_rows) sizes(h = 480, w = 640, pitch = 704)
    for (int y = 0; y < h; y++)
        memcpy(dst + y * w, src + y * pitch, w);
}

void zero_rows(int h, int w, float *dst) {
#pragma tune name(memset_rows)
    for (int y = 0; y < h; y++)
        memset(&dst[y * w], 0, w * sizeof *dst);
}

static void rotate(double *x, double *y, double c, double s) {
    double t = c * *x - s * *y;
    *y = s * *x + c * *y;
    *x = t;
}

void rotations(int n, double *x, double *y, double c, double s) {
#pragma tune name(call_two_stores)
    for (int i = 0; i < n; i++)
        rotate(&x[i], &y[i], c, s);
}

double norm(double x, double y) __attribute__((const));
void norms(int n, const double *x, const double *y, double *r) {
#pragma tune name(call_const)
    for (int i = 0; i < n; i++)
        r[i] = norm(x[i], y[i]);
}

double cube(double x) {
    return x * x * x;
}
void cubes(int n, double *x) {
#pragma tune name(call_global)
    for (int i = 0; i < n; i++)
        x[i] = cube(x[i]);
}

void scale_kr(n, x, s) int n;
double *x, s;
{
    int i;
#pragma tune name(old_style)
    for (i = 0; i < n; i++)
        x[i] = x[i] * s;
}

void variants(int n, float *x, const float *y) {
#pragma tune name(conditional_text)
    for (int i = 0; i < n; i++) {
#ifdef FAST
        x[i] = y[i] * 2;
#else
        x[i] = y[i] + y[i];
#endif
    }
}

void jacobi_time(int n, int steps, double *p, double *q) {
#pragma tune name(swap_time) sizes(steps = 10)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            q[i] = 0.5 * (p[i - 1] + p[i + 1]);
        double *swap = p;
        p = q;
        q = swap;
    }
}

void do_steps(int n, int steps, double *x, const double *y) {
    int t = 0;
#pragma tune name(do_while) sizes(steps = 10)
    do {
        for (int i = 0; i < n; i++)
            x[i] += y[i];
        t++;
    } while (t < steps);
}

void deriche_like(int w, int h, float in[w][h], float out[w][h], float k, float b1, float b2) {
    float ym1, ym2, xm1;
#pragma tune name(chained)
    for (int i = 0; i < w; i++) {
        ym1 = ym2 = xm1 = 0.0f;
        for (int j = 0; j < h; j++) {
            out[i][j] = k * in[i][j] + b1 * ym1 + b2 * ym2 + xm1;
            xm1 = in[i][j];
            ym2 = ym1;
            ym1 = out[i][j];
        }
    }
}

void last_row(int n, int m, float a[n][m]) {
    int i, j;
#pragma tune name(counter_after)
    for (i = 0; i < n; i++) {
        for (j = 0; j < m - 1; j++)
            a[i][j] += 1;
        a[i][j] = 0;
    }
}

void const_step(int n, float *x) {
    const int step = 4;
#pragma tune name(const_step)
    for (int i = 0; i < n; i += step)
        x[i] = 0;
}

void param_step(int n, int step, float *x) {
#pragma tune name(param_step) sizes(step = 4)
    for (int i = 0; i < n; i += step)
        x[i] = 0;
}

void unsigned_down(unsigned n, float *x) {
#pragma tune name(unsigned_down)
    for (unsigned k = n; k-- > 1;)
        x[k] -= x[k - 1];
}

void optional(int n, const float *bias, float *x) {
#pragma tune name(null_condition)
    for (int i = 0; i < n; i++) {
        if (bias != NULL)
            x[i] += bias[i];
    }
}

void stencil_mod(int n, const double *x, double *y) {
#pragma tune name(periodic)
    for (int i = 0; i < n; i++)
        y[i] = x[(i + 1) % n] - x[(i + n - 1) % n];
}

void lcg(int n, double *x, double seed) {
    double s = seed;
#pragma tune name(random_numbers)
    for (int i = 0; i < n; i++) {
        double t1 = 1.1920928955078125e-07 * s;
        int a1 = (int)t1;
        s = s - 8388608.0 * a1 + 0.5;
        x[i] = s;
    }
}

void blocked(int n, const double *A, const double *B, double *C) {
#pragma tune name(tiled_source) sizes(n = 512)
    for (int ii = 0; ii < n; ii += 32)
        for (int jj = 0; jj < n; jj += 32)
            for (int i = ii; i < (ii + 32 < n ? ii + 32 : n); i++)
                for (int j = jj; j < (jj + 32 < n ? jj + 32 : n); j++)
                    for (int k = 0; k < n; k++)
                        C[i * n + j] += A[i * n + k] * B[k * n + j];
}

void floyd(int n, int *path) {
#pragma tune name(shortest_paths) sizes(n = 256)
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int through = path[i * n + k] + path[k * n + j];
                if (path[i * n + j] > through)
                    path[i * n + j] = through;
            }
}

typedef struct {
    int n;
    double *x, *y, *z, *m;
} bodies;

void nbody(bodies *s, double *ax, double soft) {
#pragma tune name(nbody)
    for (int i = 0; i < s->n; i++) {
        double f = 0;
        for (int j = 0; j < s->n; j++) {
            double dx = s->x[j] - s->x[i], dy = s->y[j] - s->y[i];
            double r2 = dx * dx + dy * dy + soft;
            double inv = 1.0 / sqrt(r2);
            f += s->m[j] * inv * inv * inv * dx;
        }
        ax[i] = f;
    }
}

void lbm(int n, int m, double f[9][n][m], const int cx[9], const int cy[9], double g[9][n][m]) {
#pragma tune name(lattice_stream)
    for (int q = 0; q < 9; q++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                g[q][i][j] = f[q][i - cx[q]][j - cy[q]];
}

void insertion(int n, int *x) {
#pragma tune name(while_inside)
    for (int i = 1; i < n; i++) {
        int key = x[i], j = i - 1;
        while (j >= 0 && x[j] > key) {
            x[j + 1] = x[j];
            j--;
        }
        x[j + 1] = key;
    }
}

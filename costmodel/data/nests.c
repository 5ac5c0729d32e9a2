/*
 * Nests to gather measurements of, besides the kernels under tests/: one of a kind each, so that a
 * model that has seen all but one kernel has still seen something like it. REAL is float or double.
 * `scripts/train-global --gather` measures them; nothing runs them otherwise.
 */
#include <math.h>
#include <stdint.h>

#ifndef REAL
#define REAL float
#endif
typedef REAL real;

/* ---- products -------------------------------------------------------------------------------- */
void product_nn(int m, int n, int k, real a[m][k], real b[k][n], real c[m][n]) {
#pragma tune sizes(m = 192, n = 256, k = 224)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c[i][j] = 0;
            for (int p = 0; p < k; p++)
                c[i][j] += a[i][p] * b[p][j];
        }
}

void product_nt(int m, int n, int k, real a[m][k], real b[n][k], real c[m][n]) {
#pragma tune sizes(m = 160, n = 192, k = 256)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int p = 0; p < k; p++)
                c[i][j] += a[i][p] * b[j][p];
}

void product_tn(int m, int n, int k, real a[k][m], real b[k][n], real c[m][n]) {
#pragma tune sizes(m = 256, n = 160, k = 192)
    for (int p = 0; p < k; p++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                c[i][j] += a[p][i] * b[p][j];
}

void product_tt(int m, int n, int k, real a[k][m], real b[n][k], real c[m][n]) {
#pragma tune sizes(m = 200, n = 200, k = 200)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int p = 0; p < k; p++)
                c[i][j] += a[p][i] * b[j][p];
}

void product_panel(int m, int n, int k, real alpha, real a[m][k], real b[k][n], real c[m][n]) {
#pragma tune sizes(m = 1024, n = 24, k = 48)
    for (int i = 0; i < m; i++)
        for (int p = 0; p < k; p++)
            for (int j = 0; j < n; j++)
                c[i][j] += alpha * a[i][p] * b[p][j];
}

void product_lower(int n, int k, real a[n][k], real c[n][n]) {
#pragma tune sizes(n = 240, k = 200)
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int p = 0; p < k; p++)
                c[i][j] += a[i][p] * a[j][p];
}

void product_i32(int m, int n, int k, int a[m][k], int b[k][n], int c[m][n]) {
#pragma tune sizes(m = 192, n = 192, k = 192)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int p = 0; p < k; p++)
                c[i][j] += a[i][p] * b[p][j];
}

void contraction(int a, int b, int c, int d, real x[a][c][d], real y[b][d][c], real z[a][b]) {
#pragma tune sizes(a = 96, b = 96, c = 24, d = 32)
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++)
            for (int k = 0; k < c; k++)
                for (int l = 0; l < d; l++)
                    z[i][j] += x[i][k][l] * y[j][l][k];
}

void batched(int s, int n, real a[s][n][n], real b[s][n][n], real c[s][n][n]) {
#pragma tune sizes(s = 96, n = 32)
    for (int t = 0; t < s; t++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++)
                    c[t][i][j] += a[t][i][k] * b[t][k][j];
}

void chain_two(int n, real a[n][n], real b[n][n], real c[n][n], real t[n][n], real d[n][n]) {
#pragma tune sizes(n = 144)
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                t[i][j] = 0;
                for (int k = 0; k < n; k++)
                    t[i][j] += a[i][k] * b[k][j];
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++)
                    d[i][j] += t[i][k] * c[j][k];
    }
}

/* ---- matrix and vector ----------------------------------------------------------------------- */
void matvec(int m, int n, real a[m][n], real x[n], real y[m]) {
#pragma tune sizes(m = 600, n = 700)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[i] += a[i][j] * x[j];
}

void matvec_t(int m, int n, real a[m][n], real x[m], real y[n]) {
#pragma tune sizes(m = 700, n = 600)
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            y[j] += a[i][j] * x[i];
}

void matvec_two(int n, real a[n][n], real x[n], real y[n], real u[n], real v[n]) {
#pragma tune sizes(n = 500)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            u[i] += a[i][j] * x[j];
            v[j] += a[i][j] * y[i];
        }
}

void outer(int m, int n, real a[m][n], real u[m], real v[n], real w[m], real z[n]) {
#pragma tune sizes(m = 512, n = 640)
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            a[i][j] += u[i] * v[j] + w[i] * z[j];
}

void solve_many(int n, int m, real l[n][n], real b[n][m]) {
#pragma tune sizes(n = 120, m = 160)
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            for (int j = 0; j < m; j++)
                b[i][j] -= l[i][k] * b[k][j];
}

void power_sums(int n, int m, real a[n][m], real mean[m], real square[m]) {
#pragma tune sizes(n = 400, m = 500)
    for (int j = 0; j < m; j++) {
        mean[j] = 0;
        square[j] = 0;
        for (int i = 0; i < n; i++) {
            mean[j] += a[i][j];
            square[j] += a[i][j] * a[i][j];
        }
    }
}

void distances(int n, int m, int d, real x[n][d], real y[m][d], real r[n][m]) {
#pragma tune sizes(n = 160, m = 180, d = 32)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            real s = 0;
            for (int k = 0; k < d; k++)
                s += (x[i][k] - y[j][k]) * (x[i][k] - y[j][k]);
            r[i][j] = s;
        }
}

/* ---- convolutions ---------------------------------------------------------------------------- */
void conv1d(int n, int c, int k, int w, real x[n][c][w + 4], real f[k][c][5], real y[n][k][w]) {
#pragma tune sizes(n = 2, c = 24, k = 32, w = 256)
    for (int i = 0; i < n; i++)
        for (int o = 0; o < k; o++)
            for (int q = 0; q < w; q++)
                for (int d = 0; d < c; d++)
                    for (int s = 0; s < 5; s++)
                        y[i][o][q] += x[i][d][q + s] * f[o][d][s];
}

void conv_nhwc(int h, int w, int c, int k, real x[h + 2][w + 2][c], real f[3][3][c][k],
               real y[h][w][k]) {
#pragma tune sizes(h = 28, w = 28, c = 24, k = 32)
    for (int p = 0; p < h; p++)
        for (int q = 0; q < w; q++)
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    for (int d = 0; d < c; d++)
                        for (int o = 0; o < k; o++)
                            y[p][q][o] += x[p + r][q + s][d] * f[r][s][d][o];
}

void conv_5x5(int k, int c, int h, int w, real x[c][h + 4][w + 4], real f[k][c][5][5],
              real y[k][h][w]) {
#pragma tune sizes(k = 16, c = 12, h = 32, w = 40)
    for (int o = 0; o < k; o++)
        for (int p = 0; p < h; p++)
            for (int q = 0; q < w; q++)
                for (int d = 0; d < c; d++)
                    for (int r = 0; r < 5; r++)
                        for (int s = 0; s < 5; s++)
                            y[o][p][q] += x[d][p + r][q + s] * f[o][d][r][s];
}

void filter_2d(int h, int w, real x[h + 6][w + 6], real f[7][7], real y[h][w]) {
#pragma tune sizes(h = 160, w = 200)
    for (int p = 0; p < h; p++)
        for (int q = 0; q < w; q++) {
            real s = 0;
            for (int r = 0; r < 7; r++)
                for (int t = 0; t < 7; t++)
                    s += x[p + r][q + t] * f[r][t];
            y[p][q] = s;
        }
}

void pool_mean(int c, int h, int w, real x[c][2 * h][2 * w], real y[c][h][w]) {
#pragma tune sizes(c = 32, h = 40, w = 48)
    for (int d = 0; d < c; d++)
        for (int p = 0; p < h; p++)
            for (int q = 0; q < w; q++)
                y[d][p][q] = (real)0.25 * (x[d][2 * p][2 * q] + x[d][2 * p][2 * q + 1] +
                                           x[d][2 * p + 1][2 * q] + x[d][2 * p + 1][2 * q + 1]);
}

/* ---- stencils -------------------------------------------------------------------------------- */
void smooth_1d(int steps, int n, real a[n], real b[n]) {
#pragma tune sizes(steps = 64, n = 3000)
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            b[i] = (real)0.2 * (a[i - 2] + a[i - 1] + a[i] + a[i + 1] + a[i + 2]);
        for (int i = 2; i < n - 2; i++)
            a[i] = b[i];
    }
}

void smooth_2d(int h, int w, real a[h][w], real b[h][w]) {
#pragma tune sizes(h = 600, w = 700)
    for (int i = 1; i < h - 1; i++)
        for (int j = 1; j < w - 1; j++)
            b[i][j] = (real)0.125 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) +
                      (real)0.5 * a[i][j];
}

void box_2d(int steps, int n, real a[n][n], real b[n][n]) {
#pragma tune sizes(steps = 8, n = 220)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] +
                           a[i][j + 1] + a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]) /
                          9;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = b[i][j];
    }
}

void laplace_3d(int n, real a[n][n][n], real b[n][n][n]) {
#pragma tune sizes(n = 72)
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] + a[i][j + 1][k] +
                             a[i][j][k - 1] + a[i][j][k + 1] - 6 * a[i][j][k];
}

void relax_in_place(int steps, int n, real a[n][n], real f[n][n]) {
#pragma tune sizes(steps = 8, n = 200)
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] =
                    (real)0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1] - f[i][j]);
}

void sweep_rows(int n, int m, real a[n][m], real c[n][m]) {
#pragma tune sizes(n = 400, m = 400)
    for (int i = 0; i < n; i++)
        for (int j = 1; j < m; j++)
            a[i][j] = a[i][j] - a[i][j - 1] * c[i][j];
}

void sweep_columns(int n, int m, real a[n][m], real c[n][m]) {
#pragma tune sizes(n = 400, m = 400)
    for (int j = 0; j < m; j++)
        for (int i = 1; i < n; i++)
            a[i][j] = a[i][j] - a[i - 1][j] * c[i][j];
}

void waves(int n, real p[n][n], real q[n][n], real v[n][n]) {
#pragma tune sizes(n = 420)
    for (int i = 2; i < n - 2; i++)
        for (int j = 2; j < n - 2; j++)
            q[i][j] = 2 * p[i][j] - q[i][j] +
                      v[i][j] * ((real)1.25 * (p[i - 1][j] + p[i + 1][j] + p[i][j - 1] +
                                               p[i][j + 1] - 4 * p[i][j]) -
                                 (real)0.0625 * (p[i - 2][j] + p[i + 2][j] + p[i][j - 2] +
                                                 p[i][j + 2] - 4 * p[i][j]));
}

/* ---- element by element, and across ---------------------------------------------------------- */
void transpose(int n, int m, real a[n][m], real b[m][n]) {
#pragma tune sizes(n = 700, m = 600)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            b[j][i] = a[i][j];
}

void permute(int a, int b, int c, real x[a][b][c], real y[c][a][b]) {
#pragma tune sizes(a = 60, b = 70, c = 80)
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++)
            for (int k = 0; k < c; k++)
                y[k][i][j] = x[i][j][k];
}

void activate(int n, int m, real x[n][m], real b[m], real y[n][m]) {
#pragma tune sizes(n = 300, m = 512)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            real v = x[i][j] + b[j];
            y[i][j] = v > 0 ? v : (real)0.01 * v;
        }
}

void normalise(int n, int m, real x[n][m], real g[m], real s[n], real y[n][m]) {
#pragma tune sizes(n = 256, m = 384)
    for (int i = 0; i < n; i++) {
        s[i] = 0;
        for (int j = 0; j < m; j++)
            s[i] += x[i][j] * x[i][j];
        for (int j = 0; j < m; j++)
            y[i][j] = x[i][j] * g[j] / (real)sqrt((double)(s[i] / (real)m + (real)1e-5));
    }
}

void row_max(int n, int m, real x[n][m], real top[n]) {
#pragma tune sizes(n = 500, m = 600)
    for (int i = 0; i < n; i++) {
        top[i] = x[i][0];
        for (int j = 1; j < m; j++)
            top[i] = x[i][j] > top[i] ? x[i][j] : top[i];
    }
}

void shortest(int n, real d[n][n], real e[n][n], real r[n][n]) {
#pragma tune sizes(n = 140)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                r[i][j] = d[i][k] + e[k][j] < r[i][j] ? d[i][k] + e[k][j] : r[i][j];
}

void polynomial(int n, int m, real x[n][m], real y[n][m]) {
#pragma tune sizes(n = 300, m = 400)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            real v = x[i][j];
            y[i][j] =
                (((((real)0.01 * v + (real)0.2) * v - (real)0.3) * v + (real)0.4) * v - (real)0.5) *
                    v +
                1;
        }
}

void forces(int n, real x[n], real y[n], real fx[n], real fy[n]) {
#pragma tune sizes(n = 600)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            real dx = x[j] - x[i], dy = y[j] - y[i];
            real w = 1 / (dx * dx + dy * dy + (real)0.01);
            fx[i] += w * dx;
            fy[i] += w * dy;
        }
}

void blend_u8(int h, int w, uint8_t a[h][w], uint8_t b[h][w], uint8_t m[h][w], uint8_t o[h][w]) {
#pragma tune sizes(h = 500, w = 640)
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            o[i][j] = (uint8_t)((a[i][j] * m[i][j] + b[i][j] * (255 - m[i][j]) + 127) / 255);
}

void differences(int n, int m, real a[n][m], real gx[n][m], real gy[n][m], real e[n][m]) {
#pragma tune sizes(n = 300, m = 360)
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m - 1; j++)
                gx[i][j] = a[i][j + 1] - a[i][j];
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < m; j++)
                gy[i][j] = a[i + 1][j] - a[i][j];
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < m - 1; j++)
                e[i][j] = gx[i][j] * gx[i][j] + gy[i][j] * gy[i][j];
    }
}

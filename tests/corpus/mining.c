/* Heterogeneous-computing kernels: thermal simulation with clamped borders, dynamic programming by
 * rows, anisotropic diffusion with neighbour tables, k-means, layers of a perceptron, LU in a
 * flattened array, sequence alignment, wavelets, particle filters. */
#include <math.h>
#include <stdlib.h>

#define MIN(a, b) ((a) <= (b) ? (a) : (b))

void hotspot(float *result, const float *temp, const float *power, int row, int col, float cap,
             float rx, float ry, float rz) {
    float delta;
    int r, c;
#pragma tune name(hotspot)
    for (r = 0; r < row; r++) {
        for (c = 0; c < col; c++) {
            if ((r == 0) && (c == 0)) {
                delta = cap * (power[0] + (temp[1] - temp[0]) / rx + (temp[col] - temp[0]) / ry +
                               (80.0f - temp[0]) / rz);
            } else if ((r == 0) && (c == col - 1)) {
                delta = cap * (power[c] + (temp[c - 1] - temp[c]) / rx +
                               (temp[c + col] - temp[c]) / ry + (80.0f - temp[c]) / rz);
            } else if (r == 0) {
                delta = cap * (power[c] + (temp[c + 1] + temp[c - 1] - 2.0f * temp[c]) / rx +
                               (temp[col + c] - temp[c]) / ry);
            } else if (r == row - 1) {
                delta =
                    cap * (power[r * col + c] + (temp[(r - 1) * col + c] - temp[r * col + c]) / ry);
            } else if (c == 0) {
                delta =
                    cap * (power[r * col] +
                           (temp[(r + 1) * col] + temp[(r - 1) * col] - 2.0f * temp[r * col]) / ry);
            } else if (c == col - 1) {
                delta =
                    cap * (power[r * col + c] + (temp[(r + 1) * col + c] + temp[(r - 1) * col + c] -
                                                 2.0f * temp[r * col + c]) /
                                                    ry);
            } else {
                delta =
                    cap *
                    (power[r * col + c] +
                     (temp[(r + 1) * col + c] + temp[(r - 1) * col + c] -
                      2.0f * temp[r * col + c]) /
                         ry +
                     (temp[r * col + c + 1] + temp[r * col + c - 1] - 2.0f * temp[r * col + c]) /
                         rx);
            }
            result[r * col + c] = temp[r * col + c] + delta;
        }
    }
}

void hotspot3d(const float *p_in, const float *t_in, float *t_out, int nx, int ny, int nz, float cc,
               float cw, float ce, float cn, float cs, float ct, float cb, float amb) {
    int c, w, e, n, s, b, t;
    int x, y, z;
#pragma tune name(hotspot3d)
    for (z = 0; z < nz; z++)
        for (y = 0; y < ny; y++)
            for (x = 0; x < nx; x++) {
                c = x + y * nx + z * nx * ny;
                w = (x == 0) ? c : c - 1;
                e = (x == nx - 1) ? c : c + 1;
                n = (y == 0) ? c : c - nx;
                s = (y == ny - 1) ? c : c + nx;
                b = (z == 0) ? c : c - nx * ny;
                t = (z == nz - 1) ? c : c + nx * ny;
                t_out[c] = t_in[c] * cc + t_in[n] * cn + t_in[s] * cs + t_in[e] * ce +
                           t_in[w] * cw + t_in[t] * ct + t_in[b] * cb + (0.1f * p_in[c]) +
                           (ct * amb);
            }
}

void pathfinder_step(const int *wall, const int *src, int *dst, int t, int cols) {
    int min;
#pragma tune name(pathfinder_row)
    for (int n = 0; n < cols; n++) {
        min = src[n];
        if (n > 0)
            min = MIN(min, src[n - 1]);
        if (n < cols - 1)
            min = MIN(min, src[n + 1]);
        dst[n] = wall[(t + 1) * cols + n] + min;
    }
}

void pathfinder(int **wall, int *src, int *dst, int rows, int cols) {
    int *temp;
    int min;
#pragma tune name(pathfinder_swap)
    for (int t = 0; t < rows - 1; t++) {
        temp = src;
        src = dst;
        dst = temp;
        for (int n = 0; n < cols; n++) {
            min = src[n];
            if (n > 0)
                min = MIN(min, src[n - 1]);
            if (n < cols - 1)
                min = MIN(min, src[n + 1]);
            dst[n] = wall[t + 1][n] + min;
        }
    }
}

void srad_tables(int rows, int cols, const float *J, float *c, float *dN, float *dS, float *dW,
                 float *dE, const int *iN, const int *iS, const int *jW, const int *jE,
                 float q0sqr) {
    int i, j, k;
    float Jc, G2, L, num, den, qsqr;
#pragma tune name(srad_gradient)
    for (i = 0; i < rows; i++) {
        for (j = 0; j < cols; j++) {
            k = i * cols + j;
            Jc = J[k];
            dN[k] = J[iN[i] * cols + j] - Jc;
            dS[k] = J[iS[i] * cols + j] - Jc;
            dW[k] = J[i * cols + jW[j]] - Jc;
            dE[k] = J[i * cols + jE[j]] - Jc;
            G2 = (dN[k] * dN[k] + dS[k] * dS[k] + dW[k] * dW[k] + dE[k] * dE[k]) / (Jc * Jc);
            L = (dN[k] + dS[k] + dW[k] + dE[k]) / Jc;
            num = (0.5 * G2) - ((1.0 / 16.0) * (L * L));
            den = 1 + (.25 * L);
            qsqr = num / (den * den);
            den = (qsqr - q0sqr) / (q0sqr * (1 + q0sqr));
            c[k] = 1.0 / (1.0 + den);
            if (c[k] < 0) {
                c[k] = 0;
            } else if (c[k] > 1) {
                c[k] = 1;
            }
        }
    }
}

float roi_sum(const float *J, int r1, int r2, int c1, int c2, int cols, float *sum2_out) {
    float sum = 0, sum2 = 0, tmp;
#pragma tune name(srad_roi) sizes(r1 = 0, r2 = 127, c1 = 0, c2 = 127)
    for (int i = r1; i <= r2; i++) {
        for (int j = c1; j <= c2; j++) {
            tmp = J[i * cols + j];
            sum += tmp;
            sum2 += tmp * tmp;
        }
    }
    *sum2_out = sum2;
    return sum;
}

void kmeans_assign(int npoints, int nclusters, int nfeatures, const float *feature,
                   const float *clusters, int *membership) {
#pragma tune name(kmeans_assign)
    for (int i = 0; i < npoints; i++) {
        float min_dist = 3.4e38f;
        int index = 0;
        for (int c = 0; c < nclusters; c++) {
            float dist = 0;
            for (int f = 0; f < nfeatures; f++)
                dist += (feature[i * nfeatures + f] - clusters[c * nfeatures + f]) *
                        (feature[i * nfeatures + f] - clusters[c * nfeatures + f]);
            if (dist < min_dist) {
                min_dist = dist;
                index = c;
            }
        }
        membership[i] = index;
    }
}

static float euclid_dist_2(const float *pt1, const float *pt2, int numdims) {
    int i;
    float ans = 0.0;
    for (i = 0; i < numdims; i++)
        ans += (pt1[i] - pt2[i]) * (pt1[i] - pt2[i]);
    return ans;
}

void kmeans_nearest(const float *pts, int nclusters, int nfeatures, const float *pt, float *best) {
    float min_dist = 3.4e38f;
#pragma tune name(kmeans_call)
    for (int i = 0; i < nclusters; i++) {
        float dist = euclid_dist_2(pt, pts + i * nfeatures, nfeatures);
        if (dist < min_dist)
            min_dist = dist;
    }
    *best = min_dist;
}

void kmeans_accumulate(int npoints, int nfeatures, const float *feature, const int *membership,
                       float *centers, int *len) {
#pragma tune name(kmeans_accumulate)
    for (int i = 0; i < npoints; i++) {
        int index = membership[i];
        len[index]++;
        for (int j = 0; j < nfeatures; j++)
            centers[index * nfeatures + j] += feature[i * nfeatures + j];
    }
}

static float squash(float x) {
    return (1.0 / (1.0 + exp(-x)));
}

void bp_layer(const float *l1, float *l2, float **conn, int n1, int n2) {
    float sum;
    int j, k;
#pragma tune name(backprop_rows)
    for (j = 1; j <= n2; j++) {
        sum = 0.0;
        for (k = 0; k <= n1; k++)
            sum += conn[k][j] * l1[k];
        l2[j] = squash(sum);
    }
}

void bp_output_error(float *delta, const float *target, const float *output, int nj, float *err) {
    int j;
    float o, t, errsum = 0.0;
#pragma tune name(backprop_error)
    for (j = 1; j <= nj; j++) {
        o = output[j];
        t = target[j];
        delta[j] = o * (1.0 - o) * (t - o);
        errsum += (float)fabs((double)delta[j]);
    }
    *err = errsum;
}

void bp_adjust(const float *delta, int ndelta, const float *ly, int nly, float *w, float *oldw) {
#pragma tune name(backprop_adjust)
    for (int j = 1; j <= ndelta; j++) {
        for (int k = 0; k <= nly; k++) {
            float new_dw = ((0.3f * delta[j] * ly[k]) + (0.3f * oldw[k * (ndelta + 1) + j]));
            w[k * (ndelta + 1) + j] += new_dw;
            oldw[k * (ndelta + 1) + j] = new_dw;
        }
    }
}

void lud(float *a, int size) {
    int i, j, k;
    float sum;
#pragma tune name(lud)
    for (i = 0; i < size; i++) {
        for (j = i; j < size; j++) {
            sum = a[i * size + j];
            for (k = 0; k < i; k++)
                sum -= a[i * size + k] * a[k * size + j];
            a[i * size + j] = sum;
        }
        for (j = i + 1; j < size; j++) {
            sum = a[j * size + i];
            for (k = 0; k < i; k++)
                sum -= a[j * size + k] * a[k * size + i];
            a[j * size + i] = sum / a[i * size + i];
        }
    }
}

void gauss_multipliers(float *a, float *b, float *m, int size, int t) {
    int i, j;
#pragma tune name(gaussian) sizes(t = 0)
    for (i = 0; i < size - 1 - t; i++) {
        for (j = 0; j < size - t; j++)
            *(a + size * (i + 1 + t) + (j + t)) -=
                *(m + size * (i + 1 + t) + t) * *(a + size * t + (j + t));
        b[i + 1 + t] -= m[size * (i + 1 + t) + t] * b[t];
    }
}

static int maximum(int a, int b, int c) {
    int k;
    if (a <= b)
        k = b;
    else
        k = a;
    if (k <= c)
        return c;
    return k;
}

void needle(int *items, const int *reference, int max_cols, int penalty) {
#pragma tune name(needle) sizes(max_cols = 1025)
    for (int i = 0; i < max_cols - 2; i++) {
        for (int idx = 0; idx <= i; idx++) {
            int index = (idx + 1) * max_cols + (i + 1 - idx);
            items[index] = maximum(items[index - 1 - max_cols] + reference[index],
                                   items[index - 1] - penalty, items[index - max_cols] - penalty);
        }
    }
}

void nn_distance(int n, const float *lat, const float *lng, float tlat, float tlng, float *dist) {
#pragma tune name(nn_distance)
    for (int i = 0; i < n; i++)
        dist[i] =
            (float)sqrt((lat[i] - tlat) * (lat[i] - tlat) + (lng[i] - tlng) * (lng[i] - tlng));
}

void pf_weights(int n, int count, const double *I, const int *ind, double *likelihood) {
    int x, y;
#pragma tune name(particle_likelihood)
    for (x = 0; x < n; x++) {
        likelihood[x] = 0;
        for (y = 0; y < count; y++)
            likelihood[x] +=
                (pow((I[ind[x * count + y]] - 100), 2) - pow((I[ind[x * count + y]] - 228), 2)) /
                50.0;
        likelihood[x] = likelihood[x] / ((double)count);
    }
}

void pf_search(int n, const double *cdf, const double *u, const double *x, double *out) {
#pragma tune name(particle_search)
    for (int j = 0; j < n; j++) {
        int i = -1;
        for (int k = 0; k < n; k++) {
            if (cdf[k] >= u[j]) {
                i = k;
                break;
            }
        }
        if (i == -1)
            i = n - 1;
        out[j] = x[i];
    }
}

typedef struct {
    float x, y, z, w;
} quad;

void md_forces(int n, const quad *rv, const float *qv, float a2, quad *fv) {
    float r2, u2, vij, d_x, fs;
    int i, j;
#pragma tune name(md_forces)
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) {
            r2 = rv[i].w + rv[j].w - (rv[i].x * rv[j].x + rv[i].y * rv[j].y + rv[i].z * rv[j].z);
            u2 = a2 * r2;
            vij = exp(-u2);
            fs = 2. * vij;
            d_x = rv[i].x - rv[j].x;
            fv[i].w += qv[j] * vij;
            fv[i].x += qv[j] * fs * d_x;
        }
    }
}

void histogram(int n, const unsigned char *pixels, unsigned *bins) {
#pragma tune name(histogram)
    for (int i = 0; i < n; i++)
        bins[pixels[i]]++;
}

void buckets(int n, int shift, const int *key, int *bucket) {
#pragma tune name(bucket_count)
    for (int i = 0; i < n; i++)
        bucket[key[i] >> shift]++;
}

void prefix(int n, int *counts) {
#pragma tune name(bucket_prefix)
    for (int i = 0; i < n - 1; i++)
        counts[i + 1] += counts[i];
}

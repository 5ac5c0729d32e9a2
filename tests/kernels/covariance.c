/* covariance: covariance matrix of m variables over n observations */
#include "kernel.h"

void kernel_covariance(int m, int n, double data[n][m], double cov[m][m], double mean[m]) {
    const double count = (double)n;
#pragma tune sizes(m=1200, n=1400)
    {
        for (int j = 0; j < m; j++) {
            mean[j] = 0.0;
            for (int i = 0; i < n; i++)
                mean[j] += data[i][j];
            mean[j] /= count;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                data[i][j] -= mean[j];
        for (int i = 0; i < m; i++)
            for (int j = i; j < m; j++) {
                cov[i][j] = 0.0;
                for (int k = 0; k < n; k++)
                    cov[i][j] += data[k][i] * data[k][j];
                cov[i][j] /= count - 1.0;
                cov[j][i] = cov[i][j];
            }
    }
}

static const int sizes[4][2] = {{28, 32}, {80, 100}, {240, 260}, {1200, 1400}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, double, n, m, kernel_noise(i * m + j));
    KERNEL_FILL2(r, KERNEL_OUT, double, m, m, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, m, 0);
}

static void call(kernel_run *r) {
    kernel_covariance(r->z[0], r->z[1], r->data[0], r->data[1], r->data[2]);
}

KERNEL_MAIN("covariance")

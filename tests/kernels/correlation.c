/* correlation: correlation matrix of m variables over n observations */
#include "kernel.h"

void kernel_correlation(int m, int n, double data[n][m], double corr[m][m], double mean[m],
                        double stddev[m]) {
    const double count = (double)n;
    const double tiny = 0.1;
#pragma tune sizes(m=1200, n=1400)
    {
        for (int j = 0; j < m; j++) {
            mean[j] = 0.0;
            for (int i = 0; i < n; i++)
                mean[j] += data[i][j];
            mean[j] /= count;
        }
        for (int j = 0; j < m; j++) {
            stddev[j] = 0.0;
            for (int i = 0; i < n; i++)
                stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
            stddev[j] /= count;
            stddev[j] = sqrt(stddev[j]);
            stddev[j] = stddev[j] <= tiny ? 1.0 : stddev[j];
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++) {
                data[i][j] -= mean[j];
                data[i][j] /= sqrt(count) * stddev[j];
            }
        for (int i = 0; i < m - 1; i++) {
            corr[i][i] = 1.0;
            for (int j = i + 1; j < m; j++) {
                corr[i][j] = 0.0;
                for (int k = 0; k < n; k++)
                    corr[i][j] += data[k][i] * data[k][j];
                corr[j][i] = corr[i][j];
            }
        }
        corr[m - 1][m - 1] = 1.0;
    }
}

static const int sizes[4][2] = {{28, 32}, {80, 100}, {240, 260}, {1200, 1400}};

static void setup(kernel_run *r) {
    const int m = r->z[0], n = r->z[1];
    KERNEL_FILL2(r, KERNEL_IN, double, n, m, kernel_noise(i * m + j) * (double)(1 + j % 5));
    KERNEL_FILL2(r, KERNEL_OUT, double, m, m, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, m, 0);
    KERNEL_FILL1(r, KERNEL_IN, double, m, 0);
}

static void call(kernel_run *r) {
    kernel_correlation(r->z[0], r->z[1], r->data[0], r->data[1], r->data[2], r->data[3]);
}

KERNEL_MAIN("correlation")

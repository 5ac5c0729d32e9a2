#include "linalg.h"

void matvec(int m, int n, const float a[m][n], const float x[n], float y[m]) {
#pragma tune sizes(m=512, n=512)
    for (int i = 0; i < m; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[i][j] * x[j];
    }
}

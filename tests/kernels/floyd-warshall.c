/* floyd-warshall: lengths of the shortest paths between all pairs of nodes */
#include "kernel.h"

void kernel_floyd_warshall(int n, int path[n][n]) {
#pragma tune sizes(n=2800)
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                path[i][j] =
                    path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
}

static const int sizes[4][1] = {{60}, {180}, {500}, {2800}};

static void setup(kernel_run *r) {
    const int n = r->z[0];
    KERNEL_FILL2(r, KERNEL_OUT, int, n, n, i == j ? 0.0 : 1.0 + 1000.0 * kernel_noise(i * n + j));
}

static void call(kernel_run *r) {
    kernel_floyd_warshall(r->z[0], r->data[0]);
}

KERNEL_MAIN("floyd-warshall")

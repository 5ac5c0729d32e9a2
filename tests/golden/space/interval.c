// RUN: ctune show space %s -- clang-19 -O3 -mavx2 | FileCheck-19 %s
// The best split of each interval: blocks in which both operands are final are a register tile, whichever way the intervals
// are numbered.
void chains(int n, int cost[n][n], int weight[n]) {
#pragma tune sizes(n=600)
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            cost[i][j] = cost[i][j] < cost[i + 1][j] ? cost[i][j] : cost[i + 1][j];
            for (int k = i + 1; k < j; k++) {
                int both = cost[i][k] + cost[k][j];
                cost[i][j] = cost[i][j] < both ? cost[i][j] : both;
            }
        }
}
// CHECK: form {{[0-9]}}: block j by 16 -> j_b at i; block i by 8 -> i_b at i; split_domain k at k - 16*j_b < 0; split_domain k at k + 8*i_b - n < 0; distribute
// CHECK: chain S1_3 {{.*}} band i j k_3(reduce) | vector j

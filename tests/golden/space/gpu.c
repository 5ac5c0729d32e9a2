// RUN: rm -f %t.lock && ctune tune --predict --lock %t.lock %s -- clang-19 -O3 -mavx2 -mfma && FileCheck-19 %s < %t.lock
// A GPU's schedule: the loop along rows of C is x, k is what a thread adds up over.
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune target(opencl) sizes(n=2048)
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                C[i][j] += A[i][k] * B[k][j];
}
// CHECK: reorder i j k
// CHECK: split j {{.*}} -> j_b
// CHECK: split i {{.*}} -> i_b
// CHECK: split k {{.*}} -> k_o k_i
// CHECK: bind j_b block.x
// CHECK: bind i_b block.y
// CHECK: bind i_t thread.y
// CHECK: bind j_t thread.x
// CHECK: cache_write S0 at j_b register
// CHECK-DAG: cache_read S0.0 at k_o shared
// CHECK-DAG: cache_read S0.1 at k_o shared

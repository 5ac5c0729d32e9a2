// RUN: ctune show loops %s -- clang-19 -O3 -mavx2 -mfma | FileCheck-19 %s
// A launch: copies in shared memory between barriers, accumulators of a thread whose points lie strided, and the same under
// conditions where the block's tile is not whole.
void gemm(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune schedule("split i 32 -> ib i1; split i1 16 -> ip it; split j 32 -> jb j1; split j1 16 -> jp jt; split k 8 -> ko ki; reorder ib jb ko ki ip jp it jt; bind ib block.y; bind jb block.x; bind it thread.y; bind jt thread.x; unroll ip; unroll jp; cache_read S0.0 at ko shared; cache_read S0.1 at ko shared; cache_write S0 at jb register")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
// CHECK: let block_xs = floor((n + 31) / 32)
// CHECK: launch {
// CHECK-NEXT: for block_y from 0 below block_ys block.y {
// CHECK-NEXT: for block_x from 0 below block_xs block.x {
// CHECK-NEXT: decl B_shared[8][32] f32 shared
// CHECK-NEXT: decl A_shared[32][8] f32 shared
// CHECK-NEXT: for thread_y from 0 below 16 thread.y {
// CHECK-NEXT: for thread_x from 0 below 16 thread.x {
// CHECK-NEXT: if n - 32*block_y - 32 >= 0, n - 32*block_x - 32 >= 0, n - 1 >= 0 {
// CHECK: def acc_1_1 f32 mutable = C[32*block_y + thread_y + 16][32*block_x + thread_x + 16]
// CHECK-NEXT: for ko from 0 below n step 8 {
// CHECK-NEXT: barrier
// CHECK-NEXT: for q from thread_x + 16*thread_y below 256 step 256 {
// CHECK: store A_shared
// CHECK-NOT: barrier
// CHECK: store B_shared
// CHECK: barrier
// CHECK-NEXT: for ki from ko below min(n, ko + 8) {
// CHECK-NEXT: set acc_0_0 = fma(A_shared[thread_y][ki - ko], B_shared[ki - ko][thread_x], acc_0_0)
// CHECK-NOT: barrier
// CHECK: else
// CHECK: decl acc[2][2] f32 block
// CHECK-NOT: store C{{.*}} = acc_
// CHECK: if n - 32*block_y - 16*ip{{.*}} - thread_y - 1 >= 0, n - 32*block_x - 16*jp{{.*}} - thread_x - 1 >= 0, n - 1 >= 0 {

// RUN: ctune show code %s -- clang-19 -O3 -mavx2 -ffp-contract=off | FileCheck-19 %s
// One launch for each step of a loop that stays on the host; the two languages differ in words, and in how they round.
void steps(int n, int t, float a, float x[n + 2], float y[n + 2]) {
#pragma tune schedule("split i 64 -> ib it; bind ib block.x; bind it thread.x; split j 64 -> jb jt; bind jb block.x; bind jt thread.x")
    for (int s = 0; s < t; s++) {
        for (int i = 1; i < n; i++)
            y[i] = a * (x[i - 1] + x[i + 1]);
        for (int j = 1; j < n; j++)
            x[j] = y[j];
    }
}
// CHECK: struct ctune_gpu_array {
// CHECK: extern __attribute__((__weak__)) int ctune_gpu_end(struct ctune_gpu *);
// CHECK: int ctune_done = 0;
// CHECK: static const char ctune_gpu_cuda[] =
// CHECK-NEXT: "extern \"C\" __global__ void __launch_bounds__(64) ctune_steps_0(float *__restrict__ t0_
// CHECK: t_block_x = blockIdx.x; t_block_x < t_block_xs; t_block_x += gridDim.x
// CHECK: const long long t_thread_x = threadIdx.x;
// CHECK: = __fmul_rn(t_a{{[_0-9]*}}, __fadd_rn(
// CHECK: ctune_steps_1(
// CHECK: static const char ctune_gpu_opencl[] =
// CHECK-NEXT: "#pragma OPENCL FP_CONTRACT OFF\n"
// CHECK-NEXT: "__attribute__((reqd_work_group_size(64, 1, 1)))\n"
// CHECK-NEXT: "__kernel void ctune_steps_0(__global float *restrict t0_
// CHECK: t_block_x = get_group_id(0); t_block_x < t_block_xs; t_block_x += get_num_groups(0)
// CHECK: const long t_thread_x = get_local_id(0);
// CHECK: = t_a{{[_0-9]*}} * (t{{.*}} + t{{.*}});
// CHECK: static const struct ctune_gpu_region ctune_gpu_here = {"steps", ctune_gpu_cuda, ctune_gpu_opencl, 1u};
// CHECK: const struct ctune_gpu_array ctune_gpu_as[2] = {
// CHECK: struct ctune_gpu *const ctune_gpu_run = ctune_gpu_begin == 0 ? 0 : ctune_gpu_begin(&ctune_gpu_here, ctune_gpu_as, 2);
// CHECK: for (long [[S:s[_0-9]*]] = 0; [[S]] < t; [[S]]++) {
// CHECK: (void)ctune_gpu_launch(ctune_gpu_run, "ctune_steps_0", ctune_gpu_g, ctune_gpu_b, 0,
// CHECK: (void)ctune_gpu_launch(ctune_gpu_run, "ctune_steps_1", ctune_gpu_g, ctune_gpu_b, 0,
// CHECK: ctune_done = ctune_gpu_end(ctune_gpu_run);

/* GPU facts and formulas: peaks of data sheets, occupancies of the vendor's calculator, sectors and
 * bank conflicts counted by hand, and what the estimate must rank. */
#include "search/gpu/kernel.h"
#include "search/gpu/warp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- devices ----------------------------------------------------------------------------------
 */
static void test_devices(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double f32, f64; /* TFLOP/s */
    } sheets[] = {{"V100", 15.7, 7.8},  {"t4", 8.1, 0.25},  {"a100", 19.5, 9.7},
                  {"a6000", 38.7, 0.6}, {"L4", 30.3, 0.47}, {"h200", 67, 33.5}};
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) {
        const ctune_device *d = ctune_device_find(sheets[i].name);
        assert_non_null(d);
        assert_true(fabs(ctune_device_peak(d, false) / 1000 / sheets[i].f32 - 1) < 0.02);
        assert_true(fabs(ctune_device_peak(d, true) / 1000 / sheets[i].f64 - 1) < 0.03);
    }
    assert_null(ctune_device_find("h20"));
    int n = 0;
    while (ctune_device_at(n) != NULL) {
        const ctune_device *d = ctune_device_at(n++);
        assert_ptr_equal(ctune_device_find(d->name), d);
        assert_non_null(ctune_device_limits_find(d->cc));
    }
    assert_int_equal(n, 8);
    assert_null(ctune_device_at(-1));
    assert_int_equal(ctune_device_limits_find(87)->cc, 86);
    assert_int_equal(ctune_device_limits_find(103)->cc, 100);
    assert_null(ctune_device_limits_find(60));
    assert_null(ctune_device_limits_find(110));
}

/* ---- occupancy --------------------------------------------------------------------------------
 */
static void expect_blocks(int cc, int threads, int registers, int64_t shared, int blocks,
                          ctune_occupancy_bound bound) {
    ctune_occupancy o =
        ctune_occupancy_get(ctune_device_limits_find(cc), threads, registers, shared);
    assert_int_equal(o.blocks, blocks);
    assert_int_equal(o.warps, blocks * ((threads + 31) / 32));
    assert_int_equal(o.bound, bound);
}

static void test_occupancy(void **state) {
    (void)state;
    expect_blocks(90, 256, 128, 0, 2, CTUNE_BOUND_REGISTERS);
    expect_blocks(80, 256, 128, 0, 2, CTUNE_BOUND_REGISTERS);
    expect_blocks(80, 256, 32, 0, 8, CTUNE_BOUND_WARPS);
    expect_blocks(80, 256, 33, 0, 6, CTUNE_BOUND_REGISTERS); /* 40 registers: 48 warps */
    expect_blocks(80, 256, 40, 0, 6, CTUNE_BOUND_REGISTERS);
    expect_blocks(80, 32, 16, 0, 32, CTUNE_BOUND_BLOCKS);
    expect_blocks(86, 32, 16, 0, 16, CTUNE_BOUND_BLOCKS);
    expect_blocks(86, 1024, 64, 0, 1, CTUNE_BOUND_WARPS);
    expect_blocks(75, 1024, 64, 0, 1, CTUNE_BOUND_WARPS);
    expect_blocks(75, 256, 64, 32 * 1024, 2, CTUNE_BOUND_SHARED);
    expect_blocks(70, 256, 32, 48 * 1024, 2, CTUNE_BOUND_SHARED);
    expect_blocks(80, 128, 32, 48 * 1024, 3, CTUNE_BOUND_SHARED); /* 49 KiB with the reserved one */
    expect_blocks(80, 128, 32, 163 * 1024, 1, CTUNE_BOUND_SHARED);
    expect_blocks(80, 128, 32, 163 * 1024 + 1, 0, CTUNE_BOUND_NONE);
    expect_blocks(90, 128, 32, 227 * 1024, 1, CTUNE_BOUND_SHARED);
    expect_blocks(90, 33, 255, 0, 4, CTUNE_BOUND_REGISTERS); /* 8160 -> 8192 a warp: 8 warps */
    expect_blocks(90, 1024, 65, 0, 0, CTUNE_BOUND_NONE);
    expect_blocks(90, 1024, 64, 0, 1, CTUNE_BOUND_REGISTERS);
    expect_blocks(90, 1025, 32, 0, 0, CTUNE_BOUND_NONE);
    expect_blocks(90, 128, 256, 0, 0, CTUNE_BOUND_NONE);
    expect_blocks(90, 0, 32, 0, 0, CTUNE_BOUND_NONE);
}

/* More of a resource never gives more blocks. */
static void test_occupancy_monotone(void **state) {
    (void)state;
    static const int ccs[] = {70, 75, 80, 86, 89, 90, 100, 120};
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        const ctune_device_limits *l = ctune_device_limits_find(ccs[i]);
        for (int threads = 32; threads <= 1024; threads += 32) {
            int last = 1000;
            for (int registers = 8; registers <= 255; registers++) {
                int blocks = ctune_occupancy_get(l, threads, registers, 1000).blocks;
                assert_true(blocks <= last);
                assert_true(blocks * threads <= l->warps * 32);
                assert_true(blocks * threads * registers <= CTUNE_SM_REGISTERS);
                last = blocks;
            }
        }
    }
}

static void test_waves(void **state) {
    (void)state;
    assert_true(fabs(ctune_wave_efficiency(132, 256) - 0.97) < 0.005); /* 2048^2 by 128 x 128 */
    assert_true(fabs(ctune_wave_efficiency(108, 256) - 0.79) < 0.005);
    assert_true(fabs(ctune_wave_efficiency(132, 64) - 0.485) < 0.005);
    assert_true(ctune_wave_efficiency(132, 132) == 1);
}

/* ---- requests of a warp -----------------------------------------------------------------------
 */
static int64_t lane_at[CTUNE_WARP];

static void put_lanes(int64_t base, int64_t stride) {
    for (int i = 0; i < CTUNE_WARP; i++) {
        lane_at[i] = base + i * stride;
    }
}

static void test_sectors(void **state) {
    (void)state;
    static const int sizes[] = {4, 8, 16};
    for (int s = 0; s < 3; s++) { /* full warps */
        put_lanes(1024, sizes[s]);
        assert_int_equal(ctune_warp_sectors(lane_at, ~0u, sizes[s]), sizes[s]);
        assert_int_equal(ctune_warp_sectors_min(lane_at, ~0u, sizes[s]), sizes[s]);
        put_lanes(1024 + sizes[s], sizes[s]); /* shifted: one more */
        assert_int_equal(ctune_warp_sectors(lane_at, ~0u, sizes[s]), sizes[s] + 1);
    }
    put_lanes(0, 128); /* a column */
    assert_int_equal(ctune_warp_sectors(lane_at, ~0u, 4), 32);
    assert_int_equal(ctune_warp_sectors_min(lane_at, ~0u, 4), 4);
    put_lanes(0, 8); /* every other word */
    assert_int_equal(ctune_warp_sectors(lane_at, ~0u, 4), 8);
    put_lanes(64, 0); /* the same word */
    assert_int_equal(ctune_warp_sectors(lane_at, ~0u, 4), 1);
    assert_int_equal(ctune_warp_sectors_min(lane_at, ~0u, 4), 1);
    put_lanes(-16, 4); /* below the base */
    assert_int_equal(ctune_warp_sectors(lane_at, ~0u, 4), 5);
    put_lanes(0, 4);
    assert_int_equal(ctune_warp_sectors(lane_at, 0x1, 4), 1);
    assert_int_equal(ctune_warp_sectors(lane_at, 0, 4), 0);
    assert_int_equal(ctune_warp_sectors_min(lane_at, 0, 4), 0);
    put_lanes(0, 1);
    assert_int_equal(ctune_warp_sectors(lane_at, ~0u, 1), 1);
    put_lanes(0, 2);
    assert_int_equal(ctune_warp_sectors(lane_at, ~0u, 2), 2);
}

static void test_banks(void **state) {
    (void)state;
    put_lanes(0, 4);
    assert_int_equal(ctune_warp_passes(lane_at, ~0u, 4), 1);
    assert_int_equal(ctune_warp_conflicts(lane_at, ~0u, 4), 0);
    put_lanes(0, 8);
    assert_int_equal(ctune_warp_conflicts(lane_at, ~0u, 4), 1);
    put_lanes(0, 128); /* a column of a tile with rows of 32 */
    assert_int_equal(ctune_warp_conflicts(lane_at, ~0u, 4), 31);
    put_lanes(0, 132); /* rows of 33 */
    assert_int_equal(ctune_warp_conflicts(lane_at, ~0u, 4), 0);
    put_lanes(256, 0); /* a broadcast */
    assert_int_equal(ctune_warp_passes(lane_at, ~0u, 4), 1);
    put_lanes(0, 16); /* 16-byte accesses in four phases */
    assert_int_equal(ctune_warp_passes(lane_at, ~0u, 16), 4);
    assert_int_equal(ctune_warp_conflicts(lane_at, ~0u, 16), 0);
    put_lanes(0, 8);
    assert_int_equal(ctune_warp_passes(lane_at, ~0u, 8), 2);
    put_lanes(0, 32);
    assert_int_equal(ctune_warp_conflicts(lane_at, ~0u, 16), 4); /* two ways in each phase */
    assert_int_equal(ctune_warp_passes(lane_at, 0xff, 16), 2);
    assert_int_equal(ctune_warp_passes(lane_at, 0, 16), 0);
    assert_int_equal(ctune_warp_conflicts(lane_at, 0, 16), 0);
}

/* The transposing store of a 128 x ktile tile of A, 16-byte loads: ways by k-tile and padding. */
static int store_ways(int ktile, int pad, bool is_swizzled) {
    int pieces = ktile / 4;
    for (int i = 0; i < CTUNE_WARP; i++) { /* lane -> row m, piece of four k */
        int m = i / pieces, k = i % pieces * 4;
        int column = is_swizzled ? m ^ (k / 4 * (128 / ktile)) : m;
        lane_at[i] = 4 * ((int64_t)k * (128 + pad) + column);
    }
    return ctune_warp_conflicts(lane_at, ~0u, 4) + 1;
}

static void test_transposing_store(void **state) {
    (void)state;
    assert_int_equal(store_ways(8, 0, false), 2);
    assert_int_equal(store_ways(8, 4, false), 1);
    assert_int_equal(store_ways(16, 0, false), 4);
    assert_int_equal(store_ways(16, 4, false), 2);
    assert_int_equal(store_ways(32, 0, false), 8);
    assert_int_equal(store_ways(32, 4, false), 4);
    assert_int_equal(store_ways(8, 0, true), 1);
    assert_int_equal(store_ways(16, 0, true), 1);
    assert_int_equal(store_ways(32, 0, true), 1);
}

/* ---- the estimate -----------------------------------------------------------------------------
 */
/* gemm n^3 with tiles m x m by 256 threads, t x t a thread, k-tile 8. */
static ctune_kernel gemm(double n, int m, int t) {
    double products = n * n * n, blocks = n / m * (n / m);
    return (ctune_kernel){
        .threads = m * m / t / t,
        .registers = t * t + 8 * t < 64 ? t * t + 40 : 126,
        .shared_bytes = 2 * 2 * m * 8 * 4,
        .n_blocks = blocks,
        .n_f32 = products,
        .n_other = products * 2 / t / 4 + products / 16,
        .ilp = t * t,
        .n_sectors = blocks * n * 2 * m * 4 / 32,
        .memory_bytes = 16 * n * n,
        .bytes_in_flight = 32,
        .n_shared_passes = products / 32 * 2 / t,
        .n_barriers = n / 8,
    };
}

static double gemm_ns(const char *device, double n, int m, int t) {
    ctune_kernel k = gemm(n, m, t);
    return ctune_kernel_estimate(ctune_device_find(device), &k).ns;
}

static void test_gemm(void **state) {
    (void)state;
    int n_devices = 0;
    for (const ctune_device *d; (d = ctune_device_at(n_devices)) != NULL; n_devices++) {
        double best = 2.0 * 4096 * 4096 * 4096 / ctune_device_peak(d, false);
        double good = gemm_ns(d->name, 4096, 128, 8);
        assert_true(good >= best && good < 1.6 * best);
        assert_true(gemm_ns(d->name, 4096, 16, 1) > 2 * good);   /* a point a thread */
        if (ctune_device_limits_find(d->cc)->f32_lanes == 128) { /* shared memory binds */
            assert_true(gemm_ns(d->name, 4096, 64, 4) > 1.3 * good);
        }
    }
    /* 64 blocks on 132 SMs: smaller tiles win */
    assert_true(gemm_ns("h200", 1024, 64, 4) < gemm_ns("h200", 1024, 128, 8));
}

/*
 * The steps of a published series on an A6000, 4096^3 in f32 (TFLOP/s measured: 0.30, 1.97, 2.97,
 * 8.5, 15.9, 18.2), from what each step's inner loop does for a warp and product.
 */
static void test_series(void **state) {
    (void)state;
    double n = 4096, products = n * n * n, warps = products / 32;
    ctune_kernel series[] = {/* a point a thread, neighbours in different rows: 32 lines and one */
                             {.threads = 1024,
                              .registers = 32,
                              .n_blocks = 16384,
                              .n_f32 = products,
                              .n_other = 2 * products,
                              .n_line_passes = 33 * warps,
                              .n_sectors = 33 * warps / 8},
                             /* neighbours in a row */
                             {.threads = 1024,
                              .registers = 32,
                              .n_blocks = 16384,
                              .n_f32 = products,
                              .n_other = 2.5 * products,
                              .n_line_passes = 2 * warps,
                              .n_sectors = 5 * warps / 4},
                             /* tiles of 32 x 32 in shared memory */
                             {.threads = 1024,
                              .registers = 32,
                              .shared_bytes = 8192,
                              .n_blocks = 16384,
                              .n_f32 = products,
                              .n_other = 2 * products,
                              .n_shared_passes = 2 * warps,
                              .n_sectors = products * 2 / 32 / 8,
                              .n_barriers = 256},
                             /* 8 points a thread in a column */
                             {.threads = 512,
                              .registers = 48,
                              .shared_bytes = 4096,
                              .n_blocks = 4096,
                              .n_f32 = products,
                              .n_other = 9.0 / 8 * products,
                              .ilp = 8,
                              .n_shared_passes = 9.0 / 8 * warps,
                              .n_sectors = products * 2 / 64 / 8,
                              .n_barriers = 1024},
                             /* 8 x 8 points a thread */
                             {.threads = 256,
                              .registers = 126,
                              .shared_bytes = 8192,
                              .n_blocks = 1024,
                              .n_f32 = products,
                              .n_other = 0.35 * products,
                              .ilp = 64,
                              .n_shared_passes = 0.25 * warps,
                              .n_sectors = products * 2 / 128 / 8,
                              .n_barriers = 1024},
                             /* copies of 16 bytes */
                             {.threads = 256,
                              .registers = 126,
                              .shared_bytes = 8192,
                              .n_blocks = 1024,
                              .n_f32 = products,
                              .n_other = 0.12 * products,
                              .ilp = 64,
                              .n_shared_passes = 0.25 * warps,
                              .n_sectors = products * 2 / 128 / 8,
                              .n_barriers = 1024}};
    static const double measured[] = {0.30, 1.97, 2.97, 8.5, 15.9, 18.2};
    double last = INFINITY;
    for (int i = 0; i < 6; i++) {
        series[i].memory_bytes = 16 * n * n;
        double ns = ctune_kernel_estimate(ctune_device_find("a6000"), &series[i]).ns;
        double ratio = 2 * products / ns / 1000 / measured[i];
        assert_true(ns <= last); /* the order */
        assert_true(ratio > 0.8 && ratio < 2);
        last = ns;
    }
}

static void test_copy(void **state) {
    (void)state;
    double bytes = 1 << 30;
    ctune_kernel k = {.threads = 256,
                      .registers = 32,
                      .n_blocks = bytes / 2 / 1024 / 4,
                      .n_other = bytes / 8 * 3,
                      .n_sectors = bytes / 32,
                      .memory_bytes = bytes,
                      .bytes_in_flight = 16};
    const ctune_device *d = ctune_device_find("h200");
    double good = ctune_kernel_estimate(d, &k).ns;
    assert_true(good > bytes / 4800 && good < 1.3 * bytes / 4800);
    k.n_sectors *= 8; /* columns */
    assert_true(ctune_kernel_estimate(d, &k).ns > 3 * good);
    k.n_sectors /= 8;
    k.n_blocks = 8; /* eight SMs cannot ask for enough */
    assert_true(ctune_kernel_estimate(d, &k).ns > 3 * good);
}

static void test_limits(void **state) {
    (void)state;
    ctune_kernel k = gemm(1024, 128, 8);
    const ctune_device *d = ctune_device_find("t4");
    k.shared_bytes = 65 * 1024;
    assert_true(isinf(ctune_kernel_estimate(d, &k).ns));
    assert_false(isinf(ctune_kernel_estimate(ctune_device_find("a100"), &k).ns));
    k.n_blocks = 0;
    assert_true(ctune_kernel_estimate(d, &k).ns == 0);
    /* the link decides: a matrix-vector product is not worth its copies */
    double bytes = 4.0 * 4096 * 4096;
    assert_true(ctune_kernel_run_ns(d, 1000, 1, bytes, 16384) > bytes / 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_occupancy_monotone),
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_sectors),
        cmocka_unit_test(test_banks),
        cmocka_unit_test(test_transposing_store),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

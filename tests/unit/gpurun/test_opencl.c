/* Regions on a real OpenCL device (PoCL's CPU is enough): data that goes in and comes out, pieces,
 * kept arrays and parts of them, refusals, the cache. */
#include "runtime/gpu/gpu_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char kernels[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "__kernel void add(__global float *x, __global float *y, long n, float a) {\n"
    "    long i = get_global_id(0);\n"
    "    if (i < n) y[i] = y[i] + a * x[i];\n"
    "}\n"
    "__kernel void set(__global float *x, long n, float a) {\n"
    "    long i = get_global_id(0);\n"
    "    if (i < n) x[i] = a + (float)i;\n"
    "}\n"
    "__kernel void scale(__global float *x, long rows, long columns, long pitch, float a) {\n"
    "    long j = get_global_id(0), i = get_global_id(1);\n"
    "    if (i < rows && j < columns) x[i * pitch + j] *= a;\n"
    "}\n"
    "__kernel void divide(__global float *x, __global float *y, __global float *z, long n) {\n"
    "    long i = get_global_id(0);\n"
    "    if (i < n) z[i] = x[i] / y[i] + sqrt(x[i]);\n"
    "}\n"
    "__kernel void reverse(__global float *x, long n) {\n"
    "    __local float tile[64];\n"
    "    long t = get_local_id(0), at = get_group_id(0) * 64;\n"
    "    tile[t] = x[at + t];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    x[at + t] = tile[63 - t];\n"
    "}\n";
static const struct ctune_gpu_region region = {"test", NULL, kernels, CTUNE_GPU_STRICT};

static char told[1024];

static void on_error(const char *message) {
    snprintf(told, sizeof told, "%s", message);
}

static struct ctune_gpu_array array_of(void *base, size_t n, unsigned flags) {
    return (struct ctune_gpu_array){
        base, n * sizeof(float), 1, n * sizeof(float), n * sizeof(float), flags};
}

static int launch(struct ctune_gpu *run, const char *name, unsigned blocks, unsigned threads,
                  unsigned n_params, const void *const *params, const size_t *sizes) {
    unsigned grid[3] = {blocks, 1, 1}, block[3] = {threads, 1, 1};
    return ctune_gpu_launch(run, name, grid, block, 0, params, sizes, n_params);
}

/* y += a x, n elements; 1: done on the device */
static int add(float *x, float *y, long long n, float a) {
    struct ctune_gpu_array arrays[] = {
        array_of(x, (size_t)n, CTUNE_GPU_READ),
        array_of(y, (size_t)n, CTUNE_GPU_READ | CTUNE_GPU_WRITE),
    };
    struct ctune_gpu *run = ctune_gpu_begin(&region, arrays, 2);
    if (run == NULL) {
        return 0;
    }
    launch(run, "add", (unsigned)(n + 63) / 64, 64, 2, (const void *const[]){&n, &a},
           (const size_t[]){sizeof n, sizeof a});
    return ctune_gpu_end(run);
}

static int set(float *x, long long n, float a) {
    struct ctune_gpu_array arrays[] = {array_of(x, (size_t)n, CTUNE_GPU_WRITE)};
    struct ctune_gpu *run = ctune_gpu_begin(&region, arrays, 1);
    if (run == NULL) {
        return 0;
    }
    launch(run, "set", (unsigned)(n + 31) / 32, 32, 2, (const void *const[]){&n, &a},
           (const size_t[]){sizeof n, sizeof a});
    return ctune_gpu_end(run);
}

static int setup(void **state) {
    (void)state;
    ctune_gpu_reset();
    setenv("CTUNE_GPU", "auto", 1);
    setenv("CTUNE_GPU_API", "opencl", 1);
    ctune_gpu_on_error(on_error);
    told[0] = '\0';
    return 0;
}

static int teardown(void **state) {
    (void)state;
    ctune_gpu_reset();
    return 0;
}

static void test_add(void **state) {
    (void)state;
    float x[1000], y[1000];
    for (int i = 0; i < 1000; i++) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)i;
    }
    assert_int_equal(add(x, y, 999, 2), 1);
    for (int i = 0; i < 1000; i++) {
        assert_true(x[i] == (float)i);
        assert_true(y[i] == (i < 999 ? 2.5f : 0.5f) * (float)i);
    }
    assert_int_equal(set(x, 1000, 7), 1);
    assert_true(x[999] == 1006);
}

/* Several launches in a run, the later ones on the results of the earlier. */
static void test_launches(void **state) {
    (void)state;
    float x[256];
    long long n = 256;
    float a = 3;
    struct ctune_gpu_array arrays[] = {array_of(x, 256, CTUNE_GPU_WRITE)};
    struct ctune_gpu *run = ctune_gpu_begin(&region, arrays, 1);
    assert_non_null(run);
    assert_int_equal(launch(run, "set", 4, 64, 2, (const void *const[]){&n, &a},
                            (const size_t[]){sizeof n, sizeof a}),
                     1);
    assert_int_equal(
        launch(run, "reverse", 4, 64, 1, (const void *const[]){&n}, (const size_t[]){sizeof n}), 1);
    assert_int_equal(ctune_gpu_end(run), 1);
    for (int i = 0; i < 256; i++) {
        assert_true(x[i] == (float)(i / 64 * 64 + 63 - i % 64) + 3);
    }
}

/* Only the pieces come back, whatever lies between them meanwhile. */
static void scale_pieces(long long rows, long long columns, long long pitch) {
    size_t n = (size_t)(rows * pitch);
    float *x = malloc(n * sizeof *x), a = 3;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)i;
    }
    struct ctune_gpu_array arrays[] = {
        {x, (size_t)((rows - 1) * pitch + columns) * sizeof *x, (size_t)rows,
         (size_t)columns * sizeof *x, (size_t)pitch * sizeof *x, CTUNE_GPU_READ | CTUNE_GPU_WRITE}};
    struct ctune_gpu *run = ctune_gpu_begin(&region, arrays, 1);
    assert_non_null(run);
    for (size_t i = 0; i < n; i++) { /* of another thread, between the pieces */
        if ((long long)i % pitch >= columns) {
            x[i] = -1;
        }
    }
    unsigned grid[3] = {(unsigned)(columns + 15) / 16, (unsigned)(rows + 3) / 4, 1};
    unsigned block[3] = {16, 4, 1};
    assert_int_equal(
        ctune_gpu_launch(run, "scale", grid, block, 0,
                         (const void *const[]){&rows, &columns, &pitch, &a},
                         (const size_t[]){sizeof rows, sizeof columns, sizeof pitch, sizeof a}, 4),
        1);
    assert_int_equal(ctune_gpu_end(run), 1);
    for (size_t i = 0; i < n; i++) {
        assert_true(x[i] == ((long long)i % pitch < columns ? 3 * (float)i : -1));
    }
    free(x);
}

static void test_pieces(void **state) {
    (void)state;
    scale_pieces(9, 5, 8);     /* copied whole, sorted out on the host */
    scale_pieces(6, 100, 250); /* a rectangle */
    scale_pieces(40, 2, 100);  /* short, far apart */
    scale_pieces(1, 100, 250);
    scale_pieces(7, 16, 16); /* no gaps */
}

static void test_exact_division(void **state) {
    (void)state;
    float x[512], y[512], z[512];
    long long n = 512;
    uint32_t seed = 12345;
    for (int i = 0; i < 512; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t bits = (seed & 0x7fffffffu) % 0x7f000000u; /* subnormals too */
        memcpy(&x[i], &bits, 4);
        seed = seed * 1664525u + 1013904223u;
        bits = seed % 0x7f000000u + 1;
        memcpy(&y[i], &bits, 4);
    }
    struct ctune_gpu_array arrays[] = {array_of(x, 512, CTUNE_GPU_READ),
                                       array_of(y, 512, CTUNE_GPU_READ),
                                       array_of(z, 512, CTUNE_GPU_WRITE)};
    struct ctune_gpu *run = ctune_gpu_begin(&region, arrays, 3);
    assert_non_null(run);
    launch(run, "divide", 8, 64, 1, (const void *const[]){&n}, (const size_t[]){sizeof n});
    assert_int_equal(ctune_gpu_end(run), 1);
    for (int i = 0; i < 512; i++) {
        volatile float quotient = x[i] / y[i];
        float expected = quotient + __builtin_sqrtf(x[i]);
        assert_memory_equal(&z[i], &expected, sizeof expected);
    }
}

/* ---- kept arrays ------------------------------------------------------------------------------
 */
static void test_kept(void **state) {
    (void)state;
    float x[300], y[300];
    for (int i = 0; i < 300; i++) {
        x[i] = 1;
        y[i] = (float)i;
    }
    assert_int_equal(ctune_gpu_keep(x, sizeof x), 1);
    assert_int_equal(ctune_gpu_keep(y, sizeof y), 1);
    assert_int_equal(ctune_gpu_keep(y, sizeof y), 1);      /* the same again */
    assert_int_equal(ctune_gpu_keep(y + 1, sizeof *y), 0); /* overlaps */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(add(x, y, 300, 1), 1);
    }
    assert_true(y[7] == 7); /* still the old one */
    assert_int_equal(ctune_gpu_sync(&y[100]), 1);
    for (int i = 0; i < 300; i++) {
        assert_true(y[i] == (float)i + 5);
    }
    y[3] = 100; /* the host's after sync */
    assert_int_equal(add(x, y, 300, 1), 1);
    assert_int_equal(ctune_gpu_drop(y), 1);
    assert_true(y[3] == 101 && y[4] == 10);
    assert_int_equal(ctune_gpu_drop(x), 1);
    assert_int_equal(ctune_gpu_drop(x), 1);
    assert_int_equal(ctune_gpu_sync(x), 1);
}

/* Regions on parts of a kept array: at aligned and other offsets, and reaching beyond it. */
static void test_kept_parts(void **state) {
    (void)state;
    static float x[4096], y[4096];
    static const long long offsets[] = {0, 1024, 4, 1, 37, 2048};
    for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
        for (int i = 0; i < 4096; i++) {
            x[i] = (float)i;
            y[i] = 1;
        }
        float *kept = y + 64;
        assert_int_equal(ctune_gpu_keep(kept, 3500 * sizeof *y), 1);
        assert_int_equal(add(x, kept + offsets[o], 1000, 1), 1);
        assert_int_equal(add(x + 9, kept + offsets[o], 1000, 1), 1);
        assert_true(y[64 + offsets[o]] == 1);
        assert_int_equal(add(x, y, 70, 1), 1); /* its first 64 are not kept */
        assert_int_equal(ctune_gpu_drop(kept), 1);
        for (long long i = 0; i < 4096; i++) {
            float expected = 1;
            long long at = i - 64 - offsets[o];
            expected += at >= 0 && at < 1000 ? 2 * (float)at + 9 : 0;
            expected += i < 70 ? (float)i : 0;
            assert_true(y[i] == expected);
        }
    }
}

/* What the CPU code of a refused region needs is on the host. */
static void test_kept_refused(void **state) {
    (void)state;
    static const struct ctune_gpu_region none = {"none", NULL, NULL, 0};
    float x[64] = {0}, y[64];
    assert_int_equal(ctune_gpu_keep(y, sizeof y), 1);
    assert_int_equal(set(y, 64, 5), 1);
    struct ctune_gpu_array arrays[] = {array_of(x, 64, CTUNE_GPU_READ),
                                       array_of(y, 64, CTUNE_GPU_READ | CTUNE_GPU_WRITE)};
    assert_null(ctune_gpu_begin(&none, arrays, 2));
    for (int i = 0; i < 64; i++) {
        assert_true(y[i] == 5 + (float)i);
        x[i] = 1;
        y[i] = 2; /* the CPU code */
    }
    assert_int_equal(add(x, y, 64, 1), 1);
    assert_int_equal(ctune_gpu_drop(y), 1);
    assert_true(y[0] == 3 && y[63] == 3);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */
static void test_refusals(void **state) {
    (void)state;
    static const struct ctune_gpu_region bad = {"bad", NULL, "__kernel void f(int x { }", 0};
    float x[128];
    for (int i = 0; i < 128; i++) {
        x[i] = (float)i;
    }
    struct ctune_gpu_array arrays[] = {array_of(x, 128, CTUNE_GPU_READ | CTUNE_GPU_WRITE),
                                       array_of(x + 100, 28, CTUNE_GPU_READ)};
    assert_null(ctune_gpu_begin(&bad, arrays, 1));
    assert_null(ctune_gpu_begin(&bad, arrays, 1));
    assert_null(ctune_gpu_begin(&region, arrays, 2)); /* overlap */
    arrays[0].flags = CTUNE_GPU_DEVICE;
    assert_null(ctune_gpu_begin(&region, arrays, 1));
    arrays[0] = (struct ctune_gpu_array){x, 128 * sizeof *x, 9, 64, 72, CTUNE_GPU_READ};
    assert_null(ctune_gpu_begin(&region, arrays, 1)); /* more pieces than bytes */
    assert_int_equal(set(x, 128, 0), 1);              /* the others still work */
    assert_string_equal(told, "");
}

/* No such kernel, blocks that are too large: that region alone, nothing written. */
static void test_launch_refused(void **state) {
    (void)state;
    struct ctune_gpu_region other = region;
    char text[sizeof kernels + 16];
    snprintf(text, sizeof text, "%s/* other */", kernels);
    other.opencl = text;
    float x[64];
    long long n = 64;
    float a = 1;
    for (int i = 0; i < 64; i++) {
        x[i] = -1;
    }
    struct ctune_gpu_array arrays[] = {array_of(x, 64, CTUNE_GPU_WRITE)};
    struct ctune_gpu *run = ctune_gpu_begin(&other, arrays, 1);
    assert_non_null(run);
    const void *const params[] = {&n, &a};
    const size_t sizes[] = {sizeof n, sizeof a};
    assert_int_equal(launch(run, "set", 2, 32, 2, params, sizes), 1);
    assert_int_equal(launch(run, "absent", 2, 32, 2, params, sizes), 0);
    assert_int_equal(launch(run, "set", 2, 32, 2, params, sizes), 0);
    assert_int_equal(ctune_gpu_end(run), 0);
    assert_true(x[0] == -1 && x[63] == -1);
    assert_null(ctune_gpu_begin(&other, arrays, 1)); /* not tried again */
    snprintf(text, sizeof text, "%s/* third */", kernels);
    run = ctune_gpu_begin(&other, arrays, 1);
    assert_non_null(run);
    assert_int_equal(launch(run, "set", 2, 1u << 30, 2, params, sizes), 0);
    assert_int_equal(ctune_gpu_end(run), 0);
    assert_int_equal(set(x, 64, 2), 1);
    assert_true(x[0] == 2 && x[63] == 65);
}

static void test_modes(void **state) {
    (void)state;
    float x[64];
    static const struct ctune_gpu_region none = {"none", NULL, NULL, 0};
    struct ctune_gpu_array arrays[] = {array_of(x, 64, CTUNE_GPU_WRITE)};
    ctune_gpu_reset();
    ctune_gpu_on_error(on_error);
    setenv("CTUNE_GPU", "off", 1);
    assert_int_equal(set(x, 64, 2), 0);
    assert_int_equal(ctune_gpu_keep(x, sizeof x), 0);
    assert_int_equal(ctune_gpu_sync(x), 1);
    assert_string_equal(told, "");
    ctune_gpu_reset();
    ctune_gpu_on_error(on_error);
    setenv("CTUNE_GPU", "ofF", 1); /* mistyped */
    assert_int_equal(set(x, 64, 2), 0);
    ctune_gpu_reset();
    ctune_gpu_on_error(on_error);
    setenv("CTUNE_GPU", "require", 1);
    assert_int_equal(set(x, 64, 2), 1);
    assert_string_equal(told, "");
    assert_null(ctune_gpu_begin(&none, arrays, 1));
    assert_non_null(strstr(told, "none cannot run on the device"));
}

/* What the log says: device, a refusal, times; nothing twice. */
static void test_log(void **state) {
    (void)state;
    char path[] = "/tmp/ctune-gpu-log-XXXXXX", text[4096] = "";
    close(mkstemp(path));
    setenv("CTUNE_GPU_LOG", path, 1);
    ctune_gpu_reset();
    float x[64];
    static const struct ctune_gpu_region bad = {"bad", NULL, "__kernel void f(int x { }", 0};
    struct ctune_gpu_array arrays[] = {array_of(x, 64, CTUNE_GPU_WRITE)};
    for (int i = 0; i < 5; i++) {
        assert_null(ctune_gpu_begin(&bad, arrays, 1));
        assert_int_equal(set(x, 64, 2), 1);
    }
    unsetenv("CTUNE_GPU_LOG");
    FILE *log = fopen(path, "r");
    assert_true(fread(text, 1, sizeof text - 1, log) > 0);
    fclose(log);
    unlink(path);
    assert_non_null(strstr(text, "ctune-gpu: opencl: "));
    const char *refused = strstr(text, "ctune-gpu: bad: refused: the kernels do not compile");
    assert_non_null(refused);
    assert_null(strstr(refused + 20, "bad: refused"));
    assert_non_null(strstr(text, "test: run 1, "));
    assert_non_null(strstr(text, "test: run 4, "));
    assert_null(strstr(text, "test: run 3, "));
}

/* A forked child runs the CPU code; its parent goes on with the device. */
static void test_fork(void **state) {
    (void)state;
    float x[64] = {0}, y[64] = {0};
    assert_int_equal(ctune_gpu_keep(y, sizeof y), 1);
    assert_int_equal(set(x, 64, 2), 1);
    pid_t child = fork();
    if (child == 0) {
        int first = set(x, 64, 1), second = set(y, 64, 1);
        _exit(first == 0 && second == 0 && ctune_gpu_sync(y) == 1 ? 42 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    assert_int_equal(set(y, 64, 1), 1);
    child = fork();
    if (child == 0) { /* the newer copy is its parent's */
        _exit(ctune_gpu_sync(y) == 0 && strstr(told, "lost") != NULL ? 42 : 1);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    assert_int_equal(ctune_gpu_drop(y), 1);
    assert_true(y[63] == 64);
}

int main(void) {
    setenv("CTUNE_GPU_API", "opencl", 1);
    setenv("CTUNE_GPU_CACHE", "off", 1);
    mkdir(CTUNE_BUILD_DIR "/pocl", 0700);
    setenv("POCL_CACHE_DIR", CTUNE_BUILD_DIR "/pocl", 1);
    char why[1024];
    if (ctune_gpu_device_name(why, sizeof why)[0] == '\0') {
        printf("skipped: %s (Debian: pocl-opencl-icd)\n", why);
        return 77;
    }
    printf("%s\n", ctune_gpu_device_name(NULL, 0));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_add, setup, teardown),
        cmocka_unit_test_setup_teardown(test_launches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exact_division, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_launch_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_modes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_log, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

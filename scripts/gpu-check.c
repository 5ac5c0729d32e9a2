/*
 * The measuring part of scripts/gpu-check: runs kernels written by hand on the device that regions
 * would use and compares bits with this CPU, then measures copies, launches and peaks.
 *
 *   gpu-check TEXT JSON
 *
 * Out: both files, the text on stdout too. Exit code 0: all right; 1: something is wrong; 3: no
 * device. One text of kernels serves both interfaces: a prelude says what differs.
 */
#include "runtime/gpu/ctune_gpu.h"
#include "runtime/gpu/inventory.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char cuda_prelude[] =
    "#define KERNEL extern \"C\" __global__ void\n#define GLOBAL\n#define LOCAL __shared__\n"
    "#define BARRIER __syncthreads()\ntypedef long long index;\n"
    "#define TX ((index)threadIdx.x)\n#define TY ((index)threadIdx.y)\n"
    "#define BX ((index)blockIdx.x)\n#define BY ((index)blockIdx.y)\n"
    "#define GX (BX * blockDim.x + TX)\n#define GY (BY * blockDim.y + TY)\n"
    "#define FMA32 __fmaf_rn\n#define FMA64 __fma_rn\n#define SQRT32 sqrtf\n#define SQRT64 sqrt\n"
    "KERNEL dynamic(float *x) {\n"
    "    extern __shared__ float big[];\n"
    "    for (int i = TX; i < 16384; i += 256) big[i] = x[i];\n"
    "    __syncthreads();\n"
    "    for (int i = TX; i < 16384; i += 256) x[i] = big[16383 - i];\n"
    "}\n";
static const char opencl_prelude[] =
    "#pragma OPENCL FP_CONTRACT OFF\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#define KERNEL __kernel void\n#define GLOBAL __global\n#define LOCAL __local\n"
    "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\ntypedef long index;\n"
    "#define TX ((index)get_local_id(0))\n#define TY ((index)get_local_id(1))\n"
    "#define BX ((index)get_group_id(0))\n#define BY ((index)get_group_id(1))\n"
    "#define GX ((index)get_global_id(0))\n#define GY ((index)get_global_id(1))\n"
    "#define FMA32 fma\n#define FMA64 fma\n#define SQRT32 sqrt\n#define SQRT64 sqrt\n";
static const char kernels[] =
    "#define OPS(NAME, T, FMA, SQRT) \\\n"
    "KERNEL NAME(GLOBAL T *x, GLOBAL T *y, GLOBAL T *z, GLOBAL T *out, index n) { \\\n"
    "    index i = GX; \\\n"
    "    if (i < n) { \\\n"
    "        T product = x[i] * y[i]; \\\n"
    "        out[i] = x[i] + y[i]; out[n + i] = x[i] - y[i]; out[2 * n + i] = product; \\\n"
    "        out[3 * n + i] = x[i] / y[i]; out[4 * n + i] = SQRT(x[i]); \\\n"
    "        out[5 * n + i] = FMA(x[i], y[i], z[i]); out[6 * n + i] = product + z[i]; \\\n"
    "    } \\\n"
    "}\n"
    "OPS(ops32, float, FMA32, SQRT32)\n"
    "OPS(ops64, double, FMA64, SQRT64)\n"
    "KERNEL copy(GLOBAL float4 *x, GLOBAL float4 *y, index n) {\n"
    "    index i = GX;\n"
    "    if (i < n) y[i] = x[i];\n"
    "}\n"
    "KERNEL increment(GLOBAL float *x, index n) {\n"
    "    index i = GX;\n"
    "    if (i < n) x[i] = x[i] + 1.0f;\n"
    "}\n"
    "#define PEAK(NAME, T, FMA) \\\n"
    "KERNEL NAME(GLOBAL T *x, index n, index steps) { \\\n"
    "    index i = GX; \\\n"
    "    T a = x[0], b0 = a, b1 = a + 1, b2 = a + 2, b3 = a + 3, \\\n"
    "      b4 = a + 4, b5 = a + 5, b6 = a + 6, b7 = a + 7; \\\n"
    "    for (index s = 0; s < steps; s++) { \\\n"
    "        b0 = FMA(b0, a, a); b1 = FMA(b1, a, a); b2 = FMA(b2, a, a); b3 = FMA(b3, a, a); \\\n"
    "        b4 = FMA(b4, a, a); b5 = FMA(b5, a, a); b6 = FMA(b6, a, a); b7 = FMA(b7, a, a); \\\n"
    "    } \\\n"
    "    if (i < n) x[i] = b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7; \\\n"
    "}\n"
    "PEAK(peak32, float, FMA32)\n"
    "PEAK(peak64, double, FMA64)\n"
    "KERNEL gemm(GLOBAL float *a, GLOBAL float *b, GLOBAL float *c, index n) {\n"
    "    LOCAL float s[16][16], t[16][16];\n"
    "    float sum = c[GY * n + GX];\n"
    "    for (index k = 0; k < n; k += 16) {\n"
    "        s[TY][TX] = a[GY * n + k + TX];\n"
    "        t[TY][TX] = b[(k + TY) * n + GX];\n"
    "        BARRIER;\n"
    "        for (int i = 0; i < 16; i++) { float p = s[TY][i] * t[i][TX]; sum = sum + p; }\n"
    "        BARRIER;\n"
    "    }\n"
    "    c[GY * n + GX] = sum;\n"
    "}\n"
    "KERNEL transpose(GLOBAL float *x, GLOBAL float *y, index n) {\n"
    "    LOCAL float tile[32][33];\n"
    "    for (int r = 0; r < 32; r += 8)\n"
    "        tile[TY + r][TX] = x[(BY * 32 + TY + r) * n + BX * 32 + TX];\n"
    "    BARRIER;\n"
    "    for (int r = 0; r < 32; r += 8)\n"
    "        y[(BX * 32 + TY + r) * n + BY * 32 + TX] = tile[TX][TY + r];\n"
    "}\n";

static struct ctune_gpu_region region = {"gpu-check", NULL, NULL, CTUNE_GPU_STRICT | CTUNE_GPU_F64};
static FILE *text_file, *json_file;
static int n_wrong;

/* ---- output -----------------------------------------------------------------------------------
 */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    FILE *const files[] = {stdout, text_file};
    for (int i = 0; i < 2; i++) {
        va_list args;
        va_start(args, format);
        vfprintf(files[i], format, args);
        va_end(args);
        fflush(files[i]);
    }
}

/* "name": with what JSON does not take as it is replaced. */
static void put_json_text(const char *name, const char *value) {
    fprintf(json_file, "  \"%s\": \"", name);
    for (; *value != '\0'; value++) {
        fputc(*value == '"' || *value == '\\' || (unsigned char)*value < ' ' ? '\'' : *value,
              json_file);
    }
    fprintf(json_file, "\",\n");
}

static void tell_fact(void *data, const char *name, const char *value) {
    (void)data;
    say("%-12s %s\n", name, value);
    put_json_text(name, value);
}

static void tell_result(const char *name, bool is_right) {
    n_wrong += !is_right;
    say("%-22s %s\n", name, is_right ? "identical" : "WRONG");
    fprintf(json_file, "  \"%s\": %s,\n", name, is_right ? "true" : "false");
}

static void tell_number(const char *name, double value, const char *unit) {
    say("%-22s %10.4g %s\n", name, value, unit);
    n_wrong += !isfinite(value); /* it did not run */
    fprintf(json_file, isfinite(value) ? "  \"%s\": %.6g,\n" : "  \"%s\": null,\n", name, value);
}

/* ---- running ----------------------------------------------------------------------------------
 */
static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct ctune_gpu_array array_of(void *base, size_t bytes, unsigned flags) {
    return (struct ctune_gpu_array){base, bytes, 1, bytes, bytes, flags};
}

typedef struct shape {
    unsigned grid[3], block[3];
    size_t shared;
} shape;

/* times launches of one kernel with integer parameters; true: it ran on the device. */
static bool run(const char *kernel, const struct ctune_gpu_array *arrays, unsigned n_arrays,
                shape form, int times, unsigned n_params, const long long *values) {
    const void *params[4];
    size_t sizes[4];
    for (unsigned i = 0; i < n_params; i++) {
        params[i] = &values[i];
        sizes[i] = sizeof values[i];
    }
    struct ctune_gpu *r = ctune_gpu_begin(&region, arrays, n_arrays);
    for (int i = 0; r != NULL && i < times; i++) {
        ctune_gpu_launch(r, kernel, form.grid, form.block, form.shared, params, sizes, n_params);
    }
    return r != NULL && ctune_gpu_end(r) == 1;
}

/* The shortest of a few runs. */
static double time_ns(const char *kernel, const struct ctune_gpu_array *arrays, unsigned n_arrays,
                      shape form, int times, unsigned n_params, const long long *values) {
    double best = INFINITY;
    for (int i = 0; i < 5; i++) {
        double start = now_ns();
        if (!run(kernel, arrays, n_arrays, form, times, n_params, values)) {
            return INFINITY;
        }
        best = fmin(best, now_ns() - start);
    }
    return best;
}

/* One launch inside a run: the slope, so that begin and end do not count. */
static double launch_time_ns(const char *kernel, const struct ctune_gpu_array *arrays,
                             unsigned n_arrays, shape form, int times, unsigned n_params,
                             const long long *values) {
    double one = time_ns(kernel, arrays, n_arrays, form, 1, n_params, values);
    double many = time_ns(kernel, arrays, n_arrays, form, 1 + times, n_params, values);
    return (many - one) / times;
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "gpu-check: no memory\n");
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

/* ---- results ----------------------------------------------------------------------------------
 */
static uint64_t seed = 88172645463325252u;

static uint64_t random_bits(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

enum { N_OPS = 7, N_VALUES = 1 << 18 };

/* Any bit pattern, every fourth subnormal. NaNs are equal whatever they carry. */
#define CHECK_OPS(T, U, FMA, SQRT, MANTISSA)                                                       \
    static bool check_##T(const char *kernel) {                                                    \
        T *v[3], *out = allocate(sizeof(T) * N_OPS * N_VALUES);                                    \
        long long n = N_VALUES;                                                                    \
        for (int j = 0; j < 3; j++) {                                                              \
            v[j] = allocate(sizeof(T) * N_VALUES);                                                 \
            for (int i = 0; i < N_VALUES; i++) {                                                   \
                U bits = (U)random_bits();                                                         \
                bits &= i % 4 == 0 ? (U) ~(U)0 >> (8 * sizeof(U) - MANTISSA) : (U) ~(U)0;          \
                memcpy(&v[j][i], &bits, sizeof bits);                                              \
            }                                                                                      \
        }                                                                                          \
        struct ctune_gpu_array arrays[] = {                                                        \
            array_of(v[0], sizeof(T) * N_VALUES, CTUNE_GPU_READ),                                  \
            array_of(v[1], sizeof(T) * N_VALUES, CTUNE_GPU_READ),                                  \
            array_of(v[2], sizeof(T) * N_VALUES, CTUNE_GPU_READ),                                  \
            array_of(out, sizeof(T) * N_OPS * N_VALUES, CTUNE_GPU_WRITE)};                         \
        bool ok =                                                                                  \
            run(kernel, arrays, 4, (shape){{N_VALUES / 256, 1, 1}, {256, 1, 1}, 0}, 1, 1, &n);     \
        for (int i = 0; ok && i < N_VALUES; i++) {                                                 \
            T x = v[0][i], y = v[1][i], z = v[2][i];                                               \
            volatile T product = x * y;                                                            \
            T expected[N_OPS] = {                                                                  \
                x + y, x - y, product, x / y, SQRT(x), FMA(x, y, z), product + z};                 \
            for (int k = 0; k < N_OPS; k++) {                                                      \
                T got = out[k * n + i];                                                            \
                bool both_nan = isnan(got) && isnan(expected[k]);                                  \
                if (!both_nan && memcmp(&got, &expected[k], sizeof got) != 0) {                    \
                    ok = false;                                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        for (int j = 0; j < 3; j++) {                                                              \
            free(v[j]);                                                                            \
        }                                                                                          \
        free(out);                                                                                 \
        return ok;                                                                                 \
    }
CHECK_OPS(float, uint32_t, fmaf, sqrtf, 23)
CHECK_OPS(double, uint64_t, fma, sqrt, 52)

static bool check_gemm(void) {
    enum { N = 128 };
    size_t bytes = sizeof(float) * N * N;
    float *a = allocate(bytes), *b = allocate(bytes), *c = allocate(bytes), *d = allocate(bytes);
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(int32_t)random_bits() * 1e-9f;
        b[i] = (float)(int32_t)random_bits() * 1e-9f;
        c[i] = d[i] = (float)i;
    }
    struct ctune_gpu_array arrays[] = {array_of(a, bytes, CTUNE_GPU_READ),
                                       array_of(b, bytes, CTUNE_GPU_READ),
                                       array_of(c, bytes, CTUNE_GPU_READ | CTUNE_GPU_WRITE)};
    bool ok = run("gemm", arrays, 3, (shape){{N / 16, N / 16, 1}, {16, 16, 1}, 0}, 1, 1,
                  (const long long[]){N});
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < N; k++) {
                volatile float product = a[i * N + k] * b[k * N + j];
                d[i * N + j] += product;
            }
        }
    }
    ok = ok && memcmp(c, d, bytes) == 0;
    free(a), free(b), free(c), free(d);
    return ok;
}

static bool check_transpose(void) {
    enum { N = 256 };
    size_t bytes = sizeof(float) * N * N;
    float *x = allocate(bytes), *y = allocate(bytes);
    for (int i = 0; i < N * N; i++) {
        x[i] = (float)i;
    }
    struct ctune_gpu_array arrays[] = {array_of(x, bytes, CTUNE_GPU_READ),
                                       array_of(y, bytes, CTUNE_GPU_WRITE)};
    bool ok = run("transpose", arrays, 2, (shape){{N / 32, N / 32, 1}, {32, 8, 1}, 0}, 1, 1,
                  (const long long[]){N});
    for (int i = 0; ok && i < N * N; i++) {
        ok = y[i] == x[i % N * N + i / N];
    }
    free(x), free(y);
    return ok;
}

/* 64 KiB of dynamic shared memory: more than a block has without asking. CUDA only. */
static bool check_dynamic(void) {
    enum { N = 16384 };
    float *x = allocate(sizeof(float) * N);
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
    }
    struct ctune_gpu_array arrays[] = {
        array_of(x, sizeof(float) * N, CTUNE_GPU_READ | CTUNE_GPU_WRITE)};
    bool ok =
        run("dynamic", arrays, 1, (shape){{1, 1, 1}, {256, 1, 1}, sizeof(float) * N}, 1, 0, NULL);
    for (int i = 0; ok && i < N; i++) {
        ok = x[i] == (float)(N - 1 - i);
    }
    free(x);
    return ok;
}

/* Pieces of rows, alone and of a kept array. */
static bool check_pieces(void) {
    enum { ROWS = 50, PITCH = 700, N = 128 };
    float *x = allocate(sizeof(float) * ROWS * PITCH);
    bool ok = true;
    long long n = (ROWS - 1) * PITCH + N;
    struct ctune_gpu_array pieces = {x,
                                     sizeof(float) * (size_t)n,
                                     ROWS,
                                     sizeof(float) * N,
                                     sizeof(float) * PITCH,
                                     CTUNE_GPU_READ | CTUNE_GPU_WRITE};
    shape all = {{(unsigned)(n + 255) / 256, 1, 1}, {256, 1, 1}, 0};
    ok = run("increment", &pieces, 1, all, 3, 1, &n);
    for (int i = 0; ok && i < ROWS * PITCH; i++) {
        ok = x[i] == (i % PITCH < N ? 3 : 0);
    }
    bool is_kept = ctune_gpu_keep(x, sizeof(float) * ROWS * PITCH) == 1;
    for (int i = 0; ok && i < 4; i++) { /* at offsets that are and are not aligned */
        long long m = 1000;
        struct ctune_gpu_array part =
            array_of(x + 64 * i + i, sizeof(float) * 1000, CTUNE_GPU_READ | CTUNE_GPU_WRITE);
        ok = run("increment", &part, 1, (shape){{4, 1, 1}, {256, 1, 1}, 0}, 1, 1, &m);
    }
    ok = ok && is_kept && ctune_gpu_drop(x) == 1;
    for (int i = 0; ok && i < ROWS * PITCH; i++) {
        int times = 0;
        for (int j = 0; j < 4; j++) {
            times += i >= 65 * j && i < 65 * j + 1000;
        }
        ok = x[i] == (float)((i % PITCH < N ? 3 : 0) + times);
    }
    free(x);
    return ok;
}

/* ---- figures ----------------------------------------------------------------------------------
 */
static void measure_copies(size_t bytes) {
    char *x = allocate(bytes);
    long long n = 0;
    shape one = {{1, 1, 1}, {32, 1, 1}, 0};
    struct ctune_gpu_array in = array_of(x, bytes, CTUNE_GPU_READ);
    struct ctune_gpu_array out = array_of(x, bytes, CTUNE_GPU_WRITE);
    tell_number("host_to_device", (double)bytes / time_ns("increment", &in, 1, one, 1, 1, &n),
                "GB/s");
    tell_number("device_to_host", (double)bytes / time_ns("increment", &out, 1, one, 1, 1, &n),
                "GB/s");
    free(x);
}

static void measure_device_copy(size_t bytes) {
    char *x = allocate(bytes), *y = allocate(bytes);
    long long n = (long long)(bytes / 16);
    struct ctune_gpu_array arrays[] = {array_of(x, bytes, CTUNE_GPU_READ),
                                       array_of(y, bytes, CTUNE_GPU_WRITE)};
    ctune_gpu_keep(x, bytes);
    ctune_gpu_keep(y, bytes);
    shape all = {{(unsigned)((n + 255) / 256), 1, 1}, {256, 1, 1}, 0};
    tell_number("device_copy",
                2.0 * (double)bytes / launch_time_ns("copy", arrays, 2, all, 20, 1, &n), "GB/s");
    ctune_gpu_drop(x);
    ctune_gpu_drop(y);
    free(x), free(y);
}

static void measure_launch(void) {
    float x[64] = {0};
    long long n = 64;
    struct ctune_gpu_array array = array_of(x, sizeof x, CTUNE_GPU_READ | CTUNE_GPU_WRITE);
    shape one = {{1, 1, 1}, {64, 1, 1}, 0};
    ctune_gpu_keep(x, sizeof x);
    double run_ns = time_ns("increment", &array, 1, one, 1, 1, &n);
    double launch_ns = launch_time_ns("increment", &array, 1, one, 100, 1, &n);
    ctune_gpu_drop(x);
    tell_number("resident_run", run_ns / 1000, "us, begin to end of a small kernel");
    tell_number("launch", launch_ns / 1000, "us, each further launch of a run");
}

static void measure_peak(const char *kernel, const char *name, size_t size, unsigned blocks,
                         long long steps) {
    size_t bytes = size * blocks * 256;
    void *x = allocate(bytes);
    struct ctune_gpu_array array = array_of(x, bytes, CTUNE_GPU_READ | CTUNE_GPU_WRITE);
    shape all = {{blocks, 1, 1}, {256, 1, 1}, 0};
    ctune_gpu_keep(x, bytes);
    double ns = launch_time_ns(kernel, &array, 1, all, 4, 2,
                               (const long long[]){(long long)(bytes / size), steps});
    ctune_gpu_drop(x);
    free(x);
    tell_number(name, 2.0 * 8 * (double)steps * 256 * blocks / ns, "GFLOP/s");
}

/* ---- all of it --------------------------------------------------------------------------------
 */
static bool join_texts(void) {
    size_t size = sizeof cuda_prelude + sizeof opencl_prelude + sizeof kernels;
    char *cuda = malloc(size), *opencl = malloc(size);
    if (cuda == NULL || opencl == NULL) {
        return false;
    }
    snprintf(cuda, size, "%s%s", cuda_prelude, kernels);
    snprintf(opencl, size, "%s%s", opencl_prelude, kernels);
    region.cuda = cuda;
    region.opencl = opencl;
    return true;
}

int main(int argc, char **argv) {
    if (argc != 3 || (text_file = fopen(argv[1], "w")) == NULL ||
        (json_file = fopen(argv[2], "w")) == NULL || !join_texts()) {
        fprintf(stderr, "usage: gpu-check TEXT JSON\n");
        return 2;
    }
    fprintf(json_file, "{\n");
    ctune_gpu_inventory(NULL, tell_fact);
    char name[256];
    snprintf(name, sizeof name, "%s", ctune_gpu_device_name(NULL, 0));
    bool is_cuda = strncmp(name, "cuda", 4) == 0, is_small = strstr(name, "pthread") != NULL;
    if (name[0] != '\0') {
        double start = now_ns();
        tell_result("float_bits", check_float("ops32"));
        tell_number("first_compile", (now_ns() - start) / 1e9, "s");
        tell_result("double_bits", check_double("ops64"));
        tell_result("gemm_bits", check_gemm());
        tell_result("transpose", check_transpose());
        tell_result("pieces", check_pieces());
        if (is_cuda) {
            tell_result("dynamic_shared", check_dynamic());
        }
        size_t bytes = is_small ? 8 << 20 : 512 << 20;
        measure_copies(bytes);
        measure_device_copy(bytes);
        measure_launch();
        measure_peak("peak32", "peak_f32", sizeof(float), is_small ? 16 : 2112, 4096);
        measure_peak("peak64", "peak_f64", sizeof(double), is_small ? 16 : 2112, 1024);
    }
    fprintf(json_file, "  \"wrong\": %d\n}\n", n_wrong);
    bool is_written = fclose(json_file) == 0 && fclose(text_file) == 0;
    return name[0] == '\0' ? 3 : n_wrong > 0 || !is_written;
}

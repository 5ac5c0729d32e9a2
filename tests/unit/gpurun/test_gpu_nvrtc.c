/* NVRTC where it is installed: machine code for devices that are not there, nothing fused, nothing
 * flushed, messages with lines. */
#include "runtime/gpu/gpu_private.h"
#include "runtime/gpu/nvrtc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "extern \"C\" __global__ void f(char *x, char *y, long long n, float a) {\n"
    "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    float *u = (float *)x, *v = (float *)y;\n"
    "    extern __shared__ float tile[];\n"
    "    tile[threadIdx.x] = u[i];\n"
    "    __syncthreads();\n"
    "    if (i < n) v[i] = v[i] / 3.0f + a * tile[threadIdx.x ^ 1];\n"
    "}\n";

static bool contains(const char *code, size_t bytes, const char *word) {
    return memmem(code, bytes, word, strlen(word)) != NULL;
}

static void test_cubin(void **state) {
    (void)state;
    static const int ccs[] = {75, 80, 86, 89, 90, 100, 120};
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        size_t bytes = 0;
        char *code = ctune_nvrtc_compile(text, ccs[i], &bytes);
        if (code == NULL) { /* an NVRTC that is older than the generation gives PTX, not nothing */
            fail_msg("cc %d: %s", ccs[i], ctune_gpu_why());
        }
        assert_true(memcmp(code, "\177ELF", 4) == 0 || contains(code, bytes, ".target"));
        assert_true(ccs[i] > 90 || memcmp(code, "\177ELF", 4) == 0);
        free(code);
    }
}

/* A generation to come: PTX of the newest known, with explicit rounding and subnormals. */
static void test_ptx(void **state) {
    (void)state;
    size_t bytes = 0;
    char *code = ctune_nvrtc_compile(text, 990, &bytes);
    assert_non_null(code);
    assert_int_equal(code[bytes - 1], '\0');
    assert_true(contains(code, bytes, ".target sm_"));
    assert_true(contains(code, bytes, "div.rn.f32"));
    assert_true(contains(code, bytes, "mul.rn.f32"));
    assert_true(contains(code, bytes, "add.rn.f32"));
    assert_false(contains(code, bytes, "fma."));
    assert_false(contains(code, bytes, ".ftz"));
    free(code);
}

static void test_refused(void **state) {
    (void)state;
    size_t bytes = 0;
    assert_null(ctune_nvrtc_compile("extern \"C\" __global__ void f() { x = 1; }", 90, &bytes));
    assert_non_null(strstr(ctune_gpu_why(), "identifier \"x\" is undefined"));
    assert_null(ctune_nvrtc_compile(text, 10, &bytes));
    assert_non_null(strstr(ctune_gpu_why(), "compute capability 1.0"));
}

int main(void) {
    setenv("CTUNE_GPU_CACHE", "off", 1);
    if (!ctune_nvrtc_open(0, 0)) {
        printf("skipped: %s\n", ctune_gpu_why());
        return 77;
    }
    printf("NVRTC %s\n", ctune_nvrtc_version());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cubin),
        cmocka_unit_test(test_ptx),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The n-th call of the driver fails, for every n, once or from then on: the CPU code finds unharmed
 * data and the results are right, nothing stays allocated, no call is one that a driver forbids. */
#include "work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 300, ROWS = 12, PITCH = 90, WIDTH = 70, NARROW = 20 };

typedef struct data {
    int32_t x[N], y[N], z[N], wide[ROWS * PITCH], narrow[ROWS * PITCH];
} data;

static void fill(data *d) {
    for (int i = 0; i < N; i++) {
        d->x[i] = i + 1;
        d->y[i] = 7 * i;
        d->z[i] = -i;
    }
    for (int i = 0; i < ROWS * PITCH; i++) {
        d->wide[i] = d->narrow[i] = i;
    }
}

static void work(data *d) {
    work_add(d->x, d->y, N, 3, 1);
    work_set(d->z, N, 11);
    work_scale(d->wide, ROWS, WIDTH, PITCH, 5);
    work_scale(d->narrow, ROWS, NARROW, PITCH, 5);
    work_add(d->z, d->y, N, 2, 3);
    work_set(d->x, N, 4);
}

/* With kept arrays, whole and in parts. */
static void work_kept(data *d) {
    ctune_gpu_keep(d->x, sizeof d->x);
    ctune_gpu_keep(d->y, sizeof d->y);
    work_add(d->x, d->y, N, 3, 2);
    work_add(d->x + 32, d->y + 32, 100, 1, 1); /* a pointer into it */
    work_add(d->x + 3, d->y + 5, 100, 1, 1);   /* no pointer into it */
    ctune_gpu_sync(d->y);
    d->y[0]++;
    work_add(d->x, d->y, N, 1, 2);
    work_set(d->x, N, 9);
    ctune_gpu_drop(d->x);
    work_add(d->x, d->y, N, 1, 1);
    ctune_gpu_drop(d->y);
}

static void expect_same(const data *a, const data *b, long n, const char *what) {
    if (memcmp(a, b, sizeof *a) != 0) {
        fail_msg("wrong results when call %ld (%s) fails, %s", n, fake.failed, what);
    }
}

static void expect_clean(long n) {
    ctune_gpu_reset();
    if (fake.n_live != 0 || fake.n_misuses != 0) {
        fail_msg("call %ld (%s) fails: %ld objects left, %ld calls not allowed (%s)", n,
                 fake.failed, fake.n_live, fake.n_misuses, fake.misuse);
    }
}

typedef void worker(data *d);

/* n: the call that fails, 0 none. Number of calls; *is_told: the program heard of a loss. */
static long run_once(worker *f, const char *api, const data *expected, long n, bool is_sticky) {
    static data d;
    work_begin(api, "auto");
    fake.fail_at = n;
    fake.is_sticky = is_sticky;
    fill(&d);
    f(&d);
    long n_calls = fake.n_calls;
    if (n_told == 0) {
        expect_same(&d, expected, n, is_sticky ? "and all later ones" : "once");
    } else if (f == work) {
        fail_msg("call %ld (%s): told %s", n, fake.failed, told);
    } else {
        assert_non_null(strstr(told, "lost"));
    }
    if (n == 0) {
        assert_int_equal(n_told, 0);
        assert_true(n_on_device >= 6);
    }
    expect_clean(n);
    return n_calls;
}

static void run_all(worker *f, const char *api) {
    static data expected;
    work_begin(api, "off");
    fill(&expected);
    f(&expected);
    long n_calls = run_once(f, api, &expected, 0, false), n_losses = 0;
    assert_true(n_calls > 40);
    for (long n = 1; n <= n_calls; n++) {
        run_once(f, api, &expected, n, false);
        n_losses += n_told > 0;
        run_once(f, api, &expected, n, true);
        n_losses += n_told > 0;
    }
    /* only what cannot be had any more is lost */
    assert_true(f == work ? n_losses == 0 : n_losses > 0);
    print_message("%s: %ld calls, %ld losses told\n", api, n_calls, n_losses);
}

static void test_cuda(void **state) {
    (void)state;
    run_all(work, "cuda");
}

static void test_cuda_kept(void **state) {
    (void)state;
    run_all(work_kept, "cuda");
}

static void test_opencl(void **state) {
    (void)state;
    run_all(work, "opencl");
}

static void test_opencl_kept(void **state) {
    (void)state;
    run_all(work_kept, "opencl");
}

/* The same with compiled kernels on disk: the second process takes them from there. */
static void test_disk(void **state) {
    (void)state;
    static const char *const apis[] = {"cuda", "opencl"};
    char folder[] = "/tmp/ctune-gpu-cache-XXXXXX";
    assert_non_null(mkdtemp(folder));
    setenv("CTUNE_GPU_CACHE", folder, 1);
    for (int i = 0; i < 2; i++) {
        static data expected;
        work_begin(apis[i], "off");
        fill(&expected);
        work(&expected);
        long first = run_once(work, apis[i], &expected, 0, false);
        long second = run_once(work, apis[i], &expected, 0, false);
        assert_true(second < first);
        for (long n = 1; n <= second; n++) {
            run_once(work, apis[i], &expected, n, false);
        }
    }
    setenv("CTUNE_GPU_CACHE", "off", 1);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* Devices: none; one that needs PTX; one of an older generation than any; a CPU behind OpenCL. */
static void test_devices(void **state) {
    (void)state;
    int32_t x[64];
    static const struct {
        int n_devices, cc;
        int n_on_device;
    } cases[] = {{0, 90, 0}, {1, 90, 1}, {1, 86, 1}, {1, 120, 1}, {1, 70, 0}, {1, 75, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        work_begin("cuda", "auto");
        fake.n_devices = cases[i].n_devices;
        fake.cc = cases[i].cc;
        work_set(x, 64, 1);
        assert_int_equal(n_on_device, cases[i].n_on_device);
        assert_int_equal(x[63], 64);
        expect_clean(0);
    }
    work_begin("cuda", "auto");
    unsetenv("CTUNE_GPU_API");
    fake.n_devices = 0; /* of both */
    work_set(x, 64, 1);
    assert_int_equal(n_on_device, 0);
    work_begin("opencl", "auto");
    fake.is_gpu = false;
    work_set(x, 64, 1);
    assert_int_equal(n_on_device, 1); /* asked for */
    work_begin("opencl", "auto");
    unsetenv("CTUNE_GPU_API"); /* CUDA before OpenCL, a region has text for both */
    work_set(x, 64, 1);
    assert_int_equal(n_on_device, 1);
    assert_string_equal(ctune_gpu_device_name(NULL, 0), "cuda: Fake 90");
    /* a first region without text for CUDA: OpenCL; one without any decides nothing */
    struct ctune_gpu_region other = {"other", NULL, NULL, 0};
    struct ctune_gpu_array arrays[] = {work_array(x, 64, CTUNE_GPU_WRITE)};
    work_begin("opencl", "auto");
    unsetenv("CTUNE_GPU_API");
    assert_int_equal(ctune_gpu_keep(x, sizeof x), 1);
    assert_null(ctune_gpu_begin(&other, arrays, 1));
    other.opencl = "add set scale";
    struct ctune_gpu *run = ctune_gpu_begin(&other, arrays, 1);
    assert_non_null(run);
    assert_int_equal(ctune_gpu_end(run), 1);
    assert_string_equal(ctune_gpu_device_name(NULL, 0), "opencl: Fake");
    assert_int_equal(ctune_gpu_drop(x), 1);
    /* no CUDA device, then a region for OpenCL */
    work_begin("opencl", "auto");
    unsetenv("CTUNE_GPU_API");
    fake.n_devices = 0;
    other = (struct ctune_gpu_region){"other", "add set scale", NULL, 0};
    assert_null(ctune_gpu_begin(&other, arrays, 1));
    fake.n_devices = 1;
    work_set(x, 64, 1);
    assert_int_equal(n_on_device, 1);
    work_begin("vulkan", "auto");
    work_set(x, 64, 1);
    assert_int_equal(n_on_device, 0);
    expect_clean(0);
}

/* Pieces farther apart than the device can copy at once. */
static void test_far_pieces(void **state) {
    (void)state;
    static int32_t x[10 * 500];
    work_begin("cuda", "auto");
    fake.max_pitch = 1999;
    for (int i = 0; i < 10 * 500; i++) {
        x[i] = i;
    }
    work_scale(x, 10, 100, 500, 3);
    assert_int_equal(n_on_device, 1);
    for (int i = 0; i < 10 * 500; i++) {
        assert_int_equal(x[i], i % 500 < 100 ? 3 * i : i);
    }
    expect_clean(0);
}

/* device(A): the program's own memory of the device, which no copy goes to or from. */
static void test_device_arrays(void **state) {
    (void)state;
    enum { BYTES = 64 * sizeof(int32_t) };
    void *driver = dlopen(CTUNE_FAKE_CUDA, RTLD_NOW), *context = NULL;
    int (*retain)(void **, int), (*release)(int);
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&release = dlsym(driver, "cuDevicePrimaryCtxRelease_v2");
    for (long n = 0; n < 60; n++) {
        int32_t x[64];
        work_begin("cuda", "auto");
        retain(&context, 0); /* the program's own CUDA */
        fake.n_calls = 0;
        uint64_t at = fake_alloc(BYTES);
        int32_t *mine = fake_pointer(at, BYTES);
        for (int i = 0; i < 64; i++) {
            x[i] = i;
            mine[i] = 100;
        }
        struct ctune_gpu_array arrays[] = {work_array(x, 64, CTUNE_GPU_READ),
                                           {(void *)(uintptr_t)at, BYTES, 1, BYTES, BYTES,
                                            CTUNE_GPU_READ | CTUNE_GPU_WRITE | CTUNE_GPU_DEVICE}};
        fake.fail_at = n;
        struct ctune_gpu *run = ctune_gpu_begin(&work_region, arrays, 2);
        if (run != NULL) {
            work_launch(run, "add", 0, 2, (long long[]){64, 2});
        }
        bool is_done = run != NULL && work_end(run);
        assert_true(is_done || n > 0);
        for (int i = 0; is_done && i < 64; i++) {
            assert_int_equal(mine[i], 100 + 2 * i);
        }
        ctune_gpu_reset();
        fake_free(at); /* still there: its context lives */
        release(0);
        expect_clean(n);
    }
    dlclose(driver);
    work_begin("opencl", "auto");
    struct ctune_gpu_array array = {(void *)1024, BYTES, 1, BYTES, BYTES, CTUNE_GPU_DEVICE};
    assert_null(ctune_gpu_begin(&work_region, &array, 1)); /* has no such pointers */
    expect_clean(0);
}

/* ---- threads ----------------------------------------------------------------------------------
 */
static void *work_many(void *arg) {
    data *d = arg;
    for (int i = 0; i < 50; i++) {
        work(d);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    static data expected[4], d[4];
    pthread_t threads[4];
    work_begin("cuda", "off");
    for (int i = 0; i < 4; i++) {
        fill(&expected[i]);
        fill(&d[i]);
        expected[i].x[0] = d[i].x[0] = i;
        work_many(&expected[i]);
    }
    work_begin("cuda", "auto");
    fake.fail_at = 3000; /* in the middle of it */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work_many, &d[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_memory_equal(&expected[i], &d[i], sizeof d[i]);
    }
    assert_true(fake.n_calls >= 3000);
    assert_int_equal(n_told, 0);
    expect_clean(3000);
}

/* ---- break-even -------------------------------------------------------------------------------
 */
static void test_pays(void **state) {
    (void)state;
    work_begin("cuda", "auto");
    assert_int_equal(ctune_gpu_pays(1e12, 1e6, 1000, 1000), 1);
    assert_int_equal(ctune_gpu_pays(1e6, 1e6, 0, 0), 0);
    assert_int_equal(ctune_gpu_pays(15000, 0, 0, 0), 0);             /* the launch alone */
    assert_int_equal(ctune_gpu_pays(1e6, 0, (size_t)1 << 50, 0), 0); /* the copies alone */
    assert_int_equal(ctune_gpu_pays(1e6, 0, 0, (size_t)1 << 50), 0);
    expect_clean(0);
    for (long n = 1; n < 60; n++) {
        work_begin("cuda", "auto");
        fake.fail_at = n;
        ctune_gpu_pays(1e12, 1e6, 1000, 1000);
        expect_clean(n);
    }
    work_begin("cuda", "off");
    assert_int_equal(ctune_gpu_pays(1e12, 1e6, 1000, 1000), 0);
}

int main(void) {
    setenv("CTUNE_GPU_CACHE", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda),       cmocka_unit_test(test_cuda_kept),
        cmocka_unit_test(test_opencl),     cmocka_unit_test(test_opencl_kept),
        cmocka_unit_test(test_disk),       cmocka_unit_test(test_devices),
        cmocka_unit_test(test_far_pieces), cmocka_unit_test(test_device_arrays),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Kept arrays against a model: random sequences of host accesses, regions on whole arrays and
 * parts, refused regions, keep, sync and drop. Programs that follow the rules get the right
 * results; of the others CTUNE_GPU=check tells, or a stale read shows 0xff bytes. */
#include "work.h"

#include "runtime/rng.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = 160, N_ARRAYS = 3, N_OPS = 40, N_SEQUENCES = 3000, STALE = -1 };

/* Whose copy counts, by the table in docs/gpu-runtime.md. */
typedef enum owner { NOT_KEPT, HOST, BOTH, DEVICE } owner;

typedef struct model {
    int32_t truth[N_ARRAYS][N]; /* a program without a device */
    owner owner[N_ARRAYS];
    long long kept_from[N_ARRAYS], kept_to[N_ARRAYS]; /* words */
    bool is_spoilt[N_ARRAYS]; /* the program wrote what was not its own; to be told of */
} model;

static int32_t array[N_ARRAYS][N];
static model m;
static ctune_rng rng;

static long long pick(long long n) {
    return (long long)(ctune_rng_next(&rng) % (uint64_t)n);
}

static bool reaches_kept(int a, long long from, long long to) {
    return m.owner[a] != NOT_KEPT && from < m.kept_to[a] && to > m.kept_from[a];
}

static bool is_inside_kept(int a, long long from, long long to) {
    return m.owner[a] != NOT_KEPT && from >= m.kept_from[a] && to <= m.kept_to[a];
}

/* A region on words from..to; ran on the device? */
static void use(int a, long long from, long long to, bool is_written, bool on_device) {
    if (!reaches_kept(a, from, to)) {
        return;
    }
    if (on_device && is_inside_kept(a, from, to)) {
        m.owner[a] = is_written ? DEVICE : m.owner[a] == HOST ? BOTH : m.owner[a];
    } else { /* the host's copy was used */
        m.owner[a] = is_written ? HOST : m.owner[a] == DEVICE ? BOTH : m.owner[a];
    }
}

static void do_add(void) {
    int x = (int)pick(N_ARRAYS), y = (int)((x + 1 + pick(N_ARRAYS - 1)) % N_ARRAYS);
    long long n = pick(3) == 0 ? N : 1 + pick(N / 2), a = 1 + pick(3);
    long long x0 = pick(2) * pick(N - n + 1), y0 = pick(2) * 4 * pick((N - n) / 4 + 1);
    int before = n_on_device;
    for (long long i = 0; i < n; i++) {
        m.truth[y][y0 + i] =
            (int32_t)((uint32_t)m.truth[y][y0 + i] + (uint32_t)a * (uint32_t)m.truth[x][x0 + i]);
    }
    work_add(array[x] + x0, array[y] + y0, n, a, 1);
    bool on_device = n_on_device > before;
    use(x, x0, x0 + n, false, on_device);
    use(y, y0, y0 + n, true, on_device);
}

static void do_set(void) {
    int x = (int)pick(N_ARRAYS);
    long long n = pick(2) == 0 ? N : 1 + pick(N), from = pick(N - n + 1), a = pick(100);
    int before = n_on_device;
    for (long long i = 0; i < n; i++) {
        m.truth[x][from + i] = (int32_t)(a + i);
    }
    work_set(array[x] + from, n, a);
    use(x, from, from + n, true, n_on_device > before);
}

/* A region without kernels for this interface: CPU code. */
static void do_refused(void) {
    static const struct ctune_gpu_region none = {"none", NULL, NULL, 0};
    int x = (int)pick(N_ARRAYS);
    bool is_written = pick(2) == 0;
    long long n = 1 + pick(N), from = pick(N - n + 1);
    struct ctune_gpu_array arrays[] = {
        work_array(array[x] + from, n, CTUNE_GPU_READ | (is_written ? CTUNE_GPU_WRITE : 0u))};
    assert_null(ctune_gpu_begin(&none, arrays, 1));
    for (long long i = from; i < from + n; i++) {
        if (n_told == 0) {
            assert_int_equal(array[x][i], m.truth[x][i]);
        }
        if (is_written) {
            array[x][i] += 2;
            m.truth[x][i] += 2;
        }
    }
    use(x, from, from + n, is_written, false);
}

/* What sync and drop say: the host's copy is current, unless the program was told otherwise. */
static void expect_there(int result) {
    assert_true(result == 1 || n_told > 0);
}

static void do_sync(void) {
    int x = (int)pick(N_ARRAYS);
    if (m.owner[x] != NOT_KEPT) {
        expect_there(ctune_gpu_sync(array[x] + m.kept_from[x]));
        m.is_spoilt[x] &= m.owner[x] == DEVICE; /* both: the host's write counts from now on */
        m.owner[x] = HOST;
    }
}

static void do_keep(void) {
    int x = (int)pick(N_ARRAYS);
    if (m.owner[x] != NOT_KEPT) {
        int32_t *at = array[x] + m.kept_from[x];
        expect_there(ctune_gpu_drop(at));
        m.is_spoilt[x] &= m.owner[x] == DEVICE;
        m.owner[x] = NOT_KEPT;
    } else {
        m.kept_from[x] = pick(2) * pick(40);
        m.kept_to[x] = N - pick(2) * pick(40);
        size_t bytes = (size_t)(m.kept_to[x] - m.kept_from[x]) * sizeof(int32_t);
        bool is_kept = ctune_gpu_keep(array[x] + m.kept_from[x], bytes) == 1;
        assert_true(is_kept || fake.fail_at > 0);
        m.owner[x] = is_kept ? HOST : NOT_KEPT;
    }
}

static void do_host_write(bool is_obedient) {
    int x = (int)pick(N_ARRAYS);
    long long i = pick(N);
    bool is_kept = reaches_kept(x, i, i + 1);
    if (is_obedient && is_kept && m.owner[x] != HOST) {
        return;
    }
    array[x][i] = m.truth[x][i] = m.truth[x][i] + 1000 + (int32_t)pick(5);
    m.is_spoilt[x] |= is_kept && m.owner[x] != HOST;
}

/* Only the first wrong read counts: what follows a misuse is the program's own. */
static void do_host_read(bool is_obedient) {
    int x = (int)pick(N_ARRAYS);
    long long i = pick(N);
    bool is_stale = reaches_kept(x, i, i + 1) && m.owner[x] == DEVICE;
    if (is_stale && !is_obedient && !m.is_spoilt[x]) {
        assert_int_equal(array[x][i], STALE);
    } else if (!is_stale && !m.is_spoilt[x]) {
        assert_int_equal(array[x][i], m.truth[x][i]);
    }
}

/* Is there a misuse whose telling is due when all arrays are dropped? */
static bool is_any_spoilt(void) {
    bool is_any = false;
    for (int x = 0; x < N_ARRAYS; x++) {
        is_any |= m.is_spoilt[x];
    }
    return is_any;
}

static void step(bool is_obedient) {
    switch (pick(9)) {
    case 0:
    case 1:
        do_add();
        break;
    case 2:
        do_set();
        break;
    case 3:
        do_refused();
        break;
    case 4:
        do_sync();
        break;
    case 5:
        do_keep();
        break;
    case 6:
        do_host_write(is_obedient);
        break;
    default:
        do_host_read(is_obedient);
        break;
    }
}

static void drop_all(void) {
    for (int x = 0; x < N_ARRAYS; x++) {
        if (m.owner[x] != NOT_KEPT) {
            expect_there(ctune_gpu_drop(array[x] + m.kept_from[x]));
            m.is_spoilt[x] &= m.owner[x] == DEVICE;
        }
    }
}

static void expect_clean(const char *api, uint64_t seed) {
    if (fake.n_live != 0 || fake.n_misuses != 0) {
        fail_msg("seed %llu, %s, %s fails: %ld objects left, %ld calls not allowed (%s)",
                 (unsigned long long)seed, api, fake.failed, fake.n_live, fake.n_misuses,
                 fake.misuse);
    }
}

static void begin_sequence(const char *api, const char *mode, uint64_t seed) {
    work_begin(api, mode);
    ctune_rng_init(&rng, seed);
    memset(&m, 0, sizeof m);
    for (int x = 0; x < N_ARRAYS; x++) {
        for (int i = 0; i < N; i++) {
            array[x][i] = m.truth[x][i] = x * 100 + i;
        }
    }
}

/* 1: told of a misuse. */
static int run_sequence(const char *api, const char *mode, bool is_obedient, uint64_t seed) {
    begin_sequence(api, mode, seed);
    for (int i = 0; i < N_OPS && n_told == 0; i++) {
        bool was_spoilt = is_any_spoilt();
        step(is_obedient);
        if (n_told > 0 && !was_spoilt) {
            fail_msg("seed %llu, step %d: told without reason: %s", (unsigned long long)seed, i,
                     told);
        }
    }
    bool was_spoilt = is_any_spoilt();
    if (n_told == 0) {
        drop_all();
    }
    if (n_told == 0 && memcmp(array, m.truth, sizeof array) != 0) {
        fail_msg("seed %llu: wrong results and nothing told", (unsigned long long)seed);
    }
    if (n_told > 0 && !was_spoilt) {
        fail_msg("seed %llu: told without reason: %s", (unsigned long long)seed, told);
    }
    int result = n_told > 0;
    ctune_gpu_reset();
    expect_clean(api, seed);
    return result;
}

static int run_failing(const char *api, uint64_t seed) {
    begin_sequence(api, "auto", seed);
    fake.fail_at = 1 + (long)(ctune_rng_next(&rng) % 300);
    fake.is_sticky = pick(2) == 0;
    for (int i = 0; i < N_OPS && n_told == 0; i++) {
        step(true);
    }
    if (n_told == 0) {
        drop_all();
    }
    if (n_told > 0) {
        assert_non_null(strstr(told, "lost"));
    } else if (memcmp(array, m.truth, sizeof array) != 0) {
        fail_msg("seed %llu: wrong results after %s failed", (unsigned long long)seed, fake.failed);
    }
    int result = n_told > 0;
    ctune_gpu_reset();
    expect_clean(api, seed);
    return result;
}

static void test_obedient(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= N_SEQUENCES; seed++) {
        const char *api = seed % 2 == 0 ? "cuda" : "opencl";
        assert_int_equal(run_sequence(api, seed % 3 == 0 ? "check" : "auto", true, seed), 0);
    }
}

/* A driver's call fails somewhere: right all the same, or told that an array is lost. */
static void test_failures(void **state) {
    (void)state;
    int n = 0;
    for (uint64_t seed = 1; seed <= N_SEQUENCES; seed++) {
        n += run_failing(seed % 2 == 0 ? "cuda" : "opencl", seed);
    }
    print_message("lost in %d of %d sequences\n", n, N_SEQUENCES);
    assert_true(n > 0 && n < N_SEQUENCES / 2);
}

static void test_disobedient(void **state) {
    (void)state;
    int n = 0;
    for (uint64_t seed = 1; seed <= N_SEQUENCES; seed++) {
        n += run_sequence(seed % 2 == 0 ? "cuda" : "opencl", "check", false, seed);
    }
    print_message("told in %d of %d sequences\n", n, N_SEQUENCES);
    assert_true(n > N_SEQUENCES / 10);
}

int main(void) {
    setenv("CTUNE_GPU_CACHE", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_obedient),
        cmocka_unit_test(test_disobedient),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The library that recorded programs link, included as source so that sanitizers see it: on and
 * off, threads, fork, full tables, writing while it runs.
 */
#include "runtime/record/record.c"
#include "runtime/record/record_write.c"

#include "plugin/record/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct ctune_record_site f_site = {0, "f", "/src dir/x.c", "n m", 0xabcdef, 1, 3, 2};
static struct ctune_record_site g_site = {0, "g", "/src dir/x.c", "", 0x123, 1, 9, 0};
static char path[] = "/tmp/ctune-record-test-XXXXXX";

static void call(struct ctune_record_site *site, long long a, long long b) {
    const long long values[] = {a, b};
    struct ctune_record_call c;
    ctune_record_begin(site, values, &c);
    if (c.slot != NULL) {
        ctune_record_end(&c);
    }
}

static const ctune_shape *find(const ctune_profile *p, const char *region, const char *sizes) {
    for (int i = 0; i < p->n; i++) {
        if (strcmp(p->shape[i].region, region) == 0 && strcmp(p->shape[i].sizes, sizes) == 0) {
            return &p->shape[i];
        }
    }
    return NULL;
}

static ctune_profile read_all(void) {
    ctune_ctx ctx;
    ctune_profile p;
    ctune_ctx_init(&ctx);
    assert_int_equal(ctune_profile_init(&ctx, &p), CTUNE_OK);
    if (ctune_profile_read(&ctx, path, true, &p) != CTUNE_OK) {
        fail_msg("%s", ctx.error);
    }
    assert_int_equal(p.n_skipped, 0);
    return p;
}

static void test_off(void **state) {
    (void)state;
    assert_int_equal(atomic_load(&status), STATUS_OFF);
    call(&f_site, 1, 2);
    assert_null(f_site.state);
}

enum { N_THREADS = 4, N_CALLS = 3000 };

static void *work(void *unused) {
    for (int i = 0; i < N_CALLS; i++) {
        errno = 77;
        call(&f_site, i % 20, -5);
        call(&g_site, 0, 0);
        assert_int_equal(errno, 77);
    }
    return unused;
}

static void test_threads_and_fork(void **state) {
    (void)state;
    pthread_t thread[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, work, NULL), 0);
    }
    for (int k = 0; k < 3; k++) { /* while the threads run */
        pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0; i < 10; i++) {
                call(&f_site, 1000 + k, 0);
            }
            stop();
            _exit(0);
        }
        int result;
        assert_true(waitpid(pid, &result, 0) == pid && result == 0);
    }
    atomic_store(&record_due_ns, 0); /* the next end writes */
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    stop();
    ctune_profile p = read_all();
    const ctune_shape *g = find(&p, "g", "");
    assert_non_null(g);
    assert_int_equal(g->calls, N_THREADS * N_CALLS);
    assert_true(g->timed > 0 && g->timed <= g->calls && g->ns >= g->timed);
    assert_int_equal(g->workload, 0x123);
    assert_string_equal(g->source, "/src dir/x.c");
    for (int i = 0; i < 20; i++) {
        char sizes[32];
        snprintf(sizes, sizeof sizes, "n=%d m=-5", i);
        const ctune_shape *s = find(&p, "f", sizes);
        assert_non_null(s);
        assert_int_equal(s->calls, N_THREADS * N_CALLS / 20);
    }
    for (int k = 0; k < 3; k++) {
        char sizes[32];
        snprintf(sizes, sizeof sizes, "n=%d m=0", 1000 + k);
        const ctune_shape *s = find(&p, "f", sizes);
        assert_non_null(s);
        assert_int_equal(s->calls, 10);
    }
    assert_int_equal(p.n, 1 + 20 + 3);
    ctune_profile_clear(&p);
}

static void test_full_table(void **state) {
    (void)state;
    static struct ctune_record_site many = {0, "many", "y.c", "n", 5, 1, 3, 1};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 200; i++) {
            call(&many, i, 0);
        }
    }
    call(&many, INT64_MIN, 0);
    stop();
    ctune_profile p = read_all();
    uint64_t calls = 0, n = 0;
    for (int i = 0; i < p.n; i++) {
        if (strcmp(p.shape[i].region, "many") == 0) {
            calls += p.shape[i].calls;
            n++;
        }
    }
    assert_int_equal(calls, 401);
    assert_true(n > 50 && n <= RECORD_SHAPES + 1);
    assert_non_null(find(&p, "many", "other"));
    assert_non_null(find(&p, "many", "n=0"));
    ctune_profile_clear(&p);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    stop(); /* nothing new: nothing written */
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
}

static void test_extreme_values(void **state) {
    (void)state;
    static struct ctune_record_site s = {0, "extreme", "y.c", "n m", 5, 1, 3, 2};
    call(&s, INT64_MIN, INT64_MAX);
    stop();
    ctune_profile p = read_all();
    assert_non_null(find(&p, "extreme", "n=-9223372036854775808 m=9223372036854775807"));
    ctune_profile_clear(&p);
}

static void test_other_version(void **state) {
    (void)state;
    static struct ctune_record_site other = {0, "other", "y.c", "", 5, 2, 3, 0};
    call(&other, 0, 0);
    call(&other, 0, 0);
    stop();
    ctune_profile p = read_all();
    assert_null(find(&p, "other", ""));
    ctune_profile_clear(&p);
}

/* Short nests are timed now and then, long ones always. */
static void test_sampling(void **state) {
    (void)state;
    assert_int_equal(mask_of(5), 31);
    assert_int_equal(mask_of(5000), 7);
    assert_int_equal(mask_of(50000), 0);
    static struct ctune_record_site s = {0, "short", "y.c", "", 5, 1, 3, 0};
    for (int i = 0; i < 3232; i++) {
        call(&s, 0, 0);
    }
    record_table *t = s.state;
    for (int i = 0; i < RECORD_PLACES; i++) {
        if (atomic_load(&t->slot[i].calls) > 0) {
            assert_int_equal(atomic_load(&t->slot[i].calls), 3232);
            assert_true(atomic_load(&t->slot[i].timed) < 1000);
        }
    }
}

static int turn_on(void **state) {
    (void)state;
    int fd = mkstemp(path);
    close(fd);
    setenv("CTUNE_RECORD", path, 1);
    atomic_store(&status, STATUS_UNKNOWN);
    return !(fd >= 0 && find_status() == STATUS_ON);
}

static int turn_off(void **state) {
    (void)state;
    unlink(path);
    for (record_table *t = record_tables, *next; t != NULL; t = next) {
        next = t->next;
        free(t);
    }
    atomic_store(&record_tables, NULL);
    atomic_store(&status, STATUS_OFF);
    return 0;
}

int main(void) {
    const struct CMUnitTest before[] = {cmocka_unit_test(test_off)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_fork), cmocka_unit_test(test_full_table),
        cmocka_unit_test(test_extreme_values),   cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_sampling),
    };
    int n = cmocka_run_group_tests(before, NULL, NULL);
    return n + cmocka_run_group_tests(tests, turn_on, turn_off);
}

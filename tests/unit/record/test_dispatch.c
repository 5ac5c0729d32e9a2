/* Dispatch: each tuned size takes its own variant, others the nearest; brute force agrees along one
 * parameter. */
#include "plugin/record/dispatch.h"
#include "runtime/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_POINTS = 12, MAX_PARAMS = 4 };

typedef struct fixture {
    ctune_ctx ctx;
    ctune_arena *arena;
    int n_cases;
    const ctune_dispatch_case *cases;
} fixture;

static void begin(fixture *f) {
    ctune_ctx_init(&f->ctx);
    f->arena = ctune_arena_create(NULL);
}

static void plan(fixture *f, int n_params, const ctune_dispatch_point *points, int n) {
    assert_int_equal(
        ctune_dispatch_plan(&f->ctx, f->arena, n_params, points, n, &f->cases, &f->n_cases),
        CTUNE_OK);
}

static int find(const fixture *f, int64_t a, int64_t b) {
    return ctune_dispatch_find(f->cases, f->n_cases, (int64_t[]){a, b});
}

static void test_geometric_means(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static const int64_t n[] = {1024, 64, 512};
    ctune_dispatch_point points[] = {{&n[0], 0}, {&n[1], 1}, {&n[2], 2}};
    plan(&f, 1, points, 3);
    assert_int_equal(f.n_cases, 3);
    assert_int_equal(find(&f, 700, 0), 2);
    assert_int_equal(find(&f, 724, 0), 2);
    assert_int_equal(find(&f, 725, 0), 0);
    assert_int_equal(find(&f, 100000000, 0), 0);
    assert_int_equal(find(&f, 181, 0), 1);
    assert_int_equal(find(&f, 182, 0), 2);
    assert_int_equal(find(&f, 0, 0), 1);
    assert_int_equal(find(&f, -5, 0), 1);
    /* a chain: one upper limit each, the last without a test */
    assert_int_equal(f.cases[0].n_tests, 1);
    assert_int_equal(f.cases[1].n_tests, 1);
    assert_int_equal(f.cases[2].n_tests, 0);
    assert_false(f.cases[0].tests[0].is_above);
    ctune_arena_destroy(f.arena);
}

static void test_same_code(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static const int64_t n[] = {16, 64, 256, 1024};
    ctune_dispatch_point points[] = {{&n[0], 7}, {&n[1], 7}, {&n[2], 7}, {&n[3], 9}};
    plan(&f, 1, points, 4);
    assert_int_equal(f.n_cases, 2);
    assert_int_equal(find(&f, 100, 0), 7);
    assert_int_equal(find(&f, 513, 0), 9);
    plan(&f, 1, points, 3);
    assert_int_equal(f.n_cases, 1);
    assert_int_equal(f.cases[0].n_tests, 0);
    plan(&f, 1, points, 0);
    assert_int_equal(f.n_cases, 0);
    assert_int_equal(find(&f, 5, 0), -1);
    ctune_arena_destroy(f.arena);
}

/* At small sizes the original was best: no link, and the links above it keep their lower limit. */
static void test_original(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static const int64_t n[] = {4, 100, 1000, 10000};
    ctune_dispatch_point points[] = {{&n[0], -1}, {&n[1], 1}, {&n[2], -1}, {&n[3], 3}};
    plan(&f, 1, points, 4);
    assert_int_equal(f.n_cases, 2);
    assert_int_equal(find(&f, 3, 0), -1);
    assert_int_equal(find(&f, 90, 0), 1);
    assert_int_equal(find(&f, 900, 0), -1);
    assert_int_equal(find(&f, 9000, 0), 3);
    plan(&f, 1, points, 1);
    assert_int_equal(f.n_cases, 0);
    ctune_arena_destroy(f.arena);
}

static void test_two_params(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    /* square, tall, wide: m and n differ in turn */
    static const int64_t v[4][2] = {{64, 64}, {4096, 64}, {64, 4096}, {4096, 4096}};
    ctune_dispatch_point points[] = {{v[0], 0}, {v[1], 1}, {v[2], 2}, {v[3], 3}};
    plan(&f, 2, points, 4);
    assert_int_equal(f.n_cases, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(find(&f, v[i][0] * 3 / 2, v[i][1] * 2 / 3), i);
    }
    /* equal sizes twice: the first counts */
    ctune_dispatch_point twice[] = {{v[1], 5}, {v[1], 6}, {v[2], 8}};
    plan(&f, 2, twice, 3);
    assert_int_equal(find(&f, 4096, 64), 5);
    assert_int_equal(find(&f, 64, 4096), 8);
    ctune_arena_destroy(f.arena);
}

static void test_extremes(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static const int64_t n[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    ctune_dispatch_point points[6];
    for (int i = 0; i < 6; i++) {
        points[i] = (ctune_dispatch_point){&n[i], i};
    }
    plan(&f, 1, points, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(find(&f, n[i], 0), i);
    }
    ctune_arena_destroy(f.arena);
}

static double distance(int64_t a, int64_t b) {
    return fabs(log1p((double)a) - log1p((double)b));
}

static void test_random(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        fixture f;
        ctune_rng rng;
        ctune_rng_init(&rng, seed);
        begin(&f);
        int n = 1 + (int)ctune_rng_below(&rng, MAX_POINTS);
        int n_params = 1 + (int)ctune_rng_below(&rng, MAX_PARAMS);
        int64_t values[MAX_POINTS][MAX_PARAMS];
        ctune_dispatch_point points[MAX_POINTS];
        for (int i = 0; i < n; i++) {
            for (int d = 0; d < n_params; d++) {
                values[i][d] = (int64_t)ctune_rng_below(&rng, 1u << ctune_rng_below(&rng, 14));
            }
            int choice = (int)ctune_rng_below(&rng, 2) ? i : -1;
            points[i] = (ctune_dispatch_point){values[i], choice};
        }
        plan(&f, n_params, points, n);
        for (int i = 0; i < n; i++) {
            int first = i;
            for (int j = i; j >= 0; j--) {
                first = memcmp(values[i], values[j], (size_t)n_params * sizeof **values) == 0
                            ? j
                            : first;
            }
            if (ctune_dispatch_find(f.cases, f.n_cases, values[i]) != points[first].choice) {
                fail_msg("seed %llu: point %d", (unsigned long long)seed, i);
            }
        }
        for (int k = 0; k < 20 && n_params == 1; k++) {
            int64_t x = (int64_t)ctune_rng_below(&rng, 20000);
            int got = ctune_dispatch_find(f.cases, f.n_cases, &x);
            double nearest = INFINITY, mine = INFINITY;
            for (int i = 0; i < n; i++) {
                double d = distance(values[i][0], x);
                nearest = d < nearest ? d : nearest;
                mine = points[i].choice == got && d < mine ? d : mine;
            }
            if (mine > nearest + 1.0 / (double)(x + 1)) { /* limits are whole numbers */
                fail_msg("seed %llu: %lld", (unsigned long long)seed, (long long)x);
            }
        }
        ctune_arena_destroy(f.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometric_means), cmocka_unit_test(test_same_code),
        cmocka_unit_test(test_original),        cmocka_unit_test(test_two_params),
        cmocka_unit_test(test_extremes),        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

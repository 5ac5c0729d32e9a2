/* The task scheduler: pure logic on made-up curves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "search/engine/tasks.h"

enum { MAX_TASKS = 8 };

/* A task whose time falls from start to floor with effort: floor + (start - floor) * 2^(-effort /
 * half). */
typedef struct curve {
    double start, floor, half;
} curve;

static double curve_at(const curve *c, double spent) {
    return c->floor + (c->start - c->floor) * exp2(-spent / c->half);
}

typedef struct play {
    ctune_ctx ctx;
    ctune_tasks tasks;
    int n_slices[MAX_TASKS];
} play;

static void play_init(play *p) {
    ctune_ctx_init(&p->ctx);
    ctune_tasks_init(&p->tasks);
    for (int i = 0; i < MAX_TASKS; i++) {
        p->n_slices[i] = 0;
    }
}

static void play_add(play *p, double weight, double ns, double flops, int group) {
    int index = -1;
    assert_int_equal(ctune_tasks_add(&p->ctx, &p->tasks, weight, ns, flops, group, &index),
                     CTUNE_OK);
    assert_int_equal(index, p->tasks.n - 1);
}

static void play_run(play *p, const curve *curves, int n_slices) {
    for (int k = 0; k < n_slices; k++) {
        int i = ctune_tasks_next(&p->tasks);
        assert_true(i >= 0 && i < p->tasks.n);
        p->n_slices[i]++;
        ctune_tasks_update(&p->tasks, i, 1, curve_at(&curves[i], p->tasks.task[i].spent + 1));
    }
}

static void test_warm_up(void **state) {
    (void)state;
    play p;
    const curve curves[3] = {{1e9, 1e8, 5}, {1e3, 1e2, 5}, {1e6, 1e5, 5}};
    play_init(&p);
    assert_int_equal(ctune_tasks_next(&p.tasks), -1);
    for (int i = 0; i < 3; i++) {
        play_add(&p, 1, curves[i].start, 0, -1);
    }
    play_run(&p, curves, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p.n_slices[i], 1);
    }
    ctune_tasks_clear(&p.tasks);
}

/* Of two that take the same time, the one that still falls gets more. */
static void test_steep(void **state) {
    (void)state;
    play p;
    const curve curves[2] = {{100, 99, 1}, {100, 20, 8}};
    play_init(&p);
    play_add(&p, 1, 100, 0, -1);
    play_add(&p, 1, 100, 0, -1);
    p.tasks.alpha = 0.8;
    play_run(&p, curves, 24);
    assert_true(p.n_slices[1] > p.n_slices[0]);
    ctune_tasks_clear(&p.tasks);
}

static void test_weights(void **state) {
    (void)state;
    play p;
    const curve curves[2] = {{100, 50, 10}, {100, 50, 10}};
    play_init(&p);
    play_add(&p, 1, 100, 0, -1);
    play_add(&p, 9, 100, 0, -1);
    assert_true(ctune_tasks_total(&p.tasks) == 1000);
    play_run(&p, curves, 60);
    assert_true(p.n_slices[1] > 2 * p.n_slices[0]);
    assert_true(p.n_slices[0] >= 2);
    ctune_tasks_clear(&p.tasks);
}

/* A task that is a millionth of the total is not forgotten; a longer one gets more. */
static void test_floor(void **state) {
    (void)state;
    play p;
    const curve curves[3] = {{1, 0.5, 10}, {1e6, 5e5, 10}, {1e5, 5e4, 10}};
    play_init(&p);
    for (int i = 0; i < 3; i++) {
        play_add(&p, 1, curves[i].start, 0, -1);
    }
    play_run(&p, curves, 240);
    assert_true(p.n_slices[0] >= 4);
    assert_true(p.n_slices[1] > p.n_slices[2]);
    assert_true(p.n_slices[2] > p.n_slices[0]);
    ctune_tasks_clear(&p.tasks);
}

/* What similar tasks reach, one expects here, too. */
static void test_similar(void **state) {
    (void)state;
    play p;
    play_init(&p);
    play_add(&p, 1, 1000, 1e6, 7);
    play_add(&p, 1, 1000, 1e6, 7);
    play_add(&p, 1, 1000, 1e6, 8);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 10; k++) {
            ctune_tasks_update(&p.tasks, i, 1, i == 0 ? 100 : 1000);
        }
    }
    assert_true(ctune_tasks_gain(&p.tasks, 1) > ctune_tasks_gain(&p.tasks, 2));
    assert_int_equal(ctune_tasks_next(&p.tasks), 1);
    ctune_tasks_clear(&p.tasks);
}

static void test_end(void **state) {
    (void)state;
    play p;
    const curve curves[2] = {{100, 50, 10}, {1, 0.5, 10}};
    play_init(&p);
    play_add(&p, 0, 100, 0, -1);
    play_add(&p, -3, 1, 0, -1);
    assert_true(p.tasks.task[0].weight == 1 && p.tasks.task[1].weight == 1);
    play_run(&p, curves, 4);
    ctune_tasks_end(&p.tasks, 0);
    int before = p.n_slices[0];
    play_run(&p, curves, 10);
    assert_int_equal(p.n_slices[0], before);
    ctune_tasks_end(&p.tasks, 1);
    assert_int_equal(ctune_tasks_next(&p.tasks), -1);
    ctune_tasks_clear(&p.tasks);
}

/* A slice without a result (all failed) changes nothing but the effort. */
static void test_no_result(void **state) {
    (void)state;
    play p;
    play_init(&p);
    play_add(&p, 1, 100, 0, -1);
    ctune_tasks_update(&p.tasks, 0, 2, 0);
    ctune_tasks_update(&p.tasks, 0, -1, INFINITY);
    assert_true(p.tasks.task[0].best_ns == 100 && p.tasks.task[0].spent == 2);
    assert_true(isfinite(ctune_tasks_gain(&p.tasks, 0)));
    ctune_tasks_clear(&p.tasks);
}

/* The sum of best times falls faster than with equal turns. */
static void test_beats_turns(void **state) {
    (void)state;
    play p;
    const curve curves[5] = {
        {1000, 100, 20}, {500, 490, 3}, {200, 20, 20}, {50, 10, 10}, {800, 780, 5}};
    play_init(&p);
    for (int i = 0; i < 5; i++) {
        play_add(&p, 1, curves[i].start, 0, -1);
    }
    play_run(&p, curves, 60);
    double turns = 0;
    for (int i = 0; i < 5; i++) {
        turns += curve_at(&curves[i], 12);
    }
    assert_true(ctune_tasks_total(&p.tasks) < turns);
    ctune_tasks_clear(&p.tasks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_up),   cmocka_unit_test(test_steep),
        cmocka_unit_test(test_weights),   cmocka_unit_test(test_floor),
        cmocka_unit_test(test_similar),   cmocka_unit_test(test_end),
        cmocka_unit_test(test_no_result), cmocka_unit_test(test_beats_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Data sets with a known truth for the tests of costmodel/gbt/.
 */
#ifndef CTUNE_TESTS_GBT_FIXTURE_H
#define CTUNE_TESTS_GBT_FIXTURE_H

#include "costmodel/gbt/gbt_private.h"
#include "runtime/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 6 };

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != CTUNE_OK) {                                                                  \
            fail_msg("%s: %s", #call, ctx.error);                                                  \
        }                                                                                          \
    } while (0)

/* Features 0 and 1 are small integers and make the time; 2 and 3 are noise, 4 is constant, 5 says
 * which task it is. */
static inline void row_make(ctune_rng *rng, int task, float row[WIDTH]) {
    row[0] = (float)ctune_rng_below(rng, 6);
    row[1] = (float)ctune_rng_below(rng, 6);
    row[2] = (float)ctune_rng_unit(rng);
    row[3] = (float)ctune_rng_below(rng, 3);
    row[4] = 7;
    row[5] = (float)task;
}

/* What features 0 and 1 add to log2(time). */
static inline float part_a(float x) {
    return (float)((int)(x * 5) % 6) / 2;
}
static inline float part_b(float x) {
    return x / 2; /* monotone: no greedy split is better than one at feature 1 */
}

static inline double row_time(const float row[WIDTH]) {
    return exp2(20 + part_a(row[0]) + part_b(row[1]) + 3 * row[5]);
}

static inline void task_add(ctune_dataset *data, ctune_rng *rng, int n_rows) {
    ctune_ctx ctx = {0};
    int task = data->n_tasks;
    OK(ctune_dataset_add_task(&ctx, data, "task", "kernel"));
    for (int i = 0; i < n_rows; i++) {
        float row[WIDTH];
        row_make(rng, task, row);
        OK(ctune_dataset_add_row(&ctx, data, row, row_time(row)));
    }
}

/* Share of pairs of new rows of one task, a quarter octave apart at least, that scores puts in the
 * right order. */
static inline double pairs_right(const ctune_model *model) {
    enum { N = 300 };
    static float rows[N][WIDTH];
    ctune_ctx ctx = {0};
    float scores[N];
    ctune_rng rng;
    ctune_rng_init(&rng, 99);
    for (int i = 0; i < N; i++) {
        row_make(&rng, 0, rows[i]);
    }
    OK(model->predict(&ctx, model->self, rows[0], N, scores));
    double right = 0, pairs = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            if (row_time(rows[i]) * 1.15 < row_time(rows[j])) {
                right += scores[i] > scores[j];
                pairs++;
            }
        }
    }
    return right / pairs;
}

static inline char *forest_text(const ctune_forest *forest) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_forest_print(forest, &text);
    assert_false(text.failed);
    return text.data;
}

/* A forest of one tree per cut of feature 0: knows part_a, as a score. Owner: caller. */
static inline ctune_forest *forest_of_part_a(void) {
    ctune_ctx ctx = {0};
    ctune_text text;
    ctune_text_init(&text);
    ctune_text_printf(&text,
                      "ctune-forest 1\nobjective rank\nfeatures %d version 1 groups 1\n"
                      "score base 0 scale 1 shift 0\nsize trees 5 nodes 15\n",
                      WIDTH);
    for (int i = 1; i < 6; i++) { /* score -part_a(0) is 0 */
        float step = part_a((float)i) - part_a((float)i - 1);
        ctune_text_printf(&text, "tree\ns 0 %d.5 l\nv 0\nv %g\n", i - 1, (double)-step);
    }
    ctune_text_append(&text, "end\n");
    ctune_forest *forest = NULL;
    OK(ctune_forest_parse(&ctx, "a", ctune_text_get(&text), &forest));
    ctune_text_clear(&text);
    return forest;
}

#endif

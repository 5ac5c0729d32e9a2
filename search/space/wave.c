/*
 * Wavefronts of points: the two innermost loops of a chain when both carry dependences (in-place
 * sweeps, recurrences along rows and columns).
 *
 * The loop over skew * outer + inner stands around both; with the least skew under which all
 * dependences move on with it, its points are independent of each other, and a core works on
 * several at a time, where the source's order waits for each result. Tiles of the outer loop keep
 * what a wave touches in a cache.
 */
#include "search/space/space_private.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SKEW = 6 };

bool wave_build(const wave_choice *wave, int size, ctune_nest *nest, ctune_schedule *schedule,
                int *top) {
    int outer = wave->node[0], inner = wave->node[1];
    *top = outer;
    if (size > 1) {
        const char *const names[] = {wave->name[1], wave->name[0], wave->name[1]};
        if (ctune_nest_split(nest, wave->node[0], size, wave->name[0], wave->name[1], &outer) !=
            NULL) {
            return false;
        }
        schedule_record(schedule, CTUNE_PRIM_SPLIT, size, 3, names, NULL);
    }
    const ctune_sum sum = {.n = 2,
                           .term = {{CTUNE_SUM_LOOP, (int16_t)outer, wave->skew},
                                    {CTUNE_SUM_LOOP, (int16_t)inner, 1}}};
    if (ctune_nest_wave(nest, &sum, wave->name[2]) != NULL) {
        return false;
    }
    *top = size > 1 ? *top : nest->node[outer].parent;
    const char *const names[] = {nest->node[outer].name, nest->node[inner].name, wave->name[2]};
    schedule_record(schedule, CTUNE_PRIM_WAVE, 0, 3, names, (const int[]){wave->skew, 1, 0});
    return true;
}

/* Are the points of a wave independent? Then the outer loop may be parallel inside it. */
static bool is_independent(const ctune_nest *base, const wave_choice *wave) {
    ctune_nest trial = *base;
    int top;
    return wave_build(wave, 0, &trial, NULL, &top) &&
           ctune_nest_annotate(&trial, wave->node[0], CTUNE_ANN_PARALLEL) == NULL &&
           ctune_nest_check(&trial, NULL, 0);
}

bool wave_find(const form_space *fs, chain *c) {
    const ctune_nest *nest = &fs->base;
    wave_choice *w = &c->wave;
    int outer = c->m > 1 ? c->node[c->m - 2] : c->n_outer > 0 ? c->outer[c->n_outer - 1] : -1;
    w->skew = 0;
    if (c->m == 0 || outer < 0 || c->n_v > 1) {
        return false;
    }
    w->node[0] = (int16_t)outer;
    w->node[1] = c->node[c->m - 1];
    const char *a = nest->node[w->node[0]].name, *b = nest->node[w->node[1]].name;
    space_loop_name(nest, a, 'v', w->name[0]);
    memcpy(w->name[1], a, sizeof w->name[1]);
    space_loop_name(nest, b, 'w', w->name[2]);
    for (int skew = 1; skew <= MAX_SKEW; skew++) {
        w->skew = skew;
        if (is_independent(nest, w)) {
            choose_sizes(ctune_nest_extent(nest, outer), 4, w->size, &w->n_sizes);
            return true;
        }
    }
    w->skew = 0;
    return false;
}

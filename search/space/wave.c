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

/* The points of a wave, the iterations of loop `outer`, as vectors of skewed arrays. */
static bool skew_build(const wave_choice *wave, int outer, ctune_nest *nest,
                       ctune_schedule *schedule) {
    const char *const loop[] = {nest->node[outer].name};
    if (ctune_nest_annotate(nest, outer, CTUNE_ANN_SLIDE) != NULL) {
        return false;
    }
    schedule_record(schedule, CTUNE_PRIM_SLIDE, 0, 1, loop, NULL);
    for (int k = 0; k < wave->n_skewed; k++) {
        const char *const name[] = {nest->region->tensors[wave->skewed[k]].name};
        if (ctune_nest_skew(nest, wave->skewed[k], wave->skew) != NULL) {
            return false;
        }
        schedule_record(schedule, CTUNE_PRIM_SKEW, wave->skew, 1, name, NULL);
    }
    return true;
}

bool wave_build(const wave_choice *wave, int size, bool is_skewed, ctune_nest *nest,
                ctune_schedule *schedule, int *top) {
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
    return !is_skewed || skew_build(wave, outer, nest, schedule);
}

/* Are the points of a wave independent? Then the outer loop may be parallel inside it. */
static bool is_independent(const ctune_nest *base, const wave_choice *wave) {
    ctune_nest trial = *base;
    int top;
    return wave_build(wave, 0, false, &trial, NULL, &top) &&
           ctune_nest_annotate(&trial, wave->node[0], CTUNE_ANN_PARALLEL) == NULL &&
           ctune_nest_check(&trial, NULL, 0);
}

typedef enum crossing { CROSS_NONE, CROSS_OTHER, CROSS_ROWS } crossing;

/* Do the points of a wave lie in several rows of what is accessed? CROSS_ROWS: the outer loop
 * counts rows and the inner one columns, one by one. */
static crossing crosses(const ctune_nest *nest, const wave_choice *w, int i_stmt,
                        const ctune_access *access) {
    const ctune_stmt *stmt = &nest->form->tree->stmts[i_stmt];
    bool is_rows = access->n_idx == 2;
    int n_moved = 0;
    for (int l = 0; l < 2; l++) {
        bool moves = false;
        for (int d = 0; d < access->n_idx; d++) {
            int64_t coef =
                ctune_stmt_coef(nest->region, stmt, access->idx[d], nest->node[w->node[l]].dim);
            moves = moves || coef != 0;
            is_rows = is_rows && coef == (d == l);
        }
        n_moved += moves;
    }
    return n_moved < 2 ? CROSS_NONE : is_rows ? CROSS_ROWS : CROSS_OTHER;
}

/* The arrays whose elements of a wave lie beside each other once they are skewed: all that the
 * statement crosses, its target first. */
static void find_skewed(const form_space *fs, const chain *c, wave_choice *w) {
    const ctune_nest *base = &fs->base;
    const ctune_stage *stage = &base->region->stages[base->form->tree->stmts[c->stmt].stage];
    ctune_nest trial = *base;
    int top;
    w->n_skewed = 0;
    for (int r = -1; r < stage->n_reads && c->n_stmts == 1; r++) {
        const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
        crossing kind = crosses(base, w, c->stmt, a);
        if (r >= 0 && (kind == CROSS_NONE ||
                       (kind == CROSS_ROWS && ctune_nest_skew_of(&trial, a->tensor) >= 0))) {
            continue;
        }
        if (kind != CROSS_ROWS || w->n_skewed == MAX_WAVE_SKEWS ||
            ctune_nest_skew(&trial, a->tensor, w->skew) != NULL) {
            w->n_skewed = 0;
            return;
        }
        w->skewed[w->n_skewed++] = (int16_t)a->tensor;
    }
    trial = *base;
    if (w->n_skewed > 0 &&
        (!wave_build(w, 0, true, &trial, NULL, &top) || !ctune_nest_check(&trial, NULL, 0))) {
        w->n_skewed = 0;
    }
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
            find_skewed(fs, c, w);
            return true;
        }
    }
    w->skew = 0;
    return false;
}

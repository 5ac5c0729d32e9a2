/*
 * Placed: forms in which producers run inside the consumer's tiles.
 *
 * In: a form with several nests. Out: a form over the same tree where pure stages, whose results
 * only one nest reads, are computed at loops over tiles of that nest, for what is read there
 * (`compute S at L`): both passes of a separable filter, an image and its gradient, an element-wise
 * stage in front of a window. Sizes of the tiles are decisions; smaller ones compute more at their
 * borders twice and keep the temporaries nearer. Whether a stage may move is asked of the nest.
 */
#include "search/space/space_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The loops of a nest that is one chain around a statement or a body of statements; 0: it is none.
 */
static int perfect_chain(const ctune_nest *nest, int top, int16_t *loop) {
    int n = 0, node = top;
    while (nest->node[node].kind == CTUNE_NN_LOOP) {
        if (n == MAX_BAND || nest->node[node].first < 0) {
            return 0;
        }
        loop[n++] = (int16_t)node;
        node = nest->node[node].first;
        if (nest->node[node].kind == CTUNE_NN_LOOP && nest->node[node].next >= 0) {
            return 0;
        }
    }
    return n;
}

/* Stages that may move to loop `at`, the last first; each moves. Returns how many. */
static int place_all(ctune_nest *nest, int at, form_parts *p) {
    for (int s = nest->form->tree->n_stmts - 1; s >= 0; s--) {
        ctune_nest trial = *nest;
        if (p->n_placed == MAX_PLACED || ctune_nest_compute(&trial, s, at) != NULL ||
            !ctune_nest_check(&trial, NULL, 0)) {
            continue;
        }
        *nest = trial;
        p->placed[p->n_placed++] = (int16_t)s;
    }
    return p->n_placed;
}

/* The nest's first `n_around` loops around, tiles of its loops [first, end); stages placed inside
 * the innermost of them. */
static bool make_placed(const int16_t *loop, int n, int first, int end, int n_around,
                        ctune_nest *base, form_parts *p) {
    int order[2 * MAX_BAND], n_order = 0, inner[MAX_BAND];
    memset(p, 0, sizeof *p);
    for (int k = 0; k < n; k++) {
        inner[k] = loop[k];
        if (k >= first && k < end) {
            if (!part_tile_add(p, base, loop[k], k == n - 1)) {
                return false;
            }
            inner[k] = p->tile[p->n - 1].inner;
        }
        if (k < n_around) {
            p->loop[p->n_loops++] = loop[k];
            order[n_order++] = loop[k];
        }
    }
    for (int k = 0; k < n; k++) {
        if (k >= n_around || inner[k] != loop[k]) {
            order[n_order++] = inner[k];
        }
    }
    perm_list_init(&p->perms, p->n_loops);
    while (p->perms.n_perms > 1) { /* one order: halos lie along the outer loops */
        perm_list_remove(&p->perms, p->perms.n_perms - 1);
    }
    if (ctune_nest_reorder(base, order, n_order) != NULL) {
        return false;
    }
    return place_all(base, p->loop[p->n_loops - 1], p) > 0 && ctune_nest_check(base, NULL, 0);
}

/* Of the nests, the one into which most stages move. */
int placed_propose(const ctune_nest *nest, int which, ctune_nest *base, form_parts *out) {
    int16_t loop[MAX_BAND];
    int best = 0;
    for (int top = nest->node[0].first; top >= 0; top = nest->node[top].next) {
        int n = perfect_chain(nest, top, loop);
        if (n == 0 || (n == 1 && which > 0)) {
            continue;
        }
        /* tiles of two dims, of the outer one, or one value of it */
        int first = n > 1 ? n - 2 : 0;
        int end = which == 0 ? n : which == 1 ? n - 1 : first;
        ctune_nest trial = *nest;
        form_parts p;
        if (make_placed(loop, n, first, end, which == 0 ? n : n - 1, &trial, &p) &&
            p.n_placed > best) {
            best = p.n_placed;
            p.stmt = nest->node[nest->node[loop[n - 1]].first].stmt;
            *base = trial;
            *out = p;
        }
    }
    return best;
}

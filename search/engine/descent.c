/*
 * Coordinate descent: the direct neighbours of the fastest samples, those that are predicted best
 * first. Prediction anchored at the sample, as in exploit.c.
 */
#include "search/engine/engine_private.h"

#include <stdlib.h>
#include <string.h>

enum { N_PARENTS = 4, MAX_JUDGED = 96 };

typedef struct neighbours {
    int n, size;
    proposal *list;
} neighbours;

static bool neighbours_add(neighbours *nb, const ctune_point *point) {
    if (nb->n == nb->size) {
        int size = nb->size == 0 ? 256 : nb->size * 2;
        size_t n_bytes;
        if (size < nb->size || !ctune_size_mul((size_t)size, sizeof *nb->list, &n_bytes)) {
            return false;
        }
        proposal *grown = realloc(nb->list, n_bytes);
        if (grown == NULL) {
            return false;
        }
        nb->list = grown;
        nb->size = size;
    }
    nb->list[nb->n++].point = *point;
    return true;
}

/* All points that differ in one decision: every choice of a short list, the two next ones and
 * some others of a long list. */
static bool neighbours_find(engine *e, const ctune_point *at, neighbours *nb) {
    bool ok = true;
    for (int j = 0; j < at->n && ok; j++) {
        int n_choices = ctune_space_n_choices(e->space, j), v = at->decision[j];
        for (int c = 0; c < n_choices && ok; c++) {
            bool is_near = n_choices <= 6 || abs(c - v) <= 2;
            if (c == v || (!is_near && ctune_rng_below(&e->rng, (uint64_t)n_choices) >= 4)) {
                continue;
            }
            ctune_point point = *at;
            point.decision[j] = (int16_t)c;
            ctune_space_normalise(e->space, &point);
            if (memcmp(&point, at, sizeof point) != 0) {
                ok = neighbours_add(nb, &point);
            }
        }
    }
    return ok;
}

/* Sorted, best first; where a model leads it judges the best of the draft. */
static ctune_status neighbours_score(engine *e, neighbours *nb) {
    ctune_status status = CTUNE_OK;
    engine_draft(e, nb->list, nb->n);
    engine_sort(nb->list, nb->n);
    if (engine_is_led(e)) {
        bool is_long = nb->n > MAX_JUDGED && !e->options.no_draft;
        nb->n = is_long ? MAX_JUDGED : nb->n;
        status = engine_judge(e, nb->list, nb->n);
        engine_sort(nb->list, nb->n);
    }
    return status;
}

ctune_status descent_pick(engine *e, proposal *out, int n, int *n_out) {
    ctune_status status = CTUNE_OK;
    *n_out = 0;
    for (int r = 0; r < e->n_top && r < N_PARENTS && *n_out < n && status == CTUNE_OK; r++) {
        const sample *parent = &e->samples[e->top[r]];
        neighbours nb = {0, 0, NULL};
        status = neighbours_find(e, &parent->point, &nb)
                     ? neighbours_score(e, &nb)
                     : ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
        /* half of the batch at most around the others */
        int limit = r == 0 ? n : *n_out + (n - *n_out + 1) / 2;
        double error = CTUNE_ANCHOR * sample_error(e, parent);
        double worst = e->samples[e->top[0]].time + CTUNE_ABSURD - error;
        for (int i = 0; i < nb.n && *n_out < limit && status == CTUNE_OK; i++) {
            bool is_wanted = proposal_is_new(e, &nb.list[i]) && nb.list[i].score < worst;
            if (is_wanted && point_set_add(&e->known, nb.list[i].hash)) {
                out[*n_out] = nb.list[i];
                out[(*n_out)++].score += error;
            }
        }
        free(nb.list);
    }
    return status;
}

/*
 * Genetic algorithm on measured times, AutoTVM's baseline: populations of 100; parents drawn in
 * proportion to their speed among the last population and the three fastest ever; one cut;
 * each decision mutated with probability 0.1. It waits for a whole population before it breeds.
 *
 * The first population is uniform. Fewer than 100 when the space has no more.
 */
#include "search/engine/engine_private.h"

#include <math.h>
#include <string.h>

enum { N_ELITE = 3, MAX_TRIES = 200 };
static const double MUTATION = 0.1;

typedef struct parents {
    int n;
    int id[N_POPULATION + N_ELITE];
    double speed[N_POPULATION + N_ELITE], total;
} parents;

static void parents_add(const engine *e, parents *p, int id) {
    double time = e->samples[id].time;
    p->id[p->n] = id;
    p->speed[p->n] = isfinite(time) ? exp2(e->samples[e->top[0]].time - time) : 0;
    p->total += p->speed[p->n++];
}

static void parents_find(const engine *e, parents *p) {
    memset(p, 0, sizeof *p);
    for (int i = e->genetic.first_sample; i < e->n_samples && p->n < N_POPULATION; i++) {
        parents_add(e, p, i);
    }
    for (int r = 0; r < e->n_top && r < N_ELITE; r++) {
        if (e->top[r] < e->genetic.first_sample) { /* else it is in already */
            parents_add(e, p, e->top[r]);
        }
    }
}

static const ctune_point *draw_parent(engine *e, const parents *p) {
    double at = ctune_rng_unit(&e->rng) * p->total;
    int i = 0;
    while (i < p->n - 1 && at >= p->speed[i]) {
        at -= p->speed[i++];
    }
    return &e->samples[p->id[i]].point;
}

static void cross(engine *e, const parents *p, ctune_point *out) {
    const ctune_point *a = draw_parent(e, p), *b = draw_parent(e, p);
    int cut = (int)ctune_rng_below(&e->rng, (uint64_t)a->n + 1);
    *out = *a;
    memcpy(out->decision + cut, b->decision + cut, (size_t)(a->n - cut) * sizeof *out->decision);
}

static void mutate(engine *e, ctune_point *point) {
    for (int j = 0; j < point->n; j++) {
        if (ctune_rng_unit(&e->rng) < MUTATION) {
            int n_choices = ctune_space_n_choices(e->space, j);
            point->decision[j] = (int16_t)ctune_rng_below(&e->rng, (uint64_t)n_choices);
        }
    }
    ctune_space_normalise(e->space, point);
}

/* A new legal point, which becomes known; false after too many tries. A child that is not new
 * mutates on. */
static bool breed_one(engine *e, const parents *p, ctune_point *out) {
    proposal child;
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        if (p->total <= 0 || tries > MAX_TRIES / 2) {
            ctune_space_sample(e->space, &e->rng, &child.point);
        } else {
            if (tries % 10 == 0) {
                cross(e, p, &child.point);
            }
            mutate(e, &child.point);
        }
        engine_draft(e, &child, 1);
        if (proposal_is_new(e, &child)) {
            *out = child.point;
            return point_set_add(&e->known, child.hash);
        }
    }
    return false;
}

static void breed(engine *e) {
    genetic *g = &e->genetic;
    parents p;
    parents_find(e, &p);
    g->n = g->at = 0;
    g->first_sample = e->n_samples;
    while (g->n < N_POPULATION && breed_one(e, &p, &g->gene[g->n])) {
        g->n++;
    }
}

ctune_status genetic_pick(engine *e, bool is_in_flight, proposal *out, int n, int *n_out) {
    genetic *g = &e->genetic;
    *n_out = 0;
    if (g->at == g->n && !is_in_flight) {
        breed(e);
    }
    for (; g->at < g->n && *n_out < n; g->at++) {
        out[(*n_out)++].point = g->gene[g->at];
    }
    engine_draft(e, out, *n_out);
    return CTUNE_OK;
}

/*
 * Recurrences in the estimate: instances that wait for the value of an earlier one.
 *
 * In: the direction vectors of the form, the order of the loops. A dependence is carried by the
 * outermost of its dims in the order of their innermost loops; the iterations of the loops inside
 * that one may overlap, those of one more trip wait. In-place stencils, solvers and filters live
 * or die by it: an innermost loop that carries one runs at the latency of its operations. In a wave
 * all points of one step may overlap.
 */
#include "search/estimate/analysis.h"

#include <stdlib.h>
#include <string.h>

double est_chain_latency(const ctune_region *region, const ctune_expr *e, double latency) {
    double most = -1;
    if (e->op == CTUNE_OP_READ) {
        return region->tensors[e->access.tensor].is_written ? 0 : -1;
    }
    for (int i = 0; i < e->n_kids; i++) {
        most = est_max(most, est_chain_latency(region, e->kids[i], latency));
    }
    if (most < 0) {
        return most;
    }
    switch (e->op) {
    case CTUNE_OP_DIV:
    case CTUNE_OP_MOD:
        return most + 3.5 * latency;
    case CTUNE_OP_CALL:
        return most + 5 * latency;
    default:
        return most + (ctune_type_is_float(e->type) ? latency : 1);
    }
}

void est_order_find(const est_path *path, est_order *out) {
    int8_t inner[CTUNE_MAX_DEPTH];
    memset(inner, -1, sizeof inner);
    for (int k = 0; k < path->n; k++) {
        inner[path->pos[k]] = (int8_t)k;
    }
    out->n = 0;
    for (int k = 0; k < path->n; k++) {
        if (inner[path->pos[k]] == k) {
            out->pos[out->n] = path->pos[k];
            out->loop[out->n++] = (int8_t)k;
        }
    }
}

/* The wave that loop k of the path is part of; NULL: none. */
static const ctune_sum *wave_of(const est_path *path, int k) {
    for (int s = 0; s < path->nest->n_sums; s++) {
        const ctune_sum *sum = &path->nest->sum[s];
        for (int t = 0; t < sum->n && sum->term[0].kind == CTUNE_SUM_LOOP; t++) {
            if (sum->term[t].of == path->node[k]) {
                return sum;
            }
        }
    }
    return NULL;
}

/* Instances in one step of the wave, of which loop k is the outermost loop that counts. */
static double in_wave(const est_path *path, const ctune_sum *wave, int k) {
    double n_points = 1, n_steps = 0;
    int last = k;
    for (int i = 0; i < path->n; i++) {
        for (int t = 0; t < wave->n; t++) {
            if (wave->term[t].of == path->node[i]) {
                n_points *= path->extent[i];
                n_steps += abs(wave->term[t].coef) * path->extent[i];
                last = i > last ? i : last;
            }
        }
    }
    for (int i = 0; i < path->n; i++) { /* tiles hold only so many steps */
        const ctune_nnode *loop = &path->nest->node[path->node[i]];
        double shrink;
        if (est_is_diagonal(path, loop, &shrink)) {
            n_steps = est_min(n_steps, (double)loop->step);
        }
    }
    double inside = path->entries[path->n] / path->entries[last + 1];
    return est_max(n_points / est_max(n_steps, 1), 1) * inside;
}

double est_distance(const est_path *path, const est_order *order, const ctune_depvec *vec) {
    for (int d = 0; d < order->n; d++) {
        int pos = order->pos[d], k = order->loop[d];
        if (pos < vec->n_common && vec->sign[pos] != CTUNE_SIGN_ZERO) {
            const ctune_sum *wave = wave_of(path, k);
            return wave != NULL ? in_wave(path, wave, k)
                                : path->entries[path->n] / path->entries[k + 1];
        }
    }
    return 0;
}

/* Does the value come back? A dependence on another statement is part of a cycle when one in the
 * other direction crosses no more iterations; else the two only follow each other. */
static bool is_cycle(const est_path *path, const est_order *order, const ctune_depvec *vec,
                     double distance) {
    const ctune_depvecs *vecs = &path->nest->form->vecs;
    for (int v = 0; v < vecs->n && vec->src != vec->dst; v++) {
        const ctune_depvec *back = &vecs->vec[v];
        if (back->src == vec->dst && back->dst == vec->src &&
            est_distance(path, order, back) <= distance) {
            return true;
        }
    }
    return vec->src == vec->dst;
}

double est_recurrence_cycles(const est_state *state, const est_path *path) {
    const ctune_depvecs *vecs = &path->nest->form->vecs;
    double n = path->entries[path->n], any = n;
    double chain =
        path->stage->update != CTUNE_UPDATE_SET
            ? -1 /* the kernel's part counts it */
            : est_chain_latency(path->nest->region, path->stage->rhs, state->rates.fma_latency);
    if (chain < 0) {
        return 0;
    }
    est_order order;
    est_order_find(path, &order);
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        double distance = vec->src == path->i_stmt || vec->dst == path->i_stmt
                              ? est_distance(path, &order, vec)
                              : 0;
        if (distance > 0 && distance < any && is_cycle(path, &order, vec, distance)) {
            any = distance;
        }
    }
    return any < n ? n / any * (chain + 5) / path->threads : 0; /* 5: through memory */
}

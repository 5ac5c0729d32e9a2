/*
 * Recurrences: how many iterations apart the instances of a statement are that wait for each other.
 *
 * In: the direction vectors of the form, the order of the loops. A dependence is carried by the
 * outermost of its dims in the order of their innermost loops; the iterations of the loops inside
 * that one may overlap, those of one more trip wait. In-place stencils, solvers and filters live
 * or die by it: an innermost loop that carries one runs at the latency of its operations.
 */
#include "search/feature/feature_private.h"

/* Cycles from a read of what the region writes to the value of e; -1 = there is no such read. */
static double chain_of(const ctune_region *region, const ctune_expr *e, double latency) {
    double most = -1;
    if (e->op == CTUNE_OP_READ) {
        return region->tensors[e->access.tensor].is_written ? 0 : -1;
    }
    for (int i = 0; i < e->n_kids; i++) {
        most = fmax(most, chain_of(region, e->kids[i], latency));
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

/* Iterations that lie between the ends of a dependence, at least; 0 = none of this statement. */
static double distance_of(const est_path *path, const ctune_depvec *vec, const int8_t *inner) {
    int carrier = path->n;
    for (int p = 0; p < vec->n_common; p++) {
        bool is_moved = vec->sign[p] != CTUNE_SIGN_ZERO;
        carrier = is_moved && inner[p] < carrier ? inner[p] : carrier;
    }
    return carrier == path->n ? 0 : path->entries[path->n] / path->entries[carrier + 1];
}

void feat_recurrence_find(const est_analysis *a, int p, feat_recurrence *out) {
    const est_path *path = &a->path[p];
    const ctune_depvecs *vecs = &path->nest->form->vecs;
    int8_t inner[CTUNE_MAX_DEPTH] = {0};
    double none = fmax(feat_instances(path), 1);
    out->own = out->any = none;
    for (int k = 0; k < path->n; k++) {
        inner[path->pos[k]] = (int8_t)k;
    }
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        if (vec->src != path->i_stmt && vec->dst != path->i_stmt) {
            continue;
        }
        double distance = distance_of(path, vec, inner);
        if (distance > 0) {
            out->any = fmin(out->any, distance);
            out->own = vec->src == vec->dst ? fmin(out->own, distance) : out->own;
        }
    }
    out->is_there = out->any < none;
    double latency = a->state.machine->fma_latency;
    double chain = chain_of(path->nest->region, path->stage->rhs, latency);
    bool is_update = path->stage->update != CTUNE_UPDATE_SET;
    out->latency = fmax(chain + 5, is_update ? latency : 0); /* through memory */
    const est_kernel *k = &a->kernel[p];
    double instances = path->entries[path->n] / path->entries[k->level];
    out->cycles = out->is_there ? out->latency / out->any : 0;
    out->ratio = feat_ratio(out->cycles * instances, k->cycles / (k->is_auto ? k->width : 1));
}

static bool is_negation(const ctune_aff *a, const ctune_aff *b) {
    bool is = a->n_terms == b->n_terms && a->n_terms > 0 && a->c0 == -b->c0;
    for (int t = 0; is && t < a->n_terms; t++) {
        is = a->terms[t].kind == b->terms[t].kind && a->terms[t].id == b->terms[t].id &&
             a->terms[t].coef == -b->terms[t].coef;
    }
    return is;
}

int feat_pins_count(const ctune_stmt *stmt) {
    int n = 0;
    for (int i = 0; i < stmt->n_cons; i++) {
        for (int k = i + 1; k < stmt->n_cons; k++) {
            n += is_negation(stmt->cons[i], stmt->cons[k]);
        }
    }
    return n;
}

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
        most = est_max(most, chain_of(region, e->kids[i], latency));
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

/* Dims of a path in the order of their innermost loops, and those loops. */
typedef struct dim_order {
    int n;
    int8_t pos[CTUNE_MAX_DEPTH], loop[CTUNE_MAX_DEPTH];
} dim_order;

static void order_dims(const est_path *path, dim_order *out) {
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

/* Iterations that lie between the ends of a dependence, at least; 0 = it is within one. */
static double distance_of(const est_path *path, const dim_order *order, const ctune_depvec *vec) {
    for (int d = 0; d < order->n; d++) {
        int pos = order->pos[d];
        if (pos < vec->n_common && vec->sign[pos] != CTUNE_SIGN_ZERO) {
            return path->entries[path->n] / path->entries[order->loop[d] + 1];
        }
    }
    return 0;
}

static void add_cycles(const est_analysis *a, int p, feat_recurrence *out) {
    const est_path *path = &a->path[p];
    const est_kernel *k = &a->kernel[p];
    double latency = a->state.rates.fma_latency;
    double chain = chain_of(path->nest->region, path->stage->rhs, latency);
    bool is_update = path->stage->update != CTUNE_UPDATE_SET;
    double instances = path->entries[path->n] / path->entries[k->level];
    out->is_there = out->any < est_max(feat_instances(path), 1);
    out->latency = est_max(chain + 5, is_update ? latency : 0); /* through memory */
    out->cycles = out->is_there ? out->latency / out->any : 0;
    out->ratio = feat_ratio(out->cycles * instances, k->cycles / (k->is_auto ? k->width : 1));
}

void feat_recurrences_find(const est_analysis *a, feat_recurrence *out) {
    dim_order order[CTUNE_MAX_STMTS];
    int8_t path_of[CTUNE_MAX_STMTS];
    memset(path_of, -1, sizeof path_of);
    for (int p = 0; p < a->n_paths; p++) {
        path_of[a->path[p].i_stmt] = (int8_t)p;
        order_dims(&a->path[p], &order[p]);
        out[p].own = out[p].any = est_max(feat_instances(&a->path[p]), 1);
    }
    const ctune_depvecs *vecs = &a->state.nest->form->vecs;
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        bool is_own = vec->src == vec->dst;
        for (int end = 0; end < (is_own ? 1 : 2); end++) {
            int p = path_of[end == 0 ? vec->dst : vec->src];
            double distance = p < 0 ? 0 : distance_of(&a->path[p], &order[p], vec);
            if (distance > 0) {
                out[p].any = est_min(out[p].any, distance);
                out[p].own = is_own ? est_min(out[p].own, distance) : out[p].own;
            }
        }
    }
    for (int p = 0; p < a->n_paths; p++) {
        add_cycles(a, p, &out[p]);
    }
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

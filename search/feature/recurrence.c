/*
 * Recurrences: how many iterations apart the instances of a statement are that wait for each other.
 *
 * In: the direction vectors of the form, the order of the loops. A dependence is carried by the
 * outermost of its dims in the order of their innermost loops; the iterations of the loops inside
 * that one may overlap, those of one more trip wait. In-place stencils, solvers and filters live
 * or die by it: an innermost loop that carries one runs at the latency of its operations.
 */
#include "search/feature/feature_private.h"

static void add_cycles(const est_analysis *a, int p, feat_recurrence *out) {
    const est_path *path = &a->path[p];
    const est_kernel *k = &a->kernel[p];
    double latency = a->state.rates.fma_latency;
    double chain = est_chain_latency(path->nest->region, path->stage->rhs, latency);
    bool is_update = path->stage->update != CTUNE_UPDATE_SET;
    double instances = path->entries[path->n] / path->entries[k->level];
    out->is_there = out->any < est_max(feat_instances(path), 1);
    out->latency = est_max(chain + 5, is_update ? latency : 0); /* through memory */
    out->cycles = out->is_there ? out->latency / out->any : 0;
    out->ratio = feat_ratio(out->cycles * instances, k->cycles / (k->is_auto ? k->width : 1));
}

void feat_recurrences_find(const est_analysis *a, feat_recurrence *out) {
    est_order order[CTUNE_MAX_STMTS];
    int8_t path_of[CTUNE_MAX_STMTS];
    memset(path_of, -1, sizeof path_of);
    for (int p = 0; p < a->n_paths; p++) {
        path_of[a->path[p].i_stmt] = (int8_t)p;
        est_order_find(&a->path[p], &order[p]);
        out[p].own = out[p].any = est_max(feat_instances(&a->path[p]), 1);
    }
    const ctune_depvecs *vecs = &a->state.nest->form->vecs;
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        bool is_own = vec->src == vec->dst;
        for (int end = 0; end < (is_own ? 1 : 2); end++) {
            int p = path_of[end == 0 ? vec->dst : vec->src];
            double distance = p < 0 ? 0 : est_distance(&a->path[p], &order[p], vec);
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

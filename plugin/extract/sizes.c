/*
 * Sizes that nobody gave: small enough to be measured.
 *
 * In: the finished tree, accesses, parameters. Out: representative sizes at which the region
 * touches no more than some 100 MB and runs no more than some billion iterations: 1024 in each of
 * three dimensions would be gigabytes. Only defaults are halved, and only while all facts still
 * hold; estimates come from the loops' bounds with outer counters at 0.
 */
#include "plugin/extract/build.h"

static const double MAX_BYTES = 128 << 20, MAX_POINTS = 4e9;
enum { SMALLEST = 32, MAX_AXES = 64 };

typedef struct estimate {
    ctune_build *b;
    double last[MAX_AXES]; /* of each axis */
    double points;
} estimate;

/* Value at the representative sizes, the axes at `last` where that makes it larger, else at 0. */
static double largest(const estimate *e, const ctune_aff *aff) {
    double sum = (double)aff->c0;
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        double value = 0;
        if (t->kind == CTUNE_TERM_PARAM) {
            value = (double)ctune_build_size(e->b, t->id);
        } else if (t->kind == CTUNE_TERM_DIV) {
            const ctune_div *div = &e->b->divs.at[t->id];
            value = largest(e, div->num) / (double)div->den;
        } else if (t->id < MAX_AXES && t->coef > 0) {
            value = e->last[t->id];
        }
        sum += (double)t->coef * value;
    }
    return sum;
}

static void visit(estimate *e, const ctune_mnode *node, double outer) {
    if (node->kind == CTUNE_M_LOOP && node->axis >= 0 && node->axis < MAX_AXES) {
        double first = 0, last = -1;
        for (int i = 0; i < node->n_cons; i++) {
            int64_t coef = ctune_aff_coef(node->cons[i], CTUNE_TERM_AXIS, node->axis);
            e->last[node->axis] = 0;
            double rest = largest(e, node->cons[i]);
            if (coef > 0) {
                first = -rest / (double)coef > first ? -rest / (double)coef : first;
            } else if (coef < 0) {
                double end = rest / (double)-coef;
                last = last < 0 || end < last ? end : last;
            }
        }
        e->last[node->axis] = last > 0 ? last : 0;
        outer *= last >= first ? last - first + 1 : 0;
    }
    e->points += node->kind == CTUNE_M_STAGE ? outer : 0;
    for (int i = 0; i < node->kids.n + node->otherwise.n; i++) {
        visit(e, i < node->kids.n ? node->kids.at[i] : node->otherwise.at[i - node->kids.n], outer);
    }
}

static double bytes_of(const estimate *e, int tensor) {
    const ctune_mtensor *m = &e->b->tensors.at[tensor];
    double most = 0;
    for (int i = 0; i < e->b->accs.n; i++) {
        const ctune_acc *acc = &e->b->accs.at[i];
        if (acc->tensor != tensor || acc->slot->n_idx != m->t.rank || m->t.is_temp) {
            continue;
        }
        double n = m->t.elem_stride_bytes;
        for (int d = 0; d < m->t.rank; d++) {
            double extent = m->t.extent[d] != NULL ? largest(e, m->t.extent[d])
                                                   : largest(e, acc->slot->idx[d]) + 1;
            n *= extent > 1 ? extent : 1;
        }
        most = n > most ? n : most;
    }
    return most;
}

static bool is_too_large(ctune_build *b) {
    estimate e = {.b = b};
    double bytes = 0;
    visit(&e, b->root, 1);
    for (int t = 0; t < b->tensors.n; t++) {
        bytes += bytes_of(&e, t);
    }
    return bytes > MAX_BYTES || e.points > MAX_POINTS;
}

/* All defaults at once: extents that are alike stay alike. */
static bool halve(ctune_build *b) {
    bool changed = false;
    for (int p = 0; p < b->params.n; p++) {
        ctune_param *param = &b->params.at[p];
        int64_t size = ctune_build_size(b, p);
        if ((b->param_of_member.at[p] & CTUNE_PARAM_FIXED) == 0 && size >= 2 * SMALLEST) {
            param->n_sizes = 1;
            param->sizes[0] = size / 2;
            changed = true;
        }
    }
    return changed;
}

void ctune_sizes_fit(ctune_build *b) {
    for (int steps = 0; steps < 8 && is_too_large(b); steps++) {
        ctune_param *kept = CTUNE_NEW_ARRAY(b->arena, ctune_param, b->params.n + 1);
        if (kept == NULL) {
            return;
        }
        if (b->params.n > 0) {
            memcpy(kept, b->params.at, (size_t)b->params.n * sizeof *kept);
        }
        if (!halve(b) || !ctune_facts_suit(b, 0, NULL)) {
            if (b->params.n > 0) {
                memcpy(b->params.at, kept, (size_t)b->params.n * sizeof *kept);
            }
            return;
        }
    }
}

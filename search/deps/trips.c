/*
 * Mean trip counts of a tree's dims at given sizes.
 *
 * Each statement's domain is projected onto its outer dims (rational Fourier-Motzkin on numbers),
 * then sampled: points of the outer dims are drawn level by level and weighted with the trip counts
 * passed on the way, so that a triangular loop counts n/2 and the third of a tetrahedron n/3.
 * Sampling is deterministic (van der Corput sequences) and rectangular loops come out exact. Divs
 * are relaxed to fractions: the result is an estimate that only costs and choices depend on, never
 * correctness.
 */
#include "search/deps/tree.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 64, N_SAMPLES = 256 };

/* c[0] y0 + c[1] y1 + ... + k >= 0 over the statement's dim positions */
typedef struct row {
    double c[CTUNE_MAX_DEPTH];
    double k;
} row;

/* level[p]: the rows in which position p is the last that occurs */
typedef struct domain {
    int n_dims;
    int n_rows[CTUNE_MAX_DEPTH];
    row rows[CTUNE_MAX_DEPTH][MAX_ROWS];
} domain;

static int last_position(const row *r, int n_dims) {
    int p = n_dims - 1;
    while (p >= 0 && r->c[p] == 0) {
        p--;
    }
    return p;
}

static bool is_implied(const domain *d, int p, const row *r) {
    for (int i = 0; i < d->n_rows[p]; i++) {
        const row *old = &d->rows[p][i];
        if (memcmp(old->c, r->c, sizeof r->c) == 0 && old->k <= r->k) {
            return true;
        }
    }
    return false;
}

static void add_row(domain *d, row *r) {
    int p = last_position(r, d->n_dims);
    if (p < 0) {
        return;
    }
    double scale = fabs(r->c[p]);
    for (int i = 0; i <= p; i++) {
        r->c[i] /= scale;
    }
    r->k /= scale;
    if (d->n_rows[p] < MAX_ROWS && !is_implied(d, p, r)) {
        d->rows[p][d->n_rows[p]++] = *r;
    }
}

typedef struct reader {
    const ctune_region *region;
    const ctune_stmt *stmt;
    const int64_t *params;
} reader;

static void add_aff(const reader *rd, const ctune_aff *aff, double scale, row *r);

static void add_dim(const reader *rd, int dim, double coef, row *r) {
    for (int p = 0; p < rd->stmt->n_dims; p++) {
        r->c[p] += rd->stmt->dims[p] == dim ? coef : 0;
    }
}

/* A div lies in [(num - den + 1)/den, num/den]: the end that relaxes the constraint. Its num stands
 * over axes. */
static void add_over_axes(const reader *rd, const ctune_aff *num, double scale, row *r);

/* An element counts as what its model has in the mean. */
static void add_load(const reader *rd, const ctune_access *load, double coef, row *r) {
    ctune_load_model model = ctune_load_model_get(rd->region, load->tensor, rd->params);
    const ctune_tensor *t = &rd->region->tensors[load->tensor];
    double scale = coef * (double)model.slope;
    r->k += coef * ((double)model.lo + (double)(model.width - 1) / 2);
    for (int d = load->n_idx - 1; d >= 0 && scale != 0; d--) {
        r->k += scale * (double)load->idx[d]->c0;
        add_over_axes(rd, load->idx[d], scale, r);
        scale *= d > 0 ? (double)ctune_aff_eval(rd->region, t->extent[d], NULL, rd->params) : 1;
    }
}

static void add_div(const reader *rd, int id, double coef, row *r) {
    const ctune_div *div = &rd->region->divs[id];
    if (div->load != NULL) {
        add_load(rd, div->load, coef, r);
        return;
    }
    double scale = coef / (double)div->den;
    r->k += scale * ((double)div->num->c0 - (coef < 0 ? (double)(div->den - 1) : 0));
    add_over_axes(rd, div->num, scale, r);
}

/* The terms of a form over the stage's axes. */
static void add_over_axes(const reader *rd, const ctune_aff *num, double scale, row *r) {
    for (int t = 0; t < num->n_terms; t++) {
        const ctune_term *term = &num->terms[t];
        ctune_aff single = {0, 1, &(ctune_term){term->kind, term->id, 1}};
        const ctune_aff *over_dims = term->kind == CTUNE_TERM_AXIS
                                         ? ctune_stmt_axis(rd->region, rd->stmt, term->id)
                                         : &single;
        if (over_dims != NULL) {
            add_aff(rd, over_dims, scale * (double)term->coef, r);
        }
    }
}

static void add_aff(const reader *rd, const ctune_aff *aff, double scale, row *r) {
    r->k += scale * (double)aff->c0;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        double coef = scale * (double)term->coef;
        if (term->kind == CTUNE_TERM_PARAM) {
            r->k += coef * (double)rd->params[term->id];
        } else if (term->kind == CTUNE_TERM_AXIS) {
            add_dim(rd, term->id, coef, r);
        } else {
            add_div(rd, term->id, coef, r);
        }
    }
}

/* Combine every lower with every upper bound of position p; the results bound earlier positions. */
static void eliminate(domain *d, int p) {
    for (int i = 0; i < d->n_rows[p]; i++) {
        for (int j = 0; j < d->n_rows[p]; j++) {
            const row *lower = &d->rows[p][i], *upper = &d->rows[p][j];
            if (lower->c[p] < 0 || upper->c[p] > 0) {
                continue;
            }
            row sum = *lower;
            for (int q = 0; q <= p; q++) {
                sum.c[q] += upper->c[q];
            }
            sum.c[p] = 0;
            sum.k += upper->k;
            add_row(d, &sum);
        }
    }
}

static void project(const reader *rd, domain *d) {
    const ctune_stmt *stmt = rd->stmt;
    memset(d->n_rows, 0, sizeof d->n_rows);
    d->n_dims = stmt->n_dims;
    for (int c = 0; c < stmt->n_cons; c++) {
        row r = {0};
        add_aff(rd, stmt->cons[c], 1, &r);
        add_row(d, &r);
    }
    for (int p = stmt->n_dims - 1; p > 0; p--) {
        eliminate(d, p);
    }
}

/* Trip count of position p at the point y of the outer ones, its first value in *lo. 0 when it does
 * not run. */
static double count_trips(const domain *d, int p, const double *y, double *lo) {
    double low = -HUGE_VAL, high = HUGE_VAL;
    for (int i = 0; i < d->n_rows[p]; i++) {
        const row *r = &d->rows[p][i];
        double rest = r->k;
        for (int q = 0; q < p; q++) {
            rest += r->c[q] * y[q];
        }
        if (r->c[p] > 0) {
            low = fmax(low, ceil(-rest - 1e-9));
        } else {
            high = fmin(high, floor(rest + 1e-9));
        }
    }
    if (low == -HUGE_VAL || high == HUGE_VAL) {
        *lo = low == -HUGE_VAL ? 0 : low;
        return 1;
    }
    *lo = low;
    return high < low ? 0 : high - low + 1;
}

static double van_der_corput(int i, int base) {
    double value = 0, digit = 1;
    for (; i > 0; i /= base) {
        digit /= base;
        value += digit * (i % base);
    }
    return value;
}

static void sample(const domain *d, double *mean) {
    static const int bases[CTUNE_MAX_DEPTH] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    double trips[CTUNE_MAX_DEPTH] = {0}, weights[CTUNE_MAX_DEPTH] = {0};
    for (int s = 0; s < N_SAMPLES; s++) {
        double y[CTUNE_MAX_DEPTH], weight = 1;
        for (int p = 0; p < d->n_dims && weight > 0; p++) {
            double lo, n = count_trips(d, p, y, &lo);
            trips[p] += weight * n;
            weights[p] += weight;
            weight *= n;
            y[p] = lo + floor(fmin(van_der_corput(s + 1, bases[p]) * n, fmax(n - 1, 0)));
        }
    }
    for (int p = 0; p < d->n_dims; p++) {
        mean[p] = weights[p] > 0 ? trips[p] / weights[p] : 0;
    }
}

void ctune_tree_estimate(const ctune_region *region, ctune_tree *tree, const int64_t *params) {
    ctune_arena *scratch = ctune_arena_create(NULL);
    domain *d = CTUNE_NEW(scratch, domain);
    ctune_dim *dims = CTUNE_NEW_ARRAY(tree->arena, ctune_dim, tree->n_dims + 1);
    if (d == NULL || dims == NULL) {
        ctune_arena_destroy(scratch); /* the extents stay: they are only an estimate */
        return;
    }
    memcpy(dims, tree->dims, (size_t)tree->n_dims * sizeof *dims);
    for (int i = 0; i < tree->n_dims; i++) {
        dims[i].extent = 0;
    }
    for (int i = 0; i < tree->n_stmts; i++) {
        const ctune_stmt *stmt = &tree->stmts[i];
        double mean[CTUNE_MAX_DEPTH];
        project(&(reader){region, stmt, params}, d);
        sample(d, mean);
        for (int p = 0; p < stmt->n_dims; p++) {
            dims[stmt->dims[p]].extent = fmax(dims[stmt->dims[p]].extent, mean[p]);
        }
    }
    tree->dims = dims;
    ctune_arena_destroy(scratch);
}

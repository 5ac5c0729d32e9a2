/* Polynomial arithmetic: see poly.h. */
#include "plugin/extract/poly.h"

#include <stdlib.h>
#include <string.h>

static int atom_compare(const ctune_atom *x, const ctune_atom *y) {
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

int ctune_mono_compare(const ctune_mono *x, const ctune_mono *y) {
    if (x->degree != y->degree) {
        return x->degree > y->degree ? -1 : 1;
    }
    for (int i = 0; i < x->degree; i++) {
        int c = atom_compare(&x->atom[i], &y->atom[i]);
        if (c != 0) {
            return c;
        }
    }
    return 0;
}

static int mono_order(const void *x, const void *y) {
    return ctune_mono_compare(x, y);
}

const ctune_poly *ctune_poly_collect(ctune_arena *a, const ctune_mono *mono, int n) {
    ctune_mono *sorted = CTUNE_NEW_ARRAY(a, ctune_mono, n + 1);
    ctune_poly *out = CTUNE_NEW(a, ctune_poly);
    if (sorted == NULL || out == NULL) {
        return NULL;
    }
    if (n > 0) {
        memcpy(sorted, mono, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, mono_order);
    }
    int used = 0;
    for (int i = 0; i < n;) {
        ctune_mono sum = sorted[i++];
        while (i < n && ctune_mono_compare(&sum, &sorted[i]) == 0) {
            if (__builtin_add_overflow(sum.coef, sorted[i++].coef, &sum.coef)) {
                return NULL;
            }
        }
        if (sum.coef != 0) {
            sorted[used++] = sum;
        }
    }
    out->n = used;
    out->mono = sorted;
    return out;
}

const ctune_poly *ctune_poly_const(ctune_arena *a, int64_t c) {
    ctune_mono m = {.coef = c};
    return ctune_poly_collect(a, &m, 1);
}

const ctune_poly *ctune_poly_atom(ctune_arena *a, ctune_term_kind kind, int id) {
    ctune_mono m = {.coef = 1, .degree = 1, .atom = {{kind, id}}};
    return ctune_poly_collect(a, &m, 1);
}

const ctune_poly *ctune_poly_add(ctune_arena *a, const ctune_poly *x, const ctune_poly *y) {
    if (x == NULL || y == NULL) {
        return NULL;
    }
    ctune_mono *all = CTUNE_NEW_ARRAY(a, ctune_mono, x->n + y->n + 1);
    if (all == NULL) {
        return NULL;
    }
    memcpy(all, x->mono, (size_t)x->n * sizeof *all);
    memcpy(all + x->n, y->mono, (size_t)y->n * sizeof *all);
    return ctune_poly_collect(a, all, x->n + y->n);
}

const ctune_poly *ctune_poly_scale(ctune_arena *a, const ctune_poly *x, int64_t k) {
    return ctune_poly_mul(a, x, ctune_poly_const(a, k));
}

const ctune_poly *ctune_poly_sub(ctune_arena *a, const ctune_poly *x, const ctune_poly *y) {
    return ctune_poly_add(a, x, ctune_poly_scale(a, y, -1));
}

static bool mono_mul(const ctune_mono *x, const ctune_mono *y, ctune_mono *out) {
    memset(out, 0, sizeof *out);
    if (x->degree + y->degree > CTUNE_MAX_DEGREE ||
        __builtin_mul_overflow(x->coef, y->coef, &out->coef)) {
        return false;
    }
    int i = 0, j = 0;
    while (i < x->degree || j < y->degree) {
        bool take_x =
            j == y->degree || (i < x->degree && atom_compare(&x->atom[i], &y->atom[j]) <= 0);
        out->atom[out->degree++] = take_x ? x->atom[i++] : y->atom[j++];
    }
    return true;
}

const ctune_poly *ctune_poly_mul(ctune_arena *a, const ctune_poly *x, const ctune_poly *y) {
    if (x == NULL || y == NULL || x->n > 64 || y->n > 64) {
        return NULL;
    }
    ctune_mono *all = CTUNE_NEW_ARRAY(a, ctune_mono, x->n * y->n + 1);
    for (int i = 0; i < x->n * y->n; i++) {
        if (all == NULL || !mono_mul(&x->mono[i / y->n], &y->mono[i % y->n], &all[i])) {
            return NULL;
        }
    }
    return all == NULL ? NULL : ctune_poly_collect(a, all, x->n * y->n);
}

const ctune_poly *ctune_poly_from_aff(ctune_arena *a, const ctune_aff *aff) {
    if (aff == NULL) {
        return NULL;
    }
    ctune_mono *all = CTUNE_NEW_ARRAY(a, ctune_mono, aff->n_terms + 1);
    if (all == NULL) {
        return NULL;
    }
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        all[i] = (ctune_mono){.coef = t->coef, .degree = 1, .atom = {{t->kind, t->id}}};
    }
    all[aff->n_terms] = (ctune_mono){.coef = aff->c0};
    return ctune_poly_collect(a, all, aff->n_terms + 1);
}

bool ctune_poly_is_affine(const ctune_poly *x) {
    for (int i = 0; i < x->n; i++) {
        if (x->mono[i].degree > 1) {
            return false;
        }
    }
    return true;
}

const ctune_aff *ctune_poly_to_aff(ctune_arena *a, const ctune_poly *x) {
    if (x == NULL || !ctune_poly_is_affine(x)) {
        return NULL;
    }
    const ctune_aff *sum = ctune_aff_const(a, 0);
    for (int i = 0; i < x->n; i++) {
        const ctune_mono *m = &x->mono[i];
        sum =
            m->degree == 0
                ? ctune_aff_add_const(a, sum, m->coef)
                : ctune_aff_add(a, sum, ctune_aff_term(a, m->atom[0].kind, m->atom[0].id, m->coef));
    }
    return sum;
}

bool ctune_poly_is_const(const ctune_poly *x, int64_t *value) {
    if (x == NULL || x->n > 1 || (x->n == 1 && x->mono[0].degree > 0)) {
        return false;
    }
    *value = x->n == 0 ? 0 : x->mono[0].coef;
    return true;
}

bool ctune_poly_is_equal(const ctune_poly *x, const ctune_poly *y) {
    if (x == NULL || y == NULL || x->n != y->n) {
        return false;
    }
    for (int i = 0; i < x->n; i++) {
        if (x->mono[i].coef != y->mono[i].coef ||
            ctune_mono_compare(&x->mono[i], &y->mono[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool ctune_mono_is_params(const ctune_mono *m) {
    for (int i = 0; i < m->degree; i++) {
        if (m->atom[i].kind != CTUNE_TERM_PARAM) {
            return false;
        }
    }
    return true;
}

bool ctune_poly_has_axis(const ctune_poly *x, int axis) {
    for (int i = 0; i < x->n; i++) {
        for (int d = 0; d < x->mono[i].degree; d++) {
            const ctune_atom *atom = &x->mono[i].atom[d];
            if (atom->kind == CTUNE_TERM_AXIS && (axis < 0 || atom->id == axis)) {
                return true;
            }
        }
    }
    return false;
}

const ctune_poly *ctune_poly_subst(ctune_arena *a, const ctune_poly *x, ctune_term_kind kind,
                                   int id, const ctune_poly *by) {
    if (x == NULL || by == NULL) {
        return NULL;
    }
    const ctune_poly *sum = ctune_poly_const(a, 0);
    for (int i = 0; i < x->n; i++) {
        const ctune_poly *term = ctune_poly_const(a, x->mono[i].coef);
        for (int d = 0; d < x->mono[i].degree; d++) {
            const ctune_atom *atom = &x->mono[i].atom[d];
            bool is_hit = atom->kind == kind && atom->id == id;
            term = ctune_poly_mul(a, term, is_hit ? by : ctune_poly_atom(a, atom->kind, atom->id));
        }
        sum = ctune_poly_add(a, sum, term);
    }
    return sum;
}

/* whole / part as monomials. false: part does not divide it. */
static bool mono_divide(const ctune_mono *whole, const ctune_mono *part, ctune_mono *out) {
    *out = (ctune_mono){0};
    if (part->coef == 0 || whole->coef % part->coef != 0) {
        return false;
    }
    out->coef = whole->coef / part->coef;
    int j = 0;
    for (int i = 0; i < whole->degree; i++) {
        if (j < part->degree && atom_compare(&whole->atom[i], &part->atom[j]) == 0) {
            j++;
        } else {
            out->atom[out->degree++] = whole->atom[i];
        }
    }
    return j == part->degree;
}

const ctune_poly *ctune_poly_divide(ctune_arena *a, const ctune_poly *x, const ctune_poly *by,
                                    const ctune_poly **rest) {
    const ctune_poly *quotient = ctune_poly_const(a, 0), *left = x, *kept = quotient;
    if (x == NULL || by == NULL || by->n == 0) {
        return NULL;
    }
    for (int steps = 0; left != NULL && left->n > 0; steps++) {
        ctune_mono part;
        const ctune_poly *lead = ctune_poly_collect(a, &left->mono[0], 1);
        if (steps > 200) {
            return NULL;
        }
        if (mono_divide(&left->mono[0], &by->mono[0], &part)) {
            const ctune_poly *one = ctune_poly_collect(a, &part, 1);
            quotient = ctune_poly_add(a, quotient, one);
            left = ctune_poly_sub(a, left, ctune_poly_mul(a, one, by));
        } else {
            kept = ctune_poly_add(a, kept, lead);
            left = ctune_poly_sub(a, left, lead);
        }
    }
    *rest = kept;
    return left == NULL || kept == NULL ? NULL : quotient;
}

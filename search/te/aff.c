/*
 * Affine forms: builders, questions and evaluation.
 *
 * In: arena and forms. Out: canonical forms (terms sorted by kind and id, none zero, none twice),
 * so that equality is a comparison of arrays. Every coefficient is int64 and checked: an overflow
 * yields NULL, which the other builders let through, so that a chain is checked once at its end.
 */
#include "search/te/te.h"

#include <string.h>

static int term_compare(const ctune_term *x, const ctune_term *y) {
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->id - y->id;
}

static ctune_aff *aff_new(ctune_arena *a, int64_t c0, int max_terms, ctune_term **terms) {
    ctune_aff *aff = CTUNE_NEW(a, ctune_aff);
    *terms = max_terms > 0 ? CTUNE_NEW_ARRAY(a, ctune_term, max_terms) : NULL;
    if (aff == NULL || (max_terms > 0 && *terms == NULL)) {
        return NULL;
    }
    aff->c0 = c0;
    aff->terms = *terms;
    return aff;
}

const ctune_aff *ctune_aff_const(ctune_arena *a, int64_t c) {
    ctune_term *terms;
    return aff_new(a, c, 0, &terms);
}

const ctune_aff *ctune_aff_term(ctune_arena *a, ctune_term_kind kind, int id, int64_t coef) {
    ctune_term *terms;
    ctune_aff *aff = aff_new(a, 0, coef != 0 ? 1 : 0, &terms);
    if (aff != NULL && coef != 0) {
        terms[0] = (ctune_term){kind, id, coef};
        aff->n_terms = 1;
    }
    return aff;
}

/* x + k * y */
static const ctune_aff *add_scaled(ctune_arena *a, const ctune_aff *x, const ctune_aff *y,
                                   int64_t k) {
    if (x == NULL || y == NULL) {
        return NULL;
    }
    int64_t c0;
    if (__builtin_mul_overflow(y->c0, k, &c0) || __builtin_add_overflow(x->c0, c0, &c0)) {
        return NULL;
    }
    ctune_term *terms;
    ctune_aff *out = aff_new(a, c0, x->n_terms + y->n_terms, &terms);
    if (out == NULL) {
        return NULL;
    }
    int i = 0, j = 0, n = 0;
    while (i < x->n_terms || j < y->n_terms) {
        int order = i == x->n_terms   ? 1
                    : j == y->n_terms ? -1
                                      : term_compare(&x->terms[i], &y->terms[j]);
        ctune_term term = order <= 0 ? x->terms[i] : y->terms[j];
        int64_t other = 0;
        term.coef = order <= 0 ? x->terms[i].coef : 0;
        if (order >= 0 && __builtin_mul_overflow(y->terms[j].coef, k, &other)) {
            return NULL;
        }
        if (__builtin_add_overflow(term.coef, other, &term.coef)) {
            return NULL;
        }
        i += order <= 0;
        j += order >= 0;
        if (term.coef != 0) {
            terms[n++] = term;
        }
    }
    out->n_terms = n;
    return out;
}

const ctune_aff *ctune_aff_add(ctune_arena *a, const ctune_aff *x, const ctune_aff *y) {
    return add_scaled(a, x, y, 1);
}

const ctune_aff *ctune_aff_sub(ctune_arena *a, const ctune_aff *x, const ctune_aff *y) {
    return add_scaled(a, x, y, -1);
}

const ctune_aff *ctune_aff_scale(ctune_arena *a, const ctune_aff *x, int64_t k) {
    return x == NULL ? NULL : add_scaled(a, ctune_aff_const(a, 0), x, k);
}

const ctune_aff *ctune_aff_add_const(ctune_arena *a, const ctune_aff *x, int64_t c) {
    return x == NULL ? NULL : add_scaled(a, x, ctune_aff_const(a, c), 1);
}

const ctune_aff *ctune_aff_subst(ctune_arena *a, const ctune_aff *x, ctune_term_kind kind, int id,
                                 const ctune_aff *by) {
    if (x == NULL || by == NULL) {
        return NULL;
    }
    int64_t coef = ctune_aff_coef(x, kind, id);
    if (coef == 0) {
        return x;
    }
    const ctune_aff *term = ctune_aff_term(a, kind, id, coef);
    return add_scaled(a, ctune_aff_sub(a, x, term), by, coef);
}

int64_t ctune_aff_coef(const ctune_aff *x, ctune_term_kind kind, int id) {
    for (int i = 0; i < x->n_terms; i++) {
        if (x->terms[i].kind == kind && x->terms[i].id == id) {
            return x->terms[i].coef;
        }
    }
    return 0;
}

bool ctune_aff_is_const(const ctune_aff *x) {
    return x->n_terms == 0;
}

bool ctune_aff_is_equal(const ctune_aff *x, const ctune_aff *y) {
    if (x == y) {
        return true;
    }
    if (x == NULL || y == NULL || x->c0 != y->c0 || x->n_terms != y->n_terms) {
        return false;
    }
    for (int i = 0; i < x->n_terms; i++) {
        if (term_compare(&x->terms[i], &y->terms[i]) != 0 || x->terms[i].coef != y->terms[i].coef) {
            return false;
        }
    }
    return true;
}

bool ctune_aff_has_kind(const ctune_aff *x, ctune_term_kind kind) {
    for (int i = 0; i < x->n_terms; i++) {
        if (x->terms[i].kind == kind) {
            return true;
        }
    }
    return false;
}

static int64_t floor_div(int64_t num, int64_t den) {
    int64_t q = num / den;
    return q - (num % den != 0 && (num < 0) != (den < 0));
}

/* Wraps silently where the mathematical value does not fit int64. */
int64_t ctune_aff_eval_with(const ctune_region *region, const ctune_aff *aff, const int64_t *axes,
                            const int64_t *params, ctune_element_read read, void *data) {
    int64_t sum = aff->c0;
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *term = &aff->terms[i];
        int64_t value;
        if (term->kind == CTUNE_TERM_AXIS) {
            value = axes[term->id];
        } else if (term->kind == CTUNE_TERM_PARAM) {
            value = params[term->id];
        } else if (region->divs[term->id].load != NULL) {
            value = read != NULL ? read(data, region->divs[term->id].load) : 0;
        } else {
            const ctune_div *div = &region->divs[term->id];
            value = floor_div(ctune_aff_eval_with(region, div->num, axes, params, read, data),
                              div->den);
        }
        (void)__builtin_mul_overflow(value, term->coef, &value);
        (void)__builtin_add_overflow(sum, value, &sum);
    }
    return sum;
}

int64_t ctune_aff_eval(const ctune_region *region, const ctune_aff *aff, const int64_t *axes,
                       const int64_t *params) {
    return ctune_aff_eval_with(region, aff, axes, params, NULL, NULL);
}

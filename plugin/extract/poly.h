/*
 * Polynomials in axes, parameters and divisions: what subscripts and bounds are before they are
 * known to be affine.
 *
 * A linearised subscript (i*n + j) is no affine form, but a polynomial from which the dimensions
 * can be read back (delinearise.c). Coefficients are mathematical integers, checked for overflow.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_POLY_H
#define CTUNE_PLUGIN_EXTRACT_POLY_H

#include "search/te/te.h"

enum { CTUNE_MAX_DEGREE = 6 };

typedef struct ctune_atom {
    ctune_term_kind kind;
    int id;
} ctune_atom;

typedef struct ctune_mono {
    int64_t coef; /* never 0 */
    int degree;
    ctune_atom atom[CTUNE_MAX_DEGREE]; /* sorted; repeated for powers */
} ctune_mono;

/* Sum of monomials with distinct atoms, in a canonical order. */
typedef struct ctune_poly {
    int n;
    const ctune_mono *mono;
} ctune_poly;

/* Builders: NULL in, NULL out; NULL when memory is out, a coefficient overflows, or the degree is
 * too high. */
const ctune_poly *ctune_poly_const(ctune_arena *a, int64_t c);
const ctune_poly *ctune_poly_atom(ctune_arena *a, ctune_term_kind kind, int id);
const ctune_poly *ctune_poly_add(ctune_arena *a, const ctune_poly *x, const ctune_poly *y);
const ctune_poly *ctune_poly_sub(ctune_arena *a, const ctune_poly *x, const ctune_poly *y);
const ctune_poly *ctune_poly_mul(ctune_arena *a, const ctune_poly *x, const ctune_poly *y);
const ctune_poly *ctune_poly_scale(ctune_arena *a, const ctune_poly *x, int64_t k);
const ctune_poly *ctune_poly_from_aff(ctune_arena *a, const ctune_aff *aff);
/* NULL when the polynomial is not affine. */
const ctune_aff *ctune_poly_to_aff(ctune_arena *a, const ctune_poly *x);

bool ctune_poly_is_const(const ctune_poly *x, int64_t *value);
bool ctune_poly_is_affine(const ctune_poly *x);
bool ctune_poly_is_equal(const ctune_poly *x, const ctune_poly *y);
bool ctune_mono_is_params(const ctune_mono *m); /* only parameters (or constant) */
int ctune_mono_compare(const ctune_mono *x, const ctune_mono *y); /* by atoms only */
bool ctune_poly_has_axis(const ctune_poly *x, int axis);          /* this axis; -1: any */
/* Replace every occurrence of the atom by `by`. */
const ctune_poly *ctune_poly_subst(ctune_arena *a, const ctune_poly *x, ctune_term_kind kind,
                                   int id, const ctune_poly *by);
/* x = quotient * by + rest, by leading monomials; rest has no monomial that by's leading one
 * divides.
 */
const ctune_poly *ctune_poly_divide(ctune_arena *a, const ctune_poly *x, const ctune_poly *by,
                                    const ctune_poly **rest);
/* Build from n monomials in any order; like terms are summed. */
const ctune_poly *ctune_poly_collect(ctune_arena *a, const ctune_mono *mono, int n);

#endif

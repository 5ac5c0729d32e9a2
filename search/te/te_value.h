/*
 * C values and their arithmetic: what both interpreters (te_eval.c, loops/loops_eval.c) compute
 * with.
 *
 * C's semantics by type: integers wrap at their width (where C leaves signed overflow undefined,
 * two's complement is what every compiler's code does without assumptions), floats are rounded to
 * their type after each operation, nothing is contracted but te_value_fma.
 */
#ifndef CTUNE_SEARCH_TE_TE_VALUE_H
#define CTUNE_SEARCH_TE_TE_VALUE_H

#include "search/te/te.h"

typedef struct te_value {
    ctune_type type; /* selects the arm: floats f (exact for every float type), integers i */
    int64_t i;       /* in the value range of the type; u64 as its bit pattern */
    long double f;
} te_value;

int64_t te_wrap(ctune_type type, int64_t i);
te_value te_value_convert(te_value v, ctune_type type);
bool te_value_is_true(te_value v);

/* One element in memory, any alignment. store: as v.type; leaves the padding of f80 alone. */
te_value te_value_load(ctune_type type, const unsigned char *at);
void te_value_store(te_value v, unsigned char *at);

/* A constant as ctune_expr holds it: text (may be NULL) is what an f80 is read from. */
te_value te_value_const(ctune_type type, int64_t i_value, double f_value, const char *text);

te_value te_value_negate(te_value v);
/* ADD to SHR (without NEG, BNOT) of two operands of one type; the count of a shift may have
 * another. false: an integer is divided by zero. */
bool te_value_binary(ctune_op op, te_value a, te_value b, te_value *out);
/* LT to NE of two operands of one type. */
bool te_value_compare(ctune_op op, te_value a, te_value b);
/* MIN or MAX: as ctune_op says. */
te_value te_value_extreme(ctune_op op, te_value a, te_value b);
/* a * b + c of one float type, rounded once. */
te_value te_value_fma(te_value a, te_value b, te_value c);
/* A function that ctune_math_find knows, of `type`, with args [n_args] converted to it. */
te_value te_value_call(const char *name, ctune_type type, const te_value *args, int n_args);

#endif

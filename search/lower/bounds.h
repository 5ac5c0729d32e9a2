/*
 * Bounds of one loop by Fourier-Motzkin elimination over a statement's domain.
 *
 * Loops of a nest scan a statement's dims in any order and at several tile levels. For the loop
 * over a level of dim p, given the loops already open around it, the bounds are what the domain and
 * the open tiles (x <= y <= x + T - 1) imply for y_p once the dims not yet scanned are projected
 * out. Rational projection may let a loop run over values that inner loops find empty; it never
 * loses a point, and each constraint of the domain is enforced exactly by the innermost point loop
 * among its dims. (Banerjee 1993; Ancourt and Irigoin 1991.)
 *
 * Loops over sums are tiles of an affine form instead of one dim; a wave ties the tile variables of
 * other loops, which may not be open yet and are then projected out like dims.
 *
 * Variables (lvars) are the loop variables of the lowered program; affs use TERM_AXIS ids for them.
 */
#ifndef CTUNE_SEARCH_LOWER_BOUNDS_H
#define CTUNE_SEARCH_LOWER_BOUNDS_H

#include "search/deps/tree.h"

enum { CTUNE_MAX_OPEN = 64, CTUNE_OPEN_TERMS = 8 };

typedef struct ctune_open_term {
    int of; /* form: position in stmt->dims; wave: index into open[] */
    int64_t coef;
} ctune_open_term;

/* A loop that is already open: variable `var` scans dim position `pos` of the statement; step 1 =
 * the dim itself. Or it is over a sum (pos -1): var <= form + shift <= var + step - 1, or, a wave,
 * var = sum of coef * open[of].var / open[of].step. Neither: a helper variable. */
typedef struct ctune_open {
    int var; /* lvar; -1: the loop is not open, its variable any that fits */
    int pos; /* position in stmt->dims, -1 */
    int64_t step;
    int n_form, n_wave; /* at most one of them is not 0 */
    ctune_open_term term[CTUNE_OPEN_TERMS];
    int64_t shift;
} ctune_open;

/* One bound: value `aff` / den, rounded up (lower) or down (upper, inclusive). */
typedef struct ctune_bound_row {
    const ctune_aff *aff; /* over lvars, params, divs of params and ruled loads */
    int64_t den;          /* > 0 */
    bool is_domain;       /* stands in the statement's domain, not derived by elimination */
    int i_con;            /* index into stmt->cons when is_domain, else -1 */
    int i_open;           /* the loop over a form that asks for it, else -1 */
} ctune_bound_row;

typedef struct ctune_bounds {
    int n_lower, n_upper;
    ctune_bound_row *lower, *upper; /* max of lowers, min of uppers */
    int n_param_rows; /* facts over parameters alone without which the domain is empty, each >= 0 */
    const ctune_aff **param_rows;
    int n_open_rows; /* the same over variables of open loops, too */
    const ctune_aff **open_rows;
    bool is_inexact; /* some value in range may have no integer point inside */
} ctune_bounds;

/* Another restriction of dim `pos`: lo <= y (is_lower) or y <= hi, by the value of a variable plus
 * c. */
typedef struct ctune_extra {
    int pos;
    int var;
    int64_t c;
    bool is_lower;
} ctune_extra;

/* Can con be used in elimination (no div over axes)? Others become conditions at the statement. */
bool ctune_bounds_is_plain(const ctune_region *region, const ctune_aff *con);
/* Not plain, but only because of loads over axes: such a constraint bounds loops inside of those
 * over the loads' axes, which must be dims as they are (schedule/check_load.c sees to both). */
bool ctune_bounds_is_opaque(const ctune_region *region, const ctune_aff *con);

/* Bounds of dim position pos of stmt under the open loops (results in arena). ENOMEM, EREFUSED when
 * the system grows too large. */
CTUNE_MUST_USE ctune_status ctune_bounds_find(ctune_ctx *ctx, ctune_arena *arena,
                                              const ctune_region *region, const ctune_stmt *stmt,
                                              const ctune_open *open, int n_open,
                                              const ctune_extra *extra, int n_extra, int pos,
                                              ctune_bounds *out);

/* Bounds of the variable of open[target], which is not open itself (var -1) and no point loop. */
CTUNE_MUST_USE ctune_status ctune_bounds_find_open(ctune_ctx *ctx, ctune_arena *arena,
                                                   const ctune_region *region,
                                                   const ctune_stmt *stmt, const ctune_open *open,
                                                   int n_open, const ctune_extra *extra,
                                                   int n_extra, int target, ctune_bounds *out);

#endif

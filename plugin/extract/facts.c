/*
 * Facts: is an affine inequality true over a domain, and if not, which condition on the parameters
 * makes it so?
 *
 * In: conditions, a form, the parameters' C types, facts already assumed. Out: yes or no, and new
 * rows of b->assumes. isl decides exactly; an operation budget makes "too hard" a no, never a wait.
 * The points that break the claim are projected on the parameters; their complement is what must be
 * checked at run time. When it is no conjunction, the piece that holds the representative sizes is
 * taken: a fact that those sizes break would make the tuned code unreachable.
 */
#include "plugin/extract/build.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

static const unsigned long BUDGET = 400000;
static const int64_t WIDE = (int64_t)1 << 31; /* 64-bit parameters are assumed to lie below */

/* Dimensions: parameters first, then axes, all as set dimensions. */
static int n_dims(const ctune_build *b) {
    return b->params.n + b->axes.n;
}

static isl_aff *to_isl(ctune_build *b, isl_local_space *space, const ctune_aff *aff) {
    isl_aff *sum = isl_aff_zero_on_domain(isl_local_space_copy(space));
    sum = isl_aff_set_constant_val(sum, isl_val_int_from_si(b->isl, (long)aff->c0));
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        isl_aff *term;
        if (t->kind == CTUNE_TERM_DIV) {
            const ctune_div *div = &b->divs.at[t->id];
            term = to_isl(b, space, div->num);
            term = isl_aff_scale_down_val(term, isl_val_int_from_si(b->isl, (long)div->den));
            term = isl_aff_floor(term);
        } else {
            int dim = t->kind == CTUNE_TERM_PARAM ? t->id : b->params.n + t->id;
            term = isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set, (unsigned)dim);
        }
        term = isl_aff_scale_val(term, isl_val_int_from_si(b->isl, (long)t->coef));
        sum = isl_aff_add(sum, term);
    }
    return sum;
}

static isl_basic_set *ge_zero(isl_aff *form) {
    isl_local_space *space = isl_aff_get_domain_local_space(form);
    return isl_aff_ge_basic_set(form, isl_aff_zero_on_domain(space));
}

/* set and { aff >= 0 } */
static isl_set *restrict_to(ctune_build *b, isl_set *set, const ctune_aff *aff) {
    isl_local_space *space = isl_local_space_from_space(isl_set_get_space(set));
    isl_aff *form = to_isl(b, space, aff);
    isl_local_space_free(space);
    return isl_set_intersect(set, isl_set_from_basic_set(ge_zero(form)));
}

static isl_set *bound_dim(ctune_build *b, isl_set *set, int dim, int64_t lo, int64_t hi) {
    set = isl_set_lower_bound_val(set, isl_dim_set, (unsigned)dim,
                                  isl_val_int_from_si(b->isl, (long)lo));
    return isl_set_upper_bound_val(set, isl_dim_set, (unsigned)dim,
                                   isl_val_int_from_si(b->isl, (long)hi));
}

static void type_range(ctune_type type, int64_t *lo, int64_t *hi) {
    const ctune_type_info *info = ctune_type_get(type);
    int bits = info->bytes * 8;
    bool is_signed = (info->flags & CTUNE_TF_SIGNED) != 0;
    if (type == CTUNE_BOOL) {
        *lo = 0;
        *hi = 1;
    } else if (bits == 64) {
        *lo = is_signed ? -WIDE : 0;
        *hi = WIDE;
    } else {
        *lo = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
        *hi = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    }
}

/* What is known about the parameters. */
static isl_set *context(ctune_build *b) {
    isl_set *set = isl_set_universe(isl_space_set_alloc(b->isl, 0, (unsigned)n_dims(b)));
    for (int p = 0; p < b->params.n; p++) {
        int64_t lo, hi;
        type_range(b->params.at[p].type, &lo, &hi);
        set = bound_dim(b, set, p, lo, hi);
    }
    for (int i = 0; i < b->assumes.n; i++) {
        set = restrict_to(b, set, b->assumes.at[i].aff);
    }
    return set;
}

int64_t ctune_build_size(ctune_build *b, int param) {
    const ctune_param *p = &b->params.at[param];
    return p->n_sizes > 0 ? p->sizes[0] : 1024;
}

/* The representative sizes, axes free. */
static isl_set *representative(ctune_build *b) {
    isl_set *set = isl_set_universe(isl_space_set_alloc(b->isl, 0, (unsigned)n_dims(b)));
    for (int p = 0; p < b->params.n; p++) {
        int64_t size = ctune_build_size(b, p);
        set = bound_dim(b, set, p, size, size);
    }
    return set;
}

/* Points of the domain at which the claim fails. */
static isl_set *counterexamples(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                                const ctune_aff *aff) {
    isl_set *set = context(b);
    for (int i = 0; i < n_cons; i++) {
        set = restrict_to(b, set, cons[i]);
    }
    const ctune_aff *broken = ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, aff, -1), -1);
    return broken == NULL ? isl_set_free(set) : restrict_to(b, set, broken);
}

static void budget_start(ctune_build *b) {
    isl_ctx_reset_error(b->isl);
    isl_ctx_reset_operations(b->isl);
    isl_ctx_set_max_operations(b->isl, BUDGET);
}

static bool is_overspent(ctune_build *b) {
    bool failed = isl_ctx_last_error(b->isl) != isl_error_none;
    isl_ctx_reset_error(b->isl);
    isl_ctx_set_max_operations(b->isl, 0);
    return failed;
}

bool ctune_facts_has(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                     const ctune_aff *aff) {
    if (aff == NULL) {
        return false;
    }
    if (ctune_aff_is_const(aff) && aff->c0 >= 0) {
        return true;
    }
    budget_start(b);
    isl_set *bad = counterexamples(b, n_cons, cons, aff);
    isl_bool empty = isl_set_is_empty(bad);
    isl_set_free(bad);
    bool failed = is_overspent(b);
    return !failed && empty == isl_bool_true;
}

/* ---- making facts ---------------------------------------------------------------------------- */

typedef struct fact_list {
    ctune_build *b;
    int n;
    const ctune_aff *at[16];
    bool ok;
} fact_list;

static bool value_of(isl_val *v, int64_t *out) {
    bool ok = v != NULL && isl_val_is_int(v) == isl_bool_true &&
              isl_val_n_abs_num_chunks(v, sizeof(int64_t)) <= 1;
    if (ok) {
        *out = isl_val_get_num_si(v);
        ok = *out > INT64_MIN / 4 && *out < INT64_MAX / 4;
    }
    isl_val_free(v);
    return ok;
}

static isl_stat take_constraint(isl_constraint *c, void *user) {
    fact_list *list = user;
    ctune_build *b = list->b;
    ctune_arena *a = b->arena;
    int64_t coef = 0;
    list->ok = list->ok && isl_constraint_dim(c, isl_dim_div) == 0 && list->n + 2 <= 16 &&
               value_of(isl_constraint_get_constant_val(c), &coef);
    const ctune_aff *aff = ctune_aff_const(a, coef);
    for (int i = 0; i < n_dims(b) && list->ok; i++) {
        list->ok = value_of(isl_constraint_get_coefficient_val(c, isl_dim_set, i), &coef);
        if (list->ok && coef != 0) {
            list->ok = i < b->params.n;
            aff = ctune_aff_add(a, aff, ctune_aff_term(a, CTUNE_TERM_PARAM, i, coef));
        }
    }
    list->ok = list->ok && aff != NULL;
    if (list->ok) {
        list->at[list->n++] = aff;
        if (isl_constraint_is_equality(c) == isl_bool_true) {
            list->at[list->n++] = ctune_aff_scale(a, aff, -1);
        }
    }
    isl_constraint_free(c);
    return list->ok ? isl_stat_ok : isl_stat_error;
}

typedef struct piece_choice {
    fact_list *facts;
    isl_set *sizes;
    bool found;
} piece_choice;

static isl_stat try_piece(isl_basic_set *piece, void *user) {
    piece_choice *choice = user;
    if (!choice->found) {
        isl_set *common = isl_set_intersect(isl_set_from_basic_set(isl_basic_set_copy(piece)),
                                            isl_set_copy(choice->sizes));
        if (isl_set_is_empty(common) == isl_bool_false) {
            fact_list facts = {.b = choice->facts->b, .ok = true};
            isl_basic_set_foreach_constraint(piece, take_constraint, &facts);
            if (facts.ok) {
                *choice->facts = facts;
                choice->found = true;
            }
        }
        isl_set_free(common);
    }
    isl_basic_set_free(piece);
    return isl_stat_ok;
}

static bool add_facts(ctune_build *b, const fact_list *facts) {
    for (int i = 0; i < facts->n; i++) {
        ctune_assume *assume = CTUNE_PUSH(b, b->assumes);
        if (assume == NULL || facts->at[i] == NULL) {
            return false;
        }
        assume->aff = facts->at[i];
    }
    return true;
}

bool ctune_facts_require(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                         const ctune_aff *aff) {
    if (ctune_facts_has(b, n_cons, cons, aff)) {
        return true;
    }
    if (b->is_trial && aff != NULL && !b->no_assume) {
        return true;
    }
    if (aff == NULL || b->no_assume || b->params.n == 0) {
        return false;
    }
    budget_start(b);
    unsigned n_params = (unsigned)b->params.n, n_axes = (unsigned)b->axes.n;
    isl_set *bad = counterexamples(b, n_cons, cons, aff);
    bad = isl_set_project_out(bad, isl_dim_set, n_params, n_axes);
    bad = isl_set_add_dims(bad, isl_dim_set, n_axes);
    bad = isl_set_remove_divs(bad); /* more points are bad: a stronger fact, still sound */
    isl_set *good = isl_set_complement(bad);
    isl_set *known = context(b);
    good = isl_set_coalesce(isl_set_gist(good, known));
    fact_list facts = {.b = b, .ok = true};
    piece_choice choice = {.facts = &facts, .sizes = representative(b)};
    isl_set_foreach_basic_set(good, try_piece, &choice);
    isl_set_free(choice.sizes);
    isl_set_free(good);
    bool failed = is_overspent(b);
    if (failed || !choice.found || facts.n == 0) {
        return false;
    }
    return add_facts(b, &facts) && ctune_facts_has(b, n_cons, cons, aff);
}

bool ctune_facts_require_here(ctune_build *b, const ctune_aff *aff) {
    return ctune_facts_require(b, b->domain.n, b->domain.at, aff);
}

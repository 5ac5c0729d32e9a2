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

#include "search/bound/bound.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

static const unsigned long BUDGET = 400000;
static const int64_t WIDE = (int64_t)1 << 31; /* 64-bit parameters are assumed to lie below */

/* Dimensions: parameters first, then axes, then loads (one for each div when there are any), all as
 * set dimensions. A load may be anything of its type. */
static int n_rest(const ctune_build *b) {
    bool has_loads = false;
    for (int i = 0; i < b->divs.n; i++) {
        has_loads |= b->divs.at[i].load != NULL;
    }
    return b->axes.n + (has_loads ? b->divs.n : 0);
}

static int n_dims(const ctune_build *b) {
    return b->params.n + n_rest(b);
}

static isl_aff *to_isl(ctune_build *b, isl_local_space *space, const ctune_aff *aff) {
    isl_aff *sum = isl_aff_zero_on_domain(isl_local_space_copy(space));
    sum = isl_aff_set_constant_val(sum, isl_val_int_from_si(b->isl, (long)aff->c0));
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        isl_aff *term;
        if (t->kind == CTUNE_TERM_DIV && b->divs.at[t->id].load != NULL) {
            term = isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set,
                                         (unsigned)(b->params.n + b->axes.n + t->id));
        } else if (t->kind == CTUNE_TERM_DIV) {
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
    for (int d = 0; d < b->divs.n; d++) {
        if (b->divs.at[d].load != NULL) {
            int64_t lo, hi;
            type_range(b->tensors.at[b->divs.at[d].load->tensor].t.type, &lo, &hi);
            set = bound_dim(b, set, b->params.n + b->axes.n + d, lo, hi);
        }
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
    ctune_bound_begin(b->isl, BUDGET);
}

static bool is_overspent(ctune_build *b) {
    bool failed = isl_ctx_last_error(b->isl) != isl_error_none;
    ctune_bound_end(b->isl);
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

/* Value of a form at the representative sizes; axes count 0. */
static int64_t at_sizes(ctune_build *b, const ctune_aff *aff) {
    int64_t sum = aff->c0;
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        int64_t value = 0;
        if (t->kind == CTUNE_TERM_PARAM) {
            value = ctune_build_size(b, t->id);
        } else if (t->kind == CTUNE_TERM_DIV && b->divs.at[t->id].load == NULL) {
            int64_t num = at_sizes(b, b->divs.at[t->id].num), den = b->divs.at[t->id].den;
            value = num / den - (num % den < 0);
        }
        sum += t->coef * value;
    }
    return sum;
}

static bool all_hold(ctune_build *b, int n, const ctune_aff *const *facts) {
    for (int i = 0; i < n; i++) {
        if (facts[i] == NULL || at_sizes(b, facts[i]) < 0) {
            return false;
        }
    }
    for (int i = 0; i < b->assumes.n; i++) {
        if (at_sizes(b, b->assumes.at[i].aff) < 0) {
            return false;
        }
    }
    return true;
}

static int64_t raised(int64_t value, int64_t missing, int64_t coef) {
    int64_t by = (missing + (coef < 0 ? -coef : coef) - 1) / (coef < 0 ? -coef : coef);
    return coef > 0 ? value + by : value - by;
}

static bool is_free(const ctune_build *b, int param) {
    const ctune_param_info *info = &b->param_infos.at[param];
    return !info->is_factor && info->origin != CTUNE_SIZE_GIVEN &&
           info->origin != CTUNE_SIZE_DERIVED;
}

/* A guard for tiny sizes only is none; small arrays admit no others. */
static int64_t smallest(const ctune_build *b, int param) {
    return b->param_infos.at[param].most < 64 ? 1 : 16;
}

/* One step towards a broken fact: a size that the user did not give is changed. */
static bool move_size(ctune_build *b, const ctune_aff *fact) {
    int64_t missing = -at_sizes(b, fact);
    for (int pass = 0; pass < 2; pass++) { /* rather larger than smaller */
        for (int i = 0; i < fact->n_terms; i++) {
            const ctune_term *t = &fact->terms[i];
            bool is_movable =
                t->kind == CTUNE_TERM_PARAM && is_free(b, t->id) && (t->coef > 0) == (pass == 0);
            int64_t least = is_movable && t->coef < 0 ? smallest(b, t->id) : 0;
            int64_t size = is_movable ? raised(ctune_build_size(b, t->id), missing, t->coef) : -1;
            if (is_movable && size >= least && size <= b->param_infos.at[t->id].most) {
                b->params.at[t->id].n_sizes = 1;
                b->params.at[t->id].sizes[0] = size;
                return true;
            }
        }
    }
    return false;
}

enum { MAX_PARAMS = 64 };
typedef struct saved_sizes {
    int n[MAX_PARAMS];
    int64_t size[MAX_PARAMS];
} saved_sizes;

static void save_sizes(const ctune_build *b, saved_sizes *out) {
    for (int p = 0; p < b->params.n && p < MAX_PARAMS; p++) {
        out->n[p] = b->params.at[p].n_sizes;
        out->size[p] = b->params.at[p].sizes[0];
    }
}

static void restore_sizes(ctune_build *b, const saved_sizes *saved) {
    for (int p = 0; p < b->params.n && p < MAX_PARAMS; p++) {
        b->params.at[p].n_sizes = saved->n[p];
        b->params.at[p].sizes[0] = saved->size[p];
    }
}

bool ctune_facts_suit(ctune_build *b, int n, const ctune_aff *const *facts) {
    saved_sizes kept;
    save_sizes(b, &kept);
    for (int steps = 0; steps < 32 && !all_hold(b, n, facts); steps++) {
        const ctune_aff *broken = NULL;
        for (int i = 0; i < n + b->assumes.n && broken == NULL; i++) {
            const ctune_aff *fact = i < n ? facts[i] : b->assumes.at[i - n].aff;
            broken = fact != NULL && at_sizes(b, fact) < 0 ? fact : NULL;
        }
        if (broken == NULL || !move_size(b, broken)) {
            break;
        }
    }
    bool ok = all_hold(b, n, facts);
    if (!ok) {
        restore_sizes(b, &kept);
    }
    return ok;
}

typedef struct piece_choice {
    fact_list *facts;
    int n_cons;
    const ctune_aff *const *cons;
    bool moves_sizes;
    bool found;
} piece_choice;

/* Does anything run at the representative sizes? */
static bool has_points(ctune_build *b, int n_cons, const ctune_aff *const *cons) {
    isl_set *set = isl_set_universe(isl_space_set_alloc(b->isl, 0, (unsigned)n_dims(b)));
    for (int p = 0; p < b->params.n; p++) {
        int64_t size = ctune_build_size(b, p);
        set = bound_dim(b, set, p, size, size);
    }
    for (int i = 0; i < n_cons; i++) {
        set = restrict_to(b, set, cons[i]);
    }
    bool empty = isl_set_is_empty(set) != isl_bool_false;
    isl_set_free(set);
    return !empty;
}

static isl_stat try_piece(isl_basic_set *piece, void *user) {
    piece_choice *choice = user;
    if (!choice->found) {
        ctune_build *b = choice->facts->b;
        fact_list facts = {.b = b, .ok = true};
        saved_sizes kept;
        isl_basic_set_foreach_constraint(piece, take_constraint, &facts);
        save_sizes(b, &kept);
        bool ok = facts.ok && (choice->moves_sizes ? ctune_facts_suit(b, facts.n, facts.at) &&
                                                         has_points(b, choice->n_cons, choice->cons)
                                                   : all_hold(b, facts.n, facts.at));
        if (ok) {
            *choice->facts = facts;
            choice->found = true;
        } else {
            restore_sizes(b, &kept);
        }
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

/* The pieces of parameter space in which the claim holds; one of them is chosen. */
static bool find_facts(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                       const ctune_aff *aff, fact_list *facts) {
    budget_start(b);
    unsigned n_params = (unsigned)b->params.n, n_axes = (unsigned)n_rest(b);
    isl_set *bad = counterexamples(b, n_cons, cons, aff);
    bad = isl_set_project_out(bad, isl_dim_set, n_params, n_axes);
    bad = isl_set_add_dims(bad, isl_dim_set, n_axes);
    bad = isl_set_remove_divs(bad); /* more points are bad: a stronger fact, still sound */
    isl_set *good = isl_set_complement(bad);
    good = isl_set_coalesce(isl_set_gist(good, context(b)));
    piece_choice choice = {.facts = facts, .n_cons = n_cons, .cons = cons};
    isl_set_foreach_basic_set(good, try_piece, &choice);
    choice.moves_sizes = true;
    if (!choice.found) {
        isl_set_foreach_basic_set(good, try_piece, &choice);
    }
    isl_set_free(good);
    return !is_overspent(b) && choice.found && facts->n > 0;
}

bool ctune_facts_require(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                         const ctune_aff *aff) {
    if (ctune_facts_has(b, n_cons, cons, aff)) {
        return true;
    }
    if (b->is_trial && aff != NULL && !b->no_assume) {
        return true;
    }
    fact_list facts = {.b = b, .ok = true};
    if (aff == NULL || b->no_assume || b->params.n == 0 ||
        !find_facts(b, n_cons, cons, aff, &facts)) {
        return false;
    }
    return add_facts(b, &facts) && ctune_facts_has(b, n_cons, cons, aff);
}

int ctune_facts_reach(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                      const ctune_aff *form, const int64_t *sizes, int64_t *max) {
    budget_start(b);
    isl_set *set = isl_set_universe(isl_space_set_alloc(b->isl, 0, (unsigned)n_dims(b)));
    for (int p = 0; p < b->params.n; p++) {
        set = bound_dim(b, set, p, sizes[p], sizes[p]);
    }
    for (int i = 0; i < n_cons; i++) {
        set = restrict_to(b, set, cons[i]);
    }
    isl_bool empty = isl_set_is_empty(set);
    int found = empty == isl_bool_true ? 0 : -1;
    if (empty == isl_bool_false) {
        isl_local_space *space = isl_local_space_from_space(isl_set_get_space(set));
        isl_aff *aff = to_isl(b, space, form);
        isl_local_space_free(space);
        found = value_of(isl_set_max_val(set, aff), max) ? 1 : -1;
        isl_aff_free(aff);
    }
    isl_set_free(set);
    return is_overspent(b) ? -1 : found;
}

bool ctune_facts_require_here(ctune_build *b, const ctune_aff *aff) {
    return ctune_facts_require(b, b->domain.n, b->domain.at, aff);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *print_side(ctune_build *b, const ctune_aff *aff, int sign) {
    const char *text = NULL;
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        int64_t coef = sign * t->coef;
        if (coef <= 0 || t->kind != CTUNE_TERM_PARAM) {
            continue;
        }
        const char *name = b->params.at[t->id].c_text;
        const char *plus = text == NULL ? "" : " + ";
        text = coef == 1
                   ? ctune_arena_printf(b->arena, "%s%s%s", text == NULL ? "" : text, plus, name)
                   : ctune_arena_printf(b->arena, "%s%s%lld * %s", text == NULL ? "" : text, plus,
                                        (long long)coef, name);
    }
    int64_t c = sign * aff->c0;
    return c <= 0 && text != NULL
               ? text
               : ctune_arena_printf(b->arena, "%s%s%lld", text == NULL ? "" : text,
                                    text == NULL ? "" : " + ", (long long)(c > 0 ? c : 0));
}

typedef struct words {
    ctune_build *b;
    int n_cons;
    const ctune_aff *const *cons;
    const char *text;
} words;

/* Does the domain have points there at all? */
static bool is_vacuous(const words *w, isl_basic_set *piece) {
    isl_set *set = isl_set_from_basic_set(isl_basic_set_copy(piece));
    for (int i = 0; i < w->n_cons; i++) {
        set = restrict_to(w->b, set, w->cons[i]);
    }
    bool empty = isl_set_is_empty(set) != isl_bool_false;
    isl_set_free(set);
    return empty;
}

static isl_stat print_piece(isl_basic_set *piece, void *user) {
    words *w = user;
    fact_list facts = {.b = w->b, .ok = true};
    isl_basic_set_foreach_constraint(piece, take_constraint, &facts);
    bool vacuous = is_vacuous(w, piece);
    isl_basic_set_free(piece);
    if (w->text != NULL || vacuous || !facts.ok || facts.n == 0 || facts.n > 3) {
        return isl_stat_ok;
    }
    const char *text = NULL;
    for (int i = 0; i < facts.n; i++) {
        text = ctune_arena_printf(w->b->arena, "%s%s%s >= %s", text == NULL ? "" : text,
                                  text == NULL ? "" : ", ", print_side(w->b, facts.at[i], 1),
                                  print_side(w->b, facts.at[i], -1));
    }
    w->text = text;
    return isl_stat_ok;
}

const char *ctune_facts_text(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                             const ctune_aff *aff) {
    if (aff == NULL || b->params.n == 0) {
        return NULL;
    }
    budget_start(b);
    isl_set *bad = counterexamples(b, n_cons, cons, aff);
    bad = isl_set_project_out(bad, isl_dim_set, (unsigned)b->params.n, (unsigned)n_rest(b));
    bad = isl_set_add_dims(bad, isl_dim_set, (unsigned)n_rest(b));
    isl_set *good = isl_set_complement(isl_set_remove_divs(bad));
    good = isl_set_coalesce(isl_set_gist(good, context(b)));
    words w = {b, n_cons, cons, NULL};
    isl_set_foreach_basic_set(good, print_piece, &w);
    isl_set_free(good);
    return is_overspent(b) ? NULL : w.text;
}

bool ctune_facts_check(ctune_build *b) {
    if (ctune_facts_suit(b, 0, NULL)) {
        return true;
    }
    for (int i = 0; i < b->assumes.n; i++) {
        const ctune_assume *a = &b->assumes.at[i];
        if (at_sizes(b, a->aff) < 0) {
            const char *text = a->c_text;
            if (text == NULL) {
                text = ctune_arena_printf(b->arena, "%s >= %s", print_side(b, a->aff, 1),
                                          print_side(b, a->aff, -1));
            }
            return ctune_build_refuse_at(b, CTUNE_REFUSE_GUARD_FAILS, b->begin,
                                         "the loop needs '%s', which the given sizes break",
                                         text != NULL ? text : "a fact");
        }
    }
    return false;
}

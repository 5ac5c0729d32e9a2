/*
 * Affine forms, domains and accesses as isl objects; isl's errors as ours.
 *
 * In: a region or a tree. Out: basic sets and maps in the spaces of deps_private.h. Divs become
 * isl's integer divisions, so nothing is approximated but loads: an index with one may be anything,
 * and a condition with one always holds. Both only add dependences.
 */
#include "search/deps/deps_private.h"

#include "search/bound/bound.h"

#include <isl/constraint.h>
#include <isl/local_space.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- errors and budget
 * --------------------------------------------------------------------------------------- */

void ctune_isl_begin(isl_ctx *isl, unsigned long budget) {
    ctune_bound_begin(isl, budget);
}

ctune_status ctune_isl_end(ctune_ctx *ctx, isl_ctx *isl, const char *what) {
    enum isl_error error = isl_ctx_last_error(isl);
    ctune_bound_end(isl);
    switch (error) {
    case isl_error_none:
        return CTUNE_OK;
    case isl_error_quota:
    case isl_error_abort:
        return ctune_fail(ctx, CTUNE_EREFUSED, "%s: too complex: isl's operation budget is spent",
                          what);
    case isl_error_alloc:
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory in isl", what);
    default:
        return ctune_fail(ctx, CTUNE_EBUG, "%s: isl reports error %d", what, (int)error);
    }
}

/* ---- affine forms
 * -------------------------------------------------------------------------------------------- */

/* How TERM_AXIS ids stand in a space: a stage's axes, or the dims of a statement. */
typedef struct view {
    const ctune_region *region;
    isl_space *space; /* of the set that affs are functions on; owned */
    const int *ids;   /* [n_ids]: axis or dim at each position */
    int n_ids;
    const ctune_stmt *stmt;   /* dims of this statement; NULL: axes */
    const ctune_stage *stage; /* of the statement */
} view;

static isl_space *space_params(const ctune_deps *deps) {
    const ctune_region *region = deps->region;
    isl_space *space = isl_space_params_alloc(deps->isl, (unsigned)region->n_params);
    for (int p = 0; p < region->n_params; p++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", p);
        space = isl_space_set_dim_name(space, isl_dim_param, (unsigned)p, name);
    }
    return space;
}

static isl_space *space_tuple(const ctune_deps *deps, char letter, int number, int n_dims) {
    char name[16];
    snprintf(name, sizeof name, "%c%d", letter, number);
    isl_space *space = isl_space_set_from_params(space_params(deps));
    space = isl_space_add_dims(space, isl_dim_set, (unsigned)n_dims);
    return isl_space_set_tuple_name(space, isl_dim_set, name);
}

static view view_stage(const ctune_deps *deps, int i_stage) {
    const ctune_stage *stage = &deps->region->stages[i_stage];
    isl_space *space = space_tuple(deps, 'S', i_stage, stage->n_axes);
    return (view){deps->region, space, stage->axes, stage->n_axes, NULL, stage};
}

static view view_stmt(const ctune_deps *deps, const ctune_tree *tree, int i_stmt) {
    const ctune_stmt *stmt = &tree->stmts[i_stmt];
    isl_space *space = space_tuple(deps, 'D', i_stmt, stmt->n_dims);
    return (view){deps->region, space, stmt->dims,
                  stmt->n_dims, stmt,  &deps->region->stages[stmt->stage]};
}

static isl_val *val(const view *v, int64_t x) {
    return isl_val_int_from_si(isl_space_get_ctx(v->space), (long)x);
}

static isl_aff *convert(const view *v, const ctune_aff *aff);

/* The div's num stands over the stage's axes, also in a statement's affs. */
static isl_aff *convert_over_axes(const view *v, const ctune_aff *num) {
    if (v->stmt == NULL) {
        return convert(v, num);
    }
    isl_aff *sum = isl_aff_zero_on_domain_space(isl_space_copy(v->space));
    for (int t = 0; t < num->n_terms; t++) {
        const ctune_term *term = &num->terms[t];
        ctune_aff single = {0, 1, &(ctune_term){term->kind, term->id, 1}};
        const ctune_aff *over_dims =
            term->kind == CTUNE_TERM_AXIS ? ctune_stmt_axis(v->region, v->stmt, term->id) : &single;
        isl_aff *part = over_dims != NULL ? convert(v, over_dims) : NULL;
        sum = isl_aff_add(sum, isl_aff_scale_val(part, val(v, term->coef)));
    }
    return isl_aff_add_constant_val(sum, val(v, num->c0));
}

static isl_aff *convert_div(const view *v, int id) {
    const ctune_div *div = &v->region->divs[id];
    isl_aff *num = convert_over_axes(v, div->num);
    return isl_aff_floor(isl_aff_scale_down_val(num, val(v, div->den)));
}

static int position_of(const view *v, int id) {
    int p = 0;
    while (p < v->n_ids && v->ids[p] != id) {
        p++;
    }
    return p;
}

static isl_aff *convert(const view *v, const ctune_aff *aff) {
    isl_aff *out = isl_aff_zero_on_domain_space(isl_space_copy(v->space));
    out = isl_aff_set_constant_val(out, val(v, aff->c0));
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_PARAM) {
            out = isl_aff_set_coefficient_val(out, isl_dim_param, term->id, val(v, term->coef));
        } else if (term->kind == CTUNE_TERM_AXIS) {
            out = isl_aff_set_coefficient_val(out, isl_dim_in, position_of(v, term->id),
                                              val(v, term->coef));
        }
    }
    for (int t = 0; t < aff->n_terms; t++) {
        if (aff->terms[t].kind == CTUNE_TERM_DIV) {
            isl_aff *div = convert_div(v, aff->terms[t].id);
            out = isl_aff_add(out, isl_aff_scale_val(div, val(v, aff->terms[t].coef)));
        }
    }
    return out;
}

/* ---- sets and maps
 * ------------------------------------------------------------------------------------------- */

static isl_basic_set *restrict_to(const view *v, isl_basic_set *set, int n,
                                  const ctune_aff *const *cons) {
    for (int c = 0; c < n; c++) {
        if (ctune_aff_has_load(v->region, cons[c])) {
            continue; /* more points than there are: a superset of the dependences */
        }
        isl_aff *zero = isl_aff_zero_on_domain_space(isl_space_copy(v->space));
        isl_basic_set *half = isl_aff_ge_basic_set(convert(v, cons[c]), zero);
        set = isl_basic_set_intersect(set, half);
    }
    return set;
}

static isl_basic_set *domain_of(const view *v, int n_cons, const ctune_aff *const *cons) {
    isl_basic_set *set = isl_basic_set_universe(isl_space_copy(v->space));
    for (int i = 0; i < v->region->n_assumes; i++) {
        set = restrict_to(v, set, 1, &v->region->assumes[i].aff);
    }
    return restrict_to(v, set, n_cons, cons);
}

static isl_multi_aff *map_of(const view *v, isl_space *range, int n, const ctune_aff *const *affs) {
    isl_space *space = isl_space_map_from_domain_and_range(isl_space_copy(v->space), range);
    isl_multi_aff *map = isl_multi_aff_zero(space);
    for (int i = 0; i < n; i++) {
        if (!ctune_aff_has_load(v->region, affs[i])) {
            map = isl_multi_aff_set_aff(map, i, convert(v, affs[i]));
        }
    }
    return map;
}

isl_basic_set *ctune_isl_stage_domain(const ctune_deps *deps, int stage) {
    view v = view_stage(deps, stage);
    isl_basic_set *set = domain_of(&v, v.stage->n_cons, v.stage->cons);
    isl_space_free(v.space);
    return set;
}

isl_basic_set *ctune_isl_stmt_domain(const ctune_deps *deps, const ctune_tree *tree, int stmt) {
    view v = view_stmt(deps, tree, stmt);
    isl_basic_set *set = domain_of(&v, v.stmt->n_cons, v.stmt->cons);
    isl_space_free(v.space);
    return set;
}

isl_basic_set *ctune_isl_stmt_set(const ctune_deps *deps, const ctune_tree *tree, int stmt,
                                  int n_cons, const ctune_aff *const *cons) {
    view v = view_stmt(deps, tree, stmt);
    isl_basic_set *set = domain_of(&v, n_cons, cons);
    isl_space_free(v.space);
    return set;
}

isl_multi_aff *ctune_isl_stmt_map(const ctune_deps *deps, const ctune_tree *tree, int stmt) {
    view v = view_stmt(deps, tree, stmt);
    isl_space *range = space_tuple(deps, 'S', v.stmt->stage, v.stage->n_axes);
    isl_multi_aff *map = map_of(&v, range, v.stage->n_axes, v.stmt->iter);
    isl_space_free(v.space);
    return map;
}

isl_basic_map *ctune_isl_access(const ctune_deps *deps, int stage, const ctune_access *access) {
    view v = view_stage(deps, stage);
    isl_space *range = space_tuple(deps, 'T', access->tensor, access->n_idx);
    isl_multi_aff *map = map_of(&v, range, access->n_idx, access->idx);
    isl_space_free(v.space);
    isl_basic_map *touched = isl_basic_map_from_multi_aff(map);
    for (int i = 0; i < access->n_idx; i++) {
        if (ctune_aff_has_load(deps->region, access->idx[i])) { /* any element */
            touched =
                isl_basic_map_drop_constraints_involving_dims(touched, isl_dim_out, (unsigned)i, 1);
        }
    }
    return touched;
}

isl_basic_map *ctune_isl_compare(isl_basic_map *pairs, int in, int out, int sign) {
    isl_local_space *ls = isl_local_space_from_space(isl_basic_map_get_space(pairs));
    isl_constraint *con = sign == CTUNE_SIGN_ZERO ? isl_constraint_alloc_equality(ls)
                                                  : isl_constraint_alloc_inequality(ls);
    int coef = sign == CTUNE_SIGN_NEG ? -1 : 1;
    con = isl_constraint_set_coefficient_si(con, isl_dim_out, out, coef);
    con = isl_constraint_set_coefficient_si(con, isl_dim_in, in, -coef);
    con = isl_constraint_set_constant_si(con, sign == CTUNE_SIGN_ZERO ? 0 : -1);
    return isl_basic_map_add_constraint(pairs, con);
}

int ctune_isl_tuple_number(const char *name) {
    return name != NULL && name[0] != '\0' ? (int)strtol(name + 1, NULL, 10) : -1;
}

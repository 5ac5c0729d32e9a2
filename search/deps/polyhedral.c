/*
 * Structures proposed by isl's scheduler: ctune_tree_polyhedral of deps.h.
 *
 * In: the dependences. Out: a tree whose loops are the members of the schedule's bands. isl gives,
 * for each statement and band member, an affine form of the axes (a row). The rows around a
 * statement that are linearly independent, outermost first, are inverted (they must be unimodular):
 * that is the statement's iter map; the remaining rows say at which value of their loop the
 * statement runs, and become pairs of inequalities in its domain. A member that is constant for all
 * its statements makes no loop: its values only order the statements. `max` keeps whole bands
 * (tilable, with guards); the other modes move pinned statements out of loops afterwards (unpin.c).
 */
#include "search/deps/deps_private.h"
#include "search/deps/unimodular.h"

#include <isl/constraint.h>
#include <isl/options.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <stdio.h>
#include <string.h>

/* Larger skews make bands that nobody wants to run. */
enum { MAX_SKEW = 4 };

/* dim = coef . axes + rest; rest over parameters only. dim -1: an equality of the domain, the sum
 * is 0 */
typedef struct row {
    int64_t coef[CTUNE_MAX_DEPTH];
    const ctune_aff *rest;
    int dim;
} row;

typedef struct rows {
    int n;
    row row[2 * CTUNE_MAX_DEPTH]; /* bands first, then equalities (at a leaf) */
} rows;

typedef struct converter {
    const ctune_deps *deps;
    ctune_tree_builder *b;
    rows *rows;      /* [n_stages]: around the statement so far */
    uint64_t placed; /* statements that stand in the result */
    const char *why; /* not NULL: refused */
} converter;

/* ---- asking isl
 * ---------------------------------------------------------------------------------------------- */

static isl_union_map *collect_deps(const ctune_deps *deps, bool with_droppable) {
    isl_space *space = isl_basic_set_get_space(deps->domains[0]);
    isl_union_map *all = isl_union_map_empty(isl_space_params(space));
    for (int i = 0; i < deps->n_deps; i++) {
        const ctune_dep *dep = &deps->deps[i];
        for (int p = 0; p < dep->n_pieces && (with_droppable || !dep->can_drop); p++) {
            isl_map *map = isl_map_from_basic_map(isl_basic_map_copy(dep->pieces[p]));
            all = isl_union_map_add_map(all, map);
        }
    }
    return isl_union_map_coalesce(all);
}

static void set_options(isl_ctx *isl, ctune_poly_mode mode) {
    isl_options_set_schedule_serialize_sccs(isl, mode == CTUNE_POLY_MIN);
    isl_options_set_schedule_whole_component(isl, mode == CTUNE_POLY_MAX);
    isl_options_set_schedule_maximize_band_depth(isl, mode == CTUNE_POLY_MAX);
    isl_options_set_schedule_outer_coincidence(isl, mode == CTUNE_POLY_SMART);
    isl_options_set_schedule_maximize_coincidence(isl, mode == CTUNE_POLY_SMART);
    isl_options_set_schedule_treat_coalescing(isl, 1);
    isl_options_set_schedule_max_coefficient(isl, MAX_SKEW);
}

static isl_schedule *compute(const ctune_deps *deps, ctune_poly_mode mode) {
    isl_union_set *domain =
        isl_union_set_from_set(isl_set_from_basic_set(isl_basic_set_copy(deps->domains[0])));
    for (int s = 1; s < deps->region->n_stages; s++) {
        isl_basic_set *set = isl_basic_set_copy(deps->domains[s]);
        domain = isl_union_set_add_set(domain, isl_set_from_basic_set(set));
    }
    isl_union_map *validity = collect_deps(deps, false);
    isl_union_map *all = collect_deps(deps, true);
    isl_schedule_constraints *sc = isl_schedule_constraints_on_domain(domain);
    sc = isl_schedule_constraints_set_validity(sc, isl_union_map_copy(validity));
    sc = isl_schedule_constraints_set_coincidence(sc, validity);
    sc = isl_schedule_constraints_set_proximity(sc, all);
    set_options(deps->isl, mode);
    return isl_schedule_constraints_compute_schedule(sc);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool read_int(isl_val *value, int64_t *out) {
    bool is_int = isl_val_is_int(value) == isl_bool_true && isl_val_n_abs_num_chunks(value, 8) <= 1;
    *out = is_int ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return is_int && *out > -(1LL << 40) && *out < (1LL << 40);
}

static bool is_small(int64_t x) {
    return x >= -MAX_SKEW && x <= MAX_SKEW;
}

static bool read_aff(converter *c, const isl_aff *aff_const, int n_axes, row *out) {
    isl_aff *aff = (isl_aff *)aff_const;
    int64_t value;
    ctune_arena *arena = c->b->arena;
    bool ok = isl_aff_dim(aff, isl_dim_div) == 0 && read_int(isl_aff_get_constant_val(aff), &value);
    out->rest = ctune_aff_const(arena, ok ? value : 0);
    for (int d = 0; ok && d < n_axes; d++) {
        ok = read_int(isl_aff_get_coefficient_val(aff, isl_dim_in, d), &out->coef[d]) &&
             is_small(out->coef[d]);
    }
    for (int p = 0; ok && p < c->b->region->n_params; p++) {
        ok = read_int(isl_aff_get_coefficient_val(aff, isl_dim_param, p), &value);
        if (ok && value != 0) {
            out->rest =
                ctune_aff_add(arena, out->rest, ctune_aff_term(arena, CTUNE_TERM_PARAM, p, value));
        }
    }
    return ok && out->rest != NULL;
}

/* The row of each statement in `mask` for one band member: made[stage]. */
static bool read_member(converter *c, isl_union_pw_aff *member, uint64_t mask, row *made) {
    isl_pw_aff_list *list = isl_union_pw_aff_get_pw_aff_list(member);
    uint64_t seen = 0;
    int n = list != NULL ? isl_pw_aff_list_n_pw_aff(list) : 0;
    for (int i = 0; i < n; i++) {
        isl_pw_aff *pa = isl_pw_aff_list_get_pw_aff(list, i);
        isl_space *space = isl_pw_aff_get_domain_space(pa);
        int s = ctune_isl_tuple_number(isl_space_get_tuple_name(space, isl_dim_set));
        isl_space_free(space);
        bool is_ours = s >= 0 && s < c->b->region->n_stages && (mask >> s & 1);
        if (is_ours && isl_pw_aff_isa_aff(pa) == isl_bool_true) {
            isl_aff *aff = isl_pw_aff_as_aff(pa);
            pa = NULL;
            memset(&made[s], 0, sizeof made[s]);
            seen |=
                read_aff(c, aff, c->b->region->stages[s].n_axes, &made[s]) ? (uint64_t)1 << s : 0;
            isl_aff_free(aff);
        }
        isl_pw_aff_free(pa);
    }
    isl_pw_aff_list_free(list);
    return seen == mask;
}

/* ---- band members
 * -------------------------------------------------------------------------------------------- */

static bool is_constant(const row *r) {
    bool zero = r->rest != NULL && ctune_aff_is_const(r->rest);
    for (int d = 0; zero && d < CTUNE_MAX_DEPTH; d++) {
        zero = r->coef[d] == 0;
    }
    return zero;
}

static bool is_constant_for(const row *made, uint64_t mask) {
    for (int s = 0; s < CTUNE_MAX_STMTS; s++) {
        if ((mask >> s & 1) && !is_constant(&made[s])) {
            return false;
        }
    }
    return true;
}

/* Statements of mask with the smallest constant. */
static uint64_t first_group(const row *made, uint64_t mask) {
    uint64_t group = 0;
    int64_t least = INT64_MAX;
    for (int s = 0; s < CTUNE_MAX_STMTS; s++) {
        if ((mask >> s & 1) && made[s].rest->c0 <= least) {
            group = made[s].rest->c0 < least ? 0 : group;
            group |= (uint64_t)1 << s;
            least = made[s].rest->c0;
        }
    }
    return group;
}

/* "i" when the first statement's row is that axis alone, else "t<depth>". */
static int name_dim(converter *c, const row *made, uint64_t mask) {
    int s = __builtin_ctzll(mask);
    const row *r = &made[s];
    int axis = -1, n_terms = 0;
    for (int d = 0; d < CTUNE_MAX_DEPTH; d++) {
        axis = r->coef[d] == 1 ? d : axis;
        n_terms += r->coef[d] != 0;
    }
    if (n_terms == 1 && axis >= 0 && ctune_aff_is_const(r->rest) && r->rest->c0 == 0) {
        const ctune_region *region = c->b->region;
        return ctune_tree_builder_dim(c->b, region->axes[region->stages[s].axes[axis]].name);
    }
    char name[16];
    snprintf(name, sizeof name, "t%d", c->rows[s].n);
    return ctune_tree_builder_dim(c->b, name);
}

static void convert(converter *c, isl_schedule_node *node, int member, uint64_t mask,
                    ctune_tnodes *out);

static bool push_rows(converter *c, const row *made, uint64_t mask, int dim) {
    for (int s = 0; s < CTUNE_MAX_STMTS; s++) {
        if (!(mask >> s & 1)) {
            continue;
        }
        rows *list = &c->rows[s];
        if (list->n == CTUNE_MAX_DEPTH) {
            c->why = "the proposed nest is too deep";
            return false;
        }
        list->row[list->n] = made[s];
        list->row[list->n++].dim = dim;
    }
    return true;
}

static void pop_rows(converter *c, uint64_t mask) {
    for (int s = 0; s < CTUNE_MAX_STMTS; s++) {
        c->rows[s].n -= (int)(mask >> s & 1);
    }
}

static void convert_member(converter *c, isl_schedule_node *node, int member, const row *made,
                           uint64_t mask, ctune_tnodes *out) {
    if (is_constant_for(made, mask)) {
        for (uint64_t rest = mask; rest != 0 && c->why == NULL;) {
            uint64_t group = first_group(made, rest);
            convert(c, node, member + 1, group, out);
            rest &= ~group;
        }
        return;
    }
    int dim = name_dim(c, made, mask);
    ctune_tnodes *kids = CTUNE_NEW(c->b->arena, ctune_tnodes);
    if (dim < 0 || kids == NULL || !push_rows(c, made, mask, dim)) {
        c->why = c->why != NULL ? c->why : "too many loops";
        return;
    }
    convert(c, node, member + 1, mask, kids);
    pop_rows(c, mask);
    ctune_tnodes_append(out, ctune_tree_builder_loop(c->b, dim, kids));
}

static void convert_band(converter *c, isl_schedule_node *node, int member, uint64_t mask,
                         ctune_tnodes *out) {
    isl_multi_union_pw_aff *all = isl_schedule_node_band_get_partial_schedule(node);
    isl_union_pw_aff *one = isl_multi_union_pw_aff_get_union_pw_aff(all, member);
    row *made = CTUNE_NEW_ARRAY(c->b->arena, row, CTUNE_MAX_STMTS);
    if (made == NULL || !read_member(c, one, mask, made)) {
        c->why = "the proposed schedule is not affine with small coefficients";
    } else {
        convert_member(c, node, member, made, mask, out);
    }
    isl_union_pw_aff_free(one);
    isl_multi_union_pw_aff_free(all);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

typedef struct equalities {
    converter *c;
    rows *list;
    int n_axes;
} equalities;

static isl_stat add_equality(isl_constraint *con, void *user) {
    equalities *e = user;
    row *r = &e->list->row[e->list->n];
    isl_aff *aff = isl_constraint_get_aff(con);
    if (isl_constraint_is_equality(con) == isl_bool_true && e->list->n < 2 * CTUNE_MAX_DEPTH) {
        memset(r, 0, sizeof *r);
        r->dim = -1;
        e->list->n += read_aff(e->c, aff, e->n_axes, r);
    }
    isl_aff_free(aff);
    isl_constraint_free(con);
    return isl_stat_ok;
}

/* A statement whose domain has equalities needs fewer band rows than it has axes: the equalities
 * complete them. */
static void add_equalities(converter *c, int s) {
    equalities e = {c, &c->rows[s], c->b->region->stages[s].n_axes};
    isl_basic_set *set =
        isl_set_affine_hull(isl_set_from_basic_set(isl_basic_set_copy(c->deps->domains[s])));
    isl_basic_set_foreach_constraint(set, add_equality, &e);
    isl_basic_set_free(set);
}

/* The outermost linearly independent rows: chosen[k] is the k-th; false when they do not span the
 * axes. */
static bool choose_basis(const rows *list, int n_axes, int *chosen) {
    ctune_matrix m = {.n_rows = 0, .n_cols = n_axes};
    for (int r = 0; r < list->n && m.n_rows < n_axes; r++) {
        memcpy(m.at[m.n_rows], list->row[r].coef, sizeof list->row[r].coef);
        m.n_rows++;
        if (ctune_matrix_rank(&m) == m.n_rows) {
            chosen[m.n_rows - 1] = r;
        } else {
            m.n_rows--;
        }
    }
    return m.n_rows == n_axes;
}

static void invert_rows(converter *c, int s, const int *chosen, ctune_stmt *stmt) {
    const rows *list = &c->rows[s];
    ctune_arena *arena = c->b->arena;
    int n = c->b->region->stages[s].n_axes;
    ctune_matrix m = {.n_rows = n, .n_cols = n}, inverse;
    for (int k = 0; k < n; k++) {
        memcpy(m.at[k], list->row[chosen[k]].coef, sizeof list->row[0].coef);
    }
    if (!ctune_matrix_invert(&m, &inverse)) {
        c->why = "the proposed schedule is not unimodular";
        return;
    }
    for (int d = 0; d < n; d++) {
        stmt->iter[d] = ctune_aff_const(arena, 0);
        for (int k = 0; k < n; k++) {
            const row *r = &list->row[chosen[k]];
            const ctune_aff *dim = r->dim < 0 ? ctune_aff_const(arena, 0)
                                              : ctune_aff_term(arena, CTUNE_TERM_AXIS, r->dim, 1);
            const ctune_aff *free = ctune_aff_sub(arena, dim, r->rest);
            if (inverse.at[d][k] != 0) {
                stmt->iter[d] = ctune_aff_add(arena, stmt->iter[d],
                                              ctune_aff_scale(arena, free, inverse.at[d][k]));
            }
        }
    }
}

/* row's dim minus what the row says, over dims: zero where the statement runs */
static const ctune_aff *pin_of(const converter *c, int s, const row *r) {
    ctune_arena *arena = c->b->arena;
    const ctune_aff *at = r->rest;
    for (int d = 0; d < c->b->region->stages[s].n_axes; d++) {
        if (r->coef[d] != 0) {
            at = ctune_aff_add(arena, at,
                               ctune_aff_scale(arena, c->b->stmts[s].iter[d], r->coef[d]));
        }
    }
    return ctune_aff_sub(arena, ctune_aff_term(arena, CTUNE_TERM_AXIS, r->dim, 1), at);
}

static void place_cons(converter *c, int s, const int *chosen) {
    const ctune_stage *stage = &c->b->region->stages[s];
    const rows *list = &c->rows[s];
    ctune_arena *arena = c->b->arena;
    ctune_stmt *stmt = &c->b->stmts[s];
    const ctune_aff **map = CTUNE_NEW_ARRAY(arena, const ctune_aff *, c->b->region->n_axes + 1);
    const ctune_aff **cons =
        CTUNE_NEW_ARRAY(arena, const ctune_aff *, stage->n_cons + 2 * CTUNE_MAX_DEPTH);
    if (map == NULL || cons == NULL) {
        return;
    }
    for (int d = 0; d < stage->n_axes; d++) {
        map[stage->axes[d]] = stmt->iter[d];
    }
    int n = 0;
    for (int i = 0; i < stage->n_cons; i++) {
        cons[n] = ctune_aff_map(arena, stage->cons[i], map);
        bool is_true = cons[n] != NULL && ctune_aff_is_const(cons[n]) && cons[n]->c0 >= 0;
        n += !is_true;
    }
    for (int r = 0, k = 0; r < list->n; r++) {
        if (k < stage->n_axes && chosen[k] == r) {
            k++;
            continue;
        }
        cons[n] = pin_of(c, s, &list->row[r]);
        cons[n + 1] = ctune_aff_scale(arena, cons[n], -1);
        n += 2;
    }
    stmt->cons = cons;
    stmt->n_cons = n;
}

static void place_stmt(converter *c, int s, ctune_tnodes *out) {
    rows *list = &c->rows[s];
    int chosen[CTUNE_MAX_DEPTH], n_bands = list->n;
    ctune_stmt *stmt = &c->b->stmts[s];
    add_equalities(c, s);
    *stmt = (ctune_stmt){.stage = s, .n_dims = n_bands};
    for (int r = 0; r < n_bands; r++) {
        stmt->dims[r] = list->row[r].dim;
    }
    if (!choose_basis(list, c->b->region->stages[s].n_axes, chosen)) {
        c->why = "the proposed schedule leaves an order open";
    } else {
        invert_rows(c, s, chosen, stmt);
    }
    list->n = n_bands;
    if (c->why == NULL) {
        place_cons(c, s, chosen);
        c->placed |= (uint64_t)1 << s;
        ctune_tnodes_append(out, ctune_tree_builder_stmt(c->b, s));
    }
}

/* ---- the schedule tree
 * --------------------------------------------------------------------------------------- */

static isl_stat add_to_mask(isl_set *set, void *user) {
    int s = ctune_isl_tuple_number(isl_set_get_tuple_name(set));
    *(uint64_t *)user |= s >= 0 && s < CTUNE_MAX_STMTS ? (uint64_t)1 << s : 0;
    isl_set_free(set);
    return isl_stat_ok;
}

static uint64_t filter_mask(isl_schedule_node *filter) {
    uint64_t mask = 0;
    isl_union_set *set = isl_schedule_node_filter_get_filter(filter);
    isl_union_set_foreach_set(set, add_to_mask, &mask);
    isl_union_set_free(set);
    return mask;
}

static void convert_children(converter *c, isl_schedule_node *node, uint64_t mask,
                             ctune_tnodes *out) {
    int n = isl_schedule_node_n_children(node);
    for (int i = 0; i < n && c->why == NULL; i++) {
        isl_schedule_node *kid = isl_schedule_node_get_child(node, i);
        convert(c, kid, 0, mask, out);
        isl_schedule_node_free(kid);
    }
}

/* node from band member `member` on, for the statements in mask. */
static void convert(converter *c, isl_schedule_node *node, int member, uint64_t mask,
                    ctune_tnodes *out) {
    if (mask == 0 || c->why != NULL) {
        return;
    }
    switch (isl_schedule_node_get_type(node)) {
    case isl_schedule_node_leaf:
        for (int s = 0; s < CTUNE_MAX_STMTS && c->why == NULL; s++) {
            if (mask >> s & 1) {
                place_stmt(c, s, out);
            }
        }
        break;
    case isl_schedule_node_band:
        if (member < isl_schedule_node_band_n_member(node)) {
            convert_band(c, node, member, mask, out);
        } else {
            convert_children(c, node, mask, out);
        }
        break;
    case isl_schedule_node_filter:
        convert_children(c, node, mask & filter_mask(node), out);
        break;
    case isl_schedule_node_domain:
    case isl_schedule_node_sequence:
    case isl_schedule_node_set:
    case isl_schedule_node_mark:
        convert_children(c, node, mask, out);
        break;
    default:
        c->why = "the proposed schedule has a node of an unknown kind";
        break;
    }
}

static ctune_status convert_schedule(ctune_ctx *ctx, const ctune_deps *deps, isl_schedule *schedule,
                                     ctune_tree **out) {
    ctune_tree_builder b;
    ctune_status status = ctune_tree_builder_init(ctx, &b, deps->region);
    if (status != CTUNE_OK) {
        return status;
    }
    int n_stages = deps->region->n_stages;
    converter c = {.deps = deps, .b = &b};
    c.rows = CTUNE_NEW_ARRAY(b.arena, rows, CTUNE_MAX_STMTS);
    ctune_tnodes *kids = CTUNE_NEW(b.arena, ctune_tnodes);
    if (c.rows == NULL || kids == NULL) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a polyhedral schedule");
    }
    uint64_t all = ((uint64_t)1 << n_stages) - 1;
    b.n_stmts = n_stages;
    isl_schedule_node *root = isl_schedule_get_root(schedule);
    convert(&c, root, 0, all, kids);
    isl_schedule_node_free(root);
    if (ctune_arena_has_failed(b.arena)) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory for a polyhedral schedule");
    }
    if (c.why == NULL && c.placed != all) {
        c.why = "a statement never runs";
    }
    if (c.why != NULL) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_EREFUSED, "polyhedral: %s", c.why);
    }
    return ctune_tree_builder_finish(ctx, &b, kids, out);
}

ctune_status ctune_tree_polyhedral(ctune_ctx *ctx, ctune_deps *deps, ctune_poly_mode mode,
                                   ctune_tree **out) {
    *out = NULL;
    if (deps->region->n_stages == 0) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "polyhedral: the region has no statement");
    }
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_SCHEDULE);
    isl_schedule *schedule = compute(deps, mode);
    ctune_tree *tree = NULL;
    ctune_status status = CTUNE_OK;
    if (schedule != NULL) {
        status = convert_schedule(ctx, deps, schedule, &tree);
    }
    bool is_none = schedule == NULL;
    isl_schedule_free(schedule);
    ctune_status isl_status = ctune_isl_end(ctx, deps->isl, "polyhedral");
    if (isl_status != CTUNE_OK) {
        ctune_tree_destroy(tree);
        return isl_status == CTUNE_EBUG && is_none
                   ? ctune_fail(ctx, CTUNE_EREFUSED,
                                "polyhedral: isl's scheduler finds no schedule")
                   : isl_status;
    }
    if (status == CTUNE_OK) {
        status = ctune_tree_accept(ctx, deps, tree, out);
    }
    if (status == CTUNE_OK && mode != CTUNE_POLY_MAX) {
        status = ctune_tree_unpin(ctx, deps, out);
        if (status != CTUNE_OK) {
            ctune_tree_destroy(*out);
            *out = NULL;
        }
    }
    return status;
}

/*
 * Legality of loops that are no dims of the tree: ctune_deps_check_levels of deps.h.
 *
 * In: for each pair of statements the loops around both, each an affine form of either side's
 * loops, its tiles or a sum of tile numbers. The dependent pairs that no loop so far has told apart
 * are carried from loop to loop: none of them may move backwards; those that surely move forwards
 * are done. Tile numbers of aligned tiles become extra dimensions of both sides.
 */
#include "search/deps/deps_private.h"

#include <isl/constraint.h>
#include <isl/local_space.h>
#include <isl/val.h>

typedef struct checker {
    const ctune_deps *deps;
    const ctune_tree *tree;
    ctune_deps_lister lister;
    const void *data;
    const int *position;
    ctune_deps_level *level; /* [CTUNE_MAX_LEVELS], scratch */
    const char *backwards;   /* loop that is violated; "" = the order of the text */
    bool is_carried;         /* by a spread loop */
} checker;

static isl_constraint *set_coef(isl_constraint *con, enum isl_dim_type type, int pos, int64_t x) {
    isl_ctx *isl = isl_constraint_get_ctx(con);
    return x == 0 ? con
                  : isl_constraint_set_coefficient_val(con, type, pos,
                                                       isl_val_int_from_si(isl, (long)x));
}

static isl_constraint *set_constant(isl_constraint *con, int64_t x) {
    isl_ctx *isl = isl_constraint_get_ctx(con);
    return isl_constraint_set_constant_val(con, isl_val_int_from_si(isl, (long)x));
}

/* sign * (f(dst) - f(src)) + c >= 0, or == 0, over the loops of both sides. */
static isl_map *restrict_change(isl_map *pairs, const ctune_deps_level_term *term, int64_t sign,
                                int64_t c, bool is_equal) {
    isl_local_space *ls = isl_local_space_from_space(isl_map_get_space(pairs));
    isl_constraint *con =
        is_equal ? isl_constraint_alloc_equality(ls) : isl_constraint_alloc_inequality(ls);
    for (int d = 0; d < CTUNE_MAX_DEPTH; d++) {
        con = set_coef(con, isl_dim_in, d, -sign * term->form[0][d]);
        con = set_coef(con, isl_dim_out, d, sign * term->form[1][d]);
    }
    con = set_constant(con, sign * (term->shift[1] - term->shift[0]) + c);
    return isl_map_add_constraint(pairs, con);
}

/* A new last dimension of one side: the number of the tile that holds the form's value. */
static isl_map *add_tile(isl_map *pairs, enum isl_dim_type type, int side,
                         const ctune_deps_level_term *term) {
    int last = (int)isl_map_dim(pairs, type);
    pairs = isl_map_add_dims(pairs, type, 1);
    for (int end = 0; end < 2; end++) {
        int sign = end == 0 ? 1 : -1; /* 0 <= form - step * tile <= step - 1 */
        isl_local_space *ls = isl_local_space_from_space(isl_map_get_space(pairs));
        isl_constraint *con = isl_constraint_alloc_inequality(ls);
        for (int d = 0; d < CTUNE_MAX_DEPTH; d++) {
            con = set_coef(con, type, d, sign * term->form[side][d]);
        }
        con = set_coef(con, type, last, -sign * term->step);
        con = set_constant(con, sign * term->shift[side] + (end == 0 ? 0 : term->step - 1));
        pairs = isl_map_add_constraint(pairs, con);
    }
    return pairs;
}

/* The level as one term over dimensions that exist: numbers of aligned tiles are added. */
static isl_map *flatten(isl_map *pairs, const ctune_deps_level *level, ctune_deps_level_term *out) {
    *out = (ctune_deps_level_term){.coef = 1, .step = 1};
    for (int t = 0; t < level->n_terms; t++) {
        const ctune_deps_level_term *term = &level->term[t];
        bool has_tiles = term->step > 1 && term->is_aligned;
        if (!has_tiles) {
            out->step = term->step;
            for (int side = 0; side < 2; side++) {
                for (int d = 0; d < CTUNE_MAX_DEPTH; d++) {
                    out->form[side][d] += term->coef * term->form[side][d];
                }
                out->shift[side] += term->coef * term->shift[side];
            }
            continue;
        }
        for (int side = 0; side < 2; side++) {
            enum isl_dim_type type = side == 0 ? isl_dim_in : isl_dim_out;
            int last = (int)isl_map_dim(pairs, type);
            if (last < 0 || last >= CTUNE_MAX_DEPTH) {
                isl_map_free(pairs);
                return NULL;
            }
            pairs = add_tile(pairs, type, side, term);
            out->form[side][last] = term->coef;
        }
    }
    return pairs;
}

static bool is_nonempty(isl_map *pairs) {
    isl_bool empty = isl_map_is_empty(pairs);
    isl_map_free(pairs);
    return empty != isl_bool_true; /* also when isl has failed: the status tells */
}

/* Takes pairs; returns those that the loop leaves together, NULL when it is violated. */
static isl_map *pass_level(checker *w, const ctune_deps_level *level, isl_map *pairs) {
    ctune_deps_level_term term;
    pairs = flatten(pairs, level, &term);
    if (is_nonempty(restrict_change(isl_map_copy(pairs), &term, -1, -1, false))) {
        w->backwards = level->name;
        isl_map_free(pairs);
        return NULL;
    }
    if (level->is_spread &&
        is_nonempty(restrict_change(isl_map_copy(pairs), &term, 1, -1, false))) {
        w->backwards = level->name;
        w->is_carried = true;
        isl_map_free(pairs);
        return NULL;
    }
    return term.step == 1 ? restrict_change(pairs, &term, 1, 0, true)
                          : restrict_change(pairs, &term, -1, term.step - 1, false);
}

static isl_map *pairs_of(const checker *w, const ctune_dep *dep, int piece, int src, int dst) {
    isl_basic_map *pairs = isl_basic_map_copy(dep->pieces[piece]);
    pairs =
        isl_basic_map_preimage_domain_multi_aff(pairs, ctune_isl_stmt_map(w->deps, w->tree, src));
    pairs = isl_basic_map_intersect_domain(pairs, ctune_isl_stmt_domain(w->deps, w->tree, src));
    pairs =
        isl_basic_map_preimage_range_multi_aff(pairs, ctune_isl_stmt_map(w->deps, w->tree, dst));
    pairs = isl_basic_map_intersect_range(pairs, ctune_isl_stmt_domain(w->deps, w->tree, dst));
    return isl_map_from_basic_map(pairs);
}

static void check_pair(checker *w, const ctune_dep *dep, int src, int dst) {
    int n = w->lister(w->data, src, dst, w->level, CTUNE_MAX_LEVELS);
    if (n > CTUNE_MAX_LEVELS) {
        w->backwards = w->level[0].name; /* too deep to judge */
    }
    for (int p = 0; p < dep->n_pieces && n >= 0 && w->backwards == NULL; p++) {
        isl_map *pairs = pairs_of(w, dep, p, src, dst);
        for (int k = 0; k < n && pairs != NULL; k++) {
            pairs = pass_level(w, &w->level[k], pairs);
        }
        if (w->backwards == NULL && w->position[src] >= w->position[dst] &&
            is_nonempty(isl_map_copy(pairs))) {
            w->backwards = "";
        }
        isl_map_free(pairs);
    }
}

static void explain(ctune_ctx *ctx, const checker *w, const ctune_dep *dep) {
    const ctune_region *region = w->deps->region;
    const char *src = region->stages[dep->src].name, *dst = region->stages[dep->dst].name;
    const char *tensor = region->tensors[dep->tensor].name;
    if (w->backwards[0] == '\0') {
        ctune_fail(ctx, CTUNE_EREFUSED, "dependence %s -> %s on '%s' needs %s to come first", src,
                   dst, tensor, src);
    } else {
        ctune_fail(ctx, CTUNE_EREFUSED, "dependence %s -> %s on '%s' %s loop %s", src, dst, tensor,
                   w->is_carried ? "is carried by the parallel or vector"
                                 : "would run backwards at",
                   w->backwards);
    }
}

static void check_dep(checker *w, const ctune_dep *dep) {
    for (int s = 0; s < w->tree->n_stmts; s++) {
        for (int d = 0; d < w->tree->n_stmts && w->backwards == NULL; d++) {
            if (w->tree->stmts[s].stage == dep->src && w->tree->stmts[d].stage == dep->dst) {
                check_pair(w, dep, s, d);
            }
        }
    }
}

ctune_status ctune_deps_check_levels(ctune_ctx *ctx, ctune_deps *deps, const ctune_tree *tree,
                                     ctune_deps_lister lister, const void *data, bool *legal) {
    *legal = false;
    ctune_arena *scratch = ctune_arena_create(ctx);
    int *position = CTUNE_NEW_ARRAY(scratch, int, tree->n_stmts + 1);
    ctune_deps_level *level = CTUNE_NEW_ARRAY(scratch, ctune_deps_level, CTUNE_MAX_LEVELS);
    if (position == NULL || level == NULL) {
        ctune_arena_destroy(scratch);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while checking an order");
    }
    ctune_tree_positions(tree, position);
    checker w = {deps, tree, lister, data, position, level, NULL, false};
    int i = 0;
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_CHECK);
    for (; i < deps->n_deps && w.backwards == NULL; i++) {
        if (!deps->deps[i].can_drop) {
            check_dep(&w, &deps->deps[i]);
        }
    }
    ctune_status status = ctune_isl_end(ctx, deps->isl, "legality");
    if (status == CTUNE_OK && w.backwards != NULL) {
        explain(ctx, &w, &deps->deps[i - 1]);
    }
    *legal = status == CTUNE_OK && w.backwards == NULL;
    ctune_arena_destroy(scratch);
    return status == CTUNE_EREFUSED ? CTUNE_OK : status;
}

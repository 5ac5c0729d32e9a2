/*
 * Where the elements that a read touches stay as they are: ctune_deps_stable of deps.h.
 *
 * In: a tree, one of its statements, an access of its stage. Out: how many of the loops around the
 * statement must stand still for no statement beside it, in the body of the last of these the loop
 * that holds it, to write what the access touches. A blocked factorisation reads only what earlier
 * blocks have finished, so such reads may be packed inside the nest that writes the tensor. Exact
 * over the integers for all parameter values.
 */
#include "search/deps/deps_private.h"

/* Loops of the statement -> element. */
static isl_basic_map *touched(const ctune_deps *deps, const ctune_tree *tree, int stmt,
                              const ctune_access *access) {
    isl_basic_map *map = ctune_isl_access(deps, tree->stmts[stmt].stage, access);
    map = isl_basic_map_preimage_domain_multi_aff(map, ctune_isl_stmt_map(deps, tree, stmt));
    return isl_basic_map_intersect_domain(map, ctune_isl_stmt_domain(deps, tree, stmt));
}

/* Loops to hold so that `writer` writes nothing that the access touches. */
static int against(const ctune_deps *deps, const ctune_tree *tree, int stmt,
                   const ctune_access *access, int writer) {
    const ctune_stmt *a = &tree->stmts[stmt], *b = &tree->stmts[writer];
    isl_basic_map *pairs = isl_basic_map_apply_range(
        touched(deps, tree, stmt, access),
        isl_basic_map_reverse(touched(deps, tree, writer, &deps->region->stages[b->stage].target)));
    int level = 0;
    bool is_empty = isl_basic_map_is_empty(pairs) == isl_bool_true;
    while (!is_empty && level < a->n_dims && level < b->n_dims &&
           a->dims[level] == b->dims[level]) {
        pairs = ctune_isl_compare(pairs, level, level, CTUNE_SIGN_ZERO);
        is_empty = isl_basic_map_is_empty(pairs) == isl_bool_true;
        level++;
    }
    isl_basic_map_free(pairs);
    return level; /* not empty: in that loop's body the writer stands beside, not around */
}

/* With the common loops held the statement's own branch of the body does not hold the writer. */
int ctune_deps_stable(ctune_ctx *ctx, const ctune_deps *deps, const ctune_tree *tree, int stmt,
                      const ctune_access *access) {
    int depth = 0;
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_DISTANCE);
    for (int w = 0; w < tree->n_stmts; w++) {
        if (deps->region->stages[tree->stmts[w].stage].target.tensor == access->tensor) {
            int level = against(deps, tree, stmt, access, w);
            depth = level > depth ? level : depth;
        }
    }
    return ctune_isl_end(ctx, deps->isl, "stability") == CTUNE_OK ? depth : CTUNE_MAX_DEPTH + 1;
}

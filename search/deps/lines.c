/*
 * Lines: dims of different statements that walk the same dimension of the same data, such as the
 * rows of the two sweeps in a time loop. A tile over such dims together (schedule: `tile`) needs
 * the distances of dependences along the line, also between statements that do not share the loop.
 *
 * In: a tree. Out: the line of each dim. Two dims of statements below one loop are in one line when
 * an index of both statements into one tensor is that dim plus a constant; a line has at most one
 * dim of a statement. A statement that is in none of its dims stands at 0 of it.
 */
#include "search/deps/deps_private.h"

#include <string.h>

typedef struct use {
    int stmt, tensor, place, dim; /* index `place` of the tensor is dim + constant */
} use;

typedef struct finder {
    const ctune_region *region;
    const ctune_tree *tree;
    int8_t root[CTUNE_MAX_DIMS]; /* union-find without ranks */
    int n_uses, size;
    use *use;
} finder;

static int root_of(const finder *f, int dim) {
    while (f->root[dim] != dim) {
        dim = f->root[dim];
    }
    return dim;
}

/* The statement's dim in the class of `root`, -1 when it has none. */
static int dim_in(const finder *f, const ctune_stmt *stmt, int root) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (root_of(f, stmt->dims[p]) == root) {
            return stmt->dims[p];
        }
    }
    return -1;
}

static void join(finder *f, int a, int b) {
    int x = root_of(f, a), y = root_of(f, b);
    for (int s = 0; s < f->tree->n_stmts; s++) {
        if (dim_in(f, &f->tree->stmts[s], x) >= 0 && dim_in(f, &f->tree->stmts[s], y) >= 0) {
            return; /* already the same, or two dims of one statement */
        }
    }
    f->root[x > y ? x : y] = (int8_t)(x > y ? y : x);
}

/* The dim that an index is, up to a constant; -1: it is more than that. */
static int only_dim(const ctune_stmt *stmt, const ctune_region *region, const ctune_aff *idx) {
    int dim = -1;
    if (ctune_aff_has_kind(idx, CTUNE_TERM_DIV)) {
        return -1;
    }
    for (int p = 0; p < stmt->n_dims; p++) {
        int64_t coef = ctune_stmt_coef(region, stmt, idx, stmt->dims[p]);
        if (coef != 0 && (coef != 1 || dim >= 0)) {
            return -1;
        }
        dim = coef != 0 ? stmt->dims[p] : dim;
    }
    return dim;
}

static void add_uses(finder *f, int i_stmt, const ctune_access *access) {
    const ctune_stmt *stmt = &f->tree->stmts[i_stmt];
    for (int i = 0; i < access->n_idx && f->n_uses < f->size; i++) {
        use u = {i_stmt, access->tensor, i, only_dim(stmt, f->region, access->idx[i])};
        bool is_known = u.dim < 0;
        for (int k = f->n_uses - 1; k >= 0 && f->use[k].stmt == i_stmt && !is_known; k--) {
            is_known = memcmp(&f->use[k], &u, sizeof u) == 0;
        }
        if (!is_known) {
            f->use[f->n_uses++] = u;
        }
    }
}

static bool list_uses(finder *f, ctune_arena *scratch) {
    for (int s = 0; s < f->tree->n_stmts; s++) {
        const ctune_stage *stage = &f->region->stages[f->tree->stmts[s].stage];
        f->size += stage->target.n_idx + stage->n_reads * CTUNE_MAX_RANK;
    }
    f->use = CTUNE_NEW_ARRAY(scratch, use, f->size + 1);
    for (int s = 0; s < f->tree->n_stmts && f->use != NULL; s++) {
        const ctune_stage *stage = &f->region->stages[f->tree->stmts[s].stage];
        add_uses(f, s, &stage->target);
        for (int r = 0; r < stage->n_reads; r++) {
            add_uses(f, s, &stage->reads[r]->access);
        }
    }
    return f->use != NULL;
}

static bool is_common(const ctune_stmt *a, const ctune_stmt *b, int dim) {
    int n = ctune_stmt_common(a, b);
    for (int p = 0; p < n; p++) {
        if (a->dims[p] == dim) {
            return true;
        }
    }
    return false;
}

/* Do two statements below one loop stand in different dims of the class, or only one of them? */
static bool is_wanted(const finder *f, int root) {
    const ctune_stmt *stmts = f->tree->stmts;
    for (int a = 0; a < f->tree->n_stmts; a++) {
        int dim = dim_in(f, &stmts[a], root);
        for (int b = 0; b < f->tree->n_stmts && dim >= 0; b++) {
            if (a != b && ctune_stmt_common(&stmts[a], &stmts[b]) > 0 &&
                !is_common(&stmts[a], &stmts[b], dim)) {
                return true;
            }
        }
    }
    return false;
}

bool ctune_tree_lines(const ctune_region *region, const ctune_tree *tree, ctune_arena *scratch,
                      int8_t *line) {
    finder f = {.region = region, .tree = tree};
    int n = 0;
    for (int d = 0; d < tree->n_dims; d++) {
        f.root[d] = (int8_t)d;
        line[d] = -1;
    }
    if (!list_uses(&f, scratch)) {
        return false;
    }
    for (int a = 0; a < f.n_uses; a++) {
        for (int b = a + 1; b < f.n_uses; b++) {
            const use *x = &f.use[a], *y = &f.use[b];
            if (x->tensor == y->tensor && x->place == y->place && x->stmt != y->stmt &&
                x->dim != y->dim &&
                ctune_stmt_common(&tree->stmts[x->stmt], &tree->stmts[y->stmt]) > 0) {
                join(&f, x->dim, y->dim);
            }
        }
    }
    for (int d = 0; d < tree->n_dims; d++) {
        int root = root_of(&f, d);
        if (root == d && n < CTUNE_MAX_LINES && is_wanted(&f, d)) {
            line[d] = (int8_t)n++;
        } else if (root != d) {
            line[d] = line[root];
        }
    }
    return true;
}

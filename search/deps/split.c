/*
 * Splitting a domain at a condition (index-set splitting): ctune_tree_split_domain of deps.h.
 *
 * In: a tree, one of its loops, an affine condition. Out: the loop twice, one after the other, its
 * statements in pieces: those instances for which the condition holds, then the others. A statement
 * for which it holds always or never stays whole, in one of the two. Constraints
 * that a piece's other constraints imply are dropped, so that an interior has plain bounds. Whether
 * the new order is legal is left to ctune_tree_hand_over.
 */
#include "search/deps/deps_private.h"

#include <stdio.h>
#include <string.h>

enum { SIDE_FIRST = 1, SIDE_SECOND = 2 };

typedef struct splitter {
    const ctune_deps *deps;
    const ctune_tree *from;
    ctune_tree_builder *b;
    int dim; /* the loop to split */
    const ctune_aff *cond, *not_cond;
    uint64_t stmts;               /* below it */
    int sides[CTUNE_MAX_STMTS];   /* SIDE_*: where it has instances */
    int stmt_to[CTUNE_MAX_STMTS]; /* its second piece, or itself when that is all of it */
    const ctune_aff **dim_to;     /* [CTUNE_MAX_DIMS]: the second copy's dims, others: themselves */
    int new_dim[CTUNE_MAX_DIMS];  /* -1: not copied */
    bool is_done;
    ctune_status status; /* of isl */
    const char *why;
} splitter;

static bool is_name_taken(const ctune_tree_builder *b, const char *name) {
    for (int s = 0; s < b->region->n_stages; s++) {
        if (strcmp(b->region->stages[s].name, name) == 0) {
            return true;
        }
    }
    for (int s = 0; s < b->n_stmts; s++) {
        if (b->stmts[s].name != NULL && strcmp(b->stmts[s].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static const char *new_name(ctune_tree_builder *b, int stage) {
    for (int k = 2;; k++) {
        char *name = ctune_arena_printf(b->arena, "%.17s_%d", b->region->stages[stage].name, k);
        if (name == NULL || !is_name_taken(b, name)) {
            return name;
        }
    }
}

/* Does the statement run inside every loop that the condition speaks of? */
static bool has_dims(const ctune_stmt *stmt, const ctune_aff *cond) {
    for (int t = 0; t < cond->n_terms; t++) {
        bool is_found = cond->terms[t].kind != CTUNE_TERM_AXIS;
        for (int d = 0; d < stmt->n_dims; d++) {
            is_found = is_found || stmt->dims[d] == cond->terms[t].id;
        }
        if (!is_found) {
            return false;
        }
    }
    return true;
}

static void add_con(ctune_tree_builder *b, ctune_stmt *stmt, const ctune_aff *con) {
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, stmt->n_cons + 2);
    for (int c = 0; cons != NULL && c < stmt->n_cons; c++) {
        cons[c] = stmt->cons[c];
    }
    if (cons != NULL) {
        cons[stmt->n_cons++] = con;
    }
    stmt->cons = cons;
    stmt->is_piece = true;
}

static int second_dim(splitter *sp, int dim) {
    if (sp->new_dim[dim] < 0) {
        sp->new_dim[dim] = ctune_tree_builder_dim(sp->b, sp->b->dims[dim].name);
        sp->dim_to[dim] = ctune_aff_term(sp->b->arena, CTUNE_TERM_AXIS,
                                         sp->new_dim[dim] < 0 ? 0 : sp->new_dim[dim], 1);
    }
    return sp->new_dim[dim];
}

static bool is_empty(isl_basic_set *set) {
    bool empty = isl_basic_set_is_empty(set) == isl_bool_true;
    isl_basic_set_free(set);
    return empty;
}

/* Has the statement an instance where `more` is >= 0? */
static bool has_instance(const splitter *sp, int s, const ctune_aff *more) {
    const ctune_stmt *stmt = &sp->from->stmts[s];
    const ctune_aff **cons = CTUNE_NEW_ARRAY(sp->b->arena, const ctune_aff *, stmt->n_cons + 1);
    for (int c = 0; cons != NULL && c < stmt->n_cons; c++) {
        cons[c] = stmt->cons[c];
    }
    if (cons == NULL) {
        return true;
    }
    cons[stmt->n_cons] = more;
    return !is_empty(ctune_isl_stmt_set(sp->deps, sp->from, s, stmt->n_cons + 1, cons));
}

/* The statement's second piece, over the copied loops. */
static void move_stmt(splitter *sp, const ctune_stmt *from, ctune_stmt *to) {
    ctune_tree_builder *b = sp->b;
    bool is_inside = false;
    for (int d = 0; d < from->n_dims; d++) {
        is_inside = is_inside || from->dims[d] == sp->dim;
        to->dims[d] = is_inside ? second_dim(sp, from->dims[d]) : from->dims[d];
    }
    for (int d = 0; d < b->region->stages[from->stage].n_axes; d++) {
        to->iter[d] = ctune_aff_map(b->arena, from->iter[d], sp->dim_to);
    }
    to->cons = ctune_affs_map(b->arena, from->n_cons, from->cons, sp->dim_to);
}

static void split_stmt(splitter *sp, int s) {
    ctune_tree_builder *b = sp->b;
    ctune_stmt from = b->stmts[s];
    sp->stmt_to[s] = s;
    if (sp->sides[s] == SIDE_SECOND) {
        move_stmt(sp, &from, &b->stmts[s]);
    } else if (sp->sides[s] != SIDE_FIRST && b->n_stmts == CTUNE_MAX_STMTS) {
        b->too_large = true;
    } else if (sp->sides[s] != SIDE_FIRST) {
        ctune_stmt *to = &b->stmts[b->n_stmts];
        *to = from;
        to->name = new_name(b, from.stage);
        sp->stmt_to[s] = b->n_stmts++;
        move_stmt(sp, &from, to);
        add_con(b, to, ctune_aff_map(b->arena, sp->not_cond, sp->dim_to));
        add_con(b, &b->stmts[s], sp->cond);
    }
}

/* The part of the node that one side has; NULL: nothing. */
static const ctune_tnode *copy_node(const splitter *sp, const ctune_tnode *node, bool is_second) {
    if (node->kind == CTUNE_TNODE_STMT) {
        bool is_there = sp->sides[node->stmt] & (is_second ? SIDE_SECOND : SIDE_FIRST);
        int stmt = is_second ? sp->stmt_to[node->stmt] : node->stmt;
        return is_there ? ctune_tree_builder_stmt(sp->b, stmt) : NULL;
    }
    ctune_tnodes *kids = CTUNE_NEW(sp->b->arena, ctune_tnodes);
    for (int k = 0; kids != NULL && k < node->n_kids; k++) {
        ctune_tnodes_append(kids, copy_node(sp, node->kids[k], is_second));
    }
    int dim = is_second && node->kind == CTUNE_TNODE_LOOP ? sp->new_dim[node->dim] : node->dim;
    return kids != NULL && kids->n > 0 ? ctune_tree_builder_loop(sp->b, dim, kids) : NULL;
}

/* On which sides the statements are; false: all on one. */
static bool find_sides(ctune_ctx *ctx, splitter *sp, int n) {
    int all = 0;
    ctune_isl_begin(sp->deps->isl, CTUNE_BUDGET_CHECK);
    for (int s = 0; s < n; s++) {
        if (sp->stmts >> s & 1) {
            sp->sides[s] = has_instance(sp, s, sp->cond) ? SIDE_FIRST : 0;
            sp->sides[s] |= has_instance(sp, s, sp->not_cond) ? SIDE_SECOND : 0;
            sp->sides[s] = sp->sides[s] == 0 ? SIDE_FIRST : sp->sides[s]; /* it never runs */
            all |= sp->sides[s];
        }
    }
    sp->status = ctune_isl_end(ctx, sp->deps->isl, "split_domain");
    return all == (SIDE_FIRST | SIDE_SECOND);
}

static void split_loop(ctune_ctx *ctx, splitter *sp, const ctune_tnode *loop, ctune_tnodes *out) {
    sp->is_done = true;
    sp->stmts = ctune_tnode_stmts(loop);
    int n = sp->b->n_stmts;
    for (int s = 0; s < n; s++) {
        if ((sp->stmts >> s & 1) && !has_dims(&sp->b->stmts[s], sp->cond)) {
            sp->why = "a statement stands outside a loop of the condition";
            return;
        }
    }
    if (!find_sides(ctx, sp, n)) {
        sp->why = "the condition holds always or never";
        return;
    }
    for (int s = 0; s < n && !sp->b->too_large; s++) {
        if (sp->stmts >> s & 1) {
            split_stmt(sp, s);
        }
    }
    if (!sp->b->too_large) {
        ctune_tnodes_append(out, copy_node(sp, loop, false));
        ctune_tnodes_append(out, copy_node(sp, loop, true));
    }
}

static void split_below(ctune_ctx *ctx, splitter *sp, const ctune_tnode *node, ctune_tnodes *out) {
    for (int k = 0; k < node->n_kids; k++) {
        const ctune_tnode *kid = node->kids[k];
        if (kid->kind == CTUNE_TNODE_LOOP && kid->dim == sp->dim) {
            split_loop(ctx, sp, kid, out);
        } else if (kid->kind == CTUNE_TNODE_STMT) {
            ctune_tnodes_append(out, ctune_tree_builder_stmt(sp->b, kid->stmt));
        } else {
            ctune_tnodes *kids = CTUNE_NEW(sp->b->arena, ctune_tnodes);
            if (kids != NULL) {
                split_below(ctx, sp, kid, kids);
                ctune_tnodes_append(out, ctune_tree_builder_loop(sp->b, kid->dim, kids));
            }
        }
    }
}

/* ---- pieces' constraints --------------------------------------------------------------------- */

/* Drop what the other constraints imply. */
static void simplify(const ctune_deps *deps, const ctune_tree *tree, int s) {
    ctune_stmt *stmt = (ctune_stmt *)&tree->stmts[s]; /* the tree is not shared yet */
    const ctune_aff **cons = CTUNE_NEW_ARRAY(tree->arena, const ctune_aff *, stmt->n_cons + 1);
    int n = stmt->n_cons;
    if (cons == NULL) {
        return;
    }
    for (int c = 0; c < n; c++) {
        if (ctune_aff_has_load(deps->region, stmt->cons[c])) {
            return; /* bounds are read inside all of these: none is for others to imply */
        }
    }
    memcpy(cons, stmt->cons, (size_t)n * sizeof(const ctune_aff *));
    for (int c = n - 1; c >= 0; c--) {
        const ctune_aff *con = cons[c];
        const ctune_aff *no = ctune_aff_scale(tree->arena, con, -1);
        cons[c] = ctune_aff_add_const(tree->arena, no, -1);
        if (cons[c] != NULL && is_empty(ctune_isl_stmt_set(deps, tree, s, n, cons))) {
            memmove(&cons[c], &cons[c + 1], (size_t)(n - 1 - c) * sizeof *cons);
            n--;
        } else {
            cons[c] = con;
        }
    }
    stmt->n_cons = n;
    stmt->cons = cons;
}

static ctune_status finish(ctune_ctx *ctx, ctune_deps *deps, const splitter *sp, int n_before,
                           ctune_tree *tree, ctune_tree **out) {
    ctune_isl_begin(deps->isl, CTUNE_BUDGET_CHECK);
    for (int s = 0; s < tree->n_stmts; s++) {
        if (s >= n_before || (sp->stmts >> s & 1)) {
            simplify(deps, tree, s);
        }
    }
    ctune_status status = ctune_isl_end(ctx, deps->isl, "split_domain");
    if (status == CTUNE_OK && ctune_arena_has_failed(tree->arena)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while splitting a domain");
    }
    if (status != CTUNE_OK) {
        ctune_tree_destroy(tree);
        return status;
    }
    return ctune_tree_hand_over(ctx, deps, tree, out);
}

ctune_status ctune_tree_split_domain(ctune_ctx *ctx, ctune_deps *deps, const ctune_tree *tree,
                                     int dim, const ctune_aff *cond, ctune_tree **out) {
    *out = NULL;
    ctune_tree_builder b;
    ctune_status status = ctune_tree_builder_init_from(ctx, &b, deps->region, tree);
    if (status != CTUNE_OK) {
        return status;
    }
    splitter sp = {.deps = deps, .from = tree, .b = &b, .dim = dim};
    ctune_tnodes *kids = CTUNE_NEW(b.arena, ctune_tnodes);
    sp.dim_to = CTUNE_NEW_ARRAY(b.arena, const ctune_aff *, CTUNE_MAX_DIMS);
    sp.cond = ctune_aff_copy(b.arena, cond);
    sp.not_cond = ctune_aff_add_const(b.arena, ctune_aff_scale(b.arena, cond, -1), -1);
    if (kids == NULL || sp.dim_to == NULL || sp.cond == NULL || sp.not_cond == NULL) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while splitting a domain");
    }
    for (int d = 0; d < CTUNE_MAX_DIMS; d++) {
        sp.new_dim[d] = -1;
        sp.dim_to[d] = d < tree->n_dims ? ctune_aff_term(b.arena, CTUNE_TERM_AXIS, d, 1) : NULL;
    }
    int n_before = b.n_stmts;
    split_below(ctx, &sp, tree->root, kids);
    if (sp.status != CTUNE_OK) {
        ctune_tree_builder_clear(&b);
        return sp.status;
    }
    if (sp.why != NULL || !sp.is_done) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_EREFUSED, "split_domain: %s",
                          sp.why != NULL ? sp.why : "no such loop");
    }
    ctune_tree *result;
    ctune_tree_builder_drop_dims(&b, kids);
    status = ctune_tree_builder_finish(ctx, &b, kids, &result);
    return status == CTUNE_OK ? finish(ctx, deps, &sp, n_before, result, out) : status;
}

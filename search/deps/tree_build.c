/* Trees under construction: see tree_build.h. */
#include "search/deps/tree_build.h"

#include <stdio.h>
#include <string.h>

static ctune_status fail_memory(ctune_ctx *ctx, ctune_tree_builder *b) {
    ctune_tree_builder_clear(b);
    return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while building a loop tree");
}

ctune_status ctune_tree_builder_init(ctune_ctx *ctx, ctune_tree_builder *b,
                                     const ctune_region *region) {
    memset(b, 0, sizeof *b);
    b->region = region;
    b->arena = ctune_arena_create(ctx);
    b->dims = CTUNE_NEW_ARRAY(b->arena, ctune_dim, CTUNE_MAX_DIMS);
    b->stmts = CTUNE_NEW_ARRAY(b->arena, ctune_stmt, CTUNE_MAX_STMTS);
    return b->dims == NULL || b->stmts == NULL ? fail_memory(ctx, b) : CTUNE_OK;
}

const ctune_aff *ctune_aff_copy(ctune_arena *a, const ctune_aff *aff) {
    return ctune_aff_add_const(a, aff, 0);
}

static void copy_stmt(ctune_tree_builder *b, const ctune_stmt *from, ctune_stmt *to) {
    *to = *from;
    to->name = from->name == NULL ? NULL : ctune_arena_strdup(b->arena, from->name);
    int n_axes = b->region->stages[from->stage].n_axes;
    for (int d = 0; d < n_axes; d++) {
        to->iter[d] = ctune_aff_copy(b->arena, from->iter[d]);
    }
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, from->n_cons + 1);
    for (int c = 0; cons != NULL && c < from->n_cons; c++) {
        cons[c] = ctune_aff_copy(b->arena, from->cons[c]);
    }
    to->cons = cons;
}

ctune_status ctune_tree_builder_init_from(ctune_ctx *ctx, ctune_tree_builder *b,
                                          const ctune_region *region, const ctune_tree *from) {
    ctune_status status = ctune_tree_builder_init(ctx, b, region);
    if (status != CTUNE_OK) {
        return status;
    }
    b->reserved = from;
    b->n_dims = from->n_dims;
    memcpy(b->dims, from->dims, (size_t)from->n_dims * sizeof *b->dims);
    b->n_stmts = from->n_stmts;
    for (int i = 0; i < from->n_stmts; i++) {
        copy_stmt(b, &from->stmts[i], &b->stmts[i]);
    }
    return ctune_arena_has_failed(b->arena) ? fail_memory(ctx, b) : CTUNE_OK;
}

void ctune_tree_builder_clear(ctune_tree_builder *b) {
    ctune_arena_destroy(b->arena);
    memset(b, 0, sizeof *b);
}

/* Does every aff that the statements need exist? NULL stands for memory or overflow. */
static bool are_stmts_whole(const ctune_tree_builder *b) {
    for (int i = 0; i < b->n_stmts; i++) {
        const ctune_stmt *s = &b->stmts[i];
        for (int d = 0; d < b->region->stages[s->stage].n_axes; d++) {
            if (s->iter[d] == NULL) {
                return false;
            }
        }
        for (int c = 0; c < s->n_cons; c++) {
            if (s->cons == NULL || s->cons[c] == NULL) {
                return false;
            }
        }
    }
    return true;
}

ctune_status ctune_tree_builder_finish(ctune_ctx *ctx, ctune_tree_builder *b,
                                       const ctune_tnodes *kids, ctune_tree **out) {
    if (b->too_large) {
        ctune_tree_builder_clear(b);
        return ctune_fail(ctx, CTUNE_EREFUSED, "more than %d loops or %d statements",
                          CTUNE_MAX_DIMS, CTUNE_MAX_STMTS);
    }
    ctune_tree *tree = CTUNE_NEW(b->arena, ctune_tree);
    const ctune_tnode *root = ctune_tree_builder_loop(b, -1, kids);
    int64_t *sizes = CTUNE_NEW_ARRAY(b->arena, int64_t, b->region->n_params + 1);
    if (ctune_arena_has_failed(b->arena)) {
        return fail_memory(ctx, b);
    }
    if (!are_stmts_whole(b)) {
        ctune_tree_builder_clear(b);
        return ctune_fail(ctx, CTUNE_EREFUSED, "loop bounds overflow 64 bits");
    }
    ctune_tnode *seq = CTUNE_NEW(b->arena, ctune_tnode);
    if (seq == NULL) {
        return fail_memory(ctx, b);
    }
    *seq = *root;
    seq->kind = CTUNE_TNODE_SEQ;
    tree->arena = b->arena;
    tree->n_dims = b->n_dims;
    tree->dims = b->dims;
    tree->n_stmts = b->n_stmts;
    tree->stmts = b->stmts;
    tree->root = seq;
    ctune_region_sizes(b->region, 0, sizes);
    ctune_tree_estimate(b->region, tree, sizes);
    *out = tree;
    memset(b, 0, sizeof *b);
    return CTUNE_OK;
}

static bool is_name_taken(const ctune_tree_builder *b, const char *name) {
    for (int i = 0; i < b->n_dims; i++) {
        if (strcmp(b->dims[i].name, name) == 0) {
            return true;
        }
    }
    for (int i = 0; b->reserved != NULL && i < b->reserved->n_dims; i++) {
        if (strcmp(b->reserved->dims[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Length of name without a number at its end, "i" of "i_2"; short enough for another one. */
static int stem_length(const char *name) {
    size_t n = strlen(name), end = n;
    while (end > 1 && name[end - 1] >= '0' && name[end - 1] <= '9') {
        end--;
    }
    n = end < n && end > 1 && name[end - 1] == '_' ? end - 1 : n;
    return n > 12 ? 12 : (int)n;
}

int ctune_tree_builder_dim(ctune_tree_builder *b, const char *name) {
    if (b->n_dims == CTUNE_MAX_DIMS) {
        b->too_large = true;
        return -1;
    }
    char text[sizeof b->dims[0].name];
    snprintf(text, sizeof text, "%s", name);
    int stem = stem_length(text);
    for (unsigned i = 2; is_name_taken(b, text); i++) {
        snprintf(text, sizeof text, "%.*s_%u", stem, name, i);
    }
    memcpy(b->dims[b->n_dims].name, text, sizeof text);
    return b->n_dims++;
}

const ctune_tnode *ctune_tree_builder_loop(ctune_tree_builder *b, int dim,
                                           const ctune_tnodes *kids) {
    ctune_tnode *node = CTUNE_NEW(b->arena, ctune_tnode);
    const ctune_tnode **list = CTUNE_NEW_ARRAY(b->arena, const ctune_tnode *, kids->n + 1);
    if (node == NULL || list == NULL) {
        return NULL;
    }
    memcpy(list, kids->node, (size_t)kids->n * sizeof *list);
    *node = (ctune_tnode){CTUNE_TNODE_LOOP, dim, -1, kids->n, list};
    return node;
}

const ctune_tnode *ctune_tree_builder_stmt(ctune_tree_builder *b, int stmt) {
    ctune_tnode *node = CTUNE_NEW(b->arena, ctune_tnode);
    if (node != NULL) {
        *node = (ctune_tnode){CTUNE_TNODE_STMT, -1, stmt, 0, NULL};
    }
    return node;
}

const ctune_tnode *ctune_tree_builder_copy(ctune_tree_builder *b, const ctune_tnode *node) {
    if (node->kind == CTUNE_TNODE_STMT) {
        return ctune_tree_builder_stmt(b, node->stmt);
    }
    ctune_tnodes *kids = CTUNE_NEW(b->arena, ctune_tnodes);
    for (int k = 0; kids != NULL && k < node->n_kids; k++) {
        ctune_tnodes_append(kids, ctune_tree_builder_copy(b, node->kids[k]));
    }
    return kids != NULL ? ctune_tree_builder_loop(b, node->dim, kids) : NULL;
}

void ctune_tnodes_append(ctune_tnodes *list, const ctune_tnode *node) {
    if (node != NULL && list->n < CTUNE_MAX_NODES) {
        list->node[list->n++] = node;
    }
}

const ctune_aff *ctune_aff_map(ctune_arena *a, const ctune_aff *aff, const ctune_aff *const *map) {
    if (aff == NULL) {
        return NULL;
    }
    const ctune_aff *sum = ctune_aff_const(a, aff->c0);
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        const ctune_aff *part = term->kind == CTUNE_TERM_AXIS
                                    ? ctune_aff_scale(a, map[term->id], term->coef)
                                    : ctune_aff_term(a, term->kind, term->id, term->coef);
        sum = ctune_aff_add(a, sum, part);
    }
    return sum;
}

const ctune_aff *const *ctune_affs_map(ctune_arena *a, int n, const ctune_aff *const *affs,
                                       const ctune_aff *const *map) {
    const ctune_aff **out = CTUNE_NEW_ARRAY(a, const ctune_aff *, n + 1);
    for (int i = 0; out != NULL && i < n; i++) {
        out[i] = ctune_aff_map(a, affs[i], map);
    }
    return out;
}

void ctune_tree_builder_rename(ctune_tree_builder *b, const ctune_tree *from) {
    const ctune_aff **map = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, CTUNE_MAX_DIMS);
    for (int s = 0; map != NULL && s < b->n_stmts; s++) {
        const ctune_stmt *old = &from->stmts[s];
        ctune_stmt *stmt = &b->stmts[s];
        for (int d = 0; d < old->n_dims; d++) {
            map[old->dims[d]] = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, stmt->dims[d], 1);
        }
        for (int a = 0; a < b->region->stages[stmt->stage].n_axes; a++) {
            stmt->iter[a] = ctune_aff_map(b->arena, old->iter[a], map);
        }
        stmt->cons = ctune_affs_map(b->arena, old->n_cons, old->cons, map);
    }
}

static const ctune_tnode *renumber_node(ctune_tree_builder *b, const ctune_tnode *node,
                                        const int *number) {
    if (node->kind == CTUNE_TNODE_STMT) {
        return node;
    }
    ctune_tnodes *kids = CTUNE_NEW(b->arena, ctune_tnodes);
    for (int k = 0; kids != NULL && k < node->n_kids; k++) {
        ctune_tnodes_append(kids, renumber_node(b, node->kids[k], number));
    }
    return kids != NULL ? ctune_tree_builder_loop(b, number[node->dim], kids) : NULL;
}

/* Keep the used dims in their order; number[old] = new. */
static void pack_dims(ctune_tree_builder *b, int *number) {
    bool is_used[CTUNE_MAX_DIMS] = {false};
    for (int s = 0; s < b->n_stmts; s++) {
        for (int d = 0; d < b->stmts[s].n_dims; d++) {
            is_used[b->stmts[s].dims[d]] = true;
        }
    }
    int n = 0;
    for (int i = 0; i < b->n_dims; i++) {
        number[i] = n;
        if (is_used[i]) {
            b->dims[n++] = b->dims[i];
        }
    }
    b->n_dims = n;
}

void ctune_tree_builder_drop_dims(ctune_tree_builder *b, ctune_tnodes *kids) {
    int number[CTUNE_MAX_DIMS];
    int n_old = b->n_dims;
    const ctune_aff **map = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, CTUNE_MAX_DIMS);
    pack_dims(b, number);
    for (int i = 0; map != NULL && i < n_old; i++) {
        map[i] = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, number[i], 1);
    }
    for (int s = 0; map != NULL && s < b->n_stmts; s++) {
        ctune_stmt *stmt = &b->stmts[s];
        for (int d = 0; d < stmt->n_dims; d++) {
            stmt->dims[d] = number[stmt->dims[d]];
        }
        for (int a = 0; a < b->region->stages[stmt->stage].n_axes; a++) {
            stmt->iter[a] = ctune_aff_map(b->arena, stmt->iter[a], map);
        }
        stmt->cons = ctune_affs_map(b->arena, stmt->n_cons, stmt->cons, map);
    }
    for (int k = 0; k < kids->n; k++) {
        kids->node[k] = renumber_node(b, kids->node[k], number);
    }
}

uint64_t ctune_tnode_stmts(const ctune_tnode *node) {
    if (node->kind == CTUNE_TNODE_STMT) {
        return (uint64_t)1 << node->stmt;
    }
    uint64_t mask = 0;
    for (int k = 0; k < node->n_kids; k++) {
        mask |= ctune_tnode_stmts(node->kids[k]);
    }
    return mask;
}

bool ctune_tnode_has_stmt(const ctune_tnode *node, int stmt) {
    return ctune_tnode_stmts(node) >> stmt & 1;
}

static int number_stmts(const ctune_tnode *node, int *position, int next) {
    if (node->kind == CTUNE_TNODE_STMT) {
        position[node->stmt] = next++;
    }
    for (int k = 0; k < node->n_kids; k++) {
        next = number_stmts(node->kids[k], position, next);
    }
    return next;
}

void ctune_tree_positions(const ctune_tree *tree, int *position) {
    number_stmts(tree->root, position, 0);
}

/*
 * Fused: the structure in which neighbouring nests share as many loops as is legal.
 *
 * In: the source's form. Out: the text of `fuse` primitives, "" when nothing can be fused. From the
 * first nest on, each next one is merged into it as deep as loops of equal extents and the
 * dependences allow, else a new one begins. A product, its bias and its activation written as three
 * nests become one nest with three parts, chains of element-wise nests one.
 */
#include "search/space/space_private.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FUSIONS = 24 };

static int last_stmt(const ctune_tnode *node) {
    while (node->kind != CTUNE_TNODE_STMT) {
        if (node->n_kids == 0) {
            return -1;
        }
        node = node->kids[node->n_kids - 1];
    }
    return node->stmt;
}

static int first_stmt(const ctune_tnode *node) {
    while (node->kind != CTUNE_TNODE_STMT) {
        if (node->n_kids == 0) {
            return -1;
        }
        node = node->kids[0];
    }
    return node->stmt;
}

/* Loops that the end of the one nest and the beginning of the other could share. */
static int depth_of(const ctune_tree *tree, const ctune_tnode *a, const ctune_tnode *b) {
    int depth = 0;
    while (a->kind == CTUNE_TNODE_LOOP && b->kind == CTUNE_TNODE_LOOP && a->n_kids > 0 &&
           b->n_kids > 0 && tree->dims[a->dim].extent == tree->dims[b->dim].extent) {
        depth++;
        a = a->kids[a->n_kids - 1];
        b = b->kids[0];
    }
    return depth;
}

/* Nests k and k + 1 of the tree merged, as deep as that is legal; NULL: not at all. */
static ctune_tree *fuse(ctune_ctx *ctx, const ctune_space *space, const ctune_tree *tree, int k,
                        ctune_text *out) {
    const ctune_tnode *a = tree->root->kids[k], *b = tree->root->kids[k + 1];
    int s0 = last_stmt(a), s1 = first_stmt(b);
    for (int d = s0 < 0 || s1 < 0 ? 0 : depth_of(tree, a, b); d > 0; d--) {
        ctune_schedule line;
        ctune_text text;
        ctune_tree *next = NULL;
        ctune_schedule_init(&line);
        ctune_text_init(&text);
        ctune_text_printf(&text, "fuse %s %s %d\n",
                          ctune_stmt_name(space->program->region, tree, s0),
                          ctune_stmt_name(space->program->region, tree, s1), d);
        ctune_schedule_append_text(&line, ctune_text_get(&text));
        bool is_fused = !line.failed && ctune_program_step(ctx, space->program, tree, &line.prim[0],
                                                           &next) == CTUNE_OK;
        if (is_fused) {
            ctune_text_append(out, ctune_text_get(&text));
        }
        ctune_schedule_clear(&line);
        ctune_text_clear(&text);
        if (is_fused) {
            return next;
        }
    }
    return NULL;
}

ctune_status fused_prefix(ctune_ctx *ctx, const ctune_space *space, ctune_text *out) {
    const ctune_tree *tree = space->n_forms > 0 ? space->form[0]->form->tree : NULL;
    ctune_tree *own = NULL;
    int tries = 0;
    for (int k = 0; tree != NULL && k + 1 < tree->root->n_kids && tries < MAX_FUSIONS; tries++) {
        ctune_tree *next = fuse(ctx, space, tree, k, out);
        if (next == NULL) {
            k++;
            continue;
        }
        if (own != NULL) {
            ctune_tree_destroy(own);
        }
        tree = own = next;
    }
    if (own != NULL) {
        ctune_tree_destroy(own);
    }
    return out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
}

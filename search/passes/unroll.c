/*
 * Unroll.
 * In:  FOR full.
 * Out: its body repeated with constants, nothing left of the loop; LETs of constants (in launches:
 *      of sums) folded, IFs
 *      that constants decide gone, inner blocks without declarations dissolved into their parent.
 * Why: an unrolled tile is straight-line code that the passes after this one can name and order.
 *
 * Innermost loops first: their bodies are small when they are copied. A loop whose body would
 * become longer than MAX_STATEMENTS stays a loop and asks the compiler instead.
 */
#include "search/passes/passes_private.h"

enum { MAX_STATEMENTS = 4096, HINT_FACTOR = 4 };

static int64_t count_statements(const ctune_lnode *parent) {
    int64_t n = 0;
    for (const ctune_lnode *kid = parent->first; kid != NULL; kid = kid->next) {
        n += 1 + count_statements(kid) + (kid->other == NULL ? 0 : count_statements(kid->other));
    }
    return n;
}

static bool has_decl(const ctune_lnode *parent) {
    for (const ctune_lnode *kid = parent->first; kid != NULL; kid = kid->next) {
        if (kid->kind == CTUNE_L_DECL) {
            return true;
        }
    }
    return false;
}

/* Append what block holds: as it is, without the block when nothing in it needs one. */
static void append_block(ctune_lnode *parent, ctune_lnode *block) {
    if (block == NULL || block->first == NULL) {
        return;
    }
    if (has_decl(block)) {
        ctune_lnode_append(parent, block);
        return;
    }
    if (block->first->comment == NULL) {
        block->first->comment = block->comment;
    }
    for (ctune_lnode *kid = ctune_lnode_take_kids(block), *next; kid != NULL; kid = next) {
        next = kid->next;
        ctune_lnode_append(parent, kid);
    }
}

/* A block with the kids of node. */
static ctune_lnode *block_of(ctune_loops *l, ctune_lnode *node) {
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (block != NULL) {
        block->first = node->first;
        block->last = node->last;
    }
    return block;
}

/* ---- repeat ---------------------------------------------------------------------------------- */

static void unroll_kids(ctune_loops *l, ctune_lnode *parent);

static void repeat(ctune_loops *l, ctune_lnode *parent, ctune_lnode *loop, int64_t trips) {
    ctune_lnode *body = block_of(l, loop);
    for (int64_t i = 0; i < trips && body != NULL; i++) {
        const ctune_aff *at = ctune_aff_add_const(l->arena, loop->lo, i * loop->step);
        ctune_lnode *copy = ctune_lnode_copy(l, body, loop->var, at);
        if (copy == NULL || ctune_loops_status(l) != CTUNE_OK) {
            return;
        }
        copy->comment = i == 0 ? loop->comment : NULL;
        append_block(parent, copy);
    }
}

static void unroll_node(ctune_loops *l, ctune_lnode *parent, ctune_lnode *node) {
    unroll_kids(l, node);
    if (node->other != NULL) {
        unroll_kids(l, node->other);
    }
    if (node->kind == CTUNE_L_FOR && node->ann == CTUNE_LANN_FULL) {
        int64_t trips = ctune_for_trips(l, node);
        if (trips >= 0 && trips <= MAX_STATEMENTS &&
            trips * count_statements(node) <= MAX_STATEMENTS) {
            repeat(l, parent, node, trips);
            return;
        }
        node->ann = CTUNE_LANN_UNROLL;
        node->factor = HINT_FACTOR;
    }
    ctune_lnode_append(parent, node);
}

static void unroll_kids(ctune_loops *l, ctune_lnode *parent) {
    for (ctune_lnode *kid = ctune_lnode_take_kids(parent), *next; kid != NULL; kid = next) {
        next = kid->next;
        unroll_node(l, parent, kid);
    }
}

/* ---- fold ------------------------------------------------------------------------------------ */

static void fold_kids(ctune_loops *l, ctune_lnode *parent, bool in_launch);

/* Drop conditions that hold; false when one fails. */
static bool fold_conds(ctune_loops *l, ctune_lnode *node) {
    const ctune_aff **conds = CTUNE_NEW_ARRAY(l->arena, const ctune_aff *, node->n_conds + 1);
    int n = 0;
    for (int i = 0; conds != NULL && i < node->n_conds; i++) {
        const ctune_aff *cond = node->conds[i];
        if (cond == NULL || cond->n_terms > 0) {
            conds[n++] = cond;
        } else if (cond->c0 < 0) {
            return false;
        }
    }
    if (conds != NULL) {
        node->conds = conds;
        node->n_conds = n;
    }
    return true;
}

static void fold_node(ctune_loops *l, ctune_lnode *parent, ctune_lnode *node, bool in_launch) {
    bool is_root = parent == l->root;
    if (node->kind == CTUNE_L_IF && node->n_conds > 0) {
        if (!fold_conds(l, node)) {
            node = node->other;
        } else if (node->n_conds == 0 && node->test == NULL) {
            ctune_lnode *block = block_of(l, node);
            if (block != NULL) {
                block->comment = node->comment;
            }
            node = block;
        }
        if (node == NULL) {
            return;
        }
        node->next = NULL;
    }
    in_launch |= node->kind == CTUNE_L_LAUNCH;
    fold_kids(l, node, in_launch);
    if (node->other != NULL) {
        fold_kids(l, node->other, in_launch);
    }
    if (node->kind == CTUNE_L_SEQ && !is_root) {
        append_block(parent, node);
    } else {
        ctune_lnode_append(parent, node);
    }
}

/* A constant; on a GPU any sum: what several statements share there, its compiler finds. */
static bool is_foldable(const ctune_lnode *let, bool in_launch) {
    return let->lo != NULL &&
           (let->lo->n_terms == 0 || (in_launch && !ctune_aff_has_kind(let->lo, CTUNE_TERM_DIV)));
}

/* The rest of a block behind `LET var = value`, with the value in it. */
static ctune_lnode *fold_let(ctune_loops *l, const ctune_lnode *let) {
    ctune_lnode *rest = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (rest == NULL || let->next == NULL) {
        return NULL;
    }
    rest->first = let->next;
    rest = ctune_lnode_copy(l, rest, let->var, let->lo);
    return rest == NULL ? NULL : ctune_lnode_take_kids(rest);
}

static void fold_kids(ctune_loops *l, ctune_lnode *parent, bool in_launch) {
    for (ctune_lnode *kid = ctune_lnode_take_kids(parent), *next; kid != NULL; kid = next) {
        if (kid->kind == CTUNE_L_LET && is_foldable(kid, in_launch)) {
            next = fold_let(l, kid);
        } else {
            next = kid->next;
            fold_node(l, parent, kid, in_launch);
        }
    }
}

ctune_status ctune_pass_unroll(ctune_loops *l, const ctune_pass_options *options) {
    (void)options;
    if (ctune_loops_status(l) == CTUNE_OK) {
        unroll_kids(l, l->root);
    }
    if (ctune_loops_status(l) == CTUNE_OK) {
        fold_kids(l, l->root, false);
    }
    return ctune_loops_status(l);
}

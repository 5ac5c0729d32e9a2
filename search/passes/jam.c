/*
 * Jam: the chunks of a vector loop around other loops, side by side.
 *
 * In:  FOR full over the chunks of a loop whose iterations are independent, with loops inside (a
 *      recurrence along each row).
 * Out: a block in which each statement stands once for each chunk, and the loops inside run once
 *      for all of them.
 * Why: the recurrences of several vectors hide each other's latency, and what they read in one
 *      iteration lies together.
 *
 * All copies have the same structure; loops inside whose bounds differ stay one behind the other.
 */
#include "search/passes/lanes.h"

enum { MAX_CHUNKS = 8 };

/* One kid of each chunk's list; NULLs where the lists are at their end. */
typedef struct front {
    int n;
    ctune_lnode *at[MAX_CHUNKS];
} front;

static void zip(ctune_loops *l, front *lists, ctune_lnode *into);

static bool is_aff_same(const ctune_aff *a, const ctune_aff *b) {
    return a != NULL && b != NULL && ctune_aff_is_equal(a, b);
}

/* Do the kids have the same header, so that one of it may stand around all bodies? */
static bool may_share(const front *f) {
    const ctune_lnode *a = f->at[0];
    for (int i = 1; i < f->n; i++) {
        const ctune_lnode *b = f->at[i];
        bool is_same = a->kind == b->kind && a->other == NULL && b->other == NULL;
        if (is_same && a->kind == CTUNE_L_FOR) {
            is_same = a->step == b->step && a->ann == b->ann && is_aff_same(a->lo, b->lo) &&
                      is_aff_same(a->hi, b->hi);
        } else if (is_same && a->kind == CTUNE_L_IF) {
            is_same = a->n_conds == b->n_conds && a->test == b->test;
            for (int k = 0; is_same && k < a->n_conds; k++) {
                is_same = is_aff_same(a->conds[k], b->conds[k]);
            }
        } else {
            is_same = is_same && a->kind == CTUNE_L_SEQ;
        }
        if (!is_same) {
            return false;
        }
    }
    return true;
}

/* The kids of all nodes in the first one, their loop variable its. */
static void share_header(ctune_loops *l, front *f) {
    ctune_lnode *a = f->at[0];
    front kids = {.n = f->n};
    for (int i = 1; i < f->n; i++) {
        ctune_lnode *body = f->at[i];
        if (a->kind == CTUNE_L_FOR) {
            body = ctune_lnode_new(l, CTUNE_L_SEQ);
            if (body == NULL) {
                return;
            }
            ctune_lnode_copy_body(l, f->at[i], ctune_loops_var_aff(l, a->var, 1, 0), body);
        }
        kids.at[i] = ctune_lnode_take_kids(body);
    }
    kids.at[0] = ctune_lnode_take_kids(a);
    zip(l, &kids, a);
}

static void zip(ctune_loops *l, front *lists, ctune_lnode *into) {
    while (lists->at[0] != NULL && ctune_loops_status(l) == CTUNE_OK) {
        front now = *lists;
        for (int i = 0; i < lists->n; i++) {
            lists->at[i] = lists->at[i]->next;
        }
        if (may_share(&now)) {
            share_header(l, &now);
            ctune_lnode_append(into, now.at[0]);
            continue;
        }
        for (int i = 0; i < now.n; i++) {
            now.at[i]->comment = i == 0 ? now.at[i]->comment : NULL;
            ctune_lnode_append(into, now.at[i]);
        }
    }
}

/* Does a loop stand inside that is not unrolled anyway? */
static bool has_long_loop(const ctune_lnode *node) {
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if ((kid->kind == CTUNE_L_FOR && kid->ann != CTUNE_LANN_FULL) || has_long_loop(kid)) {
            return true;
        }
    }
    return node->other != NULL && has_long_loop(node->other);
}

void ctune_lane_jam(ctune_loops *l, ctune_lnode *node) {
    int64_t trips = ctune_for_trips(l, node);
    if (node->ann != CTUNE_LANN_FULL || trips < 2 || trips > MAX_CHUNKS || !has_long_loop(node)) {
        return;
    }
    front lists = {.n = (int)trips};
    for (int i = 0; i < lists.n; i++) {
        ctune_lnode *copy = ctune_lnode_new(l, CTUNE_L_SEQ);
        if (copy == NULL) {
            return;
        }
        ctune_lnode_copy_body(l, node, ctune_aff_add_const(l->arena, node->lo, i * node->step),
                              copy);
        lists.at[i] = ctune_lnode_take_kids(copy);
    }
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (block == NULL || ctune_loops_status(l) != CTUNE_OK) {
        return;
    }
    zip(l, &lists, block);
    block->comment = node->comment;
    block->next = node->next;
    *node = *block;
}

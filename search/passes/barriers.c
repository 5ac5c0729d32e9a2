/*
 * Barriers.
 * In:  launches whose threads hand elements on through SHARED buffers.
 * Out: a BARRIER wherever a thread may read what another has written, or write what another has
 *      read or written, since the last one.
 * Why: derived from what the code reads and writes, they are neither missing nor guessed.
 *
 * A unit is a node that all threads come by together and that is not looked into: an assignment, a
 * loop or condition that differs between threads, or in which no buffer is both read and written.
 * Before a unit that meets what earlier ones did
 * since the last barrier, one is put. Loops that all threads run alike are walked twice: the second
 * time from what their own end leaves.
 */
#include "search/passes/passes_private.h"

#include <string.h>

typedef struct barrier_ctx {
    ctune_loops *l;
    bool *varies;         /* [n_vars] differs between the threads of a block */
    bool *read, *written; /* [n_buffers] since the last barrier */
    bool *unit_read, *unit_written;
} barrier_ctx;

/* ---- what differs between threads ------------------------------------------------------------ */

static bool aff_varies(const barrier_ctx *b, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_term *x = &aff->terms[t];
        if (x->kind == CTUNE_TERM_AXIS && b->varies[x->id]) {
            return true;
        }
        const ctune_atom *a = x->kind == CTUNE_TERM_DIV ? &b->l->atom[x->id] : NULL;
        if (a != NULL && (aff_varies(b, a->a) || aff_varies(b, a->b))) {
            return true;
        }
        for (int d = 0; a != NULL && a->place != NULL && d < a->place->n_idx; d++) {
            if (aff_varies(b, a->place->idx[d])) {
                return true;
            }
        }
    }
    return false;
}

static bool node_varies(const barrier_ctx *b, const ctune_lnode *node) {
    bool varies = node->test != NULL || ctune_lann_is_thread(node->ann) ||
                  aff_varies(b, node->lo) || aff_varies(b, node->hi);
    for (int i = 0; i < node->n_conds; i++) {
        varies |= aff_varies(b, node->conds[i]);
    }
    return varies;
}

static void mark_varying(ctune_lnode *node, void *data) {
    barrier_ctx *b = data;
    if (node->kind == CTUNE_L_FOR || node->kind == CTUNE_L_LET) {
        b->varies[node->var] = node_varies(b, node);
    }
}

/* ---- what a unit does ------------------------------------------------------------------------ */

static bool is_shared(const barrier_ctx *b, const ctune_place *place) {
    return place->is_buffer && b->l->buffer[place->id].scope == CTUNE_SCOPE_SHARED;
}

static void note_value(barrier_ctx *b, const ctune_value *v) {
    if (v == NULL) {
        return;
    }
    if (v->op == CTUNE_V_LOAD && is_shared(b, &v->place)) {
        b->unit_read[v->place.id] = true;
    }
    for (int i = 0; i < v->n_kids; i++) {
        note_value(b, v->kids[i]);
    }
}

static void note_node(ctune_lnode *node, void *data) {
    barrier_ctx *b = data;
    note_value(b, node->value);
    note_value(b, node->test);
    if (node->kind == CTUNE_L_STORE && is_shared(b, &node->place)) {
        b->unit_written[node->place.id] = true;
    }
}

static void clear(const barrier_ctx *b) {
    memset(b->read, 0, (size_t)b->l->n_buffers * sizeof *b->read);
    memset(b->written, 0, (size_t)b->l->n_buffers * sizeof *b->written);
}

/* Fills unit_read and unit_written. true: the unit reads what it writes. */
static bool note_unit(barrier_ctx *b, ctune_lnode *unit) {
    size_t n = (size_t)b->l->n_buffers * sizeof *b->read;
    bool is_both = false;
    memset(b->unit_read, 0, n);
    memset(b->unit_written, 0, n);
    ctune_lnode_walk(unit, note_node, b);
    for (int i = 0; i < b->l->n_buffers; i++) {
        is_both |= b->unit_read[i] && b->unit_written[i];
    }
    return is_both;
}

/* Does the unit need a barrier before it? Afterwards it counts among the earlier ones. */
static bool meets(barrier_ctx *b, ctune_lnode *unit) {
    bool is_met = false;
    if (note_unit(b, unit)) {
        ctune_loops_fail(b->l, CTUNE_EREFUSED, "threads part where a shared copy is made");
    }
    for (int i = 0; i < b->l->n_buffers; i++) {
        is_met |= (b->unit_read[i] && b->written[i]) ||
                  (b->unit_written[i] && (b->read[i] || b->written[i]));
    }
    if (is_met) {
        clear(b);
    }
    for (int i = 0; i < b->l->n_buffers; i++) {
        b->read[i] |= b->unit_read[i];
        b->written[i] |= b->unit_written[i];
    }
    return is_met;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void walk_kids(barrier_ctx *b, ctune_lnode *parent);

/* flags of before and after joined */
static void join(const barrier_ctx *b, const bool *before) {
    for (int i = 0; i < b->l->n_buffers; i++) {
        b->read[i] |= before[i];
        b->written[i] |= before[b->l->n_buffers + i];
    }
}

static bool *save(barrier_ctx *b) {
    size_t n = (size_t)b->l->n_buffers;
    bool *copy = CTUNE_NEW_ARRAY(b->l->arena, bool, 2 * n + 1);
    if (copy != NULL) {
        memcpy(copy, b->read, n * sizeof *copy);
        memcpy(copy + n, b->written, n * sizeof *copy);
    }
    return copy;
}

static void walk_inside(barrier_ctx *b, ctune_lnode *node) {
    bool *before = save(b);
    if (before == NULL) {
        return;
    }
    walk_kids(b, node);
    if (node->kind == CTUNE_L_FOR) {
        walk_kids(b, node);
        join(b, before);
    } else if (node->kind == CTUNE_L_IF) {
        bool *after = save(b);
        if (after == NULL) {
            return;
        }
        memcpy(b->read, before, (size_t)b->l->n_buffers * sizeof *before);
        memcpy(b->written, before + b->l->n_buffers, (size_t)b->l->n_buffers * sizeof *before);
        if (node->other != NULL) {
            walk_kids(b, node->other);
        }
        join(b, after);
    }
}

static void walk_kids(barrier_ctx *b, ctune_lnode *parent) {
    for (ctune_lnode *kid = ctune_lnode_take_kids(parent), *next; kid != NULL; kid = next) {
        next = kid->next;
        bool is_control =
            kid->kind == CTUNE_L_FOR || kid->kind == CTUNE_L_IF || kid->kind == CTUNE_L_SEQ;
        if (kid->kind == CTUNE_L_BARRIER) {
            clear(b);
        } else if (is_control && !node_varies(b, kid) && note_unit(b, kid)) {
            walk_inside(b, kid);
        } else if (meets(b, kid)) {
            ctune_lnode_append(parent, ctune_lnode_new(b->l, CTUNE_L_BARRIER));
        }
        ctune_lnode_append(parent, kid);
    }
}

/* The code of one thread of a launch. */
static void walk_launch(ctune_lnode *node, void *data) {
    barrier_ctx *b = data;
    bool is_innermost = node->kind == CTUNE_L_FOR && ctune_lann_is_thread(node->ann) &&
                        (node->first == NULL || node->first->kind != CTUNE_L_FOR ||
                         !ctune_lann_is_thread(node->first->ann));
    if (is_innermost) {
        clear(b);
        walk_kids(b, node);
    }
}

ctune_status ctune_pass_barriers(ctune_loops *l) {
    if (ctune_loops_status(l) != CTUNE_OK || !ctune_loops_has_launch(l)) {
        return ctune_loops_status(l);
    }
    barrier_ctx b = {.l = l};
    b.varies = CTUNE_NEW_ARRAY(l->arena, bool, l->n_vars + 1);
    b.read = CTUNE_NEW_ARRAY(l->arena, bool, l->n_buffers + 1);
    b.written = CTUNE_NEW_ARRAY(l->arena, bool, l->n_buffers + 1);
    b.unit_read = CTUNE_NEW_ARRAY(l->arena, bool, l->n_buffers + 1);
    b.unit_written = CTUNE_NEW_ARRAY(l->arena, bool, l->n_buffers + 1);
    if (ctune_loops_status(l) == CTUNE_OK) {
        ctune_lnode_walk(l->root, mark_varying, &b);
        ctune_lnode_walk(l->root, walk_launch, &b);
    }
    return ctune_loops_status(l);
}

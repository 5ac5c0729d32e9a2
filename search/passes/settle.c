/*
 * settle: conditions whose outcome is known at options->sizes. A candidate that is only timed at
 * these values of the parameters needs no code for the tiles that they never leave partial, which
 * is most of its text and of its compile.
 *
 * In: a program, values of the region's parameters (NULL: nothing is done). Out: IFs without the
 * conditions that always hold there, and without the arm that never runs. The values that a
 * condition's variables take are enumerated through the loops around it: exact, and cheap for the
 * tile loops that such conditions depend on; too many are not looked at.
 */
#include "search/passes/passes_private.h"

#include <stdlib.h>

enum { MAX_POINTS = 1 << 13, MAX_CHAIN = 64 };

typedef struct settler {
    ctune_loops *l;
    const int64_t *sizes;
    int n_chain;
    const ctune_lnode *chain[MAX_CHAIN]; /* FOR and LET around the place at hand, outermost first */
    int64_t *val;                        /* [n_vars] */
    bool *is_needed;                     /* [n_vars] */
    /* the condition at hand */
    const ctune_aff *cond;
    int n_points;
    bool holds, fails, too_many;
} settler;

/* ---- numbers --------------------------------------------------------------------------------- */

static int64_t value_of(const settler *s, const ctune_aff *aff);

static int64_t atom_value(const settler *s, const ctune_atom *atom) {
    int64_t a = value_of(s, atom->a), b = atom->b != NULL ? value_of(s, atom->b) : 0;
    switch (atom->kind) {
    case CTUNE_ATOM_FLOOR:
        return a / atom->den - (a % atom->den < 0);
    case CTUNE_ATOM_MIN:
        return a < b ? a : b;
    case CTUNE_ATOM_MAX:
        return a > b ? a : b;
    default:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    }
}

static int64_t value_of(const settler *s, const ctune_aff *aff) {
    uint64_t sum = (uint64_t)aff->c0;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        int64_t v = term->kind == CTUNE_TERM_AXIS    ? s->val[term->id]
                    : term->kind == CTUNE_TERM_PARAM ? s->sizes[term->id]
                                                     : atom_value(s, &s->l->atom[term->id]);
        sum += (uint64_t)term->coef * (uint64_t)v;
    }
    return (int64_t)sum;
}

static void need(settler *s, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_AXIS) {
            s->is_needed[term->id] = true;
        } else if (term->kind == CTUNE_TERM_DIV) {
            need(s, s->l->atom[term->id].a);
            need(s, s->l->atom[term->id].b);
        }
    }
}

/* ---- one condition --------------------------------------------------------------------------- */

/* All values of the needed variables from chain[at] on. */
static void enumerate(settler *s, int at) {
    while (at < s->n_chain && !s->is_needed[s->chain[at]->var]) {
        at++;
    }
    if (at == s->n_chain) {
        bool holds = value_of(s, s->cond) >= 0;
        s->holds |= holds;
        s->fails |= !holds;
        s->too_many |= ++s->n_points > MAX_POINTS;
        return;
    }
    const ctune_lnode *node = s->chain[at];
    if (node->kind == CTUNE_L_LET) {
        s->val[node->var] = value_of(s, node->lo);
        enumerate(s, at + 1);
        return;
    }
    int64_t end = value_of(s, node->hi);
    for (int64_t v = value_of(s, node->lo); v < end && !s->too_many && !(s->holds && s->fails);
         v += node->step) {
        s->val[node->var] = v;
        enumerate(s, at + 1);
        s->too_many |= ++s->n_points > MAX_POINTS;
    }
}

/* 1: cond always holds, 0: never, -1: not known. */
static int outcome(settler *s, const ctune_aff *cond) {
    bool is_known = !ctune_loops_has_load(s->l, cond);
    for (int v = 0; v < s->l->n_vars; v++) {
        s->is_needed[v] = false;
    }
    need(s, cond);
    for (int i = s->n_chain - 1; i >= 0; i--) {
        if (s->is_needed[s->chain[i]->var]) {
            need(s, s->chain[i]->lo);
            need(s, s->chain[i]->hi);
            is_known &= !ctune_loops_has_load(s->l, s->chain[i]->lo) &&
                        !ctune_loops_has_load(s->l, s->chain[i]->hi);
        }
    }
    if (!is_known) {
        return -1; /* the elements of tensors are not known here */
    }
    s->cond = cond;
    s->n_points = 0;
    s->holds = s->fails = s->too_many = false;
    enumerate(s, 0);
    return s->too_many || s->holds == s->fails ? -1 : s->holds;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void become_block(ctune_lnode *node, const ctune_lnode *of) {
    node->kind = CTUNE_L_SEQ;
    node->first = of == NULL ? NULL : of->first;
    node->last = of == NULL ? NULL : of->last;
    node->other = NULL;
    node->conds = NULL;
    node->n_conds = 0;
}

static void settle_if(settler *s, ctune_lnode *node) {
    const ctune_aff **left =
        CTUNE_NEW_ARRAY(s->l->arena, const ctune_aff *, (size_t)node->n_conds + 1);
    int n = 0;
    for (int i = 0; left != NULL && i < node->n_conds; i++) {
        int known = outcome(s, node->conds[i]);
        if (known == 0) {
            become_block(node, node->other);
            return;
        }
        if (known < 0) {
            left[n++] = node->conds[i];
        }
    }
    if (left == NULL) {
        return;
    }
    node->conds = left;
    node->n_conds = n;
    if (n == 0 && node->test == NULL) {
        become_block(node, node);
    }
}

static void settle(settler *s, ctune_lnode *node) {
    if (node->kind == CTUNE_L_IF) {
        settle_if(s, node);
    }
    int n_chain = s->n_chain;
    if (node->kind == CTUNE_L_FOR && n_chain < MAX_CHAIN) {
        s->chain[s->n_chain++] = node;
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        settle(s, kid);
        if (kid->kind == CTUNE_L_LET && s->n_chain < MAX_CHAIN) {
            s->chain[s->n_chain++] = kid;
        }
    }
    s->n_chain = n_chain;
    if (node->other != NULL) {
        settle(s, node->other);
    }
}

/* A variable whose loop did not fit into the chain has no value: nothing may be decided by it. */
static int depth_of(const ctune_lnode *node) {
    int deepest = 0, lets = 0;
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        int depth = depth_of(kid) + lets;
        deepest = depth > deepest ? depth : deepest;
        lets += kid->kind == CTUNE_L_LET;
    }
    int other = node->other != NULL ? depth_of(node->other) : 0;
    deepest = other > deepest ? other : deepest;
    deepest = lets > deepest ? lets : deepest;
    return deepest + (node->kind == CTUNE_L_FOR);
}

ctune_status ctune_pass_settle(ctune_loops *l, const ctune_pass_options *options) {
    if (options->sizes == NULL || depth_of(l->root) > MAX_CHAIN) {
        return CTUNE_OK;
    }
    settler s = {.l = l,
                 .sizes = options->sizes,
                 .val = calloc((size_t)l->n_vars + 1, sizeof *s.val),
                 .is_needed = calloc((size_t)l->n_vars + 1, sizeof *s.is_needed)};
    if (s.val == NULL || s.is_needed == NULL) {
        ctune_loops_fail(l, CTUNE_ENOMEM, "out of memory");
    } else {
        settle(&s, l->root);
    }
    free(s.val);
    free(s.is_needed);
    return ctune_loops_status(l);
}

/*
 * Share.
 * In:  any program.
 * Out: in straight-line code, what is computed or loaded more than once has a DEF right before the
 *      first statement that uses it; what an innermost loop does not change is computed before it.
 * Why: operands stand beside their uses, so that few are alive at a time: a compiler that is given
 *      all loads first keeps them all in registers, and spills.
 *
 * Values are hash-consed, so "the same" is a pointer. A name holds until a statement writes what
 * its value reads. Nothing is evaluated that was not evaluated before: an operand of one arm of a
 * choice is never named for itself, and a loop that may have no iteration gets no load in front.
 * Two walks of a run make the same groups in the same order: the first counts, the second rewrites.
 */
#include "search/passes/passes_private.h"

#include <string.h>

/* Uses of one value, from one statement on, between which nothing changes it. */
typedef struct group {
    int64_t start; /* time of the first statement */
    int n_uses;
    int var; /* the variable; -1 = not named */
} group;

/* The current group of a value. Valid for one walk of one run. */
typedef struct slot {
    const ctune_value *value; /* NULL = empty */
    int64_t walk;
    int group;
} slot;

typedef struct sharer {
    ctune_loops *l;
    int64_t time; /* of the statement at work: grows through all walks */
    int64_t walk; /* number of this walk */
    int cap_vars;
    int64_t *var_time;                  /* [cap_vars] last write */
    int64_t *tensor_time, *buffer_time; /* last write */
    int n_slots, cap_slots;
    slot *slots;
    int n_groups, cap_groups;
    group *groups;
    ctune_lnode *parent; /* second walk: where definitions are appended */
} sharer;

/* ---- tables ---------------------------------------------------------------------------------- */

static slot *find_slot(slot *slots, int cap, const ctune_value *v) {
    size_t at = (size_t)v->hash & ((size_t)cap - 1);
    while (slots[at].value != NULL && slots[at].value != v) {
        at = (at + 1) & ((size_t)cap - 1);
    }
    return &slots[at];
}

/* The slot of v; NULL when memory is out. */
static slot *slot_of(sharer *s, const ctune_value *v) {
    if (s->n_slots * 2 >= s->cap_slots) {
        int cap = s->cap_slots == 0 ? 256 : s->cap_slots * 2;
        slot *more = CTUNE_NEW_ARRAY(s->l->arena, slot, cap);
        if (more == NULL) {
            return NULL;
        }
        for (int i = 0; i < s->cap_slots; i++) {
            if (s->slots[i].value != NULL) {
                *find_slot(more, cap, s->slots[i].value) = s->slots[i];
            }
        }
        s->slots = more;
        s->cap_slots = cap;
    }
    slot *at = find_slot(s->slots, s->cap_slots, v);
    if (at->value == NULL) {
        *at = (slot){v, -1, -1};
        s->n_slots++;
    }
    return at;
}

static int new_group(sharer *s) {
    if (s->n_groups == s->cap_groups) {
        int cap = s->cap_groups == 0 ? 256 : s->cap_groups * 2;
        group *more = CTUNE_NEW_ARRAY(s->l->arena, group, cap);
        if (more == NULL) {
            return -1;
        }
        if (s->n_groups > 0) {
            memcpy(more, s->groups, (size_t)s->n_groups * sizeof *more);
        }
        s->groups = more;
        s->cap_groups = cap;
    }
    s->groups[s->n_groups] = (group){s->time, 1, -1};
    return s->n_groups++;
}

static bool make_room_for_vars(sharer *s) {
    if (s->l->n_vars <= s->cap_vars) {
        return true;
    }
    int cap = s->l->n_vars * 2;
    int64_t *more = CTUNE_NEW_ARRAY(s->l->arena, int64_t, cap);
    if (more == NULL) {
        return false;
    }
    if (s->cap_vars > 0) {
        memcpy(more, s->var_time, (size_t)s->cap_vars * sizeof *more);
    }
    s->var_time = more;
    s->cap_vars = cap;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* When was something last written that v reads? */
static int64_t last_write(const sharer *s, const ctune_value *v) {
    int64_t last = 0;
    if (v->op == CTUNE_V_VAR) {
        last = s->var_time[v->var];
    } else if (v->op == CTUNE_V_LOAD) {
        last = v->place.is_buffer ? s->buffer_time[v->place.id] : s->tensor_time[v->place.id];
    }
    for (int i = 0; i < v->n_kids; i++) {
        int64_t kid = last_write(s, v->kids[i]);
        last = kid > last ? kid : last;
    }
    return last;
}

/* ---- two walks over a run -------------------------------------------------------------------- */

/* The group that v belongs to now; -1 = none yet. */
static int current(const sharer *s, const slot *at, const ctune_value *v) {
    bool is_known = at->walk == s->walk && last_write(s, v) < s->groups[at->group].start;
    return is_known ? at->group : -1;
}

static void count(sharer *s, const ctune_value *v, bool is_sure) {
    if (ctune_value_is_worthy(v)) {
        slot *at = slot_of(s, v);
        if (at == NULL) {
            return;
        }
        int known = current(s, at, v);
        if (known >= 0) {
            s->groups[known].n_uses++;
            return;
        }
        if (is_sure) {
            int mine = new_group(s);
            if (mine < 0) {
                return;
            }
            at->walk = s->walk;
            at->group = mine;
        }
    }
    for (int i = 0; i < v->n_kids; i++) {
        count(s, v->kids[i], is_sure && ctune_value_is_always(v, i));
    }
}

static const ctune_value *rewrite(sharer *s, const ctune_value *v, bool is_sure);

static const ctune_value *rewrite_kids(sharer *s, const ctune_value *v, bool is_sure) {
    if (v->n_kids == 0) {
        return v;
    }
    ctune_value proto = *v;
    const ctune_value **kids = CTUNE_NEW_ARRAY(s->l->arena, const ctune_value *, v->n_kids);
    bool is_same = true;
    for (int i = 0; kids != NULL && i < v->n_kids; i++) {
        kids[i] = rewrite(s, v->kids[i], is_sure && ctune_value_is_always(v, i));
        is_same &= kids[i] == v->kids[i];
    }
    proto.kids = kids;
    return kids == NULL ? NULL : is_same ? v : ctune_loops_value(s->l, &proto);
}

static const ctune_value *rewrite(sharer *s, const ctune_value *v, bool is_sure) {
    if (!ctune_value_is_worthy(v)) {
        return rewrite_kids(s, v, is_sure);
    }
    slot *at = slot_of(s, v);
    if (at == NULL) {
        return NULL;
    }
    int known = current(s, at, v);
    if (known >= 0) {
        return ctune_value_var(s->l, s->groups[known].var);
    }
    if (!is_sure) {
        return rewrite_kids(s, v, false);
    }
    int mine = s->n_groups++; /* made by the first walk in this order */
    at->walk = s->walk;
    at->group = mine;
    s->groups[mine].start = s->time;
    const ctune_value *value = rewrite_kids(s, v, true);
    if (value == NULL || s->groups[mine].n_uses < 2) {
        return value;
    }
    int var = ctune_loops_value_var(s->l, ctune_value_hint(s->l, v), v->type, v->lanes, false);
    s->groups[mine].var = var;
    ctune_lnode_append(s->parent, ctune_lnode_def(s->l, var, value));
    return ctune_value_var(s->l, var);
}

static void note_write(sharer *s, const ctune_lnode *node) {
    if (node->kind == CTUNE_L_STORE) {
        *(node->place.is_buffer ? &s->buffer_time[node->place.id]
                                : &s->tensor_time[node->place.id]) = s->time;
    } else if (node->kind == CTUNE_L_SET || node->kind == CTUNE_L_DEF) {
        s->var_time[node->var] = s->time;
    }
}

static bool is_straight(const ctune_lnode *node) {
    return node->kind != CTUNE_L_SEQ && node->kind != CTUNE_L_FOR && node->kind != CTUNE_L_IF;
}

/* A run: the list [first, end). Appended to parent with its definitions. */
static void share_run(sharer *s, ctune_lnode *parent, ctune_lnode *first, ctune_lnode *end) {
    if (!make_room_for_vars(s)) {
        return;
    }
    s->n_groups = 0;
    s->walk++;
    for (ctune_lnode *node = first; node != end; node = node->next) {
        s->time++;
        if (node->value != NULL) {
            count(s, node->value, true);
        }
        note_write(s, node);
    }
    s->n_groups = 0;
    s->walk++;
    s->parent = parent;
    bool is_whole = ctune_loops_status(s->l) == CTUNE_OK; /* all groups were made */
    for (ctune_lnode *node = first, *next; is_whole && node != end; node = next) {
        next = node->next;
        s->time++;
        const ctune_lnode *before = parent->last;
        s->l->line = node->line; /* of the definitions that it gets */
        if (node->value != NULL) {
            node->value = rewrite(s, node->value, true);
        }
        s->l->line = 0;
        note_write(s, node);
        ctune_lnode *def = before == NULL ? parent->first : before->next;
        if (def != NULL && def->comment == NULL) {
            def->comment = node->comment; /* in front of what the statement needs */
            node->comment = NULL;
        }
        ctune_lnode_append(parent, node);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* n_collapsed: loops directly inside parent that must stay its only kid. */
static void share_block(sharer *s, ctune_lnode *parent, int n_collapsed) {
    ctune_lnode *old = ctune_lnode_take_kids(parent);
    for (ctune_lnode *kid = old, *next; kid != NULL; kid = next) {
        next = kid->next;
        if (kid->kind == CTUNE_L_FOR) {
            int rest = n_collapsed > 0                   ? n_collapsed - 1
                       : kid->ann == CTUNE_LANN_PARALLEL ? kid->collapse - 1
                                                         : 0;
            if (!ctune_lnode_has_loop(kid) && n_collapsed == 0) {
                ctune_lnode_hoist(s->l, parent, kid);
            }
            share_block(s, kid, rest);
        } else if (!is_straight(kid)) {
            share_block(s, kid, 0);
            if (kid->other != NULL) {
                share_block(s, kid->other, 0);
            }
        }
        ctune_lnode_append(parent, kid);
    }
    if (ctune_loops_status(s->l) != CTUNE_OK) {
        return;
    }
    for (ctune_lnode *kid = ctune_lnode_take_kids(parent), *next; kid != NULL; kid = next) {
        next = kid->next;
        if (!is_straight(kid)) {
            ctune_lnode_append(parent, kid);
            continue;
        }
        while (next != NULL && is_straight(next)) {
            next = next->next;
        }
        share_run(s, parent, kid, next);
    }
}

ctune_status ctune_pass_share(ctune_loops *l, const ctune_pass_options *options) {
    (void)options;
    sharer s = {.l = l};
    if (ctune_loops_has_launch(l)) {
        return ctune_loops_status(
            l); /* the GPU's compiler does it, and no load may leave a launch */
    }
    s.tensor_time = CTUNE_NEW_ARRAY(l->arena, int64_t, l->region->n_tensors + 1);
    s.buffer_time = CTUNE_NEW_ARRAY(l->arena, int64_t, l->n_buffers + 1);
    if (ctune_loops_status(l) == CTUNE_OK) {
        share_block(&s, l->root, 0);
    }
    return ctune_loops_status(l);
}

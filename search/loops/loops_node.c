/* Nodes: builders and deep copies. See loops.h. */
#include "search/loops/loops.h"

ctune_lnode *ctune_lnode_new(ctune_loops *l, ctune_lnode_kind kind) {
    ctune_lnode *n = CTUNE_NEW(l->arena, ctune_lnode);
    if (n != NULL) {
        n->kind = kind;
        n->var = n->buffer = -1;
        n->step = 1;
        n->collapse = 1;
        n->line = l->line;
    }
    return n;
}

void ctune_lnode_append(ctune_lnode *parent, ctune_lnode *kid) {
    if (parent == NULL || kid == NULL) {
        return;
    }
    kid->next = NULL;
    if (parent->last == NULL) {
        parent->first = kid;
    } else {
        parent->last->next = kid;
    }
    parent->last = kid;
}

void ctune_lnode_prepend(ctune_lnode *parent, ctune_lnode *kid) {
    if (parent == NULL || kid == NULL) {
        return;
    }
    kid->next = parent->first;
    parent->first = kid;
    if (parent->last == NULL) {
        parent->last = kid;
    }
}

/* A part that is missing although nothing has failed: the node would be left out of the program
 * without a message. */
static ctune_lnode *new_whole(ctune_loops *l, ctune_lnode_kind kind, bool is_whole) {
    if (!is_whole && ctune_loops_status(l) == CTUNE_OK) {
        ctune_loops_fail(l, CTUNE_EBUG, "a part of a node of kind %d is missing", (int)kind);
    }
    return is_whole ? ctune_lnode_new(l, kind) : NULL;
}

ctune_lnode *ctune_lnode_for(ctune_loops *l, int var, const ctune_aff *lo, const ctune_aff *hi,
                             int64_t step, ctune_lann ann) {
    ctune_lnode *n = new_whole(l, CTUNE_L_FOR, var >= 0 && lo != NULL && hi != NULL);
    if (n != NULL) {
        n->var = var;
        n->lo = lo;
        n->hi = hi;
        n->step = step;
        n->ann = ann;
    }
    return n;
}

ctune_lnode *ctune_lnode_let(ctune_loops *l, int var, const ctune_aff *value) {
    ctune_lnode *n = new_whole(l, CTUNE_L_LET, var >= 0 && value != NULL);
    if (n != NULL) {
        n->var = var;
        n->lo = value;
    }
    return n;
}

ctune_lnode *ctune_lnode_if(ctune_loops *l, const ctune_aff *const *conds, int n_conds,
                            const ctune_value *test) {
    ctune_lnode *n = ctune_lnode_new(l, CTUNE_L_IF);
    const ctune_aff **own =
        n_conds > 0 ? CTUNE_NEW_ARRAY(l->arena, const ctune_aff *, n_conds) : NULL;
    if (n == NULL || (n_conds > 0 && own == NULL)) {
        return NULL;
    }
    for (int i = 0; i < n_conds; i++) {
        if (conds[i] == NULL) {
            return new_whole(l, CTUNE_L_IF, false);
        }
        own[i] = conds[i];
    }
    n->conds = own;
    n->n_conds = n_conds;
    n->test = test;
    return n;
}

ctune_lnode *ctune_lnode_decl(ctune_loops *l, int buffer) {
    ctune_lnode *n = new_whole(l, CTUNE_L_DECL, buffer >= 0);
    if (n != NULL) {
        n->buffer = buffer;
    }
    return n;
}

static ctune_lnode *assign(ctune_loops *l, ctune_lnode_kind kind, int var,
                           const ctune_value *value) {
    ctune_lnode *n = new_whole(l, kind, var >= 0);
    if (n != NULL) {
        n->var = var;
        n->value = value;
    }
    return n;
}

ctune_lnode *ctune_lnode_def(ctune_loops *l, int var, const ctune_value *value) {
    return assign(l, CTUNE_L_DEF, var, value);
}

ctune_lnode *ctune_lnode_set(ctune_loops *l, int var, const ctune_value *value) {
    return assign(l, CTUNE_L_SET, value == NULL ? -1 : var, value);
}

ctune_lnode *ctune_lnode_store(ctune_loops *l, const ctune_place *place, const ctune_value *value) {
    bool is_whole = value != NULL && place->id >= 0;
    for (int d = 0; d < place->n_idx; d++) {
        is_whole &= place->idx[d] != NULL;
    }
    ctune_lnode *n = new_whole(l, CTUNE_L_STORE, is_whole);
    if (n != NULL) {
        n->place = *place;
        n->value = value;
    }
    return n;
}

bool ctune_lnode_has(const ctune_lnode *node, ctune_lnode_kind kind) {
    bool found = node != NULL && node->kind == kind;
    for (const ctune_lnode *kid = node == NULL ? NULL : node->first; kid != NULL && !found;
         kid = kid->next) {
        found = ctune_lnode_has(kid, kind);
    }
    return found || (node != NULL && ctune_lnode_has(node->other, kind));
}

bool ctune_loops_has_launch(const ctune_loops *l) {
    return ctune_lnode_has(l->root, CTUNE_L_LAUNCH);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* What a copy replaces: index variables by forms, value variables and buffers by new ones. Chained
 * on the stack of the walk: a binding is seen by what follows it in its block. */
typedef struct copier {
    ctune_loops *l;
    int n_index, cap_index;
    int *index;           /* index variable */
    const ctune_aff **by; /* its replacement */
    int n_value, cap_value;
    int *value, *new_value;
    int n_buffer, cap_buffer;
    int *buffer, *new_buffer;
} copier;

static bool push(ctune_arena *arena, int **keys, void **items, int *n, int *cap, size_t bytes,
                 int key, const void *item) {
    if (*n == *cap) {
        int size = *cap == 0 ? 8 : *cap * 2;
        int *more = CTUNE_NEW_ARRAY(arena, int, size);
        void *vals = ctune_arena_array(arena, (size_t)size, bytes);
        if (more == NULL || vals == NULL) {
            return false;
        }
        for (int i = 0; i < *n; i++) {
            more[i] = (*keys)[i];
        }
        if (*n > 0) {
            __builtin_memcpy(vals, *items, (size_t)*n * bytes);
        }
        *keys = more;
        *items = vals;
        *cap = size;
    }
    (*keys)[*n] = key;
    __builtin_memcpy((char *)*items + (size_t)*n * bytes, item, bytes);
    (*n)++;
    return true;
}

static void bind_index(copier *c, int var, const ctune_aff *by) {
    push(c->l->arena, &c->index, (void **)&c->by, &c->n_index, &c->cap_index, sizeof by, var, &by);
}

static int find(const int *keys, int n, int key) {
    for (int i = n - 1; i >= 0; i--) {
        if (keys[i] == key) {
            return i;
        }
    }
    return -1;
}

static const ctune_aff *copy_aff(copier *c, const ctune_aff *aff) {
    for (int i = 0; i < c->n_index && aff != NULL; i++) {
        aff = ctune_loops_subst(c->l, aff, c->index[i], c->by[i]);
    }
    return aff;
}

static ctune_place copy_place(copier *c, const ctune_place *place) {
    ctune_place out = *place;
    for (int d = 0; d < out.n_idx; d++) {
        out.idx[d] = copy_aff(c, place->idx[d]);
    }
    int at = place->is_buffer ? find(c->buffer, c->n_buffer, place->id) : -1;
    if (at >= 0) {
        out.id = c->new_buffer[at];
    }
    return out;
}

static const ctune_value *copy_one(ctune_loops *l, const ctune_value *value, void *data) {
    copier *c = data;
    ctune_value proto = *value;
    int at;
    switch (value->op) {
    case CTUNE_V_INDEX:
        proto.index = copy_aff(c, value->index);
        return proto.index == NULL ? NULL : ctune_loops_value(l, &proto);
    case CTUNE_V_LOAD:
        proto.place = copy_place(c, &value->place);
        return ctune_loops_value(l, &proto);
    case CTUNE_V_VAR:
        at = find(c->value, c->n_value, value->var);
        return at < 0 ? value : ctune_value_var(l, c->new_value[at]);
    default:
        return value;
    }
}

static const ctune_value *copy_value(copier *c, const ctune_value *value) {
    return value == NULL ? NULL : ctune_value_rebuild(c->l, value, copy_one, c);
}

static int copy_index_var(copier *c, int var) {
    int fresh = ctune_loops_index_var(c->l, c->l->var[var].hint);
    bind_index(c, var, ctune_loops_var_aff(c->l, fresh, 1, 0));
    return fresh;
}

static ctune_lnode *copy_node(copier *c, const ctune_lnode *node);

static void copy_kids(copier *c, const ctune_lnode *node, ctune_lnode *out) {
    int n_index = c->n_index, n_value = c->n_value, n_buffer = c->n_buffer;
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        ctune_lnode_append(out, copy_node(c, kid));
    }
    c->n_index = n_index;
    c->n_value = n_value;
    c->n_buffer = n_buffer;
}

static ctune_lnode *copy_node(copier *c, const ctune_lnode *node) {
    ctune_loops *l = c->l;
    ctune_lnode *out = ctune_lnode_new(l, node->kind);
    if (out == NULL) {
        return NULL;
    }
    *out = *node;
    out->next = out->first = out->last = out->other = NULL;
    out->lo = copy_aff(c, node->lo);
    out->hi = copy_aff(c, node->hi);
    out->value = copy_value(c, node->value);
    out->test = copy_value(c, node->test);
    out->place = copy_place(c, &node->place);
    if (node->n_conds > 0) {
        const ctune_aff **conds = CTUNE_NEW_ARRAY(l->arena, const ctune_aff *, node->n_conds);
        if (conds == NULL) {
            return NULL;
        }
        for (int i = 0; i < node->n_conds; i++) {
            conds[i] = copy_aff(c, node->conds[i]);
        }
        out->conds = conds;
    }
    int n_index = c->n_index;
    if (node->kind == CTUNE_L_FOR || node->kind == CTUNE_L_LET) {
        out->var = copy_index_var(c, node->var);
    } else if (node->kind == CTUNE_L_DEF) {
        ctune_lvar old = l->var[node->var];
        out->var = ctune_loops_value_var(l, old.hint, old.type, old.lanes, old.is_mutable);
        push(l->arena, &c->value, (void **)&c->new_value, &c->n_value, &c->cap_value, sizeof(int),
             node->var, &out->var);
    } else if (node->kind == CTUNE_L_SET) {
        int at = find(c->value, c->n_value, node->var);
        out->var = at < 0 ? node->var : c->new_value[at];
    } else if (node->kind == CTUNE_L_DECL) {
        ctune_lbuffer old = l->buffer[node->buffer];
        for (int d = 0; d < old.rank; d++) {
            old.extent[d] = copy_aff(c, old.extent[d]);
        }
        out->buffer = ctune_loops_buffer(l, old.hint, old.type, old.scope, old.rank, old.extent);
        push(l->arena, &c->buffer, (void **)&c->new_buffer, &c->n_buffer, &c->cap_buffer,
             sizeof(int), node->buffer, &out->buffer);
    }
    copy_kids(c, node, out);
    if (node->kind == CTUNE_L_FOR) {
        c->n_index = n_index;
    }
    out->other = node->other == NULL ? NULL : copy_node(c, node->other);
    return out;
}

ctune_lnode *ctune_lnode_copy(ctune_loops *l, const ctune_lnode *node, int var,
                              const ctune_aff *by) {
    copier c = {.l = l};
    if (var >= 0) {
        bind_index(&c, var, by);
    }
    return node == NULL ? NULL : copy_node(&c, node);
}

void ctune_lnode_copy_body(ctune_loops *l, const ctune_lnode *from, const ctune_aff *by,
                           ctune_lnode *into) {
    copier c = {.l = l};
    bind_index(&c, from->var, by);
    if (into != NULL) {
        copy_kids(&c, from, into);
    }
}

bool ctune_lnode_has_loop(const ctune_lnode *node) {
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (kid->kind == CTUNE_L_FOR || ctune_lnode_has_loop(kid)) {
            return true;
        }
    }
    return node->other != NULL && ctune_lnode_has_loop(node->other);
}

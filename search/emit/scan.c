/*
 * What the printer must know of a whole program before it prints: which variables and buffers are
 * used at all, and which products a compiler could fuse with a sum.
 *
 * A product is rounded in the text when a sum or difference can see it: as an operand, through what
 * only passes values on (negation, choices, lanes), through a variable, or through memory that the
 * compiler may forward. Forwarding needs one straight line of code: a store and a load in loops
 * of which neither is around the other (loops that a compiler may repeat in full do not count)
 * cannot be joined, so that a plain `C = a * b` stays as plain as it was.
 */
#include "search/emit/emit_private.h"

#include <string.h>

/* Compilers repeat loops of this many iterations at most in full. */
enum { MAX_FULL_TRIPS = 64 };

/* A value that goes into a variable or a place. */
typedef struct flow {
    bool is_place;
    int id;     /* variable; or tensor, or n_tensors + buffer */
    int anchor; /* innermost loop around it that stays a loop */
    const ctune_value *value;
} flow;

typedef struct scan {
    ctune_emitter *e;
    ctune_loops *l;
    bool has_changed;
    bool *is_atom_seen;
    int anchor, n_anchors, cap_anchors;
    int *parent; /* of an anchor; -1: the program */
    int n_flows, cap_flows;
    flow *flow; /* of floats */
    int n_loads, cap_loads;
    flow *load; /* places whose value a sum can see */
    bool *is_var_fed;
} scan;

static bool grow(scan *s, void **items, int n, int *cap, size_t bytes) {
    if (n < *cap) {
        return true;
    }
    int size = *cap * 2 + 32;
    void *more = ctune_arena_array(s->e->arena, (size_t)size, bytes);
    if (more == NULL) {
        return false;
    }
    if (n > 0) {
        memcpy(more, *items, (size_t)n * bytes);
    }
    *items = more;
    *cap = size;
    return true;
}

/* ---- uses ------------------------------------------------------------------------------------ */

static void mark(scan *s, bool *flag) {
    s->has_changed |= !*flag;
    *flag = true;
}

static void use_place(scan *s, const ctune_place *place);

static void use_aff(scan *s, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_AXIS) {
            mark(s, &s->e->is_var_used[term->id]);
        } else if (term->kind == CTUNE_TERM_DIV && !s->is_atom_seen[term->id]) {
            s->is_atom_seen[term->id] = true;
            use_aff(s, s->l->atom[term->id].a);
            use_aff(s, s->l->atom[term->id].b);
            if (s->l->atom[term->id].place != NULL) {
                use_place(s, s->l->atom[term->id].place);
            }
        }
    }
}

static void use_place(scan *s, const ctune_place *place) {
    for (int d = 0; d < place->n_idx; d++) {
        use_aff(s, place->idx[d]);
    }
    if (place->is_buffer) {
        mark(s, &s->e->is_buffer_used[place->id]);
        for (int d = 0; d < s->l->buffer[place->id].rank; d++) {
            use_aff(s, s->l->buffer[place->id].extent[d]);
        }
    }
}

static void use_value(scan *s, const ctune_value *v) {
    if (v == NULL) {
        return;
    }
    if (v->op == CTUNE_V_VAR) {
        mark(s, &s->e->is_var_used[v->var]);
    } else if (v->op == CTUNE_V_LOAD) {
        use_place(s, &v->place);
    }
    use_aff(s, v->index);
    for (int i = 0; i < v->n_kids; i++) {
        use_value(s, v->kids[i]);
    }
}

/* What a definition that nobody uses refers to is not used by it. */
static void use_nodes(scan *s, const ctune_lnode *node) {
    for (; node != NULL; node = node->next) {
        bool is_definition =
            node->kind == CTUNE_L_LET || node->kind == CTUNE_L_DEF || node->kind == CTUNE_L_SET;
        if (is_definition && !s->e->is_var_used[node->var]) {
            continue;
        }
        use_aff(s, node->lo);
        use_aff(s, node->hi);
        for (int i = 0; i < node->n_conds; i++) {
            use_aff(s, node->conds[i]);
        }
        use_value(s, node->test);
        use_value(s, node->value);
        if (node->kind == CTUNE_L_STORE) {
            use_place(s, &node->place);
        }
        use_nodes(s, node->first);
        use_nodes(s, node->other);
    }
}

/* ---- products that a sum can see ---------------------------------------------------------------
 */

static size_t slot_of(const ctune_emitter *e, const ctune_value *v) {
    size_t at = (size_t)v->hash & ((size_t)e->cap_rounded - 1);
    while (e->rounded[at] != NULL && e->rounded[at] != v) {
        at = (at + 1) & ((size_t)e->cap_rounded - 1);
    }
    return at;
}

bool emit_is_rounded(const ctune_emitter *e, const ctune_value *v) {
    return e->n_rounded > 0 && v->op == CTUNE_V_MUL && e->rounded[slot_of(e, v)] == v;
}

static void round_product(scan *s, const ctune_value *v) {
    ctune_emitter *e = s->e;
    if (e->n_rounded * 2 >= e->cap_rounded) {
        int n = e->cap_rounded;
        const ctune_value **old = e->rounded;
        const ctune_value **more =
            CTUNE_NEW_ARRAY(e->arena, const ctune_value *, n == 0 ? 64 : n * 2);
        if (more == NULL) {
            return;
        }
        e->rounded = more;
        e->cap_rounded = n == 0 ? 64 : n * 2;
        for (int i = 0; i < n; i++) {
            if (old[i] != NULL) {
                e->rounded[slot_of(e, old[i])] = old[i];
            }
        }
    }
    size_t at = slot_of(e, v);
    if (e->rounded[at] == NULL) {
        e->rounded[at] = v;
        e->n_rounded++;
        s->has_changed = true;
    }
}

static int place_id(const scan *s, const ctune_place *place) {
    return place->is_buffer ? s->l->region->n_tensors + place->id : place->id;
}

static void feed_load(scan *s, const ctune_value *v, int anchor) {
    int id = place_id(s, &v->place);
    for (int i = 0; i < s->n_loads; i++) {
        if (s->load[i].id == id && s->load[i].anchor == anchor) {
            return;
        }
    }
    if (grow(s, (void **)&s->load, s->n_loads, &s->cap_loads, sizeof *s->load)) {
        s->load[s->n_loads++] = (flow){.is_place = true, .id = id, .anchor = anchor};
        s->has_changed = true;
    }
}

/* A sum sees the value of v. */
static void feed(scan *s, const ctune_value *v, int anchor) {
    switch (v->op) {
    case CTUNE_V_MUL:
        round_product(s, v);
        return;
    case CTUNE_V_VAR:
        mark(s, &s->is_var_fed[v->var]);
        return;
    case CTUNE_V_LOAD:
        feed_load(s, v, anchor);
        return;
    case CTUNE_V_NEG:
    case CTUNE_V_SPLAT:
    case CTUNE_V_GATHER:
    case CTUNE_V_EXTRACT:
    case CTUNE_V_SLIDE:
    case CTUNE_V_MIN:
    case CTUNE_V_MAX:
    case CTUNE_V_SELECT:
        for (int i = v->op == CTUNE_V_SELECT; i < v->n_kids; i++) {
            feed(s, v->kids[i], anchor);
        }
        return;
    default:
        return;
    }
}

/* Hardware has no fused product of the x87's type. */
static bool can_fuse(const ctune_value *v) {
    return ctune_type_is_float(v->type) && v->type != CTUNE_F80;
}

static void find_sums(scan *s, const ctune_value *v) {
    if (v == NULL) {
        return;
    }
    for (int i = 0; i < v->n_kids; i++) {
        if ((v->op == CTUNE_V_ADD || v->op == CTUNE_V_SUB) && can_fuse(v)) {
            feed(s, v->kids[i], s->anchor);
        }
        find_sums(s, v->kids[i]);
    }
}

static void add_flow(scan *s, bool is_place, int id, const ctune_value *value) {
    if (value != NULL && can_fuse(value) &&
        grow(s, (void **)&s->flow, s->n_flows, &s->cap_flows, sizeof *s->flow)) {
        s->flow[s->n_flows++] = (flow){is_place, id, s->anchor, value};
    }
}

/* May a compiler repeat the whole loop, so that it is no loop any more? */
static bool may_vanish(scan *s, const ctune_lnode *node) {
    const ctune_aff *trips = ctune_aff_sub(s->e->arena, node->hi, node->lo);
    return trips != NULL && trips->n_terms == 0 &&
           trips->c0 <= MAX_FULL_TRIPS * (node->step < 1 ? 1 : node->step);
}

static void find_products(scan *s, const ctune_lnode *node) {
    for (; node != NULL; node = node->next) {
        int outer = s->anchor;
        if (node->kind == CTUNE_L_FOR && !may_vanish(s, node) &&
            grow(s, (void **)&s->parent, s->n_anchors, &s->cap_anchors, sizeof *s->parent)) {
            s->parent[s->n_anchors] = outer;
            s->anchor = s->n_anchors++;
        }
        find_sums(s, node->value);
        find_sums(s, node->test);
        if (node->kind == CTUNE_L_DEF || node->kind == CTUNE_L_SET) {
            add_flow(s, false, node->var, node->value);
        } else if (node->kind == CTUNE_L_STORE) {
            add_flow(s, true, place_id(s, &node->place), node->value);
        }
        find_products(s, node->first);
        find_products(s, node->other);
        s->anchor = outer;
    }
}

static bool is_around(const scan *s, int outer, int inner) {
    while (inner != -1 && inner != outer) {
        inner = s->parent[inner];
    }
    return inner == outer;
}

static bool is_seen(const scan *s, const flow *f) {
    bool is_fed = !f->is_place && s->is_var_fed[f->id];
    for (int i = 0; f->is_place && i < s->n_loads && !is_fed; i++) {
        is_fed = s->load[i].id == f->id && (is_around(s, s->load[i].anchor, f->anchor) ||
                                            is_around(s, f->anchor, s->load[i].anchor));
    }
    return is_fed;
}

ctune_status emit_scan(ctune_emitter *e) {
    ctune_loops *l = e->loops;
    scan s = {.e = e, .l = l, .anchor = -1};
    e->is_var_used = CTUNE_NEW_ARRAY(e->arena, bool, l->n_vars + 1);
    e->is_buffer_used = CTUNE_NEW_ARRAY(e->arena, bool, l->n_buffers + 1);
    s.is_var_fed = CTUNE_NEW_ARRAY(e->arena, bool, l->n_vars + 1);
    s.is_atom_seen = CTUNE_NEW_ARRAY(e->arena, bool, l->n_atoms + 1);
    if (ctune_arena_has_failed(e->arena)) {
        return ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory");
    }
    do {
        s.has_changed = false;
        use_nodes(&s, l->root);
    } while (s.has_changed);
    if (e->options->target->contract != CTUNE_CONTRACT_OFF) {
        find_products(&s, l->root);
        do {
            s.has_changed = false;
            for (int i = 0; i < s.n_flows; i++) {
                if (is_seen(&s, &s.flow[i])) {
                    feed(&s, s.flow[i].value, s.flow[i].anchor);
                }
            }
        } while (s.has_changed);
    }
    return ctune_arena_has_failed(e->arena) ? ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory")
                                            : CTUNE_OK;
}

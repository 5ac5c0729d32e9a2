/*
 * Scalars.
 * In:  REGISTER buffers.
 * Out: one mutable value variable for each element range that is accessed as a whole; buffers with
 *      an index that is no constant, or with ranges that overlap in parts, are BLOCK arrays.
 * Why: the address of a variable is never taken, so it lives in a register; an array may not.
 *
 * A scalar load from a vector range is an EXTRACT. The definition of a variable moves to its first
 * assignment when that stands in the same block and nothing reads the variable before.
 */
#include "search/passes/passes_private.h"

/* A REGISTER buffer at work. */
typedef struct range_map {
    bool is_split; /* its ranges become variables */
    int64_t n_elems;
    int *start; /* [n_elems] first element of the range that holds the element; -1 = none */
    int *lanes; /* [n_elems] at the first element of a range */
    int *var;   /* [n_elems] at the first element of a range */
} range_map;

typedef struct scalars_ctx {
    ctune_loops *l;
    int n_maps;
    range_map *map;      /* [n_maps] by buffer */
    bool is_scalar_load; /* the walk at work claims scalar loads, else all other accesses */
} scalars_ctx;

enum { MAX_ELEMS = 1 << 16 };

static range_map *map_of(scalars_ctx *c, const ctune_place *place) {
    return place->is_buffer && place->id < c->n_maps && c->map[place->id].is_split
               ? &c->map[place->id]
               : NULL;
}

/* First element of an access; -1 when it is no constant or leaves the buffer or its row. */
static int64_t element_of(const ctune_loops *l, const ctune_place *place, int lanes) {
    const ctune_lbuffer *b = &l->buffer[place->id];
    int64_t at = 0;
    for (int d = 0; d < place->n_idx; d++) {
        int64_t extent = b->extent[d]->c0;
        int64_t width = d == place->n_idx - 1 ? lanes : 1;
        if (place->idx[d]->n_terms > 0 || place->idx[d]->c0 < 0 ||
            place->idx[d]->c0 > extent - width) {
            return -1;
        }
        at = at * extent + place->idx[d]->c0;
    }
    return place->n_idx == 0 && lanes > 1 ? -1 : at;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static bool claim(range_map *m, int64_t at, int lanes) {
    bool is_new = m->start[at] < 0;
    for (int64_t e = at; e < at + lanes; e++) {
        if (is_new ? m->start[e] >= 0 : m->start[e] != at || m->lanes[at] != lanes) {
            return false;
        }
    }
    for (int64_t e = at; is_new && e < at + lanes; e++) {
        m->start[e] = (int)at;
    }
    m->lanes[at] = lanes;
    return true;
}

static void claim_place(scalars_ctx *c, const ctune_place *place, int lanes, bool is_load) {
    range_map *m = map_of(c, place);
    if (m == NULL || (is_load && lanes == 1) != c->is_scalar_load) {
        return;
    }
    int64_t at = element_of(c->l, place, lanes);
    if (at < 0) {
        m->is_split = false;
    } else if (!c->is_scalar_load || m->start[at] < 0) {
        m->is_split = claim(m, at, lanes);
    }
}

static void claim_value(scalars_ctx *c, const ctune_value *v) {
    if (v == NULL) {
        return;
    }
    if (v->op == CTUNE_V_LOAD) {
        claim_place(c, &v->place, v->lanes, true);
    }
    for (int i = 0; i < v->n_kids; i++) {
        claim_value(c, v->kids[i]);
    }
}

static void claim_node(ctune_lnode *node, void *data) {
    if (node->kind == CTUNE_L_STORE && node->value != NULL) {
        claim_place(data, &node->place, node->value->lanes, false);
    }
    claim_value(data, node->value);
    claim_value(data, node->test);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* "acc_2_1": row 2, second range of the row. */
static const char *hint_of(const ctune_loops *l, const ctune_lbuffer *b, int64_t at, int lanes) {
    const char *hint = b->hint;
    int64_t part[CTUNE_MAX_RANK];
    for (int d = b->rank - 1; d >= 0; d--) {
        part[d] = at % b->extent[d]->c0;
        at /= b->extent[d]->c0;
    }
    for (int d = 0; d < b->rank && hint != NULL; d++) {
        bool is_last = d == b->rank - 1;
        if (!is_last || b->extent[d]->c0 > lanes) {
            hint = ctune_arena_printf(l->arena, "%s_%d", hint,
                                      (int)(is_last ? part[d] / lanes : part[d]));
        }
    }
    return hint == NULL ? "r" : hint;
}

static void make_vars(scalars_ctx *c, int buffer) {
    range_map *m = &c->map[buffer];
    for (int64_t e = 0; e < m->n_elems; e++) {
        if (m->start[e] == e) {
            const ctune_lbuffer b = c->l->buffer[buffer];
            m->var[e] = ctune_loops_value_var(c->l, hint_of(c->l, &b, e, m->lanes[e]), b.type,
                                              m->lanes[e], true);
        }
    }
}

static void prepare(scalars_ctx *c, int buffer) {
    const ctune_lbuffer *b = &c->l->buffer[buffer];
    range_map *m = &c->map[buffer];
    m->is_split = b->scope == CTUNE_SCOPE_REGISTER;
    m->n_elems = 1;
    for (int d = 0; d < b->rank && m->is_split; d++) {
        const ctune_aff *extent = b->extent[d];
        m->is_split = extent != NULL && extent->n_terms == 0 && extent->c0 > 0 &&
                      extent->c0 <= MAX_ELEMS && m->n_elems * extent->c0 <= MAX_ELEMS;
        m->n_elems *= m->is_split ? extent->c0 : 1;
    }
    if (m->is_split) {
        m->start = CTUNE_NEW_ARRAY(c->l->arena, int, m->n_elems);
        m->lanes = CTUNE_NEW_ARRAY(c->l->arena, int, m->n_elems);
        m->var = CTUNE_NEW_ARRAY(c->l->arena, int, m->n_elems);
        m->is_split = m->start != NULL && m->lanes != NULL && m->var != NULL;
    }
    for (int64_t e = 0; m->is_split && e < m->n_elems; e++) {
        m->start[e] = m->var[e] = -1;
    }
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static const ctune_value *replace_load(ctune_loops *l, const ctune_value *v, void *data) {
    range_map *m = v->op == CTUNE_V_LOAD ? map_of(data, &v->place) : NULL;
    if (m == NULL) {
        return v;
    }
    int64_t at = element_of(l, &v->place, v->lanes);
    const ctune_value *var = ctune_value_var(l, m->var[m->start[at]]);
    return m->lanes[m->start[at]] == v->lanes
               ? var
               : ctune_value_extract(l, var, (int)(at - m->start[at]));
}

static void replace_node(ctune_lnode *node, void *data) {
    scalars_ctx *c = data;
    node->value = ctune_value_rebuild(c->l, node->value, replace_load, c);
    node->test = ctune_value_rebuild(c->l, node->test, replace_load, c);
    range_map *m = node->kind == CTUNE_L_STORE ? map_of(c, &node->place) : NULL;
    if (m != NULL && node->value != NULL) {
        int64_t at = element_of(c->l, &node->place, node->value->lanes);
        node->kind = CTUNE_L_SET;
        node->var = m->var[m->start[at]];
        node->place = (ctune_place){0};
    }
}

static bool mentions(const ctune_lnode *node, int var) {
    if (node->var == var && (node->kind == CTUNE_L_SET || node->kind == CTUNE_L_DEF)) {
        return true;
    }
    if (ctune_value_reads(node->value, var) || ctune_value_reads(node->test, var)) {
        return true;
    }
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (mentions(kid, var)) {
            return true;
        }
    }
    return node->other != NULL && mentions(node->other, var);
}

/* Append the definition of var; rest: what follows it in the block. */
static void append_def(scalars_ctx *c, ctune_lnode *parent, int var, ctune_lnode *rest,
                       const char **comment) {
    while (rest != NULL && !mentions(rest, var)) {
        rest = rest->next;
    }
    if (rest == NULL) {
        return; /* never used */
    }
    if (rest->kind == CTUNE_L_SET && rest->var == var && !ctune_value_reads(rest->value, var)) {
        rest->kind = CTUNE_L_DEF;
        return;
    }
    ctune_lnode *def = ctune_lnode_def(c->l, var, NULL);
    if (def != NULL) {
        def->comment = *comment;
        *comment = NULL;
    }
    ctune_lnode_append(parent, def);
}

static void replace_decls(scalars_ctx *c, ctune_lnode *parent) {
    for (ctune_lnode *kid = ctune_lnode_take_kids(parent), *next; kid != NULL; kid = next) {
        next = kid->next;
        if (kid->kind != CTUNE_L_DECL || kid->buffer >= c->n_maps ||
            !c->map[kid->buffer].is_split) {
            replace_decls(c, kid);
            if (kid->other != NULL) {
                replace_decls(c, kid->other);
            }
            ctune_lnode_append(parent, kid);
            continue;
        }
        range_map *m = &c->map[kid->buffer];
        const char *comment = kid->comment;
        for (int64_t e = 0; e < m->n_elems; e++) {
            if (m->var[e] >= 0) {
                append_def(c, parent, m->var[e], next, &comment);
            }
        }
        if (comment != NULL && next != NULL && next->comment == NULL) {
            next->comment = comment;
        }
    }
}

ctune_status ctune_pass_scalars(ctune_loops *l, const ctune_pass_options *options) {
    (void)options;
    scalars_ctx c = {.l = l, .n_maps = l->n_buffers};
    c.map = CTUNE_NEW_ARRAY(l->arena, range_map, l->n_buffers + 1);
    if (ctune_loops_status(l) != CTUNE_OK || c.map == NULL) {
        return ctune_loops_status(l);
    }
    for (int b = 0; b < c.n_maps; b++) {
        prepare(&c, b);
    }
    ctune_lnode_walk(l->root, claim_node, &c);
    c.is_scalar_load = true;
    ctune_lnode_walk(l->root, claim_node, &c);
    for (int b = 0; b < c.n_maps; b++) {
        if (c.map[b].is_split) {
            make_vars(&c, b);
        } else if (l->buffer[b].scope == CTUNE_SCOPE_REGISTER) {
            l->buffer[b].scope = CTUNE_SCOPE_BLOCK;
        }
    }
    ctune_lnode_walk(l->root, replace_node, &c);
    if (ctune_loops_status(l) == CTUNE_OK) {
        replace_decls(&c, l->root);
    }
    return ctune_loops_status(l);
}

/*
 * Hoist: the part of the share pass that moves what an innermost loop does not change in front of
 * it, and what is worth a name. See share.c, passes_private.h.
 *
 * The loop may have no iteration: what moves must be harmless when nobody asked for it. Arithmetic
 * and splats of what is at hand are; loads of arrays, divisions, conversions to integers and
 * integer sums that may overflow are not.
 */
#include "search/passes/passes_private.h"

/* ---- worth a name ---------------------------------------------------------------------------- */

static bool is_plain(const ctune_value *v) {
    return v->op == CTUNE_V_CONST || v->op == CTUNE_V_VAR || v->op == CTUNE_V_INDEX;
}

/* Is v worth a name when it is used twice? */
bool ctune_value_is_worthy(const ctune_value *v) {
    if (is_plain(v)) {
        return false;
    }
    bool is_view = v->op == CTUNE_V_EXTRACT || v->op == CTUNE_V_CONVERT || v->op == CTUNE_V_NEG;
    if (is_view || v->op == CTUNE_V_SPLAT) {
        return v->kids[0]->op != CTUNE_V_CONST &&
               !(v->op == CTUNE_V_EXTRACT && is_plain(v->kids[0]));
    }
    return true;
}

const char *ctune_value_hint(ctune_loops *l, const ctune_value *v) {
    const ctune_value *at = v;
    while (at->n_kids == 1) {
        at = at->kids[0];
    }
    const char *hint = NULL;
    if (at->op == CTUNE_V_LOAD) {
        hint = at->place.is_buffer ? l->buffer[at->place.id].hint
                                   : l->region->tensors[at->place.id].name;
    } else if (at->op == CTUNE_V_VAR) {
        hint = l->var[at->var].hint;
    }
    if (hint == NULL) {
        return v->lanes > 1 ? "vec" : "t";
    }
    hint = ctune_arena_printf(l->arena, "%s_%s", hint,
                              v->lanes == 1           ? "s"
                              : v->op == CTUNE_V_LOAD ? "v"
                                                      : "all");
    return hint == NULL ? "t" : hint;
}

/* ---- what moves ------------------------------------------------------------------------------ */

typedef struct hoister {
    ctune_loops *l;
    ctune_lnode *parent, *loop;
    int n_moved, cap_moved;
    const ctune_value **moved;
    const ctune_value **var;
} hoister;

/* Does something in node, or node itself, bind or write what v (without its kids) reads? */
static bool is_written(const ctune_loops *l, const ctune_lnode *node, const ctune_value *v) {
    bool is_index = node->kind == CTUNE_L_FOR || node->kind == CTUNE_L_LET;
    bool is_var = node->kind == CTUNE_L_DEF || node->kind == CTUNE_L_SET;
    if ((is_index && ctune_value_uses(l, v, node->var)) ||
        (is_var && v->op == CTUNE_V_VAR && v->var == node->var) ||
        (node->kind == CTUNE_L_STORE && v->op == CTUNE_V_LOAD && !v->place.is_buffer &&
         !node->place.is_buffer && v->place.id == node->place.id)) {
        return true;
    }
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        if (is_written(l, kid, v)) {
            return true;
        }
    }
    return node->other != NULL && is_written(l, node->other, v);
}

/* May v be evaluated once before the loop, though the loop may have no iteration? */
static bool is_movable(const hoister *h, const ctune_value *v) {
    switch (v->op) {
    case CTUNE_V_LOAD: /* a scalar variable of the source can always be read */
        if (v->place.is_buffer || !h->l->region->tensors[v->place.id].is_scalar_var ||
            h->l->region->tensors[v->place.id].is_temp) {
            return false;
        }
        break;
    case CTUNE_V_INDEX:
        if (ctune_loops_has_load(h->l, v->index)) {
            return false;
        }
        break;
    case CTUNE_V_ADD:
    case CTUNE_V_SUB:
    case CTUNE_V_MUL:
    case CTUNE_V_NEG:
        if (!ctune_type_is_float(v->type) && !v->wraps) {
            return false; /* may overflow */
        }
        break;
    case CTUNE_V_CONVERT:
        if (ctune_type_is_float(v->kids[0]->type) && !ctune_type_is_float(v->type)) {
            return false;
        }
        break;
    case CTUNE_V_DIV:
    case CTUNE_V_MOD:
    case CTUNE_V_SHL:
    case CTUNE_V_SHR:
    case CTUNE_V_CALL:
        return false;
    default:
        break;
    }
    for (int i = 0; i < v->n_kids; i++) {
        if (!is_movable(h, v->kids[i])) {
            return false;
        }
    }
    return !is_written(h->l, h->loop, v);
}

static const ctune_value *moved_to(const hoister *h, const ctune_value *v) {
    for (int i = 0; i < h->n_moved; i++) {
        if (h->moved[i] == v) {
            return h->var[i];
        }
    }
    return NULL;
}

static const ctune_value *move(hoister *h, const ctune_value *v) {
    ctune_loops *l = h->l;
    if (h->n_moved == h->cap_moved) {
        int cap = h->cap_moved == 0 ? 8 : h->cap_moved * 2;
        const ctune_value **moved = CTUNE_NEW_ARRAY(l->arena, const ctune_value *, cap);
        const ctune_value **vars = CTUNE_NEW_ARRAY(l->arena, const ctune_value *, cap);
        if (moved == NULL || vars == NULL) {
            return NULL;
        }
        for (int i = 0; i < h->n_moved; i++) {
            moved[i] = h->moved[i];
            vars[i] = h->var[i];
        }
        h->moved = moved;
        h->var = vars;
        h->cap_moved = cap;
    }
    int var = ctune_loops_value_var(l, ctune_value_hint(h->l, v), v->type, v->lanes, false);
    ctune_lnode_append(h->parent, ctune_lnode_def(l, var, v));
    h->moved[h->n_moved] = v;
    h->var[h->n_moved] = ctune_value_var(l, var);
    return h->var[h->n_moved++];
}

static const ctune_value *hoist_value(hoister *h, const ctune_value *v) {
    if (v == NULL) {
        return NULL;
    }
    if (ctune_value_is_worthy(v)) {
        const ctune_value *var = moved_to(h, v);
        if (var == NULL && is_movable(h, v)) {
            var = move(h, v);
        }
        if (var != NULL) {
            return var;
        }
    }
    ctune_value proto = *v;
    const ctune_value **kids =
        v->n_kids == 0 ? NULL : CTUNE_NEW_ARRAY(h->l->arena, const ctune_value *, v->n_kids);
    bool is_same = true;
    for (int i = 0; kids != NULL && i < v->n_kids; i++) {
        kids[i] = hoist_value(h, v->kids[i]);
        is_same &= kids[i] == v->kids[i];
    }
    proto.kids = kids;
    return is_same ? v : ctune_loops_value(h->l, &proto);
}

static void hoist_node(ctune_lnode *node, void *data) {
    node->value = hoist_value(data, node->value);
    node->test = hoist_value(data, node->test);
}

void ctune_lnode_hoist(ctune_loops *l, ctune_lnode *parent, ctune_lnode *loop) {
    hoister h = {.l = l, .parent = parent, .loop = loop};
    ctune_lnode_walk(loop, hoist_node, &h);
}

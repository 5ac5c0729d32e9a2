/*
 * The passes in their order, and what they share. See passes.h, passes_private.h.
 *
 * The driver is a table: a pass more is a row in CTUNE_PASS_TABLE and a file.
 */
#include "search/passes/passes_private.h"

ctune_status ctune_passes_run(ctune_loops *l, const ctune_pass_options *options,
                              ctune_pass_observer observer, void *data) {
    static const struct {
        const char *name;
        ctune_pass_run run;
    } passes[] = {
#define X(id) {#id, ctune_pass_##id},
        CTUNE_PASS_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        ctune_status status = passes[i].run(l, options);
        if (status != CTUNE_OK) {
            return status;
        }
        if (observer != NULL) {
            observer(data, passes[i].name, l);
        }
#ifndef NDEBUG
        status = ctune_loops_verify(l->ctx, l);
        if (status != CTUNE_OK) {
            return status;
        }
#endif
    }
    return ctune_loops_status(l);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

bool ctune_type_has_vectors(ctune_type type) {
    return type != CTUNE_BOOL && type != CTUNE_F16 && type != CTUNE_F80;
}

int ctune_tile_lanes(int vector_bytes, ctune_type type, int64_t extent) {
    if (!ctune_type_has_vectors(type) || extent < 2) {
        return 1;
    }
    int lanes = 1;
    while (lanes * 2 * ctune_type_get(type)->bytes <= vector_bytes && extent % (lanes * 2) == 0) {
        lanes *= 2;
    }
    return lanes;
}

/* ---- questions ------------------------------------------------------------------------------- */

bool ctune_value_uses(const ctune_loops *l, const ctune_value *value, int var) {
    if (value == NULL) {
        return false;
    }
    if (value->op == CTUNE_V_INDEX && ctune_loops_uses(l, value->index, var)) {
        return true;
    }
    for (int d = 0; value->op == CTUNE_V_LOAD && d < value->place.n_idx; d++) {
        if (ctune_loops_uses(l, value->place.idx[d], var)) {
            return true;
        }
    }
    for (int i = 0; i < value->n_kids; i++) {
        if (ctune_value_uses(l, value->kids[i], var)) {
            return true;
        }
    }
    return false;
}

bool ctune_value_reads(const ctune_value *value, int var) {
    if (value == NULL) {
        return false;
    }
    if (value->op == CTUNE_V_VAR) {
        return value->var == var;
    }
    for (int i = 0; i < value->n_kids; i++) {
        if (ctune_value_reads(value->kids[i], var)) {
            return true;
        }
    }
    return false;
}

bool ctune_value_is_always(const ctune_value *value, int i) {
    bool has_choice = value->op == CTUNE_V_LAND || value->op == CTUNE_V_LOR ||
                      (value->op == CTUNE_V_SELECT && value->lanes == 1);
    return i == 0 || !has_choice;
}

int64_t ctune_for_trips(ctune_loops *l, const ctune_lnode *node) {
    const ctune_aff *diff = ctune_aff_sub(l->arena, node->hi, node->lo);
    if (diff == NULL || diff->n_terms > 0) {
        return -1;
    }
    return diff->c0 <= 0 ? 0 : (diff->c0 - 1) / node->step + 1;
}

/* ---- trees ----------------------------------------------------------------------------------- */

void ctune_lnode_walk(ctune_lnode *node, ctune_lnode_visit visit, void *data) {
    if (node == NULL) {
        return;
    }
    visit(node, data);
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        ctune_lnode_walk(kid, visit, data);
    }
    ctune_lnode_walk(node->other, visit, data);
}

ctune_lnode *ctune_lnode_take_kids(ctune_lnode *parent) {
    ctune_lnode *first = parent->first;
    parent->first = parent->last = NULL;
    return first;
}

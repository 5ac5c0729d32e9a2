/*
 * The end of the region: what index scalars hold behind it, and stages that nobody needs.
 *
 * In: the finished tree and the variables' last values. Out: values for the epilogue; stages that
 * only computed a subscript are dropped, with what they read.
 */
#include "plugin/extract/build.h"

static bool has_read(const ctune_expr *e, int tensor) {
    return e != NULL && ctune_expr_reads(e, tensor);
}

static bool is_read(ctune_build *b, const ctune_mnode *node, int tensor) {
    if (has_read(node->guard, tensor)) {
        return true;
    }
    if (node->kind == CTUNE_M_STAGE) {
        const ctune_mstage *stage = &b->stages.at[node->stage];
        return stage->target->tensor != tensor && has_read(stage->s.rhs, tensor);
    }
    for (int i = 0; i < node->kids.n + node->otherwise.n; i++) {
        if (is_read(b, i < node->kids.n ? node->kids.at[i] : node->otherwise.at[i - node->kids.n],
                    tensor)) {
            return true;
        }
    }
    return false;
}

static void kill_reads(ctune_build *b, const ctune_expr *e) {
    if (e->op == CTUNE_OP_READ) {
        b->accs.at[e->read_id].tensor = -1;
    }
    for (int i = 0; i < e->n_kids; i++) {
        kill_reads(b, e->kids[i]);
    }
}

/* Drop stages that write the tensor, and dead ones. */
static bool drop_stages(ctune_build *b, ctune_mnode *node, int tensor) {
    bool found = false;
    for (int pass = 0; pass < 2; pass++) {
        int n = pass == 0 ? node->kids.n : node->otherwise.n, kept = 0;
        ctune_mnode **at = pass == 0 ? node->kids.at : node->otherwise.at;
        for (int i = 0; i < n; i++) {
            ctune_mnode *kid = at[i];
            const ctune_mstage *stage =
                kid->kind == CTUNE_M_STAGE ? &b->stages.at[kid->stage] : NULL;
            bool drops = stage != NULL && (stage->is_dead || stage->target->tensor == tensor);
            if (drops) {
                b->accs.at[b->stages.at[kid->stage].target_acc].tensor = -1;
                kill_reads(b, b->stages.at[kid->stage].s.rhs);
                found = true;
            } else {
                found |= drop_stages(b, kid, tensor);
                at[kept++] = kid;
            }
        }
        *(pass == 0 ? &node->kids.n : &node->otherwise.n) = kept;
    }
    return found;
}

static bool is_stored(ctune_build *b, const ctune_mnode *node, int tensor) {
    if (node->kind == CTUNE_M_STAGE) {
        return b->stages.at[node->stage].target->tensor == tensor;
    }
    for (int i = 0; i < node->kids.n + node->otherwise.n; i++) {
        if (is_stored(b, i < node->kids.n ? node->kids.at[i] : node->otherwise.at[i - node->kids.n],
                      tensor)) {
            return true;
        }
    }
    return false;
}

static bool is_final_counter(const ctune_build *b, const ctune_var *var) {
    for (int i = 0; i < b->finals.n; i++) {
        if (b->finals.at[i].var == var) {
            return true;
        }
    }
    return false;
}

static bool has_axis(const ctune_build *b, const ctune_poly *poly) {
    for (int i = 0; i < poly->n; i++) {
        for (int d = 0; d < poly->mono[i].degree; d++) {
            const ctune_atom *atom = &poly->mono[i].atom[d];
            if (atom->kind == CTUNE_TERM_AXIS ||
                (atom->kind == CTUNE_TERM_DIV && ctune_index_divides(b, atom->id, 0))) {
                return true;
            }
        }
    }
    return false;
}

/* Values that the epilogue can print. */
static void set_final(ctune_build *b, ctune_var *var) {
    if (!var->is_live_after || var->is_inside || is_final_counter(b, var)) {
        return;
    }
    b->split = NULL;
    const ctune_poly *poly = ctune_index_current(b, var);
    b->split = NULL;
    if (poly != NULL && !has_axis(b, poly)) {
        var->final = poly;
    }
}

bool ctune_index_finish(ctune_build *b) {
    drop_stages(b, b->root, -1);
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        if (ctune_index_is(var) && var->n_writes > 0 && var->tensor >= 0 &&
            is_stored(b, b->root, var->tensor)) {
            set_final(b, var);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < b->vars.n; i++) {
            ctune_var *var = &b->vars.at[i];
            bool is_dead = ctune_index_is(var) && var->tensor >= 0 &&
                           (!var->is_live_after || var->final != NULL);
            if (is_dead && !is_read(b, b->root, var->tensor)) {
                changed |= drop_stages(b, b->root, var->tensor);
            }
        }
    }
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        bool is_stored_still =
            var->tensor >= 0 && var->n_writes > 0 && is_stored(b, b->root, var->tensor);
        if (is_stored_still && (var->has_entry || is_final_counter(b, var)) &&
            (var->is_live_after || var->has_entry)) {
            return ctune_build_refuse_at(
                b, CTUNE_REFUSE_SUBSCRIPT_ASSIGNED, b->tensors.at[var->tensor].offset,
                "'%s' is assigned in the region in a way that is no sum of "
                "counters",
                var->name);
        }
        if (is_stored_still) {
            var->final = NULL; /* its stages do it */
        }
    }
    return true;
}

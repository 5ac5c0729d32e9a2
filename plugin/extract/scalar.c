/*
 * Scalars: which belong to one iteration, which carry values from one to the next?
 *
 * In: the tree, with scalars as tensors without dimensions. Out: temporaries indexed by the loops
 * around their scope. A variable declared in the region lives where it is declared. One from
 * outside is private to the innermost bodies in which every read follows a write, when nothing
 * reads it after the region; otherwise it stays one place in memory, and the dependences say the
 * rest.
 */
#include "plugin/extract/build.h"

/* ---- uses below a node ----------------------------------------------------------------------- */

typedef bool use_fn(ctune_build *b, int acc, void *user);

static bool each_read(ctune_build *b, const ctune_expr *e, int tensor, use_fn *fn, void *user) {
    if (e->op == CTUNE_OP_READ && b->accs.at[e->read_id].tensor == tensor &&
        !fn(b, e->read_id, user)) {
        return false;
    }
    for (int i = 0; i < e->n_kids; i++) {
        if (!each_read(b, e->kids[i], tensor, fn, user)) {
            return false;
        }
    }
    return true;
}

static bool each_use(ctune_build *b, const ctune_mnode *node, int tensor, use_fn *fn, void *user) {
    if (node->guard != NULL && !each_read(b, node->guard, tensor, fn, user)) {
        return false;
    }
    if (node->kind == CTUNE_M_STAGE) {
        const ctune_mstage *stage = &b->stages.at[node->stage];
        if (!each_read(b, stage->s.rhs, tensor, fn, user)) {
            return false;
        }
        return b->accs.at[stage->target_acc].tensor != tensor || fn(b, stage->target_acc, user);
    }
    for (int i = 0; i < node->kids.n + node->otherwise.n; i++) {
        const ctune_mnode *kid =
            i < node->kids.n ? node->kids.at[i] : node->otherwise.at[i - node->kids.n];
        if (!each_use(b, kid, tensor, fn, user)) {
            return false;
        }
    }
    return true;
}

static bool stop(ctune_build *b, int acc, void *user) {
    (void)b;
    (void)acc;
    (void)user;
    return false;
}

static bool is_used(ctune_build *b, const ctune_mnode *node, int tensor) {
    return !each_use(b, node, tensor, stop, NULL);
}

/* ---- written before read? -------------------------------------------------------------------- */

static bool reads_now(ctune_build *b, const ctune_expr *e, int tensor) {
    return e != NULL && !each_read(b, e, tensor, stop, NULL);
}

static bool check_list(ctune_build *b, int n, ctune_mnode *const *kids, int tensor, bool *defined);

/* false: something reads the scalar before this execution of the node has written it. */
static bool check_node(ctune_build *b, const ctune_mnode *node, int tensor, bool *defined) {
    if (!*defined && reads_now(b, node->guard, tensor)) {
        return false;
    }
    if (node->kind == CTUNE_M_STAGE) {
        const ctune_mstage *stage = &b->stages.at[node->stage];
        bool is_target = b->accs.at[stage->target_acc].tensor == tensor;
        bool reads = reads_now(b, stage->s.rhs, tensor) ||
                     (is_target && stage->s.update != CTUNE_UPDATE_SET);
        if (reads && !*defined) {
            return false;
        }
        *defined |= is_target;
        return true;
    }
    bool then = *defined, otherwise = *defined;
    if (!check_list(b, node->kids.n, node->kids.at, tensor, &then) ||
        !check_list(b, node->otherwise.n, node->otherwise.at, tensor, &otherwise)) {
        return false;
    }
    if (node->kind != CTUNE_M_LOOP) { /* a loop may run zero times */
        *defined = then && otherwise;
    }
    return true;
}

static bool check_list(ctune_build *b, int n, ctune_mnode *const *kids, int tensor, bool *defined) {
    for (int i = 0; i < n; i++) {
        if (!check_node(b, kids[i], tensor, defined)) {
            return false;
        }
    }
    return true;
}

static bool is_self_contained(ctune_build *b, const ctune_mnode *node, int tensor) {
    bool defined = false;
    if (node->axis < 0 && node->kind == CTUNE_M_LOOP) { /* the root */
        return check_list(b, node->kids.n, node->kids.at, tensor, &defined);
    }
    return check_node(b, node, tensor, &defined);
}

/* ---- placing --------------------------------------------------------------------------------- */

typedef struct place {
    int tensor;
    int n_prefix;
    const ctune_aff *prefix[CTUNE_MAX_DEPTH];
    bool ok;
} place;

static bool move_use(ctune_build *b, int id, void *user) {
    place *p = user;
    ctune_acc *acc = &b->accs.at[id];
    int n = acc->slot->n_idx + p->n_prefix;
    const ctune_aff **idx = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, n + 1);
    if (idx == NULL || n > CTUNE_MAX_RANK) {
        p->ok = false;
        return false;
    }
    memcpy(idx, p->prefix, (size_t)p->n_prefix * sizeof *idx);
    if (acc->slot->n_idx > 0) {
        memcpy(idx + p->n_prefix, acc->slot->idx, (size_t)acc->slot->n_idx * sizeof *idx);
    }
    acc->tensor = p->tensor;
    *acc->slot = (ctune_access){p->tensor, n, idx};
    return true;
}

/* The loops around a node, outermost first. */
static int loops_around(const ctune_mnode *node, const ctune_mnode **loops) {
    int n = 0;
    for (const ctune_mnode *at = node; at != NULL; at = at->parent) {
        if (at->kind == CTUNE_M_LOOP && at->axis >= 0 && n < CTUNE_MAX_DEPTH) {
            loops[n++] = at;
        }
    }
    for (int i = 0; i < n / 2; i++) {
        const ctune_mnode *swap = loops[i];
        loops[i] = loops[n - 1 - i];
        loops[n - 1 - i] = swap;
    }
    return n;
}

/* The axis, or its distance from its lower bound when it may be negative. */
static const ctune_aff *axis_index(ctune_build *b, const ctune_mnode *const *loops, int i) {
    const ctune_aff *axis = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, loops[i]->axis, 1);
    int n = 0;
    const ctune_aff *cons[16 * CTUNE_MAX_DEPTH];
    for (int l = 0; l <= i; l++) {
        for (int c = 0; c < loops[l]->n_cons && n < 16 * CTUNE_MAX_DEPTH; c++) {
            cons[n++] = loops[l]->cons[c];
        }
    }
    if (axis == NULL || ctune_facts_has(b, n, cons, axis)) {
        return axis;
    }
    for (int c = 0; c < loops[i]->n_cons; c++) {
        if (ctune_aff_coef(loops[i]->cons[c], CTUNE_TERM_AXIS, loops[i]->axis) == 1) {
            return loops[i]->cons[c];
        }
    }
    return axis;
}

/* All uses below `node` become a temporary of the loops around it. */
static bool make_private(ctune_build *b, int tensor, const ctune_mnode *node,
                         const ctune_mnode *scope) {
    const ctune_mnode *loops[CTUNE_MAX_DEPTH];
    place p = {.ok = true};
    p.n_prefix = loops_around(scope, loops);
    for (int i = 0; i < p.n_prefix; i++) {
        p.prefix[i] = axis_index(b, loops, i);
        if (p.prefix[i] == NULL) {
            return false;
        }
    }
    ctune_mtensor copy = b->tensors.at[tensor];
    p.tensor = ctune_tensor_new(b, "", copy.t.name, copy.t.type);
    if (p.tensor < 0) {
        return false;
    }
    ctune_mtensor *m = &b->tensors.at[p.tensor];
    m->t.is_temp = true;
    m->offset = copy.offset;
    m->t.rank = p.n_prefix + copy.t.rank;
    if (m->t.rank > CTUNE_MAX_RANK) {
        return ctune_build_refuse_at(b, CTUNE_REFUSE_TOO_DEEP, copy.offset,
                                     "'%s' has more than %d dimensions with the loops around it",
                                     copy.t.name, CTUNE_MAX_RANK);
    }
    for (int d = 0; d < copy.t.rank; d++) {
        m->t.extent[p.n_prefix + d] = copy.t.extent[d];
    }
    each_use(b, node, tensor, move_use, &p);
    return p.ok;
}

/* The kids of a body that use the scalar. */
static int users(ctune_build *b, int n, ctune_mnode *const *kids, int tensor, ctune_mnode **only) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        if (is_used(b, kids[i], tensor)) {
            *only = kids[i];
            found++;
        }
    }
    return found;
}

/* The scalar is written before it is read in `body` and dead after it: find the innermost bodies of
 * that kind. */
static bool place_in_body(ctune_build *b, int tensor, ctune_mnode *body) {
    ctune_mnode *only = NULL;
    int n = users(b, body->kids.n, body->kids.at, tensor, &only);
    bool is_split = body->kind == CTUNE_M_LOOP && n > 0;
    for (int i = 0; i < body->kids.n && is_split; i++) {
        ctune_mnode *kid = body->kids.at[i];
        if (is_used(b, kid, tensor)) {
            is_split = kid->kind == CTUNE_M_LOOP && is_self_contained(b, kid, tensor);
        }
    }
    if (!is_split) {
        return make_private(b, tensor, body, body);
    }
    for (int i = 0; i < body->kids.n; i++) {
        if (is_used(b, body->kids.at[i], tensor) && !place_in_body(b, tensor, body->kids.at[i])) {
            return false;
        }
    }
    return true;
}

static bool place_tensor(ctune_build *b, int tensor) {
    const ctune_mtensor *m = &b->tensors.at[tensor];
    ctune_var *var = m->scalar;
    if (m->is_local_array) {
        return make_private(b, tensor, b->root, m->scope_node);
    }
    if (var == NULL || !is_used(b, b->root, tensor)) {
        return true;
    }
    if (var->is_inside) {
        ctune_mnode *scope = m->scope_node;
        while (scope->kind != CTUNE_M_LOOP) {
            scope = scope->parent;
        }
        return is_self_contained(b, scope, tensor) ? place_in_body(b, tensor, scope)
                                                   : make_private(b, tensor, b->root, scope);
    }
    bool is_private = var->n_writes > 0 && var->is_automatic && !var->is_address_taken &&
                      !var->is_live_after && is_self_contained(b, b->root, tensor);
    if (!is_private && var->is_private && var->n_writes > 0) {
        return ctune_build_refuse_at(b, CTUNE_REFUSE_OPENMP_LOOP, m->offset,
                                     "'%s' is private and read before it is written", var->name);
    }
    return !is_private || place_in_body(b, tensor, b->root);
}

/* Remembered conditions: uses get the loops around them as index. */
static bool place_guard(ctune_build *b, int tensor) {
    ctune_mtensor *m = &b->tensors.at[tensor];
    const ctune_mnode *loops[CTUNE_MAX_DEPTH];
    place p = {.tensor = tensor, .ok = true};
    /* the loops are known by their axes: find the nodes through the tree */
    const ctune_mnode *node = b->root;
    for (int i = 0; i < m->n_scope; i++) {
        const ctune_mnode *stack[512];
        int n = 0;
        stack[n++] = node;
        const ctune_mnode *found = NULL;
        while (n > 0 && found == NULL) {
            const ctune_mnode *at = stack[--n];
            if (at->kind == CTUNE_M_LOOP && at->axis == m->scope[i]) {
                found = at;
            }
            for (int k = 0; k < at->kids.n + at->otherwise.n && n < 512; k++) {
                stack[n++] = k < at->kids.n ? at->kids.at[k] : at->otherwise.at[k - at->kids.n];
            }
        }
        if (found == NULL) {
            return false;
        }
        loops[i] = node = found;
    }
    p.n_prefix = m->n_scope;
    for (int i = 0; i < p.n_prefix; i++) {
        p.prefix[i] = axis_index(b, loops, i);
    }
    m->t.rank = p.n_prefix;
    if (m->t.rank > CTUNE_MAX_RANK) {
        return ctune_build_refuse_at(b, CTUNE_REFUSE_TOO_DEEP, m->offset,
                                     "a condition below more than %d loops", CTUNE_MAX_RANK);
    }
    each_use(b, b->root, tensor, move_use, &p);
    return p.ok;
}

bool ctune_scalars_place(ctune_build *b) {
    int n = b->tensors.n; /* new ones are in place already */
    for (int t = 0; t < n; t++) {
        if (!(b->tensors.at[t].t.is_temp ? place_guard(b, t) : place_tensor(b, t))) {
            return b->why.refusal != CTUNE_REFUSE_NONE || ctune_arena_has_failed(b->arena)
                       ? false
                       : ctune_build_refuse_at(b, CTUNE_REFUSE_TOO_COMPLEX, b->tensors.at[t].offset,
                                               "'%s' cannot be placed", b->tensors.at[t].t.name);
        }
    }
    return true;
}

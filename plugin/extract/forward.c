/*
 * Forwarding: a scalar that only carries one value to the next statement becomes a part of it.
 *
 * In: the tree after scalars have their places. Out: `int x = e; y = f(x);` is `y = f(e)` where
 * nothing else touches x: the statements around y are then alone in their loops, and a reduction
 * over e is one statement, which can be a register tile.
 *
 * The two stand next to each other, so that e reads what it read before. e is evaluated where x was
 * read, once or never. A product stays where it is: within one statement it would be fused with a
 * sum.
 */
#include "plugin/extract/build.h"

/* ---- uses of a temporary --------------------------------------------------------------------- */

typedef struct uses {
    int tensor;
    int n_reads, n_writes;
} uses;

static void count_reads(ctune_build *b, const ctune_expr *e, uses *u) {
    u->n_reads += e->op == CTUNE_OP_READ && b->accs.at[e->read_id].tensor == u->tensor;
    for (int i = 0; i < e->n_kids; i++) {
        count_reads(b, e->kids[i], u);
    }
}

static void count_uses(ctune_build *b, const ctune_mnode *node, uses *u) {
    if (node->guard != NULL) {
        count_reads(b, node->guard, u);
    }
    if (node->kind == CTUNE_M_STAGE) {
        const ctune_mstage *stage = &b->stages.at[node->stage];
        count_reads(b, stage->s.rhs, u);
        u->n_writes += b->accs.at[stage->target_acc].tensor == u->tensor;
    }
    for (int i = 0; i < node->kids.n; i++) {
        count_uses(b, node->kids.at[i], u);
    }
    for (int i = 0; i < node->otherwise.n; i++) {
        count_uses(b, node->otherwise.at[i], u);
    }
}

/* ---- one pair of statements ------------------------------------------------------------------ */

/* The place of the read of the tensor at or below *at; NULL: there is none. */
static const ctune_expr **find_read(ctune_build *b, const ctune_expr **at, int tensor) {
    const ctune_expr *e = *at;
    if (e->op == CTUNE_OP_READ && b->accs.at[e->read_id].tensor == tensor) {
        return at;
    }
    for (int i = 0; i < e->n_kids; i++) {
        const ctune_expr **kids = (const ctune_expr **)(uintptr_t)e->kids;
        const ctune_expr **found = find_read(b, &kids[i], tensor);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static bool is_carrier(ctune_build *b, const ctune_mstage *from) {
    int tensor = b->accs.at[from->target_acc].tensor;
    const ctune_mtensor *m = &b->tensors.at[tensor];
    uses u = {.tensor = tensor};
    if (!m->t.is_temp || m->t.live_out_text != NULL || m->is_local_array ||
        from->s.update != CTUNE_UPDATE_SET || ctune_expr_is_product(from->s.rhs)) {
        return false;
    }
    count_uses(b, b->root, &u);
    return u.n_writes == 1 && u.n_reads == 1;
}

/* Does the second statement take the first one in? */
static bool forward(ctune_build *b, const ctune_mstage *from, ctune_mstage *to) {
    int tensor = b->accs.at[from->target_acc].tensor;
    ctune_type type = b->tensors.at[tensor].t.type;
    const ctune_expr **read = find_read(b, &to->s.rhs, tensor);
    if (read == NULL || !is_carrier(b, from)) {
        return false;
    }
    const ctune_expr *value = from->s.rhs;
    if (value->type != type) {
        value = ctune_expr_new(b, CTUNE_OP_CAST, type, 1, value);
    }
    if (value != NULL) {
        *read = value;
    }
    return value != NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void forward_below(ctune_build *b, ctune_mnode *node);

static void forward_list(ctune_build *b, int *n, ctune_mnode **kids) {
    for (int i = *n - 1; i >= 0; i--) {
        forward_below(b, kids[i]);
        if (kids[i]->kind == CTUNE_M_STAGE && i + 1 < *n && kids[i + 1]->kind == CTUNE_M_STAGE &&
            forward(b, &b->stages.at[kids[i]->stage], &b->stages.at[kids[i + 1]->stage])) {
            memmove(&kids[i], &kids[i + 1], (size_t)(*n - 1 - i) * sizeof *kids);
            (*n)--;
        }
    }
}

static void forward_below(ctune_build *b, ctune_mnode *node) {
    forward_list(b, &node->kids.n, node->kids.at);
    forward_list(b, &node->otherwise.n, node->otherwise.at);
}

bool ctune_forward(ctune_build *b) {
    forward_below(b, b->root);
    return !ctune_arena_has_failed(b->arena);
}

/*
 * Placed statements: what one iteration of their place needs of them.
 *
 * In: a statement placed at a loop, those that read it there. Out: for each read, both statements
 * joined: the loops of both, the constraints of both, and that the element read is the element
 * written. Bounds of the placed statement's loops come from the hull over these systems by the same
 * elimination as all others, with the reader's open loops fixed and its inner ones projected out.
 * A reader that is placed itself is joined with its own readers first.
 */
#include "search/lower/lower_private.h"

#include <string.h>

/* A form over the stage's axes, over the statement's dims; NULL when it has divisions. */
static const ctune_aff *over_dims(lowerer *w, int stmt, const ctune_aff *aff) {
    const ctune_aff *sum =
        ctune_aff_has_kind(aff, CTUNE_TERM_DIV)
            ? NULL
            : ctune_stmt_over_dims(w->arena, w->region, &w->tree->stmts[stmt], aff);
    return sum == NULL || ctune_aff_has_kind(sum, CTUNE_TERM_DIV) ? NULL : sum;
}

static void add_cons(const ctune_aff **cons, int *n, const ctune_stmt *from) {
    for (int c = 0; c < from->n_cons; c++) {
        cons[(*n)++] = from->cons[c];
    }
}

/* Statement `stmt` with a scope of one that reads its target by `read`. */
static bool join(lowerer *w, int stmt, const lower_scope *reader, const ctune_access *read,
                 lower_scope *out) {
    const ctune_stmt *p = &w->tree->stmts[stmt], *c = reader->stmt;
    const ctune_access *target = &w->region->stages[p->stage].target;
    ctune_stmt *all = CTUNE_NEW(w->arena, ctune_stmt);
    const ctune_aff **cons =
        CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, p->n_cons + c->n_cons + 2 * target->n_idx + 1);
    if (all == NULL || cons == NULL || p->n_dims + c->n_dims > CTUNE_MAX_DEPTH ||
        reader->n == CTUNE_MAX_DEPTH) {
        return false;
    }
    *all = (ctune_stmt){.stage = p->stage, .n_dims = p->n_dims + c->n_dims};
    memcpy(all->dims, p->dims, (size_t)p->n_dims * sizeof *all->dims);
    memcpy(all->dims + p->n_dims, c->dims, (size_t)c->n_dims * sizeof *all->dims);
    add_cons(cons, &all->n_cons, p);
    add_cons(cons, &all->n_cons, c);
    for (int k = 0; k < target->n_idx; k++) {
        const ctune_aff *to = over_dims(w, stmt, target->idx[k]);
        const ctune_aff *from = over_dims(w, reader->member[0], read->idx[k]);
        if (to != NULL && from != NULL) {
            cons[all->n_cons++] = ctune_aff_sub(w->arena, to, from);
            cons[all->n_cons++] = ctune_aff_sub(w->arena, from, to);
        }
    }
    all->cons = cons;
    *out = (lower_scope){.stmt = all, .n = 1 + reader->n, .member = {stmt}};
    memcpy(out->member + 1, reader->member, (size_t)reader->n * sizeof *out->member);
    return true;
}

/* Every read of stmt's target with every scope of its reader: written to out unless it is NULL;
 * their number, -1 on failure. */
static int join_reads(lowerer *w, int stmt, lower_scope *out) {
    int tensor = w->region->stages[w->tree->stmts[stmt].stage].target.tensor, n = 0;
    for (int s = 0; s < w->tree->n_stmts; s++) {
        const ctune_stage *stage = &w->region->stages[w->tree->stmts[s].stage];
        lower_scope own = lower_scope_of(w, s);
        const lower_scope *scopes = w->n_joined[s] > 0 ? w->joined[s] : &own;
        int n_scopes = w->n_joined[s] > 0 ? w->n_joined[s] : 1;
        for (int r = 0; r < stage->n_reads; r++) {
            const ctune_access *read = &stage->reads[r]->access;
            for (int k = 0; k < n_scopes && read->tensor == tensor; k++, n++) {
                if (out != NULL && !join(w, stmt, &scopes[k], read, &out[n])) {
                    return -1;
                }
            }
        }
    }
    return n;
}

static bool is_ready(const lowerer *w, int stmt) {
    int tensor = w->region->stages[w->tree->stmts[stmt].stage].target.tensor;
    for (int s = 0; s < w->tree->n_stmts; s++) {
        const ctune_stage *stage = &w->region->stages[w->tree->stmts[s].stage];
        int node = ctune_nest_find_stmt(w->nest, s);
        for (int r = 0; r < stage->n_reads; r++) {
            if (stage->reads[r]->access.tensor == tensor && w->nest->node[node].placed >= 0 &&
                w->n_joined[s] == 0) {
                return false;
            }
        }
    }
    return true;
}

ctune_status lower_join_placed(lowerer *w) {
    for (int round = 0; round < w->tree->n_stmts; round++) {
        for (int s = 0; s < w->tree->n_stmts; s++) {
            if (w->nest->node[ctune_nest_find_stmt(w->nest, s)].placed < 0 || w->n_joined[s] > 0 ||
                !is_ready(w, s)) {
                continue;
            }
            int n = join_reads(w, s, NULL);
            w->joined[s] = CTUNE_NEW_ARRAY(w->arena, lower_scope, n + 1);
            if (w->joined[s] == NULL || join_reads(w, s, w->joined[s]) != n || n == 0) {
                return ctune_loops_fail(w->loops, CTUNE_EREFUSED,
                                        "a placed statement cannot be joined with its readers");
            }
            w->n_joined[s] = n;
        }
    }
    return CTUNE_OK;
}

/*
 * May the points of a register tile wait in registers during the reduction? In: the nest's
 * direction vectors and the statement's domain. Out: whether something else reads or writes them
 * meanwhile.
 */
#include "search/lower/lower_private.h"

/* ---- may the tile's points be kept in registers? --------------------------------------------- */

bool lower_reads_dim(const lowerer *w, const ctune_stmt *s, const ctune_access *access, int dim) {
    for (int i = 0; i < access->n_idx; i++) {
        if (!ctune_bounds_is_plain(w->region, access->idx[i]) ||
            ctune_stmt_moves(w->region, s, access->idx[i], dim)) {
            return true;
        }
    }
    return false;
}

/* Registers hold the tile during the whole reduction: nothing else may touch it meanwhile. */
bool lower_is_alone(lowerer *w, int stmt, const lower_tile *tile) {
    const ctune_depvecs *vecs = &w->nest->form->vecs;
    const ctune_stmt *s = &w->tree->stmts[stmt];
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        if (vec->src != stmt || vec->dst != stmt) {
            continue;
        }
        /* a dependence carried by a point loop outside the register loop is in order anyway */
        bool carried = false;
        for (int i = 0; i < w->n_open && !carried; i++) {
            int pos = w->open[i].dim < 0 ? -1 : lower_pos(s, w->open[i].dim);
            carried = pos >= 0 && pos < vec->n_common && w->open[i].step == 1 &&
                      vec->sign[pos] == CTUNE_SIGN_POS;
        }
        for (int t = 0; t < tile->n_tile && !carried; t++) {
            int pos = lower_pos(s, w->nest->node[tile->tile_node[t]].dim);
            if (pos >= 0 && pos < vec->n_common && vec->sign[pos] != CTUNE_SIGN_ZERO) {
                return false;
            }
        }
    }
    return true;
}

/* Does the domain say diff >= 1 everywhere, by one constraint or the sum of two? */
static bool is_positive_in_domain(lowerer *w, const ctune_stmt *s, const ctune_aff *diff) {
    for (int i = 0; i < s->n_cons; i++) {
        for (int k = i; k < s->n_cons; k++) {
            const ctune_aff *sum =
                k == i ? s->cons[i] : ctune_aff_add(w->arena, s->cons[i], s->cons[k]);
            const ctune_aff *rest = ctune_aff_sub(w->arena, diff, sum);
            if (rest != NULL && rest->n_terms == 0 && rest->c0 >= 1) {
                return true;
            }
        }
    }
    return false;
}

/*
 * In-place updates (triangular solves, factorisations): the core of a tile runs over reduction
 * values that lie in the domain of all its points. A read of the target's tensor cannot hit the
 * tile when at some index it differs from the target throughout the domain and does not itself move
 * with the tile.
 */
bool lower_is_core_safe(lowerer *w, int stmt, const lower_tile *tile) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    for (int r = 0; r < stage->n_reads; r++) {
        const ctune_access *read = &stage->reads[r]->access;
        if (read->tensor != stage->target.tensor) {
            continue;
        }
        bool apart = false;
        for (int i = 0; i < read->n_idx && !apart; i++) {
            const ctune_aff *from = ctune_stmt_over_dims(w->arena, w->region, s, read->idx[i]);
            const ctune_aff *to =
                ctune_stmt_over_dims(w->arena, w->region, s, stage->target.idx[i]);
            const ctune_aff *diff = ctune_aff_sub(w->arena, from, to);
            bool moves = from == NULL || diff == NULL;
            for (int t = 0; t < tile->n_tile && !moves; t++) {
                moves = ctune_aff_coef(from, CTUNE_TERM_AXIS,
                                       w->nest->node[tile->tile_node[t]].dim) != 0;
            }
            apart = !moves && (is_positive_in_domain(w, s, diff) ||
                               is_positive_in_domain(w, s, ctune_aff_scale(w->arena, diff, -1)));
        }
        if (!apart) {
            return false;
        }
    }
    return true;
}

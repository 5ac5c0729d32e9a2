/*
 * Axis -> iterator -> dim: what a form over a stage's axes is over the dims around one of its
 * statements. The only place that composes the two.
 */
#include "search/deps/tree.h"

int ctune_stmt_common(const ctune_stmt *a, const ctune_stmt *b) {
    int n = 0;
    while (n < a->n_dims && n < b->n_dims && a->dims[n] == b->dims[n]) {
        n++;
    }
    return n;
}

const ctune_aff *ctune_stmt_axis(const ctune_region *region, const ctune_stmt *stmt, int axis) {
    const ctune_stage *stage = &region->stages[stmt->stage];
    for (int d = 0; d < stage->n_axes; d++) {
        if (stage->axes[d] == axis) {
            return stmt->iter[d];
        }
    }
    return NULL;
}

int ctune_stmt_dim(const ctune_stmt *stmt, int d) {
    const ctune_aff *iter = stmt->iter[d];
    bool is_dim = iter != NULL && iter->n_terms == 1 && iter->c0 == 0 &&
                  iter->terms[0].kind == CTUNE_TERM_AXIS && iter->terms[0].coef == 1;
    return is_dim ? iter->terms[0].id : -1;
}

const ctune_aff *ctune_stmt_over_dims(ctune_arena *arena, const ctune_region *region,
                                      const ctune_stmt *stmt, const ctune_aff *aff) {
    const ctune_aff *sum = ctune_aff_const(arena, aff->c0);
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        const ctune_aff *part = term->kind == CTUNE_TERM_AXIS
                                    ? ctune_stmt_axis(region, stmt, term->id)
                                    : ctune_aff_term(arena, term->kind, term->id, 1);
        if (part == NULL) {
            return NULL;
        }
        sum = ctune_aff_add(arena, sum, ctune_aff_scale(arena, part, term->coef));
    }
    return sum;
}

int64_t ctune_stmt_coef(const ctune_region *region, const ctune_stmt *stmt, const ctune_aff *aff,
                        int dim) {
    const ctune_stage *stage = &region->stages[stmt->stage];
    int64_t coef = 0;
    for (int d = 0; d < stage->n_axes; d++) {
        int64_t k = ctune_aff_coef(aff, CTUNE_TERM_AXIS, stage->axes[d]);
        coef += k != 0 ? k * ctune_aff_coef(stmt->iter[d], CTUNE_TERM_AXIS, dim) : 0;
    }
    return coef;
}

bool ctune_stmt_moves(const ctune_region *region, const ctune_stmt *stmt, const ctune_aff *aff,
                      int dim) {
    const ctune_stage *stage = &region->stages[stmt->stage];
    for (int d = 0; d < stage->n_axes; d++) {
        if (ctune_aff_coef(aff, CTUNE_TERM_AXIS, stage->axes[d]) != 0 &&
            ctune_aff_coef(stmt->iter[d], CTUNE_TERM_AXIS, dim) != 0) {
            return true;
        }
    }
    return false;
}

bool ctune_stmt_axes_move(const ctune_region *region, const ctune_stmt *stmt, uint32_t axes,
                          int dim) {
    const ctune_stage *stage = &region->stages[stmt->stage];
    for (int d = 0; d < stage->n_axes; d++) {
        if ((axes >> d & 1) != 0 && ctune_aff_coef(stmt->iter[d], CTUNE_TERM_AXIS, dim) != 0) {
            return true;
        }
    }
    return false;
}

bool ctune_stmt_is_block(const ctune_region *region, const ctune_stmt *stmt, int dim) {
    bool is_scaled = false;
    for (int c = 0; c < stmt->n_cons; c++) {
        int64_t coef = ctune_aff_coef(stmt->cons[c], CTUNE_TERM_AXIS, dim);
        is_scaled = is_scaled || coef > 1 || coef < -1;
    }
    return is_scaled && !ctune_stmt_axes_move(region, stmt, ~0u, dim);
}

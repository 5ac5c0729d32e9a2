/*
 * Skewed arrays: `skew A k` keeps a two-dimensional array for the time of the region as rows along
 * its diagonals, element [i][j] at [k * i + j][i].
 *
 * In an in-place sweep the points of a wavefront k * i + j are independent, and in this order they
 * lie beside each other: a wavefront becomes a loop over contiguous vectors. The array is copied
 * there and back; that pays where each element is touched often, such as in a loop of steps.
 *
 * In: a nest and a tensor. Out: the nest with the decision, or the rule that is broken. What
 * lowering copies is the box of what the one statement that touches the array reads and writes, so
 * all of its accesses must be certain, and its domain a box.
 */
#include "search/schedule/nest_ops.h"

#include "search/schedule/program.h"

enum { MAX_SKEW = 16 };

/* Does e read the tensor where that may not be evaluated? is_sure: e itself always is. */
static bool reads_unsurely(const ctune_expr *e, int tensor, bool is_sure) {
    if (e->op == CTUNE_OP_READ) {
        return !is_sure && e->access.tensor == tensor;
    }
    bool has_choice = e->op == CTUNE_OP_SELECT || e->op == CTUNE_OP_LAND || e->op == CTUNE_OP_LOR;
    for (int i = 0; i < e->n_kids; i++) {
        if (reads_unsurely(e->kids[i], tensor, is_sure && (!has_choice || i == 0))) {
            return true;
        }
    }
    return false;
}

static bool is_affine(const ctune_access *access) {
    for (int d = 0; d < access->n_idx; d++) {
        if (ctune_aff_has_kind(access->idx[d], CTUNE_TERM_DIV)) {
            return false;
        }
    }
    return true;
}

static bool touches(const ctune_stage *stage, int tensor) {
    bool is_its = stage->target.tensor == tensor;
    for (int r = 0; r < stage->n_reads; r++) {
        is_its = is_its || stage->reads[r]->access.tensor == tensor;
    }
    return is_its;
}

/* Does each constraint bound one axis, or none, without a division? */
static bool is_box(const ctune_stage *stage) {
    for (int c = 0; c < stage->n_cons; c++) {
        int n_axes = 0;
        for (int t = 0; t < stage->cons[c]->n_terms; t++) {
            n_axes += stage->cons[c]->terms[t].kind == CTUNE_TERM_AXIS;
        }
        if (n_axes > 1 || ctune_aff_has_kind(stage->cons[c], CTUNE_TERM_DIV)) {
            return false;
        }
    }
    return true;
}

/* The only statement that touches the tensor; -1: none, or several. */
static int only_statement(const ctune_nest *nest, int tensor) {
    const ctune_tree *tree = nest->form->tree;
    int found = -1;
    for (int s = 0; s < tree->n_stmts; s++) {
        if (touches(&nest->region->stages[tree->stmts[s].stage], tensor)) {
            if (found >= 0) {
                return -1;
            }
            found = s;
        }
    }
    return found;
}

static const char *check_tensor(const ctune_nest *nest, int tensor) {
    const ctune_tensor *t = &nest->region->tensors[tensor];
    if (t->rank != 2 || t->is_temp || t->elem_stride_bytes != ctune_type_get(t->type)->bytes) {
        return "only arrays of two dimensions can be skewed";
    }
    if (ctune_tensor_is_index(nest->region, tensor)) {
        return "its elements are subscripts or bounds";
    }
    int stmt = only_statement(nest, tensor);
    if (stmt < 0) {
        return "not one statement alone touches the array";
    }
    const ctune_stage *stage = &nest->region->stages[nest->form->tree->stmts[stmt].stage];
    if (stage->guard != NULL || !is_box(stage) || !is_affine(&stage->target) ||
        nest->node[ctune_nest_find_stmt(nest, stmt)].placed >= 0) {
        return "the statement's domain is no box";
    }
    for (int r = 0; r < stage->n_reads; r++) {
        if (!is_affine(&stage->reads[r]->access)) {
            return "an index divides";
        }
    }
    return reads_unsurely(stage->rhs, tensor, true) ? "some elements are not read in all iterations"
                                                    : NULL;
}

const char *ctune_nest_skew(ctune_nest *nest, int tensor, int64_t by) {
    if (nest->n_skews == CTUNE_NEST_SKEWS) {
        return "more than 4 arrays are skewed";
    }
    if (by < 0 || by > MAX_SKEW) {
        return "the factor must lie in 0 .. 16";
    }
    if (ctune_nest_skew_of(nest, tensor) >= 0) {
        return "the array is skewed already";
    }
    const char *wrong = check_tensor(nest, tensor);
    if (wrong == NULL) {
        nest->skew[nest->n_skews++] = (ctune_skew){(int16_t)tensor, (int16_t)by};
    }
    return wrong;
}

int ctune_nest_skew_of(const ctune_nest *nest, int tensor) {
    for (int i = 0; i < nest->n_skews; i++) {
        if (nest->skew[i].tensor == tensor) {
            return nest->skew[i].by;
        }
    }
    return -1;
}

/*
 * Loops whose bounds are elements of tensors: where may they stand?
 *
 * Inside of all loops over the axes that choose the elements, which must be dims of the tree as
 * they are: only then are the bounds known. What the source has outside of such a loop and the nest
 * inside must have bounds over parameters alone, so that one condition tells whether the source
 * would have read the elements at all.
 */
#include "search/schedule/nest.h"

#include <stdio.h>

#include "search/schedule/nest_ops.h"
#include "search/schedule/program.h"

typedef struct path {
    const ctune_nest *nest;
    const ctune_stmt *stmt;
    int n;
    int16_t node[CTUNE_NEST_NODES]; /* innermost first */
    bool is_shared;                 /* another statement runs in one of the loops */
} path;

static bool say_no(char *why, size_t why_size, const char *words) {
    if (why != NULL && why_size > 0) {
        snprintf(why, why_size, "%s", words);
    }
    return false;
}

/* How deep the innermost (outermost) loop of dim stands: counted from outside. -1: none. */
static int depth_of(const path *p, int dim, bool innermost) {
    int depth = -1;
    for (int k = 0; k < p->n; k++) {
        if (p->nest->node[p->node[k]].dim == dim && (depth < 0 || !innermost)) {
            depth = p->n - 1 - k;
        }
    }
    return depth;
}

/* The axis that dim is; -1: none. */
static int axis_of_dim(const ctune_region *region, const ctune_stmt *stmt, int dim) {
    const ctune_stage *stage = &region->stages[stmt->stage];
    for (int d = 0; d < stage->n_axes; d++) {
        if (ctune_stmt_dim(stmt, d) == dim) {
            return stage->axes[d];
        }
    }
    return -1;
}

/* Do other dims or loads bound dim? */
static bool is_rectangular(const path *p, int dim) {
    const ctune_region *region = p->nest->region;
    for (int c = 0; c < p->stmt->n_cons; c++) {
        const ctune_aff *con = p->stmt->cons[c];
        if (ctune_aff_coef(con, CTUNE_TERM_AXIS, dim) == 0) {
            continue;
        }
        for (int t = 0; t < con->n_terms; t++) {
            if (con->terms[t].kind == CTUNE_TERM_DIV ||
                (con->terms[t].kind == CTUNE_TERM_AXIS && con->terms[t].id != dim)) {
                return false;
            }
        }
    }
    return !p->is_shared || region->n_stages == 1;
}

/* Dims that the source has outside of `bounded` and the nest inside. */
static bool check_moved(const path *p, int bounded, char *why, size_t why_size) {
    for (int q = 0; q < p->stmt->n_dims && p->stmt->dims[q] != bounded; q++) {
        int dim = p->stmt->dims[q];
        if (depth_of(p, dim, true) > depth_of(p, bounded, false) && !is_rectangular(p, dim)) {
            return say_no(why, why_size,
                          "bounds would be read that the source may not read: a loop inside may "
                          "have no iteration");
        }
    }
    return true;
}

/* Loops of different loops of the source that were fused read bounds that only one of them reads. */
static bool check_fused(const path *p, int bounded, char *why, size_t why_size) {
    const ctune_nest *nest = p->nest;
    int mine = axis_of_dim(nest->region, p->stmt, bounded);
    for (int s = 0; s < nest->form->tree->n_stmts; s++) {
        const ctune_stmt *other = &nest->form->tree->stmts[s];
        for (int d = 0; d < other->n_dims; d++) {
            if (other->dims[d] == bounded &&
                (mine < 0 || axis_of_dim(nest->region, other, bounded) != mine)) {
                return say_no(why, why_size,
                              "loops whose bounds are read from an array are not fused with others");
            }
        }
    }
    return true;
}

/* All loops over the axes in the constraint's loads, outside of all loops that it bounds. */
static bool check_con(const path *p, const ctune_aff *con, char *why, size_t why_size) {
    const ctune_region *region = p->nest->region;
    const ctune_stage *stage = &region->stages[p->stmt->stage];
    for (int t = 0; t < con->n_terms; t++) {
        if (con->terms[t].kind != CTUNE_TERM_AXIS) {
            continue;
        }
        int bounded = con->terms[t].id, outermost = depth_of(p, bounded, false);
        for (int d = 0; d < stage->n_axes; d++) {
            if (!ctune_aff_div_uses_axis(region, con, stage->axes[d])) {
                continue;
            }
            int dim = ctune_stmt_dim(p->stmt, d);
            if (dim < 0 || depth_of(p, dim, true) < 0 || depth_of(p, dim, true) >= outermost) {
                return say_no(why, why_size,
                              "a loop whose bounds are read from an array stands outside of the "
                              "loops that choose them");
            }
        }
        if (!check_fused(p, bounded, why, why_size) || !check_moved(p, bounded, why, why_size)) {
            return false;
        }
    }
    return true;
}

static bool check_stmt(path *p, int stmt_node, char *why, size_t why_size) {
    const ctune_nest *nest = p->nest;
    p->stmt = &nest->form->tree->stmts[nest->node[stmt_node].stmt];
    p->n = 0;
    p->is_shared = false;
    bool has_loads = false, has_sums = nest->node[stmt_node].placed >= 0;
    for (int c = 0; c < p->stmt->n_cons; c++) {
        has_loads |= ctune_aff_has_load(nest->region, p->stmt->cons[c]);
    }
    for (int up = nest->node[stmt_node].parent; has_loads && up > 0; up = nest->node[up].parent) {
        has_sums |= nest->node[up].kind == CTUNE_NN_LOOP && nest->node[up].sum >= 0;
        int first = nest->node[up].first;
        p->is_shared |= first >= 0 && nest->node[first].next >= 0;
        if (nest->node[up].kind == CTUNE_NN_LOOP) {
            p->node[p->n++] = (int16_t)up;
        }
    }
    if (has_loads && has_sums) {
        return say_no(why, why_size, "bounds are read from an array: no skewed or placed loops");
    }
    for (int c = 0; has_loads && c < p->stmt->n_cons; c++) {
        if (ctune_aff_has_load(nest->region, p->stmt->cons[c]) &&
            !check_con(p, p->stmt->cons[c], why, why_size)) {
            return false;
        }
    }
    return true;
}

bool ctune_nest_check_loads(const ctune_nest *nest, char *why, size_t why_size) {
    bool has_loads = false;
    for (int i = 0; i < nest->region->n_divs; i++) {
        has_loads |= nest->region->divs[i].load != NULL;
    }
    path p = {.nest = nest};
    for (int i = 1; has_loads && i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && !check_stmt(&p, i, why, why_size)) {
            return false;
        }
    }
    return true;
}

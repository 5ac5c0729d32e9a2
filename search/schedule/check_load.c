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

/* Loops of different loops of the source that were fused read bounds that only one of them reads.
 */
static bool check_fused(const path *p, int bounded, char *why, size_t why_size) {
    const ctune_nest *nest = p->nest;
    int mine = axis_of_dim(nest->region, p->stmt, bounded);
    for (int s = 0; s < nest->form->tree->n_stmts; s++) {
        const ctune_stmt *other = &nest->form->tree->stmts[s];
        for (int d = 0; d < other->n_dims; d++) {
            if (other->dims[d] == bounded &&
                (mine < 0 || axis_of_dim(nest->region, other, bounded) != mine)) {
                return say_no(
                    why, why_size,
                    "loops whose bounds are read from an array are not fused with others");
            }
        }
    }
    return true;
}

/* ---- which dims have bounds that hold loads -------------------------------------------------- */

/* dims[p]: positions of the dims that choose the loads in the bounds of position p; 0: none. */
typedef struct rulers {
    uint32_t of[CTUNE_MAX_DEPTH];
    bool is_lost; /* an axis in a load is a sum of dims */
} rulers;

static int position_of(const ctune_stmt *stmt, int dim) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (stmt->dims[p] == dim) {
            return p;
        }
    }
    return -1;
}

/* Dims over the axes in the constraint's loads. */
static uint32_t chosen_by(const path *p, const ctune_aff *con, rulers *out) {
    const ctune_stage *stage = &p->nest->region->stages[p->stmt->stage];
    uint32_t mask = 0;
    for (int d = 0; d < stage->n_axes; d++) {
        if (ctune_aff_div_uses_axis(p->nest->region, con, stage->axes[d])) {
            int dim = ctune_stmt_dim(p->stmt, d);
            int at = dim < 0 ? -1 : position_of(p->stmt, dim);
            out->is_lost |= at < 0;
            mask |= at < 0 ? 0 : (uint32_t)1 << at;
        }
    }
    return mask;
}

/* Of all dims in the constraint: what rules any of them. */
static uint32_t ruled_by(const path *p, const ctune_aff *con, const rulers *r) {
    uint32_t mask = 0;
    for (int t = 0; t < con->n_terms; t++) {
        int at =
            con->terms[t].kind == CTUNE_TERM_AXIS ? position_of(p->stmt, con->terms[t].id) : -1;
        mask |= at >= 0 ? r->of[at] : 0;
    }
    return mask;
}

/* Has position q a bound on that side which no load has a part in? */
static bool is_free_side(const path *p, const rulers *r, int q, int sign) {
    for (int c = 0; c < p->stmt->n_cons; c++) {
        const ctune_aff *con = p->stmt->cons[c];
        int64_t coef = ctune_aff_coef(con, CTUNE_TERM_AXIS, p->stmt->dims[q]);
        if (coef * sign > 0 && !ctune_aff_has_load(p->nest->region, con) &&
            ruled_by(p, con, r) == 0) {
            return true;
        }
    }
    return false;
}

static void find_rulers(const path *p, rulers *r) {
    const ctune_stmt *stmt = p->stmt;
    for (int c = 0; c < stmt->n_cons; c++) {
        for (int q = 0; q < stmt->n_dims && ctune_aff_has_load(p->nest->region, stmt->cons[c]);
             q++) {
            if (ctune_aff_coef(stmt->cons[c], CTUNE_TERM_AXIS, stmt->dims[q]) != 0) {
                r->of[q] |= chosen_by(p, stmt->cons[c], r);
            }
        }
    }
    for (int round = 0; round < stmt->n_dims; round++) { /* by way of other dims */
        for (int q = 0; q < stmt->n_dims; q++) {
            if (r->of[q] != 0 || (is_free_side(p, r, q, 1) && is_free_side(p, r, q, -1))) {
                continue;
            }
            for (int c = 0; c < stmt->n_cons; c++) {
                if (ctune_aff_coef(stmt->cons[c], CTUNE_TERM_AXIS, stmt->dims[q]) != 0) {
                    r->of[q] |= ruled_by(p, stmt->cons[c], r);
                }
            }
        }
    }
}

static bool check_dims(const path *p, char *why, size_t why_size) {
    rulers r = {{0}, false};
    find_rulers(p, &r);
    for (int q = 0; q < p->stmt->n_dims; q++) {
        int outermost = depth_of(p, p->stmt->dims[q], false);
        for (int d = 0; d < p->stmt->n_dims; d++) {
            if ((r.of[q] >> d & 1) &&
                (r.is_lost || outermost < 0 || depth_of(p, p->stmt->dims[d], true) < 0 ||
                 depth_of(p, p->stmt->dims[d], true) >= outermost)) {
                return say_no(why, why_size,
                              "a loop whose bounds are read from an array stands outside of the "
                              "loops that choose them");
            }
        }
        if (r.of[q] != 0 && (!check_fused(p, p->stmt->dims[q], why, why_size) ||
                             !check_moved(p, p->stmt->dims[q], why, why_size))) {
            return false;
        }
    }
    return !r.is_lost || say_no(why, why_size,
                                "a loop whose bounds are read from an array needs the counters of "
                                "the source");
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
    return !has_loads || check_dims(p, why, why_size);
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

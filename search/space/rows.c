/*
 * Rows in lanes: a loop around others that carries nothing, vectorized as it stands.
 *
 * In: the chains of a form. Out: for loops around several loops or statements, how many lanes they
 * may have. Offered where something inside runs in order (a recurrence or an ordered sum along each
 * row), which no vector loop inside it can change: filters, line solves, scans, rows that are
 * summed up. The loops inside then stay as they are; the passes read and write along the rows.
 */
#include "search/space/space_private.h"

#include <string.h>

static bool is_inside(const form_space *fs, const chain *c, int loop) {
    int top = c->n_outer > 0 ? c->outer[0] : c->node[0];
    return top != loop && ctune_nest_is_ancestor(&fs->base, loop, top);
}

/* Does some innermost loop inside run in order? */
static bool has_order(const form_space *fs, int loop) {
    for (int k = 0; k < fs->n_chains; k++) {
        const chain *c = fs->chain[k];
        if (c->m > 0 && is_inside(fs, c, loop) && !(c->par >> (c->m - 1) & 1)) {
            return true;
        }
    }
    return false;
}

/* Of the widest element that is stored inside. */
static int elem_bytes(const ctune_nest *nest, int loop) {
    int widest = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && ctune_nest_is_ancestor(nest, loop, i)) {
            const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[i].stmt];
            int tensor = nest->region->stages[stmt->stage].target.tensor;
            int bytes = ctune_type_get(nest->region->tensors[tensor].type)->bytes;
            widest = bytes > widest ? bytes : widest;
        }
    }
    return widest;
}

static bool jumps(const ctune_nest *nest, const ctune_stmt *stmt, const ctune_access *access,
                  int dim) {
    for (int i = 0; i + 1 < access->n_idx; i++) {
        if (ctune_stmt_coef(nest->region, stmt, access->idx[i], dim) != 0) {
            return true;
        }
    }
    return false;
}

/* Does something inside lie in another row for each iteration? Then a vector is a square that is
 * transposed in registers, and several of them would not fit. */
static bool has_transposed(const ctune_nest *nest, int loop) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind != CTUNE_NN_STMT || !ctune_nest_is_ancestor(nest, loop, i)) {
            continue;
        }
        const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[i].stmt];
        const ctune_stage *stage = &nest->region->stages[stmt->stage];
        for (int r = -1; r < stage->n_reads; r++) {
            const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
            if (!nest->region->tensors[a->tensor].is_temp &&
                jumps(nest, stmt, a, nest->node[loop].dim)) {
                return true;
            }
        }
    }
    return false;
}

bool rows_build(const chain *c, int lanes, ctune_nest *nest, ctune_schedule *schedule) {
    int node = c->outer[c->n_outer - 1], inner;
    const char *outer = c->rows_name[0], *point = c->rows_name[1];
    char old[CTUNE_NAME_BYTES];
    memcpy(old, nest->node[node].name, sizeof old);
    if (ctune_nest_split(nest, node, lanes, outer, point, &inner) != NULL ||
        ctune_nest_annotate(nest, inner, CTUNE_ANN_VECTOR) != NULL) {
        return false;
    }
    schedule_record(schedule, CTUNE_PRIM_SPLIT, lanes, 3, (const char *const[]){old, outer, point},
                    NULL);
    schedule_record(schedule, CTUNE_PRIM_VECTORIZE, 0, 1, (const char *const[]){point}, NULL);
    return true;
}

static bool may_be_rows(const form_space *fs, const chain *c) {
    ctune_nest trial = fs->base;
    return rows_build(c, 2, &trial, NULL) && ctune_nest_check(&trial, NULL, 0);
}

void rows_find(const ctune_space *space, form_space *fs) {
    static const int n_vectors[] = {1, 2, 4};
    for (int k = 0; k < fs->n_chains; k++) {
        chain *c = fs->chain[k];
        int loop = c->n_outer > 0 ? c->outer[c->n_outer - 1] : -1;
        if (c->m > 0 || loop < 0 || !has_order(fs, loop)) {
            continue;
        }
        space_loop_name(&fs->base, fs->base.node[loop].name, 'r', c->rows_name[0]);
        space_loop_name(&fs->base, fs->base.node[loop].name, 'l', c->rows_name[1]);
        if (!may_be_rows(fs, c)) {
            continue;
        }
        c->n_rows = 1;
        for (int i = 0; i < (has_transposed(&fs->base, loop) ? 1 : 3); i++) {
            int lanes = n_vectors[i] * space->vector_bytes / elem_bytes(&fs->base, loop);
            if (lanes >= 4 && lanes <= ctune_nest_extent(&fs->base, loop)) {
                c->rows[c->n_rows++] = lanes;
            }
        }
    }
}

bool rows_hold(const form_space *fs, const chain *c, int n_rows, const int16_t *rows) {
    for (int k = 0; k < n_rows; k++) {
        if (is_inside(fs, c, rows[k])) {
            return true;
        }
    }
    return false;
}

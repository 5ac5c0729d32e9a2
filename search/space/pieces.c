/*
 * Structures with a loop in pieces: where a statement reads elements of its own target that lie at
 * the value of a loop further out (row or column k of a matrix that is updated in step k).
 *
 * The inner loop then carries a dependence for one of its iterations only. Cut there, before and
 * after, the pieces carry none: they can be vectors, and be reordered. In: the source's form. Out:
 * the text of two split_domain primitives. Only what legality (split_domain itself) accepts becomes
 * a form.
 */
#include "search/space/space_private.h"

#include <stdio.h>
#include <string.h>

/* The dim that an index is, nothing added; -1: it is something else. */
static int only_dim(const ctune_region *region, const ctune_stmt *stmt, const ctune_aff *idx) {
    int dim = -1;
    if (idx->n_terms != 1 || idx->c0 != 0 || idx->terms[0].kind != CTUNE_TERM_AXIS) {
        return -1;
    }
    const ctune_aff *value = ctune_stmt_axis(region, stmt, idx->terms[0].id);
    if (idx->terms[0].coef == 1 && value != NULL && value->n_terms == 1 && value->c0 == 0 &&
        value->terms[0].kind == CTUNE_TERM_AXIS && value->terms[0].coef == 1) {
        dim = value->terms[0].id;
    }
    return dim;
}

static int place_of(const ctune_stmt *stmt, int dim) {
    for (int p = 0; p < stmt->n_dims; p++) {
        if (stmt->dims[p] == dim) {
            return p;
        }
    }
    return -1;
}

/* The innermost loop (place) of the statement to cut, and the loop at whose value; false: none. */
static bool find_cut(const ctune_region *region, const ctune_stmt *stmt, int *place, int *at) {
    const ctune_stage *stage = &region->stages[stmt->stage];
    *place = -1;
    for (int r = 0; r < stage->n_reads; r++) {
        const ctune_access *read = &stage->reads[r]->access;
        for (int i = 0; read->tensor == stage->target.tensor && i < read->n_idx; i++) {
            int own = only_dim(region, stmt, stage->target.idx[i]);
            int other = only_dim(region, stmt, read->idx[i]);
            int p = own < 0 || other < 0 || own == other ? -1 : place_of(stmt, own);
            if (p > *place && place_of(stmt, other) < p) {
                *place = p;
                *at = other;
            }
        }
    }
    return *place >= 0;
}

/* The loop of the second piece, once the first cut is made. */
static const char *second_loop(const ctune_tree *tree, int stage, int place, int dim) {
    for (int s = 0; s < tree->n_stmts; s++) {
        const ctune_stmt *stmt = &tree->stmts[s];
        if (stmt->stage == stage && stmt->n_dims > place && stmt->dims[place] != dim) {
            return tree->dims[stmt->dims[place]].name;
        }
    }
    return NULL;
}

ctune_status pieces_propose(ctune_ctx *ctx, ctune_program *program, const ctune_form *source,
                            ctune_schedule *out) {
    const ctune_tree *tree = source->tree;
    for (int s = 0; s < tree->n_stmts; s++) {
        int place, at;
        char line[128];
        const ctune_form *cut = NULL;
        if (!find_cut(program->region, &tree->stmts[s], &place, &at)) {
            continue;
        }
        int dim = tree->stmts[s].dims[place];
        const char *a = tree->dims[dim].name, *b = tree->dims[at].name;
        snprintf(line, sizeof line, "split_domain %s at %s - %s < 0", a, a, b);
        ctune_schedule_append_text(out, line);
        ctune_status status = out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                          : ctune_program_form(ctx, program, out, &cut);
        const char *second =
            status == CTUNE_OK ? second_loop(cut->tree, tree->stmts[s].stage, place, dim) : NULL;
        if (second != NULL) {
            snprintf(line, sizeof line, "split_domain %s at %s - %s < 1", second, second, b);
            ctune_schedule_append_text(out, line);
            return out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory") : CTUNE_OK;
        }
        out->n = 0; /* no such cut */
        if (status == CTUNE_ENOMEM) {
            return status;
        }
    }
    return CTUNE_OK;
}

/*
 * The form in which passes over the same rows follow each other row by row.
 *
 * In: the source's form with its chains. Out: `fuse` primitives for nests that stand side by side,
 * share a tensor larger than a cache and run over equally many rows, where one of them runs in
 * order along each row (a filter there and back, and the sum of both): rows in lanes then stay in
 * the cache from one pass to the next. Loops further inside are not fused: they may run in opposite
 * directions.
 *
 * What no order holds is left to isl's scheduler, whose forms fuse it as far as it goes.
 */
#include "search/space/space_private.h"

#include <math.h>
#include <stdio.h>

typedef struct fuser {
    ctune_ctx *ctx;
    const ctune_space *space;
    ctune_tree *tree; /* owned */
    ctune_text *text;
    ctune_status status; /* memory */
} fuser;

/* Is the nest's outermost loop one whose rows may run in lanes? */
static bool has_rows(const form_space *fs, const ctune_tnode *nest) {
    for (int k = 0; k < fs->n_chains; k++) {
        const chain *c = fs->chain[k];
        if (c->n_rows > 1 && c->n_outer == 1 && ctune_tnode_has_stmt(nest, c->stmt)) {
            return true;
        }
    }
    return false;
}

static bool touches(const ctune_region *region, const ctune_tree *tree, const ctune_tnode *nest,
                    int tensor) {
    for (int s = 0; s < tree->n_stmts; s++) {
        const ctune_stage *stage = &region->stages[tree->stmts[s].stage];
        bool is_used = stage->target.tensor == tensor;
        for (int r = 0; r < stage->n_reads && !is_used; r++) {
            is_used = stage->reads[r]->access.tensor == tensor;
        }
        if (is_used && ctune_tnode_has_stmt(nest, s)) {
            return true;
        }
    }
    return false;
}

static double bytes_of(const ctune_region *region, int tensor) {
    const ctune_tensor *t = &region->tensors[tensor];
    int64_t params[64];
    double bytes = ctune_type_get(t->type)->bytes;
    for (int p = 0; p < region->n_params && p < 64; p++) {
        params[p] = region->params[p].sizes[0];
    }
    for (int d = 0; d < t->rank; d++) {
        bool is_known = t->extent[d] != NULL && region->n_params <= 64;
        bytes *= is_known ? (double)ctune_aff_eval(region, t->extent[d], NULL, params) : 1e4;
    }
    return bytes;
}

/* Do the nests share more than stays in a cache anyway? */
static bool share_much(const fuser *f, const ctune_tnode *a, const ctune_tnode *b) {
    const ctune_region *region = f->space->program->region;
    for (int t = 0; t < region->n_tensors; t++) {
        if (!region->tensors[t].is_temp && touches(region, f->tree, a, t) &&
            touches(region, f->tree, b, t) &&
            bytes_of(region, t) > (double)f->space->target->cache_bytes[1] / 2) {
            return true;
        }
    }
    return false;
}

static int first_stmt(const ctune_tree *tree, const ctune_tnode *nest) {
    int s = 0;
    while (s < tree->n_stmts && !ctune_tnode_has_stmt(nest, s)) {
        s++;
    }
    return s;
}

static bool have_equal_rows(const ctune_tree *tree, const ctune_tnode *a, const ctune_tnode *b) {
    return a->kind == CTUNE_TNODE_LOOP && b->kind == CTUNE_TNODE_LOOP &&
           fabs(tree->dims[a->dim].extent - tree->dims[b->dim].extent) < 1;
}

/* Fuses kids i and i + 1 of the root where that is legal. */
static bool fuse(fuser *f, int i) {
    const ctune_region *region = f->space->program->region;
    const ctune_tnode *a = f->tree->root->kids[i], *b = f->tree->root->kids[i + 1];
    ctune_schedule s;
    ctune_tree *next = NULL;
    char line[128];
    snprintf(line, sizeof line, "fuse %s %s 1",
             ctune_stmt_name(region, f->tree, first_stmt(f->tree, a)),
             ctune_stmt_name(region, f->tree, first_stmt(f->tree, b)));
    ctune_schedule_init(&s);
    ctune_schedule_append_text(&s, line);
    ctune_status status =
        s.failed ? CTUNE_ENOMEM
                 : ctune_program_step(f->ctx, f->space->program, f->tree, &s.prim[0], &next);
    ctune_schedule_clear(&s);
    f->status = status == CTUNE_ENOMEM ? status : f->status;
    if (status != CTUNE_OK) {
        return false;
    }
    ctune_tree_destroy(f->tree);
    f->tree = next;
    ctune_text_printf(f->text, "%s\n", line);
    return true;
}

ctune_status fused_propose(ctune_ctx *ctx, const ctune_space *space, ctune_text *out) {
    const form_space *source = space->form[0];
    fuser f = {.ctx = ctx, .space = space, .text = out};
    ctune_status status = ctune_tree_from_source(ctx, space->program->region, &f.tree);
    for (int i = 0; status == CTUNE_OK && f.status == CTUNE_OK && i + 1 < f.tree->root->n_kids;) {
        const ctune_tnode *a = f.tree->root->kids[i], *b = f.tree->root->kids[i + 1];
        bool is_wanted = have_equal_rows(f.tree, a, b) &&
                         (has_rows(source, a) || has_rows(source, b)) && share_much(&f, a, b);
        i += !(is_wanted && fuse(&f, i));
    }
    if (f.tree != NULL) {
        ctune_tree_destroy(f.tree);
    }
    return status == CTUNE_OK ? f.status : status;
}

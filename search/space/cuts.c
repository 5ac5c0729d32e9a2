/*
 * Cuts: reductions split where what they read begins to lie in a block.
 *
 * In: a draft with its block loops. Out: the same with reductions cut so that a part whose operands
 * are final can leave its tile by distribution. Where the cut is comes from what the reads of the
 * target's tensor are worth in terms of the loop that the target's index runs over: k itself for
 * A[i][k] beside A[i][j], n - 2 - k where the loop runs backwards and the read is of row k + 1. A
 * reduction whose order is free may become final at two ends: it is cut at both.
 */
#include "search/space/blocks.h"

#include <stdio.h>

static void print_terms(const ctune_region *region, const ctune_aff *aff, int sign,
                        ctune_text *out) {
    for (int t = 0; t < aff->n_terms; t++) {
        if (aff->terms[t].kind == CTUNE_TERM_PARAM) {
            int64_t coef = sign * aff->terms[t].coef;
            ctune_text_printf(out, " %c %lld*%s", coef < 0 ? '-' : '+',
                              (long long)(coef < 0 ? -coef : coef),
                              region->params[aff->terms[t].id].name);
        }
    }
}

/* Of a form: the coefficient of the only dim in it, which must be `dim` when that is >= 0; 0 when
 * it is another form. */
static int64_t only_coef(const ctune_aff *aff, int dim) {
    int64_t coef = 0;
    int n = 0;
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_DIV) {
            return 0;
        }
        if (term->kind == CTUNE_TERM_AXIS) {
            n++;
            coef = dim < 0 || term->id == dim ? term->coef : 0;
        }
    }
    return n == 1 ? coef : 0;
}

/* The condition under which iterations of the reduction come before the block, or, when the loop
 * runs the other way in the target's terms, those which do not; false: no read says. */
static bool print_cut(const draft *d, int s, int dim, int b, ctune_text *out) {
    const ctune_region *region = d->program->region;
    const ctune_stmt *stmt = &d->tree->stmts[s];
    const ctune_stage *stage = &region->stages[stmt->stage];
    int i = d->index[b];
    if (i >= stage->target.n_idx) {
        return false;
    }
    ctune_arena *arena = d->tree->arena;
    const ctune_aff *to = ctune_stmt_over_dims(arena, region, stmt, stage->target.idx[i]);
    int64_t turn = only_coef(to, -1);
    for (int r = 0; r < stage->n_reads && (turn == 1 || turn == -1); r++) {
        const ctune_access *read = &stage->reads[r]->access;
        if (read->tensor != stage->target.tensor) {
            continue;
        }
        const ctune_aff *from = ctune_stmt_over_dims(arena, region, stmt, read->idx[i]);
        const ctune_aff *rest = ctune_aff_scale(arena, ctune_aff_sub(arena, from, to), turn);
        int64_t sign = turn * only_coef(from, dim);
        if (rest == NULL || (sign != 1 && sign != -1)) {
            continue;
        }
        ctune_text_printf(out, "%s %c %s*%s", d->tree->dims[dim].name, sign > 0 ? '-' : '+',
                          d->size[b], d->block[b]);
        print_terms(region, rest, (int)sign, out);
        ctune_text_printf(out, " < %lld", (long long)(sign > 0 ? -rest->c0 : rest->c0 + 1));
        return true;
    }
    return false;
}

/* The tree with the innermost reduction of statement s split for block b; NULL: not legal. */
static ctune_tree *cut(draft *d, int s, int b, ctune_text *line) {
    const ctune_stmt *stmt = &d->tree->stmts[s];
    int dim = stmt->dims[stmt->n_dims - 1];
    const char *name = d->tree->dims[dim].name;
    ctune_text_printf(line, "split_domain %s at ", name);
    if (!print_cut(d, s, dim, b, line)) {
        ctune_text_printf(line, "%s - %s*%s < 0", name, d->size[b], d->block[b]);
    }
    return line->failed ? NULL : draft_try(d, d->tree, ctune_text_get(line));
}

/* Does a piece of the stage leave its tile? */
static bool has_isolated(draft *d, const ctune_tree *tree, int stage) {
    ctune_tree *parts = draft_try(d, tree, "distribute");
    ctune_depvecs vecs;
    bool is_good = false;
    if (parts != NULL && draft_vecs(d, parts, &vecs)) {
        for (int s = 0; s < parts->n_stmts; s++) {
            is_good = is_good || (parts->stmts[s].stage == stage &&
                                  draft_is_isolated(d->program->region, parts, &vecs, s));
        }
    }
    if (parts != NULL) {
        ctune_tree_destroy(parts);
    }
    return is_good;
}

static void keep(draft *d, ctune_tree *tree, const char *line) {
    ctune_tree_destroy(d->tree);
    d->tree = tree;
    ctune_text_printf(d->text, "%s\n", line);
}

/* Split the reduction of the statement at the start of its block; keep that when a part leaves the
 * tile. */
static bool cut_once(draft *d, int s, int b) {
    ctune_text line;
    ctune_text_init(&line);
    ctune_tree *split = cut(d, s, b, &line);
    bool is_good = split != NULL && has_isolated(d, split, d->tree->stmts[s].stage);
    if (is_good) {
        keep(d, split, ctune_text_get(&line));
    } else if (split != NULL) {
        ctune_tree_destroy(split);
    }
    ctune_text_clear(&line);
    return is_good;
}

/* Split it for block b, then one of the parts for the other block. */
static bool cut_twice(draft *d, int s, int b) {
    ctune_text line;
    ctune_tree *whole = d->tree, *split;
    int stage = whole->stmts[s].stage;
    bool is_good = false;
    ctune_text_init(&line);
    split = cut(d, s, b, &line);
    for (int k = split == NULL ? 0 : split->n_stmts - 1; k >= 0 && split != NULL && !is_good; k--) {
        if (split->stmts[k].stage != stage) {
            continue;
        }
        ctune_text second;
        ctune_text_init(&second);
        d->tree = split;
        ctune_tree *both = cut(d, k, 1 - b, &second);
        is_good = both != NULL && has_isolated(d, both, stage);
        d->tree = whole;
        if (is_good) {
            keep(d, both, ctune_text_get(&line));
            ctune_text_printf(d->text, "%s\n", ctune_text_get(&second));
        } else if (both != NULL) {
            ctune_tree_destroy(both);
        }
        ctune_text_clear(&second);
    }
    if (split != NULL) {
        ctune_tree_destroy(split);
    }
    ctune_text_clear(&line);
    return is_good;
}

void cuts_split(draft *d, bool may_cut_twice) {
    const ctune_region *region = d->program->region;
    int n = d->tree->n_stmts;
    for (int s = 0; s < n; s++) {
        const ctune_stmt *of = &d->tree->stmts[s];
        int inner = of->n_dims > 0 ? of->dims[of->n_dims - 1] : -1;
        if (inner < 0 || !draft_is_reduce_dim(region, of, inner) || of->n_dims <= d->n_blocks + 1) {
            continue;
        }
        bool is_done = false;
        for (int b = 0; b < d->n_blocks && !is_done; b++) {
            is_done = cut_once(d, s, b);
        }
        for (int b = 0; may_cut_twice && b < 2 && !is_done; b++) {
            is_done = cut_twice(d, s, b);
            d->is_cut_twice = d->is_cut_twice || is_done;
        }
    }
}

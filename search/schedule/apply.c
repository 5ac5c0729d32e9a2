/*
 * One loop or memory primitive by name: looks the operands up, checks that new names are free,
 * calls ops.c.
 *
 * EUSAGE: an operand does not exist. EREFUSED: the primitive does not apply there; both with the
 * primitive and the rule in ctx->error.
 */
#include "search/schedule/program.h"

#include <string.h>

#include "search/schedule/nest_ops.h"

static ctune_status refuse(ctune_ctx *ctx, const ctune_prim *prim, const char *rule) {
    if (rule == NULL) {
        return CTUNE_OK;
    }
    return ctune_fail(ctx, CTUNE_EREFUSED, "%s %s: %s", ctune_prim_get(prim->kind)->name,
                      prim->name[0], rule);
}

static ctune_status find_loop(ctune_ctx *ctx, const ctune_nest *nest, const ctune_prim *prim,
                              int i_name, int *node) {
    *node = ctune_nest_find(nest, prim->name[i_name]);
    if (*node >= 0) {
        return CTUNE_OK;
    }
    return ctune_fail(ctx, CTUNE_EUSAGE, "%s: no loop named '%s'", ctune_prim_get(prim->kind)->name,
                      prim->name[i_name]);
}

static ctune_status apply_split(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    int node, inner;
    ctune_status status = find_loop(ctx, nest, prim, 0, &node);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int k = 1; k <= 2; k++) {
        int other = ctune_nest_find(nest, prim->name[k]);
        if ((other >= 0 && other != node) || strcmp(prim->name[k], "root") == 0) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "split %s: the name '%s' is taken", prim->name[0],
                              prim->name[k]);
        }
    }
    if (strcmp(prim->name[1], prim->name[2]) == 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "split %s: the name '%s' is given twice",
                          prim->name[0], prim->name[1]);
    }
    return refuse(ctx, prim,
                  ctune_nest_split(nest, node, prim->number, prim->name[1], prim->name[2], &inner));
}

static ctune_status apply_reorder(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    int nodes[CTUNE_PRIM_NAMES];
    for (int k = 0; k < prim->n_names; k++) {
        ctune_status status = find_loop(ctx, nest, prim, k, &nodes[k]);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    return refuse(ctx, prim, ctune_nest_reorder(nest, nodes, prim->n_names));
}

static ctune_status apply_annotation(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    int node;
    ctune_ann ann = prim->kind == CTUNE_PRIM_UNROLL      ? CTUNE_ANN_UNROLL
                    : prim->kind == CTUNE_PRIM_VECTORIZE ? CTUNE_ANN_VECTOR
                                                         : CTUNE_ANN_PARALLEL;
    ctune_status status = find_loop(ctx, nest, prim, 0, &node);
    return status != CTUNE_OK ? status : refuse(ctx, prim, ctune_nest_annotate(nest, node, ann));
}

static ctune_status apply_collapse(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    int outer, inner;
    ctune_status status = find_loop(ctx, nest, prim, 0, &outer);
    if (status == CTUNE_OK) {
        status = find_loop(ctx, nest, prim, 1, &inner);
    }
    return status != CTUNE_OK ? status : refuse(ctx, prim, ctune_nest_collapse(nest, outer, inner));
}

static int find_stmt_of_stage(const ctune_nest *nest, const char *name) {
    const ctune_tree *tree = nest->form->tree;
    for (int s = 0; s < tree->n_stmts; s++) {
        if (strcmp(nest->region->stages[tree->stmts[s].stage].name, name) == 0) {
            return s;
        }
    }
    return -1;
}

static ctune_status apply_cache(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    bool is_pack = prim->kind == CTUNE_PRIM_CACHE_READ;
    int at = 0, stmt = find_stmt_of_stage(nest, prim->name[0]);
    if (stmt < 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "%s: no stage named '%s'",
                          ctune_prim_get(prim->kind)->name, prim->name[0]);
    }
    if (strcmp(prim->name[1], "root") != 0) {
        ctune_status status = find_loop(ctx, nest, prim, 1, &at);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    int read = !is_pack ? -1 : prim->number < INT16_MAX ? (int)prim->number : INT16_MAX;
    ctune_cache_kind kind = is_pack ? CTUNE_CACHE_PACK : CTUNE_CACHE_REGISTER;
    return refuse(ctx, prim, ctune_nest_cache(nest, kind, stmt, read, at));
}

ctune_status ctune_nest_apply(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    switch (prim->kind) {
    case CTUNE_PRIM_SPLIT:
        return apply_split(ctx, nest, prim);
    case CTUNE_PRIM_REORDER:
        return apply_reorder(ctx, nest, prim);
    case CTUNE_PRIM_COLLAPSE:
        return apply_collapse(ctx, nest, prim);
    case CTUNE_PRIM_UNROLL:
    case CTUNE_PRIM_VECTORIZE:
    case CTUNE_PRIM_PARALLEL:
        return apply_annotation(ctx, nest, prim);
    case CTUNE_PRIM_CACHE_READ:
    case CTUNE_PRIM_CACHE_WRITE:
        return apply_cache(ctx, nest, prim);
    default:
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "%s: structural primitives come before loop and memory primitives",
                          ctune_prim_get(prim->kind)->name);
    }
}

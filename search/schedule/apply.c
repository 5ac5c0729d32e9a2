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
    ctune_ann ann = prim->kind == CTUNE_PRIM_BIND        ? (ctune_ann)prim->number
                    : prim->kind == CTUNE_PRIM_UNROLL    ? CTUNE_ANN_UNROLL
                    : prim->kind == CTUNE_PRIM_VECTORIZE ? CTUNE_ANN_VECTOR
                    : prim->kind == CTUNE_PRIM_SLIDE     ? CTUNE_ANN_SLIDE
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

static int find_stmt(const ctune_nest *nest, const char *name) {
    return ctune_stmt_find(nest->region, nest->form->tree, name);
}

static ctune_status apply_cache(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    bool is_read = prim->kind == CTUNE_PRIM_CACHE_READ;
    int at = 0, stmt = find_stmt(nest, prim->name[0]);
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
    int read = !is_read ? -1 : prim->number < INT16_MAX ? (int)prim->number : INT16_MAX;
    ctune_cache_kind kind = !is_read          ? CTUNE_CACHE_REGISTER
                            : prim->is_shared ? CTUNE_CACHE_SHARED
                                              : CTUNE_CACHE_PACK;
    return refuse(ctx, prim, ctune_nest_cache(nest, kind, stmt, read, at));
}

static ctune_status check_name(ctune_ctx *ctx, const ctune_nest *nest, const ctune_prim *prim,
                               const char *name) {
    if (ctune_nest_find(nest, name) < 0 && strcmp(name, "root") != 0) {
        return CTUNE_OK;
    }
    return ctune_fail(ctx, CTUNE_EUSAGE, "%s: the name '%s' is taken",
                      ctune_prim_get(prim->kind)->name, name);
}

/* One term of a tile's sum: a loop stands for its dim, the name that the dim's loop had for it,
 * too, a statement for itself; of a wave's: the loop. */
static ctune_status find_term(ctune_ctx *ctx, const ctune_nest *nest, const ctune_prim *prim,
                              int i_name, ctune_sum_term *term) {
    bool is_wave = prim->kind == CTUNE_PRIM_WAVE;
    int node = ctune_nest_find(nest, prim->name[i_name]);
    *term = (ctune_sum_term){.coef = prim->coef[i_name]};
    if (node >= 0) {
        term->kind = is_wave ? CTUNE_SUM_LOOP : CTUNE_SUM_DIM;
        term->of = is_wave ? (int16_t)node : nest->node[node].dim;
        if (!is_wave && nest->node[node].sum >= 0) {
            return refuse(ctx, prim, "a sum adds up loops over dims");
        }
        return CTUNE_OK;
    }
    const ctune_tree *tree = nest->form->tree;
    for (int d = 0; d < tree->n_dims && !is_wave; d++) {
        if (strcmp(tree->dims[d].name, prim->name[i_name]) == 0) {
            term->kind = CTUNE_SUM_DIM;
            term->of = (int16_t)d;
            return CTUNE_OK;
        }
    }
    int stmt = is_wave ? -1 : find_stmt(nest, prim->name[i_name]);
    if (stmt < 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "%s: no loop named '%s'",
                          ctune_prim_get(prim->kind)->name, prim->name[i_name]);
    }
    term->kind = CTUNE_SUM_STMT;
    term->of = (int16_t)stmt;
    return CTUNE_OK;
}

static ctune_status find_sum(ctune_ctx *ctx, const ctune_nest *nest, const ctune_prim *prim,
                             ctune_sum *sum) {
    memset(sum, 0, sizeof *sum);
    for (int k = 0; k < prim->n_names && prim->coef[k] != 0; k++) {
        if (sum->n == CTUNE_SUM_TERMS) {
            return refuse(ctx, prim, "a sum of more than 8 terms");
        }
        ctune_status status = find_term(ctx, nest, prim, k, &sum->term[sum->n]);
        if (status != CTUNE_OK) {
            return status;
        }
        sum->n++;
    }
    return CTUNE_OK;
}

static ctune_status apply_tile(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    ctune_sum sum;
    int at;
    const char *name = prim->name[prim->n_names - 2];
    ctune_status status = find_sum(ctx, nest, prim, &sum);
    if (status == CTUNE_OK) {
        status = find_loop(ctx, nest, prim, prim->n_names - 1, &at);
    }
    if (status == CTUNE_OK) {
        status = check_name(ctx, nest, prim, name);
    }
    return status != CTUNE_OK
               ? status
               : refuse(ctx, prim, ctune_nest_tile(nest, &sum, prim->number, at, name));
}

static ctune_status apply_wave(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    ctune_sum sum;
    const char *name = prim->name[prim->n_names - 1];
    ctune_status status = find_sum(ctx, nest, prim, &sum);
    if (status == CTUNE_OK) {
        status = check_name(ctx, nest, prim, name);
    }
    return status != CTUNE_OK ? status : refuse(ctx, prim, ctune_nest_wave(nest, &sum, name));
}

static ctune_status apply_compute(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    int at, stmt = find_stmt(nest, prim->name[0]);
    if (stmt < 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "compute: no stage named '%s'", prim->name[0]);
    }
    ctune_status status = find_loop(ctx, nest, prim, 1, &at);
    return status != CTUNE_OK ? status : refuse(ctx, prim, ctune_nest_compute(nest, stmt, at));
}

static ctune_status apply_fission(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    int node;
    ctune_status status = find_loop(ctx, nest, prim, 0, &node);
    return status != CTUNE_OK ? status : refuse(ctx, prim, ctune_nest_fission(nest, node));
}

static ctune_status apply_stream(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    int stmt = find_stmt(nest, prim->name[0]);
    return stmt < 0 ? ctune_fail(ctx, CTUNE_EUSAGE, "stream: no stage named '%s'", prim->name[0])
                    : refuse(ctx, prim, ctune_nest_stream(nest, stmt));
}

static ctune_status apply_skew(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    for (int t = 0; t < nest->region->n_tensors; t++) {
        if (strcmp(nest->region->tensors[t].name, prim->name[0]) == 0) {
            return refuse(ctx, prim, ctune_nest_skew(nest, t, prim->number));
        }
    }
    return ctune_fail(ctx, CTUNE_EUSAGE, "skew: no array named '%s'", prim->name[0]);
}

ctune_status ctune_nest_apply(ctune_ctx *ctx, ctune_nest *nest, const ctune_prim *prim) {
    switch (prim->kind) {
    case CTUNE_PRIM_SPLIT:
        return apply_split(ctx, nest, prim);
    case CTUNE_PRIM_REORDER:
        return apply_reorder(ctx, nest, prim);
    case CTUNE_PRIM_TILE:
        return apply_tile(ctx, nest, prim);
    case CTUNE_PRIM_WAVE:
        return apply_wave(ctx, nest, prim);
    case CTUNE_PRIM_COMPUTE:
        return apply_compute(ctx, nest, prim);
    case CTUNE_PRIM_FISSION:
        return apply_fission(ctx, nest, prim);
    case CTUNE_PRIM_COLLAPSE:
        return apply_collapse(ctx, nest, prim);
    case CTUNE_PRIM_UNROLL:
    case CTUNE_PRIM_VECTORIZE:
    case CTUNE_PRIM_SLIDE:
    case CTUNE_PRIM_PARALLEL:
    case CTUNE_PRIM_BIND:
        return apply_annotation(ctx, nest, prim);
    case CTUNE_PRIM_CACHE_READ:
    case CTUNE_PRIM_CACHE_WRITE:
        return apply_cache(ctx, nest, prim);
    case CTUNE_PRIM_SKEW:
        return apply_skew(ctx, nest, prim);
    case CTUNE_PRIM_STREAM:
        return apply_stream(ctx, nest, prim);
    default:
        return ctune_fail(ctx, CTUNE_EUSAGE,
                          "%s: structural primitives come before loop and memory primitives",
                          ctune_prim_get(prim->kind)->name);
    }
}

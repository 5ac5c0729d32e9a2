/*
 * Program: a region, its dependences, and the forms made so far, found again by the canonical text
 * of their structural primitives; and the application of a whole schedule.
 */
#include "search/schedule/program.h"

#include <stdlib.h>
#include <string.h>

#include "search/schedule/nest_ops.h"

enum { N_FORMS_MAX = (int)(sizeof((ctune_program *)0)->form / sizeof(ctune_form *)) };

static void form_destroy(ctune_form *form) {
    if (form != NULL) {
        ctune_tree_destroy(form->tree);
        free(form->prefix);
        free(form);
    }
}

static int find_param(const ctune_region *region, const char *name) {
    for (int p = 0; p < region->n_params; p++) {
        if (strcmp(region->params[p].name, name) == 0) {
            return p;
        }
    }
    return -1;
}

static ctune_status add_fixed(ctune_ctx *ctx, const ctune_region *region, ctune_form *form,
                              const ctune_prim *prim) {
    int param = find_param(region, prim->name[0]);
    if (param < 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "specialize: no parameter named '%s'", prim->name[0]);
    }
    for (int k = 0; k < form->n_fixed; k++) {
        if (form->fixed_param[k] == param) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "specialize %s: fixed already", prim->name[0]);
        }
    }
    if (form->n_fixed == (int)(sizeof form->fixed_param / sizeof *form->fixed_param)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "specialize %s: too many parameters", prim->name[0]);
    }
    form->fixed_param[form->n_fixed] = param;
    form->fixed_value[form->n_fixed++] = prim->number;
    return CTUNE_OK;
}

static ctune_status fuse(ctune_ctx *ctx, ctune_program *program, const ctune_tree *tree,
                         const ctune_prim *prim, ctune_tree **out) {
    int s0 = ctune_stmt_find(program->region, tree, prim->name[0]);
    int s1 = ctune_stmt_find(program->region, tree, prim->name[1]);
    if (s0 < 0 || s1 < 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "fuse: no stage named '%s'",
                          prim->name[s0 < 0 ? 0 : 1]);
    }
    if (prim->number < 1 || prim->number > CTUNE_MAX_DEPTH) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "fuse %s %s: bad depth", prim->name[0], prim->name[1]);
    }
    return ctune_tree_fuse(ctx, program->deps, tree, s0, s1, (int)prim->number, out);
}

/* The condition of split_domain as a form >= 0 over dims and parameters; NULL with words. */
static const ctune_aff *condition(ctune_ctx *ctx, const ctune_program *program,
                                  const ctune_tree *tree, const ctune_prim *prim) {
    ctune_arena *a = tree->arena;
    const ctune_aff *sum = ctune_aff_const(a, 0);
    for (int k = 1; k < prim->n_names; k++) {
        int dim = 0, param = find_param(program->region, prim->name[k]);
        while (dim < tree->n_dims && strcmp(tree->dims[dim].name, prim->name[k]) != 0) {
            dim++;
        }
        if (dim == tree->n_dims && param < 0) {
            ctune_fail(ctx, CTUNE_EUSAGE, "split_domain: no loop or parameter named '%s'",
                       prim->name[k]);
            return NULL;
        }
        ctune_term_kind kind = dim < tree->n_dims ? CTUNE_TERM_AXIS : CTUNE_TERM_PARAM;
        sum = ctune_aff_add(
            a, sum, ctune_aff_term(a, kind, dim < tree->n_dims ? dim : param, prim->coef[k]));
    }
    /* sum < number: number - 1 - sum >= 0 */
    sum = ctune_aff_scale(a, sum, prim->is_less ? -1 : 1);
    sum = ctune_aff_add_const(a, sum, prim->is_less ? prim->number - 1 : -prim->number);
    if (sum == NULL) {
        ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return sum;
}

static ctune_status split_domain(ctune_ctx *ctx, ctune_program *program, const ctune_tree *tree,
                                 const ctune_prim *prim, ctune_tree **out) {
    int dim = 0;
    while (dim < tree->n_dims && strcmp(tree->dims[dim].name, prim->name[0]) != 0) {
        dim++;
    }
    if (dim == tree->n_dims) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "split_domain: no loop named '%s'", prim->name[0]);
    }
    const ctune_aff *cond = condition(ctx, program, tree, prim);
    if (cond == NULL) {
        return ctune_arena_has_failed(tree->arena) ? CTUNE_ENOMEM : CTUNE_EUSAGE;
    }
    return ctune_tree_split_domain(ctx, program->deps, tree, dim, cond, out);
}

static int find_dim(const ctune_tree *tree, const char *name) {
    int dim = 0;
    while (dim < tree->n_dims && strcmp(tree->dims[dim].name, name) != 0) {
        dim++;
    }
    return dim < tree->n_dims ? dim : -1;
}

static ctune_status no_loop(ctune_ctx *ctx, const ctune_prim *prim, const char *name) {
    return ctune_fail(ctx, CTUNE_EUSAGE, "%s: no loop named '%s'", ctune_prim_get(prim->kind)->name,
                      name);
}

static ctune_status block(ctune_ctx *ctx, ctune_program *program, const ctune_tree *tree,
                          const ctune_prim *prim, ctune_tree **out) {
    int n = prim->n_names - 2;
    const char *name = prim->name[n], *at = prim->name[n + 1];
    ctune_block b = {.name = name, .at = find_dim(tree, at), .factor = prim->number, .n = n};
    if (b.at < 0) {
        return no_loop(ctx, prim, at);
    }
    if (n > CTUNE_MAX_DEPTH || b.factor < 2 || b.factor > CTUNE_MAX_FACTOR) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "block: %s",
                          n > CTUNE_MAX_DEPTH ? "too many loops in the sum"
                                              : "the factor must lie in 2 .. 2^30");
    }
    if (find_dim(tree, name) >= 0 || find_param(program->region, name) >= 0 ||
        strcmp(name, "root") == 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "block: the name '%s' is taken", name);
    }
    for (int k = 0; k < n; k++) {
        b.dim[k] = find_dim(tree, prim->name[k]);
        b.coef[k] = prim->coef[k];
        if (b.dim[k] < 0) {
            return no_loop(ctx, prim, prim->name[k]);
        }
    }
    return ctune_tree_block(ctx, program->deps, tree, &b, out);
}

static ctune_status sink(ctune_ctx *ctx, ctune_program *program, const ctune_tree *tree,
                         const ctune_prim *prim, ctune_tree **out) {
    int dim = find_dim(tree, prim->name[0]);
    return dim < 0 ? no_loop(ctx, prim, prim->name[0])
                   : ctune_tree_sink(ctx, program->deps, tree, dim, out);
}

ctune_status ctune_program_step(ctune_ctx *ctx, ctune_program *program, const ctune_tree *tree,
                                const ctune_prim *prim, ctune_tree **out) {
    switch (prim->kind) {
    case CTUNE_PRIM_DISTRIBUTE:
        return ctune_tree_distribute(ctx, program->deps, tree, out);
    case CTUNE_PRIM_FUSE:
        return fuse(ctx, program, tree, prim, out);
    case CTUNE_PRIM_SPLIT_DOMAIN:
        return split_domain(ctx, program, tree, prim, out);
    case CTUNE_PRIM_BLOCK:
        return block(ctx, program, tree, prim, out);
    case CTUNE_PRIM_SINK:
        return sink(ctx, program, tree, prim, out);
    default:
        return ctune_fail(ctx, CTUNE_EBUG, "%s is not structural",
                          ctune_prim_get(prim->kind)->name);
    }
}

/* The tree after one structural primitive; replaces form->tree. */
static ctune_status transform(ctune_ctx *ctx, ctune_program *program, ctune_form *form,
                              const ctune_prim *prim, bool *is_source) {
    ctune_tree *next = NULL;
    ctune_status status;
    switch (prim->kind) {
    case CTUNE_PRIM_SPECIALIZE:
        return add_fixed(ctx, program->region, form, prim);
    case CTUNE_PRIM_ROUND:
        form->round_products = true;
        return CTUNE_OK;
    case CTUNE_PRIM_POLYHEDRAL:
        if (!*is_source) {
            return ctune_fail(ctx, CTUNE_EREFUSED,
                              "polyhedral: it starts from the source's order, so it comes first");
        }
        status = ctune_tree_polyhedral(ctx, program->deps, (ctune_poly_mode)prim->number, &next);
        break;
    default:
        status = ctune_program_step(ctx, program, form->tree, prim, &next);
        break;
    }
    if (status == CTUNE_OK) {
        ctune_tree_destroy(form->tree);
        form->tree = next;
        *is_source = false;
    }
    return status;
}

static ctune_status estimate(ctune_ctx *ctx, const ctune_region *region, ctune_form *form) {
    int64_t *sizes = calloc((size_t)region->n_params + 1, sizeof *sizes);
    if (sizes == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_region_sizes(region, 0, sizes);
    for (int k = 0; k < form->n_fixed; k++) {
        sizes[form->fixed_param[k]] = form->fixed_value[k];
    }
    ctune_tree_estimate(region, form->tree, sizes);
    free(sizes);
    return CTUNE_OK;
}

static ctune_status check_size(ctune_ctx *ctx, const ctune_tree *tree) {
    if (1 + tree->n_dims + tree->n_stmts > CTUNE_NEST_NODES || tree->n_stmts > CTUNE_MAX_STMTS) {
        return ctune_fail(ctx, CTUNE_EREFUSED,
                          "more loops and statements than a nest can hold (%d)", CTUNE_NEST_NODES);
    }
    return CTUNE_OK;
}

static ctune_status check_legal(ctune_ctx *ctx, ctune_program *program, ctune_form *form) {
    bool legal = false;
    ctune_status status = ctune_deps_check(ctx, program->deps, form->tree, &legal, &form->vecs);
    return status != CTUNE_OK || legal ? status : CTUNE_EREFUSED; /* words are in ctx->error */
}

static ctune_status find_stable(ctune_ctx *ctx, const ctune_program *program, ctune_form *form) {
    const ctune_tree *tree = form->tree;
    uint8_t **stable = CTUNE_NEW_ARRAY(tree->arena, uint8_t *, tree->n_stmts + 1);
    for (int s = 0; stable != NULL && s < tree->n_stmts; s++) {
        const ctune_stage *stage = &program->region->stages[tree->stmts[s].stage];
        stable[s] = CTUNE_NEW_ARRAY(tree->arena, uint8_t, stage->n_reads + 1);
        for (int r = 0; stable[s] != NULL && r < stage->n_reads; r++) {
            stable[s][r] =
                (uint8_t)ctune_deps_stable(ctx, program->deps, tree, s, &stage->reads[r]->access);
        }
    }
    form->stable = (const uint8_t *const *)stable;
    return ctune_arena_has_failed(tree->arena) ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                               : CTUNE_OK;
}

/* Fill an empty form from the first n primitives. */
static ctune_status form_build(ctune_ctx *ctx, ctune_program *program, const ctune_prim *prim,
                               int n, ctune_form *form) {
    bool is_source = true;
    form->round_products = program->round_products;
    ctune_status status = ctune_tree_from_source(ctx, program->region, &form->tree);
    bool was_deferred = ctune_deps_defer(program->deps, true); /* check_legal asks, of the last */
    for (int k = 0; k < n && status == CTUNE_OK; k++) {
        status = transform(ctx, program, form, &prim[k], &is_source);
    }
    ctune_deps_defer(program->deps, was_deferred);
    if (status == CTUNE_OK) {
        status = check_size(ctx, form->tree);
    }
    if (status == CTUNE_OK) {
        status = estimate(ctx, program->region, form);
    }
    if (status == CTUNE_OK) {
        status = check_legal(ctx, program, form);
    }
    return status == CTUNE_OK ? find_stable(ctx, program, form) : status;
}

/* Takes prefix. */
static ctune_status form_add(ctune_ctx *ctx, ctune_program *program, const ctune_prim *prim, int n,
                             char *prefix, const ctune_form **out) {
    ctune_form *form = calloc(1, sizeof *form);
    ctune_status status = CTUNE_OK;
    if (form == NULL || prefix == NULL) {
        free(form);
        free(prefix);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    form->prefix = prefix;
    if (program->n_forms == N_FORMS_MAX) {
        status = ctune_fail(ctx, CTUNE_EREFUSED, "more than %d structures", (int)N_FORMS_MAX);
    } else {
        status = form_build(ctx, program, prim, n, form);
    }
    if (status != CTUNE_OK) {
        form_destroy(form);
        return status;
    }
    program->form[program->n_forms++] = form;
    *out = form;
    return CTUNE_OK;
}

static int n_structural(const ctune_schedule *schedule) {
    int n = 0;
    while (n < schedule->n && ctune_prim_get(schedule->prim[n].kind)->is_structural) {
        n++;
    }
    return n;
}

ctune_status ctune_program_form(ctune_ctx *ctx, ctune_program *program,
                                const ctune_schedule *schedule, const ctune_form **out) {
    ctune_text key;
    ctune_schedule prefix = *schedule; /* borrowed view */
    prefix.n = n_structural(schedule);
    ctune_text_init(&key);
    ctune_schedule_print(&prefix, &key);
    if (key.failed) {
        ctune_text_clear(&key);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int f = 0; f < program->n_forms; f++) {
        if (strcmp(program->form[f]->prefix, ctune_text_get(&key)) == 0) {
            ctune_text_clear(&key);
            *out = program->form[f];
            return CTUNE_OK;
        }
    }
    char *copy = strdup(ctune_text_get(&key));
    ctune_text_clear(&key);
    return form_add(ctx, program, schedule->prim, prefix.n, copy, out);
}

ctune_status ctune_program_create(ctune_ctx *ctx, const ctune_region *region, ctune_program **out) {
    ctune_program *program = calloc(1, sizeof *program);
    const ctune_form *form;
    if (program == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    program->region = region;
    ctune_status status = ctune_deps_create(ctx, region, &program->deps);
    if (status == CTUNE_OK) {
        status = form_add(ctx, program, NULL, 0, strdup(""), &form);
    }
    if (status != CTUNE_OK) {
        ctune_program_destroy(program);
        return status;
    }
    *out = program;
    return CTUNE_OK;
}

void ctune_program_destroy(ctune_program *program) {
    if (program == NULL) {
        return;
    }
    for (int f = 0; f < program->n_forms; f++) {
        form_destroy(program->form[f]);
    }
    if (program->deps != NULL) {
        ctune_deps_destroy(program->deps);
    }
    free(program);
}

ctune_status ctune_schedule_apply(ctune_ctx *ctx, ctune_program *program,
                                  const ctune_schedule *schedule, ctune_nest *nest) {
    const ctune_form *form;
    ctune_nest work;
    char why[200];
    ctune_status status = ctune_program_form(ctx, program, schedule, &form);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_nest_init(&work, program->region, form);
    for (int k = n_structural(schedule); k < schedule->n; k++) {
        status = ctune_nest_apply(ctx, &work, &schedule->prim[k]);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    bool legal = ctune_nest_check(&work, why, sizeof why);
    if (!legal && work.n_sums > 0) { /* the distances may not tell */
        status = ctune_nest_check_exact(ctx, program->deps, &work, &legal);
        if (status != CTUNE_OK || !legal) {
            return status != CTUNE_OK ? status : CTUNE_EREFUSED;
        }
    }
    if (!legal) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "%s", why);
    }
    *nest = work;
    return CTUNE_OK;
}

ctune_status ctune_nest_parse(ctune_ctx *ctx, ctune_program *program, const char *schedule,
                              ctune_nest *nest) {
    ctune_schedule parsed;
    ctune_schedule_init(&parsed);
    ctune_status status = ctune_schedule_parse(ctx, schedule, &parsed);
    if (status == CTUNE_OK) {
        status = ctune_schedule_apply(ctx, program, &parsed, nest);
    }
    ctune_schedule_clear(&parsed);
    return status;
}

void ctune_program_set_rounding(ctune_program *program, bool rounds) {
    program->round_products = rounds;
    for (int i = 0; i < program->n_forms; i++) {
        program->form[i]->round_products = rounds;
    }
}

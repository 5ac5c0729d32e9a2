/*
 * What the user's compile does with products that go into sums: see ctune_rounding_get.
 *
 * Bit-identical tuned code must round where the original does. Flags and language decide it for
 * clang (an expression's products are fused, always alike) and where nothing may be fused. GCC, and
 * clang with -ffp-contract=fast, decide copy by copy: a reduction may keep two roundings on targets
 * whose fused chains are slow, an ordered sum of vectors cannot fuse, a product that was moved out
 * of its loop is not fused any more. So the user's own file is compiled to assembly with the user's
 * flags, its regions marked by #line, and the marked instructions are looked at: all fused, none,
 * or a mixture.
 */
#include "plugin/predict/predict.h"

#include "plugin/source/unit_text.h"
#include "runtime/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- is there anything to be fused? ---------------------------------------------------------- */
static bool is_product(const ctune_expr *e) {
    while (e->op == CTUNE_OP_NEG || e->op == CTUNE_OP_CAST) {
        e = e->kids[0];
    }
    return e->op == CTUNE_OP_MUL && ctune_type_is_float(e->type);
}

static bool has_fusable(const ctune_expr *e) {
    if (e == NULL) {
        return false;
    }
    bool is_sum = (e->op == CTUNE_OP_ADD || e->op == CTUNE_OP_SUB) && ctune_type_is_float(e->type);
    for (int i = 0; i < e->n_kids; i++) {
        if ((is_sum && is_product(e->kids[i])) || has_fusable(e->kids[i])) {
            return true;
        }
    }
    return false;
}

/* A product may also reach its sum through a scalar of the region: any float product together with
 * any float sum counts. */
static void count_ops(const ctune_expr *e, int *n_products, int *n_sums) {
    if (e == NULL) {
        return;
    }
    *n_products += e->op == CTUNE_OP_MUL && ctune_type_is_float(e->type);
    *n_sums += (e->op == CTUNE_OP_ADD || e->op == CTUNE_OP_SUB) && ctune_type_is_float(e->type);
    for (int i = 0; i < e->n_kids; i++) {
        count_ops(e->kids[i], n_products, n_sums);
    }
}

bool ctune_region_may_fuse(const ctune_region *region) {
    int n_products = 0, n_sums = 0;
    bool found = false;
    for (int i = 0; i < region->n_stages; i++) {
        const ctune_stage *stage = &region->stages[i];
        bool is_float = ctune_type_is_float(stage->calc);
        found = found || has_fusable(stage->rhs) || has_fusable(stage->guard);
        count_ops(stage->rhs, &n_products, &n_sums);
        count_ops(stage->guard, &n_products, &n_sums);
        n_products += is_float && stage->update == CTUNE_UPDATE_MUL;
        n_sums +=
            is_float && (stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB);
    }
    return found || (n_products > 0 && n_sums > 0);
}

/* Temporaries that get a bare product. */
static bool holds_product(const ctune_region *region, int tensor) {
    for (int i = 0; i < region->n_stages; i++) {
        const ctune_stage *s = &region->stages[i];
        bool is_it = s->target.tensor == tensor && s->rhs != NULL;
        if (is_it && ((s->update == CTUNE_UPDATE_SET && is_product(s->rhs)) ||
                      (s->update == CTUNE_UPDATE_MUL && ctune_type_is_float(s->calc)))) {
            return true;
        }
    }
    return false;
}

static bool is_scalar(const ctune_tensor *t) {
    return t->is_temp || t->is_scalar_var || t->rank == 0;
}

static bool reads_product(const ctune_region *region, const ctune_expr *e) {
    while (e->op == CTUNE_OP_NEG || (e->op == CTUNE_OP_CAST && e->type == e->kids[0]->type)) {
        e = e->kids[0];
    }
    return e->op == CTUNE_OP_READ && is_scalar(&region->tensors[e->access.tensor]) &&
           holds_product(region, e->access.tensor);
}

static bool sums_product(const ctune_region *region, const ctune_expr *e) {
    if (e == NULL) {
        return false;
    }
    bool is_sum = (e->op == CTUNE_OP_ADD || e->op == CTUNE_OP_SUB) && ctune_type_is_float(e->type);
    for (int i = 0; i < e->n_kids; i++) {
        if ((is_sum && reads_product(region, e->kids[i])) || sums_product(region, e->kids[i])) {
            return true;
        }
    }
    return false;
}

bool ctune_region_may_fuse_across(const ctune_region *region) {
    for (int i = 0; i < region->n_stages; i++) {
        const ctune_stage *s = &region->stages[i];
        bool is_sum = (s->update == CTUNE_UPDATE_ADD || s->update == CTUNE_UPDATE_SUB) &&
                      ctune_type_is_float(s->calc);
        if ((is_sum &&
             (reads_product(region, s->rhs) || (is_scalar(&region->tensors[s->target.tensor]) &&
                                                holds_product(region, s->target.tensor)))) ||
            sums_product(region, s->rhs) || sums_product(region, s->guard)) {
            return true;
        }
    }
    return false;
}

/* ---- the user's compile ---------------------------------------------------------------------- */
static ctune_status compile(ctune_ctx *ctx, const ctune_source *source, const char *folder,
                            const char *text, size_t n_text, ctune_text *assembly) {
    char c_path[PATH_MAX + 16], s_path[PATH_MAX + 16];
    snprintf(c_path, sizeof c_path, "%s/unit.c", folder);
    snprintf(s_path, sizeof s_path, "%s/unit.s", folder);
    const char *const more[] = {ctune_compiler_get(source->target.compiler)->line_flag,
                                "-fno-lto",
                                "-w",
                                "-S",
                                "-o",
                                s_path,
                                c_path};
    ctune_arena *arena = ctune_arena_create(ctx);
    const char **argv =
        arena != NULL ? ctune_unit_argv(source, arena, sizeof more / sizeof *more, more) : NULL;
    ctune_status status = argv != NULL ? ctune_file_write(ctx, c_path, text, n_text) : CTUNE_ENOMEM;
    if (status == CTUNE_OK && ctune_program_run(ctx, argv, NULL) != CTUNE_OK) {
        status = ctune_fail(ctx, CTUNE_EREFUSED, "%s does not compile a copy of %s", argv[0],
                            source->file);
    }
    if (status == CTUNE_OK) {
        status = ctune_file_read(ctx, s_path, assembly);
    }
    ctune_arena_destroy(arena);
    return status;
}

/* Something outside refers to each function with a region. */
static void put_references(const ctune_source *source, ctune_text *out) {
    for (int i = 0; i < source->unit->n_regions; i++) {
        const ctune_unit_region *r = &source->unit->regions[i];
        if (r->region != NULL && strcmp(r->function, "main") != 0) {
            ctune_text_printf(out, "void *ctune_keep_%d = (void *)%s;\n", i, r->function);
        }
    }
}

static ctune_status make_assembly(ctune_ctx *ctx, const ctune_source *source, bool keeps,
                                  char **out) {
    char folder[PATH_MAX];
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/ctune-XXXXXX",
             tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot make a folder %s", folder);
    }
    ctune_text text, assembly;
    ctune_text_init(&text);
    ctune_text_init(&assembly);
    ctune_unit_print(source, NULL, true, &text);
    if (keeps) {
        put_references(source, &text);
    }
    ctune_status status =
        text.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                    : compile(ctx, source, folder, ctune_text_get(&text), text.len, &assembly);
    if (status == CTUNE_OK) {
        *out = strdup(ctune_text_get(&assembly));
        status = *out != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_text_clear(&text);
    ctune_text_clear(&assembly);
    ctune_folder_remove(folder);
    return status;
}

/* The assembly of the file, made when it is asked for the first time. */
static ctune_status get_assembly(ctune_ctx *ctx, const ctune_source *source, bool keeps,
                                 const char **out) {
    ctune_unit_code *code = source->code;
    char **slot = keeps ? &code->kept : &code->as_is;
    if (code->failure[0] != '\0') {
        return ctune_fail(ctx, CTUNE_EREFUSED, "%s", code->failure);
    }
    ctune_status status = *slot != NULL ? CTUNE_OK : make_assembly(ctx, source, keeps, slot);
    if (status == CTUNE_EREFUSED) {
        snprintf(code->failure, sizeof code->failure, "%.250s", ctx->error);
    }
    *out = *slot;
    return status;
}

/* ---- decision -------------------------------------------------------------------------------- */
static ctune_status look(ctune_ctx *ctx, const ctune_source *source, const ctune_region *region,
                         ctune_rounding *out) {
    int i_region = ctune_source_find(source, region);
    char mark[64];
    if (i_region < 0) {
        return ctune_fail(ctx, CTUNE_EBUG, "region %s is not in its file", region->name);
    }
    ctune_unit_mark(i_region, mark, sizeof mark);
    for (int keeps = 0; keeps < 2; keeps++) {
        const char *assembly = NULL;
        ctune_fusing_counts counts;
        bool is_there;
        ctune_status status = get_assembly(ctx, source, keeps, &assembly);
        if (status != CTUNE_OK) {
            return status;
        }
        ctune_fusing_count(assembly, mark, &counts, &is_there);
        if (!is_there && keeps == 0) {
            continue; /* a static function without a caller */
        }
        bool is_told = ctune_fusing_judge(&counts, &out->contraction);
        if (!is_told) {
            out->contraction = CTUNE_CONTRACTS_ALWAYS;
        } else if (counts.n_fused > 0 && ctune_region_may_fuse_across(region)) {
            out->contraction = CTUNE_CONTRACTS_SOME;
        }
        snprintf(out->evidence, sizeof out->evidence,
                 "%d fused, %d rounded in the user's compile%s", counts.n_fused, counts.n_rounded,
                 keeps ? " (of a function that nothing in the file calls)" : "");
        if (!is_there) {
            snprintf(out->evidence, sizeof out->evidence, "the compiler makes no code of the loop");
        }
        return CTUNE_OK;
    }
    return CTUNE_OK;
}

/* Pragmas of the file that change what flags say. */
static bool has_pragma(const ctune_source *source) {
    return source->unit->text != NULL && (strstr(source->unit->text, "FP_CONTRACT") != NULL ||
                                          strstr(source->unit->text, "fp contract") != NULL);
}

ctune_status ctune_rounding_get(ctune_ctx *ctx, const ctune_source *source,
                                const ctune_region *region, ctune_rounding *out) {
    memset(out, 0, sizeof *out);
    ctune_contract contract = source->target.contract;
    if (contract == CTUNE_CONTRACT_ON && has_pragma(source)) {
        contract = CTUNE_CONTRACT_FAST;
    }
    out->contraction =
        contract == CTUNE_CONTRACT_OFF ? CTUNE_CONTRACTS_NEVER : CTUNE_CONTRACTS_ALWAYS;
    out->is_decided = (contract != CTUNE_CONTRACT_FAST || !ctune_region_may_fuse(region)) &&
                      !source->target.fast_math; /* the user's sums may be reordered, too */
    if (contract != CTUNE_CONTRACT_FAST || !ctune_region_may_fuse(region) ||
        ctune_region_may_reassoc(region)) {
        return CTUNE_OK;
    }
    return look(ctx, source, region, out);
}

/* `strict`, written in the region's pragma. */
static bool is_strict(const ctune_source *source, const ctune_region *region) {
    int i = ctune_source_find(source, region);
    return i >= 0 && source->unit->regions[i].pragma.strict;
}

ctune_status ctune_rounding_choose(ctune_ctx *ctx, const ctune_source *source,
                                   ctune_program *program, ctune_rounding *out) {
    const ctune_region *region = program->region;
    ctune_status status = ctune_rounding_get(ctx, source, region, out);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_program_set_rounding(program, ctune_target_fuses(&source->target) &&
                                            out->contraction == CTUNE_CONTRACTS_NEVER);
    if (out->contraction == CTUNE_CONTRACTS_SOME && is_strict(source, region)) {
        return ctune_fail(ctx, CTUNE_EREFUSED,
                          "region %s: strict, but the compiler fuses some products with sums and "
                          "rounds others (%s): no other loop has these bits at all sizes; "
                          "-ffp-contract=off makes them equal",
                          region->name, out->evidence);
    }
    return CTUNE_OK;
}

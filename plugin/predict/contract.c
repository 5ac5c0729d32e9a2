/*
 * Does GCC fuse the original's products with its sums?
 *
 * Bit-identical tuned code must round where the original does. clang decides by the source's
 * expressions, always alike. GCC decides by cost rules of its own (a reduction may keep two
 * roundings on targets whose fused chains are slow), so the original is compiled to assembly and
 * its instructions are looked at: all fused, none fused, or a mixture, which is refused.
 */
#include "plugin/predict/predict.h"

#include "runtime/program.h"

#include <ctype.h>
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

/* ---- assembly -------------------------------------------------------------------------------- */
static bool starts_with(const char *p, const char *word) {
    return strncmp(p, word, strlen(word)) == 0;
}

/* "mulss", "vmulpd", ... : a product in floating point; likewise sums. */
static bool is_float_op(const char *p, const char *stem) {
    p += *p == 'v';
    if (!starts_with(p, stem)) {
        return false;
    }
    p += strlen(stem);
    return (p[0] == 's' || p[0] == 'p') && (p[1] == 's' || p[1] == 'd') &&
           isspace((unsigned char)p[2]);
}

ctune_contraction ctune_contraction_scan(const char *assembly) {
    int n_fused = 0, n_products = 0, n_sums = 0;
    for (const char *line = assembly; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *p = line + strspn(line, " \t");
        n_fused += starts_with(p, "vfmadd") || starts_with(p, "vfmsub") ||
                   starts_with(p, "vfnmadd") || starts_with(p, "vfnmsub");
        n_products += is_float_op(p, "mul");
        n_sums += is_float_op(p, "add") || is_float_op(p, "sub");
    }
    if (n_fused == 0) {
        return CTUNE_CONTRACTS_NEVER;
    }
    return n_products == 0 || n_sums == 0 ? CTUNE_CONTRACTS_ALWAYS : CTUNE_CONTRACTS_SOME;
}

/* ---- one run of the compiler ----------------------------------------------------------------- */
static ctune_status make_assembly(ctune_ctx *ctx, const ctune_source *source, const char *c_path,
                                  const char *s_path, ctune_text *assembly) {
    const ctune_run_compiler *cc = &source->compiler;
    const char **argv = calloc((size_t)cc->n_flags + 10, sizeof *argv);
    if (argv == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    int n = 0;
    argv[n++] = cc->command;
    for (int i = 0; i < cc->n_flags; i++) {
        argv[n++] = cc->flags[i];
    }
    argv[n++] = "-w";
    argv[n++] = "-S";
    argv[n++] = "-o";
    argv[n++] = s_path;
    argv[n++] = c_path;
    ctune_status status = ctune_program_run(ctx, argv, NULL);
    free(argv);
    if (status != CTUNE_OK) {
        return ctune_fail(ctx, status, "%s does not compile the original loop", cc->command);
    }
    return ctune_file_read(ctx, s_path, assembly);
}

static ctune_status compile(ctune_ctx *ctx, const ctune_source *source, const ctune_region *region,
                            ctune_text *assembly) {
    char folder[PATH_MAX], c_path[PATH_MAX + 16], s_path[PATH_MAX + 16];
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/ctune-XXXXXX",
             tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot make a folder %s", folder);
    }
    snprintf(c_path, sizeof c_path, "%s/original.c", folder);
    snprintf(s_path, sizeof s_path, "%s/original.s", folder);
    ctune_text text;
    ctune_text_init(&text);
    ctune_emit_options emit = source->emit;
    emit.is_source = false; /* ctune_args */
    ctune_emit_prelude(&emit, &text);
    ctune_status status = ctune_emit_original(ctx, region, "ctune_original", &text);
    /* candidates are static: something must refer to it */
    ctune_text_append(&text, "\nvoid *ctune_keep(void);\n"
                             "void *ctune_keep(void) { return (void *)ctune_original; }\n");
    if (status == CTUNE_OK) {
        status = ctune_file_write(ctx, c_path, ctune_text_get(&text), text.len);
    }
    if (status == CTUNE_OK) {
        status = make_assembly(ctx, source, c_path, s_path, assembly);
    }
    ctune_text_clear(&text);
    unlink(c_path);
    unlink(s_path);
    rmdir(folder);
    return status;
}

static bool flag_is(const ctune_source *source, const char *word) {
    bool found = false;
    for (int i = 0; i < source->compiler.n_flags; i++) {
        const char *flag = source->compiler.flags[i];
        if (starts_with(flag, "-ffp-contract=")) {
            found = strcmp(flag, word) == 0;
        }
    }
    return found;
}

ctune_status ctune_contraction_get(ctune_ctx *ctx, const ctune_source *source,
                                   const ctune_region *region, ctune_contraction *out) {
    *out = CTUNE_CONTRACTS_ALWAYS;
    bool is_gcc = strncmp(source->target.compiler, "gcc", 3) == 0;
    if (!is_gcc || ctune_region_may_reassoc(region) || flag_is(source, "-ffp-contract=off") ||
        !ctune_region_may_fuse(region)) {
        return CTUNE_OK;
    }
    ctune_text assembly;
    ctune_text_init(&assembly);
    ctune_status status = compile(ctx, source, region, &assembly);
    if (status == CTUNE_OK) {
        *out = ctune_contraction_scan(ctune_text_get(&assembly));
    }
    ctune_text_clear(&assembly);
    return status;
}

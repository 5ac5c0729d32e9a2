/*
 * The assembly that the user's compile makes of a candidate.
 */
#include "plugin/page/hot.h"
#include "plugin/tool/tool.h"

#include <limits.h>
#include <stdlib.h>

static ctune_status compile(ctune_ctx *ctx, const ctune_run_compiler *cc, const char *c_path,
                            const char *s_path) {
    const char **argv = calloc((size_t)cc->n_flags + 8, sizeof *argv);
    if (argv == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    int n = 0;
    argv[n++] = cc->command;
    for (int i = 0; i < cc->n_flags; i++) {
        argv[n++] = cc->flags[i];
    }
    static const char *const more[] = {"-w", "-S", "-o"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        argv[n++] = more[i];
    }
    argv[n++] = s_path;
    argv[n++] = c_path;
    ctune_text output;
    ctune_text_init(&output);
    ctune_status status = ctune_program_run(ctx, argv, &output);
    if (status != CTUNE_OK) {
        fputs(ctune_text_get(&output), stderr);
    }
    ctune_text_clear(&output);
    free(argv);
    return status;
}

ctune_status ctune_assembly_make(ctune_ctx *ctx, const ctune_source *source, const char *code,
                                 const char *name, ctune_text *out) {
    char c_path[PATH_MAX], s_path[PATH_MAX];
    ctune_text kept, assembly;
    ctune_text_init(&kept);
    ctune_text_init(&assembly);
    /* the candidate is static: keep it, and not inlined */
    ctune_text_printf(&kept, "%sint (*const ctune_keep)(const ctune_args *) = %s;\n", code, name);
    ctune_status status = ctune_workdir_create(ctx);
    if (status == CTUNE_OK) {
        snprintf(c_path, sizeof c_path, "%s/show.c", ctune_workdir_path());
        snprintf(s_path, sizeof s_path, "%s/show.s", ctune_workdir_path());
        status = ctune_file_write(ctx, c_path, ctune_text_get(&kept), kept.len);
    }
    if (status == CTUNE_OK) {
        status = compile(ctx, &source->compiler, c_path, s_path);
    }
    if (status == CTUNE_OK) {
        status = ctune_file_read(ctx, s_path, &assembly);
    }
    if (status == CTUNE_OK) {
        ctune_assembly_function(ctune_text_get(&assembly), name, out);
    }
    ctune_text_clear(&kept);
    ctune_text_clear(&assembly);
    return status;
}

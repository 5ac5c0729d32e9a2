/*
 * A source file, opened: flags, target, extracted unit, where its lock and history are.
 */
#include "plugin/tool/tool.h"

#include "plugin/rewrite/rewrite.h"

#include <stdlib.h>
#include <string.h>

static char *beside(const char *file, const char *name) {
    const char *slash = strrchr(file, '/');
    size_t n = slash != NULL ? (size_t)(slash - file) + 1 : 0;
    char *out = malloc(n + strlen(name) + 1);
    if (out != NULL) {
        memcpy(out, file, n);
        strcpy(out + n, name);
    }
    return out;
}

/* The name under which the lock knows the file; a rewritten copy remembers what it was made from.
 */
static void set_base(ctune_source *s) {
    char origin[256];
    ctune_rewrite_origin(s->unit->text, s->unit->n_text, origin, sizeof origin);
    const char *name = origin[0] != '\0' ? origin : s->file;
    const char *slash = strrchr(name, '/');
    snprintf(s->base, sizeof s->base, "%s", slash != NULL ? slash + 1 : name);
}

static void set_machine(ctune_source *s) {
    const ctune_target *t = &s->target;
    int64_t caches[3] = {t->l1_bytes, t->l2_bytes, t->l3_bytes};
    ctune_machine_default(&s->machine, t->vector_bytes, caches, t->n_threads);
    s->emit = (ctune_emit_options){.vector_bytes = t->vector_bytes, .openmp = t->openmp};
    s->space = (ctune_space_options){.vector_bytes = t->vector_bytes,
                                     .openmp = t->openmp,
                                     .l1_bytes = t->l1_bytes,
                                     .l2_bytes = t->l2_bytes,
                                     .l3_bytes = t->l3_bytes};
}

static void allow_reassoc(ctune_source *s) {
    for (int i = 0; s->target.fast_math && i < s->unit->n_regions; i++) {
        ctune_unit_region *r = &s->unit->regions[i];
        if (r->region != NULL && !r->pragma.strict) {
            r->region->reassoc = true;
        }
    }
}

ctune_status ctune_source_open(ctune_ctx *ctx, const ctune_options *options, const char *file,
                               ctune_source *out) {
    memset(out, 0, sizeof *out);
    out->file = file;
    out->lock_path = options->lock != NULL ? strdup(options->lock) : beside(file, "ctune.lock");
    out->history_path =
        options->history != NULL ? strdup(options->history) : beside(file, ".ctune/history.db");
    if (out->lock_path == NULL || out->history_path == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_status status = ctune_flags_get(ctx, options, file, &out->flags);
    if (status != CTUNE_OK) {
        return status;
    }
    if (out->flags.note != NULL && !options->quiet) {
        ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_NOTE, .text = out->flags.note});
    }
    out->compiler = (ctune_run_compiler){out->flags.compiler, out->flags.n_run, out->flags.run};
    if (!ctune_program_exists(out->compiler.command)) {
        return ctune_fail(ctx, CTUNE_EENV, "no compiler '%s' on PATH", out->compiler.command);
    }
    status = ctune_target_get(ctx, &out->compiler, &out->target);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_target_key(&out->target, out->key, sizeof out->key);
    set_machine(out);
    status = ctune_extract(ctx, file, NULL, out->flags.n_extract, out->flags.extract, &out->unit);
    if (status != CTUNE_OK) {
        return status;
    }
    if (out->unit->has_parse_errors) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: does not compile: nothing done", file);
    }
    set_base(out);
    allow_reassoc(out);
    return CTUNE_OK;
}

void ctune_source_close(ctune_source *source) {
    ctune_unit_destroy(source->unit);
    ctune_flags_clear(&source->flags);
    free(source->lock_path);
    free(source->history_path);
    memset(source, 0, sizeof *source);
}

int ctune_sized_count(const ctune_region *region) {
    int64_t n = 1;
    for (int i = 0; i < region->n_params; i++) {
        n *= region->params[i].n_sizes > 0 ? region->params[i].n_sizes : 1;
        if (n > 64) {
            return 64;
        }
    }
    return (int)n;
}

ctune_status ctune_sized_get(ctune_ctx *ctx, const ctune_region *region, int which,
                             ctune_sized *out) {
    if (region->n_params > CTUNE_RUN_MAX_PARAMS) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "region %s: more than %d parameters", region->name,
                          CTUNE_RUN_MAX_PARAMS);
    }
    memset(out, 0, sizeof *out);
    ctune_region_sizes(region, which, out->params);
    out->region = *region;
    ctune_param *params = CTUNE_NEW_ARRAY(region->arena, ctune_param, region->n_params);
    if (params == NULL && region->n_params > 0) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    size_t used = 0;
    for (int i = 0; i < region->n_params; i++) {
        params[i] = region->params[i];
        params[i].n_sizes = 1;
        params[i].sizes[0] = out->params[i];
        int n = snprintf(out->text + used, sizeof out->text - used, "%s%s=%lld", i > 0 ? " " : "",
                         params[i].name, (long long)out->params[i]);
        if (n < 0 || (size_t)n >= sizeof out->text - used) {
            return ctune_fail(ctx, CTUNE_EREFUSED, "region %s: too many sizes", region->name);
        }
        used += (size_t)n;
    }
    out->region.params = params;
    return CTUNE_OK;
}

const char *ctune_source_original(const ctune_source *source, int i_region) {
    const ctune_unit_region *r = &source->unit->regions[i_region];
    size_t begin = r->is_rewritten ? r->original_begin : r->statement_begin;
    size_t end = r->is_rewritten ? r->original_end : r->statement_end;
    return ctune_arena_strndup(source->unit->arena, source->unit->text + begin, end - begin);
}

bool ctune_region_is_wanted(const ctune_options *options, const ctune_region *region) {
    return options->region == NULL || strcmp(options->region, region->name) == 0;
}

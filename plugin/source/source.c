/*
 * A source file, opened: see source.h.
 */
#include "plugin/source/source.h"

#include "plugin/rewrite/rewrite.h"
#include "search/deps/tree.h"
#include "search/detect/detect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)CTUNE_UNIT_MAX_STAGES == (int)CTUNE_MAX_STMTS &&
                   (int)CTUNE_UNIT_MAX_AXES == (int)CTUNE_MAX_DIMS,
               "what is extracted can be scheduled");

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

/* Does nothing until both target and unit are there. */
static void allow_reassoc(ctune_source *s) {
    for (int i = 0; s->unit != NULL && s->target.fast_math && i < s->unit->n_regions; i++) {
        ctune_unit_region *r = &s->unit->regions[i];
        if (r->region != NULL && !r->pragma.strict) {
            r->region->reassoc = true;
        }
    }
}

ctune_status ctune_source_set_paths(ctune_ctx *ctx, const char *file, const char *lock,
                                    const char *history, ctune_source *source) {
    source->file = file;
    source->emit = (ctune_emit_options){.target = &source->target};
    source->lock_path = lock != NULL ? strdup(lock) : beside(file, "ctune.lock");
    source->history_path = history != NULL ? strdup(history) : beside(file, ".ctune/history.db");
    return source->lock_path != NULL && source->history_path != NULL
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

ctune_status ctune_source_set_target(ctune_ctx *ctx, const char *macros, ctune_source *source) {
    source->compiler =
        (ctune_run_compiler){source->flags.compiler, source->flags.n_run, source->flags.run};
    ctune_status status = macros != NULL
                              ? ctune_target_make(ctx, &source->compiler, macros, &source->target)
                              : ctune_target_get(ctx, &source->compiler, &source->target);
    if (status == CTUNE_OK) {
        ctune_target_key(&source->target, source->key, sizeof source->key);
        allow_reassoc(source);
    }
    return status;
}

ctune_status ctune_source_set_unit(ctune_ctx *ctx, const char *text, ctune_source *source) {
    ctune_status status = ctune_extract(ctx, source->file, text, source->flags.n_extract,
                                        source->flags.extract, &source->unit);
    if (source->unit != NULL) {
        set_base(source);
        allow_reassoc(source);
        source->code = calloc(1, sizeof *source->code);
        status = source->code != NULL ? status : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return status;
}

void ctune_source_close(ctune_source *source) {
    ctune_unit_destroy(source->unit);
    ctune_flags_clear(&source->flags);
    if (source->code != NULL) {
        free(source->code->as_is);
        free(source->code->kept);
        free(source->code);
    }
    free(source->lock_path);
    free(source->history_path);
    memset(source, 0, sizeof *source);
}

int ctune_sized_count(const ctune_region *region) {
    int n = 1; /* the i-th values belong together; shorter lists repeat their last (te.h) */
    for (int i = 0; i < region->n_params; i++) {
        n = region->params[i].n_sizes > n ? region->params[i].n_sizes : n;
    }
    return n;
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

int ctune_source_find(const ctune_source *source, const ctune_region *region) {
    for (int i = 0; i < source->unit->n_regions; i++) {
        const ctune_region *r = source->unit->regions[i].region;
        if (r != NULL && r->line == region->line && strcmp(r->name, region->name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *ctune_source_original(const ctune_source *source, int i_region) {
    const ctune_unit_region *r = &source->unit->regions[i_region];
    size_t begin = r->is_rewritten ? r->original_begin : r->statement_begin;
    size_t end = r->is_rewritten ? r->original_end : r->statement_end;
    return ctune_arena_strndup(source->unit->arena, source->unit->text + begin, end - begin);
}

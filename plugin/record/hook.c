/*
 * Hook of the transform: see hook.h.
 *
 * The profile must find back to the sources from wherever the program runs, so that a site's path
 * is absolute: the folder of the file (or of what a rewritten copy was made from), and the name
 * under which the lock knows it.
 */
#include "plugin/record/hook.h"

#include "plugin/record/record.h"
#include "plugin/rewrite/rewrite.h"
#include "plugin/source/source.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *site_path(ctune_arena *arena, const ctune_source *source) {
    char real[PATH_MAX], origin[PATH_MAX];
    ctune_rewrite_origin(source->unit->text, source->unit->n_text, origin, sizeof origin);
    const char *file = origin[0] != '\0' ? origin : source->file;
    file = realpath(file, real) != NULL ? real : file;
    const char *slash = strrchr(file, '/');
    int n = slash != NULL ? (int)(slash - file) + 1 : 0;
    return ctune_arena_printf(arena, "%.*s%s", n, file, source->base);
}

ctune_status ctune_record_hook(ctune_ctx *ctx, void *user, const struct ctune_source *source,
                               int i_region, const char *original, struct ctune_text *body) {
    (void)user;
    ctune_arena *arena = ctune_arena_create(ctx);
    const char *path = arena != NULL ? site_path(arena, source) : NULL;
    ctune_status status =
        path == NULL   ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
        : i_region < 0 ? ctune_record_emit_prelude(ctx, source->unit, path, body)
                       : ctune_record_emit_body(ctx, source->unit, path, i_region, original, body);
    ctune_arena_destroy(arena);
    return status;
}

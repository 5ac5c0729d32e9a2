/*
 * The original as a candidate: the region's source order, printed plainly, as the compiler would
 * have seen it.
 *
 * It is lowered from the source form without any primitive, so that it shares the emitter; loops
 * are one per axis, statements as the source wrote them, temporaries the scalars that they were.
 */
#include "search/emit/emit_private.h"

ctune_status ctune_emit_original(ctune_ctx *ctx, const ctune_region *region, const char *name,
                                 ctune_text *out) {
    ctune_tree *tree = NULL;
    ctune_status status = ctune_tree_from_source(ctx, region, &tree);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_form form = {.prefix = "", .tree = tree};
    ctune_nest *nest = NULL;
    ctune_arena *arena = ctune_arena_create(ctx);
    nest = CTUNE_NEW(arena, ctune_nest);
    if (nest == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    } else {
        ctune_emit_options options = {.vector_bytes = 16};
        ctune_nest_init(nest, region, &form);
        status = ctune_emit_candidate(ctx, nest, &options, name, out);
    }
    ctune_arena_destroy(arena);
    ctune_tree_destroy(tree);
    return status;
}

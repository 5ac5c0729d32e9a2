/*
 * A nest as text: lowered to a program, then printed. See emit.h.
 *
 * The original takes the same way, as the source's own order without a primitive, so that what is
 * measured against differs from a candidate by its schedule alone.
 */
#include "search/emit/emit_private.h"

#include <string.h>

/* Lines of the nest in a comment. */
static void print_schedule(const ctune_nest *nest, ctune_text *out) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_nest_print(nest, &text);
    const char *p = ctune_text_get(&text);
    ctune_text_line(out, "/* ctune: loops after scheduling");
    while (*p != '\0') {
        size_t n = strcspn(p, "\n");
        ctune_text_line(out, " *   %.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
    ctune_text_line(out, " */");
    ctune_text_clear(&text);
}

static ctune_status lower(ctune_ctx *ctx, const ctune_nest *nest, const ctune_emit_options *options,
                          const char *original, ctune_loops **out) {
    bool rounds = options->round_products || nest->form->round_products ||
                  !ctune_target_fuses(options->target);
    ctune_lower_options o = {.target = options->target,
                             .products = rounds ? CTUNE_PRODUCTS_ROUNDED : CTUNE_PRODUCTS_FUSED,
                             .sizes = options->sizes};
    ctune_arena *arena = ctune_arena_create(ctx);
    if (arena == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    o.reserved = emit_words(arena, original, &o.n_reserved);
    ctune_status status = ctune_lower(ctx, nest, &o, out);
    ctune_arena_destroy(arena);
    return status;
}

ctune_status ctune_emit_lower(ctune_ctx *ctx, const ctune_nest *nest,
                              const ctune_emit_options *options, ctune_loops **out) {
    return lower(ctx, nest, options, NULL, out);
}

static ctune_status run(ctune_ctx *ctx, const ctune_nest *nest, const ctune_emit_options *options,
                        const char *name, const char *original, ctune_text *out) {
    ctune_loops *loops = NULL;
    ctune_status status = lower(ctx, nest, options, original, &loops);
    if (status == CTUNE_OK && options->comments) {
        print_schedule(nest, out);
    }
    if (status == CTUNE_OK) {
        status = ctune_emit_program(ctx, loops, nest->form, options, name, original, out);
    }
    ctune_loops_destroy(loops);
    return status;
}

ctune_status ctune_emit_region(ctune_ctx *ctx, const ctune_nest *nest,
                               const ctune_emit_options *options, const char *original,
                               ctune_text *out) {
    return run(ctx, nest, options, NULL, original, out);
}

ctune_status ctune_emit_candidate(ctune_ctx *ctx, const ctune_nest *nest,
                                  const ctune_emit_options *options, const char *name,
                                  ctune_text *out) {
    return run(ctx, nest, options, name, NULL, out);
}

ctune_status ctune_emit_original(ctune_ctx *ctx, const ctune_region *region,
                                 const ctune_emit_options *options, const char *name,
                                 ctune_text *out) {
    ctune_tree *tree = NULL;
    ctune_status status = ctune_tree_from_source(ctx, region, &tree);
    if (status != CTUNE_OK) {
        return status;
    }
    ctune_form form = {.prefix = "", .tree = tree};
    ctune_arena *arena = ctune_arena_create(ctx);
    ctune_nest *nest = arena == NULL ? NULL : CTUNE_NEW(arena, ctune_nest);
    if (nest == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    } else {
        ctune_emit_options own = *options;
        own.is_original = true;
        ctune_nest_init(nest, region, &form);
        status = ctune_emit_candidate(ctx, nest, &own, name, out);
    }
    ctune_arena_destroy(arena);
    ctune_tree_destroy(tree);
    return status;
}

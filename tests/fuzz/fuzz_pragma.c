/* Pragma: any text is read or refused with a diagnostic; what is read prints, and parses to the
 * same. */
#include "plugin/pragma/pragma.h"

#include "tests/fuzz/fuzz.h"

static ctune_status parse(ctune_ctx *ctx, ctune_arena *arena, const char *text, ctune_pragma *out) {
    const ctune_token *tokens;
    int n = ctune_pragma_tokenise(arena, text, 1, 1, &tokens);
    fuzz_require(n >= 0, "tokenise", "no memory");
    return ctune_pragma_parse(ctx, arena, "f.c", 1, 1, tokens, n, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    ctune_ctx ctx = {0};
    ctune_arena *arena = ctune_arena_create(NULL);
    ctune_pragma first, again;
    ctune_status status = parse(&ctx, arena, text, &first);
    fuzz_require((status == CTUNE_OK) == (ctx.n_errors == 0), "an error has a diagnostic",
                 ctx.error);
    const char *once = ctune_pragma_print(arena, &first);
    if (status == CTUNE_OK) {
        fuzz_require(parse(&ctx, arena, once, &again) == CTUNE_OK, "printed text parses",
                     ctx.error);
        fuzz_require_same(once, ctune_pragma_print(arena, &again), "print, parse, print");
    }
    ctune_arena_destroy(arena);
    free(text);
    return 0;
}

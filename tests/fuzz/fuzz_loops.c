/* Programs of loops: any text is a program or an error; what is read prints, and parses to the
 * same; the verifier has an opinion on all of it, the same on both. */
#include "search/loops/loops.h"

#include "tests/fuzz/fuzz.h"
#include "tests/unit/loops/loops_region.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    ctune_ctx ctx = {0};
    ctune_region *region = NULL;
    ctune_loops *first = NULL, *again = NULL;
    ctune_text once, twice;
    ctune_text_init(&once);
    ctune_text_init(&twice);
    fuzz_require(ctune_te_parse(&ctx, loops_region_text(), &region) == CTUNE_OK, "region",
                 ctx.error);
    if (ctune_loops_parse(&ctx, region, text, &first) == CTUNE_OK) {
        ctune_loops_print(first, &once);
        ctune_status status = ctune_loops_parse(&ctx, region, ctune_text_get(&once), &again);
        fuzz_require(status == CTUNE_OK, "printed text parses", ctx.error);
        ctune_loops_print(again, &twice);
        fuzz_require_same(ctune_text_get(&once), ctune_text_get(&twice), "print, parse, print");
        fuzz_require(ctune_loops_verify(&ctx, first) == ctune_loops_verify(&ctx, again),
                     "both verify alike", ctx.error);
        ctune_loops_destroy(again);
        ctune_loops_destroy(first);
    }
    ctune_region_destroy(region);
    ctune_text_clear(&once);
    ctune_text_clear(&twice);
    free(text);
    return 0;
}

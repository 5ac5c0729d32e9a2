/* TE: any text is a verified region or an error; what is read prints, and parses to the same with
 * the same key. */
#include "search/te/te.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    ctune_ctx ctx = {0};
    ctune_region *first = NULL, *again = NULL;
    ctune_text once, twice;
    ctune_text_init(&once);
    ctune_text_init(&twice);
    if (ctune_te_parse(&ctx, text, &first) == CTUNE_OK) {
        fuzz_require(ctune_te_verify(&ctx, first) == CTUNE_OK, "parsed region verifies", ctx.error);
        ctune_te_print(first, &once);
        ctune_status status = ctune_te_parse(&ctx, ctune_text_get(&once), &again);
        fuzz_require(status == CTUNE_OK, "printed text parses", ctx.error);
        ctune_te_print(again, &twice);
        fuzz_require_same(ctune_text_get(&once), ctune_text_get(&twice), "print, parse, print");
        fuzz_require(ctune_workload_key(first, NULL) == ctune_workload_key(again, NULL),
                     "same workload key", ctune_text_get(&once));
        ctune_region_destroy(again);
        ctune_region_destroy(first);
    }
    ctune_text_clear(&once);
    ctune_text_clear(&twice);
    free(text);
    return 0;
}

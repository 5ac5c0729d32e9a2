/* Schedule: any text is a list of primitives or an error; what is read prints, and parses to the
 * same. */
#include "search/schedule/schedule.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    ctune_ctx ctx = {0};
    ctune_schedule first, again;
    ctune_text once, twice;
    ctune_schedule_init(&first);
    ctune_schedule_init(&again);
    ctune_text_init(&once);
    ctune_text_init(&twice);
    if (ctune_schedule_parse(&ctx, text, &first) == CTUNE_OK) {
        ctune_schedule_print(&first, &once);
        ctune_status status = ctune_schedule_parse(&ctx, ctune_text_get(&once), &again);
        fuzz_require(status == CTUNE_OK, "printed text parses", ctx.error);
        fuzz_require(first.n == again.n, "same number of primitives", ctune_text_get(&once));
        ctune_schedule_print(&again, &twice);
        fuzz_require_same(ctune_text_get(&once), ctune_text_get(&twice), "print, parse, print");
    }
    ctune_schedule_clear(&first);
    ctune_schedule_clear(&again);
    ctune_text_clear(&once);
    ctune_text_clear(&twice);
    free(text);
    return 0;
}

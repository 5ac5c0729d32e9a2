/* Lock: any text is a lock or an error that changes nothing; what is read prints, and parses to the
 * same. */
#include "search/lock/lock.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    ctune_ctx ctx = {0};
    ctune_lock lock;
    ctune_text once, twice;
    ctune_lock_init(&lock);
    ctune_text_init(&once);
    ctune_text_init(&twice);
    if (ctune_lock_parse(&ctx, "fuzz", text, &lock) == CTUNE_OK) {
        ctune_lock_print(&lock, &once);
        int n = lock.n;
        ctune_status status = ctune_lock_parse(&ctx, "fuzz", ctune_text_get(&once), &lock);
        fuzz_require(status == CTUNE_OK, "printed text parses", ctx.error);
        fuzz_require(lock.n == n, "same number of entries", ctune_text_get(&once));
        ctune_lock_print(&lock, &twice);
        fuzz_require_same(ctune_text_get(&once), ctune_text_get(&twice), "print, parse, print");
    } else {
        fuzz_require(lock.n == 0 && lock.entry == NULL, "a failed parse changes nothing",
                     ctx.error);
    }
    ctune_lock_clear(&lock);
    ctune_text_clear(&once);
    ctune_text_clear(&twice);
    free(text);
    return 0;
}

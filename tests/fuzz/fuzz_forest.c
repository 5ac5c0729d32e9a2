/* Model file: any text is a whole forest, which prints, parses to the same and predicts within its
 * rows, or an error with file and line. */
#include "costmodel/forest.h"

#include "tests/fuzz/fuzz.h"

enum { N_ROWS = 11, MAX_WIDTH = 64 };

static void forest_predict(const ctune_forest *forest) {
    if (forest->n_features > MAX_WIDTH) {
        return;
    }
    size_t n = N_ROWS * (size_t)forest->n_features;
    float *rows = malloc((n + 1) * sizeof *rows); /* of its own size: ASan sees a wide index */
    if (rows == NULL) {
        exit(0);
    }
    for (size_t i = 0; i < n; i++) {
        rows[i] = (float)(i % 7) - 3;
    }
    float scores[N_ROWS];
    ctune_forest_predict(forest, rows, N_ROWS, scores);
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    ctune_ctx ctx = {0};
    ctune_forest *forest = NULL, *again = NULL;
    ctune_text once, twice;
    ctune_text_init(&once);
    ctune_text_init(&twice);
    ctune_status status = ctune_forest_parse(&ctx, "fuzz", text, &forest);
    if (status == CTUNE_OK) {
        fuzz_require(ctune_forest_verify(&ctx, forest) == CTUNE_OK, "a parsed forest is whole",
                     ctx.error);
        forest_predict(forest);
        ctune_forest_print(forest, &once);
        status = ctune_forest_parse(&ctx, "fuzz", ctune_text_get(&once), &again);
        fuzz_require(status == CTUNE_OK, "printed text parses", ctx.error);
        ctune_forest_print(again, &twice);
        fuzz_require_same(ctune_text_get(&once), ctune_text_get(&twice), "print, parse, print");
    } else {
        fuzz_require(status == CTUNE_EUSAGE && forest == NULL &&
                         strncmp(ctx.error, "fuzz:", 5) == 0,
                     "an error has its place", ctx.error);
    }
    ctune_forest_destroy(forest);
    ctune_forest_destroy(again);
    ctune_text_clear(&once);
    ctune_text_clear(&twice);
    free(text);
    return 0;
}
